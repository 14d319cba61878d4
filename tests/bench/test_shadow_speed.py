"""Shadows over a whole log: 2,000 sessions of 300 events under five policies, and whether the cost is linear in events.

Two shapes of session: one that talks (5 attempts, most events are a model's turns) and one that tries (60 attempts of
five events, which is far beyond the default bound of 5). Reading checks every hash; nothing is kept between calls.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import timedelta
from time import perf_counter, process_time
from typing import Any

import orjson
import pytest

from events import types as t
from events.envelope import GENESIS, seal
from events.log import SqlLog
from replay.shadow.commands import read_record
from replay.shadow.derive import derive
from replay.shadow.policy import parse
from replay.shadow.report import row
from tests.bench.conftest import Timed
from tests.events import samples

LENGTH = 300
SESSIONS = (125, 500, 2_000)
POLICIES = [parse(text) for text in ("no-full-eval", "no-anti-cheat", "attempts=3", "patience=3", "progress=0.5")]
GROUP = "shadows: five policies over sessions of 300 events (hashes, decoding, fold, five derivations)"


CASES = 4


SAVED = t.CheckpointSaved(attempt=0, candidate=samples.CANDIDATE)


def opened(attempts: int) -> t.SessionOpened:
    first = samples.opened()
    cases = t.CaseSetRef(digest=samples.ELSEWHERE, count=CASES)
    full = t.CaseSetRef(digest=samples.NOTE, count=CASES)
    task = first.task.model_copy(update={"compact": cases, "full": full})
    bounds = t.Bounds(attempts=attempts)
    configuration = first.configuration.model_copy(update={"bounds": bounds})
    return first.model_copy(update={"task": task, "configuration": configuration})


def attempt(number: int) -> list[t.Event]:
    """The forensics that lead to an attempt, and the attempt: it fails all of its compact cases."""
    numbers: dict[str, Any] = {"attempt": number, "candidate": samples.CANDIDATE}
    cases = tuple(samples.CASE.model_copy(update={"index": index}) for index in range(CASES))
    return [
        t.ForensicsRecorded(
            attempt=number - 1,
            candidate=samples.CANDIDATE,
            features=samples.CASE.features,
            mechanisms=(),
            brief=samples.NOTE,
        ),
        t.PatchProposed(
            **numbers, base=samples.CANDIDATE, diff=samples.NOTE, files=("add.cpp",), pattern="P", rationale="why"
        ),
        t.CompileFinished(**numbers, passed=True, log=samples.NOTE),
        t.CompactEvaluated(**numbers, tolerance="cann-ecosystem/1", passed=False, cases=cases),
        t.IntegrityJudged(**numbers, verdict="undetermined", evidence=samples.EVIDENCE, settled_by="spy"),
    ]


def trying(length: int) -> list[t.Event]:
    """As many attempts as fill the session."""
    events: list[t.Event] = [opened(60), *attempt(0)[2:], SAVED]
    number = 0
    while len(events) < length - 7:
        number += 1
        events += attempt(number)
    ended = [
        t.BudgetExhausted(bound="attempts", limit=number, used=number),
        t.SessionExhausted(reason=f"the bound on attempts is reached ({number} of {number})", best=samples.CANDIDATE),
    ]
    resumed = t.SessionResumed(engine="0.1.0", toolchain={}, isolation={})
    events[0] = opened(number)
    return [events[0], *[resumed] * (length - len(events) - 2), *events[1:], *ended]


def talking(length: int) -> list[t.Event]:
    """Five attempts, with as many turns before each patch as fill the session."""
    events: list[t.Event] = [opened(5), *attempt(0)[2:], SAVED]
    turns = (length - len(events) - 5 * 5 - 2) // 10
    for number in range(1, 6):
        forensics, *rest = attempt(number)
        talk = [
            event
            for turn in range(1, turns + 1)
            for event in (
                t.TurnStarted(conversation=number, turn=turn, request=samples.NOTE, model="m"),
                t.TurnTaken(
                    conversation=number,
                    turn=turn,
                    usage=t.Usage(input=900, output=80),
                    response=samples.NOTE,
                    model="m",
                ),
            )
        ]
        events += [forensics, *talk, *rest]
    events += [
        t.BudgetExhausted(bound="attempts", limit=5, used=5),
        t.SessionExhausted(reason="attempts", best=samples.CANDIDATE),
    ]
    resumed = t.SessionResumed(engine="0.1.0", toolchain={}, isolation={})
    return [*events[:1], *[resumed] * (length - len(events)), *events[1:]]


SHAPES: dict[str, Callable[[int], list[t.Event]]] = {"talking": talking, "trying": trying}


@pytest.fixture(scope="module", params=[(shape, size) for shape in SHAPES for size in SESSIONS], ids=str)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[SqlLog, str, int]:
    shape, size = request.param
    path = tmp_path_factory.mktemp("log") / "log.db"
    log = SqlLog(path)
    samples.put_blobs(log)
    log.close()
    events = SHAPES[shape](LENGTH)
    assert len(events) == LENGTH
    with sqlite3.connect(path) as connection:
        for number in range(size):
            previous, rows = GENESIS, []
            for seq, event in enumerate(events):
                moment = samples.START + timedelta(seconds=seq)
                envelope = seal(f"session{number:05d}", seq, event, moment, previous)
                previous = envelope.hash
                rows.append(envelope)
            columns = "session, seq, recorded_at, type, version, payload, previous, hash"
            connection.executemany(f"INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    return log, shape, size


def test_bare_decoding(timed: Timed, log: tuple[SqlLog, str, int]) -> None:
    recorded, shape, size = log
    if size != SESSIONS[0]:
        pytest.skip("the floor is measured once for each shape")
    payloads = [line[5] for line in recorded.rows()]

    def decode() -> None:
        for payload in payloads:
            orjson.loads(payload)

    what = f"orjson.loads of the payloads, {shape}"
    timed(f"{GROUP}, {shape}", what, decode, units=size * LENGTH, unit="event", rounds=5, floor=True)


def test_shadows_of_every_session(timed: Timed, log: tuple[SqlLog, str, int]) -> None:
    recorded, shape, size = log
    spent: list[tuple[float, float]] = []

    def shadows() -> list[dict[str, Any]]:
        began, used = perf_counter(), process_time()
        rows = []
        for session in recorded.sessions():
            record, _ = read_record(recorded, session)
            rows += [row(derive(record, policy)) for policy in POLICIES]
        spent.append((perf_counter() - began, process_time() - used))
        return rows

    what = f"{size:,} sessions, {size * LENGTH:,} events, {size * len(POLICIES):,} shadows"
    rounds = 1 if size == SESSIONS[-1] else 2
    rows = timed(f"{GROUP}, {shape}", what, shadows, units=size * LENGTH, unit="event", rounds=rounds)
    wall, processor = min(spent)
    print(f"\n{shape}: {what} in {wall:.1f} s ({processor:.1f} s of processor time)")
    assert len(rows) == size * len(POLICIES)
    assert {r["identifiable"] for r in rows} == {True} or shape == "trying"
