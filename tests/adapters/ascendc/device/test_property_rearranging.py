"""Filling, gathering and transposing over random strides, places and values, against numpy, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    BF16,
    BLOCK,
    COUNT,
    F16,
    F32,
    I8,
    I16,
    I32,
    IMAGE,
    MASK_BITS,
    MASK_COUNT,
    PROPERTY,
    U16,
    U32,
    Call,
    Example,
    active_lanes,
    addresses,
    code,
    draw_mask,
    fill,
    get,
    lanes_of,
    place,
    put,
    repeats_of,
    run,
    same_bytes,
    seeds,
    strided_call,
    walk,
)

ANY = (F32, F16, BF16, I16, U16, I32, U32)
SOME = (F32, F16, I32, U16)
DUPLICATE, COPY, BRCB, GATHER, GATHERB, PATTERN, PATTERN_TENSOR, TO_5HD, TRANSPOSE = range(9)


def rearrange(device: Device, example: Example) -> Array:
    return run(device, "property_tensors", "property_rearrangement", example)


@settings(PROPERTY, max_examples=150)
@given(data=st.data())
def test_duplicate(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ANY))
    call = strided_call(data.draw, DUPLICATE, dtype, [])
    call.scalar = data.draw(st.integers(0, 99))
    example = Example(call, fill(data.draw(seeds), "bits", dtype))
    count = iter(range(99))

    def value() -> Array:
        active = active_lanes(call, next(count), lanes_of(dtype))
        return np.full(int(active.sum()), call.scalar).astype(dtype)

    same_bytes(rearrange(device, example), walk(call, example.image, dtype, [], value))


@settings(PROPERTY, max_examples=150)
@given(data=st.data())
def test_copy(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(ANY))
    call = strided_call(data.draw, COPY, dtype, [dtype])
    example = Example(call, fill(data.draw(seeds), "bits", dtype))
    same_bytes(rearrange(device, example), walk(call, example.image, dtype, [dtype], lambda a: a))


@settings(PROPERTY, max_examples=100)
@given(data=st.data())
def test_brcb_fills_a_block_with_each_element(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(SOME))
    call = Call(op=BRCB, dtype=code(dtype), bytes=IMAGE, repeat=data.draw(st.integers(0, 6)))
    call.blk[0], call.rep[0] = data.draw(st.integers(0, 3)), data.draw(st.sampled_from([8, 0, 1, 9, 24]))
    repeats = max(call.repeat, 1)
    block = max(call.blk[0], 1)  # 0 means 1 (vendor's page)
    place(data.draw, call, [((repeats - 1) * call.rep[0] + 7 * block + 1) * BLOCK, repeats * 8 * dtype.itemsize])
    example = Example(call, fill(data.draw(seeds), "bits", dtype))
    want = example.image.copy()
    for repeat in range(call.repeat):
        values = get(want, call.at[1] + np.arange(repeat * 8, repeat * 8 + 8) * dtype.itemsize, dtype)
        for i, value in enumerate(values):
            to = call.at[0] + (repeat * call.rep[0] + i * block) * BLOCK
            want[to : to + BLOCK] = np.full(BLOCK // dtype.itemsize, value).view(np.uint8)
    same_bytes(rearrange(device, example), want)


@settings(PROPERTY, max_examples=150)
@given(data=st.data())
def test_gather_takes_byte_offsets(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(SOME))
    size, lanes = dtype.itemsize, lanes_of(dtype)
    call = Call(op=GATHER, dtype=code(dtype), bytes=IMAGE)
    draw_mask(data.draw, call, (COUNT, MASK_COUNT, MASK_BITS), lanes)
    call.rep[0] = 8 if call.form == COUNT else data.draw(st.sampled_from([8, 0, 1, 9, 17]))
    call.p[0] = base = data.draw(st.integers(0, 40)) * size
    repeats = repeats_of(call, lanes)
    source = data.draw(st.integers(1, 500))
    wide = max(repeats - 1, 0) * call.rep[0] * BLOCK + 8 * BLOCK
    place(data.draw, call, [wide, base + source * size, max(repeats, 1) * lanes * 4])
    rng = np.random.default_rng(data.draw(seeds))
    image = rng.integers(0, 256, IMAGE, dtype=np.uint8)
    offsets = (rng.integers(0, source, max(repeats, 1) * lanes) * size).astype(np.uint32)
    image[call.at[2] : call.at[2] + offsets.nbytes] = offsets.view(np.uint8)
    want = image.copy()
    for repeat in range(repeats):
        active = active_lanes(call, repeat, lanes)
        values = get(want, call.at[1] + base + offsets[repeat * lanes : (repeat + 1) * lanes][active], dtype)
        put(want, addresses(call.at[0], dtype, lanes, 1, repeat * call.rep[0])[active], values)
    same_bytes(rearrange(device, Example(call, image)), want)


@settings(PROPERTY, max_examples=60)
@given(data=st.data())
def test_gatherb_takes_blocks(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(SOME))
    call = Call(op=GATHERB, dtype=code(dtype), bytes=IMAGE, repeat=data.draw(st.integers(0, 5)))
    call.blk[0], call.rep[0] = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([8, 0, 1, 9, 24]))
    repeats, source = max(call.repeat, 1), data.draw(st.integers(1, 60))
    wide = ((repeats - 1) * call.rep[0] + 7 * call.blk[0] + 1) * BLOCK
    place(data.draw, call, [wide, source * BLOCK, repeats * 8 * 4])
    rng = np.random.default_rng(data.draw(seeds))
    image = rng.integers(0, 256, IMAGE, dtype=np.uint8)
    offsets = (rng.integers(0, source, repeats * 8) * BLOCK).astype(np.uint32)
    image[call.at[2] : call.at[2] + offsets.nbytes] = offsets.view(np.uint8)
    want = image.copy()
    for i in range(call.repeat * 8):
        to = call.at[0] + (i // 8 * call.rep[0] + i % 8 * call.blk[0]) * BLOCK
        start = call.at[1] + int(offsets[i])
        want[to : to + BLOCK] = want[start : start + BLOCK]
    same_bytes(rearrange(device, Example(call, image)), want)


@pytest.mark.parametrize("op", [PATTERN, PATTERN_TENSOR], ids=["built-in", "tensor"])
@settings(PROPERTY, max_examples=120)
@given(data=st.data())
def test_gather_mask_packs_what_the_pattern_selects(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(SOME))
    size, width = dtype.itemsize, BLOCK // dtype.itemsize
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE, repeat=data.draw(st.integers(1, 4)))
    counter = data.draw(st.booleans())
    call.p[0], call.p[1] = data.draw(st.integers(1, 7)), counter
    call.count = data.draw(st.integers(1, 300)) if counter else 0
    elements = call.count if counter else 256 // size
    blocks = -(-elements // width)
    call.blk[1], call.rep[1] = data.draw(st.integers(1, 3)), data.draw(st.sampled_from([8, 0, 1, 9, 17]))
    call.rep[2] = data.draw(st.sampled_from([1, 0, 2]))
    bits_bytes = (elements // 256 + 1) * BLOCK
    sizes = [call.repeat * elements * size, ((call.repeat - 1) * call.rep[1] + (blocks - 1) * call.blk[1] + 1) * BLOCK]
    place(data.draw, call, [*sizes, (call.repeat - 1) * call.rep[2] * BLOCK + bits_bytes, BLOCK])
    example = Example(call, fill(data.draw(seeds), "bits", dtype))
    want, kept = example.image.copy(), []
    for repeat in range(call.repeat):
        i = np.arange(elements)
        if op == PATTERN:
            chosen = [None, i % 2 == 0, i % 2 == 1, i % 4 == 0, i % 4 == 1, i % 4 == 2, i % 4 == 3, i >= 0][call.p[0]]
        else:
            bits = want[call.at[2] + repeat * call.rep[2] * BLOCK :][:bits_bytes]
            chosen = np.unpackbits(bits, bitorder="little")[:elements].astype(bool)
        at = addresses(call.at[1], dtype, elements, call.blk[1], repeat * call.rep[1])[chosen]
        kept.append(get(want, at, dtype))
    values = np.concatenate(kept)
    put(want, call.at[0] + np.arange(len(values)) * size, values)
    put(want, np.array([call.at[3]]), np.array([len(values)], np.int32))
    same_bytes(rearrange(device, example), want)


@settings(PROPERTY, max_examples=40)
@given(data=st.data())
def test_transpose_of_16_by_16(device: Device, data: st.DataObject) -> None:
    call = Call(op=TRANSPOSE, dtype=code(I16), bytes=IMAGE)
    place(data.draw, call, [512, 512])
    example = Example(call, fill(data.draw(seeds), "bits", I16))
    want = example.image.copy()
    square = want[call.at[1] : call.at[1] + 512].view(np.int16).reshape(16, 16)
    want[call.at[0] : call.at[0] + 512] = np.ascontiguousarray(square.T).view(np.uint8).reshape(-1)
    same_bytes(rearrange(device, example), want)


@settings(PROPERTY, max_examples=120)
@given(data=st.data())
def test_columns_of_16_blocks_become_blocks(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([I8, I16, F32]))
    call = Call(op=TO_5HD, dtype=code(dtype), bytes=IMAGE, repeat=data.draw(st.integers(1, 3)))
    call.blk[0], call.blk[1] = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    call.rep[0], call.rep[1] = data.draw(st.sampled_from([16, 1, 70])), data.draw(st.sampled_from([16, 0, 1, 70]))
    call.p[0], call.p[1] = data.draw(st.booleans()), data.draw(st.booleans())
    place(data.draw, call, [(call.repeat * call.rep[i] + 15 * call.blk[i] + 1) * BLOCK for i in range(2)])
    example = Example(call, fill(data.draw(seeds), "bits", dtype))
    want = example.image.copy()
    to_half, from_half = (16 * (call.p[i] if dtype == I8 else 0) for i in range(2))
    length = 16 if dtype == I8 else BLOCK  # bytes of a source block that are read
    for repeat in range(call.repeat):
        step = 1 if call.repeat == 1 else repeat  # one repeat starts a stride further on (vendor's page)
        source = call.at[1] + step * call.rep[1] * BLOCK + from_half
        rows = [want[source + row * call.blk[1] * BLOCK :][:length].view(dtype) for row in range(16)]
        columns = np.ascontiguousarray(np.array(rows).T)  # one per element: 16 values, in two blocks for 4-byte types
        for i, part in enumerate(columns.view(np.uint8).reshape(-1, min(16 * dtype.itemsize, BLOCK))):
            to = call.at[0] + (step * call.rep[0] + i * call.blk[0]) * BLOCK + to_half
            want[to : to + len(part)] = part
    same_bytes(rearrange(device, example), want)
