"""What one wrong tensor looks like: `observe` turns (actual, expected, bad mask) into named features.

Every detector is a small function over one prepared `View`; it returns a Feature or None. They are independent, so one
tensor may show several features (a tail can also be constant). Facts are numbers about positions, ratios and counts;
an expected value never becomes a fact (law 2). Cost is a few passes over the data; where a sample says as much as the
whole, at most a few thousand bad elements are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from events.types import Feature
from statemachine.forensics import positions, values
from statemachine.forensics.view import Array, Mask, View, feature

#: Features of position; where one is seen the wrong elements are not scattered.
_STRUCTURED = frozenset({"tail-only", "granule-edge", "period", "first-ok", "row-local"})


def observe(
    actual: Array, expected: Array, bad: Mask, *, attributes: Mapping[str, Any] | None = None
) -> tuple[Feature, ...]:
    """Features of one failing case, strongest first (then in the order of the detectors).

    `actual`, `expected`: arrays of the same dtype and shape (otherwise the one feature is `non-comparable`).
    `bad`: bool, True where the tolerance policy rejects the element. `attributes` of the case are there for detectors
    that need them (none of today's does). No bad element gives no feature. Never raises on values.
    """
    if actual.dtype != expected.dtype or actual.shape != expected.shape or bad.shape != expected.shape:
        detail = f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        facts = {"dtype": float(actual.dtype != expected.dtype), "shape": float(actual.shape != expected.shape)}
        return (feature("non-comparable", 1.0, detail, **facts),)
    if bad.size == 0 or not bad.any():
        return ()
    view = View(actual.reshape(-1), expected.reshape(-1), bad.reshape(-1), expected.shape)
    detectors = (*positions.DETECTORS, *values.DETECTORS)
    with np.errstate(all="ignore"):
        found = [seen for seen in (detect(view) for detect in detectors) if seen is not None]
    if any(seen.name in _STRUCTURED for seen in found):
        found = [seen for seen in found if seen.name != "scattered"]
    return tuple(sorted(found, key=lambda seen: -seen.strength))
