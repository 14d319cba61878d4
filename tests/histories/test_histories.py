"""Committed logs: the good ones stay readable, the bad ones fail with the reason they were made for (see make.py)."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from events.log import SqlLog
from events.schema import SCHEMA_VERSION
from replay.history import read_history
from replay.verify import verify
from tests.conftest import Opmend
from tests.events.samples import legal_session, raw

HERE = Path(__file__).parent
FILES = {
    "good.db": "ba401dbff7555a39",
    "illegal_transition.db": "50c70d593187cf3f",
    "old_schema.db": "635f74a41be64b1e",
    "tampered.db": "602995c60f7d1a98",
    "tampered.receipt.json": "b928b693d038dcd3",
    "truncated.db": "9624bbe017eb6869",
    "truncated.receipt.json": "b928b693d038dcd3",
}


@pytest.fixture
def history(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copy(HERE / request.param, tmp_path))


def test_the_files_are_those_that_were_committed() -> None:
    """A golden file that is made anew proves nothing about the past: change this list only on purpose."""
    here = {
        f.name: hashlib.sha256(f.read_bytes()).hexdigest()[:16] for f in sorted(HERE.glob("*.*")) if f.suffix != ".py"
    }
    assert here == FILES


@pytest.mark.parametrize("history", ["good.db", "old_schema.db"], indirect=True)
def test_good_histories_verify_fold_and_can_be_sealed(opmend: Opmend, history: Path) -> None:
    assert (opmend("verify", "--log", history).code, opmend("verify", history).out) == (0, "")
    with SqlLog(history) as log:
        outcomes = {session: read_history(log, session).state.outcome for session in log.sessions()}
    assert outcomes == {"accepted": "accepted", "llm": "accepted", "open": None}
    assert opmend("seal", "llm", "--log", history).code == 0


@pytest.mark.parametrize("history", ["old_schema.db"], indirect=True)
def test_reading_an_old_log_leaves_it_alone_and_writing_brings_it_up(opmend: Opmend, history: Path) -> None:
    before = history.read_bytes()
    with SqlLog(history) as log:
        heads = {session: log.head(session) for session in log.sessions()}
        assert verify(log) == []
    assert history.read_bytes() == before
    with SqlLog(history) as log:
        log.append("open", legal_session()[3], heads["open"].time)
        assert verify(log) == []
        assert {s: log.head(s) for s in ("accepted", "llm")} == {s: heads[s] for s in ("accepted", "llm")}
    with closing(raw(history)) as past:
        assert past.execute("SELECT value FROM meta").fetchall() == [(str(SCHEMA_VERSION),)]


@pytest.mark.parametrize(
    ("history", "session", "kind", "says"),
    [
        ("truncated.db", "accepted", "receipt", "the end was cut off: 5 events are left of the 7"),
        ("tampered.db", "accepted", "hash", "its hash does not match its content"),
        ("illegal_transition.db", "hasty", "illegal", "is not allowed in state compact_passed"),
    ],
    indirect=["history"],
)
def test_bad_histories_fail_with_their_reason(
    opmend: Opmend, history: Path, session: str, kind: str, says: str
) -> None:
    receipt = HERE / f"{history.stem}.receipt.json"
    given = ["--receipt", receipt] if receipt.exists() else []
    done = opmend("verify", "--log", history, *given, "--json")
    assert done.code == 3
    named = [line["message"] for line in done.lines if (line["session"], line["kind"]) == (session, kind)]
    assert [message for message in named if says in message]
    if history.stem == "truncated":  # nothing but the receipt can show it
        assert len(done.lines) == 1
        assert opmend("verify", "--log", history).code == 0
