"""Other rules than the recorded ones, each a pure change of what `decide` decides on.

A policy changes the session's first event (bounds, the full set) or what the integrity gate lets through, and nothing
else: every decision stays that of statemachine/decide.py. `needs` says what must be in the log for an answer, `assumes`
what the answer takes for granted beside the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from events.types import Bounds, IntegrityJudged, SessionOpened
from statemachine.ports import UsageError
from statemachine.state import SessionState

#: Words of `--policy`: a gate left out, or a bound set. `as-recorded` changes nothing.
GATES = ("no-full-eval", "no-anti-cheat")
BOUNDS: dict[str, type[int] | type[float]] = {"attempts": int, "turns": int, "patience": int, "progress": float}
WORDS = "no-full-eval, no-anti-cheat, attempts=N, turns=N, patience=N, progress=X, as-recorded"

_NEEDS = {
    "no-full-eval": "the compact evaluations up to the first compact pass that the other gates let through; "
    "the full evaluation of that candidate, to say afterwards whether it holds",
    "no-anti-cheat": "the evaluations up to the first candidate that passes them; its integrity verdict, to say "
    "afterwards whether it holds",
    "attempts": "every attempt up to N, or the session's end before that",
    "turns": "every turn up to N, or the session's end before that; that no answer of the worker straddles turn N",
    "patience": "that no rollback comes or goes before the worker is asked again",
    "progress": "that the same checkpoints are saved whenever the worker is asked again",
}
_ASKED_THE_SAME = (
    "the worker is deterministic in what it is told, its budgets left apart: where it is told anything else, nothing "
    "is guessed"
)
_ASSUMES = {
    "no-full-eval": "the integrity verdict on compact evidence alone is the one today's rules derive from the log",
    "attempts": "the worker does not act on how many attempts it is told are left",
    "turns": "the worker does not act on how many turns it is told are left",
}


@dataclass(frozen=True)
class Policy:
    """`bounds`: the bounds that are set, by name. The name says everything about a policy."""

    full_eval: bool = True
    anti_cheat: bool = True
    bounds: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        words = [word for word, on in zip(GATES, (self.full_eval, self.anti_cheat), strict=True) if not on]
        return ",".join([*words, *(f"{name}={value:g}" for name, value in self.bounds)]) or "as-recorded"

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(_NEEDS[word] for word in self._words())

    @property
    def assumes(self) -> tuple[str, ...]:
        return (_ASKED_THE_SAME, *(_ASSUMES[word] for word in self._words() if word in _ASSUMES))

    def _words(self) -> list[str]:
        return [word.split("=")[0] for word in self.name.split(",") if word != "as-recorded"]

    def opened(self, event: SessionOpened) -> SessionOpened:
        """The first event of the session that is decided anew. Without the full set, the compact set is all there is:
        the engine's own rule for such a task then holds."""
        task, configuration = event.task, event.configuration
        if not self.full_eval:
            task = task.model_copy(update={"full": task.compact, "coverage_equivalent": True})
        if self.bounds:
            bounds = configuration.bounds.model_copy(update=dict(self.bounds))
            configuration = configuration.model_copy(update={"bounds": bounds})
        return event.model_copy(update={"task": task, "configuration": configuration})

    def verdict(self, state: SessionState, judge: Callable[[], IntegrityJudged]) -> IntegrityJudged:
        """What the integrity gate says, where `judge` says it. Left out, it lets everything through without looking and
        holds nothing against a candidate; a verdict that rejects nothing stays as it is."""
        if not self.anti_cheat and state.status == "full_passed":
            now = state.current
            return IntegrityJudged(
                attempt=now.number, candidate=now.candidate, verdict="clean", evidence=(), settled_by="no-anti-cheat"
            )
        judged = judge()
        if self.anti_cheat:
            return judged
        if judged.verdict == "tainted":
            return judged.model_copy(update={"verdict": "undetermined", "evidence": (), "settled_by": "no-anti-cheat"})
        return judged


def parse(text: str) -> Policy:
    """A policy from its words, separated by commas. Raises UsageError naming the word and what is possible."""
    gates: set[str] = set()
    bounds: dict[str, float] = {}
    for word in (part.strip() for part in text.split(",")):
        name, equals, value = word.partition("=")
        if word in GATES and word not in gates:
            gates.add(word)
        elif equals and name in BOUNDS and name not in bounds:
            bounds[name] = _bound(name, value)
        elif word != "as-recorded":
            twice = "is there twice" if word in gates or name in bounds else "is no rule"
            raise UsageError(f"--policy {text}: {word!r} {twice}; possible words, separated by commas: {WORDS}")
    ordered = tuple((name, bounds[name]) for name in BOUNDS if name in bounds)
    return Policy("no-full-eval" not in gates, "no-anti-cheat" not in gates, ordered)


def _bound(name: str, value: str) -> float:
    kind = BOUNDS[name]
    try:
        number: Any = kind(value) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value) else None
        checked = getattr(Bounds(**{name: number}), name)
    except ValueError:
        limits = "a number above 0 and at most 1" if kind is float else "a whole number"
        raise UsageError(f"--policy {name}={value}: {name} takes {limits}") from None
    return kind(checked)
