"""Receipts, exports and imports, on the command line: what only a receipt can show, and one file that says it all."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from events import types as t
from events.canonical import digest_of
from events.log import SqlLog
from events.receipts import receipt_of
from events.schema import SCHEMA_VERSION
from replay.bundle import HOLDS
from tests.conftest import Opmend
from tests.events.samples import NOTE, SOURCE, START, TEXT, legal_session, put_blobs, raw, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def log(path: Path) -> Iterator[SqlLog]:
    with SqlLog(path) as log:
        put_blobs(log)
        record(log, "good", legal_session())
        record(log, "other", legal_session()[:3])
        yield log


def restore_triggers(path: Path) -> None:
    from sqlalchemy import text

    from events.schema import tables, triggers

    with SqlLog(path) as log, log._database.writing() as connection:
        for statement in triggers("sqlite", [table.name for table in tables(SCHEMA_VERSION)]).values():
            connection.execute(text(statement))


@pytest.fixture
def keys(opmend: Opmend, tmp_path: Path) -> Path:
    assert opmend("keygen", tmp_path / "key").code == 0
    return tmp_path / "key"


@pytest.fixture
def receipt(opmend: Opmend, log: SqlLog, keys: Path, tmp_path: Path) -> Path:
    assert opmend("seal", "good", "--key", keys, "--out", tmp_path / "receipt.json").code == 0
    return tmp_path / "receipt.json"


# ---------------------------------------------------------------- receipts


def test_a_receipt_says_what_was_sealed(opmend: Opmend, log: SqlLog) -> None:
    said = opmend("seal", "good").last
    head = log.head("good")
    assert (said["session"], said["length"], said["head"], said["outcome"]) == ("good", 7, head.hash, "accepted")
    assert said["candidate"] == legal_session()[-1].candidate  # type: ignore[union-attr]
    assert opmend("seal", "other").last["outcome"] is None


def test_a_good_log_agrees_with_its_receipts_also_when_it_has_grown(
    opmend: Opmend, log: SqlLog, receipt: Path, tmp_path: Path
) -> None:
    assert opmend("seal", "other", "--out", tmp_path / "early").code == 0
    log.append("other", legal_session()[3], START)
    done = opmend("verify", "--receipt", receipt, "--receipt", tmp_path / "early")
    assert (done.code, done.out) == (0, "")
    signed = opmend("verify", "--receipt", receipt, "--public-key", tmp_path / "key.pub")
    assert (signed.code, signed.out) == (0, "")


def regrow(path: Path) -> None:
    """The same session with another time in it, its chain computed anew."""
    with closing(raw(path)) as past:
        past.execute("DELETE FROM event WHERE session = 'good'")
    with SqlLog(path) as log:
        for event in legal_session():
            log.append("good", event, START)


CHANGES = {
    "the end was cut off": lambda path: change(path, "DELETE FROM event WHERE session = 'good' AND seq > 4"),
    "the chain was computed anew": regrow,
    "the session is not in the log": lambda path: change(path, "DELETE FROM event WHERE session = 'good'"),
}


def change(path: Path, statement: str) -> None:
    with closing(raw(path)) as past:
        past.execute(statement)


@pytest.mark.parametrize("says", CHANGES)
def test_what_only_a_receipt_can_show(opmend: Opmend, log: SqlLog, path: Path, receipt: Path, says: str) -> None:
    CHANGES[says](path)
    restore_triggers(path)
    assert opmend("verify").code == 0
    done = opmend("verify", "--receipt", receipt, "--json")
    assert done.code == 3
    assert [(line["session"], line["kind"]) for line in done.lines] == [("good", "receipt")]
    assert says in done.last["message"]


def test_a_log_that_is_gone_shows_against_a_receipt(opmend: Opmend, receipt: Path, tmp_path: Path) -> None:
    done = opmend("verify", "--log", tmp_path / "none.db", "--receipt", receipt)
    assert (done.code, "the session is not in the log" in done.out) == (3, True)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("length", 6, "its digest does not match"),
        ("sealed_at", "2020-01-01T00:00:00.000000Z", "its digest does not match"),
        ("signature", "A" * 86 + "==", "the signature is not that of"),
        ("signature", None, "bears no signature"),
    ],
)
def test_a_changed_receipt_is_not_believed(opmend: Opmend, receipt: Path, field: str, value: object, says: str) -> None:
    receipt.write_bytes(orjson.dumps({**orjson.loads(receipt.read_bytes()), field: value}))
    done = opmend("verify", "--receipt", receipt)
    assert (done.code, says in done.out) == (3, True)


def test_a_receipt_of_another_key_or_without_one_is_not_what_was_asked_for(
    opmend: Opmend, log: SqlLog, receipt: Path, tmp_path: Path
) -> None:
    assert opmend("keygen", tmp_path / "other").code == 0
    assert opmend("seal", "good", "--out", tmp_path / "plain").code == 0
    for one, says in ((receipt, "is signed with"), (tmp_path / "plain", "is not signed")):
        done = opmend("verify", "--receipt", one, "--public-key", tmp_path / "other.pub")
        assert (done.code, says in done.out) == (3, True)
    assert opmend("verify", "--public-key", tmp_path / "other.pub").code == 2


def test_keys_of_openssl_are_taken(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    for command in ("genpkey -algorithm ed25519 -out k.pem", "pkey -in k.pem -pubout -out k.pub"):
        subprocess.run(["openssl", *command.split()], cwd=tmp_path, check=True)
    assert opmend("seal", "good", "--key", tmp_path / "k.pem", "--out", tmp_path / "r").code == 0
    assert opmend("verify", "--receipt", tmp_path / "r", "--public-key", tmp_path / "k.pub").code == 0


def test_what_is_no_key_or_no_receipt_is_a_usage_error(opmend: Opmend, log: SqlLog, keys: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk")
    assert keys.stat().st_mode & 0o777 == 0o600
    assert opmend("keygen", keys).code == 2
    assert opmend("seal", "good", "--key", tmp_path / "junk").code == 2
    assert opmend("verify", "--receipt", tmp_path / "junk").code == 2
    assert opmend("verify", "--receipt", tmp_path / "none").code == 2


def test_a_damaged_session_is_neither_sealed_nor_exported(opmend: Opmend, log: SqlLog, path: Path) -> None:
    change(path, "UPDATE event SET recorded_at = '2026-01-31T08:05:09.000000Z' WHERE session = 'good' AND seq = 4")
    assert opmend("seal", "good").code == 3
    assert opmend("export", "good").code == 3
    assert not Path("good.opmend").exists()


# ---------------------------------------------------------------- one file


def test_an_export_is_one_file_that_verifies_alone_and_can_be_read(
    opmend: Opmend, log: SqlLog, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opmend("export", "good", "--key", keys, "--out", tmp_path / "away" / "good.opmend").code == 0
    assert [file.name for file in (tmp_path / "away").iterdir()] == ["good.opmend"]
    monkeypatch.setenv("OPMEND_LOG", str(tmp_path / "no" / "log.db"))
    monkeypatch.chdir(tmp_path / "away")
    done = opmend("verify", "good.opmend", "--public-key", tmp_path / "key.pub")
    assert (done.code, done.out) == (0, "")
    assert "accepted as it stood" in opmend("replay", "good.opmend", "--explain").out
    assert opmend("sessions", "--log", "good.opmend", "--json").last["session"] == "good"
    assert [file.name for file in (tmp_path / "away").iterdir()] == ["good.opmend"]


def test_an_export_whose_end_was_cut_off_shows_it_by_its_own_receipt(
    opmend: Opmend, log: SqlLog, tmp_path: Path
) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    change(tmp_path / "f", "DELETE FROM event WHERE seq > 4")
    done = opmend("verify", tmp_path / "f")
    assert (done.code, "good: receipt: the end was cut off" in done.out) == (3, True)


def test_any_changed_byte_of_a_stored_receipt_is_found(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    from replay.sealing import check_stored

    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with SqlLog(tmp_path / "f") as export, closing(raw(tmp_path / "f")) as past:
        past.execute("PRAGMA synchronous=OFF")
        ((document,),) = past.execute("SELECT document FROM receipt").fetchall()
        for place in range(0, len(document), 5):
            changed = bytearray(document)
            changed[place] ^= 1 << (place % 8)
            past.execute("UPDATE receipt SET document = ?", (bytes(changed),))
            assert check_stored(export), place


def test_import_brings_all_and_again_nothing(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    new = tmp_path / "new.db"
    first = opmend("import", tmp_path / "f", "--log", new, "--json")
    again = opmend("import", tmp_path / "f", "--log", new, "--json")
    assert (first.code, first.last["added"], again.code, again.last["added"]) == (0, 7, 0, 0)
    assert (opmend("verify", "--log", new).code, opmend("verify", "good", "--log", new).code) == (0, 0)
    with SqlLog(new) as target:
        assert list(target.read("good")) == list(log.read("good"))
        assert target.get(NOTE) == TEXT


def test_a_session_that_went_on_is_brought_up_to_date(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    assert opmend("export", "other", "--out", tmp_path / "f3").code == 0
    log.append("other", legal_session()[3], START)
    assert opmend("export", "other", "--out", tmp_path / "f4").code == 0
    added = [opmend("import", tmp_path / name, "--log", new, "--json").last["added"] for name in ("f3", "f4", "f3")]
    assert added == [3, 1, 0]
    assert opmend("verify", "--log", new).code == 0


def test_another_history_of_the_same_name_is_refused_whole(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with SqlLog(tmp_path / "new.db") as target:
        target.append("good", legal_session()[0], START)
        target.append("good", t.SessionAborted(reason="r"), START)
        done = opmend("import", tmp_path / "f", "--log", tmp_path / "new.db")
        assert (done.code, "session good" in done.err, "from event 1 (CompileFinished) on" in done.err) == (
            3,
            True,
            True,
        )
        assert target.head("good").seq == 1
        assert list(target.blobs()) == []


def test_a_damaged_export_is_not_imported(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    change(tmp_path / "f", "UPDATE blob SET data = x'00' WHERE rowid = 1")
    done = opmend("import", tmp_path / "f", "--log", tmp_path / "new.db")
    assert (done.code, "blob" in done.out) == (3, True)
    assert not (tmp_path / "new.db").exists()


def test_a_file_is_not_overwritten(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("mine")
    assert opmend("export", "good", "--out", tmp_path / "f").code == 5
    assert (tmp_path / "f").read_text() == "mine"


# ---------------------------------------------------------------- redaction


def patched(log: SqlLog) -> bytes:
    """Record session `patched`, which has a diff and a brief; returns the diff."""
    diff, brief = b"--- a diff\n", b"a brief that quotes sources\n"
    candidate = legal_session()[0].candidate  # type: ignore[union-attr]
    case = t.CaseResult(index=0, passed=False, dtype="float16", shape=(8,))
    events = [
        *legal_session()[:2],
        t.CompactEvaluated(attempt=0, candidate=candidate, tolerance="cann-ecosystem/1", passed=False, cases=(case,)),
        t.ForensicsRecorded(attempt=0, candidate=candidate, features=(), mechanisms=(), brief=log.put(brief)),
        t.PatchProposed(attempt=1, base=candidate, candidate=candidate, diff=log.put(diff), files=("add.cpp",)),
    ]
    record(log, "patched", events)
    return diff


@pytest.mark.parametrize(
    ("redact", "gone", "kept"),
    [
        ("prompts", {b"a brief that quotes sources\n"}, {b"--- a diff\n", SOURCE, TEXT}),
        ("sources", {b"a brief that quotes sources\n", b"--- a diff\n", SOURCE, TEXT}, set()),
        ("all", {b"a brief that quotes sources\n", b"--- a diff\n", SOURCE, TEXT}, set()),
    ],
)
def test_redaction_withholds_bytes_and_nothing_else(
    opmend: Opmend, log: SqlLog, tmp_path: Path, redact: str, gone: set[bytes], kept: set[bytes]
) -> None:
    patched(log)
    file = tmp_path / "f"
    assert opmend("export", "patched", "--redact", redact, "--out", file).code == 0
    whole = file.read_bytes()
    assert not [data for data in gone if data in whole]
    with SqlLog(file) as export:
        held = {data for _, data in export.blobs()}
        assert kept <= held and not gone & held
        assert list(export.read("patched")) == list(log.read("patched"))
    done = opmend("verify", file)
    assert (done.code, done.out) == (0, "")
    assert "withheld" in done.err
    explained = opmend("replay", file, "--explain").out
    assert ("withheld" in explained) is (redact != "prompts")


def test_a_redacted_import_says_withheld_until_the_whole_comes(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    diff, new = patched(log), tmp_path / "new.db"
    assert opmend("export", "patched", "--redact", "all", "--out", tmp_path / "redacted").code == 0
    assert opmend("export", "patched", "--out", tmp_path / "whole").code == 0
    assert opmend("import", tmp_path / "redacted", "--log", new).code == 0
    assert "withheld" in opmend("verify", "--log", new).err
    assert opmend("diff", "patched", "--log", new).code == 3
    assert opmend("import", tmp_path / "whole", "--log", new).code == 0
    assert opmend("verify", "--log", new).code == 0
    assert diff.decode().strip() in opmend("replay", "patched", "--explain", "--log", new).out


def test_a_blob_that_was_taken_out_is_not_excused_by_a_receipt_that_does_not_withhold_it(
    opmend: Opmend, log: SqlLog, tmp_path: Path
) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    change(tmp_path / "f", "DELETE FROM blob WHERE rowid = 1")
    done = opmend("verify", tmp_path / "f")
    assert (done.code, "blob" in done.out) == (3, True)


def test_what_another_session_withholds_is_no_excuse(opmend: Opmend, log: SqlLog, path: Path) -> None:
    head = log.head("other")
    change(path, f"DELETE FROM blob WHERE digest = '{digest_of(TEXT)}'")
    restore_triggers(path)
    made_up = receipt_of("other", head.seq + 1, head.hash, START, withheld=(digest_of(TEXT),))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO receipt VALUES (?, ?, ?)", ("other", made_up.length, made_up.document))
    found = [(line["session"], line["kind"]) for line in opmend("verify", "--json").lines]
    assert set(found) == {("good", "blob")}


def test_with_a_key_all_of_an_export_has_to_be_sealed(opmend: Opmend, log: SqlLog, keys: Path, tmp_path: Path) -> None:
    file, public = tmp_path / "f", f"{keys}.pub"
    assert opmend("export", "other", "--key", keys, "--out", file).code == 0
    assert opmend("verify", file, "--public-key", public).code == 0
    with SqlLog(file) as export:
        record(export, "stranger", legal_session())
        for event in legal_session()[3:]:
            export.append("other", event, START)
    assert opmend("verify", file).code == 0
    done = opmend("verify", file, "--public-key", public, "--json")
    assert done.code == 3
    assert [(f["session"], f["seq"], f["kind"]) for f in done.lines] == [
        ("other", 3, "receipt"),
        ("stranger", None, "receipt"),
    ]


def test_every_blob_of_the_catalogue_is_known_to_redaction() -> None:
    from events.blobs import CANDIDATE_FIELDS
    from events.types import _blob_fields

    kinds = [*t.Frozen.__subclasses__(), *t.Evaluated.__subclasses__()]
    named = {
        (str(kind.model_fields["type"].default), field)
        for kind in kinds
        if "type" in kind.model_fields
        for field in _blob_fields(kind)
        if field not in CANDIDATE_FIELDS
    }
    assert named == set(HOLDS)


def test_an_export_is_a_plain_database_file(opmend: Opmend, log: SqlLog, tmp_path: Path) -> None:
    assert opmend("export", "good", "--out", tmp_path / "f").code == 0
    with closing(sqlite3.connect(tmp_path / "f")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("SELECT count(*) FROM event").fetchone() == (7,)
