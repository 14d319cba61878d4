"""The state of a session after event N, as data and as text: what the engine knew then, and what it would do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.history import History
from replay.story import line
from statemachine.briefing import outcome_of
from statemachine.decide import budget_left, decide
from statemachine.ports import UsageError
from statemachine.state import SessionState, fold


def at(history: History, number: int) -> dict[str, Any]:
    """The state after event `number` (0 is SessionOpened). UsageError when there is no such event."""
    if not 0 <= number < len(history.events):
        raise UsageError(
            f"session {history.session} has events 0 to {len(history.events) - 1}; there is no event {number}"
        )
    state = fold(history.timed[: number + 1])
    envelope, event = history.envelopes[number], history.events[number]
    action = decide(state)
    return {
        "session": history.session,
        "seq": number,
        "at": envelope.recorded_at,
        "hash": envelope.hash,
        "event": event.type,
        "says": line(event) or "",
        "status": state.status,
        "next": {"act": action.verb, "reason": action.reason},
        "attempt": state.current.number,
        "standing": state.standing,
        "checkpoint": None if state.best is None else state.best,
        "without_improvement": state.fruitless,
        "refused_now": state.refused_now,
        "conversations": state.conversations,
        "turns": state.turns,
        "active_seconds": round(state.active_seconds, 6),
        "budget_left": budget_left(state),
        "attempts": [_attempt(state, n) for n in range(len(state.attempts))],
    }


def _attempt(state: SessionState, number: int) -> dict[str, Any]:
    attempt = state.attempts[number]
    return {
        "attempt": number,
        "candidate": attempt.candidate,
        "pattern": attempt.patch.pattern if attempt.patch else None,
        "outcome": outcome_of(attempt),
        "improved": attempt.improved,
        "checkpoint": attempt.saved,
    }


def render(answer: dict[str, Any]) -> Iterator[str]:
    """For a terminal, line by line."""
    yield f"session {answer['session']} after event {answer['seq']} ({answer['event']}, {answer['at']})"
    if answer["says"]:
        yield f"  {answer['says']}"
    reason = f": {answer['next']['reason']}" if answer["next"]["reason"] else ""
    yield f"state {answer['status']}; next: {answer['next']['act']}{reason}"
    for a in answer["attempts"]:
        marks = "".join(f", {name}" for name in ("improved", "checkpoint") if a[name])
        pattern = f" [{a['pattern']}]" if a["pattern"] else ""
        yield f"  attempt {a['attempt']}{pattern} {a['candidate'][7:19]}: {a['outcome']}{marks}"
    best = "none yet" if answer["checkpoint"] is None else f"attempt {answer['checkpoint']}"
    yield f"checkpoint {best}; the next patch starts from {answer['standing'][7:19]}"
    yield f"attempts in a row without improvement {answer['without_improvement']}; refusals now {answer['refused_now']}"
    left = ", ".join(f"{name} {value:g}" for name, value in answer["budget_left"].items())
    yield f"turns {answer['turns']}; worked {answer['active_seconds']:.1f} s; budget left: {left}"
