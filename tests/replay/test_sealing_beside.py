"""An export carries the evaluations made after its session, in the stream beside it; both verify, or none comes in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from events import types as t
from events.log import SqlLog
from replay.shadow.derive import _holds
from replay.verify import verify
from statemachine.posthoc import covers, legal
from tests.conftest import Opmend
from tests.events.samples import CANDIDATE, START, legal_session, opened, put_blobs, raw, record

BESIDE = "posthoc:good"


def made_after(log: SqlLog, of: str = "good", head: str | None = None) -> t.PostHocEvaluated:
    case = t.CaseResult(index=0, passed=True, dtype="float16", shape=(8,), match_ratio=1.0, error=0.0)
    return t.PostHocEvaluated(
        attempt=0, candidate=CANDIDATE, tolerance="cann-ecosystem/1", passed=True, cases=(case,), of=of,
        head=head or log.head("good").hash, which="full", toolchain={}, isolation={}, engine="0.1.0",
    )  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqlLog]:
    with SqlLog(tmp_path / "log.db") as log:
        put_blobs(log)
        record(log, "good", legal_session())
        record(log, "other", legal_session())
        record(log, BESIDE, [made_after(log), made_after(log)])
        record(log, "posthoc:other", [made_after(log, "other", log.head("other").hash)])
        yield log


def test_an_export_brings_the_evaluations_made_after_its_session(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert verify(log) == []
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with SqlLog(tmp_path / "f") as file:
        assert sorted(file.sessions()) == ["good", BESIDE]
        assert [(row[0], row[1]) for row in file.receipts()] == [("good", 7), (BESIDE, 2)]
    assert (opmend("verify", tmp_path / "f").code, opmend("replay", tmp_path / "f").code) == (0, 0)
    new = tmp_path / "new.db"
    added = [opmend("import", tmp_path / "f", "--log", new, "--json").lines for _ in range(2)]
    assert [{line["session"]: line["added"] for line in lines} for lines in added] == [
        {"good": 7, BESIDE: 2},
        {"good": 0, BESIDE: 0},
    ]
    with SqlLog(new) as target:
        assert list(target.read(BESIDE)) == list(log.read(BESIDE))
        assert verify(target) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (f"DELETE FROM event WHERE session = '{BESIDE}' AND seq = 1", "the end was cut off"),
        (f"DELETE FROM event WHERE session = '{BESIDE}'", "the session is not in the log"),
        (
            f"UPDATE event SET payload = CAST(payload || ' ' AS BLOB) WHERE session = '{BESIDE}'",
            "hash does not match",
        ),
        ("DELETE FROM event WHERE session = 'good' AND seq = 6", "speaks of another past of session good"),
    ],
)
def test_damage_in_the_stream_beside_is_found_and_nothing_is_imported(
    opmend: Opmend, log: SqlLog, tmp_path: Path, damage: str, says: str
) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with closing(raw(tmp_path / "f")) as past:
        past.execute(damage)
    done = opmend("verify", tmp_path / "f")
    assert (done.code, says in done.out) == (3, True)
    assert opmend("import", tmp_path / "f", "--log", tmp_path / "new.db").code == 3
    assert not (tmp_path / "new.db").exists()


def test_evaluations_of_another_session_or_of_another_past_of_it_are_findings(log: SqlLog) -> None:
    log.append(BESIDE, made_after(log, head="sha256:" + "1" * 64), START)
    speaks = "PostHocEvaluated speaks of"
    record(log, "posthoc:third", [made_after(log)])
    assert [(f.session, f.seq, f.kind, f.message) for f in verify(log)] == [
        (
            BESIDE,
            2,
            "illegal",
            "PostHocEvaluated speaks of another past of session good, or that one is not in the log",
        ),
        ("posthoc:third", 0, "illegal", f"{speaks} session good in the stream of another"),
    ]


def test_another_stream_beside_refuses_the_whole_import(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with SqlLog(tmp_path / "new.db") as target:
        put_blobs(target)
        record(target, BESIDE, [made_after(log).model_copy(update={"seconds": 1.0})])
        done = opmend("import", tmp_path / "f", "--log", tmp_path / "new.db")
        assert (done.code, f"session {BESIDE}" in done.err) == (3, True)
        assert target.sessions() == [BESIDE]


def test_seal_speaks_json_like_every_command(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    done = opmend("seal", "good", "--out", tmp_path / "receipt", "--json")
    assert (done.code, done.last["file"], done.last["length"]) == (0, str(tmp_path / "receipt"), 7)
    assert opmend("seal", "good", "--json").last["head"] == done.last["head"]
    assert opmend("verify", "--receipt", tmp_path / "receipt").code == 0
    with closing(raw(tmp_path / "log.db")) as past:
        past.execute("UPDATE event SET version = 2 WHERE session = 'good' AND seq = 6")
    refused = opmend("seal", "good", "--json")
    assert (refused.code, refused.lines[0]["session"], refused.lines[0]["seq"]) == (3, "good", 6)


@pytest.mark.parametrize(
    ("indices", "excluded", "passed", "says"),
    [
        ((0, 1), (1,), True, "does not cover the cases of the full set of session good"),
        ((0,), (0,), True, "contradicts its own cases"),
        ((), (), True, "contradicts its own cases"),
        ((0, 1), (), True, "does not cover the cases of the full set of session good"),
        ((), (), False, None),
    ],
)
def test_an_evaluation_made_after_says_what_the_counted_cases_of_its_set_say(
    opmend: Opmend, log: SqlLog, indices: tuple[int, ...], excluded: tuple[int, ...], passed: bool, says: str | None
) -> None:
    made = made_after(log)
    left_out = {"status": "excluded", "passed": False, "reason": "the reference fails"}
    cases = tuple(made.cases[0].model_copy(update={"index": i, **(left_out if i in excluded else {})}) for i in indices)
    log.append(BESIDE, made.model_copy(update={"cases": cases, "passed": passed}), START)
    found = verify(log)
    assert (not found) if says is None else any(says in f.message for f in found)
    shadow = opmend("shadow", "good", "--policy", "no-full-eval")
    assert shadow.code == (3 if passed and len(indices) != 1 else 0)


def test_an_excluded_case_beside_is_legal() -> None:
    good = t.CaseResult(index=0, passed=True, dtype="float16", shape=(8,))
    left = good.model_copy(update={"index": 1, "status": "excluded", "passed": False, "reason": "the reference fails"})
    made = t.PostHocEvaluated(
        attempt=0, candidate=CANDIDATE, tolerance="cann-ecosystem/1", passed=True, cases=(good, left), of="good",
        head=CANDIDATE, which="full", toolchain={}, isolation={}, engine="0.1.0",
    )  # fmt: skip
    legal([(START, made)])
    session = opened()
    two = session.task.model_copy(update={"full": session.task.full.model_copy(update={"count": 2})})
    assert covers(made, session.model_copy(update={"task": two}))
    assert not covers(made, session)


def test_a_shadow_that_does_not_hold_names_the_counted_cases() -> None:
    bad = t.CaseResult(index=0, passed=False, dtype="float16", shape=(8,))
    cases = (bad, bad.model_copy(update={"index": 1, "status": "excluded", "reason": "the reference fails"}))
    full = t.FullEvaluated(attempt=0, candidate=CANDIDATE, tolerance="t", passed=False, cases=cases)
    attempt: Any = SimpleNamespace(number=0, full=full, candidate=CANDIDATE)
    record: Any = SimpleNamespace(final=SimpleNamespace(attempts=(attempt,)))
    assert _holds(record, attempt, {}) == (False, "attempt 0 passes 0 of 1 full cases")
