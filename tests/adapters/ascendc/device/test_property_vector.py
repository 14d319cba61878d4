"""Element-wise instructions over random dtypes, masks, strides, repeats and places, against numpy, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    F16,
    F32,
    I16,
    I32,
    IMAGE,
    MASK_BITS,
    PROFILES,
    PROPERTY,
    U16,
    U32,
    Call,
    Example,
    close_values,
    fill,
    is_float,
    run,
    same_bytes,
    seeds,
    strided_call,
    walk,
)


def wide(values: Array) -> Array:
    """16-bit floats compute in float and round once."""
    return values.astype(np.float32) if values.dtype == F16 else values


class Instruction(NamedTuple):
    """One instruction: its opcode in property_vector.cpp, element types, and f(scalar, sources...) in wide types."""

    op: int
    dtypes: tuple[np.dtype, ...]
    model: Callable[..., Array]
    sources: int
    signed_zero: bool = True  # which of two zeros it gives is known (NaN propagates everywhere)
    rtol: float = 0.0
    reads_dst: bool = False


NUMBERS, FLOATS, WORDS, INTEGERS = (F32, F16, I16, I32), (F32, F16), (I16, U16), (I16, U16, I32, U32)
INSTRUCTIONS = {
    "Add": Instruction(0, NUMBERS, lambda s, a, b: a + b, 2),
    "Sub": Instruction(1, NUMBERS, lambda s, a, b: a - b, 2),
    "Mul": Instruction(2, NUMBERS, lambda s, a, b: a * b, 2),
    "Max": Instruction(3, NUMBERS, lambda s, a, b: np.maximum(a, b), 2, signed_zero=False),
    "Min": Instruction(4, NUMBERS, lambda s, a, b: np.minimum(a, b), 2, signed_zero=False),
    "Div": Instruction(5, FLOATS, lambda s, a, b: a / b, 2),
    "FusedMulAdd": Instruction(6, FLOATS, lambda s, a, b, y: a * y + b, 2, reads_dst=True),
    "FusedMulAddRelu": Instruction(
        7, FLOATS, lambda s, a, b, y: np.maximum(a * y + b, 0), 2, signed_zero=False, reads_dst=True
    ),
    "MulAddDst": Instruction(8, FLOATS, lambda s, a, b, y: a * b + y, 2, reads_dst=True),
    "And": Instruction(10, WORDS, lambda s, a, b: a & b, 2),
    "Or": Instruction(11, WORDS, lambda s, a, b: a | b, 2),
    "AddRelu": Instruction(12, (F32, F16, I16), lambda s, a, b: np.maximum(a + b, 0), 2, signed_zero=False),
    "SubRelu": Instruction(13, (F32, F16, I16), lambda s, a, b: np.maximum(a - b, 0), 2, signed_zero=False),
    "Abs": Instruction(20, FLOATS, lambda s, a: np.abs(a), 1),
    "Relu": Instruction(21, (F32, F16, I32), lambda s, a: np.maximum(a, 0), 1, signed_zero=False),
    "Exp": Instruction(22, FLOATS, lambda s, a: np.exp(a), 1, rtol=1e-6),
    "Ln": Instruction(23, FLOATS, lambda s, a: np.log(a), 1, rtol=1e-6),
    "Sqrt": Instruction(24, FLOATS, lambda s, a: np.sqrt(a), 1),
    "Rsqrt": Instruction(25, FLOATS, lambda s, a: 1 / np.sqrt(a), 1, rtol=1e-6),
    "Reciprocal": Instruction(26, FLOATS, lambda s, a: 1 / a, 1),
    "Not": Instruction(27, WORDS, lambda s, a: ~a, 1),
    "Adds": Instruction(40, NUMBERS, lambda s, a: a + s, 1),
    "Muls": Instruction(41, NUMBERS, lambda s, a: a * s, 1),
    "Maxs": Instruction(42, NUMBERS, lambda s, a: np.maximum(a, s), 1, signed_zero=False),
    "Mins": Instruction(43, NUMBERS, lambda s, a: np.minimum(a, s), 1, signed_zero=False),
    "LeakyRelu": Instruction(44, FLOATS, lambda s, a: np.where(a > 0, a, a * s), 1, signed_zero=False),
    "Axpy": Instruction(45, FLOATS, lambda s, a, y: a * s + y, 1, reads_dst=True),
    "ShiftLeft": Instruction(46, INTEGERS, lambda s, a: shifted(a, -int(s)), 1),
    "ShiftRight": Instruction(47, INTEGERS, lambda s, a: shifted(a, int(s)), 1),
}


def shifted(values: Array, right: int) -> Array:
    """Shifts in Python's integers, which are as wide as needed."""
    whole = [int(v) >> right if right >= 0 else int(v) << -right for v in values]
    modulus = 1 << values.itemsize * 8
    return np.array([v % modulus for v in whole], np.uint64).astype(f"u{values.itemsize}").view(values.dtype)


