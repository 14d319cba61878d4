"""Hypotheses in plain words: which faults fit a set of features, ranked, with what speaks for each.

A small table, read by people and workers; it does not choose a patch (the knowledge base does that on its own scores).
"""

from __future__ import annotations

from collections.abc import Mapping

from events.types import Feature, Mechanism

#: mechanism -> weight of each feature that speaks for (or, negative, against) it.
_EVIDENCE: dict[str, Mapping[str, float]] = {
    "a copy handles only whole 32-byte blocks": {
        "fails-unaligned": 1.0, "tail-only": 0.7, "granule-edge": 0.8, "finding:cross-granule": 0.7,
        "finding:gm-out-of-bounds": 0.4, "finding:ub-misaligned": 0.5, "fails-aligned": -1.0,
    },
    "the row offset uses another pitch than the copy": {
        "multi-row-fails": 0.8, "shift": 0.8, "first-ok": 0.5, "fails-unaligned": 0.4, "finding:ub-misaligned": 0.5,
    },
    "a reduction counts padded lanes, or pads with a value that is not neutral": {
        "fails-unaligned": 0.6, "modulo-fails": 0.5, "row-local": 0.5, "scale-factor": 0.4, "row-scale": 0.4,
        "all-bad": 0.2,
        "finding:ub-uninitialised": 0.5, "tail-only": -0.4,
    },
    "a count, offset or repeat is stored in too few bits": {
        "size-threshold": 0.9, "first-ok": 0.5, "constant-run": 0.3, "fails-unaligned": -0.3,
    },
    "the last vector repeat works on lanes beyond the data": {
        "modulo-fails": 0.9, "finding:ub-uninitialised": 0.4, "fails-unaligned": 0.3,
    },
    "the path without a remainder is wrong": {"fails-aligned": 0.7, "modulo-only": 1.0},
    "the work is not divided completely between the cores": {
        "fails-small": 0.5, "tail-only": 0.4, "constant-run": 0.5, "first-ok": 0.3, "modulo-fails": 0.3,
        "finding:gm-out-of-bounds": 0.3,
    },
    "a pipeline does not wait for another": {
        "finding:pipe-hazard": 1.2, "finding:queue-misuse": 0.8, "finding:gm-race": 0.6,
    },
    "a buffer is read before it is written, or written while in use": {
        "finding:ub-uninitialised": 0.7, "constant-run": 0.3, "finding:ub-out-of-bounds": 0.6,
        "finding:ub-capacity": 0.8,
    },
    "an intermediate overflows before it is scaled": {
        "overflow": 0.9, "magnitude-trend": 0.4, "attribute-contrast": 0.3, "dtype-contrast": 0.2,
    },
    "a rounding mode differs from the reference": {"ties-only": 1.0, "dtype-contrast": 0.3, "fails-unaligned": -0.3},
    "accumulation in too narrow a type": {"dtype-contrast": 0.6, "length-trend": 0.8, "uniform-small-error": 0.4},
    "NaN, infinity or -0 takes the wrong branch": {"special-map": 1.0},
    "one factor or divisor is wrong": {"scale-factor": 0.9, "fails-unaligned": -0.3},
    "a small term (epsilon, a formula's variant) is misplaced": {
        "uniform-small-error": 0.5, "magnitude-trend": 0.3, "scale-factor": 0.2, "row-scale": 0.5,
        "row-local": 0.3, "all-bad": 0.2,
    },
    "a carry between tiles is missing": {"offset-constant": 0.9, "first-ok": 0.4},
    "axes are swapped": {"layout": 1.0},
    "the output accumulates onto old content": {"scale-factor": 0.3, "constant-run": 0.2, "all-bad": 0.2},
}  # fmt: skip

_FLOOR = 0.3


def hypotheses(features: tuple[Feature, ...]) -> tuple[Mechanism, ...]:
    """Mechanisms whose evidence adds up to at least a third of a full feature, best first (ties by name)."""
    strength = {feature.name: feature.strength for feature in features}
    found: list[Mechanism] = []
    for name, weights in _EVIDENCE.items():
        parts = {word: weight * strength[word] for word, weight in weights.items() if strength.get(word, 0) > 0}
        score = sum(parts.values())
        if score >= _FLOOR:
            order = sorted(parts, key=lambda word: (-parts[word], word))
            because = tuple(f"{'' if parts[word] > 0 else 'against: '}{word} ({strength[word]:.2f})" for word in order)
            found.append(Mechanism(name=name, score=round(score, 4), because=because))
    return tuple(sorted(found, key=lambda mechanism: (-mechanism.score, mechanism.name)))
