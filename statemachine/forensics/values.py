"""Detectors of what the wrong elements are: constants, special values, factors, offsets, rounding, small errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from events.types import Feature
from statemachine.forensics.arrays import as_float, is_float, sample, ulp_distance
from statemachine.forensics.view import View, feature


def constant_run(view: View) -> Feature | None:
    actual, expected = view.pair(view.probe)
    share = {"zero": float((actual == 0).mean()), "nan": float(np.isnan(actual).mean())}
    for kind, code in (("zero", 0), ("nan", 1)):
        if share[kind] >= 0.9 and (kind != "nan" or not np.isnan(expected).all()):
            what = "zero" if kind == "zero" else "NaN, as unwritten memory is"
            return feature("constant-run", share[kind], f"bad elements are {what}", kind=code, share=share[kind])
    finite = actual[np.isfinite(actual)]
    if finite.size >= 8:
        _, counts = np.unique(finite, return_counts=True)
        top = float(counts.max() / actual.size)
        if top >= 0.9:
            return feature("constant-run", top, "bad elements are all the same value", kind=2, share=top)
    return None


def special_map(view: View) -> Feature | None:
    if not is_float(view.expected.dtype):
        return None
    actual, expected = view.pair(view.special)
    left, right = view.pair(view.probe)
    zeros = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
    nan_a, nan_e, inf_a, inf_e = np.isnan(actual), np.isnan(expected), np.isinf(actual), np.isinf(expected)
    table = {
        "nan_to_finite": int((nan_e & np.isfinite(actual)).sum()),
        "nan_to_inf": int((nan_e & inf_a).sum()),
        "inf_to_finite": int((inf_e & np.isfinite(actual)).sum()),
        "inf_to_nan": int((inf_e & nan_a).sum()),
        "inf_sign": int((inf_e & inf_a & (actual != expected)).sum()),
        "zero_sign": round(float(zeros.mean()) * view.index.size),
    }
    total = sum(table.values())
    if total == 0:
        return None
    words = ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in table.items() if count)
    return feature("special-map", total / view.index.size, words, **{k: float(v) for k, v in table.items() if v})


def overflow(view: View) -> Feature | None:
    if not is_float(view.expected.dtype):
        return None
    actual, expected = view.pair(view.special)
    finite = np.isfinite(expected)
    infinite, lost = int((finite & np.isinf(actual)).sum()), int((finite & np.isnan(actual)).sum())
    if infinite + lost == 0:
        return None
    share = (infinite + lost) / view.index.size
    strength = share if infinite else 0.4 * share
    return feature(
        "overflow", strength, f"finite expected, actual inf {infinite}x, NaN {lost}x", inf=infinite, nan=lost
    )


def magnitude_trend(view: View) -> Feature | None:
    good = np.flatnonzero(~view.mask).astype(np.int64)
    if good.size < 16 or view.index.size < 8:
        return None
    bad = np.abs(as_float(view.expected[view.probe]))
    fine = np.sort(np.abs(as_float(view.expected[sample(good)])))
    if not np.isfinite(bad).any() or fine[0] == fine[-1]:
        return None
    rank = (np.searchsorted(fine, bad, "left") + np.searchsorted(fine, bad, "right")) / (2 * fine.size)
    centre = float(rank.mean())
    if 0.2 < centre < 0.8:
        return None
    large = centre >= 0.8
    return feature(
        "magnitude-trend", abs(2 * centre - 1), f"wrong where |expected| is {'large' if large else 'small'}",
        large=float(large), rank=centre,
    )  # fmt: skip


def ties_only(view: View) -> Feature | None:
    where = view.probe
    if view.expected.dtype.kind == "b":
        return None
    distance = ulp_distance(view.actual[where], view.expected[where])
    share = float((distance == 1).mean())
    if share < 0.95:
        return None
    actual, expected = view.pair(where)
    inward = float((np.abs(actual) < np.abs(expected)).mean())
    return feature(
        "ties-only", share, f"off by one unit in the last place in {view.index.size} of {view.size} elements",
        share=view.index.size / view.size, toward_zero=inward,
    )  # fmt: skip


def scale_factor(view: View) -> Feature | None:
    where = view.probe
    actual, expected = view.pair(where)
    usable = np.isfinite(actual) & np.isfinite(expected) & (expected != 0) & (actual != 0)
    if usable.sum() < max(2, where.size // 2):
        return None
    ratio = actual[usable] / expected[usable]
    rows = where[usable] // view.cols
    middle = float(np.median(ratio))
    spread = np.abs(ratio - middle)
    share = float((spread <= 0.004 * abs(middle)).mean())
    if share >= 0.9 and abs(middle - 1) > max(1e-4, 5 * float(np.median(spread))):
        facts = {"ratio": middle, "cols": float(view.cols)}
        return feature("scale-factor", share, f"actual / expected is about {middle:.6g} throughout", **facts)
    if np.unique(rows).size < 2 or view.cols < 4:
        return None
    order = np.argsort(rows, kind="stable")
    groups = np.split(ratio[order], np.flatnonzero(np.diff(rows[order])) + 1)
    groups = [group for group in groups if group.size >= 3]
    steady = [group for group in groups if np.ptp(group) <= 0.01 * abs(float(np.median(group)))]
    off = [group for group in steady if abs(float(np.median(group)) - 1) > 2e-3]
    if len(groups) < 2 or len(off) < 0.8 * len(groups):
        return None
    detail = "actual / expected is one constant in each row, another in the next"
    return feature("row-scale", len(off) / len(groups), detail, cols=view.cols, rows=len(groups))


def offset_constant(view: View) -> Feature | None:
    index = view.index[: 1 << 16]
    actual, expected = view.pair(index)
    with np.errstate(invalid="ignore"):
        difference = actual - expected
    if difference.size < 16 or not np.isfinite(difference).all() or np.unique(np.round(expected, 6)).size < 8:
        return None
    scale = float(np.median(np.abs(difference)))
    along = np.abs(np.diff(difference)) <= 0.02 * scale
    share = float(along.mean()) if scale > 0 else 0.0
    if share >= 0.9:
        runs = float((~along).sum() + 1)
        return feature("offset-constant", share, "actual - expected stays constant over long runs", runs=runs)
    following = np.flatnonzero(np.isin(index + view.cols, index))
    if scale == 0 or view.rows < 3 or following.size < 16:
        return None
    below = np.searchsorted(index, index[following] + view.cols)
    share = float((np.abs(difference[below] - difference[following]) <= 0.02 * scale).mean())
    if share < 0.9:
        return None
    return feature(
        "offset-constant", share, "actual - expected stays the same from row to row, column by column", down=1
    )


def uniform_small_error(view: View) -> Feature | None:
    if not is_float(view.expected.dtype):
        return None
    where = sample(np.arange(view.size, dtype=np.int64))
    actual, expected = view.pair(where)
    usable = np.isfinite(actual) & np.isfinite(expected) & (expected != 0)
    if usable.sum() < 8:
        return None
    relative = np.abs(actual[usable] - expected[usable]) / np.abs(expected[usable])
    touched = float((relative > 0).mean())
    middle = float(np.median(relative))
    if touched < 0.5 or not 0 < middle < 0.02 or float(np.quantile(relative, 0.95)) > 0.2:
        return None
    return feature("uniform-small-error", touched, f"median relative error {middle:.2g} everywhere", median=middle)


#: In the order in which equally strong features are listed.
DETECTORS: tuple[Callable[[View], Feature | None], ...] = (
    constant_run,
    special_map,
    overflow,
    magnitude_trend,
    ties_only,
    scale_factor,
    offset_constant,
    uniform_small_error,
)
