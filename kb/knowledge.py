"""Retrieval: which patterns fit a failure, with the reason and the ready-made edits (the `Knowledge` port).

Score of a pattern = prior + sum(weight x strength of each feature that speaks for it) - the same for features against
it. A pattern that nothing speaks for is left out; one with an applicable edit ranks above one that can only advise.
Deterministic in (snapshot, brief).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from events.types import Feature
from kb.facts import Program
from kb.model import PATTERNS, Pattern, load_patterns
from kb.rewriting import rewrites
from kb.snapshot import snapshot
from statemachine.forensics.vocabulary import finding_features
from statemachine.ports import Brief, Retrieved

#: What the prior weighs beside observed features.
_PRIOR_WEIGHT = 0.3


class PatternBase:
    """The patterns of one directory. Loading raises PatternError; `retrieve` never raises on a candidate's source."""

    def __init__(self, directory: Path = PATTERNS) -> None:
        self._directory = directory

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        return load_patterns(self._directory)

    def snapshot(self) -> str:
        """Digest of the frozen set of entries, rewriters included."""
        return snapshot(self._directory)

    def retrieve(self, brief: Brief) -> Sequence[Retrieved]:
        """Patterns that fit, best first; entries without an applicable edit come last, as advice.

        Each of `rewrites` maps the path of a changed file to its whole new text. Edits are made on
        the best checkpoint's sources (the standing candidate's when there is none).
        """
        features = {feature.name: feature for feature in brief.features}
        for finding in brief.findings:
            for name in finding_features(finding.kind, finding.api or ""):
                features.setdefault(name, Feature(name=name, strength=1.0, facts={"count": float(finding.count)}))
        program = Program(brief.best_sources or brief.sources, features.values(), brief.findings)
        found: list[Retrieved] = []
        for pattern in self.patterns:
            scored = score(pattern, features)
            if scored is None:
                continue
            value, why = scored
            edits = rewrites(pattern, program)
            texts = tuple(files for _, files in edits)
            found.append(Retrieved(pattern.id, pattern.title, value, ", ".join(why), pattern.remedy, texts))
        return tuple(sorted(found, key=lambda entry: (not entry.rewrites, -entry.score, entry.id)))


def score(pattern: Pattern, features: Mapping[str, Feature]) -> tuple[float, tuple[str, ...]] | None:
    """(score, reasons) of a pattern for observed features; None when one is required and missing, or none fits."""
    conditions = pattern.features
    if any(name not in features for name in conditions.required):
        return None
    value = _PRIOR_WEIGHT * conditions.prior
    reasons: list[tuple[float, str]] = []
    for name, weight in conditions.any.items():
        if name in features:
            part = weight * features[name].strength
            value += part
            reasons.append((part, f"{name} (+{part:.2f})"))
    for name, weight in conditions.against.items():
        if name in features:
            part = weight * features[name].strength
            value -= part
            reasons.append((part, f"{name} (-{part:.2f})"))
    if not any(name in features for name in conditions.any):
        return None
    reasons.sort(key=lambda reason: (-reason[0], reason[1]))
    return round(value, 4), tuple(text for _, text in reasons)
