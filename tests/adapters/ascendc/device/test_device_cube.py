"""The basic cube path against numpy: ND to NZ, each way into L0A and L0B, Mmad, Fixpipe; and flags between cores."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device

BF16 = np.dtype(ml_dtypes.bfloat16)
NO_QUANT, F322F16, F322BF16, DEQF16, VDEQF16, QF322B8 = range(6)
TYPES = {
    "f16>f32": (np.float16, np.float32, NO_QUANT),
    "f16>f16": (np.float16, np.float16, F322F16),
    "bf16>bf16": (BF16, BF16, F322BF16),
    "f32>f32": (np.float32, np.float32, NO_QUANT),
    "i8>i32": (np.int8, np.int32, NO_QUANT),
}


class Shape(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("m", "n", "k", "bias", "relu", "load", "quant")),
        ("word", ctypes.c_uint64),
        ("halves", ctypes.c_int32),
        ("nz", ctypes.c_int32),
    )


def operand(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, int]) -> Array:
    if dtype == np.int8:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def multiply(
    device: Device, types: str, a: Array, b: Array, out: Array, bias: Array | None = None, **fields: int
) -> None:
    line = np.zeros(64, np.float32) if bias is None else bias
    added = bias is not None and bias.dtype != np.uint64
    shape = Shape(m=a.shape[0], n=b.shape[1], k=a.shape[1], bias=int(added), **fields)
    failed = device.kernels("cube").run_multiply(
        types.encode(), *(device.register(x) for x in (a, b, line, out)), ctypes.byref(shape)
    )
    report = device.report()
    assert failed == 0, report.error
    assert report.findings == []
    assert report.written(out) == out.nbytes


def product(a: Array, b: Array) -> Array:
    wide = np.int64 if a.dtype == np.int8 else np.float64
    return a.astype(wide) @ b.astype(wide)


def assert_close(got: Array, want: Array, depth: int) -> None:
    if got.dtype == np.int32:
        np.testing.assert_array_equal(got, want)
        return
    spread = {np.dtype(np.float32): 2.0**-22, np.dtype(np.float16): 2.0**-10, BF16: 2.0**-7}[got.dtype]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=spread, atol=2.0**-20 * depth)


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("shape", [(16, 32, 32), (48, 64, 96), (64, 32, 128)])
def test_a_tile_is_multiplied_and_rounded_once(device: Device, types: str, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(sum(shape))
    m, n, k = shape
    dtype, result, quant = TYPES[types]
    a, b, out = operand(rng, np.dtype(dtype), (m, k)), operand(rng, np.dtype(dtype), (k, n)), np.zeros((m, n), result)
    multiply(device, types, a, b, out, quant=quant)
    assert_close(out, product(a, b), k)


@pytest.mark.parametrize("load", [0, 1, 2])
def test_every_way_into_l0_gives_the_same_product(device: Device, load: int) -> None:
    rng = np.random.default_rng(1)
    a, b = operand(rng, np.dtype(np.float16), (32, 64)), operand(rng, np.dtype(np.float16), (64, 48))
    out = np.zeros((32, 48), np.float32)
    multiply(device, "f16>f32", a, b, out, load=load)
    assert_close(out, product(a, b), 64)


@pytest.mark.parametrize("shape", [(5, 16, 16), (1, 32, 64), (20, 48, 40), (17, 32, 23)])
def test_rows_and_depth_need_not_be_whole_fractals(device: Device, shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(2)
    m, n, k = shape
    a, b = operand(rng, np.dtype(np.float16), (m, k)), operand(rng, np.dtype(np.float16), (k, n))
    out = np.zeros((m, n), np.float32)
    multiply(device, "f16>f32", a, b, out)
    assert_close(out, product(a, b), k)


def test_bias_is_added_to_each_row_and_negative_results_become_zero(device: Device) -> None:
    rng = np.random.default_rng(3)
    a, b = operand(rng, np.dtype(np.float16), (32, 32)), operand(rng, np.dtype(np.float16), (32, 64))
    bias, out = rng.standard_normal(64).astype(np.float32) * 10, np.zeros((32, 64), np.float32)
    multiply(device, "f16>f32", a, b, out, bias)
    assert_close(out, product(a, b) + bias, 32)
    out[:] = -1
    multiply(device, "f16>f32", a, b, out, bias, relu=1)
    assert_close(out, np.maximum(product(a, b) + bias, 0), 32)


def test_a_second_multiplication_adds_to_l0c_when_it_does_not_initialise(device: Device) -> None:
    rng = np.random.default_rng(4)
    a, b = operand(rng, np.dtype(np.int8), (32, 64)), operand(rng, np.dtype(np.int8), (64, 32))
    out = np.zeros((32, 32), np.int32)
    multiply(device, "i8>i32", a, b, out, halves=1)
    np.testing.assert_array_equal(out, 2 * product(a, b))


def test_fixpipe_dequantises_integers_and_quantises_floats(device: Device) -> None:
    rng = np.random.default_rng(5)
    scale = np.float32(0.03125)
    word = int(scale.view(np.uint32))
    a, b = operand(rng, np.dtype(np.int8), (16, 32)), operand(rng, np.dtype(np.int8), (32, 32))
    out = np.zeros((16, 32), np.float16)
    multiply(device, "i8>f16", a, b, out, quant=DEQF16, word=word)
    np.testing.assert_array_equal(out, (product(a, b) * scale).astype(np.float32).astype(np.float16))
    x, y = np.round(a / 16).astype(np.float16), np.round(b / 16).astype(np.float16)
    small = np.zeros((16, 32), np.int8)
    multiply(device, "f16>i8", x, y, small, quant=QF322B8, word=word | 1 << 46 | 3 << 37)
    np.testing.assert_array_equal(small, np.clip(np.rint(product(x, y) * scale) + 3, -128, 127))


def test_each_column_can_have_its_own_scale(device: Device) -> None:
    rng = np.random.default_rng(6)
    scales = (2.0 ** rng.integers(-9, -3, 32)).astype(np.float32)
    a, b = operand(rng, np.dtype(np.int8), (16, 32)), operand(rng, np.dtype(np.int8), (32, 32))
    out = np.zeros((16, 32), np.float16)
    multiply(device, "i8>f16", a, b, out, scales.view(np.uint32).astype(np.uint64), quant=VDEQF16, relu=1)
    np.testing.assert_array_equal(out, (np.maximum(product(a, b), 0) * scales).astype(np.float16))


@pytest.mark.parametrize("types", ["f16>f32", "f16>f16", "i8>i32"])
def test_fixpipe_can_keep_columns_of_fractals(device: Device, types: str) -> None:
    rng = np.random.default_rng(7)
    dtype, result, quant = TYPES[types]
    a, b = operand(rng, np.dtype(dtype), (32, 32)), operand(rng, np.dtype(dtype), (32, 64))
    out = np.zeros((4, 32, 16), result)
    multiply(device, types, a, b, out, quant=quant, nz=1)
    assert_close(out.transpose(1, 0, 2).reshape(32, 64), product(a, b), 32)


def cross(device: Device, flags: int) -> tuple[Array, int]:
    x, y = np.arange(128, dtype=np.float32), np.zeros((3, 128), np.float32)
    return y, int(device.kernels("cube").run_cross(device.register(x), device.register(y), flags))


@pytest.mark.parametrize("reverse", [0, 1])
def test_flags_order_the_cores_of_a_block(device: Device, reverse: int) -> None:
    device.runtime.opmend_set_core_order(reverse)
    y, failed = cross(device, 0)
    x = np.arange(128, dtype=np.float32)
    assert failed == 0 and device.report().findings == []
    np.testing.assert_array_equal(y, [x + 1, np.roll(x, 64) + 2, x + 3])


def test_a_missing_wait_is_a_race_and_a_flag_left_set(device: Device) -> None:
    _, failed = cross(device, 1)
    report = device.report()
    assert failed == 0 and report.kinds == {"gm-race", "api-misuse"}
    assert any("flag 3 of core" in f.message and "still set" in f.message for f in report.findings)


def test_a_flag_nobody_sets_is_a_deadlock(device: Device) -> None:
    _, failed = cross(device, 2)
    report = device.report()
    assert failed == 1 and report.kinds == {"deadlock"}
    assert report.error is not None and "CrossCoreWaitFlag" in report.error


@pytest.mark.parametrize(("mode", "subblocks"), [(0, 1), (0, 2), (1, 2)])
def test_vector_cores_meet_in_the_whole_grid_or_in_their_block(device: Device, mode: int, subblocks: int) -> None:
    """Mode 0 with one and with two vector cores per block, mode 1 inside a block."""
    blocks = 3
    cores = blocks * subblocks
    y = np.zeros((2, cores, 64), np.float32)
    kernels = device.kernels("cube")
    assert kernels.run_exchange(device.register(y), blocks, mode, subblocks - 1, 1) == 0
    report = device.report()
    assert report.findings == [] and report.launches[-1]["task_type"] == f"MIX_AIC_1_{subblocks}"
    group = cores if mode == 0 else subblocks
    mine = np.arange(cores)
    want = mine // group * group + (mine % group + 1) % group + 1
    np.testing.assert_array_equal(y[1], np.repeat(want[:, None], 64, axis=1))
    y[:] = 0
    kernels.run_exchange(device.register(y), blocks, mode, subblocks - 1, 0)
    assert device.report().kinds == {"gm-race"}
