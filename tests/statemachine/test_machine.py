"""The machine is one constant: the live machine and the fold's table cannot disagree."""

from __future__ import annotations

import pytest
from transitions import MachineError

from events import types as t
from statemachine.engine import Engine, Ports
from statemachine.machine import LIVE, NEXT, TERMINAL, TRANSITIONS, TRIGGERS, Live, Status, build_machine, move_of
from tests.statemachine.rehearsal import Memory, World
from tests.statemachine.streams import compiled, judged, opened

STATUSES: tuple[Status, ...] = (*LIVE, *sorted(TERMINAL))  # type: ignore[assignment]
MOVES = sorted({(trigger, passed) for trigger in TRIGGERS.values() for passed in (None, True, False)}, key=str)


@pytest.mark.parametrize("status", STATUSES)
def test_the_live_machine_and_the_replay_table_agree_on_every_move(status: Status) -> None:
    for trigger, passed in MOVES:
        model, appended = Live(), []
        build_machine(model, status, appended.append)
        expected = NEXT.get((status, trigger, passed))
        try:
            moved = model.trigger(trigger, event="event", passed=passed)
        except (MachineError, AttributeError):
            moved = False
        assert moved is (expected is not None), (status, trigger, passed)
        assert model.status == (expected or status)
        assert appended == (["event"] if expected else [])


def test_a_failing_append_leaves_the_state_where_it_was() -> None:
    def refuse(event: object) -> None:
        raise OSError("disk full")

    model = Live()
    build_machine(model, "opened", refuse)
    with pytest.raises(OSError, match="disk full"):
        model.trigger("compile", event=compiled(0), passed=True)
    assert model.status == "opened"


def test_a_move_that_the_live_machine_does_not_make_is_no_silent_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    world, memory = World(1), Memory()
    ports = Ports(world, world, world, memory, memory, memory, "test")
    engine = Engine.open("s", ports, t.Configuration(tolerance="cann-ecosystem/1", seed=1))
    monkeypatch.setattr(engine._live, "trigger", lambda *_, **__: False)
    with pytest.raises(RuntimeError, match="has no place in state opened"):
        engine.record(compiled(0))


def test_no_two_transitions_contradict_each_other() -> None:
    keys = [(x.source, x.trigger, x.passed) for x in TRANSITIONS]
    assert len(keys) == len(set(keys))


def test_terminal_states_have_no_way_out_and_every_live_state_can_end() -> None:
    assert not [x for x in TRANSITIONS if x.source in TERMINAL]
    for status in LIVE:
        assert {NEXT[status, "exhaust", None], NEXT[status, "abort", None]} == {"exhausted", "aborted"}


def test_every_event_but_the_first_is_a_move() -> None:
    assert {kind.model_fields["type"].default for kind in TRIGGERS} == t.event_types() - {
        "SessionOpened",
        "PostHocEvaluated",
    }
    with pytest.raises(ValueError, match="begins a stream"):
        move_of(opened())


def test_acceptance_is_reachable_only_through_every_gate() -> None:
    """Walk back from `accepted`: compile, compact, full and integrity must all have passed on every path."""
    gates = ["compile", "compact_eval", "full_eval", "anti_cheat", "accept"]
    target: Status = "accepted"
    for gate in reversed(gates):
        into = [x for x in TRANSITIONS if x.dest == target and x.source != target]
        assert {x.trigger for x in into} == {gate}
        assert all(x.passed is not False for x in into)
        target = into[0].source


def test_only_a_clean_verdict_passes_the_integrity_gate() -> None:
    assert move_of(judged(0, "clean")) == ("anti_cheat", True)
    assert move_of(judged(0, "undetermined")) == ("anti_cheat", False)
    assert move_of(judged(0, "tainted")) == ("anti_cheat", False)
