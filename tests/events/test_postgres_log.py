"""What only PostgreSQL can do to a log. What it shares with the other backends is in test_log_contract.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from events.errors import LogUnavailable
from events.log import SqlLog
from events.schema import SCHEMA_VERSION, tables
from replay.verify import verify
from tests.events.samples import START, legal_session, put_blobs
from tests.postgres import URL, alone

server = pytest.mark.skipif(
    not URL, reason="set OPMEND_TEST_POSTGRES to the URL of an empty database, see .ci/postgres"
)


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with alone():
        yield


@server
@pytest.mark.parametrize("table", [table.name for table in tables(SCHEMA_VERSION)])
def test_truncation_is_refused(table: str) -> None:
    with SqlLog(URL) as log:
        put_blobs(log)
    engine = create_engine(URL)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="append-only"):
        connection.execute(text(f"TRUNCATE {table}"))
    engine.dispose()


@server
@pytest.mark.parametrize(
    ("hollow", "restored"),
    [
        ("ALTER TABLE blob DISABLE TRIGGER blob_no_change", "ALTER TABLE blob ENABLE TRIGGER blob_no_change"),
        ("ALTER FUNCTION opmend_append_only() RENAME TO away", "ALTER FUNCTION away() RENAME TO opmend_append_only"),
    ],
)
def test_triggers_that_were_made_harmless_are_a_finding(hollow: str, restored: str) -> None:
    engine = create_engine(URL)
    with SqlLog(URL) as log:
        put_blobs(log)
        with engine.begin() as connection:
            connection.execute(text(hollow))
        try:
            assert "blob_no_change" in str([finding for finding in verify(log) if finding.kind == "schema"])
        finally:
            with engine.begin() as connection:
                connection.execute(text(restored))
        assert [finding for finding in verify(log) if finding.kind == "schema"] == []
    engine.dispose()


def test_a_server_that_does_not_answer_is_infrastructure() -> None:
    pytest.importorskip("psycopg")
    with (
        SqlLog("postgresql+psycopg://localhost:1/none") as log,
        pytest.raises(LogUnavailable, match="Check the server"),
    ):
        log.append("s", legal_session()[0], START)
