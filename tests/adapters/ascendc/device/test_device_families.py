"""Families that the first kernels did not need, against numpy: fused and mixed instructions, masks given as bits, the
newer names of reductions, transposes, softmax and mean, pools of buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

FLOATS = [np.float32, np.float16]
LOW, HIGH = 0x0F0F_1234_5678_9ABC, 0x8000_0000_FFFF_0001


def run(
    device: Device, name: str, a: Array, y: Array, b: Array | None = None, *, p: list[int], scalar: float = 0
) -> Array:
    return run_operation(device, name, a, y, b, p=p, scalar=scalar, library="families")


def normal(dtype: type, count: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(count).astype(np.float32).astype(dtype)


def integers(dtype: type, count: int, seed: int) -> Array:
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, count).astype(dtype)


def lanes(itemsize: int, repeats: int) -> Array:
    """Which elements of `repeats` contiguous repeats the mask bits select."""
    bits = LOW | HIGH << 64
    return np.tile([(bits >> lane & 1) == 1 for lane in range(256 // itemsize)], repeats)


FUSED: dict[str, Callable[[Array, Array, Array], Array]] = {
    "FusedMulAdd": lambda a, b, y: a * y + b,
    "FusedMulAddRelu": lambda a, b, y: np.maximum(a * y + b, 0),
    "MulAddDst": lambda a, b, y: a * b + y,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUSED)
def test_fused_instructions_read_their_destination(device: Device, name: str, dtype: type) -> None:
    count = 2 * 256 // np.dtype(dtype).itemsize
    a, b, y = (normal(dtype, count, seed) for seed in (1, 2, 3))
    want: Array = FUSED[name](*(x.astype(np.float32) for x in (a, b, y))).astype(dtype)
    np.testing.assert_array_equal(run(device, name, a, y, b, p=[count - 3, 0])[: count - 3], want[: count - 3])
    masked = run(device, name, a, y, b, p=[0, 2, LOW, HIGH])
    np.testing.assert_array_equal(masked, np.where(lanes(np.dtype(dtype).itemsize, 2), want, y))


@pytest.mark.parametrize("repeats", [0, 2])
def test_half_sources_go_into_a_float_destination(device: Device, repeats: int) -> None:
    a, b, y = normal(np.float16, 128, 4), normal(np.float16, 128, 5), normal(np.float32, 128, 6)
    active = np.arange(128) % 64 < 40 if repeats else np.arange(128) < 100
    p = [100, repeats, 40]
    x, z = a.astype(np.float32), b.astype(np.float32)
    got = run(device, "AxpyMixed", a, y, p=p, scalar=0.5)
    np.testing.assert_array_equal(got, np.where(active, x * np.float32(0.5) + y, y))
    got = run(device, "MulAddDstMixed", a, y, b, p=p)
    np.testing.assert_array_equal(got, np.where(active, x * z + y, y))


@pytest.mark.parametrize("dtype", [np.int16, np.uint16])
@pytest.mark.parametrize("repeats", [0, 2])
def test_logical_instructions_and_shifts(device: Device, dtype: type, repeats: int) -> None:
    a, b, y = (integers(dtype, 256, seed) for seed in (7, 8, 9))
    active = lanes(2, 2) if repeats else np.arange(256) < 201
    wants = {"And": a & b, "Or": a | b, "Not": ~a, "ShiftLeft": a << 3, "ShiftRight": a >> 3}
    for name, want in wants.items():
        second = b if name in {"And", "Or"} else None
        got = run(device, name, a, y, second, p=[201, repeats, LOW, HIGH], scalar=3)
        np.testing.assert_array_equal(got, np.where(active, want, y), err_msg=name)


@pytest.mark.parametrize("dtype", FLOATS)
def test_masks_given_as_bits(device: Device, dtype: type) -> None:
    width = 256 // np.dtype(dtype).itemsize
    a, y = normal(dtype, 2 * width, 10), normal(dtype, 2 * width, 11)
    active, p = lanes(np.dtype(dtype).itemsize, 2), [0, 2, LOW, HIGH]
    scalar: Array = np.float32(1.5).astype(dtype)
    choice = np.random.default_rng(12).integers(0, 2, 2 * width).astype(bool)
    packed = np.packbits(choice, bitorder="little")
    scaled: Array = (a.astype(np.float32) * np.float32(1.5)).astype(dtype)
    for name, b, want in (
        ("AbsBits", None, np.abs(a)),
        ("MulsBits", None, scaled),
        ("DuplicateBits", None, np.full_like(a, scalar)),
        ("SelectBits", packed, np.where(choice, a, scalar)),
    ):
        got = run(device, name, a, y, b, p=p, scalar=1.5)
        np.testing.assert_array_equal(got, np.where(active, want, y), err_msg=name)
    sums = run(device, "WholeReduceSumBits", a, y, p=p)
    want_sums = np.where(active, a, 0).reshape(2, width).sum(1, dtype=np.float64)
    np.testing.assert_allclose(
        sums[:2].astype(np.float64), want_sums, rtol=2e-2 if dtype == np.float16 else 1e-5, atol=2e-2
    )
    blocks = np.where(active, a, -np.inf).reshape(16, -1).max(1)
    got = run(device, "BlockReduceMaxBits", a, y, p=p)[:16]
    np.testing.assert_array_equal(got, np.where(np.isinf(blocks), y[:16], blocks))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_reductions_by_repeat_and_by_block(device: Device, dtype: type, kind: int) -> None:
    width = 256 // np.dtype(dtype).itemsize
    mask = width - 5
    a = integers(np.int16, 3 * width, 13).astype(np.float32) / 16384
    a = np.round(a * 16).astype(dtype)  # small integers: every order of additions gives the same sum
    fold = (np.sum, np.max, np.min)[kind]
    active = a.reshape(3, width)[:, :mask].astype(np.float32)
    y: Array = np.zeros(64, dtype)
    got = run(device, "ReduceRepeat", a, y, p=[0, 3, mask, 0, kind])[:3]
    np.testing.assert_array_equal(got, fold(active, axis=1).astype(dtype))
    got = run(device, "ReduceDataBlock", a, y, p=[0, 3, mask, 0, kind])[:24]
    per_block = width // 8
    last = per_block - 5
    want = [
        fold(a.reshape(24, per_block)[i][: last if i % 8 == 7 else per_block].astype(np.float32)) for i in range(24)
    ]
    np.testing.assert_array_equal(got, np.array(want).astype(dtype))


def test_neighbours_are_added_in_pairs(device: Device) -> None:
    a = normal(np.float32, 128, 14)
    got = run(device, "ReducePairElem", a, np.zeros(64, np.float32), p=[0, 2, 64])
    np.testing.assert_array_equal(got, a[::2] + a[1::2])


def test_copy_follows_block_and_repeat_strides(device: Device) -> None:
    a, y = normal(np.float32, 1024, 15), normal(np.float32, 1024, 16)
    got = run(device, "CopyStrides", a, y, p=[50, 3, 2, 1, 20, 9])
    want = y.copy()
    for repeat in range(3):
        for lane in range(50):
            block, i = divmod(lane, 8)
            want[(repeat * 20 + block * 2) * 8 + i] = a[(repeat * 9 + block) * 8 + i]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.float16])
def test_transpose_of_a_square(device: Device, dtype: type) -> None:
    a: Array = integers(np.int16, 256, 17).astype(dtype)
    got = run(device, "Transpose", a, np.zeros(256, dtype), p=[])
    np.testing.assert_array_equal(got.reshape(16, 16), a.reshape(16, 16).T)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_channels_move_first_and_last(device: Device, dtype: type) -> None:
    n, c, h, w = 2, 3, 4, 8
    a = normal(dtype, n * c * h * w, 18)
    last = run(device, "NchwToNhwc", a, np.zeros_like(a), p=[n, c, h, w])
    np.testing.assert_array_equal(last.reshape(n, h, w, c), a.reshape(n, c, h, w).transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(run(device, "NhwcToNchw", last, np.zeros_like(a), p=[n, c, h, w]), a)


@pytest.mark.parametrize("tensors", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_columns_of_16_blocks_become_blocks(device: Device, dtype: type, tensors: int) -> None:
    width = 32 // np.dtype(dtype).itemsize
    a: Array = integers(np.int8, 16 * width, 19).astype(dtype)
    y = np.zeros_like(a)
    rows = a.reshape(16, width)
    if dtype == np.int8:
        for high in (0, 1):
            half = slice(16 * high, 16 * high + 16)
            got = run(device, "To5HD", a, y, p=[1, 0, 0, high, tensors]).reshape(16, 32)
            np.testing.assert_array_equal(got[:, half], rows[:, half].T)
            assert not got[:, 16 * (1 - high) : 16 * (1 - high) + 16].any()
        return
    got = run(device, "To5HD", a, y, p=[1, 0, 0, 0, tensors])
    np.testing.assert_array_equal(got.reshape(width, 16), rows.T)


def test_repeats_of_a_block_transpose_move_by_their_strides(device: Device) -> None:
    a = normal(np.float16, 3 * 256, 20)
    got = run(device, "To5HD", a, np.zeros_like(a), p=[3, 16, 16, 0, 0])
    np.testing.assert_array_equal(got.reshape(3, 16, 16), a.reshape(3, 16, 16).transpose(0, 2, 1))


def softmax(x: Array) -> tuple[Array, Array, Array]:
    wide = x.astype(np.float64)
    top = wide.max(1, keepdims=True)
    exponents = np.exp(wide - top)
    total = exponents.sum(1, keepdims=True)
    return exponents / total, total, top


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [64, 50])
def test_softmax_over_rows(device: Device, dtype: type, columns: int) -> None:
    m, pitch, side = 5, 64, 32 // np.dtype(dtype).itemsize
    a = normal(dtype, m * pitch, 21) * dtype(3)
    rows = a.reshape(m, pitch)[:, :columns]
    want, total, top = softmax(rows)
    rtol = 2e-3 if dtype == np.float16 else 2e-6
    y = np.zeros_like(a)
    got = run(device, "SoftMax", a, y, p=[m, pitch, columns]).reshape(m, pitch)
    np.testing.assert_allclose(got[:, :columns].astype(np.float64), want, rtol=rtol, atol=1e-6)
    assert not got[:, columns:].any()
    sides = run(device, "SoftMaxSides", a, np.zeros(m * (pitch + 2 * side), dtype), p=[m, pitch, columns])
    sums, maxima = sides[m * pitch :].reshape(2, m, side).astype(np.float64)
    np.testing.assert_allclose(sums, np.broadcast_to(total, (m, side)), rtol=rtol, atol=1e-6)
    np.testing.assert_array_equal(maxima, np.broadcast_to(top, (m, side)))
    again = run(device, "SimpleSoftMax", a, y, sides[m * pitch :].copy(), p=[m, pitch, columns]).reshape(m, pitch)
    np.testing.assert_allclose(again[:, :columns].astype(np.float64), want, rtol=4 * rtol, atol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
def test_mean_of_rows(device: Device, dtype: type) -> None:
    m, pitch, columns = 4, 96, 83
    a = normal(dtype, m * pitch, 22)
    want = a.reshape(m, pitch)[:, :columns].astype(np.float64).mean(1)
    for accumulate_in_float in (0, 1):
        got = run(device, "Mean", a, np.zeros(16, dtype), p=[m, pitch, columns, accumulate_in_float])[:m]
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=1e-2, atol=2e-3 if dtype == np.float16 else 1e-6)


def test_pools_divide_and_share_their_bytes(device: Device) -> None:
    x, y = normal(np.float32, 64, 23), np.zeros(128, np.float32)
    kernels = device.kernels("families")
    assert kernels.run_pools(device.register(x), device.register(y), 512) == 0
    assert device.report().findings == []
    np.testing.assert_array_equal(y, np.concatenate([x * 2 + 1, x]))
    device.reset()
    assert kernels.run_pools(device.register(x), device.register(y), 256) == 1
    assert device.report().kinds == {"ub-capacity"}


def test_an_allocator_hands_out_bytes_without_a_pipe(device: Device) -> None:
    x, y = normal(np.float32, 64, 24), np.zeros(64, np.float32)
    assert device.kernels("families").run_allocator(device.register(x), device.register(y)) == 0
    assert device.report().findings == []
    np.testing.assert_array_equal(y, x + np.float32(512))


def test_the_sum_register_and_the_raw_instruction_that_fills_it(device: Device) -> None:
    a = np.arange(128, dtype=np.float32)
    got = run(device, "SumRegister", a, np.zeros(8, np.float32), p=[100])
    masked = a.reshape(2, 64)[:, :40].sum()
    np.testing.assert_array_equal(got[:4], [a[:100].sum(), a[:100].sum(), masked, a[:100].sum()])


def test_global_memory_is_filled_with_a_value(device: Device) -> None:
    y = np.zeros(5000, np.float32)
    assert device.kernels("families").run_init(device.register(y), 4999, ctypes.c_float(2.5)) == 0
    report = device.report()
    assert report.findings == [] and report.written(y) == 4999 * 4
    np.testing.assert_array_equal(y, np.append(np.full(4999, 2.5, np.float32), 0))
