"""Diagnosis over a whole case set: aggregated features, contrasts with passing neighbours, hypotheses, a brief.

`diagnose` is a pure function of the evaluation that rejected the candidate. `brief_text` is what a worker reads: it may
name shape, dtype and attributes of at most three failing cases, and aggregates; no tensor value ever (law 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from events.types import CaseResult, Feature, Mechanism, SanitizerFinding
from statemachine.forensics.contrast import DETECTORS, Split, attributes
from statemachine.forensics.mechanisms import hypotheses
from statemachine.forensics.vocabulary import finding_features, meaning

#: How many failing full cases a brief may name.
SHOWN = 3


@dataclass(frozen=True)
class Diagnosis:
    """Features of the set (strongest first), ranked mechanisms, and statements about what the evidence excludes."""

    features: tuple[Feature, ...]
    mechanisms: tuple[Mechanism, ...]
    ruled_out: tuple[str, ...]


def _aggregate(failing: Sequence[CaseResult]) -> list[Feature]:
    """Per-case features over the failing cases: strength is the mean with absent = 0, facts are medians."""
    groups: dict[str, list[Feature]] = {}
    for case in failing:
        for feature in case.features:
            groups.setdefault(feature.name, []).append(feature)
    merged: list[Feature] = []
    for name, group in groups.items():
        support = len(group) / len(failing)
        strength = sum(feature.strength for feature in group) / len(failing)
        keys = sorted({key for feature in group for key in feature.facts})
        facts = {key: float(median([f.facts[key] for f in group if key in f.facts])) for key in keys}
        facts["support"] = support
        detail = f"{len(group)} of {len(failing)} failing cases; e.g. {group[0].detail}"
        merged.append(Feature(name=name, strength=round(min(1.0, strength), 4), facts=facts, detail=detail))
    return merged


def _from_runs(failing: Sequence[CaseResult], findings: Sequence[SanitizerFinding]) -> list[Feature]:
    counts: Counter[str] = Counter()
    for finding in findings:
        for name in finding_features(finding.kind, finding.api or ""):
            counts[name] += finding.count
    features = [
        Feature(name=name, strength=1.0, facts={"count": float(count)}, detail=f"reported {count} times")
        for name, count in sorted(counts.items())
    ]
    statuses = Counter(case.status for case in failing if case.status != "ok")
    for status, count in sorted(statuses.items()):
        detail = f"{count} of {len(failing)} failing cases"
        features.append(Feature(name=f"status:{status}", strength=count / len(failing), detail=detail))
    return features


def _ruled_out(split: Split, names: set[str]) -> tuple[str, ...]:
    if not split.failing:
        return ()
    out: list[str] = []
    dtypes = {case.dtype for case in split.failing}
    if len(dtypes) > 1 and "dtype-contrast" not in names:
        out.append(f"not one element type: {', '.join(sorted(dtypes))} all have failing cases")
    if split.passing:
        if not names & {"fails-unaligned", "fails-aligned"}:
            out.append("not alignment alone: multiples of 32 bytes do not tell failing from passing cases")
        if not names & {"size-threshold", "fails-small"}:
            out.append("not a size bound alone: failing and passing sizes overlap")
        if not any(name in names for name in ("all-bad", "every-case-fails")):
            out.append("not the formula as a whole: some cases pass")
    comparable = [case for case in split.failing if case.status == "ok"]
    if comparable and all("tail-only" not in {f.name for f in case.features} for case in comparable):
        out.append("not only the tail: wrong elements also lie elsewhere")
    if comparable and not names & {"special-map", "overflow"}:
        out.append("not special values: NaN and infinities are where they should be")
    if not any(name.startswith("finding:") for name in names):
        out.append("nothing seen by the sanitizer: no finding was reported")
    return tuple(out)


def diagnose(cases: Sequence[CaseResult], findings: Sequence[SanitizerFinding] = ()) -> Diagnosis:
    """Diagnose a candidate from the deciding evaluation: every case of it, passed or not, and its sanitizer findings.

    Deterministic in its arguments. With no failing case only the findings speak.
    """
    split = Split(cases)
    features: list[Feature] = []
    if split.failing:
        features += _aggregate(split.failing)
        for detect in DETECTORS:
            features += detect(split)
        if not split.passing:
            detail = f"all {len(split.failing)} cases fail"
            features.append(Feature(name="every-case-fails", strength=1.0, detail=detail))
    features += _from_runs(split.failing, findings)
    ordered = tuple(sorted(features, key=lambda feature: (-feature.strength, feature.name)))
    names = {feature.name for feature in ordered}
    return Diagnosis(ordered, hypotheses(ordered), _ruled_out(split, names))


def _describe(case: CaseResult) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in attributes(case).items())
    state = case.status if case.status != "ok" else f"{case.match_ratio:.2%} of elements within tolerance"
    return f"{case.dtype} {list(case.shape)}{' (' + shown + ')' if shown else ''}: {state}"


def shown_failures(cases: Sequence[CaseResult]) -> tuple[Mapping[str, object], ...]:
    """Shape, dtype and attributes of at most three failing cases, spread over the set (the brief's `failing`)."""
    failing = [case for case in cases if not case.passed]
    step = max(1, len(failing) // SHOWN)
    return tuple(
        {"dtype": case.dtype, "shape": list(case.shape), "attributes": attributes(case)}
        for case in failing[::step][:SHOWN]
    )


def brief_text(diagnosis: Diagnosis, cases: Sequence[CaseResult], findings: Sequence[SanitizerFinding] = ()) -> str:
    """A brief for people and workers: what fails, what passes, features, findings, hypotheses, what is ruled out."""
    failing = [case for case in cases if not case.passed]
    step = max(1, len(failing) // SHOWN)
    lines = [
        f"{len(cases) - len(failing)} of {len(cases)} cases pass, {len(failing)} fail.",
        "",
        "Failing, for example:",
    ]
    lines += [f"  - {_describe(case)}" for case in failing[::step][:SHOWN]] or ["  - none"]
    lines += ["", "Observed:"]
    lines += [
        f"  - {feature.name} ({feature.strength:.2f}): {meaning(feature.name)}"
        + (f" -- {feature.detail}" if feature.detail else "")
        for feature in diagnosis.features
    ] or ["  - nothing that forensics has a word for"]
    lines += ["", "Sanitizer findings:"]
    lines += [
        f"  - {finding.kind} x{finding.count} at {finding.file or '?'}:{finding.line or '?'}"
        f"{' in ' + finding.api if finding.api else ''}: {finding.message}"
        for finding in findings[:20]
    ] or ["  - none"]
    if len(findings) > 20:
        lines.append(f"  - and {len(findings) - 20} more")
    lines += ["", "Hypotheses, best first:"]
    lines += [
        f"  {i}. {m.name} ({m.score:.2f}): {'; '.join(m.because)}" for i, m in enumerate(diagnosis.mechanisms[:6], 1)
    ] or ["  none"]
    lines += ["", "Ruled out:"]
    lines += [f"  - {text}" for text in diagnosis.ruled_out] or ["  - nothing yet"]
    return "\n".join(lines) + "\n"
