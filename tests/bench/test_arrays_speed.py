"""Comparing outputs and observing what is wrong with them, on 10^7 elements, beside one pass of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from statemachine.forensics import observe
from statemachine.tolerance import policy
from tests.bench.conftest import Timed

GROUP = "compare and observe 10,000 x 1,000 float32"
POLICY = policy("cann-ecosystem")
Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def expected() -> Array:
    return np.random.default_rng(7).standard_normal((10_000, 1_000), dtype=np.float32)


@pytest.fixture(scope="module")
def tails(expected: Array) -> Array:
    """Wrong in the last granule of every row."""
    actual = expected.copy()
    actual[:, -8:] = 0
    return actual


@pytest.fixture(scope="module")
def wrong(expected: Array) -> Array:
    """Wrong everywhere."""
    return np.asarray(expected + 1)


def test_one_pass(timed: Timed, tails: Array, expected: Array) -> None:
    assert timed(GROUP, "np.abs(a - e).max()", lambda: np.abs(tails - expected).max(), floor=True) > 0


def test_comparing_equal_outputs(timed: Timed, expected: Array) -> None:
    actual = expected.copy()
    assert timed(GROUP, "compare: equal", lambda: POLICY.compare(actual, expected), rounds=3).passed


def test_comparing_wrong_outputs(timed: Timed, tails: Array, expected: Array) -> None:
    assert not timed(GROUP, "compare: wrong in row tails", lambda: POLICY.compare(tails, expected), rounds=3).passed


def test_observing_tails(timed: Timed, tails: Array, expected: Array) -> None:
    bad = POLICY.compare(tails, expected).bad
    found = timed(GROUP, "observe: wrong in row tails", lambda: observe(tails, expected, bad), rounds=3)
    assert "tail-only" in {feature.name for feature in found}


def test_observing_an_output_that_is_all_wrong(timed: Timed, wrong: Array, expected: Array) -> None:
    bad = POLICY.compare(wrong, expected).bad
    found = timed(GROUP, "observe: wrong everywhere", lambda: observe(wrong, expected, bad), rounds=3)
    assert "offset-constant" in {feature.name for feature in found}
