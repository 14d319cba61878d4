"""Reductions, comparison and selection, broadcast: results, indices and the units of their strides."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

F32, F16 = np.dtype(np.float32), np.dtype(np.float16)


def values(dtype: np.dtype, count: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(-50, 50, count).astype(dtype)


def params(**named: int) -> list[int]:
    """p of run_operation by the names reductions use."""
    at = {"rows": 0, "columns": 1, "inner": 2, "repeat": 6, "form": 7, "mask": 8, "flag": 9, "count": 10, "mode": 0}
    p = [0] * 11
    for name, value in named.items():
        p[at[name]] = value
    return p


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
@pytest.mark.parametrize("count", [1, 5, 64, 200, 1500])
def test_reduce_sum_of_a_count(device: Device, dtype: np.dtype, count: int) -> None:
    a = (values(dtype, count) % 2).astype(dtype)
    got = run_operation(device, "ReduceSum", a, np.zeros(1, dtype), p=params(count=count))
    assert float(got[0]) == float(a.astype(np.float64).sum())


@pytest.mark.parametrize("head,total", [([2048, 1, 1, 1], 2050), ([2048, 1, 0, 1], 2048)])
def test_half_sum_adds_neighbours_and_rounds_at_every_step(device: Device, head: list[int], total: int) -> None:
    # (2048 + 1) -> 2048; then 1 + 1 = 2 -> 2050, or 0 + 1 = 1 -> 2048. Another order would give 2050 twice.
    a = np.array(head + [0] * 60, F16)
    assert float(run_operation(device, "ReduceSum", a, np.zeros(1, F16), p=params(count=64))[0]) == total


def test_reduce_sum_repeat_form_honours_the_mask(device: Device) -> None:
    a = values(F32, 192)
    got = run_operation(device, "ReduceSum", a, np.zeros(1, F32), p=params(form=1, mask=10, repeat=3))
    assert float(got[0]) == a.reshape(3, 64)[:, :10].sum()


@pytest.mark.parametrize("name,pick", [("ReduceMax", np.argmax), ("ReduceMin", np.argmin)])
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
def test_extremes_keep_the_lowest_index(device: Device, name: str, pick: object, form: int, dtype: np.dtype) -> None:
    width = 256 // dtype.itemsize
    a = (values(dtype, 3 * width) % 7).astype(dtype)
    got = run_operation(
        device, name, a, np.zeros(2, dtype), p=params(form=form, count=3 * width, mask=width, repeat=3, flag=1)
    )
    index = int(pick(a))  # type: ignore[operator]
    assert got[0] == a[index]
    assert int(got.view(np.uint32 if dtype == F32 else np.uint16)[1]) == index


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
def test_whole_reductions_write_one_result_per_repeat(device: Device, dtype: np.dtype) -> None:
    width = 256 // dtype.itemsize
    a = values(dtype, 4 * width)
    rows = a.reshape(4, width)[:, :40].astype(np.float64)
    total = run_operation(device, "WholeReduceSum", a, np.zeros(4, dtype), p=params(mask=40, repeat=4))
    np.testing.assert_array_equal(total.astype(np.float64), rows.sum(1))
    pairs = run_operation(device, "WholeReduceMax", a, np.zeros(8, dtype), p=params(mask=40, repeat=4))
    np.testing.assert_array_equal(pairs[::2].astype(np.float64), rows.max(1))
    bits = np.uint32 if dtype == F32 else np.uint16
    np.testing.assert_array_equal(pairs.view(bits)[1::2], rows.argmax(1))
    only = run_operation(device, "WholeReduceMin", a, np.zeros(4, dtype), p=params(mask=40, repeat=4, flag=2))
    np.testing.assert_array_equal(only.astype(np.float64), rows.min(1))


@pytest.mark.parametrize(
    "name,fold", [("BlockReduceSum", np.sum), ("BlockReduceMax", np.max), ("BlockReduceMin", np.min)]
)
@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
def test_block_reductions_skip_blocks_without_active_lanes(
    device: Device, name: str, fold: object, dtype: np.dtype
) -> None:
    width = 256 // dtype.itemsize
    a, old = values(dtype, 2 * width), np.full(16, 99, dtype)
    got = run_operation(device, name, a, old, p=params(mask=width // 2, repeat=2))
    want = old.astype(np.float64).reshape(2, 8)
    want[:, :4] = fold(a.astype(np.float64).reshape(2, 8, -1), axis=2)[:, :4]  # type: ignore[operator]
    np.testing.assert_array_equal(got.astype(np.float64), want.reshape(-1))


def test_pair_sum_adds_neighbours(device: Device) -> None:
    a = values(F32, 128)
    got = run_operation(device, "PairReduceSum", a, np.zeros(64, F32), p=params(mask=64, repeat=2))
    np.testing.assert_array_equal(got, a.reshape(-1, 2).sum(1))


def test_pattern_reductions_over_rows_and_columns(device: Device) -> None:
    a = values(F32, 5 * 48)
    m, shape = a.reshape(5, 48), params(rows=5, columns=48)
    np.testing.assert_array_equal(run_operation(device, "ReduceSumAR", a, np.zeros(5, F32), p=shape), m.sum(1))
    np.testing.assert_array_equal(run_operation(device, "ReduceSumRA", a, np.zeros(48, F32), p=shape), m.sum(0))
    np.testing.assert_array_equal(run_operation(device, "ReduceMaxAR", a, np.zeros(5, F32), p=shape), m.max(1))
    np.testing.assert_array_equal(run_operation(device, "ReduceMinRA", a, np.zeros(48, F32), p=shape), m.min(0))


def test_sum_skips_the_padding_of_rows(device: Device) -> None:
    a = values(F32, 3 * 16)
    got = run_operation(device, "Sum", a, np.zeros(3, F32), p=params(rows=3, columns=13, inner=16))
    np.testing.assert_array_equal(got, a.reshape(3, 16)[:, :13].sum(1))


def test_broadcast_along_either_axis(device: Device) -> None:
    a = values(F32, 24)
    shape = params(rows=6, columns=24)
    row = run_operation(device, "Broadcast0", a, np.zeros(144, F32), p=shape)
    np.testing.assert_array_equal(row.reshape(6, 24), np.tile(a, (6, 1)))
    column = run_operation(device, "Broadcast1", a, np.zeros(144, F32), p=shape)
    np.testing.assert_array_equal(column.reshape(6, 24), np.repeat(a[:6], 24).reshape(6, 24))


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
@pytest.mark.parametrize("mode", range(6))
def test_compare_packs_bits_lowest_first(device: Device, dtype: np.dtype, mode: int) -> None:
    a, b = (values(dtype, 256, 1) % 5).astype(dtype), (values(dtype, 256, 2) % 5).astype(dtype)
    relation = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal][mode]
    got = run_operation(
        device, "Compare", a, np.zeros(32, np.uint8), b, p=params(mode=mode, count=256), dtype=str(dtype)
    )
    np.testing.assert_array_equal(got, np.packbits(relation(a, b), bitorder="little"))
    got = run_operation(
        device, "CompareScalar", a, np.zeros(32, np.uint8), p=params(mode=mode, count=256), scalar=2, dtype=str(dtype)
    )
    np.testing.assert_array_equal(got, np.packbits(relation(a, dtype.type(2)), bitorder="little"))


def test_compare_leaves_a_partial_repeat_out_and_says_so(device: Device) -> None:
    a = np.ones(100, F32)
    got = run_operation(device, "Compare", a, np.zeros(16, np.uint8), a, p=params(mode=2, count=100), clean=False)
    assert got[:8].tolist() == [255] * 8 and not got[8:].any()
    assert device.report().kinds == {"api-misuse"}


@pytest.mark.parametrize("dtype", [F32, F16], ids=str)
def test_select_takes_bits_from_repeat_to_repeat(device: Device, dtype: np.dtype) -> None:
    a = values(dtype, 400)
    chosen = np.random.default_rng(3).integers(0, 2, 304).astype(bool)
    bits = np.packbits(chosen, bitorder="little")
    got = run_operation(device, "Select", a, np.zeros(300, dtype), bits, p=params(count=300), scalar=-7)
    np.testing.assert_array_equal(got, np.where(chosen[:300], a[:300], dtype.type(-7)))
    got = run_operation(device, "SelectTensor", a, np.zeros(300, dtype), bits, p=params(rows=16, count=300))
    np.testing.assert_array_equal(got, np.where(chosen[:300], a[:300], a[16:316]))
