"""What every backend of the log promises, in one suite: a file of SQLite, SQLite in memory, PostgreSQL.

`.ci/postgres COMMAND` starts a throw-away server; without OPMEND_TEST_POSTGRES the tests on it are skipped.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from events import types as t
from events.canonical import digest_of
from events.envelope import GENESIS
from events.errors import BlobMissing, LogBusy, LogConflict, LogCorrupt, LogUnavailable, NoSuchSession
from events.log import SqlLog
from events.receipts import receipt_of
from events.schema import triggers
from replay.history import read_history
from replay.verify import verify
from tests.events.samples import NOTE, START, TEXT, every_event, legal_session, put_blobs, record
from tests.postgres import URL, alone


class LogContract(ABC):
    """A subclass says what a log of its backend is; `another` is a second handle on the same log."""

    @abstractmethod
    def another(self, tmp_path: Path) -> SqlLog: ...

    @pytest.fixture
    def log(self, tmp_path: Path) -> Iterator[SqlLog]:
        with self.another(tmp_path) as log:
            yield log

    @pytest.fixture
    def other(self, log: SqlLog, tmp_path: Path) -> Iterator[SqlLog]:
        with self.another(tmp_path) as other:
            yield other

    @pytest.fixture
    def session(self) -> str:
        return f"contract-{uuid.uuid4().hex}"

    def test_events_come_back_chained_and_in_order(self, log: SqlLog, other: SqlLog, session: str) -> None:
        put_blobs(log)
        stored = [log.append(session, e, START + timedelta(seconds=n)) for n, e in enumerate(every_event())]
        assert list(other.read(session)) == stored
        assert [e.event() for e in stored[:1]] == every_event()[:1]
        assert [e.previous for e in stored] == [GENESIS, *(e.hash for e in stored[:-1])]
        assert other.head(session) == stored[-1]
        assert session in other.sessions()
        assert verify(other, session, legality=list) == []

    def test_a_whole_session_folds_and_the_whole_log_verifies(self, log: SqlLog, session: str) -> None:
        put_blobs(log)
        record(log, session, legal_session())
        assert read_history(log, session).state.outcome == "accepted"
        assert [f for f in verify(log) if f.session in ("", session)] == []

    def test_what_is_not_there_is_named(self, log: SqlLog, session: str) -> None:
        put_blobs(log)
        record(log, session, legal_session()[:1])
        with pytest.raises(NoSuchSession, match="no session nobody"):
            list(log.read("nobody"))
        with pytest.raises(NoSuchSession):
            log.head("nobody")
        with pytest.raises(BlobMissing):
            log.get(digest_of(b"never put"))

    def test_blobs_are_kept_once_as_they_are(self, log: SqlLog, other: SqlLog) -> None:
        for data in (TEXT, b"", bytes(range(256)) * 500):
            assert log.put(data) == other.put(data) == digest_of(data)
            assert other.get(digest_of(data)) == data
        digests = [digest for digest, _ in log.blobs()]
        assert len(digests) == len(set(digests))

    def test_a_second_writer_is_refused_and_nothing_is_written(self, log: SqlLog, other: SqlLog, session: str) -> None:
        record(log, session, legal_session()[:2])
        list(other.read(session))
        log.append(session, legal_session()[2], START)
        with pytest.raises(LogBusy, match="has moved on"):
            other.append(session, legal_session()[2], START)
        assert other.head(session).seq == 2

    def test_a_session_has_one_owner_at_a_time(self, log: SqlLog, other: SqlLog, session: str) -> None:
        with log.writer(session):
            log.append(session, legal_session()[0], START)
            with pytest.raises(LogBusy, match="is being worked on"), other.writer(session):
                pytest.fail("two owners")
            with other.writer(session + " of another"):
                pass
        with other.writer(session):
            other.append(session, legal_session()[1], START)

    def test_reading_goes_on_while_another_appends(self, log: SqlLog, other: SqlLog, session: str) -> None:
        record(log, session, legal_session()[:3])
        reader = other.read(session)
        assert next(reader).seq == 0
        log.append(session, legal_session()[3], START)
        assert [e.seq for e in reader] == [1, 2]
        assert len(list(other.read(session))) == 4

    @pytest.mark.parametrize("table", ["event", "blob", "meta", "receipt"])
    @pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET {} = {}"])
    def test_the_database_refuses_changes(self, log: SqlLog, session: str, table: str, statement: str) -> None:
        put_blobs(log)
        record(log, session, legal_session()[:1])
        sealed = receipt_of(session, 1, log.head(session).hash, START)
        assert log.adopt(list(log.read(session)), [], [sealed]) == {session: 0}
        column = {"event": "type", "blob": "data", "meta": "value", "receipt": "document"}[table]
        refused = pytest.raises((LogCorrupt, LogUnavailable), match="append-only")
        with refused, log._database.writing() as connection:
            connection.execute(text(statement.format(table, column, column)))

    @staticmethod
    def is_server(log: SqlLog) -> bool:
        return "postgresql" in log.where

    def test_dropped_triggers_are_a_finding(self, log: SqlLog, session: str) -> None:
        record(log, session, legal_session()[:1])
        dialect = "postgresql" if self.is_server(log) else "sqlite"
        name, statement = next(iter(triggers(dialect, ["blob"]).items()))
        with log._database.writing() as connection:
            connection.execute(text(f"DROP TRIGGER {name}" + (" ON blob" if self.is_server(log) else "")))
        try:
            assert [f.message for f in verify(log) if f.kind == "schema"] == [
                f"the trigger {name} is gone: changes have not been refused since"
            ]
        finally:
            with log._database.writing() as connection:
                connection.execute(text(statement))
        assert [f for f in verify(log) if f.kind == "schema"] == []

    def test_a_session_from_elsewhere_is_adopted_once(self, log: SqlLog, session: str) -> None:
        with SqlLog.in_memory(f"source {session}") as source:
            put_blobs(source)
            record(source, session, legal_session())
            brought = list(source.read(session))
            sealed = [receipt_of(session, 7, brought[-1].hash, START)]
            assert log.adopt(brought[:3], [TEXT], sealed) == {session: 3}
            assert log.adopt(brought, [TEXT, b"more"], sealed) == {session: 4}
            assert log.adopt(brought, [TEXT], sealed) == {session: 0}
        assert list(log.read(session)) == brought
        assert [row[:2] for row in log.receipts(session)] == [(session, 7)]
        assert log.get(NOTE) == TEXT

    def test_another_history_is_refused_and_leaves_nothing(self, log: SqlLog, session: str) -> None:
        record(log, session, legal_session()[:2])
        with SqlLog.in_memory(f"source {session}") as source:
            record(source, session, [legal_session()[0], t.SessionAborted(reason="r"), t.SessionAborted(reason="r")])
            lone = session.encode()
            with pytest.raises(LogConflict, match=f"session {session} .* from event 1 "):
                log.adopt(list(source.read(session)), [lone], [])
        assert log.head(session).seq == 1
        with pytest.raises(BlobMissing):
            log.get(digest_of(lone))

    def test_an_event_that_cannot_be_written_leaves_nothing_behind(self, log: SqlLog, session: str) -> None:
        record(log, session, legal_session()[:2])
        with pytest.raises(ValueError, match="keys in events must be strings"):
            log.append(session, t.ProbePlanned(attempt=0, request={"a": {1: 2}}), START)
        assert log.append(session, legal_session()[2], START).seq == 2


class TestSqliteFile(LogContract):
    def another(self, tmp_path: Path) -> SqlLog:
        return SqlLog(tmp_path / "deep" / "log.db")


class TestSqliteMemory(LogContract):
    def another(self, tmp_path: Path) -> SqlLog:
        return SqlLog.in_memory(str(tmp_path))


@pytest.mark.skipif(not URL, reason="set OPMEND_TEST_POSTGRES to the URL of an empty database, see .ci/postgres")
class TestPostgres(LogContract):
    @pytest.fixture(autouse=True)
    def _alone(self) -> Iterator[None]:
        with alone():
            yield

    def another(self, tmp_path: Path) -> SqlLog:
        return SqlLog(URL)
