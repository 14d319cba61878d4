"""Reductions, comparisons and selections over random dtypes, masks, strides and places, byte for byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    BLOCK,
    COUNT,
    F16,
    F32,
    IMAGE,
    MASK_BITS,
    MASK_COUNT,
    OUTER_BITS,
    OUTER_COUNTER,
    PROFILES,
    PROPERTY,
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

VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX = range(4)
INDEX: dict[np.dtype, np.dtype] = {F32: np.dtype(np.uint32), F16: np.dtype(np.uint16)}
WHOLE = {"WholeReduceSum": 0, "WholeReduceMax": 1, "WholeReduceMin": 2}
PARTS = {"BlockReduceSum": 3, "BlockReduceMax": 4, "BlockReduceMin": 5, "PairReduceSum": 6}
TOTALS = {"ReduceSum": 10, "ReduceMax": 11, "ReduceMin": 12}


def tree(values: Array) -> Array:
    """Sums of the last axis (a power of two long) by adjacent pairs, rounded at every step; one element is left."""
    while values.shape[-1] > 1:
        pairs = values.astype(np.float32)
        with np.errstate(all="ignore"):
            values = (pairs[..., ::2] + pairs[..., 1::2]).astype(values.dtype)
    return values


def add(x: Any, y: Any, dtype: np.dtype) -> Any:
    with np.errstate(all="ignore"):
        return (np.float32(x) + np.float32(y)).astype(dtype)


def repeats_in(call: Call, image: Array, dtype: np.dtype, block: int, step: int) -> list[tuple[Array, Array]]:
    """Of each repeat: its values, and which lanes take part."""
    lanes = lanes_of(dtype)
    return [
        (get(image, addresses(call.at[1], dtype, lanes, block, r * step), dtype), active_lanes(call, r, lanes))
        for r in range(repeats_of(call, lanes))
    ]


def best(name: str, values: Array, active: Array) -> tuple[Any, int]:
    """The extreme value of the active lanes and the lowest lane that has it."""
    worst = -np.inf if "Max" in name else np.inf
    candidates = np.where(active, values, np.array(worst, values.dtype))
    wanted = candidates[active].max() if "Max" in name else candidates[active].min()
    return wanted, int(np.flatnonzero(active & (values == wanted))[0])


def reduction_call(draw: Any, op: int, dtype: np.dtype, unit: int, per_repeat: int) -> Call:
    """A call whose destination takes `per_repeat` bytes of every repeat, `unit` bytes times the stride apart."""
    call = Call(op=op, dtype=code(dtype), bytes=IMAGE)
    lanes = lanes_of(dtype)
    draw_mask(draw, call, (MASK_COUNT, MASK_BITS, OUTER_BITS, OUTER_COUNTER), lanes)
    repeats = max(repeats_of(call, lanes), 1)
    call.blk[1] = draw(st.sampled_from([1, 1, 2, 3, 0]))
    call.rep[0] = draw(st.sampled_from([1, 2, 3, 0]))
    call.rep[1] = draw(st.sampled_from([8, 0, 1, 9, 17]))
    source = ((repeats - 1) * call.rep[1] + 7 * call.blk[1] + 1) * BLOCK
    place(draw, call, [(repeats - 1) * call.rep[0] * unit + per_repeat, source])
    return call


def numbers(draw: Any, dtype: np.dtype) -> Array:
    """No NaN: what a reduction makes of it is not documented."""
    return fill(draw(seeds), draw(st.sampled_from(["small", "wide"])), dtype)


@pytest.mark.parametrize("name", WHOLE)
@settings(PROPERTY, max_examples=90)
@given(data=st.data())
def test_reductions_of_a_repeat(device: Device, name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    order = data.draw(st.sampled_from([VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX])) if "Sum" not in name else 2
    size = dtype.itemsize
    unit = {ONLY_VALUE: size, ONLY_INDEX: 4}.get(order, 2 * size)
    call = reduction_call(data.draw, WHOLE[name], dtype, unit, unit)
    call.p[0] = order
    example = Example(call, numbers(data.draw, dtype))
    want = example.image.copy()
    for repeat in range(repeats_of(call, lanes_of(dtype))):
        values, active = repeats_in(call, want, dtype, call.blk[1], call.rep[1])[repeat]
        if not active.any():
            continue
        if "Sum" in name:
            parts: list[Array] = [tree(np.where(active, values, np.zeros(1, dtype)))]
        else:
            value, index = best(name, values, active)
            found, where = np.array([value], dtype), np.array([index], INDEX[dtype])
            parts = [[found, where], [where, found], [found], [np.array([index], np.uint32)]][order]
        data_bytes = np.concatenate([part.view(np.uint8) for part in parts])
        put(want, np.arange(unit) + call.at[0] + repeat * call.rep[0] * unit, data_bytes)
    same_bytes(run(device, "property_tensors", "property_reduction", example), want, dtype, signed_zero=False)


@pytest.mark.parametrize("name", PARTS)
@settings(PROPERTY, max_examples=70)
@given(data=st.data())
def test_reductions_of_blocks_and_pairs(device: Device, name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    lanes = lanes_of(dtype)
    width = 2 if name == "PairReduceSum" else lanes // 8
    unit = lanes // width * dtype.itemsize
    call = reduction_call(data.draw, PARTS[name], dtype, unit, unit)
    example = Example(call, numbers(data.draw, dtype))
    want = example.image.copy()
    for repeat in range(repeats_of(call, lanes)):
        values, active = repeats_in(call, want, dtype, call.blk[1], call.rep[1])[repeat]
        groups, chosen = values.reshape(-1, width), active.reshape(-1, width)
        if "Sum" in name:
            results = tree(np.where(chosen, groups, np.zeros(1, dtype)))[:, 0]
        else:
            results = np.array(
                [best(name, g, c)[0] if c.any() else 0 for g, c in zip(groups, chosen, strict=True)], dtype
            )
        kept = np.flatnonzero(chosen.any(1))
        put(want, call.at[0] + repeat * call.rep[0] * unit + kept * dtype.itemsize, results[kept])
    same_bytes(run(device, "property_tensors", "property_reduction", example), want, dtype, signed_zero=False)


def work_bytes(repeats: int, dtype: np.dtype, name: str, index: bool) -> int:
    """What the work tensor may lose (vendor's formulas)."""
    per_block, lanes = BLOCK // dtype.itemsize, lanes_of(dtype)
    if name == "ReduceSum":
        return -(-repeats // per_block) * BLOCK
    produced, total = 2 * repeats, -(-2 * repeats // per_block) * BLOCK
    while index and produced > 2:
        produced = -(-produced // lanes) * 2
        total += -(-produced // per_block) * BLOCK
    return total


@pytest.mark.parametrize("name", TOTALS)
@settings(PROPERTY, max_examples=100)
@given(data=st.data())
def test_reductions_of_everything(device: Device, name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    lanes, index = lanes_of(dtype), data.draw(st.booleans()) and name != "ReduceSum"
    call = Call(op=TOTALS[name], dtype=code(dtype), bytes=IMAGE)
    draw_mask(data.draw, call, (COUNT, MASK_COUNT, MASK_BITS), lanes)
    call.bits[0] |= not (call.bits[0] or call.bits[1])  # what an empty mask gives is not documented
    call.rep[1] = 8 if call.form == COUNT else data.draw(st.sampled_from([8, 0, 1, 9, 17]))
    call.p[0] = index
    repeats = repeats_of(call, lanes)
    rounds = max(call.count // lanes, 1) if call.form == COUNT else repeats
    work = work_bytes(rounds, dtype, name, index) if name != "ReduceSum" or call.form != COUNT else 0
    place(data.draw, call, [BLOCK, (max(repeats - 1, 0) * call.rep[1] + 8) * BLOCK, 0, max(work, BLOCK)])
    example = Example(call, numbers(data.draw, dtype))
    want = example.image.copy()
    parts = repeats_in(call, want, dtype, 1, call.rep[1])
    if any(active.any() for _, active in parts):
        if name == "ReduceSum":
            sums = [tree(np.where(active, values, np.zeros(1, dtype)))[0] for values, active in parts]
            total = sums[0]
            for value in sums[1:] if call.form == COUNT else []:  # one after another
                total = add(total, value, dtype)
            if call.form != COUNT:  # as a tree again
                total = tree(np.concatenate([np.array(sums, dtype), np.zeros(lanes - len(sums), dtype)]))[0]
            put(want, np.array([call.at[0]]), np.array([total], dtype))
        else:
            values = np.concatenate([v for v, _ in parts])
            value, at = best(name, values, np.concatenate([a for _, a in parts]))
            put(want, np.array([call.at[0]]), np.array([value], dtype))
            if index:
                put(want, np.array([call.at[0] + dtype.itemsize]), np.array([at], INDEX[dtype]))
    got = run(device, "property_tensors", "property_reduction", example, clean=False)
    assert device.report().kinds <= {"ub-uninitialised"}  # the work tensor goes out with the image
    want[call.at[3] : call.at[3] + work] = got[call.at[3] : call.at[3] + work]
    same_bytes(got, want, dtype, signed_zero=False)


RELATIONS = (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal)


@pytest.mark.parametrize("op", [0, 1, 2], ids=["Compare", "CompareScalar", "Compares"])
@settings(PROPERTY, max_examples=80)
@given(data=st.data())
def test_comparisons_pack_bits_and_ignore_the_mask(device: Device, op: int, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    lanes = lanes_of(dtype)
    call = Call(op=op, other=code(dtype), bytes=IMAGE, form=data.draw(st.sampled_from([COUNT, MASK_COUNT])))
    repeats = call.repeat = data.draw(st.integers(1, 5))
    call.count = repeats * lanes if call.form == COUNT else data.draw(st.integers(1, lanes))
    call.p[0] = mode = data.draw(st.integers(0, 5))
    call.scalar = data.draw(st.sampled_from([0.0, 1.5, -3.0]))
    sizes = [-(-repeats * lanes // 8 // BLOCK) * BLOCK]
    for index in (1, 2):
        call.blk[index] = 1 if call.form == COUNT else data.draw(st.sampled_from([1, 2, 3, 0]))
        call.rep[index] = 8 if call.form == COUNT else data.draw(st.sampled_from([8, 0, 1, 9, 17]))
        sizes.append(((repeats - 1) * call.rep[index] + 7 * call.blk[index] + 1) * BLOCK)
    place(data.draw, call, sizes)
    example = Example(call, fill(data.draw(seeds), data.draw(st.sampled_from(PROFILES)), dtype))
    want = example.image.copy()
    for repeat in range(repeats):
        left, right = (
            get(want, addresses(call.at[i], dtype, lanes, call.blk[i], repeat * call.rep[i]), dtype) for i in (1, 2)
        )
        other = right if op == 0 else np.array(call.scalar).astype(dtype)
        bits = np.packbits(RELATIONS[mode](left, other), bitorder="little")
        put(want, call.at[0] + repeat * lanes // 8 + np.arange(lanes // 8), bits)
    same_bytes(run(device, "property_tensors", "property_comparison", example), want)


@settings(PROPERTY, max_examples=220)
@given(data=st.data())
def test_selections(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    lanes, mode = lanes_of(dtype), data.draw(st.integers(0, 2))
    call = strided_call(data.draw, 0, dtype, [dtype, dtype], (COUNT, MASK_COUNT, MASK_BITS))
    call.p[0], call.scalar = mode, data.draw(st.sampled_from([0.0, -2.5]))
    call.at[3] = data.draw(st.integers((IMAGE - 1024) // BLOCK, (IMAGE - 256) // BLOCK)) * BLOCK  # above all operands
    example = Example(call, fill(data.draw(seeds), data.draw(st.sampled_from(PROFILES)), dtype))
    repeat = iter(range(repeats_of(call, lanes)))

    def pick(a: Array, b: Array) -> Array:
        """`walk` calls this once per repeat, with the active lanes only."""
        number = next(repeat)
        first = 0 if mode == 0 else number * lanes // 8
        bits = example.image[call.at[3] + first : call.at[3] + first + lanes // 8]
        chosen = np.unpackbits(bits, bitorder="little")[active_lanes(call, number, lanes)].astype(bool)
        return np.where(chosen, a, np.array(call.scalar).astype(dtype) if mode == 1 else b)

    want = walk(call, example.image, dtype, [dtype, dtype], pick)
    same_bytes(run(device, "property_tensors", "property_selection", example), want, dtype)
