"""The log on SQLite: what is appended comes back, stays as it is, and has one writer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from events import types as t
from events.canonical import digest_of
from events.envelope import GENESIS, seal
from events.errors import BlobMissing, LogBusy, LogCorrupt, NoLogYet, NoSuchSession
from events.log import SqlLog
from replay.verify import verify
from tests.events.samples import START, TEXT, every_event, legal_session, put_blobs, raw, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "er" / "log.db"


def test_every_event_comes_back_chained_in_order(path: Path) -> None:
    with SqlLog(path) as log:
        record(log, "s", every_event())
    with SqlLog(f"sqlite:///{path}") as log:
        envelopes = list(log.read("s"))
    assert [e.seq for e in envelopes] == list(range(len(every_event())))
    assert [e.type for e in envelopes] == [e.type for e in every_event()]
    assert [e.previous for e in envelopes] == [GENESIS, *(e.hash for e in envelopes[:-1])]
    assert all(e.verify_hash() for e in envelopes)
    assert envelopes[3].recorded_at == "2026-01-31T08:05:03.000000Z"
    assert envelopes[3].event() == every_event()[3]


def test_append_returns_what_is_stored(path: Path) -> None:
    with SqlLog(path) as log:
        stored = [log.append("s", event, START) for event in legal_session()]
        assert list(log.read("s")) == stored
        assert log.head("s") == stored[-1]


def test_nothing_is_created_before_the_first_write(path: Path) -> None:
    log = SqlLog(path)
    assert list(log.sessions()) == []
    assert list(log.read_all()) == []
    with pytest.raises(NoLogYet, match="no log at"):
        list(log.read("s"))
    with pytest.raises(BlobMissing):
        log.get(digest_of(b""))
    assert not path.parent.exists()


def test_sessions_are_listed_in_opening_order(path: Path) -> None:
    with SqlLog(path) as log:
        for number, name in enumerate(["zeta", "alpha", "mitte ü/日本"]):
            log.append(name, legal_session()[0], START + timedelta(days=number))
        log.append("zeta", legal_session()[1], START + timedelta(days=9))
        log.append("same moment", legal_session()[0], START + timedelta(days=2))
        assert list(log.sessions()) == ["zeta", "alpha", "mitte ü/日本", "same moment"]
        assert [(e.session, e.seq) for e in log.read_all()][:3] == [("zeta", 0), ("zeta", 1), ("alpha", 0)]


def test_a_session_that_is_not_there_is_named(path: Path) -> None:
    with SqlLog(path) as log:
        record(log, "s", legal_session())
        with pytest.raises(NoSuchSession, match="no session x"):
            list(log.read("x"))
        with pytest.raises(NoSuchSession, match="no session x"):
            log.head("x")


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ("UPDATE event SET payload = x'7b7d' WHERE seq = 2", [0, 1]),
        ("UPDATE event SET recorded_at = 'yesterday' WHERE seq = 2", [0, 1]),
        ("UPDATE event SET hash = 7 WHERE seq = 2", [0, 1]),
        ("DELETE FROM event WHERE seq = 2", [0, 1]),
        ("DELETE FROM event WHERE seq = 0", []),
    ],
)
def test_reading_stops_at_what_was_not_recorded(path: Path, change: str, good: list[int]) -> None:
    with SqlLog(path) as log:
        record(log, "s", legal_session())
        with closing(raw(path)) as connection:
            connection.execute(change)
        read: list[int] = []
        with pytest.raises(LogCorrupt, match=r"session s") as caught:
            read.extend(envelope.seq for envelope in log.read("s"))
        assert read == good
        assert caught.value.exit_code == 3


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201, "\ud800"])
def test_a_name_that_is_no_session_id_is_refused(path: Path, name: str) -> None:
    with SqlLog(path) as log, pytest.raises(ValueError, match="not a session id"):
        log.append(name, legal_session()[0], START)


def test_blobs_are_kept_once_and_checked_on_reading(path: Path) -> None:
    with SqlLog(path) as log:
        digest = log.put(TEXT)
        assert log.put(TEXT) == digest == digest_of(TEXT)
        assert log.get(digest) == TEXT
        assert log.get(log.put(b"")) == b""
        with closing(raw(path)) as connection:
            assert connection.execute("SELECT COUNT(*) FROM blob").fetchone() == (2,)
            connection.execute("UPDATE blob SET data = ? WHERE digest = ?", (TEXT + b"!", digest))
        with pytest.raises(LogCorrupt, match="changed after recording"):
            log.get(digest)


@pytest.mark.parametrize("table", ["event", "blob", "meta"])
def test_the_database_refuses_to_change_or_delete(path: Path, table: str) -> None:
    with SqlLog(path) as log:
        put_blobs(log)
        record(log, "s", legal_session())
        before = [*log.rows()], log.get(digest_of(TEXT))
        column = {"event": "type", "blob": "data", "meta": "value"}[table]
        connection = sqlite3.connect(path)
        for statement in (f"UPDATE {table} SET {column} = 'x'", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
        replace = f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"
        if table == "blob":
            connection.execute(replace)
        else:
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(replace)
        connection.commit()
        connection.close()
        assert ([*log.rows()], log.get(digest_of(TEXT))) == before


def test_it_is_durable_by_configuration(path: Path) -> None:
    with SqlLog(path) as log:
        record(log, "s", legal_session())
        with log._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_an_event_that_cannot_be_written_leaves_nothing_behind(path: Path) -> None:
    with SqlLog(path) as log:
        record(log, "s", legal_session()[:2])
        with pytest.raises(ValueError, match="keys in events must be strings"):
            log.append("s", t.ProbePlanned(attempt=0, request={"a": {1: 2}}), START)
        log.append("s", legal_session()[2], START)
        assert [e.seq for e in log.read("s")] == [0, 1, 2]


def test_a_second_writer_is_refused_and_told_what_happened(path: Path) -> None:
    with SqlLog(path) as first, SqlLog(path) as second:
        record(first, "s", legal_session()[:2])
        second.append("s", legal_session()[2], START)
        with pytest.raises(LogBusy, match=r"session s has moved on.*event 2 \(CompactEvaluated") as caught:
            first.append("s", legal_session()[2], START)
        assert caught.value.exit_code == 5
        assert [e.seq for e in first.read("s")] == [0, 1, 2]
        first.append("other", legal_session()[0], START)


def test_what_was_read_is_what_may_be_followed(path: Path) -> None:
    with SqlLog(path) as first, SqlLog(path) as second:
        record(first, "s", legal_session()[:2])
        list(second.read("s"))
        first.append("s", legal_session()[2], START)
        with pytest.raises(LogBusy):
            second.append("s", legal_session()[2], START)


def test_reading_goes_on_while_another_appends(path: Path) -> None:
    with SqlLog(path) as log:
        record(log, "s", legal_session()[:3])
        reader = log.read("s")
        assert next(reader).seq == 0
        log.append("s", legal_session()[3], START)
        assert [e.seq for e in reader] == [1, 2]
        assert [e.seq for e in log.read("s")] == [0, 1, 2, 3]


def test_ten_thousand_events_are_read_and_followed_by_the_next(path: Path) -> None:
    event = t.TurnStarted(conversation=1, turn=1)
    with SqlLog(path) as log:
        previous = GENESIS
        with log._database.writing() as connection:  # one transaction: ten thousand durable ones would take a while
            for number in range(10_000):
                envelope = seal("s", number, event, START, previous)
                log._insert(connection, envelope)
                previous = envelope.hash
        for number, envelope in enumerate(log.read("s")):
            assert envelope.seq == number
        last = log.append("s", event, START)
        assert (last.seq, last.previous) == (10_000, previous)
        assert verify(log, legality=list) == []


def test_many_small_appends_stay_chained(path: Path) -> None:
    with SqlLog(path) as log:
        for number in range(300):
            log.append(f"s{number % 3}", t.TurnStarted(conversation=1, turn=number), START)
        assert [log.head(name).seq for name in log.sessions()] == [99, 99, 99]
        assert verify(log, legality=list) == []
