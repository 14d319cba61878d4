"""Material for the log's tests: one event of every type, a legal little session, and a raw way into the database."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from events import types as t
from events.canonical import digest_of
from events.log import SqlLog

START = datetime(2026, 1, 31, 8, 5, tzinfo=UTC)
SOURCE = b'extern "C" __global__ __aicore__ void add() {}  // \xe5\x8a\xa0\xe6\xb3\x95\n'
MANIFEST = orjson.dumps({"add.cpp": digest_of(SOURCE)}, option=orjson.OPT_SORT_KEYS)
CANDIDATE = digest_of(MANIFEST)
TEXT = b"a brief, a log, a response\n"
NOTE = digest_of(TEXT)
ELSEWHERE = digest_of(b"not in the blob store")

CASE = t.CaseResult(
    index=3,
    passed=False,
    dtype="float16",
    shape=(7, 129),
    descriptor={"attrs": {"eps": 1e-5, "axis": [0, -1]}, "shape": [7, 129], "limit": float("inf")},
    mere=float("nan"),
    mare=float("inf"),
    match_ratio=0.25,
    error=1.0,
    reason="Zeilen ≥ 1 falsch – 尾块 ✗",
    features=(t.Feature(name="tail-only", strength=0.9, facts={"min": float("-inf"), "n": 3.0}, detail="last block"),),
    launches=("add<<<8>>>",),
    seconds=0.125,
)
EVIDENCE = (t.Evidence(check="wrapper", outcome="passed"), t.Evidence(check="spy", outcome="skipped", detail="later"))


def opened() -> t.SessionOpened:
    cases = t.CaseSetRef(digest=ELSEWHERE, count=1)
    return t.SessionOpened(
        task=t.TaskRef(
            name="add", path="examples/add", layout="direct", digest=ELSEWHERE, compact=cases, full=cases,
            coverage_equivalent=False, warnings=("umlaut: ü",),
        ),
        candidate=CANDIDATE,
        configuration=t.Configuration(tolerance="cann-ecosystem/1", seed=2**62),
        worker=t.WorkerIdentity(kind="rules", name="rules", parameters={"limit": "3"}),
        knowledge=ELSEWHERE,
        toolchain={"compiler": "g++ 12", "flags": "-O2"},
        isolation={"network": "namespace"},
        engine="0.1.0",
    )  # fmt: skip


def every_event() -> list[t.Event]:
    """One event of every type of the catalogue, with as many fields set as it has. Not a legal order."""
    numbers: dict[str, Any] = {"attempt": 1, "candidate": CANDIDATE}
    evaluation: dict[str, Any] = {
        **numbers,
        "tolerance": "cann-ecosystem/1",
        "passed": False,
        "cases": (CASE,),
        "evidence": EVIDENCE,
    }
    finding = t.SanitizerFinding(
        kind="gm-out-of-bounds", api="DataCopy", file="add.cpp", line=7, message="32 bytes past"
    )
    return [
        opened(),
        t.SessionResumed(engine="0.1.1", toolchain={}, isolation={}),
        t.ForensicsRecorded(
            **numbers, features=CASE.features, ruled_out=("races",), brief=NOTE,
            mechanisms=(t.Mechanism(name="tail", score=float("-inf"), because=("tail-only",)),),
        ),
        t.ProbePlanned(attempt=1, request={"tensor": "xLocal", "stats": ["min", "max"], "at": {"core": 0}}),
        t.ProbeRecorded(attempt=1, result=NOTE, summary="NaN in tile 3"),
        t.ConversationStarted(conversation=1, attempt=1, brief=NOTE),
        t.TurnStarted(conversation=1, turn=1, request=NOTE, model="m"),
        t.TurnTaken(conversation=1, turn=1, usage=t.Usage(input=10, output=None), response=NOTE, model="m", stop="end"),
        t.KnowledgeRetrieved(attempt=1, snapshot=ELSEWHERE, entries=(("VEC-02", 0.75, "tail-only"),)),
        t.PatchProposed(
            **numbers, base=CANDIDATE, diff=NOTE, files=("add.cpp",), pattern="VEC-02", rationale="reset the mask"
        ),
        t.PatchRefused(attempt=1, reason="outside kernel/", files=("../model.py",), proposal=NOTE),
        t.CompileFinished(
            **numbers, passed=False, log=NOTE, artifact=ELSEWHERE, static=EVIDENCE, seconds=1.5,
            first_error=t.CompilerError(file="add.cpp", line=3, message="expected ';'"),
        ),
        t.CompactEvaluated(**evaluation, sanitizer=(finding,), blocking=("gm-out-of-bounds",), seconds=2.0),
        t.FullEvaluated(**evaluation),
        t.IntegrityJudged(**numbers, verdict="undetermined", evidence=EVIDENCE, settled_by="wrapper"),
        t.CheckpointSaved(**numbers),
        t.RolledBack(attempt=1, restored=CANDIDATE),
        t.SessionAccepted(**numbers),
        t.BudgetExhausted(bound="wall_seconds", limit=float("inf"), used=1.0),
        t.SessionExhausted(reason="attempts", best=CANDIDATE),
        t.PostHocEvaluated(
            **evaluation, of="s", head=ELSEWHERE, which="full", toolchain={"compiler": "g++ 13"}, isolation={},
            engine="0.1.0",
        ),
        t.SessionAborted(reason="interrupted", detail="Ctrl-C"),
    ]  # fmt: skip


def legal_session() -> list[t.Event]:
    """A near-miss that turns out to be right: the shortest accepted session."""
    evaluation: dict[str, Any] = {"attempt": 0, "candidate": CANDIDATE, "tolerance": "cann-ecosystem/1", "passed": True}
    good = (t.CaseResult(index=0, passed=True, dtype="float16", shape=(8,), match_ratio=1.0, error=0.0),)
    return [
        opened(),
        t.CompileFinished(attempt=0, candidate=CANDIDATE, passed=True, log=NOTE),
        t.CompactEvaluated(**evaluation, cases=good),
        t.FullEvaluated(**evaluation, cases=good),
        t.IntegrityJudged(attempt=0, candidate=CANDIDATE, verdict="clean", evidence=EVIDENCE, settled_by="spy"),
        t.CheckpointSaved(attempt=0, candidate=CANDIDATE),
        t.SessionAccepted(attempt=0, candidate=CANDIDATE),
    ]


def put_blobs(log: SqlLog) -> None:
    for data in (SOURCE, MANIFEST, TEXT):
        log.put(data)


def record(log: SqlLog, session: str, events: list[t.Event]) -> None:
    """Append `events`, a second apart."""
    for number, event in enumerate(events):
        log.append(session, event, START + timedelta(seconds=number))


def raw(path: Path) -> sqlite3.Connection:
    """The database with its triggers dropped, as somebody who wants to change the past would open it."""
    connection = sqlite3.connect(path, isolation_level=None)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


@contextmanager
def unprivileged() -> Iterator[None]:
    """Without root's power to ignore file permissions, if the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """A folder that every user may enter (pytest's own are private to the user that runs it)."""
    folder = Path(tempfile.mkdtemp(prefix="opmend-log-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
