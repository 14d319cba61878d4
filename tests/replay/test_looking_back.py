"""The state after an event, what a session cost, and its candidates executed again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from events import types as t
from events.log import SqlLog
from replay.cost import cost
from replay.history import read_history
from replay.rerun import exit_code, render, rerun
from tests.conftest import Opmend
from tests.replay.shadow.recorded import found
from tests.replay.shadow.test_shadow_command import Bench, executes
from tests.statemachine.rehearsal import World
from tests.statemachine.streams import START, failed_attempt, forensics, opened, patch, timed
from tests.tiny import ALIGNED_ONLY, KERNEL, write_task


def test_the_state_after_every_event_is_told_and_the_last_one_is_the_end(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with found(tmp_path / "log.db", monkeypatch, 1) as log:
        history = read_history(log, "world0")
    last = len(history.events) - 1
    asked = [opmend("replay", "world0", "--at", n, "--json").last for n in (0, last // 2, last)]
    assert [a["seq"] for a in asked] == [0, last // 2, last]
    assert (asked[0]["status"], asked[0]["next"]["act"]) == ("opened", "compile")
    assert (asked[2]["status"], asked[2]["next"]["act"]) == (history.state.outcome, "stop")
    assert asked[2]["hash"] == history.head
    assert len(asked[2]["attempts"]) == len(history.state.attempts)
    text = opmend("replay", "world0", "--at", last // 2).out
    assert f"after event {last // 2}" in text
    assert "budget left" in text
    beyond = opmend("replay", "world0", "--at", last + 1)
    assert beyond.code == 2
    assert f"events 0 to {last}" in beyond.err
    assert opmend("replay", "world0", "--at", 1, "--explain").code == 2


def turn(number: int, **usage: int | None) -> list[t.Event]:
    started = t.TurnStarted(conversation=1, turn=number)
    return [started, t.TurnTaken(conversation=1, turn=number, usage=t.Usage(**usage))]


def test_turns_tokens_and_time_are_counted_per_attempt_and_by_state() -> None:
    events = [
        opened(), *failed_attempt(0, 0.5, improved=True), forensics(0),
        *turn(1, input=100, output=10, cache_read=1000, cache_write=5), *turn(2, input=1, output=2),
        *failed_attempt(1, 0.25, improved=False), forensics(1), *turn(3, input=7),
        t.SessionExhausted(reason="the worker gave up: x", best=None),
    ]  # fmt: skip
    answer = cost("s", timed(events, step=2.0))
    first, second = answer["attempts"][1:]
    assert (answer["turns"], first["turns"], second["turns"]) == (3, 2, 1)
    assert first["tokens"]["input"] == 101
    assert (first["tokens"]["all"], first["tokens"]["uncached"]) == (1118, 118)
    assert answer["tokens"]["all"] == 1125
    assert second["patched"] is False
    assert answer["seconds"] == 2.0 * (len(events) - 1) == pytest.approx(sum(answer["seconds_by_state"].values()))
    assert answer["seconds_by_state"]["diagnosed"] == 2.0 * 8
    assert first["seconds_by_state"]["diagnosed"] == 2.0 * 5


def test_an_unknown_count_is_unknown_and_never_zero(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base: list[t.Event] = [opened(), *failed_attempt(0, 0.5, improved=True), forensics(0)]
    partly = cost("s", timed([*base, *turn(1, input=5, output=None), *turn(2, input=5, output=3)]))["tokens"]
    assert (partly["input"], partly["output"], partly["all"], partly["uncached"]) == (10, None, None, None)
    assert (partly["at_least"]["output"], partly["at_least"]["all"], partly["turns_unknown"]) == (3, 13, 1)
    with SqlLog(tmp_path / "log.db") as log:
        lost = t.TurnTaken(conversation=1, turn=1, usage=t.Usage(input=None, output=None), stop="lost")
        for at, event in timed([*base, t.TurnStarted(conversation=1, turn=1), lost]):
            log.append("s", event, at)
    shown = opmend("cost", "s").out
    assert "input unknown, output unknown" in shown
    assert "(1 turns of unknown usage)" in shown


@pytest.mark.parametrize("resumed", [True, False])
def test_a_turn_whose_answer_never_came_is_of_unknown_usage_and_dead_time_is_not_working_time(resumed: bool) -> None:
    base: list[t.Event] = [opened(), *failed_attempt(0, 0.5, improved=True), forensics(0)]
    stream = timed([*base, *turn(1, input=5), t.TurnStarted(conversation=1, turn=2)])
    if resumed:
        day = START + timedelta(days=1)
        seam: list[t.Event] = [t.SessionResumed(engine="e", toolchain={}, isolation={}), *turn(3, input=6), patch(1)]
        stream += [(day + timedelta(seconds=n), event) for n, event in enumerate(seam)]
    answer = cost("s", stream)
    assert answer["turns"] == (3 if resumed else 2)
    assert answer["tokens"]["input"] is None
    assert answer["tokens"]["at_least"]["input"] == (11 if resumed else 5)
    assert answer["tokens"]["turns_unknown"] == 1
    assert answer["seconds"] < 100
    assert (answer["resumed"], answer["interrupted_seconds"] > 80_000) == (int(resumed), resumed)


def test_a_rerun_tells_another_toolchain_from_another_result(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with found(tmp_path / "log.db", monkeypatch, 1) as log:
        history = read_history(log, "world0")
        opened = history.state.opened

        def again(seed: int, name: str) -> dict[str, object]:
            bench = Bench(World(seed), opened, log)
            bench.toolchain = {"name": name}
            answer = rerun(history, bench)
            assert list(render(answer))
            return {"verdict": answer["verdict"], "exit": exit_code(answer), **answer["cases"]}

        count = sum(len(e.cases) for a in history.state.attempts for e in (a.compact, a.full) if e)
        same = again(0, "rehearsal")
        assert same == {"verdict": "same", "exit": 0, "agree": count, "total": count}
        assert again(0, "newer") == {**same, "verdict": "toolchain-differs"}
        other = again(1, "rehearsal")
        assert (other["verdict"], other["exit"]) == ("result-differs", 3)
        assert again(1, "newer") == {**other, "verdict": "result-differs-on-another-toolchain", "exit": 1}
    executes(monkeypatch, World(0))
    done = opmend("replay", "world0", "--rerun", "--json")
    assert (done.code, done.last["verdict"], done.last["agrees"]) == (0, "toolchain-differs", True)
    assert done.last["toolchain"] == {"name": {"then": "rehearsal", "now": "rehearsal, newer"}}


def test_a_real_session_gives_the_same_when_its_candidates_are_executed_again(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))
    assert opmend("repair", task).code == 0
    done = opmend("replay", "last", "--rerun", "--json")
    assert (done.code, done.last["verdict"], done.last["cases"]) == (0, "same", {"agree": 16, "total": 16})
    (task / "model.py").write_text((task / "model.py").read_text().replace("x + 1.0", "x + 2.0"))
    changed = opmend("replay", "last", "--rerun")
    assert changed.code == 2
    assert "has changed since the session was opened" in changed.err
