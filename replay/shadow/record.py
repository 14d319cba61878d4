"""One session's log, read once, in the form that any number of policies is derived from.

Recorded effects are kept by (attempt, type), each with the working time it took; the worker's own events (turns,
retrievals) only as the counters before and after each time it was asked: no policy looks inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from events.types import (
    Event,
    PatchProposed,
    PatchRefused,
    SessionAborted,
    SessionExhausted,
    SessionOpened,
    SessionResumed,
)
from statemachine.decide import Verb, decide
from statemachine.machine import TRIGGERS
from statemachine.state import SessionState, apply, begin

Answer = PatchProposed | PatchRefused | SessionExhausted


@dataclass(frozen=True)
class Step:
    """A recorded event and the working seconds before it."""

    event: Event
    seconds: float


@dataclass(frozen=True)
class Asked:
    """The worker had the floor once: the state it was asked in, and that before its answer (None: none recorded)."""

    before: SessionState
    after: SessionState
    answer: Answer | None = None
    seconds: float = 0.0


@dataclass
class Record:
    """What `derive` needs of one session. `broken`: the attempt and act at which the task itself failed."""

    session: str
    opened: SessionOpened
    started_at: datetime
    final: SessionState
    steps: dict[tuple[int, str], Step] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    broken: tuple[int, Verb, SessionAborted] | None = None

    @classmethod
    def of(cls, session: str, stream: Iterable[tuple[datetime, Event]]) -> Record:
        """Fold `stream` (as `fold` does, same errors) and keep what it passes by."""
        events = iter(stream)
        at, first = next(events)
        state = begin(first, at)
        record = cls(session, state.opened, at, state)
        asking: SessionState | None = None  # in which the worker was asked, while it has the floor
        seen = 0.0
        for at, event in events:
            before, state = state, apply(state, event, at)
            kind = type(event)
            if kind is SessionResumed:
                continue
            seconds, seen = state.active_seconds - seen, state.active_seconds
            if before.status != "diagnosed":
                record._keep(before, event, seconds)
                continue
            asking = asking or before
            if TRIGGERS[kind] in ("floor", "probe"):
                continue
            if isinstance(event, PatchProposed | PatchRefused) or (
                isinstance(event, SessionExhausted) and before.exhausted_bound is None  # it gave up
            ):
                record.asked.append(Asked(asking, before, event, seconds))
                asking = None
            else:
                record._keep(before, event, seconds)
                if before.exhausted_bound is None:
                    record.asked.append(Asked(asking, before))
                asking = None
        if state.status == "diagnosed" and state.exhausted_bound is None:
            record.asked.append(Asked(asking or state, state))
        record.final = state
        return record

    def _keep(self, before: SessionState, event: Event, seconds: float) -> None:
        if isinstance(event, SessionAborted) and event.reason == "broken-task":
            self.broken = (before.current.number, decide(before).verb, event)
        self.steps[before.current.number, event.type] = Step(event, seconds)
