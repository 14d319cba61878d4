"""State is a pure fold of events (law 1): budgets, checkpoint, verdicts and outcome are derived here, never stored.

`fold(envelopes or (seq, time, event) triples)` gives a `SessionState`; `apply` advances one by one event. An event that
the machine does not allow raises `IllegalTransition` with its number: a corrupted log is reported, not guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from events.types import (
    BudgetExhausted,
    CheckpointSaved,
    CompactEvaluated,
    CompileFinished,
    ConversationStarted,
    Event,
    ForensicsRecorded,
    FullEvaluated,
    IntegrityJudged,
    KnowledgeRetrieved,
    PatchProposed,
    PatchRefused,
    PostHocEvaluated,
    RolledBack,
    SessionAborted,
    SessionAccepted,
    SessionExhausted,
    SessionOpened,
    SessionResumed,
    TurnStarted,
    TurnTaken,
)
from statemachine.machine import NEXT, TERMINAL, Status, move_of
from statemachine.scoring import Score, improves, score

Value = TypeVar("Value", "Attempt", "SessionState", "Tokens")


def changed(value: Value, **fields: Any) -> Value:
    """`value` with these fields: `dataclasses.replace` without its looking at every field, which is most of a fold."""
    new: Value = object.__new__(type(value))
    new.__dict__.update(value.__dict__, **fields)
    return new


class IllegalTransition(Exception):
    """The log holds a move the machine does not allow. `seq` is the event's number in its stream (0 = first)."""

    def __init__(self, seq: int, message: str) -> None:
        super().__init__(f"event {seq}: {message}")
        self.seq = seq
        self.message = message


@dataclass(frozen=True)
class Attempt:
    """One attempt as the log tells it. Attempt 0 is the untouched near-miss: no patch, no base."""

    number: int
    candidate: str
    patch: PatchProposed | None = None
    compiled: CompileFinished | None = None
    compact: CompactEvaluated | None = None
    full: FullEvaluated | None = None
    judged: IntegrityJudged | None = None
    forensics: ForensicsRecorded | None = None
    saved: bool = False
    improved: bool = False

    @property
    def score(self) -> Score:
        return score(self.compact, self.full)

    @property
    def tainted(self) -> bool:
        return self.judged is not None and self.judged.verdict == "tainted"


