"""The log: what one durable event costs, and what reading a log back costs, beside SQLite and orjson alone."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest

from events import types as t
from events.canonical import payload_of
from events.envelope import GENESIS, seal
from events.log import SqlLog
from replay.history import read_history
from replay.verify import verify
from statemachine.state import fold
from tests.bench.conftest import Timed
from tests.events import samples
from tests.replay.streams import llm_session

APPEND = "append one event durably (an evaluation of 4 cases; WAL, synchronous=FULL)"
READ = "read a log back (sessions of 299 events: 5 attempts, 130 turns of a worker)"
LONG = "read one session back (at the larger size 40 attempts, 10,400 turns)"
EVENTS = len(llm_session(26, 5))
COLUMNS = "session, seq, recorded_at, type, version, payload, previous, hash"


def evaluation() -> t.Event:
    """Four cases, of which one is wrong."""
    (bad,) = llm_session()[2].cases  # type: ignore[union-attr]
    cases = tuple(bad.model_copy(update={"index": number}) for number in range(4))
    return t.CompactEvaluated(
        attempt=0, candidate=samples.CANDIDATE, tolerance="cann-ecosystem/1", passed=False, cases=cases
    )


def beginning() -> list[t.Event]:
    """What comes before `evaluation` in a session whose compact set has four cases. The fold takes all three."""
    opened = samples.opened()
    four = opened.task.compact.model_copy(update={"count": 4})
    opened = opened.model_copy(update={"task": opened.task.model_copy(update={"compact": four})})
    events = [opened, t.CompileFinished(attempt=0, candidate=samples.CANDIDATE, passed=True, log=samples.NOTE)]
    assert fold((samples.START, event) for event in [*events, evaluation()]).status == "rejected"
    return events


def write_log(path: Path, sessions: int, turns: int, attempts: int) -> SqlLog:
    """A log as the engine would have written it, in one transaction instead of one for each event."""
    log = SqlLog(path)
    samples.put_blobs(log)
    log.close()
    events = llm_session(turns, attempts)
    with sqlite3.connect(path) as connection:
        for number in range(sessions):
            previous = GENESIS
            for seq, event in enumerate(events):
                moment = samples.START + timedelta(seconds=seq)
                envelope = seal(f"session{number:05d}", seq, event, moment, previous)
                previous = envelope.hash
                columns = "session, seq, recorded_at, type, version, payload, previous, hash"
                connection.execute(f"INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", envelope)
    connection.close()
    return log


@pytest.fixture(scope="module", params=[10, 40, 160])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlLog, int]:
    path = tmp_path_factory.mktemp("log") / "log.db"
    return write_log(path, request.param, 26, 5), request.param * EVENTS


@pytest.fixture(scope="module", params=[10, 40])
def long_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlLog, int]:
    log = write_log(tmp_path_factory.mktemp("log") / "log.db", 1, 260, request.param)
    return log, len(llm_session(260, request.param))


# ---------------------------------------------------------------- writing


def test_raw_append(timed: Timed, tmp_path: Path) -> None:
    """A table of the same columns and key, without triggers; who writes and what was last is taken for granted."""
    fields = orjson.loads(payload_of(evaluation()))
    connection = sqlite3.connect(tmp_path / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(f"CREATE TABLE event ({COLUMNS}, PRIMARY KEY (session, seq))")
    previous, number = GENESIS, count()

    def append() -> None:
        nonlocal previous
        payload = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
        digest = "sha256:" + hashlib.sha256(previous.encode() + payload).hexdigest()
        connection.execute("BEGIN IMMEDIATE")
        row = ("session", next(number), "2026-01-31T08:05:00.000000Z", "CompactEvaluated", 1, payload, previous, digest)
        connection.execute(f"INSERT INTO event ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.execute("COMMIT")
        previous = digest

    timed(APPEND, "raw sqlite3, orjson, hash-chained", append, unit="event", rounds=600, floor=True)
    connection.close()


def test_durable_append(timed: Timed, tmp_path: Path) -> None:
    event = evaluation()
    with SqlLog(tmp_path / "log.db") as log:
        for begun in beginning():
            log.append("session", begun, samples.START)
        what = "SqlLog.append"
        timed(APPEND, what, lambda: log.append("session", event, samples.START), unit="event", rounds=600)
        assert log.head("session").verify_hash()


def test_append_of_the_eventsourcing_library(timed: Timed, tmp_path: Path) -> None:
    pytest.importorskip("eventsourcing", reason="the library to compare with is not installed: pip install -e .[dev]")
    from eventsourcing.application import Application
    from eventsourcing.domain import Aggregate, event

    class Session(Aggregate):  # type: ignore[misc]
        @event("Recorded")  # type: ignore[misc]
        def record(self, fields: dict[str, Any]) -> None:
            pass

    database = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(tmp_path / "theirs.db")}
    app, session, fields = Application(env=database), Session(), orjson.loads(payload_of(evaluation()))
    app.save(session)

    def append() -> None:
        session.record(fields=fields)
        app.save(session)

    timed(APPEND, "eventsourcing: Application.save on SQLite", append, unit="event", rounds=600)
    app.close()


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("decoder", [json.loads, orjson.loads], ids=["json", "orjson"])
def test_bare_decoding(timed: Timed, log: tuple[SqlLog, int], decoder: Callable[[bytes], Any]) -> None:
    recorded, size = log
    payloads = [row[5] for row in recorded.rows()]

    def decode() -> None:
        for payload in payloads:
            decoder(payload)

    what = f"{decoder.__module__}.loads of the payloads in memory, {size:,} events"
    smallest = size == 10 * EVENTS and decoder is json.loads
    timed(READ, what, decode, units=size, unit="event", rounds=7, floor=smallest)


def test_reading_and_folding_every_session(timed: Timed, log: tuple[SqlLog, int]) -> None:
    recorded, size = log

    def read() -> int:
        return sum(read_history(recorded, session).state.length for session in recorded.sessions())

    assert timed(READ, f"hashes, decoding, fold: {size:,} events", read, units=size, unit="event", rounds=3) == size


def test_verifying_the_log(timed: Timed, log: tuple[SqlLog, int]) -> None:
    recorded, size = log
    what = f"opmend verify (hashes, decoding, canonical form, blobs, fold): {size:,} events"
    assert timed(READ, what, lambda: verify(recorded), units=size, unit="event", rounds=3) == []


def test_bare_decoding_of_a_long_session(timed: Timed, long_session: tuple[SqlLog, int]) -> None:
    recorded, size = long_session
    payloads = [row[5] for row in recorded.rows()]

    def decode() -> None:
        for payload in payloads:
            orjson.loads(payload)

    what = f"orjson.loads of the payloads, {size:,} events"
    timed(LONG, what, decode, units=size, unit="event", rounds=30, floor=size < 10_000)


def test_reading_a_long_session(timed: Timed, long_session: tuple[SqlLog, int]) -> None:
    recorded, size = long_session
    (name,) = recorded.sessions()
    what = f"hashes, decoding, fold: {size:,} events"
    history = timed(LONG, what, lambda: read_history(recorded, name), units=size, unit="event", rounds=7)
    assert history.state.length == size
