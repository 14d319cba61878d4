"""What tells failing cases from passing ones: alignment, modulus, size, rows, dtype, attributes, length trend.

The discriminating case is usually the passing neighbour, so every detector here looks at both. A case is seen through a
few geometries (its own shape, and the shapes of its inputs as the descriptor names them), because for a reduction the
length that matters is the input's. Everything is deterministic; facts are sizes and counts, never tensor values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from events.types import CaseResult, Feature

_ITEMSIZE = {
    "float16": 2, "half": 2, "fp16": 2, "bfloat16": 2, "bf16": 2, "float32": 4, "float": 4, "fp32": 4, "float64": 8,
    "double": 8, "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
    "uint64": 8,
}  # fmt: skip

#: Bounds of the hardware and of integer types that a size threshold is compared with, and what they mean.
KNOWN_BOUNDS: dict[int, str] = {
    256: "8-bit count", 4096: "12-bit block count", 16384: "255 repeats of 64 lanes (fp32)",
    32768: "16-bit signed, or 255 repeats of 128 lanes (fp16)", 65536: "16-bit unsigned", 1 << 31: "32-bit signed",
}  # fmt: skip

Geometry = tuple[tuple[int, ...], int]


def itemsize(dtype: str) -> int:
    """Bytes per element of a dtype as task files spell it (`torch.float16`, `fp16`, ...); 4 when unknown."""
    return _ITEMSIZE.get(dtype.rsplit(".", 1)[-1].lower(), 4)


def _tensors(value: Any) -> Iterator[Geometry]:
    if isinstance(value, Mapping):
        shape = value.get("shape")
        if isinstance(shape, (list, tuple)) and all(isinstance(d, int) for d in shape):
            yield tuple(shape), itemsize(str(value.get("dtype", "")))
            return
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def geometries(case: CaseResult) -> dict[str, Geometry]:
    """The views of a case: `output`, and `input` (the largest tensor its descriptor names)."""
    views: dict[str, Geometry] = {"output": (case.shape, itemsize(case.dtype))}
    inputs = list(_tensors(case.descriptor))
    if inputs:
        views["input"] = max(inputs, key=lambda geometry: _count(geometry[0]))
    return views


def attributes(case: CaseResult) -> dict[str, Any]:
    """Scalar attributes of the case by name (numbers, bools, strings): the entries that carry a `value`."""
    entries = case.descriptor.get("inputs", ())
    found: dict[str, Any] = {}
    for entry in entries if isinstance(entries, (list, tuple)) else ():
        if isinstance(entry, Mapping) and isinstance(entry.get("value"), (bool, int, float, str)):
            found[str(entry.get("name", "attribute"))] = entry["value"]
    return found


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=np.int64)) if shape else 1


def _last(shape: Sequence[int]) -> int:
    return int(shape[-1]) if shape else 1


_METRICS: dict[str, Callable[[Geometry], float]] = {
    "elements": lambda g: _count(g[0]),
    "last dimension": lambda g: _last(g[0]),
    "next to last dimension": lambda g: int(g[0][-2]) if len(g[0]) > 1 else 1,
    "rows": lambda g: _count(g[0]) // max(_last(g[0]), 1),
    "bytes": lambda g: _count(g[0]) * g[1],
}


class Split:
    """Failing and passing cases of one set, and how well a yes/no property separates them."""

    def __init__(self, cases: Sequence[CaseResult]) -> None:
        self.failing = [case for case in cases if not case.passed]
        self.passing = [case for case in cases if case.passed]

    def separation(self, holds: Callable[[CaseResult], bool]) -> float:
        """1 when the property holds for all failing and no passing case; 0 when it says nothing. Both sides needed.

        A passing case of a single row does not refute a fault that shows from the second row on, so the property is
        also tried without single-row cases. With two faults at once some failing cases lack the property; then it
        counts less, and only if no passing case has it.
        """
        several = [case for case in self.passing if _METRICS["rows"](geometries(case)["output"]) > 1]
        return max(_separation(self.failing, side, holds) for side in (self.passing, several))

    def values(self, view: str, metric: Callable[[Geometry], float]) -> tuple[list[float], list[float]] | None:
        """Metric values of (failing, passing) cases through `view`, or None when a case lacks that view."""
        sides: list[list[float]] = []
        for side in (self.failing, self.passing):
            seen = [geometries(case).get(view) for case in side]
            if not side or any(geometry is None for geometry in seen):
                return None
            sides.append([metric(geometry) for geometry in seen if geometry is not None])
        return sides[0], sides[1]


def _separation(
    failing: Sequence[CaseResult], passing: Sequence[CaseResult], holds: Callable[[CaseResult], bool]
) -> float:
    if not failing or not passing:
        return 0.0
    fails = sum(holds(case) for case in failing) / len(failing)
    passes = sum(holds(case) for case in passing) / len(passing)
    return max(0.0, fails - passes) if fails >= 0.9 or passes <= 0.05 else 0.0


def _views(split: Split) -> list[str]:
    first = (split.failing or split.passing)[0]
    return list(geometries(first))


def _of(case: CaseResult, view: str) -> Geometry:
    views = geometries(case)
    return views.get(view, views["output"])


def alignment(split: Split) -> list[Feature]:
    """`fails-unaligned` / `fails-aligned`: does being a multiple of 32 bytes decide (last dimension, or the whole)?"""
    best: dict[str, Feature] = {}
    for view in _views(split):
        for scope, length in (("last dimension", _last), ("whole tensor", _count)):

            def ragged(case: CaseResult, view: str = view, length: Callable[[Sequence[int]], int] = length) -> bool:
                shape, size = _of(case, view)
                return length(shape) * size % 32 != 0

            def even(case: CaseResult, test: Callable[[CaseResult], bool] = ragged) -> bool:
                return not test(case)

            for name, holds in (("fails-unaligned", ragged), ("fails-aligned", even)):
                strength = split.separation(holds)
                if strength > (best[name].strength if name in best else 0.25):
                    shares = f"failing {_share(split.failing, holds)}, passing {_share(split.passing, holds)}"
                    detail = f"{scope} of the {view}: {shares}"
                    facts = {"whole": float(scope == "whole tensor")}
                    best[name] = Feature(name=name, strength=round(strength, 4), facts=facts, detail=detail)
    return list(best.values())


def _share(cases: Sequence[CaseResult], holds: Callable[[CaseResult], bool]) -> str:
    return f"{sum(holds(case) for case in cases)} of {len(cases)}"


def modulus(split: Split) -> list[Feature]:
    """`modulo-fails` / `modulo-only`: is being a multiple of some power of two above the granule what decides?"""
    found: dict[str, Feature] = {}
    for view in _views(split):
        for scope, length in (("last dimension", _last), ("element count", _count)):
            for step in (64, 128, 256, 512, 1024, 2048, 4096, 8192):

                def off(
                    case: CaseResult, step: int = step, view: str = view, length: Callable[..., int] = length
                ) -> bool:
                    return length(_of(case, view)[0]) % step != 0

                def on(case: CaseResult, test: Callable[[CaseResult], bool] = off) -> bool:
                    return not test(case)

                for name, holds in (("modulo-fails", off), ("modulo-only", on)):
                    strength = split.separation(holds)
                    if strength >= 0.5 and strength > (found[name].strength if name in found else 0):
                        detail = f"{scope} of the {view} modulo {step}"
                        facts = {"modulus": float(step)}
                        found[name] = Feature(name=name, strength=round(strength, 4), facts=facts, detail=detail)
    return list(found.values())


def thresholds(split: Split) -> list[Feature]:
    """`size-threshold`, `fails-small`, `multi-row-fails`: is there a bound that all failing cases lie beyond?"""
    if len(split.failing) + len(split.passing) < 3:
        return []
    found: dict[str, Feature] = {}
    for view in _views(split):
        for label, metric in _METRICS.items():
            values = split.values(view, metric)
            if values is None:
                continue
            fails, passes = values
            if label == "rows" and max(passes) <= 1 < min(fails) and "multi-row-fails" not in found:
                detail = f"rows of the {view}: failing from {min(fails):g}, passing only 1"
                found["multi-row-fails"] = Feature(name="multi-row-fails", strength=1.0, detail=detail)
            for name, low, high in (
                ("size-threshold", max(passes), min(fails)),
                ("fails-small", max(fails), min(passes)),
            ):
                if low >= high:
                    continue
                bounds = [bound for bound in KNOWN_BOUNDS if low < bound <= high]
                strength = 0.6 + 0.1 * min(3, len(fails) + len(passes) - 3) + (0.1 if bounds else 0.0)
                if strength > (found[name].strength if name in found else 0):
                    note = "".join(f"; {bound} = {KNOWN_BOUNDS[bound]}" for bound in bounds)
                    detail = f"{label} of the {view}: bound between {low:g} and {high:g}{note}"
                    facts = {"low": low, "high": high, **{f"crosses_{bound}": 1.0 for bound in bounds}}
                    found[name] = Feature(name=name, strength=min(1.0, round(strength, 4)), facts=facts, detail=detail)
    return list(found.values())


def dtypes(split: Split) -> list[Feature]:
    """`dtype-contrast`: element types that never pass beside types that always do."""
    outcome: dict[str, set[bool]] = {}
    for case in (*split.failing, *split.passing):
        outcome.setdefault(case.dtype.rsplit(".", 1)[-1], set()).add(case.passed)
    never = sorted(dtype for dtype, seen in outcome.items() if seen == {False})
    always = sorted(dtype for dtype, seen in outcome.items() if seen == {True})
    if not never or not always:
        return []
    pure = len(never) + len(always) == len(outcome)
    facts = {
        "narrow_fails": float(all(itemsize(dtype) <= 2 for dtype in never)),
        "wide_fails": float(all(itemsize(dtype) >= 4 for dtype in never)),
    }
    detail = f"{', '.join(never)} never pass, {', '.join(always)} always do"
    return [Feature(name="dtype-contrast", strength=1.0 if pure else 0.7, facts=facts, detail=detail)]


def attribute_contrast(split: Split) -> list[Feature]:
    """`attribute-contrast`: one attribute whose values of failing and passing cases do not meet."""
    if not split.failing or not split.passing:
        return []
    names = sorted({name for case in split.failing for name in attributes(case)})
    for name in names:
        fails = {attributes(case).get(name) for case in split.failing}
        passes = {attributes(case).get(name) for case in split.passing}
        if fails & passes or None in fails or None in passes:
            continue
        shown = f"failing {sorted(map(str, fails))[:3]}, passing {sorted(map(str, passes))[:3]}"
        strength = 0.9 if len(split.failing) > 1 and len(split.passing) > 1 else 0.6
        return [Feature(name="attribute-contrast", strength=strength, detail=f"attribute {name}: {shown}")]
    return []


def length_trend(split: Split) -> list[Feature]:
    """`length-trend`: log-log slope of the mean relative error over the last dimension (four lengths or more)."""
    view = "input" if "input" in _views(split) else "output"
    points = [
        (np.log(_last(_of(case, view)[0])), np.log(case.mere))
        for case in (*split.failing, *split.passing)
        if case.mere is not None and np.isfinite(case.mere) and case.mere > 0 and _last(_of(case, view)[0]) > 1
    ]
    lengths = {round(float(x), 6) for x, _ in points}
    if len(lengths) < 4:
        return []
    x, y = np.array([p[0] for p in points]), np.array([p[1] for p in points])
    slope = float(np.polyfit(x, y, 1)[0])
    correlation = float(np.corrcoef(x, y)[0, 1]) if y.std() > 0 else 0.0
    if slope < 0.25 or correlation < 0.8:
        return []
    detail = f"mean relative error grows as length^{slope:.2f}"
    return [Feature(name="length-trend", strength=round(correlation, 4), facts={"slope": slope}, detail=detail)]


DETECTORS: tuple[Callable[[Split], list[Feature]], ...] = (
    alignment, modulus, thresholds, dtypes, attribute_contrast, length_trend,
)  # fmt: skip
