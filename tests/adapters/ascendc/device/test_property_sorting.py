"""Sorting, merging and extracting (score, index) structures with random lengths, places and ties, byte for byte."""

from __future__ import annotations

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
    IMAGE,
    PROFILES,
    PROPERTY,
    Call,
    Example,
    code,
    fill,
    place,
    put,
    run,
    same_bytes,
    seeds,
)

SORT_32, MERGE, SORT, EXTRACT = range(4)


def structures(scores: Array, indices: Array) -> Array:
    """(score, index) in 8 bytes each: the score low, the index in the upper 4."""
    out = np.zeros((len(scores), 8), np.uint8)
    out[:, : scores.itemsize] = scores.view(np.uint8).reshape(len(scores), -1)
    out[:, 4:] = indices.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    return out.reshape(-1)


def sort(device: Device, example: Example, clean: bool = True) -> Array:
    return run(device, "property_tensors", "property_sorting", example, clean)


def descending(scores: Array) -> Array:
    return np.argsort(-scores.astype(np.float64), kind="stable")


def scores_of(draw: Any, dtype: np.dtype, count: int) -> Array:
    """Few different values, so that ties occur."""
    rng = np.random.default_rng(draw(seeds))
    return (rng.integers(-20, 20, count) / 4).astype(dtype)


@pytest.mark.parametrize("kind", ["groups", "groups by Sort", "all"])
@settings(PROPERTY, max_examples=40)
@given(data=st.data())
def test_sorting_scores_with_indices(device: Device, kind: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    call = Call(op=SORT_32 if kind == "groups" else SORT, dtype=code(dtype), bytes=IMAGE)
    call.repeat, call.p[0] = data.draw(st.integers(1, 5)), kind == "all"
    count = call.repeat * 32
    work = count * 8 if kind == "all" and call.repeat > 1 else 0
    place(data.draw, call, [count * 8, count * dtype.itemsize, count * 4, work])
    image = fill(data.draw(seeds), "bits", dtype)
    scores = scores_of(data.draw, dtype, count)
    image[call.at[1] : call.at[1] + scores.nbytes] = scores.view(np.uint8)
    indices = image[call.at[2] : call.at[2] + count * 4].view(np.uint32)
    want, group = image.copy(), count if kind == "all" else 32
    order = np.concatenate([first + descending(scores[first : first + group]) for first in range(0, count, group)])
    want[call.at[0] : call.at[0] + count * 8] = structures(scores[order], indices[order])
    got = sort(device, Example(call, image), clean=work == 0)
    assert device.report().kinds <= {"ub-uninitialised"}  # the work tensor goes out with the image
    want[call.at[3] : call.at[3] + work] = got[call.at[3] : call.at[3] + work]
    same_bytes(got, want)


@settings(PROPERTY, max_examples=120)
@given(data=st.data())
def test_merging_sorted_queues(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    call = Call(op=MERGE, dtype=code(dtype), bytes=IMAGE, repeat=1)
    queues, suspend = data.draw(st.integers(2, 4)), data.draw(st.booleans())
    lengths = [data.draw(st.integers(1, 40)) for _ in range(queues)]
    if queues == 4 and not suspend and data.draw(st.booleans()):
        lengths, call.repeat = [lengths[0]] * 4, data.draw(st.integers(1, 3))
    call.p[:] = (*lengths, *[0] * (4 - queues), (1 << queues) - 1, int(suspend), 0, 0)
    total = sum(lengths)
    place(data.draw, call, [call.repeat * total * 8, call.repeat * total * 8, 0, BLOCK])
    image = fill(data.draw(seeds), "bits", dtype)
    want = image.copy()
    taken = [0] * 4
    for repeat in range(call.repeat):
        parts = [np.sort(scores_of(data.draw, dtype, n).astype(np.float64))[::-1].astype(dtype) for n in lengths]
        indices = np.arange(total, dtype=np.uint32) + 1000 * repeat
        start = repeat * total * 8
        image[call.at[1] + start : call.at[1] + start + total * 8] = structures(np.concatenate(parts), indices)
        starts = np.cumsum([0, *lengths])
        left = [
            list(zip(part.tolist(), indices[at:].tolist(), strict=False))
            for part, at in zip(parts, starts, strict=False)
        ]
        merged = []
        while any(left) and not (suspend and not all(left)):
            queue = max((q for q in range(queues) if left[q]), key=lambda q: (left[q][0][0], -q))
            merged.append(left[queue].pop(0))
        taken = [*(n - len(rest) for n, rest in zip(lengths, left, strict=True)), *[0] * (4 - queues)]
        found = structures(np.array([m[0] for m in merged], dtype), np.array([m[1] for m in merged]))
        want[call.at[0] + start : call.at[0] + start + len(found)] = found
    want[call.at[1] : call.at[1] + call.repeat * total * 8] = image[call.at[1] : call.at[1] + call.repeat * total * 8]
    put(want, call.at[3] + 4 * np.arange(4), np.array(taken, np.int32))
    same_bytes(sort(device, Example(call, image)), want)


@settings(PROPERTY, max_examples=50)
@given(data=st.data())
def test_extracting_values_and_indices(device: Device, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from([F32, F16]))
    call = Call(op=EXTRACT, dtype=code(dtype), bytes=IMAGE, repeat=data.draw(st.integers(1, 5)))
    count = call.repeat * 32
    place(data.draw, call, [count * dtype.itemsize, count * 8, count * 4])
    example = Example(call, fill(data.draw(seeds), data.draw(st.sampled_from(PROFILES)), dtype))
    want = example.image.copy()
    pairs = want[call.at[1] : call.at[1] + count * 8].reshape(count, 8).copy()
    want[call.at[0] : call.at[0] + count * dtype.itemsize] = pairs[:, : dtype.itemsize].reshape(-1)
    want[call.at[2] : call.at[2] + count * 4] = pairs[:, 4:].reshape(-1)
    same_bytes(sort(device, example), want)
