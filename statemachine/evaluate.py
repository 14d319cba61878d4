"""Numeric evaluation of a built candidate: the engine makes the inputs, the candidate's process gives outputs, and the
comparison happens here, in the engine's process, under the session's named tolerance policy (laws 3 and 5).

For a failing case the traits of the error (`statemachine.forensics`) are taken at once and travel in the log with the
verdict, so that every later diagnosis is a function of the log and never needs the tensors again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from events.types import MAX_EXCLUDED, CaseResult, CaseSet, Evidence, Feature, SanitizerFinding
from statemachine.findings import FindingsPolicy
from statemachine.forensics.features import observe
from statemachine.integrity.dynamic import in_light_of
from statemachine.ports import CaseData, CaseRun, ReferenceFails, Task, Toolchain, UsageError
from statemachine.tolerance import Comparison, Policy, compare_outputs

#: After so many cases in a row that ran into their time limit, the rest of the set is not run any more.
TIMEOUTS_TO_STOP = 2
_WORST = ("no", "unknown", "yes")
_NOT_RUN = f"not run: {TIMEOUTS_TO_STOP} cases in a row before it ran into the time limit"

Progress = Callable[[CaseSet, int, int], None]


@dataclass
class Evaluation:
    """What one pass over a case set gave; the engine turns it into CompactEvaluated or FullEvaluated."""

    cases: list[CaseResult] = field(default_factory=list)
    sanitizer: tuple[SanitizerFinding, ...] = ()
    blocking: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0

    @property
    def counted(self) -> list[CaseResult]:
        """All but the excluded cases."""
        return [case for case in self.cases if case.status != "excluded"]

    @property
    def passed(self) -> bool:
        return bool(self.counted) and all(c.passed for c in self.counted) and not self.blocking


def run_cases(
    task: Task,
    toolchain: Toolchain,
    handle: Any,
    which: CaseSet,
    seed: int,
    indices: Iterable[int],
    excluded: dict[int, str],
) -> Iterator[tuple[CaseData, CaseRun]]:
    """Each case with how it ran, in order; those on which the reference raises go to `excluded`, with the reason."""
    pending: list[CaseData] = []

    def feed() -> Iterator[CaseData]:
        for index in indices:
            try:
                for case in task.cases(which, seed, [index]):
                    pending.append(case)
                    yield case
            except ReferenceFails as error:
                excluded[index] = str(error)

    for run in toolchain.run(task, handle, feed()):
        yield pending.pop(0), run


def evaluate(
    task: Task,
    toolchain: Toolchain,
    handle: Any,
    which: CaseSet,
    seed: int,
    policy: Policy,
    findings_rule: FindingsPolicy,
    progress: Progress | None = None,
    *,
    max_excluded: float = MAX_EXCLUDED,
) -> Evaluation:
    """Run `handle` on every case of `which`. A hostile or broken candidate gives failing cases, never an exception.

    A case on which the reference itself raises is excluded, with its reason; whether it is depends on the task and the
    seed alone. Raises UsageError when no case is left, when more than the share `max_excluded` of the set is left out,
    or when the reference breaks otherwise; InfrastructureError when the machinery broke.
    """
    started = time.monotonic()
    total = len(task.descriptors(which))
    result = Evaluation()
    findings: list[SanitizerFinding] = []
    evidence: list[Evidence] = []
    timeouts = 0
    ran: dict[int, CaseResult] = {}
    excluded: dict[int, str] = {}
    for case, run in run_cases(task, toolchain, handle, which, seed, range(total), excluded):
        ran[case.index] = judge_case(case, run, policy)
        findings.extend(run.findings)
        evidence.extend(in_light_of(run.evidence, ran[case.index].passed))
        if progress:
            progress(which, len(ran) + len(excluded), total)
        timeouts = timeouts + 1 if run.status == "timeout" else 0
        if timeouts >= TIMEOUTS_TO_STOP:
            break
    if total and len(excluded) == total:
        raise UsageError(f"no {which} case is left to judge by: {next(iter(excluded.values()))}")
    if len(excluded) > max_excluded * total:
        raise UsageError(
            f"the reference fails on {len(excluded)} of {total} {which} cases, more than the share of {max_excluded:g} "
            f"that may be left out; the first: {next(iter(excluded.values()))}"
        )
    for index, descriptor in enumerate(task.descriptors(which)):
        if index in excluded:
            result.cases.append(_without_run(index, descriptor, "excluded", excluded[index]))
        else:
            result.cases.append(ran.get(index) or _without_run(index, descriptor, "timeout", _NOT_RUN))
    result.sanitizer = merge_findings(findings)
    result.blocking = findings_rule.blocking_kinds(result.sanitizer)
    result.evidence = merge_evidence(evidence)
    result.seconds = round(time.monotonic() - started, 3)
    return result


def judge_case(case: CaseData, run: CaseRun, policy: Policy) -> CaseResult:
    """Compare one run with the expectation. dtype and shape are those of the first expected output."""
    first = case.expected[0] if case.expected else None
    base: dict[str, Any] = {
        "index": case.index,
        "dtype": str(first.dtype) if first is not None else "",
        "shape": tuple(first.shape) if first is not None else (),
        "descriptor": dict(case.descriptor),
        "status": run.status,
        "launches": run.launches,
        "seconds": round(run.seconds, 4),
    }
    if run.status != "ok" or run.outputs is None:
        return CaseResult(**base, passed=False, reason=run.detail or run.status)
    comparisons = compare_outputs(policy, run.outputs, case.expected)
    worst = min(comparisons, key=lambda c: (c.passed, c.match_ratio, -c.error))
    bad = next((i for i, c in enumerate(comparisons) if c is worst), 0)
    features: tuple[Feature, ...] = ()
    if not worst.passed and bad < len(run.outputs) and bad < len(case.expected):
        features = observe(run.outputs[bad], case.expected[bad], worst.bad, attributes=dict(case.descriptor))
    several = f"output {bad}: " if len(case.expected) > 1 and not worst.passed else ""
    return CaseResult(
        **base,
        passed=all(c.passed for c in comparisons),
        mere=_largest(comparisons, "mere"),
        mare=_largest(comparisons, "mare"),
        match_ratio=sum(c.match_ratio for c in comparisons) / len(comparisons),
        error=max(c.error for c in comparisons),
        reason="" if worst.passed else several + worst.reason,
        features=features,
    )


def _largest(comparisons: Sequence[Comparison], name: str) -> float | None:
    values = [v for v in (getattr(c, name) for c in comparisons) if v is not None]
    return max(values) if values else None


def _without_run(index: int, descriptor: Any, status: Literal["timeout", "excluded"], reason: str) -> CaseResult:
    return CaseResult(
        index=index, passed=False, dtype="", shape=(), descriptor=dict(descriptor), status=status, reason=reason
    )


def merge_findings(findings: Iterable[SanitizerFinding]) -> tuple[SanitizerFinding, ...]:
    """One finding per (kind, api, place), with the counts of all cases added; the first message stands, and the worst
    of where its data went."""
    merged: dict[tuple[str, str, str | None, int | None], SanitizerFinding] = {}
    for f in findings:
        key = (f.kind, f.api, f.file, f.line)
        seen = merged.get(key)
        merged[key] = (
            f
            if seen is None
            else seen.model_copy(
                update={
                    "count": seen.count + f.count,
                    "reaches_output": max(seen.reaches_output, f.reaches_output, key=_WORST.index),
                }
            )
        )
    return tuple(sorted(merged.values(), key=lambda f: (f.kind, f.file or "", f.line or 0, f.api)))


def merge_evidence(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Equal evidence of several cases said once, with the number of cases."""
    counts = Counter((e.check, e.outcome, e.detail, e.where) for e in evidence)
    return tuple(
        Evidence(check=check, outcome=outcome, detail=f"{detail} [{n} cases]" if n > 1 else detail, where=where)
        for (check, outcome, detail, where), n in sorted(counts.items(), key=lambda item: tuple(map(str, item[0])))
    )
