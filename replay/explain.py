"""Why was this candidate accepted, or why not? Answered from the log alone, as data (`explain`) and as text (`render`).

The answer holds what a sceptic would ask for: every attempt with its patch and its numbers, the numeric evidence under
the named tolerance, the integrity evidence with what was skipped, what the knowledge base gave, and the budgets left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from events.errors import BlobWithheld
from events.types import Evaluated, SessionAborted, SessionAccepted, SessionExhausted
from replay.history import History
from statemachine.decide import budget_left
from statemachine.findings import FindingsPolicy, findings_policy
from statemachine.ports import BlobStore
from statemachine.scoring import exclusions, passed, tally
from statemachine.state import Attempt, SessionState


def explain(history: History, blobs: BlobStore) -> dict[str, Any]:
    """The explanation as one JSON-able object."""
    state = history.state
    opened = state.opened
    deciding = state.attempts[state.best] if state.best is not None else state.current
    return {
        "session": history.session,
        "task": opened.task.name,
        "outcome": state.outcome,
        "why": why(state),
        "attempts": [_attempt(state, a, blobs) for a in state.attempts],
        "refused": [{"attempt": r.attempt, "reason": r.reason, "pattern": r.pattern} for r in state.refusals],
        "numeric_evidence": _numbers(deciding, findings_policy(opened.configuration)),
        "integrity_evidence": _integrity(deciding),
        "retrieved": [{"attempt": r.attempt, "entries": [e[0] for e in r.entries[:5]]} for r in state.retrieved],
        "budget_left": budget_left(state),
        "tokens": state.tokens.total,
        "toolchain": dict(opened.toolchain),
        "isolation": dict(opened.isolation),
        "knowledge": opened.knowledge,
        "tolerance": opened.configuration.tolerance,
        "coverage_equivalent": opened.task.coverage_equivalent,
        "warnings": list(opened.task.warnings),
        "events": len(history.envelopes),
        "head": history.head,
    }


def why(state: SessionState) -> str:
    """One sentence."""
    ended = state.ended
    if isinstance(ended, SessionAccepted):
        attempt = state.attempts[ended.attempt]
        change = "as it stood, without a patch" if attempt.patch is None else f"after patch {attempt.number}"
        total = len(attempt.full.counted) if attempt.full else 0
        left_out = exclusions([case.reason for case in attempt.full.excluded]) if attempt.full else ""
        settled = attempt.judged.settled_by if attempt.judged else ""
        return (
            f"accepted {change}: all {total} cases of the full set{left_out} are within "
            f"{state.opened.configuration.tolerance}, no blocking device finding, and the integrity verdict is clean "
            f"({settled})"
        )
    if isinstance(ended, SessionExhausted):
        best = state.best_attempt
        reached = (
            f"best checkpoint: attempt {best.number}, {_counts(best)}" if best else "no clean checkpoint was reached"
        )
        return f"not repaired: {ended.reason}; {reached}"
    if isinstance(ended, SessionAborted):
        return f"aborted ({ended.reason}): {ended.detail}"
    return f"not finished: the session stands in state {state.status}; `opmend resume` goes on from there"


def _counts(attempt: Attempt) -> str:
    parts = [f"{name} {tally(e)}" for name, e in (("compact", attempt.compact), ("full", attempt.full)) if e]
    return ", ".join(parts) or "not evaluated"


def _attempt(state: SessionState, attempt: Attempt, blobs: BlobStore) -> dict[str, Any]:
    patch, compiled = attempt.patch, attempt.compiled
    return {
        "attempt": attempt.number,
        "candidate": attempt.candidate,
        "pattern": patch.pattern if patch else None,
        "rationale": patch.rationale if patch else "the untouched near-miss",
        "diff": _diff(patch.diff, blobs) if patch else "",
        "compiled": compiled.passed if compiled else None,
        "first_error": compiled.first_error.model_dump() if compiled and compiled.first_error else None,
        "compact": _tally(attempt.compact),
        "full": _tally(attempt.full),
        "verdict": attempt.judged.verdict if attempt.judged else None,
        "improved": attempt.improved,
        "checkpoint": attempt.saved,
        "accepted": isinstance(state.ended, SessionAccepted) and state.ended.attempt == attempt.number,
    }


def _diff(digest: str, blobs: BlobStore) -> str:
    try:
        return blobs.get(digest).decode()
    except BlobWithheld:
        return f"withheld from the export; the diff is {digest}"


def _tally(evaluation: Evaluated | None) -> dict[str, int] | None:
    if evaluation is None:
        return None
    left_out = {"excluded": len(evaluation.excluded)} if evaluation.excluded else {}
    return {"passed": passed(evaluation), "total": len(evaluation.counted), **left_out}


def _numbers(attempt: Attempt, rule: FindingsPolicy) -> dict[str, Any]:
    """Worst errors by dtype over the widest set that was run, device findings, and the failing cases."""
    widest = attempt.full or attempt.compact
    by_dtype: dict[str, dict[str, float]] = defaultdict(lambda: {"cases": 0, "passed": 0, "mere": 0.0, "mare": 0.0})
    for case in widest.counted if widest else ():
        row = by_dtype[case.dtype or "not comparable"]
        row["cases"] += 1
        row["passed"] += case.passed
        row["mere"] = max(row["mere"], case.mere or 0.0)
        row["mare"] = max(row["mare"], case.mare or 0.0)
    return {
        "attempt": attempt.number,
        "set": None if widest is None else "full" if attempt.full else "compact",
        "by_dtype": dict(by_dtype),
        "findings": [{**f.model_dump(), "blocks": rule.blocks(f)} for f in widest.sanitizer] if widest else [],
        "blocking": list(widest.blocking) if widest else [],
        "failing": [
            {"index": c.index, "dtype": c.dtype, "shape": list(c.shape), "reason": c.reason}
            for c in (widest.counted if widest else ())
            if not c.passed
        ],
        "excluded": [{"index": c.index, "reason": c.reason} for c in (widest.excluded if widest else ())],
    }


def _integrity(attempt: Attempt) -> dict[str, Any]:
    judged = attempt.judged
    if judged is None:
        return {"attempt": attempt.number, "verdict": None, "settled_by": "", "evidence": []}
    evidence = [e.model_dump() for e in judged.evidence]
    return {
        "attempt": attempt.number,
        "verdict": judged.verdict,
        "settled_by": judged.settled_by,
        "evidence": evidence,
    }


def render(answer: dict[str, Any]) -> Iterator[str]:
    """The explanation for a terminal, line by line, without colour."""
    yield f"session {answer['session']}  task {answer['task']}  outcome {answer['outcome'] or 'open'}"
    yield f"why: {answer['why']}"
    for note in answer["warnings"]:
        yield f"note: {note}"
    yield ""
    for a in answer["attempts"]:
        yield from _render_attempt(a)
    for r in answer["refused"]:
        yield f"refused before attempt {r['attempt']}: {r['reason']}" + (f" ({r['pattern']})" if r["pattern"] else "")
    numbers = answer["numeric_evidence"]
    which = f"attempt {numbers['attempt']}, {numbers['set'] or 'no'} set"
    yield f"numeric evidence ({which}, tolerance {answer['tolerance']})"
    for dtype, row in numbers["by_dtype"].items():
        yield (
            f"  {dtype:<10} {row['passed']:.0f}/{row['cases']:.0f} cases passed, worst MERE {row['mere']:.3g}, "
            f"worst MARE {row['mare']:.3g}"
        )
    for f in numbers["findings"]:
        place = f"{f['file']}:{f['line']}" if f["file"] else "no place"
        mark = "blocking" if f["blocks"] else "warning"
        yield f"  device finding ({mark}) {f['kind']} {f['api']} {place} x{f['count']}: {f['message']}"
    for f in numbers["excluded"]:
        yield f"  excluded case {f['index']}: {f['reason']}"
    for f in numbers["failing"][:5]:
        yield f"  failing case {f['index']}: {f['dtype']} {f['shape']}: {f['reason']}"
    integrity = answer["integrity_evidence"]
    yield f"integrity evidence (attempt {integrity['attempt']}): {integrity['verdict']}; {integrity['settled_by']}"
    for e in integrity["evidence"]:
        yield f"  {e['outcome']:<8} {e['check']}: {e['detail']}" + (f" [{e['where']}]" if e["where"] else "")
    left = ", ".join(f"{name} {value:g}" for name, value in answer["budget_left"].items())
    yield f"budget left: {left}; tokens used: {answer['tokens']}"
    yield "ran on: " + ", ".join(f"{k} {v}" for k, v in sorted(answer["toolchain"].items()))
    yield "held in by: " + ", ".join(f"{k}: {v}" for k, v in sorted(answer["isolation"].items()))
    yield f"log: {answer['events']} events, head {answer['head']}"


def _render_attempt(a: dict[str, Any]) -> Iterator[str]:
    marks = [name for name in ("checkpoint", "accepted") if a[name]]
    pattern = f" [{a['pattern']}]" if a["pattern"] else ""
    yield f"attempt {a['attempt']}{pattern}: {a['rationale']}"
    if a["diff"]:
        yield from ("    " + line for line in a["diff"].rstrip("\n").split("\n"))
    if a["compiled"] is False:
        error = a["first_error"] or {}
        yield f"  does not compile: {error.get('file')}:{error.get('line')}: {error.get('message')}"
    else:
        counts = ", ".join(f"{s} {a[s]['passed']}/{a[s]['total']}" for s in ("compact", "full") if a[s])
        yield f"  {counts or 'not evaluated'}; verdict {a['verdict']}" + (f"; {', '.join(marks)}" if marks else "")
    yield ""
