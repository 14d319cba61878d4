"""What a policy is, what it says it needs, and what is answered where the log cannot tell."""

from __future__ import annotations

import pytest

from events import types as t
from replay.shadow.derive import derive
from replay.shadow.policy import Policy, parse
from replay.shadow.record import Record
from statemachine.ports import UsageError
from tests.statemachine.streams import (
    compact,
    compiled,
    digest,
    failed_attempt,
    forensics,
    full,
    judged,
    opened,
    patch,
    saved,
    timed,
)


def turns(*numbers: int) -> list[t.Event]:
    usage = t.Usage(input=1, output=1)
    return [
        event
        for n in numbers
        for event in (t.TurnStarted(conversation=1, turn=n), t.TurnTaken(conversation=1, turn=n, usage=usage))
    ]


FIRST: list[t.Event] = [opened(), *failed_attempt(0, 0.5, improved=True), forensics(0)]
#: Attempt 1 passes compact and fails full; attempt 2 passes both but is tainted; the session then gives up.
STREAM: list[t.Event] = [
    *FIRST, *turns(1, 2, 3), patch(1), compiled(1), compact(1, 1.0), full(1, 1.0, 0.5), judged(1), saved(1),
    forensics(1), patch(2, 1), compiled(2), compact(2, 1.0), full(2, 1.0), judged(2, "tainted"), forensics(2),
    t.SessionExhausted(reason="the worker gave up: nothing left", best=digest(1)),
]  # fmt: skip


def record(events: list[t.Event]) -> Record:
    """With the sets of `opened` made two different ones, as they are on a task with an extended set."""
    first = events[0]
    assert isinstance(first, t.SessionOpened)
    task = first.task.model_copy(update={"full": t.CaseSetRef(digest=digest(999), count=4)})
    return Record.of("s", timed([first.model_copy(update={"task": task}), *events[1:]]))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("no-full-eval", "no-full-eval"),
        ("attempts=3,no-anti-cheat", "no-anti-cheat,attempts=3"),
        ("progress=0.5, patience=3 ,turns=10", "turns=10,patience=3,progress=0.5"),
        ("as-recorded", "as-recorded"),
    ],
)
def test_a_policy_is_named_by_its_words_in_one_order(text: str, name: str) -> None:
    policy = parse(text)
    assert policy.name == name
    assert parse(policy.name) == policy
    assert policy.assumes
    assert len(policy.needs) == (0 if name == "as-recorded" else name.count(",") + 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no rule"),
        ("no-compact", "'no-compact' is no rule; possible words"),
        ("attempts=3,attempts=4", "is there twice"),
        ("attempts=x", "takes a whole number"),
        ("attempts=-1", "takes a whole number"),
        ("patience=0", "takes a whole number"),
        ("progress=1.5", "above 0 and at most 1"),
        ("wall_seconds=3", "is no rule"),
    ],
)
def test_a_word_that_is_no_rule_is_refused_with_what_is_possible(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse(text)
    assert caught.value.exit_code == 2


def test_without_the_integrity_gate_the_tainted_candidate_is_taken_and_does_not_hold() -> None:
    shadow = derive(record(STREAM), parse("no-anti-cheat"))
    assert shadow.state is not None
    assert (shadow.state.status, shadow.state.current.number) == ("accepted", 2)
    assert shadow.holds is False
    assert "is tainted" in shadow.because


def test_a_recorded_verdict_that_todays_rules_do_not_give_is_not_derived_anew() -> None:
    """The hand-made verdicts rest on no evidence, so the one from compact evidence alone is anybody's guess."""
    shadow = derive(record(STREAM), parse("no-full-eval"))
    assert "from the recorded evidence today's rules give tainted, recorded is undetermined" in shadow.reason
    both = derive(record(STREAM), parse("no-full-eval,no-anti-cheat"))  # no verdict is needed to take attempt 1
    assert both.state is not None
    assert (both.state.status, both.state.current.number, both.holds) == ("accepted", 1, False)
    assert "passes 1 of 4 full cases" in both.because


@pytest.mark.parametrize(
    ("events", "policy", "reason"),
    [
        (STREAM[:-1], "as-recorded", "not finished, it stands in diagnosed"),
        (STREAM[:10], "as-recorded", "the session is not finished"),
        (STREAM, "turns=2", "turn 2 falls within one answer of the worker \\(turns 1 to 3\\)"),
        (STREAM, "progress=1,no-anti-cheat", ""),
        (
            [*FIRST, patch(1), compiled(1, ok=False), judged(1), *(t.BudgetExhausted(bound="attempts", limit=1, used=1),
             t.SessionExhausted(reason="the bound on attempts is reached (1 of 1)", best=digest(0)))],
            "attempts=4", "would have proposed after attempt 1: the session ended before it: the bound on attempts",
        ),
        (
            [*FIRST, patch(1), compiled(1), compact(1, 0.25), judged(1), forensics(1), patch(2, 1), compiled(2),
             compact(2, 0.5, 1.0), judged(2), saved(2), forensics(2)],
            "patience=1", "another candidate to start from",
        ),
    ],
)  # fmt: skip
def test_what_the_log_cannot_tell_is_not_identifiable_with_the_reason(
    events: list[t.Event], policy: str, reason: str
) -> None:
    shadow = derive(record(events), parse(policy))
    if not reason:
        assert shadow.identifiable
        return
    assert not shadow.identifiable
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(shadow.reason)


def test_a_task_that_broke_breaks_at_the_same_act_but_not_where_that_act_is_left_out() -> None:
    broken = t.SessionAborted(reason="broken-task", detail="the reference fails on case 3")
    undetermined = judged(1)
    events = [*FIRST, patch(1), compiled(1), compact(1, 1.0), undetermined, broken]
    same = derive(record(events), parse("attempts=4"))
    assert same.state is not None
    assert (same.state.status, same.state.ended) == ("aborted", broken)
    without = derive(record(events), parse("no-full-eval,no-anti-cheat"))
    assert without.state is not None
    assert (without.state.status, without.holds) == ("accepted", None)
    assert "--evaluate" in without.because


def test_nothing_is_changed_by_as_recorded() -> None:
    whole = record(STREAM)
    shadow = derive(whole, Policy())
    assert shadow.state is not None
    assert shadow.state.ended == whole.final.ended
    assert shadow.state.active_seconds == whole.final.active_seconds
