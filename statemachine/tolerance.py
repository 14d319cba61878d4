"""Named, versioned tolerance policies: the one place that says whether a candidate's output equals the reference's.

A verdict without the rule it was made under is worth little (law 5), so each rule has a name with a version that goes
on the record, and no code path widens one. All arithmetic is done in float64 (complex128 for complex outputs), in
chunks, so that outputs of 10^8 elements need little more memory than their masks. Sources: docs/tasks.md.

Common to every policy: dtype and shape must be equal; NaN must stand where NaN stands, infinities must agree in place
and sign (NaN is never a wildcard); bool and integers are exact unless the policy says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

#: Added to |expected| in the denominator of a relative error (CANN ecosystem standard).
DENOMINATOR = 1e-7
DEFAULT = "cann-ecosystem/1"
KINDS = ("finite", "nan", "+inf", "-inf")
_CHUNK = 1 << 20
_MEAN_RELATIVE = {
    "float64": 2.0**-30, "complex128": 2.0**-30, "float32": 2.0**-13, "complex64": 2.0**-13, "float16": 2.0**-10,
    "bfloat16": 2.0**-7, "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2,
}  # fmt: skip
_PER_TASK = {"float16": 1 / 512, "bfloat16": 1 / 256 + 1 / 16384}
_PER_TASK_OTHER = 1 / 2048 + 1 / 16384


@dataclass(frozen=True)
class Comparison:
    """What comparing one output saw.

    `mere`, `mare`: mean / max of |a - e| / (|e| + 1e-7) over elements finite on both sides (0.0 when there are none);
    None where no comparison took place. `match_ratio`: share of elements within the per-element bound. `error`: mean
    relative error over all elements, each capped at 1, misplaced NaN and Inf counting 1. `bad`: bool mask in the
    expected shape of the elements outside the per-element bound (if only the mean bound fails: those at or above the
    mean bound); for a wrong dtype or shape all of it. `max_abs`: largest |a - e| of finite elements. `confusion`:
    `"expected->actual"` counts over finite / nan / +inf / -inf, only where something is not finite; complex numbers
    count per part.
    """

    passed: bool
    mere: float | None
    mare: float | None
    match_ratio: float
    error: float
    bad: Mask
    reason: str = ""
    max_abs: float | None = None
    confusion: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Bounds:
    """How one dtype is judged: `within(absolute difference, |expected|, relative error)` is the per-element bound,
    `mean` an exclusive bound on MERE, `floor` the absolute difference below which an element counts as exact."""

    within: Callable[[Floats, Floats, Floats], Mask]
    text: str
    mean: float | None = None
    floor: float = 0.0


@dataclass(frozen=True)
class Policy:
    """A tolerance policy. `name` is the canonical, versioned name that goes on the record."""

    name: str
    floats: Callable[[str], Bounds]
    small_integers_within: int = 0

    def compare(self, actual: Array, expected: Array) -> Comparison:
        """Compare one output with the expected one; any dtype of numpy or ml_dtypes, any shape, also empty."""
        if actual.dtype != expected.dtype:
            return _incomparable(expected, f"dtype is {actual.dtype.name}, expected {expected.dtype.name}")
        if actual.shape != expected.shape:
            return _incomparable(expected, f"shape is {list(actual.shape)}, expected {list(expected.shape)}")
        return _compare(actual, expected, self._bounds(expected.dtype))

    def _bounds(self, dtype: np.dtype[Any]) -> Bounds | int:
        if dtype.kind in "biu":
            return self.small_integers_within if dtype.name in ("int8", "int16") else 0
        return self.floats(dtype.name)


def policy(name: str) -> Policy:
    """The policy called `name`: `cann-ecosystem/1` (also `cann-ecosystem`), `npukernelbench/1` (also
    `npukernelbench`), or `allclose(RTOL,ATOL)`.

    Raises ValueError that lists the known names.
    """
    plain = name.strip()
    if plain in ("cann-ecosystem", DEFAULT):
        return Policy(DEFAULT, _cann, small_integers_within=1)
    if plain in ("npukernelbench", "npukernelbench/1"):
        return Policy("npukernelbench/1", _npukernelbench)
    found = re.fullmatch(r"allclose\(\s*([^,\s]+)\s*,\s*([^,\s]+)\s*\)", plain)
    if found:
        try:
            rtol, atol = float(found[1]), float(found[2])
        except ValueError:
            rtol = atol = -1.0
        if 0 <= rtol < np.inf and 0 <= atol < np.inf:
            return _allclose(rtol, atol)
        raise ValueError(f"tolerance policy {name!r}: rtol and atol are finite numbers >= 0, e.g. allclose(1e-3,1e-5)")
    raise ValueError(
        f"unknown tolerance policy {name!r}; known: cann-ecosystem/1 (default), npukernelbench/1, allclose(RTOL,ATOL)"
    )


def compare_outputs(chosen: Policy, actuals: Sequence[Array], expecteds: Sequence[Array]) -> list[Comparison]:
    """Compare flattened outputs in order, one Comparison per expected output.

    When the numbers of outputs differ nothing is compared: every entry fails and says so.
    """
    if len(actuals) != len(expecteds):
        reason = f"the candidate gave {len(actuals)} output(s), expected {len(expecteds)}"
        return [_incomparable(e, reason) for e in expecteds] or [_incomparable(np.zeros(0, np.float32), reason)]
    return [chosen.compare(a, e) for a, e in zip(actuals, expecteds, strict=True)]


# ---------------------------------------------------------------- the rules


def _cann(dtype: str) -> Bounds:
    """MERE < T and MARE < 10 T; an absolute difference below T / 1000 counts as none (CANN ecosystem standard)."""
    mean = _MEAN_RELATIVE.get(dtype, _MEAN_RELATIVE["float32"])
    return Bounds(lambda _d, _e, rel: rel < 10 * mean, f"relative error < {10 * mean:.3g}", mean, mean * 1e-3)


def _npukernelbench(dtype: str) -> Bounds:
    """|a - e| <= tol * max(1, |e|), tol by dtype (NPUKernelBench's element-wise tasks)."""
    tol = _PER_TASK.get(dtype, _PER_TASK_OTHER)
    text = f"|diff| <= {tol:.3g} * max(1, |expected|)"
    return Bounds(lambda diff, size, _r: diff <= tol * np.maximum(1.0, size), text)


def _allclose(rtol: float, atol: float) -> Policy:
    """|a - e| <= atol + rtol * |e|, whatever the floating dtype."""
    text = f"|diff| <= {atol:.3g} + {rtol:.3g} * |expected|"
    bounds = Bounds(lambda diff, size, _r: diff <= atol + rtol * size, text)
    return Policy(f"allclose({rtol!r},{atol!r})", lambda _dtype: bounds)


# ---------------------------------------------------------------- the comparison


def _incomparable(expected: Array, reason: str) -> Comparison:
    return Comparison(False, None, None, 0.0, 1.0, np.ones(expected.shape, np.bool_), reason)


@dataclass
class _Sums:
    """Running totals of one comparison; `reached` marks elements at or above the mean bound."""

    bad: Mask
    reached: Mask
    relative: float = 0.0
    capped: float = 0.0
    finite: int = 0
    mare: float = 0.0
    max_abs: float = 0.0
    misplaced: int = 0
    table: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(16, np.int64))


