"""SIGKILL before and after every append, in every state: each session resumes to the same outcome, nothing is twice.

Before an append is after its effect: between the two. Always: a scripted worker that talks (turns, refusals, rollback)
and the rules worker over the real patterns, in forked processes on a real log, with a toolchain that compiles nothing.
`OPMEND_CRASH_MATRIX=full pytest tests/test_crash_matrix.py` does it with the real toolchain too, a process per kill.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from adapters.workers.rules import RulesWorker
from events import types as t
from events.envelope import Envelope
from events.errors import LogBusy
from events.log import SqlLog
from kb.knowledge import PatternBase
from replay.cost import cost
from replay.history import History, read_history
from replay.verify import verify
from statemachine.candidate import Candidate
from statemachine.engine import Engine, Ports
from statemachine.machine import LIVE
from statemachine.ports import BuildOutcome, CaseData, CaseRun, Worker
from statemachine.state import fold
from tests.replay.shadow.recorded import Ticking
from tests.statemachine.rehearsal import Odds, World, read_once
from tests.test_crash import lead
from tests.tiny import ALIGNED_ONLY, BINDING, KERNEL, write_task

When = Literal["before", "after"]
FULL = os.environ.get("OPMEND_CRASH_MATRIX") == "full"


class Doomed(SqlLog):
    """Ends its process at the n-th append: before it is durable, or right after."""

    def __init__(self, path: Path, n: int, when: When) -> None:
        super().__init__(path)
        self.left, self.when = n, when

    def append(self, session: str, event: t.Event, recorded_at: datetime) -> Envelope:
        self.left -= 1
        if self.left == 0 and self.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        envelope = super().append(session, event, recorded_at)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return envelope


class Talking(World):
    """A world whose session visits every state, with turns, a refusal and a rollback, and is accepted."""

    def __init__(self) -> None:
        super().__init__(149, Odds(turns=1, compact=0.5, full=0.6))

    @property
    def worker(self) -> Worker:
        return self

    knowledge = None


@cache
def patterns() -> PatternBase:
    """The real patterns, read once for all processes."""
    base = PatternBase()
    base.snapshot()
    return base


class ByTheRules(World):
    """The near-miss of tests/tiny.py: its tail is wrong until the last store is padded. The rules worker repairs it."""

    def __init__(self) -> None:
        super().__init__(0)
        self.worker: Worker = RulesWorker(patterns())

    @property
    def knowledge(self) -> str:
        return patterns().snapshot()

    @property
    def candidate(self) -> Candidate:
        return Candidate({"pybind11.cpp": BINDING, "plus.cpp": KERNEL.replace(*ALIGNED_ONLY)})

    def cases(self, which: t.CaseSet, seed: int, indices: Any = None) -> Iterator[CaseData]:
        for index, descriptor in enumerate(self.descriptors(which)):
            values = np.arange(1, 34 + index, dtype=np.float32)
            yield CaseData(index, descriptor, Path("no-file"), [values])

    def build(self, task: object, candidate: Candidate, level: int) -> BuildOutcome:
        return BuildOutcome(True, candidate, "", None, None, 0.0, False)

    def run(self, task: object, handle: Candidate, cases: Iterator[CaseData]) -> Iterator[CaseRun]:
        evidence = tuple(t.Evidence(check=check, outcome="passed") for check in ("aten-spy", "write-provenance"))
        for case in cases:
            output = np.array(case.expected[0])
            if ALIGNED_ONLY[1].strip() in handle.files["plus.cpp"]:
                output[output.size // 8 * 8 :] = 0.0
            yield CaseRun(case.index, "ok", "", [output], ("plus_custom",), (), evidence, 0.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a killed process, unlike a power cut, leaves what it had written."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        yield Path(name)


def work(log: SqlLog, make: Callable[[], Any]) -> None:
    """Open session `s` of `log`, or take it over, and drive it to its end."""
    world = make()
    ports = Ports(world, world, world.worker, log, log, Ticking(), "test")
    with log, log.writer("s"):
        if "s" in log.sessions():
            engine = Engine.resume("s", [(e.time, e.event()) for e in log.read("s")], ports)
        else:
            configuration = t.Configuration(tolerance="cann-ecosystem/1", seed=7, blocking_findings=("gm-race",))
            engine = Engine.open("s", ports, configuration, knowledge=world.knowledge)
        engine.run()


def in_a_process_of_its_own(path: Path, make: Callable[[], Any], n: int, when: When) -> bool:
    """Work on the log in a forked process that is killed at its n-th append. Whether it was."""
    child = os.fork()
    if child == 0:
        try:
            work(Doomed(path, n, when), make)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@dataclass(frozen=True)
class Told:
    """What a session comes to, without the seams of a crash: the same for a killed one as for one that was not."""

    moves: tuple[t.Event, ...]
    ended: object
    turns_answered: int

    @classmethod
    def by(cls, history: History) -> Told:
        floor = (t.SessionResumed, t.TurnStarted, t.TurnTaken)
        answered = [e for e in history.events if isinstance(e, t.TurnTaken) and e.stop != "lost"]
        moves = tuple(e for e in map(_timeless, history.events) if not isinstance(e, floor))
        return cls(moves, history.state.ended, len({(e.conversation, e.turn) for e in answered}))


def _timeless(event: t.Event) -> t.Event:
    return event.model_copy(update={"seconds": 0.0}) if "seconds" in type(event).model_fields else event


def read(path: Path) -> History:
    with SqlLog(path) as log:
        assert verify(log) == []
        return read_history(log, "s")


WORLDS = {"scripted": Talking, "rules": ByTheRules}


@pytest.mark.parametrize("worker", WORLDS)
def test_a_session_killed_around_any_append_ends_like_one_that_was_not(
    worker: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = WORLDS[worker]
    if worker == "scripted":
        monkeypatch.setattr("statemachine.engine.read_statically", read_once)
    work(SqlLog(folder / "whole.db"), make)
    whole = read(folder / "whole.db")
    assert whole.state.outcome == "accepted"
    states = {fold(whole.timed[: n + 1]).status for n in range(len(whole.events))}
    assert states >= (set(LIVE) if worker == "scripted" else set(LIVE) - {"rolled_back"})

    killed_in: Counter[tuple[str, str]] = Counter()
    for n in range(1, len(whole.events) + 1):
        for when in ("before", "after"):
            path = folder / f"{n}-{when}.db"
            assert in_a_process_of_its_own(path, make, n, when)
            if n > 1 or when == "after":
                killed_in[read(path).state.status, when] += 1
            work(SqlLog(path), make)
            history = read(path)
            assert Told.by(history) == Told.by(whole), (n, when)
            assert _answers_lost(history) == _answers_lost(whole) + (1 if _waits_for_an_answer(whole, n, when) else 0)
    assert {state for state, when in killed_in if when == "before"} >= states & set(LIVE)
    assert {state for state, when in killed_in if when == "after"} >= states


def _waits_for_an_answer(whole: History, n: int, when: When) -> bool:
    durable = n if when == "after" else n - 1
    return durable > 0 and isinstance(whole.events[durable - 1], t.TurnStarted)


def _answers_lost(history: History) -> int:
    """Turns that broke, each recorded once with unknown usage; every turn that was begun has its answer or that."""
    begun = sum(isinstance(e, t.TurnStarted) for e in history.events)
    taken = [e for e in history.events if isinstance(e, t.TurnTaken)]
    lost = [e for e in taken if e.stop == "lost"]
    assert begun == len(taken)
    assert all(e.usage.input is None and e.usage.output is None for e in lost)
    assert (cost("s", history.timed)["tokens"]["input"] is None) == bool(lost)
    return len(lost)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_session_whose_every_process_is_killed_soon_still_ends_the_same(
    when: When, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process gets five or six appends far: SessionResumed, a lost answer, a turn, its answer, a patch."""
    monkeypatch.setattr("statemachine.engine.read_statically", read_once)
    work(SqlLog(folder / "whole.db"), Talking)
    whole, path = read(folder / "whole.db"), folder / "s.db"
    processes = 1
    while in_a_process_of_its_own(path, Talking, 6, when):
        processes += 1
        assert processes <= 2 * len(whole.events)
    history = read(path)
    assert Told.by(history) == Told.by(whole)
    assert sum(isinstance(e, t.SessionResumed) for e in history.events) >= len(whole.events) / 6


