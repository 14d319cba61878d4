"""The same guarantees on PostgreSQL. Runs where OPMEND_TEST_POSTGRES names an empty database (a URL) and psycopg is
installed; skipped, and said so, elsewhere: a server is not something a test suite may start on its own.
"""

from __future__ import annotations

import os
import uuid

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from events.envelope import GENESIS
from events.errors import LogBusy, LogUnavailable, NoSuchSession
from events.log import SqlLog
from replay.verify import verify
from tests.events.samples import START, TEXT, every_event, legal_session, put_blobs, record

URL = os.environ.get("OPMEND_TEST_POSTGRES", "")
pytestmark = pytest.mark.skipif(not URL, reason="set OPMEND_TEST_POSTGRES to the URL of an empty database")


@pytest.fixture
def session() -> str:
    return uuid.uuid4().hex


def test_every_event_comes_back_and_verifies(session: str) -> None:
    with SqlLog(URL) as log:
        put_blobs(log)
        record(log, session, every_event())
        envelopes = list(log.read(session))
        assert [e.event().type for e in envelopes] == [e.type for e in every_event()]
        assert [e.previous for e in envelopes] == [GENESIS, *(e.hash for e in envelopes[:-1])]
        assert verify(log, session, legality=list) == []
        assert log.head(session) == envelopes[-1]
        assert session in log.sessions()
        assert log.get(log.put(TEXT)) == TEXT
        with pytest.raises(NoSuchSession):
            list(log.read("nobody"))


def test_a_second_writer_is_refused(session: str) -> None:
    with SqlLog(URL) as first, SqlLog(URL) as second:
        record(first, session, legal_session()[:2])
        second.append(session, legal_session()[2], START)
        with pytest.raises(LogBusy, match="has moved on"):
            first.append(session, legal_session()[2], START)


def test_a_session_has_one_owner(session: str) -> None:
    with SqlLog(URL) as first, SqlLog(URL) as second:
        with first.writer(session):
            first.append(session, legal_session()[0], START)
            with pytest.raises(LogBusy, match="another engine"), second.writer(session):
                pytest.fail("two owners")
        with second.writer(session):
            second.append(session, legal_session()[1], START)


@pytest.mark.parametrize("table", ["event", "blob", "meta"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET {} = NULL"])
def test_the_database_refuses_to_change_or_delete(session: str, table: str, statement: str) -> None:
    with SqlLog(URL) as log:
        put_blobs(log)
        record(log, session, legal_session())
    column = {"event": "type", "blob": "data", "meta": "value"}[table]
    engine = create_engine(URL)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="append-only"):
        connection.execute(text(statement.format(table, column)))
    engine.dispose()


def test_a_server_that_does_not_answer_is_infrastructure(session: str) -> None:
    with (
        SqlLog("postgresql+psycopg://localhost:1/none") as log,
        pytest.raises(LogUnavailable, match="Check the server"),
    ):
        log.append(session, legal_session()[0], START)
