"""What the worker is told: a pure function of the log and the task's public parts (law 2).

Expected outputs, input seeds and the full set's values do not exist here: a brief is made from event payloads, which
hold descriptors, error statistics and features only.
"""

from __future__ import annotations

from events.types import PatchRefused
from statemachine import sources
from statemachine.decide import budget_left, restore_point
from statemachine.forensics.diagnosis import Diagnosis, brief_text, diagnose, shown_failures
from statemachine.ports import BlobStore, Brief, Task, Tried
from statemachine.scoring import passed
from statemachine.state import Attempt, SessionState


def subject(state: SessionState) -> Attempt:
    """The attempt whose candidate stands: the current one, or after a rollback the one that was restored."""
    return next(a for a in reversed(state.attempts) if a.candidate == state.standing)


def diagnosis_for(state: SessionState) -> tuple[Diagnosis, str]:
    """Diagnosis of the standing candidate from its deciding evaluation, and the brief for people and workers."""
    attempt = subject(state)
    deciding = attempt.full or attempt.compact
    cases = deciding.counted if deciding else ()
    findings = deciding.sanitizer if deciding else ()
    diagnosis = diagnose(cases, findings)
    text = brief_text(diagnosis, cases, findings)
    if attempt.compiled is not None and not attempt.compiled.passed and attempt.compiled.first_error:
        error = attempt.compiled.first_error
        text = f"The last patch does not compile: {error.file}:{error.line}: {error.message}\n\n{text}"
    return diagnosis, text


def brief_for(state: SessionState, task: Task, blobs: BlobStore) -> Brief:
    """The worker's brief for the next attempt."""
    attempt = subject(state)
    best = restore_point(state)
    diagnosed = state.current.forensics
    assert diagnosed is not None, "the machine lets a worker speak only after forensics"
    compact = attempt.compact.counted if attempt.compact else ()
    deciding = attempt.full or attempt.compact
    return Brief(
        attempt=state.current.number + 1,
        task=state.opened.task.name,
        reference=task.reference_source,
        wrapper=task.wrapper_source,
        base=state.standing,
        sources=sources.load(blobs, state.standing).files,
        best=best,
        best_sources=sources.load(blobs, best).files,
        compact=[{**c.descriptor, "passed": c.passed, "match_ratio": c.match_ratio} for c in compact],
        failing=shown_failures(deciding.counted if deciding else ()),
        features=diagnosed.features,
        mechanisms=diagnosed.mechanisms,
        findings=deciding.sanitizer if deciding else (),
        tried=(*(_tried(a, blobs) for a in state.attempts[1:]), *(_refused(r, blobs) for r in state.refusals)),
        budget_left=budget_left(state),
        text=blobs.get(diagnosed.brief).decode(),
    )


def _tried(attempt: Attempt, blobs: BlobStore) -> Tried:
    assert attempt.patch is not None
    return Tried(
        attempt=attempt.number,
        pattern=attempt.patch.pattern,
        rationale=attempt.patch.rationale,
        diff=blobs.get(attempt.patch.diff).decode(),
        outcome=outcome_of(attempt),
        improved=attempt.improved,
    )


def _refused(refusal: PatchRefused, blobs: BlobStore) -> Tried:
    return Tried(
        attempt=refusal.attempt,
        pattern=refusal.pattern,
        rationale="",
        diff=blobs.get(refusal.proposal).decode() if refusal.proposal else "",
        outcome=f"refused: {refusal.reason}",
        improved=False,
    )


def outcome_of(attempt: Attempt) -> str:
    """What became of an attempt, in a few words."""
    if attempt.compiled is not None and not attempt.compiled.passed:
        return "does not compile"
    counts = [
        f"{name} {passed(e)}/{len(e.counted)}"
        for name, e in (("compact", attempt.compact), ("full", attempt.full))
        if e
    ]
    verdict = f", {attempt.judged.verdict}" if attempt.judged else ""
    return (", ".join(counts) or "not evaluated") + verdict
