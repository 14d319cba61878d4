"""The storage of a log fails in the middle of a session: a clear error, exit 5, and `resume` does nothing twice."""

from __future__ import annotations

import shlex
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from events.log import SqlLog
from events.types import SessionResumed
from replay.history import History, read_history
from replay.verify import verify
from tests.conftest import ROOT
from tests.events.samples import legal_session
from tests.postgres import CTL, URL, alone
from tests.tiny import ALIGNED_ONLY, KERNEL, write_task


def lead(log: object, cache: Path, task: Path, after: int, fault: str, session: str = "s") -> tuple[int, str]:
    program = str(ROOT / "tests" / "breaking.py")
    command = [sys.executable, program, str(log), str(cache), str(task), session, str(after), fault]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OPMEND_TEST_POSTGRES_CTL": CTL}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


def story(history: History) -> list[str]:
    return [event.type for event in history.events if not isinstance(event, SessionResumed)]


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("full", "is full: make room"),
        ("read-only", "can be read but not written"),
        ("gone", "was moved, deleted or replaced"),
    ],
)
def test_a_log_that_fails_under_a_session_can_be_resumed(
    task: Path, cache: Path, tmp_path: Path, fault: str, says: str
) -> None:
    where = tmp_path / "log.db"
    code, message = lead(where, cache, task, 4, fault)
    assert (code, says in message) == (5, True), message
    if fault == "gone":
        assert not where.exists()
        where.with_suffix(".away").rename(where)
    with SqlLog(where) as log:
        broken = read_history(log, "s")
        assert broken.state.outcome is None
        assert verify(log) == []
    assert lead(where, cache, task, 0, "none") == (0, "")
    with SqlLog(where) as log:
        ended = read_history(log, "s")
        assert ended.state.outcome == "accepted"
        assert ended.envelopes[: len(broken.envelopes)] == broken.envelopes
        assert story(ended).count("SessionAccepted") == story(ended).count("PatchProposed") == 1
        assert verify(log) == []


@pytest.mark.skipif(not CTL, reason="run it as `.ci/postgres pytest ...`, which says how to stop the server")
def test_a_server_that_is_stopped_and_started_under_a_session(task: Path, cache: Path) -> None:
    with alone():
        stopped_and_started(task, cache)


def stopped_and_started(task: Path, cache: Path) -> None:
    session = f"stopped-{uuid.uuid4().hex}"
    code, message = lead(URL, cache, task, 4, "server-stopped", session)
    try:
        assert (code, "Check the server" in message) == (5, True), message
        code, message = lead(URL, cache, task, 0, "none", session)
        assert (code, "Check the server" in message) == (5, True), message
    finally:
        start = shlex.split(CTL)
        subprocess.run([*start, "-o", _socket(), "start"], cwd="/", check=True, stdout=subprocess.DEVNULL)
    assert lead(URL, cache, task, 0, "none", session) == (0, "")
    with SqlLog(URL) as log:
        ended = read_history(log, session)
        assert ended.state.outcome == "accepted"
        assert story(ended).count("SessionAccepted") == story(ended).count("PatchProposed") == 1
        assert verify(log, session) == []


def _socket() -> str:
    return f"-c listen_addresses= -c unix_socket_directories={URL.rpartition('host=')[2]}"


APPEND_WITHIN = """
import resource, sys
from events.errors import LogError
from events.log import SqlLog
from tests.events.samples import START, legal_session, put_blobs
from events.types import TurnStarted
log = SqlLog(sys.argv[1])
put_blobs(log)
log.append("s", legal_session()[0], START)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    for number in range(10_000):
        print(log.append("s", TurnStarted(conversation=1, turn=number), START).hash, flush=True)
except LogError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("limit", [70_000, 90_001, 150_000])
def test_a_file_system_that_takes_no_more_bytes_loses_nothing_it_acknowledged(tmp_path: Path, limit: int) -> None:
    """Whatever the operating system refuses first: the database, its write-ahead log, or half of one of their pages."""
    path = tmp_path / "log.db"
    command = [sys.executable, "-c", APPEND_WITHIN, str(path), str(limit)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    assert "disk" in done.stderr
    with SqlLog(path) as log:
        assert [e.hash for e in log.read("s")][1:] == done.stdout.split()
        assert verify(log, legality=list) == []
        assert log.append("s", legal_session()[1], log.head("s").time).seq == len(done.stdout.split()) + 1
