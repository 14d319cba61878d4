"""A session decided anew under a policy, over its recorded effects.

The loop is the engine's: `decide(state)`, act, apply. An act that needs a port takes what the log recorded for the same
act on the same candidate; an act that follows from the state is `statemachine/consequences.py`. Where the log does not
hold an effect, or where the worker would have been told something else than it was, the answer is `Unknown` with the
reason: a run that would have gone on differently is not guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from events.types import (
    CompactEvaluated,
    CompileFinished,
    Event,
    ForensicsRecorded,
    FullEvaluated,
    IntegrityJudged,
    SessionAborted,
    SessionExhausted,
)
from replay.shadow.policy import Policy
from replay.shadow.record import Record
from statemachine.briefing import news
from statemachine.consequences import consequences, judgement
from statemachine.decide import Action, decide
from statemachine.state import Attempt, SessionState, apply, begin, changed

_EFFECTS: dict[str, type[CompileFinished] | type[CompactEvaluated] | type[FullEvaluated]] = {
    "compile": CompileFinished,
    "compact_eval": CompactEvaluated,
    "full_eval": FullEvaluated,
}
_WHAT = {
    "compile": "the build of attempt {n}",
    "compact_eval": "the compact evaluation of attempt {n}",
    "full_eval": "the full evaluation of attempt {n}",
    "ask": "what the worker would have proposed after attempt {n}",
}


class Unknown(Exception):
    """The log does not say. The message is the reason."""


@dataclass(frozen=True)
class Shadow:
    """What a policy would have made of a session; `state` is None, and `reason` says why, where the log cannot tell.

    `holds`: whether the candidate that was accepted passes all that is recorded of it (full set and integrity); None
    when nothing was accepted or the log cannot tell, `because` says which.
    """

    record: Record
    policy: Policy
    state: SessionState | None
    reason: str = ""
    holds: bool | None = None
    because: str = ""

    @property
    def identifiable(self) -> bool:
        return self.state is not None


def derive(record: Record, policy: Policy, posthoc: Mapping[str, FullEvaluated] | None = None) -> Shadow:
    """The shadow of `record` under `policy`. `posthoc`: full evaluations made afterwards, by candidate; they are only
    used to say whether an accepted candidate holds, never to decide."""
    run = _Run(record, policy)
    try:
        state = run.to_the_end()
    except Unknown as unknown:
        return Shadow(record, policy, None, str(unknown))
    if state.status != "accepted":
        return Shadow(record, policy, state)
    holds, because = _holds(record, state.current, posthoc or {})
    return Shadow(record, policy, state, holds=holds, because=because)


def _holds(record: Record, accepted: Attempt, posthoc: Mapping[str, FullEvaluated]) -> tuple[bool | None, str]:
    number = accepted.number
    known = record.final.attempts[number]
    full = known.full or posthoc.get(known.candidate)
    if full is None:
        return None, f"attempt {number} was not evaluated on the full set; `opmend shadow --evaluate` does it"
    if not full.passed:
        passed = sum(case.passed for case in full.cases)
        return False, f"attempt {number} passes {passed} of {len(full.counted)} full cases" + (
            f", blocking: {', '.join(full.blocking)}" if full.blocking else ""
        )
    judged = known.judged if known.full and known.judged else judgement(changed(known, full=full))
    if judged.verdict != "clean":
        return False, f"attempt {number} is {judged.verdict}: {judged.settled_by}"
    return True, f"attempt {number} passes the full set and is clean"


class _Run:
    def __init__(self, record: Record, policy: Policy) -> None:
        self._record, self._policy = record, policy
        self._questions = iter(record.asked)

    def to_the_end(self) -> SessionState:
        state = begin(self._policy.opened(self._record.opened), self._record.started_at)
        while (action := decide(state)).verb != "stop":
            state = self._step(state, action)
        return state

    def _step(self, state: SessionState, action: Action) -> SessionState:
        if action.verb in _EFFECTS and not self._is_compact_again(state, action):
            return self._effect(state, action)
        if action.verb == "anti_cheat":
            return self._then(state, self._policy.verdict(state, lambda: self._verdict(state.current)))
        if action.verb == "forensics":
            return self._then(state, self._forensics(state))
        if action.verb == "ask":
            return self._ask(state)
        for event in consequences(state, action):
            state = self._then(state, event)
        return state

    def _is_compact_again(self, state: SessionState, action: Action) -> bool:
        """Whether this is the full evaluation of a task whose compact set is all there is, by the policy or anyway."""
        task = state.opened.task
        if action.verb != "full_eval" or task.full.digest != task.compact.digest:
            return False
        recorded = (state.current.number, "FullEvaluated") in self._record.steps
        return not recorded or self._record.opened.task.full.digest != task.full.digest

    def _then(self, state: SessionState, event: Event) -> SessionState:
        """`state` after `event`, in the time the log has for it; a step that was not recorded takes none."""
        step = self._record.steps.get((state.current.number, event.type))
        return apply(state, event, state.last_at + timedelta(seconds=step.seconds if step else 0.0))

    def _effect(self, state: SessionState, action: Action) -> SessionState:
        number = state.current.number
        step = self._record.steps.get((number, _EFFECTS[action.verb].__name__))
        if step is not None:
            return self._then(state, step.event)
        broken = self._record.broken
        if broken is not None and broken[:2] == (number, action.verb):
            for event in consequences(state, Action("abort", broken[2].reason, broken[2].detail)):
                state = self._then(state, event)
            return state
        raise Unknown(self._missing(action.verb, number))

    def _missing(self, verb: str, number: int) -> str:
        final = self._record.final
        ended = final.ended
        if ended is None:
            why = f"the session is not finished, it stands in {final.status}"
        elif isinstance(ended, SessionExhausted | SessionAborted):
            why = f"the session ended before it: {ended.reason}"
        else:
            why = f"the session was accepted at attempt {ended.attempt}"
        return f"the log does not hold {_WHAT[verb].format(n=number)}: {why}"

    def _verdict(self, now: Attempt) -> IntegrityJudged:
        """As recorded, if it was given on the same evidence; otherwise derived from the evidence, provided that today's
        rules also derive the recorded verdict from the recorded evidence."""
        known = self._record.final.attempts[now.number]
        if known.judged is not None:
            if now.compact is known.compact and now.full is known.full:
                return known.judged
            today = judgement(known).verdict
            if today != known.judged.verdict:
                raise Unknown(
                    f"the verdict on attempt {now.number} from compact evidence alone cannot be derived: from the "
                    f"recorded evidence today's rules give {today}, recorded is {known.judged.verdict}"
                )
        return judgement(now)

    def _forensics(self, state: SessionState) -> ForensicsRecorded:
        """As recorded. Where none was, or on another candidate, a blank one: the worker would then be told something
        else than the log has, which `_ask` finds."""
        step = self._record.steps.get((state.current.number, "ForensicsRecorded"))
        if step is not None and isinstance(step.event, ForensicsRecorded) and step.event.candidate == state.standing:
            return step.event
        return ForensicsRecorded(
            attempt=state.current.number,
            candidate=state.standing,
            features=(),
            mechanisms=(),
            brief=state.standing,
        )

    def _ask(self, state: SessionState) -> SessionState:
        number = state.current.number
        asked = next(self._questions, None)
        if asked is None:
            raise Unknown(self._missing("ask", number))
        if news(state) != news(asked.before):
            raise Unknown(
                f"the worker would have been told something else after attempt {number}: {_other(state, asked.before)}"
            )
        turns, was = state.opened.configuration.bounds.turns, self._record.opened.configuration.bounds.turns
        if turns != was and state.turns < turns < asked.after.turns:
            raise Unknown(
                f"turn {turns} falls within one answer of the worker (turns {state.turns + 1} to {asked.after.turns}): "
                "what it would have answered by then is not in the log"
            )
        worked = timedelta(seconds=asked.after.active_seconds - asked.before.active_seconds)
        state = changed(
            state,
            last_at=state.last_at + worked,
            active_seconds=state.active_seconds + worked.total_seconds(),
            length=state.length + asked.after.length - asked.before.length,
            turns=asked.after.turns,
            conversations=asked.after.conversations,
            conversation_turns=asked.after.conversation_turns,
            tokens=asked.after.tokens,
            retrieved=asked.after.retrieved,
        )
        if asked.answer is None:
            if decide(state).verb == "ask":
                return self._broken_answer(state, number)
            return state
        answer = asked.answer
        if isinstance(answer, SessionExhausted):
            best = state.best_attempt
            answer = answer.model_copy(update={"best": best and best.candidate})
        return apply(state, answer, state.last_at + timedelta(seconds=asked.seconds))

    def _broken_answer(self, state: SessionState, number: int) -> SessionState:
        broken = self._record.broken
        if broken is not None and broken[:2] == (number, "ask"):
            return self._then(state, broken[2])
        raise Unknown(self._missing("ask", number))


def _other(state: SessionState, recorded: SessionState) -> str:
    """The first thing that would have been different, in words."""
    if state.standing != recorded.standing:
        return f"another candidate to start from ({state.standing[7:19]}, recorded {recorded.standing[7:19]})"
    if state.best != recorded.best:
        return f"another checkpoint ({_named(state.best)}, recorded {_named(recorded.best)})"
    return "what became of the attempt"


def _named(best: int | None) -> str:
    return "none" if best is None else f"attempt {best}"
