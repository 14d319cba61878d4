"""Sort32, MrgSort, Sort, Concat and Extract against numpy's stable sort."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device

GROUPS, EVERYTHING, MERGE, MERGE_LISTS, MERGE_SUSPEND = range(5)


def sort(device: Device, scores: Array, form: int) -> tuple[Array, Array]:
    indices = np.arange(len(scores), dtype=np.uint32) * 3 + 1
    values, order = np.zeros_like(scores), np.zeros(len(scores), np.uint32)
    arrays = (device.register(x) for x in (scores, indices, values, order))
    failed = device.kernels("cube").run_sort(int(scores.dtype == np.float16), *arrays, len(scores), form)
    report = device.report()
    assert failed == 0, report.error
    assert report.findings == []
    return values, order


def scores_of(dtype: type, count: int, seed: int) -> Array:
    """Few distinct values, so that ties are common."""
    return np.random.default_rng(seed).integers(-20, 20, count).astype(dtype)


def descending(scores: Array) -> Array:
    return np.argsort(-scores.astype(np.float64), kind="stable")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_sort32_sorts_each_group_of_32(device: Device, dtype: type) -> None:
    scores = scores_of(dtype, 128, 1)
    values, order = sort(device, scores, GROUPS)
    for first in range(0, 128, 32):
        rank = descending(scores[first : first + 32]) + first
        np.testing.assert_array_equal(values[first : first + 32], scores[rank])
        np.testing.assert_array_equal(order[first : first + 32], rank * 3 + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count", [32, 96, 1024])
def test_a_full_sort_is_stable(device: Device, dtype: type, count: int) -> None:
    scores = scores_of(dtype, count, 2)
    values, order = sort(device, scores, EVERYTHING)
    rank = descending(scores)
    np.testing.assert_array_equal(values, scores[rank])
    np.testing.assert_array_equal(order, rank * 3 + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("form", [MERGE, MERGE_LISTS])
def test_four_sorted_queues_merge_into_one(device: Device, dtype: type, form: int) -> None:
    scores = scores_of(dtype, 128, 3)
    values, order = sort(device, scores, form)
    rank = descending(scores)
    np.testing.assert_array_equal(values, scores[rank])
    np.testing.assert_array_equal(order, rank * 3 + 1)


def test_a_merge_that_suspends_stops_when_a_queue_is_empty(device: Device) -> None:
    queues = [np.sort(scores_of(np.float32, 32, seed))[::-1] for seed in range(4)]
    _, taken = sort(device, np.concatenate(queues), MERGE_SUSPEND)
    left = [0, 0, 0, 0]
    while all(left[q] < 32 for q in range(4)):
        left[max(range(4), key=lambda q: (queues[q][left[q]], -q))] += 1
    np.testing.assert_array_equal(taken[:4], left)
