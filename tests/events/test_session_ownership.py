"""One engine per session: the second is told who has it, and a dead owner leaves nothing that blocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from events.errors import LogBusy
from events.log import SqlLog
from tests.events.samples import START, legal_session, record

REPO = Path(__file__).parents[2]

HOLD = """
import sys
from events.log import SqlLog
with SqlLog(sys.argv[1]).writer("s"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_engine_is_told_who_has_the_session(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    with owner:
        assert owner.stdout.readline() == "held\n"
        log = SqlLog(path)
        words = rf"session s is being worked on by pid {owner.pid} on \S+ since 2"
        with pytest.raises(LogBusy, match=words) as caught, log.writer("s"):
            pytest.fail("two owners")
        assert caught.value.exit_code == 5
        with log.writer("another"):
            pass
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
    with log, log.writer("s"):
        record(log, "s", legal_session()[:1])


def test_the_same_process_cannot_take_a_session_twice(tmp_path: Path) -> None:
    log, other = SqlLog(tmp_path / "log.db"), SqlLog(tmp_path / "log.db")
    with log.writer("s"), pytest.raises(LogBusy, match=f"pid {os.getpid()} "), other.writer("s"):
        pytest.fail("two owners")
    with other.writer("s"):
        pass
    assert list((tmp_path / "log.db.locks").iterdir()) == []


@pytest.mark.parametrize("session", ["a/../../b", "..", "日本" * 90, "x y"])
def test_any_session_id_has_a_lock_file_inside_the_lock_folder(tmp_path: Path, session: str) -> None:
    log = SqlLog(tmp_path / "log.db")
    with log.writer(session):
        assert len(list((tmp_path / "log.db.locks").iterdir())) == 1
        assert [entry.name for entry in tmp_path.iterdir()] == ["log.db.locks"]


def test_taking_a_session_forgets_what_was_read_before(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.db") as mine, SqlLog(tmp_path / "log.db") as other:
        record(mine, "s", legal_session()[:1])
        other.append("s", legal_session()[1], START)
        with mine.writer("s"):
            assert [e.seq for e in mine.read("s")] == [0, 1]
            mine.append("s", legal_session()[2], START)