def _compare(actual: Array, expected: Array, bounds: Bounds | int) -> Comparison:
    a, e = actual.reshape(-1), expected.reshape(-1)
    mean = bounds.mean if isinstance(bounds, Bounds) else None
    sums = _Sums(np.zeros(e.size, np.bool_), np.zeros(e.size if mean is not None else 0, np.bool_))
    for start in range(0, e.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        if isinstance(bounds, int):
            _integers(a[part], e[part], bounds, part, sums)
        else:
            _floats(a[part], e[part], bounds, part, sums)
    mere = sums.relative / sums.finite if sums.finite else 0.0
    outside = int(np.count_nonzero(sums.bad))
    reasons = _reasons(sums, outside, e.size, bounds)
    if mean is not None and not mere < mean:
        reasons.append(f"mean relative error {mere:.3g} is not below {mean:.3g}")
    bad = sums.bad if outside or not reasons else sums.reached
    return Comparison(
        passed=not reasons,
        mere=mere,
        mare=sums.mare,
        match_ratio=1.0 - outside / e.size if e.size else 1.0,
        error=min(1.0, sums.capped / e.size) if e.size else 0.0,
        bad=bad.reshape(expected.shape),
        reason="; ".join(reasons),
        max_abs=sums.max_abs,
        confusion=_confusion(sums.table),
    )


def _reasons(sums: _Sums, outside: int, size: int, bounds: Bounds | int) -> list[str]:
    reasons = []
    if sums.misplaced:
        reasons.append(f"NaN or Inf differ in place or sign at {sums.misplaced} of {size} elements")
    if outside > sums.misplaced:
        rule = bounds.text if isinstance(bounds, Bounds) else ("exact" if bounds == 0 else f"within {bounds}")
        worst = f"worst relative {sums.mare:.3g}, absolute {sums.max_abs:.3g}"
        reasons.append(f"{outside - sums.misplaced} of {size} elements are outside {rule} ({worst})")
    return reasons


def _integers(a: Array, e: Array, allowed: int, part: slice, sums: _Sums) -> None:
    """Bool and integers: exact by `==` (64-bit values would lose digits in float64), or within `allowed` steps."""
    with np.errstate(over="ignore"):
        diff = np.abs(a.astype(np.float64) - e.astype(np.float64))
        size = np.abs(e.astype(np.float64))
    different = a != e
    diff = np.where(different, np.maximum(diff, 1.0), 0.0)
    sums.bad[part] = different & (diff > allowed)
    _add(diff, diff / (size + DENOMINATOR), diff.size, sums)


def _floats(a: Array, e: Array, bounds: Bounds, part: slice, sums: _Sums) -> None:
    wide = np.complex128 if e.dtype.kind == "c" else np.float64
    # A signalling NaN or a huge value raises flags while it is converted; neither is an error here.
    with np.errstate(all="ignore"):
        x, y = a.astype(wide), e.astype(wide)
        both = np.isfinite(x) & np.isfinite(y)
        misplaced = np.zeros(e.size, np.bool_)
        if not both.all():
            misplaced = _count_kinds(x, y, sums)
        x, y = np.where(both, x, 0), np.where(both, y, 0)
        diff, size = np.abs(x - y), np.abs(y)
        relative = np.where(diff < bounds.floor, 0.0, diff / (size + DENOMINATOR))
        relative[np.isnan(relative)] = np.inf  # Inf / Inf: the modulus of a huge complex number overflows
        within = bounds.within(diff, size, relative)
    sums.bad[part] = misplaced | ~within
    if bounds.mean is not None:
        sums.reached[part] = relative >= bounds.mean
    sums.misplaced += int(np.count_nonzero(misplaced))
    sums.capped += float(np.count_nonzero(misplaced))
    _add(diff, relative, int(np.count_nonzero(both)), sums)


def _add(diff: Floats, relative: Floats, finite: int, sums: _Sums) -> None:
    sums.finite += finite
    sums.relative += float(relative.sum())
    sums.capped += float(np.minimum(relative, 1.0).sum())
    sums.mare = max(sums.mare, float(relative.max(initial=0.0)))
    sums.max_abs = max(sums.max_abs, float(diff.max(initial=0.0)))


def _count_kinds(x: Array, y: Array, sums: _Sums) -> Mask:
    """Fill the confusion table; return the mask of elements whose kinds (finite, NaN, +Inf, -Inf) differ."""
    parts = [(x.real, y.real), (x.imag, y.imag)] if x.dtype.kind == "c" else [(x, y)]
    misplaced = np.zeros(x.size, np.bool_)
    for xp, yp in parts:
        actual, expected = _kinds(xp), _kinds(yp)
        sums.table += np.bincount(4 * expected + actual, minlength=16)
        misplaced |= actual != expected
    return misplaced


def _kinds(values: Array) -> npt.NDArray[np.int64]:
    codes = np.zeros(values.shape, np.int64)
    codes[np.isnan(values)] = 1
    codes[np.isposinf(values)] = 2
    codes[np.isneginf(values)] = 3
    return codes


def _confusion(table: npt.NDArray[np.int64]) -> dict[str, int]:
    return {f"{KINDS[i // 4]}->{KINDS[i % 4]}": int(table[i]) for i in range(1, 16) if table[i]}