def test_a_live_session_is_refused_to_a_second_engine_and_a_stale_one_is_taken_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("statemachine.engine.read_statically", read_once)
    path = folder / "s.db"
    assert in_a_process_of_its_own(path, Talking, 5, "after")
    assert list((folder / "s.db.locks").iterdir()), "the killed holder leaves its card"
    with SqlLog(path) as holder, holder.writer("s"):
        before = len(list(holder.read("s")))
        with pytest.raises(LogBusy, match=f"being worked on by pid {os.getpid()} on .* since"):
            work(SqlLog(path), Talking)
        assert len(list(holder.read("s"))) == before
    work(SqlLog(path), Talking)
    assert read(path).state.outcome == "accepted"


@pytest.mark.skipif(not FULL, reason="OPMEND_CRASH_MATRIX=full runs it: a process and a build per kill")
def test_the_real_toolchain_killed_around_any_append(tmp_path: Path, cache: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))
    go = partial(lead, cache=cache, task=task, session="s")
    assert go(tmp_path / "whole.db", kill_after=10_000) == 0
    whole = read(tmp_path / "whole.db")
    for n in range(1, len(whole.events) + 1):
        for when in ("before", "after"):
            path = tmp_path / f"{n}-{when}.db"
            assert go(path, kill_after=n, when=when) == -signal.SIGKILL
            assert go(path, kill_after=10_000) == 0
            history = read(path)
            assert [e.type for e in Told.by(history).moves] == [e.type for e in Told.by(whole).moves]
            assert history.state.ended == whole.state.ended
            print(f"killed {when} append {n}: {history.state.outcome}")
