"""A session read back from its log: its envelopes, its state, and the few derived views that every command prints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from events.envelope import Envelope
from events.errors import LogCorrupt, LogError
from events.log import SqlLog
from events.types import Event
from replay.bulk import no_collection
from statemachine.posthoc import is_posthoc
from statemachine.state import IllegalTransition, SessionState, fold


@dataclass(frozen=True)
class History:
    """`envelopes` and `events` are parallel, in order; `head` is the hash of the last one."""

    session: str
    envelopes: tuple[Envelope, ...]
    events: tuple[Event, ...]
    state: SessionState

    @property
    def head(self) -> str:
        return self.envelopes[-1].hash

    @property
    def timed(self) -> list[tuple[datetime, Event]]:
        return [(envelope.time, event) for envelope, event in zip(self.envelopes, self.events, strict=True)]


def read_history(log: SqlLog, session: str) -> History:
    """Read and fold one session. Raises NoSuchSession; LogCorrupt when the stream is not a legal session."""
    try:
        with no_collection():
            envelopes = tuple(log.read(session))
            events = tuple(envelope.event() for envelope in envelopes)
            state = fold((envelope.time, event) for envelope, event in zip(envelopes, events, strict=True))
    except IllegalTransition as error:
        raise LogCorrupt(f"session {session}: {error}; run `opmend verify {session}`") from error
    return History(session, envelopes, events, state)


def sessions_of(log: SqlLog) -> list[str]:
    """The sessions of a log in opening order, without the streams that only speak of one."""
    return [name for name in log.sessions() if not is_posthoc(name)]


def resolve(log: SqlLog, prefix: str) -> str:
    """The session whose id is `prefix` or begins with it, if there is exactly one; `last` is the newest."""
    sessions = sessions_of(log)
    if prefix == "last" and sessions:
        return sessions[-1]
    matches = [s for s in sessions if s.startswith(prefix)]
    return prefix if prefix in sessions or len(matches) != 1 else matches[0]


def summary(session: str, state: SessionState, head: str) -> dict[str, Any]:
    """The last line of `repair --json` and `resume --json`, and the body of `sessions --json`."""
    return {
        "type": "summary",
        "session": session,
        "task": state.opened.task.name,
        "outcome": state.outcome,
        "attempts": state.current.number,
        "turns": state.turns,
        "tokens": state.tokens.total,
        "head": head,
    }


def listing(log: SqlLog) -> Iterable[dict[str, Any]]:
    """One object per session, in opening order: `{session, task, outcome, attempts, head}`; a damaged one says so."""
    for session in sessions_of(log):
        try:
            history = read_history(log, session)
        except LogError as error:
            yield {
                "session": session,
                "task": None,
                "outcome": None,
                "attempts": None,
                "head": None,
                "error": str(error),
            }
            continue
        row = summary(session, history.state, history.head)
        yield {key: row[key] for key in ("session", "task", "outcome", "attempts", "head")}
