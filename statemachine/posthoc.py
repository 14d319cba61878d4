"""Evaluations made after a session, in a stream beside it: `posthoc:<session>` holds PostHocEvaluated and nothing else.

They answer what a session did not ask (does the candidate that another rule would have selected pass the full set?),
and so they must not be able to change what it says: another stream, with its own chain, that the fold refuses. Each
names the session and the hash of its last event, so that it cannot be taken for evidence about another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from events.types import Event, PostHocEvaluated, SessionOpened
from statemachine.state import IllegalTransition, fold

PREFIX = "posthoc:"


def stream_of(session: str) -> str:
    """The name of the stream that speaks of `session`."""
    return PREFIX + session


def session_of(stream: str) -> str:
    """The session that `stream` is named after."""
    return stream.removeprefix(PREFIX)


def is_posthoc(stream: str) -> bool:
    return stream.startswith(PREFIX)


def legal(events: Iterable[tuple[datetime, Event]]) -> None:
    """Raise IllegalTransition at the first event that has no place in its stream: a session's, or one beside it."""
    events = list(events)
    if not events or not isinstance(first := events[0][1], PostHocEvaluated):
        fold(events)
        return
    for seq, (_, event) in enumerate(events):
        if not isinstance(event, PostHocEvaluated) or event.of != first.of:
            raise IllegalTransition(seq, f"{event.type} in the stream of evaluations made after session {first.of}")
        counts = event.counted
        if event.passed != (bool(counts) and all(case.passed for case in counts) and not event.blocking):
            raise IllegalTransition(seq, "PostHocEvaluated contradicts its own cases about having passed")


def covers(event: PostHocEvaluated, opened: SessionOpened) -> bool:
    """Whether it has the cases of the session's set, once each, in order; or none, of what did not build any more."""
    wanted = (opened.task.compact if event.which == "compact" else opened.task.full).count
    ran = [case.index for case in event.cases]
    return ran == list(range(wanted)) or (not ran and not event.passed)
