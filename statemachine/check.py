"""`opmend check`: evaluate and judge one candidate as it stands: the engine's gates without the loop and the log.

Unlike a session, a check runs the full set even when the compact set fails: the user asked how good the candidate is.
"""

from __future__ import annotations

from typing import Any

from events.types import CaseSet, Evidence
from statemachine.evaluate import Evaluation, Progress, evaluate, merge_findings
from statemachine.findings import FindingsPolicy
from statemachine.integrity.judge import judge
from statemachine.integrity.static import read_statically
from statemachine.ports import Task, Toolchain
from statemachine.tolerance import policy


def check(
    task: Task,
    toolchain: Toolchain,
    which: CaseSet,
    *,
    seed: int,
    tolerance: str,
    level: int,
    findings: FindingsPolicy,
    max_excluded: float,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The report as one JSON-able object (docs/architecture.md, `check --json`). `full` is null when it was not asked
    for or the candidate does not build. `accepted`: all asked cases pass, nothing blocks, and the verdict is clean."""
    rule = policy(tolerance)
    outcome = toolchain.build(task, task.candidate, level)
    static: tuple[Evidence, ...] = (*read_statically(task, task.candidate), *outcome.evidence)
    runs: dict[CaseSet, Evaluation] = {}
    wanted: tuple[CaseSet, ...] = ("compact",) if which == "compact" else ("compact", "full")
    if outcome.passed:
        for name in wanted:
            if name == "full" and task.ref.full.digest == task.ref.compact.digest:
                runs[name] = runs["compact"]
                continue
            runs[name] = evaluate(
                task, toolchain, outcome.handle, name, seed, rule, findings, progress, max_excluded=max_excluded
            )
    distinct = list({id(e): e for e in runs.values()}.values())
    verdict, evidence, settled_by = judge(
        static=static,
        dynamic=[item for e in distinct for item in e.evidence],
        runs=[case for e in distinct for case in e.cases],
    )
    passed = bool(runs) and all(e.passed for e in runs.values())
    return {
        "task": task.ref.name,
        "candidate": task.candidate.digest,
        "built": outcome.passed,
        "first_error": outcome.first_error.model_dump() if outcome.first_error else None,
        "compact": _tally(runs.get("compact")),
        "full": _tally(runs.get("full")),
        "cases": [_case(name, case) for name, e in runs.items() for case in e.cases],
        "sanitizer": [
            {**f.model_dump(), "blocks": findings.blocks(f)}
            for f in merge_findings(f for e in distinct for f in e.sanitizer)
        ],
        "findings_policy": findings.name,
        "blocking": sorted({kind for e in distinct for kind in e.blocking}),
        "integrity": {
            "verdict": verdict,
            "settled_by": settled_by,
            "evidence": [e.model_dump() for e in evidence],
        },
        "accepted": passed and verdict == "clean" and which == "full",
        "passed": passed,
        "tolerance": rule.name,
        "seed": seed,
        "coverage_equivalent": task.ref.coverage_equivalent,
        "warnings": list(task.ref.warnings),
        "isolation": toolchain.isolation(),
        "toolchain": toolchain.fingerprint(),
    }


def _tally(evaluation: Evaluation | None) -> dict[str, int] | None:
    if evaluation is None:
        return None
    left_out = len(evaluation.cases) - len(evaluation.counted)
    counts = {"passed": sum(c.passed for c in evaluation.cases), "total": len(evaluation.counted)}
    return {**counts, "excluded": left_out} if left_out else counts


def _case(name: str, case: Any) -> dict[str, Any]:
    fields = ("index", "passed", "dtype", "shape", "mere", "mare", "match_ratio", "reason", "status", "seconds")
    return {"set": name, **{field: getattr(case, field) for field in fields}}
