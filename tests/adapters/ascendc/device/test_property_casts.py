"""Cast over every pair of types and rounding mode of Atlas A2 (vendor's pages "Cast" and "precision_conversion") with
random masks, strides, places and values, byte for byte; also onto its own buffer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    BF16,
    COUNT,
    DTYPES,
    F16,
    F32,
    I8,
    I16,
    I32,
    I64,
    IMAGE,
    PROFILES,
    PROPERTY,
    U8,
    Call,
    Example,
    code,
    fill,
    is_float,
    lanes_of,
    run,
    same_bytes,
    seeds,
    strided_call,
    walk,
)

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
FIVE = (RINT, FLOOR, CEIL, ROUND, TRUNC)
#: (source, destination) -> the modes of the vendor's table for Atlas A2.
PAIRS: dict[tuple[np.dtype, np.dtype], tuple[int, ...]] = {
    (I8, F16): (NONE,),
    (U8, F16): (NONE,),
    (I16, F16): (*FIVE, NONE),
    (I16, F32): (NONE,),
    (F16, I8): (*FIVE, NONE),
    (F16, U8): (*FIVE, NONE),
    (F16, I16): FIVE,
    (F16, I32): FIVE,
    (F16, F32): (NONE,),
    (BF16, I32): FIVE,
    (BF16, F32): (NONE,),
    (I32, I16): (NONE,),
    (I32, F32): (*FIVE, NONE),
    (I32, I64): (NONE,),
    (F32, I16): FIVE,
    (F32, F16): (*FIVE, ODD, NONE),
    (F32, BF16): FIVE,
    (F32, I32): FIVE,
    (F32, F32): FIVE,
    (F32, I64): FIVE,
    (I64, I32): (NONE,),
    (I64, F32): FIVE,
}
#: Stored bits of the mantissa, smallest exponent of a normal number.
FORMATS = {F16: (10, -14), BF16: (7, -126), F32: (23, -126)}


def whole(x: Array, mode: int) -> Array:
    """Floats to whole numbers; longdouble holds what 64-bit integers and all floats hold."""
    below = np.floor(x)
    if mode == FLOOR:
        return below
    if mode == CEIL:
        return np.ceil(x)
    if mode == TRUNC:
        return np.trunc(x)
    if mode == ODD:
        return np.where((x == below) | (np.fmod(below, 2) != 0), below, below + 1)
    if mode == ROUND:
        return np.copysign(np.floor(np.abs(x) + np.longdouble(0.5)), x)
    return np.rint(x)


def to_float(x: Array, dst: np.dtype, mode: int) -> Array:
    """Exact numbers to a floating format: as whole multiples of the unit that the number's size has in it."""
    mantissa, least = FORMATS[dst]
    finite = np.isfinite(x) & (x != 0)
    exponent = np.maximum(np.frexp(np.where(finite, x, 1))[1] - 1, least)
    unit = np.ldexp(np.longdouble(1), exponent - mantissa)
    rounded = whole(np.where(finite, x, 0) / unit, mode) * unit
    largest = np.longdouble(np.finfo(np.float32).max) if dst != F16 else np.longdouble(65504)
    if dst == BF16:
        largest = np.longdouble(2) ** 127 * (2 - np.longdouble(2) ** -7)
    towards_zero = np.where(x > 0, mode in (FLOOR, TRUNC, ODD), mode in (CEIL, TRUNC, ODD))
    over = np.where(towards_zero, largest, np.longdouble(np.inf))
    rounded = np.where(np.abs(rounded) > largest, over, np.abs(rounded))
    return np.where(finite, np.copysign(rounded, x), x)


def converted(values: Array, dst: np.dtype, mode: int) -> Array:
    source = values.dtype
    exact = values.astype(np.float64 if source == BF16 else np.longdouble).astype(np.longdouble)
    if is_float(dst) and source != dst:
        result = to_float(exact, dst, mode)
        return result.astype(np.float32).astype(dst) if dst == BF16 else result.astype(dst)
    rounded = whole(exact, mode) if is_float(source) else exact
    if is_float(dst):
        return rounded.astype(dst)
    limits = np.iinfo(dst)
    integers = [
        0 if np.isnan(v) else limits.max if v > limits.max else limits.min if v < limits.min else int(v)
        for v in rounded
    ]
    return np.array(integers, dst)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[1]}")
@settings(PROPERTY, max_examples=50)
@given(data=st.data())
def test_conversions(device: Device, pair: tuple[np.dtype, np.dtype], data: st.DataObject) -> None:
    source, dst = pair
    mode = data.draw(st.sampled_from(PAIRS[pair]))
    call = strided_call(data.draw, 0, dst, [source])
    call.p[0] = mode
    example = Example(call, fill(data.draw(seeds), data.draw(st.sampled_from(PROFILES)), source))
    got = run(device, "property_vector", "property_conversion", example)
    want = walk(call, example.image, dst, [source], lambda values: converted(values, dst, mode))
    same_bytes(got, want, dst)


@pytest.mark.parametrize("pair", [(F16, F32), (F32, F16), (I32, I64), (F32, BF16), (I16, F32)], ids=str)
@settings(PROPERTY, max_examples=25)
@given(data=st.data())
def test_conversion_onto_its_own_buffer_goes_repeat_by_repeat(
    device: Device, pair: tuple[np.dtype, np.dtype], data: st.DataObject
) -> None:
    source, dst = pair
    mode = PAIRS[pair][0]
    call = Call(dtype=code(dst), other=code(source), form=COUNT, repeat=1, bytes=IMAGE)
    call.count = data.draw(st.integers(1, 6 * lanes_of(source, dst)))
    call.at[0] = call.at[1] = 32 * data.draw(st.integers(0, 8))
    call.p[0] = mode
    example = Example(call, fill(data.draw(seeds), "small", source))
    got = run(device, "property_vector", "property_conversion", example, clean=False)
    same_bytes(got, walk(call, example.image, dst, [source], lambda values: converted(values, dst, mode)), dst)
    spoilt = dst.itemsize > source.itemsize and call.count > lanes_of(source, dst)
    assert [f.kind for f in device.report().findings] == (["api-misuse"] if spoilt else [])


@settings(PROPERTY, max_examples=60)
@given(data=st.data())
def test_int32_to_half_takes_the_scale(device: Device, data: st.DataObject) -> None:
    call = strided_call(data.draw, 0, F16, [I32])
    call.p[1] = 1
    call.scalar = data.draw(st.sampled_from([1.0, 0.5, 0.125, -2.0]))
    example = Example(call, fill(data.draw(seeds), data.draw(st.sampled_from(PROFILES)), I32))
    scale = np.float32(call.scalar)
    got = run(device, "property_vector", "property_conversion", example)
    want = walk(call, example.image, F16, [I32], lambda values: (values.astype(np.float32) * scale).astype(F16))
    same_bytes(got, want, F16)


def test_the_table_has_every_type_of_the_suite() -> None:
    assert {t for pair in PAIRS for t in pair} == set(DTYPES) - {np.dtype(np.uint16), np.dtype(np.uint32)}
