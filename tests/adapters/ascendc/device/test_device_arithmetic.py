"""Element-wise instructions against numpy: compute in float32 and round once, in each of the instruction's forms."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import ml_dtypes
import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

FLOATS = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
INTS = [np.dtype(np.int16), np.dtype(np.int32)]
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Max": np.maximum,
    "Min": np.minimum,
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Relu": lambda x: np.maximum(x, 0),
    "Exp": np.exp,
    "Sqrt": lambda x: np.sqrt(np.abs(x)),
}
SCALAR: dict[str, Callable[[Array, Array], Array]] = {
    "Adds": np.add,
    "Muls": np.multiply,
    "Maxs": np.maximum,
    "Mins": np.minimum,
    "LeakyRelu": lambda x, s: np.where(x > 0, x, x * s),
}


def values(dtype: np.dtype, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if dtype.kind == "i":
        return rng.integers(-3000, 3000, count).astype(dtype)
    return (rng.standard_normal(count) * 4).astype(np.float32).astype(dtype)


def wide(x: Array) -> Array:
    """The type the vector unit computes in: float32 for 16-bit floats."""
    return x if x.dtype.kind == "i" else x.astype(np.float32)


def count_form(count: int) -> list[int]:
    return [1, 1, 1, 8, 8, 8, 1, 0, 0, 0, count]


def assert_same(got: Array, want: Array) -> None:
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("count", [1, 7, 64, 129, 1000])
def test_binary_count_form_rounds_once(device: Device, name: str, dtype: np.dtype, count: int) -> None:
    a, b = values(dtype, count, 1), values(dtype, count, 2)
    got = run_operation(device, name, a, np.zeros(count, dtype), b, p=count_form(count))
    with np.errstate(all="ignore"):
        assert_same(got, BINARY[name](wide(a), wide(b)).astype(dtype))


@pytest.mark.parametrize("dtype", INTS, ids=str)
@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Max", "Min"])
def test_integer_arithmetic_wraps(device: Device, name: str, dtype: np.dtype) -> None:
    a = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 5, -7] * 20, dtype)
    b = np.array([1, -1, 3, 2] * 20, dtype)
    with np.errstate(all="ignore"):
        assert_same(run_operation(device, name, a, np.zeros_like(a), b, p=count_form(80)), BINARY[name](a, b))


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_bitwise_operations(device: Device, dtype: np.dtype) -> None:
    a, b = values(dtype, 100, 3), values(dtype, 100, 4)
    y = np.zeros_like(a)
    assert_same(run_operation(device, "And", a, y, b, p=count_form(100)), a & b)
    assert_same(run_operation(device, "Or", a, y, b, p=count_form(100)), a | b)
    assert_same(run_operation(device, "Not", a, y, p=count_form(100)), ~a)
    assert_same(run_operation(device, "ShiftLeft", a, y, p=count_form(100), scalar=3), a << 3)
    assert_same(run_operation(device, "ShiftRight", a, y, p=count_form(100), scalar=2), a >> 2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_count_form(device: Device, name: str, dtype: np.dtype) -> None:
    a = values(dtype, 333, 5)
    if name == "Sqrt":
        a = np.abs(a)
    got = run_operation(device, name, a, np.zeros_like(a), p=count_form(333))
    with np.errstate(over="ignore"):
        want = UNARY[name](wide(a)).astype(dtype)
    tolerance = 2e-7 if dtype == np.float32 else np.finfo(np.float16).eps if dtype == np.float16 else 2**-7
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=float(tolerance))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", SCALAR)
def test_scalar_is_rounded_to_the_element_type_first(device: Device, name: str, dtype: np.dtype) -> None:
    a = values(dtype, 200, 6)
    scalar = np.float32(0.1).astype(dtype)
    got = run_operation(device, name, a, np.zeros_like(a), p=count_form(200), scalar=float(scalar))
    assert_same(got, SCALAR[name](wide(a), wide(scalar)).astype(dtype))


def test_axpy_adds_the_scaled_source_to_the_destination(device: Device) -> None:
    a, y = values(np.dtype(np.float32), 100, 7), values(np.dtype(np.float32), 100, 8)
    got = run_operation(device, "Axpy", a, y, p=count_form(100), scalar=0.5)
    assert_same(got, a * np.float32(0.5) + y)


@pytest.mark.parametrize(
    "name", ["Exp", "Ln", "Sqrt", "Rsqrt", "Reciprocal", "Tanh", "Sigmoid", "Sign", "Floor", "Ceil", "Erf", "Log"]
)
def test_mathematical_functions_are_close(device: Device, name: str) -> None:
    a = np.abs(values(np.dtype(np.float32), 300, 9)) + np.float32(0.01)
    if name in {"Tanh", "Sigmoid", "Sign", "Floor", "Ceil", "Erf"}:
        a[::2] *= -1
    x = a.astype(np.float64)
    functions: dict[str, Callable[[Array], Array]] = {
        "Exp": np.exp,
        "Ln": np.log,
        "Log": np.log,
        "Sqrt": np.sqrt,
        "Rsqrt": lambda v: 1 / np.sqrt(v),
        "Reciprocal": lambda v: 1 / v,
        "Tanh": np.tanh,
        "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "Sign": np.sign,
        "Floor": np.floor,
        "Ceil": np.ceil,
        "Erf": np.vectorize(erf),
    }
    got = run_operation(device, name, a, np.zeros_like(a), p=count_form(300))
    np.testing.assert_allclose(got, functions[name](x), rtol=1e-5, atol=1e-6)


def test_power_of_two_tensors(device: Device) -> None:
    a = np.abs(values(np.dtype(np.float32), 90, 10)) + np.float32(0.1)
    b = values(np.dtype(np.float32), 90, 11)
    got = run_operation(device, "Power", a, np.zeros_like(a), b, p=count_form(90))
    np.testing.assert_allclose(got, np.power(a.astype(np.float64), b), rtol=1e-5)


def lanes(itemsize: int, blk: int, rep: int, repeat: int) -> Array:
    """Element index of each (repeat, lane) under block and repeat strides, both in 32-byte blocks."""
    per_block = 32 // itemsize
    lane = np.arange(256 // itemsize)
    return (np.arange(repeat)[:, None] * rep + lane // per_block * blk) * per_block + lane % per_block


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float16)], ids=str)
@pytest.mark.parametrize("form", ["count", "bits", "counter"])
def test_repeat_forms_follow_strides_and_masks(device: Device, dtype: np.dtype, form: str) -> None:
    rng = np.random.default_rng(12)
    for _ in range(10):
        dst_blk, dst_rep = int(rng.integers(1, 3)), int(rng.integers(16, 20))
        a_blk, b_blk, a_rep, b_rep = (int(v) for v in rng.integers(0, 3, 4) * [1, 1, 4, 4])
        repeat, width = int(rng.integers(1, 4)), 256 // dtype.itemsize
        a, b, y = values(dtype, 2048, 13), values(dtype, 2048, 14), values(dtype, 2048, 15)
        low, high, count = 0, 0, 0
        active = np.ones((repeat, width), bool)
        if form == "count":
            low = int(rng.integers(1, width + 1))
            active[:] = np.arange(width) < low
        elif form == "bits":
            low, high = int(rng.integers(0, 2**63)), int(rng.integers(0, 2**63)) if width == 128 else 0
            active[:] = [(low >> i & 1 if i < 64 else high >> (i - 64) & 1) == 1 for i in range(width)]
        else:
            count = int(rng.integers((repeat - 1) * width + 1, repeat * width + 1))
            active = np.arange(repeat * width).reshape(repeat, width) < count
        code = {"count": 1, "bits": 2, "counter": 3}[form]
        strides = [dst_blk, a_blk, b_blk, dst_rep, a_rep, b_rep]
        got = run_operation(device, "Add", a, y, b, p=[*strides, repeat, code, low, high, count])
        want = y.copy()
        size = dtype.itemsize
        total = wide(a)[lanes(size, a_blk, a_rep, repeat)] + wide(b)[lanes(size, b_blk, b_rep, repeat)]
        want[lanes(size, dst_blk, dst_rep, repeat)[active]] = total.astype(dtype)[active]
        assert_same(got, want)


def test_unary_and_scalar_repeat_forms_leave_masked_lanes_alone(device: Device) -> None:
    a, y = values(np.dtype(np.float32), 256, 16), values(np.dtype(np.float32), 256, 17)
    want = y.copy()
    for r in range(2):
        want[r * 64 : r * 64 + 20] = np.abs(a[r * 64 : r * 64 + 20])
    assert_same(run_operation(device, "Abs", a, y, p=[1, 1, 0, 8, 8, 0, 2, 1, 20, 0, 0]), want)
    for r in range(2):
        want[r * 64 : r * 64 + 20] = a[r * 64 : r * 64 + 20] * np.float32(3)
    assert_same(run_operation(device, "Muls", a, y, p=[1, 1, 0, 8, 8, 0, 2, 1, 20, 0, 0], scalar=3), want)


def test_duplicate_and_vector_index(device: Device) -> None:
    y = np.zeros(70, np.float16)
    assert_same(run_operation(device, "Duplicate", y, y, p=count_form(69), scalar=1.5), np.array([1.5] * 69 + [0]))
    z = np.zeros(70, np.int32)
    assert_same(run_operation(device, "CreateVecIndex", z, z, p=count_form(70), scalar=5), np.arange(5, 75))


def test_copy_moves_whole_repeats_with_strides(device: Device) -> None:
    a, y = values(np.dtype(np.float32), 256, 18), np.zeros(256, np.float32)
    got = run_operation(device, "Copy", a, y, p=[1, 1, 0, 8, 0, 0, 3, 1, 64, 0, 0])
    assert_same(got, np.concatenate([a[:64]] * 3 + [y[:64]]))


def test_data_copy_inside_ub_counts_gaps_in_blocks(device: Device) -> None:
    a, y = values(np.dtype(np.float32), 128, 19), np.zeros(128, np.float32)
    got = run_operation(device, "DataCopyUb", a, y, p=[3, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0])
    want = y.copy()
    for i in range(3):
        want[i * 32 : i * 32 + 16] = a[i * 24 : i * 24 + 16]
    assert_same(got, want)


def test_gather_takes_byte_offsets(device: Device) -> None:
    a = values(np.dtype(np.float32), 128, 20)
    index = np.random.default_rng(21).integers(0, 100, 77).astype(np.uint32)
    got = run_operation(device, "Gather", a, np.zeros(77, np.float32), index * 4, p=[16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 77])
    assert_same(got, a[index + 4])


def test_brcb_spreads_elements_to_blocks(device: Device) -> None:
    a = values(np.dtype(np.float16), 16, 22)
    got = run_operation(device, "Brcb", a, np.zeros(256, np.float16), p=[1, 0, 0, 8, 0, 0, 2, 0, 0, 0, 0])
    assert_same(got, np.repeat(a, 16))


def test_gatherb_moves_blocks_by_byte_offset(device: Device) -> None:
    a = values(np.dtype(np.float32), 256, 23)
    blocks = np.random.default_rng(24).integers(0, 32, 16).astype(np.uint32)
    got = run_operation(device, "Gatherb", a, np.zeros(128, np.float32), blocks * 32, p=[1, 0, 0, 8, 0, 0, 2])
    assert_same(got, a.reshape(32, 8)[blocks].reshape(-1))


@pytest.mark.parametrize("pattern", range(1, 8))
def test_gather_mask_collects_by_a_fixed_pattern(device: Device, pattern: int) -> None:
    a, y = values(np.dtype(np.float32), 128, 25), np.zeros(136, np.float32)
    got = run_operation(device, "GatherMask", a, y, p=[pattern, 0, 0, 8, 0, 0, 2])
    i = np.arange(128)
    keep = [i % 2 == 0, i % 2 == 1, *(i % 4 == k for k in range(4)), i >= 0][pattern - 1]
    assert_same(got[: keep.sum()], a[keep])
    assert got.view(np.int32)[-1] == keep.sum()


def test_gather_mask_takes_bits_of_a_tensor_and_a_count_for_each_repeat(device: Device) -> None:
    a, y = values(np.dtype(np.int16), 400, 26), np.zeros(272, np.int16)
    chosen = np.random.default_rng(27).integers(0, 2, (2, 256)).astype(bool)
    bits = np.packbits(chosen, axis=1, bitorder="little").reshape(-1)
    got = run_operation(device, "GatherMaskTensor", a, y, bits, p=[0, 0, 0, 10, 1, 0, 2, 0, 70, 1], dtype="int16")
    want = np.concatenate([a[:70][chosen[0, :70]], a[160:230][chosen[1, :70]]])
    assert_same(got[: want.size], want)
    assert got.view(np.int32)[-1] == want.size


def test_tensor_operators_cover_the_whole_destination(device: Device) -> None:
    a, b = values(np.dtype(np.float32), 80, 28), values(np.dtype(np.float32), 80, 29)
    assert_same(run_operation(device, "AddOperator", a, np.zeros(80, np.float32), b, p=count_form(80)), a + b)
