"""Copies between global memory and UB and inside UB, over random lengths, strides, paddings and places: every byte of
both sides."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    BLOCK,
    F16,
    F32,
    I8,
    I16,
    I32,
    IMAGE,
    PROPERTY,
    Call,
    code,
    seeds,
)

TYPES = (F32, F16, I8, I16, I32)
COUNT_IN, COUNT_OUT, BLOCKS_IN, BLOCKS_OUT, COUNT_UB, BLOCKS_UB, PAD_IN, PAD_OUT, OLD_PAD_IN, OLD_PAD_OUT = range(10)


def run(device: Device, call: Call, image: Array, outside: Array, kinds: set[str]) -> tuple[Array, Array]:
    """Both memories after the copy; the device may report no other kinds than these."""
    device.reset()
    image, outside = image.copy(), outside.copy()
    arguments = device.register(image), device.register(outside), ctypes.byref(call)
    failed = device.kernels("property_copies").property_copy(*arguments)
    report = device.report()
    assert failed == 0, report.error
    assert report.kinds <= kinds, report.findings
    return image, outside


def memories(draw: Any) -> tuple[Array, Array]:
    rng = np.random.default_rng(draw(seeds))
    return rng.integers(0, 256, IMAGE, dtype=np.uint8), rng.integers(0, 256, 8192, dtype=np.uint8)


def check(got: tuple[Array, Array], want: tuple[Array, Array]) -> None:
    for side, mine, theirs in zip(("UB", "global memory"), got, want, strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=side)


@pytest.mark.parametrize("op", [COUNT_IN, COUNT_OUT, COUNT_UB], ids=["in", "out", "inside"])
@settings(PROPERTY, max_examples=50)
@given(data=st.data())
def test_a_count_moves_whole_blocks_only(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(TYPES))
    image, outside = memories(data.draw)
    count = data.draw(st.integers(0, 700))
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE, count=count)
    call.at[0] = data.draw(st.integers(0, 100)) * BLOCK
    call.at[1] = (200 + data.draw(st.integers(0, 100))) * BLOCK
    call.at[3] = data.draw(st.integers(0, 500)) * dtype.itemsize
    whole = count * dtype.itemsize // BLOCK * BLOCK
    want, beyond = image.copy(), outside.copy()
    inside, there = slice(call.at[0], call.at[0] + whole), slice(call.at[3], call.at[3] + whole)
    if op == COUNT_IN:
        want[inside] = outside[there]
    elif op == COUNT_OUT:
        beyond[there] = image[inside]
    else:
        want[inside] = image[call.at[1] : call.at[1] + whole]
    kinds = {"api-misuse"} if count * dtype.itemsize % BLOCK else set()
    check(run(device, call, image, outside, kinds), (want, beyond))


@pytest.mark.parametrize("op", [BLOCKS_IN, BLOCKS_OUT, BLOCKS_UB], ids=["in", "out", "inside"])
@settings(PROPERTY, max_examples=60)
@given(data=st.data())
def test_strides_count_the_gap_in_blocks(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(TYPES))
    image, outside = memories(data.draw)
    count, length = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 7))
    gaps = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))  # of the source, of the destination
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE, p=(count, length, *gaps, 0, 0, 0, 0))
    call.at[0] = data.draw(st.integers(0, 100)) * BLOCK
    call.at[1] = (250 + data.draw(st.integers(0, 60))) * BLOCK
    call.at[3] = data.draw(st.integers(0, 500)) * dtype.itemsize
    want, beyond = image.copy(), outside.copy()
    source, destination = {
        BLOCKS_IN: ((outside, call.at[3]), (want, call.at[0])),
        BLOCKS_OUT: ((image, call.at[0]), (beyond, call.at[3])),
        BLOCKS_UB: ((image, call.at[1]), (want, call.at[0])),
    }[op]
    for block in range(count):
        start, to = (
            at + block * (length + gap) * BLOCK for (_, at), gap in zip((source, destination), gaps, strict=True)
        )
        destination[0][to : to + length * BLOCK] = source[0][start : start + length * BLOCK]
    check(run(device, call, image, outside, set()), (want, beyond))


@pytest.mark.parametrize("op", [PAD_IN, OLD_PAD_IN], ids=["DataCopyExtParams", "DataCopyParams"])
@settings(PROPERTY, max_examples=150)
@given(data=st.data())
def test_padding_on_the_way_in(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(TYPES))
    size = dtype.itemsize
    image, outside = memories(data.draw)
    most = BLOCK // size
    left, right = (data.draw(st.sampled_from([0, 0, 1, most // 2, most])) for _ in range(2))
    is_pad, register = data.draw(st.booleans()), data.draw(st.sampled_from([0, 0, 77]))
    count, length = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 60)) * size
    gap_out, gap_in = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 5))  # bytes there, blocks here
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE, scalar=data.draw(st.integers(-9, 9)))
    call.p[:] = (count, length, gap_out, gap_in, left, right, int(is_pad), register)
    call.at[0] = data.draw(st.integers(0, 100)) * BLOCK
    call.at[3] = data.draw(st.integers(0, 500))
    used = length + (left + right) * size
    rounded = -(-used // BLOCK) * BLOCK
    want, unknown = image.copy(), np.zeros(IMAGE, bool)
    for block in range(count):
        moved = outside[call.at[3] + block * (length + gap_out) :][:length]
        if left == right == 0:
            filler, known = moved[:size].view(np.uint8), True
        elif is_pad:
            filler, known = np.array([call.scalar]).astype(dtype).view(np.uint8), True
        else:
            filler, known = np.array([register], dtype).view(np.uint8), register != 0
        to = call.at[0] + block * (rounded + gap_in * BLOCK)
        want[to : to + rounded] = np.tile(filler, rounded // size)
        unknown[to : to + rounded] = not known
        want[to + left * size : to + left * size + length] = moved
        unknown[to + left * size : to + left * size + length] = False
    got, beyond = run(device, call, image, outside, {"ub-filler", "ub-uninitialised"})  # all of it goes out
    want[unknown] = got[unknown]
    check((got, beyond), (want, outside))


@pytest.mark.parametrize("op", [PAD_OUT, OLD_PAD_OUT], ids=["DataCopyExtParams", "DataCopyParams"])
@settings(PROPERTY, max_examples=80)
@given(data=st.data())
def test_bytes_on_the_way_out(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(TYPES))
    image, outside = memories(data.draw)
    count, length = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 60)) * dtype.itemsize
    gap_in, gap_out = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 40))  # blocks here, bytes there
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE, p=(count, length, gap_in, gap_out, 0, 0, 0, 0))
    call.at[0] = data.draw(st.integers(0, 100)) * BLOCK
    call.at[3] = data.draw(st.integers(0, 500))
    beyond = outside.copy()
    for block in range(count):
        start = call.at[0] + block * (-(-length // BLOCK) + gap_in) * BLOCK
        to = call.at[3] + block * (length + gap_out)
        beyond[to : to + length] = image[start : start + length]
    check(run(device, call, image, outside, set()), (image, beyond))
