"""What the engine does next: a pure function of the state. No effect, no clock, no configuration outside the log.

`decide(state)` returns an `Action`; the engine carries it out and appends what happened. Reading this function from top
to bottom is reading the policy of a repair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from statemachine.machine import TERMINAL
from statemachine.state import Attempt, SessionState

Verb = Literal[
    "compile", "compact_eval", "full_eval", "anti_cheat", "checkpoint", "accept", "rollback", "forensics", "ask",
    "exhaust", "abort", "stop",
]  # fmt: skip


@dataclass(frozen=True)
class Action:
    """`reason` says why for exhaust and abort; `bound` (name, limit, used) is set when a hard bound is the reason."""

    verb: Verb
    reason: str = ""
    detail: str = ""
    bound: tuple[str, float, float] | None = None


def decide(state: SessionState) -> Action:
    """The next action of a session in `state`."""
    if state.status in TERMINAL:
        return Action("stop")
    match state.status:
        case "opened" | "patched":
            return Action("compile")
        case "built":
            return Action("compact_eval")
        case "compact_passed":
            return Action("full_eval")
        case "full_passed":
            return Action("anti_cheat")
        case "clean":
            return Action("accept") if state.current.saved else Action("checkpoint")
        case "rejected":
            return _after_rejection(state)
        case "rolled_back":
            return Action("forensics")
        case _:
            return _over_bound(state) or Action("ask")


def _after_rejection(state: SessionState) -> Action:
    now = state.current
    if now.judged is None:
        return Action("anti_cheat")
    if now.number == 0 and now.compiled is not None and not now.compiled.passed:
        error = now.compiled.first_error
        where = f"{error.file}:{error.line}: " if error and error.file else ""
        return Action(
            "abort", "not-a-near-miss", f"the candidate does not compile: {where}{error.message if error else ''}"
        )
    if hopeless := wrapper_taint(now):
        return Action("abort", "tainted-wrapper", f"no kernel patch can make this clean: {hopeless}")
    if now.improved and not now.saved and not now.tainted:
        return Action("checkpoint")
    if exhausted := _over_bound(state):
        return exhausted
    if state.fruitless >= state.opened.configuration.bounds.patience and state.standing != restore_point(state):
        return Action("rollback")
    return Action("forensics")


def restore_point(state: SessionState) -> str:
    """The candidate a rollback restores: the best checkpoint, or the untouched near-miss when there is none."""
    return (state.best_attempt or state.attempts[0]).candidate


def wrapper_taint(attempt: Attempt) -> str | None:
    """The first failed check that lies in the wrapper: outside the worker's reach, so repair is pointless."""
    evidence = attempt.judged.evidence if attempt.judged else ()
    return next(
        (f"{e.detail} ({e.where})" for e in evidence if e.outcome == "failed" and e.check.startswith("wrapper:")), None
    )


def _over_bound(state: SessionState) -> Action | None:
    bounds = state.opened.configuration.bounds
    attempts = state.current.number
    checks: tuple[tuple[str, float, float, bool], ...] = (
        ("attempts", bounds.attempts, attempts, attempts >= bounds.attempts),
        ("turns", bounds.turns, state.turns, state.turns >= bounds.turns),
        ("refusals", bounds.refusals, state.refused_now, state.refused_now >= bounds.refusals),
        (
            "wall_seconds",
            bounds.wall_seconds,
            round(state.active_seconds, 3),
            state.active_seconds >= bounds.wall_seconds,
        ),
    )
    for name, limit, used, over in checks:
        if over:
            return Action(
                "exhaust", f"the bound on {name} is reached ({used:g} of {limit:g})", bound=(name, limit, used)
            )
    return None


def budget_left(state: SessionState) -> dict[str, float]:
    """What is left of each hard bound (seconds for wall_seconds, counts otherwise); never negative."""
    bounds = state.opened.configuration.bounds
    return {
        "attempts": max(0, bounds.attempts - state.current.number),
        "turns": max(0, bounds.turns - state.turns),
        "wall_seconds": max(0.0, round(bounds.wall_seconds - state.active_seconds, 3)),
    }
