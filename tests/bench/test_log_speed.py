"""The log: what one durable event costs, and what reading a log back costs, beside SQLite and orjson alone."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import astuple
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
from tests.bench.conftest import Timed
from tests.events import samples

APPEND = "append one event durably (an evaluation of 4 cases; WAL, synchronous=FULL)"
READ = "read a log back (sessions of 100 events, 20 attempts each)"
LONG = "read one session back (2,000 attempts at the larger size; the default bound is 5)"
FAILED: dict[str, Any] = {"candidate": samples.CANDIDATE, "tolerance": "cann-ecosystem/1", "passed": False}
SESSION_EVENTS = 100


def attempt(number: int) -> list[t.Event]:
    """An attempt that fails its compact cases, with the forensics that led to it."""
    candidate = samples.CANDIDATE
    return [
        t.ForensicsRecorded(
            attempt=number - 1, candidate=candidate, features=samples.CASE.features, mechanisms=(), brief=samples.NOTE
        ),
        t.PatchProposed(
            attempt=number, candidate=candidate, base=candidate, diff=samples.NOTE, files=("add.cpp",), rationale="why"
        ),
        t.CompileFinished(attempt=number, candidate=candidate, passed=True, log=samples.NOTE),
        t.CompactEvaluated(attempt=number, cases=(samples.CASE,) * 4, **FAILED),
        t.IntegrityJudged(
            attempt=number, candidate=candidate, verdict="undetermined", evidence=samples.EVIDENCE, settled_by="spy"
        ),
    ]


def stream(length: int) -> list[t.Event]:
    events = [samples.opened(), *attempt(0)[2:]]
    for number in count(1):
        if len(events) >= length:
            return events[:length]
        events += attempt(number)
    raise AssertionError


def write_log(path: Path, sessions: int, length: int) -> SqlLog:
    """A log as the engine would have written it, in one transaction instead of one for each event."""
    log = SqlLog(path)
    samples.put_blobs(log)
    log.close()
    events = stream(length)
    with sqlite3.connect(path) as connection:
        for number in range(sessions):
            previous = GENESIS
            for seq, event in enumerate(events):
                moment = samples.START + timedelta(seconds=seq)
                envelope = seal(f"session{number:05d}", seq, event, moment, previous)
                previous = envelope.hash
                columns = "session, seq, recorded_at, type, version, payload, previous, hash"
                connection.execute(f"INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(envelope))
    connection.close()
    return log


@pytest.fixture(scope="module", params=[10_000, 40_000])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlLog, int]:
    path = tmp_path_factory.mktemp("log") / "log.db"
    return write_log(path, request.param // SESSION_EVENTS, SESSION_EVENTS), request.param


@pytest.fixture(scope="module", params=[2_500, 10_000])
def long_session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlLog, int]:
    return write_log(tmp_path_factory.mktemp("log") / "log.db", 1, request.param), request.param


# ---------------------------------------------------------------- writing


def test_raw_append(timed: Timed, tmp_path: Path) -> None:
    payload = payload_of(stream(4)[2])
    connection = sqlite3.connect(tmp_path / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL").fetchall()
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE event (seq INTEGER PRIMARY KEY, payload BLOB, previous TEXT, hash TEXT)")
    previous, number = GENESIS, count()

    def append() -> None:
        nonlocal previous
        digest = hashlib.sha256(previous.encode() + payload).hexdigest()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO event VALUES (?, ?, ?, ?)", (next(number), payload, previous, digest))
        connection.execute("COMMIT")
        previous = digest

    timed(APPEND, "raw sqlite3, payload ready, hash-chained", append, unit="event", rounds=400, floor=True)
    connection.close()


def test_durable_append(timed: Timed, tmp_path: Path) -> None:
    event = stream(4)[2]
    with SqlLog(tmp_path / "log.db") as log:
        log.append("session", samples.opened(), samples.START)
        what = "SqlLog.append"
        timed(APPEND, what, lambda: log.append("session", event, samples.START), unit="event", rounds=400)
        assert log.head("session").verify_hash()


# ---------------------------------------------------------------- reading


def test_bare_decoding(timed: Timed, log: tuple[SqlLog, int]) -> None:
    recorded, size = log
    payloads = [row[5] for row in recorded.rows()]

    def decode() -> None:
        for payload in payloads:
            orjson.loads(payload)

    what = f"orjson.loads of the payloads, {size:,} events"
    timed(READ, what, decode, units=size, unit="event", rounds=15, floor=size == 10_000)


def test_reading_and_folding_every_session(timed: Timed, log: tuple[SqlLog, int]) -> None:
    recorded, size = log

    def read() -> int:
        return sum(read_history(recorded, session).state.length for session in recorded.sessions())

    assert timed(READ, f"hashes, decoding, fold: {size:,} events", read, units=size, unit="event", rounds=3) == size


def test_verifying_the_log(timed: Timed, log: tuple[SqlLog, int]) -> None:
    recorded, size = log
    what = f"opmend verify (also blobs, canonical form): {size:,} events"
    assert timed(READ, what, lambda: verify(recorded), units=size, unit="event", rounds=3) == []


def test_bare_decoding_of_a_long_session(timed: Timed, long_session: tuple[SqlLog, int]) -> None:
    recorded, size = long_session
    payloads = [row[5] for row in recorded.rows()]

    def decode() -> None:
        for payload in payloads:
            orjson.loads(payload)

    what = f"orjson.loads of the payloads, {size:,} events"
    timed(LONG, what, decode, units=size, unit="event", rounds=30, floor=size == 2_500)


def test_reading_a_long_session(timed: Timed, long_session: tuple[SqlLog, int]) -> None:
    recorded, size = long_session
    (name,) = recorded.sessions()
    what = f"hashes, decoding, fold: {size:,} events"
    history = timed(LONG, what, lambda: read_history(recorded, name), units=size, unit="event", rounds=7)
    assert history.state.length == size
