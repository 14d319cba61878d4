"""`opmend shadow` over a file: rows, totals, the label everywhere, and evaluations made afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import cli
from events.log import SqlLog
from events.types import IntegrityJudged, PostHocEvaluated, SessionOpened
from replay.verify import verify
from statemachine.evaluate import Evaluation, evaluate
from statemachine.findings import findings_policy
from statemachine.ports import BuildOutcome
from statemachine.sources import load
from statemachine.tolerance import policy
from tests.conftest import Opmend
from tests.events.samples import raw
from tests.replay.shadow.recorded import found, lead
from tests.statemachine.rehearsal import Odds, World

NEWER = {"name": "rehearsal, newer"}
LABEL = "derived from the log, descriptive"


class Bench:
    """`Again` in a rehearsed world."""

    engine = "test"

    def __init__(self, world: World, opened: SessionOpened, log: SqlLog) -> None:
        self.world, self.opened, self.log = world, opened, log
        self.toolchain = NEWER
        self.isolation: dict[str, str] = {}

    def build(self, candidate: str) -> BuildOutcome:
        return self.world.build(None, load(self.log, candidate), 3)

    def evaluate(self, handle: Any, which: Any) -> Evaluation:
        findings = findings_policy(self.opened.configuration)
        return evaluate(self.world, self.world, handle, which, 7, policy("cann-ecosystem/1"), findings)


def executes(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """The front door's way to a toolchain leads into `world`."""

    @contextmanager
    def again(opened: SessionOpened, log: SqlLog, cache: Path | None) -> Iterator[Bench]:
        yield Bench(world, opened, log)

    monkeypatch.setattr(cli, "_again", again)


def test_every_row_total_and_table_says_what_it_is(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(tmp_path / "log.db", monkeypatch).close()
    rules = ("--policy", "no-full-eval", "--policy", "attempts=3,no-anti-cheat")
    done = opmend("shadow", "--all", *rules, "--json")
    assert done.code == 0
    rows = [line for line in done.lines if line["type"] == "shadow"]
    totals = [line for line in done.lines if line["type"] == "shadow-total"]
    assert {line["label"] for line in done.lines} == {LABEL}
    assert (len(rows), len(totals)) == (12, 2)
    assert all(bool(r["reason"]) == (not r["identifiable"]) for r in rows)
    for t in totals:
        mine = [r for r in rows if r["policy"] == t["policy"]]
        assert t["identifiable"] == sum(r["identifiable"] for r in mine) > 0
        assert t["holds"] + t["fails"] + t["unknown"] == t["accepted"]
        assert t["needs"]
        assert t["assumes"]
    shown = opmend("shadow", "--all", *rules)
    assert shown.out.count(LABEL) == 2
    assert shown.out.count("not identifiable") == sum(not r["identifiable"] for r in rows)
    one = opmend("shadow", "world1", *rules, "--json").lines
    assert [r for r in one if r["type"] == "shadow"] == [r for r in rows if r["session"] == "world1"]


def test_usage_and_a_session_that_cannot_be_read(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(tmp_path / "log.db", monkeypatch, 2).close()
    assert opmend("shadow", "--policy", "no-full-eval").code == 2
    assert opmend("shadow", "world0", "--all", "--policy", "no-full-eval").code == 2
    wrong = opmend("shadow", "world0", "--policy", "no-gate")
    assert wrong.code == 2
    assert "possible words" in wrong.err
    with raw(tmp_path / "log.db") as connection:
        connection.execute("UPDATE event SET payload = replace(payload, '0', '1') WHERE session = 'world0' AND seq = 3")
    connection.close()
    done = opmend("shadow", "--all", "--policy", "as-recorded", "--json")
    assert (done.code, [r["session"] for r in done.lines if r["type"] == "shadow"]) == (3, ["world1"])
    assert "world0" in done.err


def test_what_was_not_evaluated_is_evaluated_beside_the_session_and_changes_nothing_in_it(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session whose full set broke: without that gate its candidate is taken, and nobody knows whether it holds."""
    log = SqlLog(tmp_path / "log.db")
    odds = Odds(compact=1.0, full=1.0, tainted=0, tainted_by_full=0, unsettled=0, blocking=0, refused=0, gives_up=0)
    world = World(3, odds)
    with monkeypatch.context() as patched:
        real = World.cases

        def breaks(self: World, which: Any, seed: int, indices: Any = None) -> Any:
            from statemachine.ports import UsageError

            if which == "full":
                raise UsageError("the reference fails")
            return real(self, which, seed, indices)

        patched.setattr(World, "cases", breaks)
        with pytest.raises(Exception, match="the reference fails"):
            lead(log, "broken", world, patched)
    before = [e.hash for e in log.read("broken")]
    *_, verdict, last = (e.event() for e in log.read("broken"))
    assert isinstance(verdict, IntegrityJudged)
    assert (verdict.verdict, last.type) == ("clean", "SessionAborted")
    assert opmend("shadow", "broken", "--policy", "as-recorded", "--json").lines[0]["outcome"] == "aborted"
    ask = ("shadow", "broken", "--policy", "no-full-eval", "--json")
    row = opmend(*ask).lines[0]
    assert (row["outcome"], row["holds"]) == ("accepted", None)
    assert "--evaluate" in row["because"]

    executes(monkeypatch, world)
    done = opmend(*ask, "--evaluate")
    assert (done.code, done.lines[0]["holds"], done.lines[1]["holds"]) == (0, True, 1)
    assert opmend(*ask).lines[0]["holds"] is True
    opmend(*ask, "--evaluate")
    (record,) = [envelope.event() for envelope in log.read("posthoc:broken")]
    assert isinstance(record, PostHocEvaluated)
    assert (record.of, record.head, record.candidate) == ("broken", before[-1], row["candidate"])
    assert record.toolchain == NEWER
    assert [e.hash for e in log.read("broken")] == before
    assert verify(log) == []
    assert [line["session"] for line in opmend("sessions", "--json").lines] == ["broken"]
    assert opmend("replay", "posthoc:broken").code == 3

    with raw(tmp_path / "log.db") as connection:  # a record that speaks of another past is not taken for this one's
        connection.execute("DELETE FROM event WHERE session = 'broken' AND seq = ?", (len(before) - 1,))
    connection.close()
    other = opmend(*ask)
    assert other.code == 3
    assert "does not speak of session broken as it is recorded here" in other.err
