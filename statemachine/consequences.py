"""What follows from the state alone: the events of those acts that need no port. Pure.

The engine records them as they come; `replay/shadow` asks the same functions what would have been recorded under other
rules. So there is one place that says what a verdict, a checkpoint, a rollback or an ending is.
"""

from __future__ import annotations

from events.types import (
    BudgetExhausted,
    CheckpointSaved,
    CompactEvaluated,
    Event,
    FullEvaluated,
    IntegrityJudged,
    RolledBack,
    SessionAborted,
    SessionAccepted,
    SessionExhausted,
)
from statemachine.decide import Action, restore_point
from statemachine.integrity.judge import judge
from statemachine.machine import BEFORE_VERDICT
from statemachine.state import Attempt, SessionState


def consequences(state: SessionState, action: Action) -> tuple[Event, ...]:
    """The events of `action`, in order. ValueError for an action that needs a port (a build, a run, the worker)."""
    now, best = state.current, state.best_attempt
    match action.verb:
        case "full_eval" if state.opened.task.full.digest == state.opened.task.compact.digest and now.compact:
            return (full_from_compact(now.compact),)
        case "anti_cheat":
            return (judgement(now),)
        case "checkpoint":
            return (CheckpointSaved(attempt=now.number, candidate=now.candidate),)
        case "accept":
            return (SessionAccepted(attempt=now.number, candidate=now.candidate),)
        case "rollback":
            return (RolledBack(attempt=now.number, restored=restore_point(state)),)
        case "exhaust":
            ended = SessionExhausted(reason=action.reason, best=best and best.candidate)
            if action.bound is None or state.exhausted_bound is not None:
                return (ended,)
            name, limit, used = action.bound
            return (BudgetExhausted(bound=name, limit=limit, used=used), ended)
        case "abort":
            aborted = SessionAborted(reason=action.reason, detail=action.detail)
            if state.status in BEFORE_VERDICT and now.judged is None:
                return (judgement(now), aborted)
            return (aborted,)
        case _:
            raise ValueError(f"{action.verb} needs a port: its events do not follow from the state")


def full_from_compact(compact: CompactEvaluated) -> FullEvaluated:
    """The full evaluation where the full set is the compact set: the same cases, not run twice."""
    return FullEvaluated(**{**dict(compact), "type": "FullEvaluated", "seconds": 0.0})


def judgement(attempt: Attempt) -> IntegrityJudged:
    """The integrity verdict on an attempt's candidate from all evidence there is of it."""
    evaluations = [e for e in (attempt.compact, attempt.full) if e is not None]
    verdict, evidence, settled_by = judge(
        static=attempt.compiled.static if attempt.compiled else (),
        dynamic=[item for e in evaluations for item in e.evidence],
        runs=[case for e in evaluations for case in e.cases],
    )
    return IntegrityJudged(
        attempt=attempt.number,
        candidate=attempt.candidate,
        verdict=verdict,
        evidence=tuple(evidence),
        settled_by=settled_by,
    )