@dataclass(frozen=True)
class Tokens:
    """Token totals over turns; `unknown` counts turns whose usage the log does not know."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    unknown: int = 0

    def plus(self, turn: TurnTaken) -> Tokens:
        u = turn.usage
        return changed(
            self,
            input=self.input + (u.input or 0),
            output=self.output + (u.output or 0),
            cache_read=self.cache_read + (u.cache_read or 0),
            cache_write=self.cache_write + (u.cache_write or 0),
            unknown=self.unknown + (None in (u.input, u.output, u.cache_read, u.cache_write)),
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


@dataclass(frozen=True)
class SessionState:
    """Everything the engine decides on. `standing` is the candidate the next patch starts from; `open_turn` a turn
    whose answer is not recorded: it is awaited, or was lost with the process."""

    opened: SessionOpened
    started_at: datetime
    last_at: datetime
    status: Status = "opened"
    length: int = 1
    active_seconds: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    standing: str = ""
    best: int | None = None
    fruitless: int = 0
    turns: int = 0
    conversations: int = 0
    conversation_turns: int = 0
    open_turn: TurnStarted | None = None
    tokens: Tokens = field(default_factory=Tokens)
    refusals: tuple[PatchRefused, ...] = ()
    retrieved: tuple[KnowledgeRetrieved, ...] = ()
    exhausted_bound: BudgetExhausted | None = None
    ended: SessionAccepted | SessionExhausted | SessionAborted | None = None

    @property
    def current(self) -> Attempt:
        return self.attempts[-1]

    @property
    def best_attempt(self) -> Attempt | None:
        return None if self.best is None else self.attempts[self.best]

    @property
    def refused_now(self) -> int:
        """Refusals since the last patch that was let through."""
        return sum(r.attempt == self.current.number + 1 for r in self.refusals)

    @property
    def outcome(self) -> str | None:
        return self.status if self.status in TERMINAL else None


def begin(event: Event, at: datetime) -> SessionState:
    """State after the first event of a stream, which must be SessionOpened."""
    if not isinstance(event, SessionOpened):
        raise IllegalTransition(0, f"a session begins with SessionOpened, not {event.type}")
    attempt = Attempt(0, event.candidate)
    return SessionState(event, at, at, attempts=(attempt,), standing=event.candidate)


def apply(state: SessionState, event: Event, at: datetime) -> SessionState:
    """State after one more event; `state` stays what it was. Raises IllegalTransition."""
    return _advance(changed(state), event, at)


def _advance(state: SessionState, event: Event, at: datetime) -> SessionState:
    """Move `state`, which nobody else has seen yet, on by one event, and return it. Raises IllegalTransition."""
    seq = state.length
    kind = type(event)
    if kind is SessionOpened:
        raise IllegalTransition(seq, "SessionOpened in the middle of a session")
    if kind is PostHocEvaluated:
        raise IllegalTransition(seq, "PostHocEvaluated in a session: it belongs in a stream of its own")
    trigger, passed = move_of(event)
    dest = NEXT.get((state.status, trigger, passed))
    if dest is None:
        raise IllegalTransition(seq, f"{event.type} is not allowed in state {state.status}")
    seconds = state.active_seconds
    if kind is not SessionResumed:
        seconds += max(0.0, (at - state.last_at).total_seconds())
    state.__dict__.update(status=dest, length=seq + 1, last_at=at, active_seconds=seconds)
    _absorb(state, event, seq)
    return state


def _absorb(state: SessionState, event: Event, seq: int) -> None:
    now, put = state.attempts[-1], state.__dict__
    match event:
        case TurnStarted():  # most events of a session that talks: first, and nothing else is looked at
            put["turns"] += 1
            put["conversation_turns"] += 1
            put["open_turn"] = event
        case TurnTaken():
            put["tokens"] = state.tokens.plus(event)
            put["open_turn"] = None
        case PatchProposed():
            if event.attempt != now.number + 1:
                raise IllegalTransition(seq, f"attempt {event.attempt} follows attempt {now.number}")
            attempt = Attempt(event.attempt, event.candidate, patch=event)
            put.update(attempts=(*state.attempts, attempt), standing=event.candidate)
        case CompileFinished():
            _amend(state, changed(_same(now, event, seq), compiled=event))
            if not event.passed:
                _settle(state)
        case CompactEvaluated():
            _consistent(state, event, seq)
            _amend(state, changed(_same(now, event, seq), compact=event))
            if not event.passed:
                _settle(state)
        case FullEvaluated():
            _consistent(state, event, seq)
            _amend(state, changed(_same(now, event, seq), full=event))
            _settle(state)
        case IntegrityJudged():
            if event.verdict == "clean" and any(e.outcome == "failed" for e in event.evidence):
                raise IllegalTransition(seq, "a clean verdict with a failed check in its evidence")
            _amend(state, changed(_same(now, event, seq), judged=event))
            # A tainted candidate is never progress, whatever its numbers say.
            if event.verdict == "tainted" and state.current.improved:
                _amend(state, changed(state.current, improved=False))
                put["fruitless"] += 1
        case CheckpointSaved():
            if not now.improved or now.tainted:
                raise IllegalTransition(seq, f"attempt {now.number} is no improvement and cannot be a checkpoint")
            _amend(state, changed(_same(now, event, seq), saved=True))
            put.update(best=now.number, fruitless=0)
        case RolledBack():
            put.update(standing=event.restored, fruitless=0)
        case ForensicsRecorded():
            _amend(state, changed(now, forensics=event))
        case ConversationStarted():
            put["conversations"] += 1
            put["conversation_turns"] = 0
        case KnowledgeRetrieved():
            put["retrieved"] = (*state.retrieved, event)
        case PatchRefused():
            put["refusals"] = (*state.refusals, event)
        case BudgetExhausted():
            put["exhausted_bound"] = event
        case SessionAccepted():
            _same(now, event, seq)
            put["ended"] = event
        case SessionExhausted() | SessionAborted():
            put["ended"] = event
        case _:
            pass


def _consistent(state: SessionState, event: CompactEvaluated | FullEvaluated, seq: int) -> None:
    """An evaluation says of itself what its cases say, over the whole set, under the session's tolerance (law 5)."""
    opened = state.opened
    expected = (opened.task.compact if isinstance(event, CompactEvaluated) else opened.task.full).count
    if [case.index for case in event.cases] != list(range(expected)):
        raise IllegalTransition(
            seq, f"{event.type} does not cover the {expected} cases of its set, once each, in order"
        )
    counts = event.counted
    if event.passed != (bool(counts) and all(case.passed for case in counts) and not event.blocking):
        raise IllegalTransition(seq, f"{event.type} contradicts its own cases about having passed")
    if event.tolerance != opened.configuration.tolerance:
        raise IllegalTransition(seq, f"{event.type} was judged under {event.tolerance}, not the session's tolerance")


def _same(
    now: Attempt,
    event: CompileFinished | CompactEvaluated | FullEvaluated | IntegrityJudged | CheckpointSaved | SessionAccepted,
    seq: int,
) -> Attempt:
    if event.attempt != now.number or event.candidate != now.candidate:
        raise IllegalTransition(seq, f"{event.type} speaks of another attempt or candidate than attempt {now.number}")
    return now


def _amend(state: SessionState, attempt: Attempt) -> None:
    state.__dict__["attempts"] = (*state.attempts[:-1], attempt)


def _settle(state: SessionState) -> None:
    """The attempt's numbers are in: was it progress?"""
    now, best = state.current, state.best_attempt
    measured = now.compact is not None
    threshold = state.opened.configuration.bounds.progress
    better = measured and improves(now.score, best.score if best else None, now.full, threshold)
    _amend(state, changed(now, improved=better))
    if not better:
        state.__dict__["fruitless"] += 1


def fold(events: Iterable[tuple[datetime, Event]]) -> SessionState:
    """State after all of a stream's events, in order. Raises IllegalTransition; ValueError on an empty stream."""
    state: SessionState | None = None
    for at, event in events:
        state = begin(event, at) if state is None else _advance(state, event, at)
    if state is None:
        raise ValueError("an empty stream has no state")
    return state
