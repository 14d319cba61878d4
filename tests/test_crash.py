"""kill -9 in a real session, then `opmend resume`: same outcome, same accepted candidate, nothing twice.

Here with the real toolchain, every few events; `OPMEND_CRASH_MATRIX=full` does it in each state. Every append of a
session is killed around in test_crash_matrix.py, where a start costs nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from events.log import SqlLog
from events.types import SessionResumed
from replay.history import read_history
from statemachine.machine import LIVE
from statemachine.state import fold
from tests.conftest import ROOT, Opmend
from tests.tiny import ALIGNED_ONLY, KERNEL, write_task

#: Events between two kills.
STEP = 1 if os.environ.get("OPMEND_CRASH_MATRIX") == "full" else 4


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A near-miss that the rules repair with one patch."""
    return write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))


def lead(log: Path, cache: Path, task: Path, session: str, kill_after: int, when: str = "after") -> int:
    command = [
        sys.executable,
        str(ROOT / "tests" / "killing.py"),
        str(log),
        str(cache),
        str(task),
        session,
        str(kill_after),
        when,
    ]
    return subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, check=False
    ).returncode


def test_a_session_killed_again_and_again_ends_like_one_that_was_not(
    opmend: Opmend, task: Path, tmp_path: Path, cache: Path
) -> None:
    where = tmp_path / "log.db"
    assert lead(where, cache, task, "whole", 10_000) == 0
    whole = read_history(SqlLog(where), "whole")
    assert whole.state.outcome == "accepted"

    assert lead(where, cache, task, "killed", 1) == -9
    killed_in = {"opened"}
    for _ in range(len(whole.events)):
        with SqlLog(where) as log:
            state = read_history(log, "killed").state
        if state.outcome is not None:
            break
        killed_in.add(state.status)
        if lead(where, cache, task, "killed", 1 + STEP) == 0:
            break  # SessionResumed, and so many events more, then SIGKILL
    with SqlLog(where) as log:
        killed = read_history(log, "killed")
    assert killed.state.outcome == "accepted"
    assert killed.state.ended == whole.state.ended
    states = {read.status for read in _prefixes(whole)} & set(LIVE)
    assert killed_in == states if STEP == 1 else len(killed_in & states) >= 3

    without_seams = [event for event in killed.events if not isinstance(event, SessionResumed)]
    assert [e.type for e in without_seams] == [e.type for e in whole.events]
    assert sum(isinstance(e, SessionResumed) for e in killed.events) >= (len(whole.events) - 2) // STEP
    verified = opmend("verify", "--log", where)
    assert (verified.code, verified.out) == (0, "")


def _prefixes(history: object) -> list[object]:
    timed = history.timed  # type: ignore[attr-defined]
    return [fold(timed[: n + 1]) for n in range(len(timed))]


def test_resume_goes_on_and_ends_in_the_same_summary(opmend: Opmend, task: Path, tmp_path: Path, cache: Path) -> None:
    where = tmp_path / "log.db"
    assert lead(where, cache, task, "cut", 3) == -9
    assert opmend("sessions", "--json").last["outcome"] is None
    with SqlLog(where) as holder, holder.writer("cut"):
        refused = opmend("resume", "cut")
    assert refused.code == 5
    assert f"being worked on by pid {os.getpid()}" in refused.err
    done = opmend("resume", "cut", "--json", "--out", tmp_path / "out")
    assert (done.code, done.last["type"], done.last["outcome"]) == (0, "summary", "accepted")
    assert "DataCopyPad(yGm" in (tmp_path / "out" / "kernel" / "plus.cpp").read_text()
    again = opmend("resume", "cut", "--json")
    assert (again.code, again.last["head"]) == (0, done.last["head"])


def test_resume_refuses_a_task_that_has_changed_since(opmend: Opmend, task: Path, tmp_path: Path, cache: Path) -> None:
    assert lead(tmp_path / "log.db", cache, task, "cut", 2) == -9
    model = task / "model.py"
    model.write_text(model.read_text().replace("x + 1.0", "x + 2.0"))
    done = opmend("resume", "cut")
    assert done.code == 2
    assert "has changed since" in done.err


def test_ctrl_c_exits_130_and_the_session_can_be_resumed(
    opmend: Opmend, task: Path, tmp_path: Path, cache: Path
) -> None:
    driver = "import os, signal, sys; sys.path.insert(0, '.'); import replay.live as live, cli\n" + (
        "real = live.LiveStory.event\n"
        "def event(self, state, event):\n"
        "    real(self, state, event)\n"
        "    if state.status == 'diagnosed': os.kill(os.getpid(), signal.SIGINT)\n"
        "live.LiveStory.event = event\n"
        "cli.run()\n"
    )
    command = [
        sys.executable,
        "-c",
        driver,
        "repair",
        str(task),
        "--log",
        str(tmp_path / "log.db"),
        "--cache",
        str(cache),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "opmend resume" in done.stderr
    assert opmend("resume", "last").code == 0