def draw_example(draw: Any, name: str, dst: np.dtype, source: np.dtype, call: Call) -> Example:
    profile = draw(st.sampled_from(PROFILES))
    image = fill(draw(seeds), profile, source)
    if is_float(dst):
        call.scalar = draw(st.sampled_from([0.0, 1.0, -2.5, 0.1, 1000.0]))
    elif name.startswith("Shift"):
        call.scalar = draw(st.integers(0, dst.itemsize * 8))
    else:
        call.scalar = draw(st.integers(-100, 100))
    return Example(call, image)


def model(name: str, example: Example, dst: np.dtype, source: np.dtype) -> Array:
    instruction, call = INSTRUCTIONS[name], example.call
    scalar = wide(np.array([call.scalar]).astype(source))[0]
    widen = F32 if dst in (F16, F32) else dst
    operands = [source] * instruction.sources

    def apply(*values: Array) -> Array:
        return instruction.model(scalar, *(wide(v).astype(widen) for v in values)).astype(dst)

    return walk(call, example.image, dst, operands, apply, instruction.reads_dst)


@pytest.mark.parametrize("name", INSTRUCTIONS)
@settings(PROPERTY, max_examples=45)
@given(data=st.data())
def test_element_wise_instructions(device: Device, name: str, data: st.DataObject) -> None:
    instruction = INSTRUCTIONS[name]
    dtype = data.draw(st.sampled_from(instruction.dtypes))
    call = strided_call(data.draw, instruction.op, dtype, [dtype] * instruction.sources)
    example = draw_example(data.draw, name, dtype, dtype, call)
    got = run(device, "property_vector", "property_element_wise", example)
    want = model(name, example, dtype, dtype)
    if instruction.rtol:
        rtol = instruction.rtol if dtype == F32 else 2.0**-10
        want = close_values(got, want, dtype, rtol)
    same_bytes(got, want, dtype, signed_zero=instruction.signed_zero)


@pytest.mark.parametrize("name,op", [("MulAddDst", 14), ("Axpy", 49)])
@settings(PROPERTY, max_examples=40)
@given(data=st.data())
def test_half_sources_into_a_float_destination(device: Device, name: str, op: int, data: st.DataObject) -> None:
    call = strided_call(data.draw, op, F32, [F16] * INSTRUCTIONS[name].sources)
    example = draw_example(data.draw, name, F32, F16, call)
    got = run(device, "property_vector", "property_element_wise", example)
    same_bytes(got, model(name, example, F32, F16), F32)


@settings(PROPERTY, max_examples=60)
@given(data=st.data())
def test_rounded_shift_adds_the_last_bit_that_is_lost(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([I16, I32, U16]))
    call = strided_call(data.draw, 48, dtype, [dtype], [MASK_BITS])
    bits = data.draw(st.integers(0, dtype.itemsize * 8))
    call.scalar = bits
    example = Example(call, fill(data.draw(seeds), "bits", dtype))

    def apply(a: Array) -> Array:
        if bits == 0 or dtype == U16:  # only signed types round
            return shifted(a, bits)
        return np.asarray(shifted(a, bits) + (shifted(a, bits - 1) & 1).astype(dtype))

    got = run(device, "property_vector", "property_element_wise", example)
    same_bytes(got, walk(call, example.image, dtype, [dtype], apply))


def test_a_count_leaves_the_normal_mode_and_a_full_mask(device: Device) -> None:
    call = Call(op=60, count=5, bytes=IMAGE, blk=(1, 1, 1), rep=(8, 8, 8), at=(1024, 0, 0, 0))
    example = Example(call, np.zeros(IMAGE, np.uint8))
    after = run(device, "property_vector", "property_element_wise", example).view(np.float32)
    assert after[256 : 256 + 129].tolist() == [2.0] * 5 + [1.0] * 123 + [0.0]
