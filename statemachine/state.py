"""State is a pure fold of events (law 1): budgets, checkpoint, verdicts and outcome are derived here, never stored.

`fold(envelopes or (seq, time, event) triples)` gives a `SessionState`; `apply` advances one by one event. An event that
the machine does not allow raises `IllegalTransition` with its number: a corrupted log is reported, not guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

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
        unknown = None in (u.input, u.output, u.cache_read, u.cache_write)
        return Tokens(
            self.input + (u.input or 0),
            self.output + (u.output or 0),
            self.cache_read + (u.cache_read or 0),
            self.cache_write + (u.cache_write or 0),
            self.unknown + unknown,
        )

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


@dataclass(frozen=True)
class SessionState:
    """Everything the engine decides on. `standing` is the candidate the next patch starts from."""

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
    """State after one more event. Raises IllegalTransition."""
    seq = state.length
    if isinstance(event, SessionOpened):
        raise IllegalTransition(seq, "SessionOpened in the middle of a session")
    trigger, passed = move_of(event)
    dest = NEXT.get((state.status, trigger, passed))
    if dest is None:
        raise IllegalTransition(seq, f"{event.type} is not allowed in state {state.status}")
    gap = 0.0 if isinstance(event, SessionResumed) else max(0.0, (at - state.last_at).total_seconds())
    state = replace(state, status=dest, length=seq + 1, last_at=at, active_seconds=state.active_seconds + gap)
    return _absorb(state, event, seq)


def _absorb(state: SessionState, event: Event, seq: int) -> SessionState:
    now = state.current
    match event:
        case PatchProposed():
            if event.attempt != now.number + 1:
                raise IllegalTransition(seq, f"attempt {event.attempt} follows attempt {now.number}")
            attempt = Attempt(event.attempt, event.candidate, patch=event)
            return replace(state, attempts=(*state.attempts, attempt), standing=event.candidate)
        case CompileFinished():
            state = _amend(state, replace(_same(now, event, seq), compiled=event))
            return state if event.passed else _settle(state)
        case CompactEvaluated():
            _consistent(state, event, seq)
            state = _amend(state, replace(_same(now, event, seq), compact=event))
            return state if event.passed else _settle(state)
        case FullEvaluated():
            _consistent(state, event, seq)
            return _settle(_amend(state, replace(_same(now, event, seq), full=event)))
        case IntegrityJudged():
            if event.verdict == "clean" and any(e.outcome == "failed" for e in event.evidence):
                raise IllegalTransition(seq, "a clean verdict with a failed check in its evidence")
            state = _amend(state, replace(_same(now, event, seq), judged=event))
            # A tainted candidate is never progress, whatever its numbers say.
            if event.verdict == "tainted" and state.current.improved:
                state = replace(_amend(state, replace(state.current, improved=False)), fruitless=state.fruitless + 1)
            return state
        case CheckpointSaved():
            if not now.improved or now.tainted:
                raise IllegalTransition(seq, f"attempt {now.number} is no improvement and cannot be a checkpoint")
            state = _amend(state, replace(_same(now, event, seq), saved=True))
            return replace(state, best=now.number, fruitless=0)
        case RolledBack():
            return replace(state, standing=event.restored, fruitless=0)
        case ForensicsRecorded():
            return _amend(state, replace(now, forensics=event))
        case ConversationStarted():
            return replace(state, conversations=state.conversations + 1, conversation_turns=0)
        case TurnStarted():
            return replace(state, turns=state.turns + 1, conversation_turns=state.conversation_turns + 1)
        case TurnTaken():
            return replace(state, tokens=state.tokens.plus(event))
        case KnowledgeRetrieved():
            return replace(state, retrieved=(*state.retrieved, event))
        case PatchRefused():
            return replace(state, refusals=(*state.refusals, event))
        case BudgetExhausted():
            return replace(state, exhausted_bound=event)
        case SessionAccepted():
            _same(now, event, seq)
            return replace(state, ended=event)
        case SessionExhausted() | SessionAborted():
            return replace(state, ended=event)
        case _:
            return state


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


def _amend(state: SessionState, attempt: Attempt) -> SessionState:
    return replace(state, attempts=(*state.attempts[:-1], attempt))


def _settle(state: SessionState) -> SessionState:
    """The attempt's numbers are in: was it progress?"""
    now, best = state.current, state.best_attempt
    measured = now.compact is not None
    threshold = state.opened.configuration.bounds.progress
    better = measured and improves(now.score, best.score if best else None, now.full, threshold)
    state = _amend(state, replace(now, improved=better))
    return state if better else replace(state, fruitless=state.fruitless + 1)


def fold(events: Iterable[tuple[datetime, Event]]) -> SessionState:
    """State after all of a stream's events, in order. Raises IllegalTransition; ValueError on an empty stream."""
    state: SessionState | None = None
    for at, event in events:
        state = begin(event, at) if state is None else apply(state, event, at)
    if state is None:
        raise ValueError("an empty stream has no state")
    return state
