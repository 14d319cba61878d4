"""Cast under every rounding mode against exact arithmetic; saturation; the in-place widening bug of real kernels."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
BF16 = np.dtype(ml_dtypes.bfloat16)


def integer(value: Fraction, mode: int) -> int:
    """The integer that a rounding mode gives for an exact value."""
    floor = value.numerator // value.denominator
    rest = value - floor
    if rest == 0 or mode == FLOOR:
        return floor
    if mode == CEIL:
        return floor + 1
    if mode == TRUNC:
        return floor if value > 0 else floor + 1
    if mode == ODD:
        return floor if floor % 2 else floor + 1
    if rest != Fraction(1, 2):
        return floor + (rest > Fraction(1, 2))
    if mode == ROUND:
        return floor + 1 if value > 0 else floor
    return floor + floor % 2


def rounded(value: float, mode: int, mantissa: int, least: int) -> float:
    """`value` in a binary format with `mantissa` stored bits and smallest exponent `least` (no overflow)."""
    if value == 0:
        return value
    exponent = max(int(np.floor(np.log2(abs(value)))), least)
    unit = Fraction(2) ** (exponent - mantissa)
    return float(integer(Fraction(value) / unit, mode) * unit)


def cast(device: Device, kind: str, a: Array, dtype: np.dtype, mode: int, form: int = 0, clean: bool = True) -> Array:
    p = [mode, 0, 0, 0, 0, 0, 0, form, 0, 0, a.size]
    return run_operation(device, kind, a, np.zeros(a.size, dtype), p=p, clean=clean)


def samples() -> Array:
    rng = np.random.default_rng(5)
    ties = np.arange(-40, 41) * np.float32(0.5)
    near = np.float32(1) + np.arange(0, 64, dtype=np.float32) * np.float32(2.0**-14)
    return np.concatenate([ties, near, -near, rng.standard_normal(300) * 100, rng.standard_normal(100) * 1e-6]).astype(
        np.float32
    )


@pytest.mark.parametrize("mode", range(7))
def test_float_to_half_in_every_mode(device: Device, mode: int) -> None:
    a = samples()
    want = [rounded(float(x), mode, 10, -14) for x in a]
    np.testing.assert_array_equal(cast(device, "f32>f16", a, np.dtype(np.float16), mode).astype(np.float64), want)


@pytest.mark.parametrize("mode", [RINT, FLOOR, CEIL, ROUND, TRUNC])
def test_float_to_bfloat16_in_every_mode(device: Device, mode: int) -> None:
    a = samples()
    want = [rounded(float(x), mode, 7, -126) for x in a]
    np.testing.assert_array_equal(cast(device, "f32>bf16", a, BF16, mode).astype(np.float64), want)


@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("kind,dtype", [("f32>i32", np.int32), ("f32>i16", np.int16), ("f32>i64", np.int64)])
def test_float_to_integer_in_every_mode(device: Device, kind: str, dtype: type, mode: int) -> None:
    a = samples()
    want = [integer(Fraction(float(x)), mode) for x in a]
    np.testing.assert_array_equal(cast(device, kind, a, np.dtype(dtype), mode), want)


@pytest.mark.parametrize("mode", [RINT, FLOOR, CEIL, ROUND, TRUNC])
def test_float_to_float_rounds_to_whole_numbers(device: Device, mode: int) -> None:
    a = samples()
    want = [float(integer(Fraction(float(x)), mode)) for x in a]
    np.testing.assert_array_equal(cast(device, "f32>f32", a, np.dtype(np.float32), mode), want)


@pytest.mark.parametrize("kind,dtype", [("f16>i8", np.int8), ("f16>u8", np.uint8), ("f16>i16", np.int16)])
def test_conversion_to_integers_saturates(device: Device, kind: str, dtype: type) -> None:
    a = np.array([-70, 300, -300, 60000, -60000, np.inf, -np.inf, 1.5, 2.5, -1.5], np.float16)
    want = np.clip(
        np.rint(np.nan_to_num(a.astype(np.float64), posinf=1e9, neginf=-1e9)), np.iinfo(dtype).min, np.iinfo(dtype).max
    )
    np.testing.assert_array_equal(cast(device, kind, a, np.dtype(dtype), RINT), want)


def test_float_saturates_at_the_limits_of_32_and_64_bits(device: Device) -> None:
    a = np.array([3e9, -3e9, 2147483648.0, -2147483648.0, np.nan], np.float32)
    got = cast(device, "f32>i32", a, np.dtype(np.int32), RINT)
    assert got.tolist() == [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0]
    b = np.array([1e19, -1e19, 9.2233720e18], np.float32)
    got64 = cast(device, "f32>i64", b, np.dtype(np.int64), RINT)
    assert got64.tolist() == [2**63 - 1, -(2**63), 2**63 - 1]


@pytest.mark.parametrize(
    "kind,source,target",
    [
        ("f16>f32", np.float16, np.float32),
        ("bf16>f32", BF16, np.float32),
        ("i16>f32", np.int16, np.float32),
        ("i8>f16", np.int8, np.float16),
        ("u8>f16", np.uint8, np.float16),
        ("f16>i32", np.float16, np.int32),
        ("i32>f32", np.int32, np.float32),
        ("i16>f16", np.int16, np.float16),
        ("bf16>i32", BF16, np.int32),
    ],
)
def test_exact_conversions_keep_the_value(device: Device, kind: str, source: type, target: type) -> None:
    a: Array = np.random.default_rng(6).integers(0, 100, 333).astype(source)
    got = cast(device, kind, a, np.dtype(target), NONE)
    np.testing.assert_array_equal(got.astype(np.float64), a.astype(np.float64))


def test_strides_of_a_mixed_width_cast_count_blocks_of_each_type(device: Device) -> None:
    a = np.arange(128, dtype=np.float16)
    p = [NONE, 1, 1, 8, 4, 0, 2, 1, 64, 0, 0]  # 64 lanes: 8 blocks of float from 4 blocks of half
    got = run_operation(device, "f16>f32", a, np.zeros(128, np.float32), p=p)
    np.testing.assert_array_equal(got, a.astype(np.float32))


def test_widening_in_place_destroys_what_later_repeats_read(device: Device) -> None:
    a = np.arange(256, dtype=np.float16)
    got = cast(device, "f16>f32", a, np.dtype(np.float32), NONE, form=4, clean=False)
    np.testing.assert_array_equal(got[:64], a[:64].astype(np.float32))
    assert not np.array_equal(got[64:128], a[64:128].astype(np.float32))


def test_narrowing_in_place_is_fine(device: Device) -> None:
    a = np.arange(256, dtype=np.float32)
    got = cast(device, "f32>f16", a, np.dtype(np.float16), NONE, form=4)
    np.testing.assert_array_equal(got.astype(np.float32), a)


def test_bfloat16_without_a_rounding_mode_is_a_finding(device: Device) -> None:
    cast(device, "f32>bf16", np.ones(8, np.float32), BF16, NONE, clean=False)
    assert device.report().kinds == {"api-misuse"}


def test_int32_to_half_multiplies_by_the_dequantisation_scale(device: Device) -> None:
    a = np.arange(-50, 50, dtype=np.int32)
    p = [NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100]
    got = run_operation(device, "i32>f16", a, np.zeros(100, np.float16), p=p, scalar=0.25)
    np.testing.assert_array_equal(got.astype(np.float64), a * 0.25)
    run_operation(device, "i32>f16", a, np.zeros(100, np.float16), p=p, clean=False)
    assert device.report().kinds == {"api-misuse"}
