"""What a session cost: turns, tokens and working time, per attempt and in all. Derived from its events.

What broke is in it: a turn whose answer was lost in a crash counts as a turn of unknown usage, and unknown is never
zero: a total with an unknown part is None, with what is known of it beside it. Time that a killed session lay dead is
not working time and is shown apart. `uncached` tokens are all but those read from a cache.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from events.types import Event, SessionResumed, TurnStarted, TurnTaken, Usage
from statemachine.state import SessionState, apply, begin

KINDS = ("input", "output", "cache_read", "cache_write")
UNKNOWN = Usage(input=None, output=None, cache_read=None, cache_write=None)


@dataclass
class Tokens:
    """Totals of what is known, and for each kind how many turns it is unknown of."""

    known: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    turns_unknown: int = 0

    def add(self, usage: Usage) -> None:
        values = {kind: getattr(usage, kind) for kind in KINDS}
        self.turns_unknown += None in values.values()
        for kind, value in values.items():
            if value is None:
                self.unknown[kind] += 1
            else:
                self.known[kind] += value

    def plus(self, other: Tokens) -> None:
        self.turns_unknown += other.turns_unknown
        for kind in KINDS:
            self.known[kind] += other.known[kind]
            self.unknown[kind] += other.unknown[kind]

    def _sum(self, kinds: Iterable[str]) -> tuple[int | None, int]:
        kinds = tuple(kinds)
        least = sum(self.known[kind] for kind in kinds)
        return (None if any(self.unknown[kind] for kind in kinds) else least), least

    def as_data(self) -> dict[str, Any]:
        """Each kind, `uncached` and `all`: the number, or None where a part is unknown; `at_least` what is known."""
        groups = {**{kind: (kind,) for kind in KINDS}, "uncached": ("input", "output", "cache_write"), "all": KINDS}
        sums = {name: self._sum(kinds) for name, kinds in groups.items()}
        return {
            **{name: total for name, (total, _) in sums.items()},
            "at_least": {name: least for name, (_, least) in sums.items()},
            "turns_unknown": self.turns_unknown,
        }


@dataclass
class Spent:
    """What went into one attempt, or a session: seconds are working time, by the state it was spent in."""

    turns: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def plus(self, other: Spent) -> None:
        self.turns += other.turns
        self.tokens.plus(other.tokens)
        for status, seconds in other.seconds.items():
            self.seconds[status] += seconds

    def as_data(self) -> dict[str, Any]:
        return {
            "turns": self.turns,
            "tokens": self.tokens.as_data(),
            "seconds": round(sum(self.seconds.values()), 6),
            "seconds_by_state": {status: round(value, 6) for status, value in self.seconds.items()},
        }


def cost(session: str, stream: Iterable[tuple[datetime, Event]]) -> dict[str, Any]:
    """The cost of one session as a JSON-able object. The worker's floor belongs to the attempt it leads to, also when
    no patch came of it. Raises IllegalTransition."""
    state: SessionState | None = None
    attempts: dict[int, Spent] = defaultdict(Spent)
    interrupted, resumed = 0.0, 0
    waiting: int | None = None  # the attempt of a turn whose answer is not there yet
    for at, event in stream:
        if state is None:
            state = begin(event, at)
            continue
        before, state = state, apply(state, event, at)
        number = before.current.number + (before.status == "diagnosed")
        gap = max(0.0, (at - before.last_at).total_seconds())
        if isinstance(event, SessionResumed):
            interrupted, resumed = interrupted + gap, resumed + 1
            continue
        spent = attempts[number]
        spent.seconds[before.status] += gap
        if isinstance(event, TurnTaken):
            spent.tokens.add(event.usage)
            waiting = None
        elif isinstance(event, TurnStarted):
            if waiting is not None:  # the answer before it was lost
                attempts[waiting].tokens.add(UNKNOWN)
            spent.turns += 1
            waiting = number
    if state is None:
        raise ValueError("an empty stream has no cost")
    if waiting is not None:
        attempts[waiting].tokens.add(UNKNOWN)
    whole = Spent()
    for spent in attempts.values():
        whole.plus(spent)
    return {
        "type": "cost",
        "session": session,
        "task": state.opened.task.name,
        "outcome": state.outcome,
        "worker": state.opened.worker.name,
        "conversations": state.conversations,
        **whole.as_data(),
        "resumed": resumed,
        "interrupted_seconds": round(interrupted, 6),
        "attempts": [
            {"attempt": n, "patched": n < len(state.attempts), **attempts[n].as_data()} for n in sorted(attempts)
        ],
    }


def render(answer: dict[str, Any]) -> Iterator[str]:
    """For a terminal, line by line."""
    outcome = answer["outcome"] or "open"
    yield f"session {answer['session']}  task {answer['task']}  worker {answer['worker']}  {outcome}"
    yield _line("all", answer)
    for a in answer["attempts"]:
        name = f"attempt {a['attempt']}" + ("" if a["patched"] else " (no patch came of it)")
        yield _line(name, a)
    times = ", ".join(f"{status} {seconds:.1f} s" for status, seconds in answer["seconds_by_state"].items())
    yield f"working time by state: {times or 'none'}"
    if answer["resumed"]:
        yield f"resumed {answer['resumed']} times; {answer['interrupted_seconds']:.1f} s between are not working time"


def _line(name: str, part: dict[str, Any]) -> str:
    tokens = part["tokens"]
    words = [f"{kind.replace('_', ' ')} {_count(tokens, kind)}" for kind in (*KINDS, "uncached", "all")]
    unknown = f" ({tokens['turns_unknown']} turns of unknown usage)" if tokens["turns_unknown"] else ""
    return f"{name}: {part['seconds']:.1f} s, {part['turns']} turns; tokens: {', '.join(words)}{unknown}"


def _count(tokens: dict[str, Any], kind: str) -> str:
    if tokens[kind] is not None:
        return f"{tokens[kind]}"
    least = tokens["at_least"][kind]
    return f"unknown (at least {least})" if least else "unknown"
