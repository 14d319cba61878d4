"""Tolerance policies: what passes, what fails, and that nothing (NaN least of all) is a wildcard."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from statemachine.tolerance import Policy, compare_outputs, policy

NAMES = ("cann-ecosystem/1", "npukernelbench/1", "allclose(0.001,1e-05)")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64")
BF16 = np.dtype(ml_dtypes.bfloat16)
CANN = policy("cann-ecosystem")


def arrays(dtype: str) -> st.SearchStrategy[npt.NDArray[Any]]:
    return hnp.arrays(np.dtype(dtype), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_array_equals_itself(name: str, data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(DTYPES).flatmap(arrays))
    result = policy(name).compare(value.copy(), value)
    assert result.passed, result.reason
    assert result.mere == result.mare == result.error == 0.0
    assert result.match_ratio == 1.0
    assert not result.bad.any()


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_verdict_fails_exactly_when_some_element_is_marked_bad(name: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    expected = data.draw(arrays(dtype))
    actual = data.draw(hnp.arrays(expected.dtype, expected.shape))
    result = policy(name).compare(actual, expected)
    assert result.passed == (not result.bad.any())
    assert result.passed == (result.reason == "")
    assert 0.0 <= result.match_ratio <= 1.0 and 0.0 <= result.error <= 1.0
    assert result.bad.shape == expected.shape


@pytest.mark.parametrize("name", NAMES)
@given(base=st.floats(0.01, 1e4), low=st.floats(0, 1), high=st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_moving_further_from_the_expected_value_never_helps(name: str, base: float, low: float, high: float) -> None:
    near, far = sorted((low, high))
    expected = np.full(4, base)
    closer = policy(name).compare(expected + base * near, expected)
    further = policy(name).compare(expected + base * far, expected)
    assert closer.passed or not further.passed
    assert closer.error <= further.error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("actual", "expected", "kind"),
    [
        (1.0, np.nan, "nan->finite"),
        (np.nan, 1.0, "finite->nan"),
        (np.inf, np.nan, "nan->+inf"),
        (np.inf, -np.inf, "-inf->+inf"),
        (65504.0, np.inf, "+inf->finite"),
        (np.inf, 65504.0, "finite->+inf"),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_nan_and_infinity_match_only_themselves(
    name: str, actual: float, expected: float, kind: str, dtype: str
) -> None:
    as_dtype = BF16 if dtype == "bfloat16" else np.dtype(dtype)
    result = policy(name).compare(np.array([1, actual], as_dtype), np.array([1, expected], as_dtype))
    assert not result.passed
    assert result.bad.tolist() == [False, True]
    assert result.confusion == {kind: 1}
    assert result.error == 0.5
    assert "NaN or Inf" in result.reason


def test_nan_in_place_is_equal_and_leaves_the_mean_to_the_finite_elements() -> None:
    expected = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    actual = np.array([np.nan, np.inf, -np.inf, 1.0 + 2**-14], np.float32)
    result = CANN.compare(actual, expected)
    assert result.passed
    assert result.mere == pytest.approx(2**-14, rel=1e-3)
    assert result.confusion == {"nan->nan": 1, "+inf->+inf": 1, "-inf->-inf": 1}


@pytest.mark.parametrize(("dtype", "threshold"), [("float16", 2**-10), ("float32", 2**-13), ("float64", 2**-30)])
def test_cann_bounds_the_mean_below_t_and_the_maximum_below_ten_t(dtype: str, threshold: float) -> None:
    expected = np.ones(1000, dtype)
    one_off = expected.copy()
    one_off[7] = 1 + 8 * threshold
    assert CANN.compare(one_off, expected).passed
    one_off[7] = 1 + 12 * threshold
    far = CANN.compare(one_off, expected)
    assert not far.passed and far.bad.nonzero()[0].tolist() == [7] and far.match_ratio == 0.999
    everywhere = CANN.compare((expected * (1 + 2 * threshold)).astype(dtype), expected)
    assert not everywhere.passed
    assert everywhere.match_ratio == 1.0, "each element is within 10 T"
    assert everywhere.bad.all(), "yet all reach T, which is what the mean is about"
    assert "mean relative error" in everywhere.reason


def test_cann_uses_the_wider_threshold_for_bfloat16() -> None:
    expected = np.ones(64, BF16)
    off = expected.copy()
    off[0] = 1 + 2**-5
    assert CANN.compare(off, expected).passed
    off[0] = 1 + 2**-3
    assert not CANN.compare(off, expected).passed


def test_cann_counts_differences_below_a_thousandth_of_t_as_none() -> None:
    expected = np.zeros(4, np.float32)
    tiny = np.full(4, 2**-13 * 0.9e-3, np.float32)
    assert CANN.compare(tiny, expected).mare == 0.0
    assert not CANN.compare(tiny * 2, expected).passed


@pytest.mark.parametrize(
    ("dtype", "within_one"),
    [("int8", True), ("int16", True), ("uint8", False), ("int32", False), ("int64", False), ("uint16", False)],
)
def test_only_cann_lets_only_small_signed_integers_be_one_off(dtype: str, within_one: bool) -> None:
    expected = np.array([5, 100, 0], dtype)
    one_off = np.array([5, 101, 0], dtype)
    assert CANN.compare(one_off, expected).passed is within_one
    assert not CANN.compare(np.array([5, 102, 0], dtype), expected).passed
    assert not policy("npukernelbench").compare(one_off, expected).passed
    assert not policy("allclose(1,100)").compare(one_off, expected).passed


def test_int8_wraparound_is_not_one_off() -> None:
    assert not CANN.compare(np.array([-128], np.int8), np.array([127], np.int8)).passed


def test_64_bit_integers_are_compared_without_losing_digits() -> None:
    expected = np.array([2**62], np.int64)
    result = CANN.compare(expected + 1, expected)
    assert not result.passed and result.max_abs == 1.0


def test_bool_is_exact() -> None:
    result = CANN.compare(np.array([True, False]), np.array([True, True]))
    assert not result.passed and result.match_ratio == 0.5 and result.bad.tolist() == [False, True]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_dtype_or_shape_fails_and_says_which(name: str) -> None:
    expected = np.ones((2, 3), np.float32)
    wrong_dtype = policy(name).compare(expected.astype(np.float16), expected)
    assert not wrong_dtype.passed and wrong_dtype.mere is None and wrong_dtype.bad.all()
    assert wrong_dtype.reason == "dtype is float16, expected float32"
    wrong_shape = policy(name).compare(expected.reshape(3, 2), expected)
    assert not wrong_shape.passed and wrong_shape.error == 1.0
    assert wrong_shape.reason == "shape is [3, 2], expected [2, 3]"


def test_empty_outputs_are_equal_only_if_dtype_and_shape_are() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert CANN.compare(empty, empty.copy()).passed
    assert not CANN.compare(np.zeros((4, 0), np.float32), empty).passed
    assert not CANN.compare(np.zeros((0, 4), np.float16), empty).passed


def test_npukernelbench_is_absolute_below_one_and_relative_above() -> None:
    chosen = policy("npukernelbench")
    expected = np.array([0.0, 1000.0], np.float32)
    assert chosen.compare(np.array([5e-4, 1000.5], np.float32), expected).passed
    assert chosen.compare(np.array([6e-4, 1000.6], np.float32), expected).bad.all()


@pytest.mark.parametrize(
    ("dtype", "inside", "outside"),
    [("float16", 1 / 512, 1 / 256), ("bfloat16", 1 / 256, 1 / 128), ("float64", 1 / 2048 + 1 / 16384, 1 / 1024)],
)
def test_npukernelbench_has_a_tolerance_for_each_dtype(dtype: str, inside: float, outside: float) -> None:
    chosen = policy("npukernelbench/1")
    as_dtype = BF16 if dtype == "bfloat16" else np.dtype(dtype)
    expected = np.zeros(1, as_dtype)
    assert chosen.compare(np.array([inside], as_dtype), expected).passed
    assert not chosen.compare(np.array([outside], as_dtype), expected).passed


def test_allclose_is_inclusive_and_named_canonically() -> None:
    chosen = policy("allclose(1e-3, 1e-5)")
    assert chosen.name == "allclose(0.001,1e-05)" == policy(chosen.name).name
    assert policy("allclose(0,0.5)").compare(np.array([1.5]), np.array([1.0])).passed
    assert not policy("allclose(0,0.5)").compare(np.array([1.5001]), np.array([1.0])).passed


@pytest.mark.parametrize("name", ["", "close-enough", "cann-ecosystem/2", "allclose(1)", "allclose"])
def test_an_unknown_policy_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ValueError, match=r"cann-ecosystem/1.*npukernelbench/1.*allclose"):
        policy(name)


@pytest.mark.parametrize("name", ["allclose(-1,0)", "allclose(nan,0)", "allclose(0,inf)", "allclose(x,0)"])
def test_allclose_wants_numbers_that_make_sense(name: str) -> None:
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        policy(name)


def test_complex_numbers_compare_by_modulus_and_by_part_for_nan() -> None:
    expected = np.array([3 + 4j, complex(np.nan, 1)], np.complex64)
    assert CANN.compare(expected.copy(), expected).passed
    moved = np.array([3 + 4j, complex(1, np.nan)], np.complex64)
    assert CANN.compare(moved, expected).bad.tolist() == [False, True]


def test_non_contiguous_and_zero_dimensional_outputs_are_compared_by_position() -> None:
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert CANN.compare(np.asfortranarray(expected), expected).passed
    scalar = CANN.compare(np.array(2.0), np.array(1.0))
    assert scalar.bad.shape == () and bool(scalar.bad)


def test_more_elements_than_one_chunk_are_all_looked_at() -> None:
    expected = np.zeros((1 << 20) + 3, np.float32)
    actual = expected.copy()
    actual[-1] = 1.0
    result = CANN.compare(actual, expected)
    assert result.bad.nonzero()[0].tolist() == [(1 << 20) + 2]


def test_outputs_are_compared_in_order_and_a_missing_one_fails_them_all() -> None:
    one, two = np.ones(2, np.float32), np.zeros(3, np.int32)
    assert [c.passed for c in compare_outputs(CANN, [one, two], [one, two])] == [True, True]
    short = compare_outputs(CANN, [one], [one, two])
    assert [c.passed for c in short] == [False, False]
    assert short[0].reason == "the candidate gave 1 output(s), expected 2"
    assert not compare_outputs(CANN, [one], [])[0].passed


def test_a_policy_is_a_value() -> None:
    assert isinstance(CANN, Policy)
    with pytest.raises(AttributeError):
        CANN.name = "wider"  # type: ignore[misc]
