"""A log in trouble: each fault gets its own error, exit code and next step, and nothing is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from events.errors import LogCorrupt, LogDriverMissing, LogReadOnly, LogTooNew, LogUnavailable
from events.log import SqlLog
from events.schema import SCHEMA_VERSION
from replay.verify import verify
from tests.events.samples import START, legal_session, public_folder, put_blobs, raw, record, unprivileged

REPO = Path(__file__).parents[2]

APPEND_FOR_EVER = """
import sys
from events.log import SqlLog
from tests.events.samples import START, legal_session, put_blobs
from events.types import TurnStarted
log = SqlLog(sys.argv[1])
put_blobs(log)
log.append("s", legal_session()[0], START)
number = 0
while True:
    number += 1
    log.put(str(number).encode() * 500)
    print(log.append("s", TurnStarted(conversation=1, turn=number), START).hash, flush=True)
"""


def made(folder: Path) -> Path:
    path = folder / "log.db"
    with SqlLog(path) as log:
        put_blobs(log)
        record(log, "s", legal_session()[:3])
    return path


@pytest.mark.parametrize("events", [1, 7, 40])
def test_a_killed_writer_loses_no_event_it_was_told_is_stored(tmp_path: Path, events: int) -> None:
    path = tmp_path / "log.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", APPEND_FOR_EVER, str(path)], cwd=REPO, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    with writer:
        acknowledged = [writer.stdout.readline().strip() for _ in range(events)]
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        acknowledged += [line.strip() for line in writer.stdout if line.endswith("\n")]
    with SqlLog(path) as log:
        assert verify(log, legality=list) == []
        stored = [envelope.hash for envelope in log.read("s")]
        assert stored[1 : len(acknowledged) + 1] == acknowledged
        log.append("s", legal_session()[1], START)
        assert verify(log, legality=list) == []


@pytest.mark.parametrize("what", ["file", "folder", "both"])
def test_a_read_only_log_can_be_read_but_not_appended_to(what: str) -> None:
    with public_folder() as folder:
        path = made(folder)
        path.chmod(0o444 if what != "folder" else 0o666)
        folder.chmod(0o555 if what != "file" else 0o777)
        with unprivileged(), SqlLog(path) as log:
            assert verify(log, legality=list) == []
            assert [e.seq for e in log.read("s")] == [0, 1, 2]
            with pytest.raises(LogReadOnly, match="make the file and its folder writable") as caught:
                log.append("s", legal_session()[3], START)
            assert caught.value.exit_code == 5
            with pytest.raises(LogReadOnly):
                log.put(b"new")
            if what != "file":
                with pytest.raises(LogReadOnly), log.writer("s"):
                    pytest.fail("took a session it cannot write")
            assert len(list(log.read("s"))) == 3


def test_a_read_only_log_whose_writer_is_still_there_can_be_read() -> None:
    with public_folder() as folder, SqlLog(made(folder)) as writer:
        writer.append("s", legal_session()[3], START)
        assert (folder / "log.db-wal").stat().st_size
        folder.chmod(0o555)
        with unprivileged(), SqlLog(folder / "log.db") as log:
            assert [e.seq for e in log.read("s")] == [0, 1, 2, 3]
            with pytest.raises(LogReadOnly):
                log.append("s", legal_session()[4], START)


def test_a_log_in_a_folder_that_cannot_be_made_is_read_only() -> None:
    with public_folder() as folder, unprivileged():
        log = SqlLog(folder / "deep" / "log.db")
        with pytest.raises(LogReadOnly, match="name another log with --log"):
            log.append("s", legal_session()[0], START)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(raw(path)) as connection:
        connection.execute("UPDATE meta SET value = ?", (str(SCHEMA_VERSION + 1),))
    for use in (lambda log: log.append("s", legal_session()[3], START), lambda log: list(log.read("s")), verify):
        with SqlLog(path) as log, pytest.raises(LogTooNew, match="upgrade opmend") as caught:
            use(log)
        assert caught.value.exit_code == 2


def test_a_locked_log_is_reported_after_the_wait_and_loses_nothing(tmp_path: Path) -> None:
    path = made(tmp_path)
    locker = sqlite3.connect(path, isolation_level=None)
    locker.execute("BEGIN IMMEDIATE")
    with SqlLog(path, busy_seconds=0.05) as log:
        assert len(list(log.read("s"))) == 3
        with pytest.raises(LogUnavailable, match="locked by another process") as caught:
            log.append("s", legal_session()[3], START)
        assert caught.value.exit_code == 5
        locker.execute("ROLLBACK")
        locker.close()
        assert log.append("s", legal_session()[3], START).seq == 3


@pytest.mark.parametrize("content", [b"garbage\n" * 500, b"{}", b"SQLite format 3\x00" + bytes(range(256)) * 32])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(content)
    with SqlLog(path) as log:
        with pytest.raises(LogCorrupt) as caught:
            log.append("s", legal_session()[0], START)
        assert caught.value.exit_code == 3
        with pytest.raises(LogCorrupt):
            log.sessions()
        assert [finding.kind for finding in verify(log)] == ["unreadable"]
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with SqlLog(path) as log, pytest.raises(LogCorrupt, match="not an opmend log"):
        log.append("s", legal_session()[0], START)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch()
    with SqlLog(path) as log:
        assert list(log.sessions()) == []
        assert log.append("s", legal_session()[0], START).seq == 0


def test_a_log_that_goes_away_under_us_is_noticed(tmp_path: Path) -> None:
    path = made(tmp_path)
    with SqlLog(path) as log:
        record(log, "t", legal_session()[:1])
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(LogUnavailable, match="moved, deleted or replaced"):
            log.append("t", legal_session()[1], START)
        with pytest.raises(LogUnavailable, match="moved, deleted or replaced"):
            list(log.read("t"))


def test_a_full_disk_is_reported_and_nothing_is_half_written(tmp_path: Path) -> None:
    path = made(tmp_path)
    with SqlLog(path) as log:
        with log._database.reading() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LogUnavailable, match="full: make room") as caught:
            log.put(b"x" * 100_000)
        assert caught.value.exit_code == 5
        assert verify(log, legality=list) == []


def test_a_folder_in_place_of_the_log_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable):
        SqlLog(tmp_path).append("s", legal_session()[0], START)
    with pytest.raises(LogUnavailable):
        SqlLog(tmp_path).sessions()


@pytest.mark.parametrize("target", ["sqlite://", "sqlite:///:memory:", "://"])
def test_a_target_that_cannot_be_a_log_is_refused(target: str) -> None:
    with pytest.raises(LogUnavailable):
        SqlLog(target)


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(LogDriverMissing, match="driver that is not installed") as caught:
        SqlLog("mssql+pymssql://host/db").sessions()
    assert caught.value.exit_code == 4


CREATE_TOGETHER = """
import sys
from events.log import SqlLog
from tests.events.samples import legal_session, put_blobs, record
print("ready", flush=True)
sys.stdin.readline()
with SqlLog(sys.argv[1]) as log, log.writer(sys.argv[2]):
    put_blobs(log)
    record(log, sys.argv[2], legal_session())
"""


def test_engines_that_start_together_on_a_new_log_share_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "log.db"
    engines = [
        subprocess.Popen(
            [sys.executable, "-c", CREATE_TOGETHER, str(path), f"s{number}"],
            cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(3)
    ]  # fmt: skip
    for engine in engines:
        assert engine.stdout is not None
        assert engine.stdout.readline() == "ready\n"
    for engine in engines:
        assert engine.stdin is not None
        engine.stdin.write("\n")
        engine.stdin.flush()
    for engine in engines:
        engine.communicate()
    assert [engine.returncode for engine in engines] == [0, 0, 0]
    with SqlLog(path) as log:
        assert sorted(log.sessions()) == ["s0", "s1", "s2"]
        assert verify(log) == []
