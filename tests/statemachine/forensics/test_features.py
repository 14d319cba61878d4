"""Features are seen on tensors that show them, and not on near neighbours that do not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.types import Feature
from statemachine.forensics import VOCABULARY, observe
from statemachine.forensics.vocabulary import known, meaning

RNG = np.random.default_rng(7)


def tensor(*shape: int, dtype: Any = np.float32) -> npt.NDArray[Any]:
    return (RNG.standard_normal(shape) + 0.1).astype(dtype)


def seen(
    actual: npt.NDArray[Any], expected: npt.NDArray[Any], bad: npt.NDArray[np.bool_] | None = None
) -> dict[str, Feature]:
    if bad is None:
        wide, gold = actual.astype(np.float64), expected.astype(np.float64)
        bad = ~((wide == gold) | (np.isnan(wide) & np.isnan(gold)))
    return {feature.name: feature for feature in observe(actual, expected, bad, attributes={})}


def test_a_right_tensor_has_no_features() -> None:
    gold = tensor(4, 16)
    assert seen(gold.copy(), gold) == {}


def test_wrong_elements_at_the_end_are_a_tail() -> None:
    gold = tensor(1000)
    got = gold.copy()
    got[-5:] += 1
    found = seen(got, gold)
    assert found["tail-only"].facts["tail"] == 5
    assert found["tail-only"].strength == 1.0


def test_wrong_elements_at_the_end_of_each_row_are_a_tail_per_row() -> None:
    gold = tensor(12, 37)
    got = gold.copy()
    got[:, 32:] = 0
    facts = seen(got, gold)["tail-only"].facts
    assert (facts["per_row"], facts["start"], facts["tail"]) == (1, 32, 5)


def test_a_wrong_element_in_the_middle_is_no_tail() -> None:
    gold = tensor(1000)
    got = gold.copy()
    got[-5:] += 1
    got[100] += 1
    assert "tail-only" not in seen(got, gold)


def test_shared_granules_between_rows_are_an_edge() -> None:
    gold = tensor(20, 13)
    got = gold.copy().reshape(-1)
    for index in range(got.size):
        granule = index // 8
        if granule * 8 // 13 != min(granule * 8 + 7, got.size - 1) // 13 and index % 13 < 3:
            got[index] += 1
    assert "granule-edge" in seen(got.reshape(gold.shape), gold)


def test_aligned_rows_have_no_granule_edge() -> None:
    gold = tensor(20, 16)
    got = gold.copy()
    got[:, 0] += 1
    assert "granule-edge" not in seen(got, gold)


@pytest.mark.parametrize("period", [64, 128])
def test_a_repeating_mask_gives_its_period(period: int) -> None:
    gold = tensor(8192)
    got = gold.copy()
    got[np.arange(8192) % period >= period // 2] = 0
    found = seen(got, gold)["period"]
    assert found.facts["period"] == period


def test_random_positions_have_no_period_and_are_scattered() -> None:
    gold = tensor(8192)
    got = gold.copy()
    got[RNG.choice(8192, 40, replace=False)] += 1
    found = seen(got, gold)
    assert "period" not in found
    assert "scattered" in found


def test_a_clean_first_row_is_seen() -> None:
    gold = tensor(8, 24)
    got = gold.copy()
    got[1:] = np.roll(gold[1:], 3, axis=1) * 2
    assert seen(got, gold)["first-ok"].facts["row"] == 1


def test_everything_after_a_bound_is_seen_with_its_start() -> None:
    gold = tensor(20000)
    got = gold.copy()
    got[4096:] = 0
    assert seen(got, gold)["first-ok"].facts["start"] == 4096


@pytest.mark.parametrize("k", [-8, -1, 1, 3])
def test_shifted_data_gives_the_distance(k: int) -> None:
    gold = tensor(4096)
    got = np.roll(gold, -k)
    bad = np.ones(4096, bool)
    bad[:10] = bad[-10:] = False
    assert seen(got, gold, bad)["shift"].facts["k"] == k


def test_rows_that_drift_give_the_drift() -> None:
    gold = tensor(16, 20)
    flat = gold.reshape(-1)
    got = gold.copy()
    for row in range(15):
        got[row] = flat[row * 20 + 4 * row : row * 20 + 4 * row + 20] if row * 24 + 20 <= 320 else gold[row]
    assert seen(got, gold)["shift"].facts["drift"] == 4


def test_noise_is_no_shift() -> None:
    gold = tensor(4096)
    assert "shift" not in seen(tensor(4096), gold)


@pytest.mark.parametrize(("value", "kind"), [(0.0, 0), (np.nan, 1), (7.5, 2)])
def test_constant_output_is_named_by_kind(value: float, kind: int) -> None:
    gold = tensor(256)
    got = gold.copy()
    got[100:] = value
    assert seen(got, gold)["constant-run"].facts["kind"] == kind


def test_different_wrong_values_are_no_constant() -> None:
    gold = tensor(256)
    assert "constant-run" not in seen(gold + tensor(256), gold)


def test_nan_that_became_finite_is_a_special_confusion() -> None:
    gold = tensor(128)
    gold[::9] = np.nan
    got = np.nan_to_num(gold)
    found = seen(got, gold)
    assert found["special-map"].strength == 1.0
    assert found["special-map"].facts["nan_to_finite"] == np.isnan(gold).sum()
    assert "overflow" not in found


def test_finite_that_became_infinite_is_an_overflow() -> None:
    gold = tensor(128) * 100
    got = np.where(np.abs(gold) > 100, np.inf, gold).astype(np.float32)
    found = seen(got, gold)
    assert found["overflow"].strength == 1.0
    assert found["magnitude-trend"].facts["large"] == 1
    assert "special-map" not in found


def test_errors_independent_of_magnitude_have_no_trend() -> None:
    gold = tensor(4096)
    got = gold.copy()
    got[::7] += 1
    assert "magnitude-trend" not in seen(got, gold)


@pytest.mark.parametrize("ratio", [2.0, 16 / 15, 0.5])
def test_a_wrong_factor_is_measured(ratio: float) -> None:
    gold = tensor(16, 16)
    found = seen((gold * np.float32(ratio)).astype(np.float32), gold)["scale-factor"]
    assert found.facts["ratio"] == pytest.approx(ratio, rel=1e-3)


def test_a_factor_per_row_is_told_from_one_factor() -> None:
    gold = tensor(16, 32)
    factors = np.linspace(1.1, 1.9, 16, dtype=np.float32)[:, None]
    found = seen(gold * factors, gold)
    assert found["row-scale"].strength == 1.0
    assert "scale-factor" not in found


def test_an_added_offset_is_no_factor_but_an_offset() -> None:
    gold = tensor(512)
    found = seen(gold + np.float32(3), gold)
    assert "scale-factor" not in found
    assert "offset-constant" in found


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_one_unit_in_the_last_place_is_seen_in_half_types(dtype: Any) -> None:
    gold = np.abs(tensor(512)).astype(dtype)
    got = gold.copy()
    bits = got.view(np.int16)
    bits[::50] += 1
    assert seen(got, gold)["ties-only"].strength >= 0.95


def test_integers_off_by_one_are_ties_and_off_by_five_are_not() -> None:
    gold = RNG.integers(-100, 100, 512).astype(np.int8)
    one, five = gold.copy(), gold.copy()
    one[::20] += 1
    five[::20] += 5
    assert "ties-only" in seen(one, gold)
    assert "ties-only" not in seen(five, gold)


def test_a_carry_that_is_missing_down_the_rows_is_an_offset_per_column() -> None:
    gold = np.cumsum(tensor(100, 24), axis=0).astype(np.float32)
    got = gold.copy()
    got[32:] -= gold[31]
    assert seen(got, gold)["offset-constant"].facts["down"] == 1
    assert "offset-constant" not in seen(tensor(100, 24), gold)


def test_a_small_error_everywhere_is_uniform() -> None:
    gold = tensor(2048)
    noisy = (gold * (1 + 1e-3 * RNG.standard_normal(2048))).astype(np.float32)
    found = seen(noisy, gold)
    assert "uniform-small-error" in found
    assert "uniform-small-error" not in seen(gold * 3, gold)


def test_swapped_axes_are_a_layout() -> None:
    gold = tensor(24, 24)
    assert "layout" in seen(np.ascontiguousarray(gold.T), gold)
    assert "layout" not in seen(gold + 1, gold)


def test_whole_wrong_rows_among_right_ones_are_local() -> None:
    gold = tensor(10, 32)
    got = gold.copy()
    got[[2, 7]] *= -3
    found = seen(got, gold)["row-local"]
    assert found.facts["rows_bad"] == 2
    got[5, 3] += 1
    got[6, 4] += 1
    assert "row-local" not in seen(got, gold)


def test_other_shape_or_dtype_is_not_comparable() -> None:
    gold = tensor(4, 4)
    for other in (gold.astype(np.float16), gold.reshape(-1)):
        assert [f.name for f in observe(other, gold, np.ones((4, 4), bool), attributes={})] == ["non-comparable"]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3, 0)])
def test_tiny_and_empty_tensors_are_handled(shape: tuple[int, ...]) -> None:
    gold = np.ones(shape, np.float32)
    for feature in observe(gold * 2, gold, np.ones(shape, bool), attributes={}):
        assert known(feature.name)


def test_every_observed_name_is_in_the_vocabulary_and_facts_hold_no_expected_value() -> None:
    gold = tensor(40, 33) + 1000
    marker = 123.456
    gold[3, 3] = marker
    for got in (
        gold * 2,
        np.roll(gold, 1, axis=1),
        np.zeros_like(gold),
        np.where(gold > 0, np.nan, gold).astype(np.float32),
    ):
        for feature in observe(got, gold, got != gold, attributes={}):
            assert feature.name in VOCABULARY
            assert meaning(feature.name)
            assert str(marker) not in str(feature)


def test_special_integers_and_bools_do_not_raise() -> None:
    gold = RNG.integers(0, 2, 64).astype(bool)
    assert "all-bad" in {f.name for f in observe(~gold, gold, np.ones(64, bool), attributes={})}


def test_a_lost_sign_of_zero_and_special_values_of_bfloat16_are_counted() -> None:
    gold = np.zeros(64, np.float32)
    gold[::2] = -0.0
    found = seen(np.zeros(64, np.float32), gold, np.signbit(gold))
    assert found["special-map"].facts["zero_sign"] == 32
    half = np.ones(64, ml_dtypes.bfloat16)
    got = half.copy()
    got[:8] = np.inf
    assert seen(got, half)["overflow"].facts["inf"] == 8


def test_structure_in_positions_excludes_scatter() -> None:
    gold = tensor(500, 40)
    got = gold.copy()
    got[:, 38:] = 0
    found = seen(got, gold)
    assert "tail-only" in found
    assert "scattered" not in found


@given(
    shape=st.sampled_from([(7,), (3, 5), (2, 3, 4), (1, 40)]),
    dtype=st.sampled_from([np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.int64, np.uint8]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_any_tensor_is_described_in_the_vocabulary(shape: tuple[int, ...], dtype: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = (
        np.array([0, 1, 2, 3, 100])
        if np.dtype(dtype).kind in "iu"
        else np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, 6e4])
    )
    actual, gold = (rng.choice(pool, shape).astype(dtype) for _ in range(2))
    for feature in observe(actual, gold, rng.random(shape) < 0.5, attributes={}):
        assert known(feature.name)
        assert 0 <= feature.strength <= 1
        assert all(np.isfinite(value) for value in feature.facts.values())
