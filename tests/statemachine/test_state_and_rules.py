"""The fold and the rules over it: progress, checkpoints, rollback, bounds, and what counts as a corrupted log."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from events import types as t
from statemachine.decide import budget_left, decide
from statemachine.scoring import Score, improves, score
from statemachine.state import IllegalTransition, fold
from tests.statemachine.streams import (
    ACCEPTED,
    START,
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


def verbs(events: list[t.Event]) -> list[str]:
    """What the engine decides after each prefix of a stream."""
    return [decide(fold(timed(events[: n + 1]))).verb for n in range(len(events))]


def test_a_repair_goes_through_every_gate_in_order() -> None:
    assert verbs(ACCEPTED) == [
        "compile", "compact_eval", "anti_cheat", "checkpoint", "forensics", "ask", "compile", "compact_eval",
        "full_eval", "anti_cheat", "checkpoint", "accept", "stop",
    ]  # fmt: skip
    state = fold(timed(ACCEPTED))
    assert (state.outcome, state.best, state.current.number) == ("accepted", 1, 1)


def test_a_near_miss_that_does_not_compile_is_judged_and_then_the_session_aborts() -> None:
    events = [opened(), compiled(0, ok=False)]
    assert decide(fold(timed(events))).verb == "anti_cheat"
    action = decide(fold(timed([*events, judged(0)])))
    assert (action.verb, action.reason) == ("abort", "not-a-near-miss")
    assert "k.cpp:3" in action.detail


def test_a_taint_in_the_wrapper_ends_the_session_because_no_patch_can_cure_it() -> None:
    evidence = t.Evidence(
        check="wrapper:compute", outcome="failed", detail="torch.softmax", where="model_new_ascendc.py:9"
    )
    events = [opened(), compiled(0), compact(0, 0.5), judged(0, "tainted", evidence)]
    action = decide(fold(timed(events)))
    assert (action.verb, action.reason) == ("abort", "tainted-wrapper")


def test_two_fruitless_attempts_in_a_row_restore_the_best_checkpoint() -> None:
    events: list[t.Event] = [
        opened(), *failed_attempt(0, 0.5, 1.0, improved=True), forensics(0),
        *failed_attempt(1, 0.4, 0.4, improved=False), forensics(1),
        *failed_attempt(2, 0.3, 0.3, improved=False, base=1),
    ]  # fmt: skip
    assert decide(fold(timed(events))).verb == "rollback"
    state = fold(timed([*events, t.RolledBack(attempt=2, restored=digest(0))]))
    assert (state.standing, state.fruitless, state.best) == (digest(0), 0, 0)
    assert decide(state).verb == "forensics"


def test_one_fruitless_attempt_is_not_enough_for_a_rollback() -> None:
    events: list[t.Event] = [opened(), *failed_attempt(0, 0.5, improved=True), forensics(0)]
    state = fold(timed([*events, *failed_attempt(1, 0.4, improved=False)]))
    assert decide(state).verb == "forensics"
    assert state.standing == digest(1)


def test_a_tainted_candidate_is_never_progress_and_never_a_checkpoint() -> None:
    events: list[t.Event] = [
        opened(), *failed_attempt(0, 0.5, improved=True), forensics(0),
        patch(1), compiled(1), compact(1, 1.0), full(1, 1.0, 0.9), judged(1, "tainted"),
    ]  # fmt: skip
    state = fold(timed(events))
    assert not state.current.improved
    assert decide(state).verb == "forensics"
    with pytest.raises(IllegalTransition, match="cannot be a checkpoint"):
        fold(timed([*events, saved(1)]))


def test_full_coverage_at_the_threshold_counts_as_progress_even_if_not_better() -> None:
    ten = [1.0] * 9 + [0.0]
    best = score(compact(0, 1.0), full(0, *ten))
    assert improves(best, best, full(1, *ten), 0.9)
    assert not improves(best, best, full(1, *([1.0] * 8), 0.0, 0.0), 0.9)


def test_scores_compare_full_then_compact_then_ratio_then_error() -> None:
    ladder = [
        Score(0, 9, 0.99, -0.0),
        Score(1, 0, 0.0, -1.0),
        Score(1, 1, 0.0, -1.0),
        Score(1, 1, 0.5, -0.9),
        Score(1, 1, 0.5, -0.1),
    ]
    assert all(worse < better for worse, better in itertools.pairwise(ladder))


@pytest.mark.parametrize(
    ("bounds", "bound"),
    [({"attempts": 0}, "attempts"), ({"wall_seconds": 2.5}, "wall_seconds"), ({"turns": 1}, "turns")],
)
def test_hard_bounds_end_a_session_before_the_worker_speaks_again(bounds: dict[str, float], bound: str) -> None:
    talk = [t.ConversationStarted(conversation=1, attempt=1, brief=digest(902)), t.TurnStarted(conversation=1, turn=1)]
    events: list[t.Event] = [opened(**bounds), *failed_attempt(0, 0.5, improved=True), forensics(0)]
    events += talk if bound == "turns" else []
    action = decide(fold(timed(events)))
    assert action.verb == "exhaust"
    assert action.bound is not None and action.bound[0] == bound


def test_a_worker_whose_patches_are_always_refused_is_stopped() -> None:
    refusal = t.PatchRefused(attempt=1, reason="no")
    events: list[t.Event] = [opened(refusals=3), *failed_attempt(0, 0.5, improved=True), forensics(0)]
    assert decide(fold(timed([*events, refusal, refusal]))).verb == "ask"
    action = decide(fold(timed([*events, refusal, refusal, refusal])))
    assert action.bound is not None and action.bound[0] == "refusals"


def test_the_time_a_session_lay_dead_does_not_count_against_its_wall_clock() -> None:
    events: list[t.Event] = [opened(wall_seconds=10), compiled(0)]
    resumed = t.SessionResumed(engine="test", toolchain={}, isolation={})
    stream = [
        *timed(events),
        (START + timedelta(days=2), resumed),
        (START + timedelta(days=2, seconds=3), compact(0, 0.5)),
    ]
    state = fold(stream)
    assert state.active_seconds == 4.0
    assert budget_left(state)["wall_seconds"] == 6.0


def test_unknown_token_usage_is_counted_as_unknown_not_as_zero() -> None:
    turn = t.TurnTaken(conversation=1, turn=1, usage=t.Usage(input=5, output=None))
    events: list[t.Event] = [opened(), *failed_attempt(0, 0.5, improved=True), forensics(0), turn]
    tokens = fold(timed(events)).tokens
    assert (tokens.total, tokens.unknown) == (5, 1)


@pytest.mark.parametrize(
    ("events", "number", "words"),
    [
        ([compiled(0)], 0, "begins with SessionOpened"),
        ([opened(), opened()], 1, "in the middle"),
        ([opened(), compact(0, 1.0)], 1, "not allowed in state opened"),
        ([opened(), compiled(0), full(0, 1.0)], 2, "not allowed in state built"),
        ([opened(), compiled(1)], 1, "another attempt or candidate"),
        ([*ACCEPTED, compiled(1)], len(ACCEPTED), "not allowed in state accepted"),
        ([opened(), *failed_attempt(0, 0.5, improved=True), forensics(0), patch(2)], 6, "attempt 2 follows attempt 0"),
        ([*ACCEPTED[:-3], t.SessionAccepted(attempt=1, candidate=digest(1))], 10, "not allowed in state full_passed"),
    ],
)
def test_a_move_the_machine_does_not_allow_is_a_corrupted_log(events: list[t.Event], number: int, words: str) -> None:
    with pytest.raises(IllegalTransition, match=words) as caught:
        fold(timed(events))
    assert caught.value.seq == number


def test_an_empty_stream_has_no_state() -> None:
    with pytest.raises(ValueError, match="empty"):
        fold([])


ALL = (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"passed": True}, "contradicts its own cases"),
        ({"cases": full(1, *ALL).cases[:1]}, "does not cover the 4 cases"),
        ({"tolerance": "allclose(1000,1000)"}, "not the session's tolerance"),
    ],
)
def test_an_evaluation_that_contradicts_itself_or_the_session_is_a_corrupted_log(
    change: dict[str, object], words: str
) -> None:
    event = full(1, 1.0, 0.5).model_copy(update=change)
    with pytest.raises(IllegalTransition, match=words):
        fold(timed([*ACCEPTED[:9], event]))


def test_a_clean_verdict_with_a_failed_check_and_an_acceptance_of_another_attempt_are_refused() -> None:
    failed = t.Evidence(check="aten-spy", outcome="failed")
    with pytest.raises(IllegalTransition, match="clean verdict with a failed check"):
        fold(timed([*ACCEPTED[:10], judged(1, "clean", failed)]))
    with pytest.raises(IllegalTransition, match="another attempt or candidate"):
        fold(timed([*ACCEPTED[:-1], t.SessionAccepted(attempt=0, candidate=digest(0))]))
