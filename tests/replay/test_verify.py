"""`verify` is silent on what was recorded and names the event after anything in it was changed."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from events import types as t
from events.canonical import digest_of
from events.envelope import GENESIS, chain_hash, seal
from events.errors import LogTooNew, NoLogYet, NoSuchSession
from events.log import SqlLog
from replay.verify import Finding
from replay.verify import verify as verify_all
from tests.events.samples import (
    MANIFEST,
    NOTE,
    SOURCE,
    START,
    every_event,
    legal_session,
    put_blobs,
    raw,
    record,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.db"
    with SqlLog(path) as log:
        put_blobs(log)
        record(log, "s", legal_session())
        record(log, "t", legal_session()[:2])
    return path


@pytest.fixture
def log(path: Path) -> Iterator[SqlLog]:
    with SqlLog(path) as log:
        yield log


@pytest.fixture
def past(path: Path) -> Iterator[sqlite3.Connection]:
    connection = raw(path)
    connection.execute("PRAGMA synchronous=OFF")
    yield connection
    connection.close()


def verify(log: SqlLog, *arguments: Any, **options: Any) -> list[Finding]:
    """`verify`, but for the triggers that these tests have dropped."""
    return [finding for finding in verify_all(log, *arguments, **options) if "trigger" not in finding.message]


def kinds(findings: list[Finding]) -> set[tuple[str, int | None, str]]:
    return {(finding.session, finding.seq, finding.kind) for finding in findings}


def test_a_good_log_is_silent(log: SqlLog) -> None:
    assert verify(log) == []
    assert verify(log, "s", expected_head=log.head("s").hash) == []


def test_a_log_with_every_event_type_is_silent(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.db") as log:
        put_blobs(log)
        record(log, "all", every_event())
        assert verify(log, legality=list) == []


def test_any_changed_byte_of_any_payload_names_its_event(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    events = [*legal_session(), *every_event()[6:9], *every_event()[15:]]
    with SqlLog(path) as log:
        put_blobs(log)
        record(log, "s", events)
        past = raw(path)
        past.execute("PRAGMA synchronous=OFF")
        missed = []
        for seq, payload in past.execute("SELECT seq, payload FROM event ORDER BY seq").fetchall():
            for place in range(len(payload)):
                changed = bytearray(payload)
                changed[place] ^= 1 << (place % 8)
                past.execute("UPDATE event SET payload = ? WHERE seq = ?", (bytes(changed), seq))
                named = {finding.seq for finding in verify(log, "s", legality=_nothing)}
                if named != {seq}:
                    missed.append((seq, place, named))
            past.execute("UPDATE event SET payload = ? WHERE seq = ?", (payload, seq))
        assert missed == []
        assert verify(log, legality=_nothing) == []
        past.close()


@pytest.mark.parametrize("column", ["session", "recorded_at", "type", "previous", "hash"])
@pytest.mark.parametrize("seq", [0, 3, 6])
def test_any_changed_byte_of_the_envelope_is_found(
    log: SqlLog, past: sqlite3.Connection, column: str, seq: int
) -> None:
    where = "WHERE session = 's' AND seq = ?"
    (value,) = past.execute(f"SELECT {column} FROM event {where}", (seq,)).fetchone()
    (rowid,) = past.execute(f"SELECT rowid FROM event {where}", (seq,)).fetchone()
    for place in range(len(value)):
        for bit in (0, 7):
            changed = bytearray(value.encode())
            changed[place] ^= 1 << bit
            past.execute(f"UPDATE event SET {column} = CAST(? AS TEXT) WHERE rowid = ?", (bytes(changed), rowid))
            found = verify(log)
            assert found, (place, bit)
            if column != "session":
                assert seq in {finding.seq for finding in found if finding.session == "s"}
    past.execute(f"UPDATE event SET {column} = ? WHERE rowid = ?", (value, rowid))
    assert verify(log) == []


@pytest.mark.parametrize("column", ["seq", "recorded_at", "type", "version", "payload", "previous", "hash"])
@pytest.mark.parametrize("value", ["'x'", "x'ff00'", "-1", "99", "1e300", "''"])
def test_a_value_of_the_wrong_type_is_a_finding(log: SqlLog, past: sqlite3.Connection, column: str, value: str) -> None:
    past.execute(f"UPDATE event SET {column} = {value} WHERE session = 's' AND seq = 3")
    assert any(finding.session == "s" for finding in verify(log))


def test_an_event_taken_out_of_the_middle_is_missed(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("DELETE FROM event WHERE session = 's' AND seq IN (2, 3)")
    found = verify(log)
    assert kinds(found) == {("s", 2, "sequence"), ("s", 4, "link")}
    assert "events 2 to 3 are missing" in str(found[0])


def test_the_start_cut_off_is_missed(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("DELETE FROM event WHERE session = 's' AND seq = 0")
    assert kinds(verify(log, "s")) == {("s", 0, "sequence"), ("s", 1, "link")}


def test_a_deleted_event_with_the_rest_renumbered_is_found(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("DELETE FROM event WHERE session = 's' AND seq = 5")
    past.execute("UPDATE event SET seq = 5 WHERE session = 's' AND seq = 6")
    assert kinds(verify(log, "s", legality=list)) == {("s", 5, "link"), ("s", 5, "hash")}


def test_the_end_cut_off_is_found_by_a_published_head(log: SqlLog, past: sqlite3.Connection) -> None:
    head = log.head("s").hash
    past.execute("DELETE FROM event WHERE session = 's' AND seq = 6")
    assert verify(log, "s") == []
    assert kinds(verify(log, "s", expected_head=head)) == {("s", None, "head")}


def test_two_events_swapped_are_named(log: SqlLog, past: sqlite3.Connection) -> None:
    for old, new in ((2, -9), (3, 2), (-9, 3)):
        past.execute("UPDATE event SET seq = ? WHERE session = 's' AND seq = ?", (new, old))
    found = kinds(verify(log, legality=list))
    assert {("s", 2, "hash"), ("s", 2, "link"), ("s", 3, "hash"), ("s", 3, "link"), ("s", 4, "link")} == found


def test_an_event_that_is_there_twice_is_named(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("CREATE TABLE copy AS SELECT * FROM event")
    past.execute("INSERT INTO copy SELECT * FROM event WHERE session = 's' AND seq = 3")
    past.execute("DROP TABLE event")
    past.execute("ALTER TABLE copy RENAME TO event")
    assert ("s", 3, "sequence") in kinds(verify(log))


def test_an_event_moved_to_another_session_is_found(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("UPDATE event SET session = 'u' WHERE session = 't'")
    assert {("u", 0, "hash"), ("u", 1, "hash")} <= kinds(verify(log))


def test_a_forged_event_with_its_hash_redone_breaks_the_next_link(log: SqlLog, past: sqlite3.Connection) -> None:
    old = list(log.read("s"))[4]
    judged = t.IntegrityJudged(attempt=0, candidate=_candidate(), verdict="tainted", evidence=(), settled_by="me")
    forged = seal("s", 4, judged, START, old.previous)
    past.execute("UPDATE event SET payload = ?, hash = ?, recorded_at = ? WHERE session = 's' AND seq = 4",
                 (forged.payload, forged.hash, forged.recorded_at))  # fmt: skip
    assert ("s", 5, "link") in kinds(verify(log, legality=list))


def test_a_payload_that_opmend_would_not_write_so_is_named(path: Path, log: SqlLog, past: sqlite3.Connection) -> None:
    good = next(log.read("s"))
    for payload in (good.payload.replace(b'":', b'": ', 1), good.payload.replace(b'"count":1', b'"count":"1"', 1)):
        assert payload != good.payload
        digest = chain_hash("s", 0, good.recorded_at, good.type, good.version, payload, GENESIS)
        forged = good._replace(payload=payload, hash=digest)
        assert forged.verify_hash()
        past.execute("UPDATE event SET payload = ?, hash = ? WHERE session = 's' AND seq = 0", (payload, digest))
        assert kinds(verify(log, "s", legality=list)) == {("s", 0, "canonical"), ("s", 1, "link")}


def test_an_old_payload_without_a_field_that_was_added_since_is_silent(log: SqlLog, past: sqlite3.Connection) -> None:
    payload = b'{"reason":"r","type":"SessionAborted"}'  # as written before `detail` existed
    event = seal("old", 0, t.SessionAborted(reason="r"), START, GENESIS)
    digest = chain_hash("old", 0, event.recorded_at, event.type, 1, payload, GENESIS)
    row = ("old", 0, event.recorded_at, event.type, 1, payload, GENESIS, digest)
    columns = "session, seq, recorded_at, type, version, payload, previous, hash"
    past.execute(f"INSERT INTO event ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    assert verify(log, "old", legality=list) == []


def test_an_unknown_type_or_version_is_named(log: SqlLog, past: sqlite3.Connection) -> None:
    past.execute("UPDATE event SET type = 'Wrong' WHERE session = 's' AND seq = 1")
    past.execute("UPDATE event SET version = 9 WHERE session = 's' AND seq = 2")
    assert {("s", 1, "payload"), ("s", 1, "hash"), ("s", 2, "payload"), ("s", 2, "hash")} == kinds(verify(log, "s"))


@pytest.mark.parametrize(("data", "says"), [(NOTE, "CompileFinished: "), (digest_of(SOURCE), "file add.cpp: ")])
@pytest.mark.parametrize("change", ["DELETE FROM blob", "UPDATE blob SET data = x'00'", "UPDATE blob SET data = 7"])
def test_a_lost_or_changed_blob_names_the_event(
    log: SqlLog, past: sqlite3.Connection, data: str, says: str, change: str
) -> None:
    past.execute(f"{change} WHERE digest = ?", (data,))
    found = verify(log, "s")
    assert {finding.kind for finding in found} == {"blob"}
    assert 1 in {finding.seq for finding in found}
    assert any(says in finding.message and data in finding.message for finding in found)


def test_a_candidate_without_a_manifest_is_named(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.db") as log:
        odd = log.put(b"[1, 2]")
        log.append("s", t.CheckpointSaved(attempt=0, candidate=odd), START)
        assert ["no readable manifest" in finding.message for finding in verify(log, legality=list)] == [True]


def test_a_sequence_the_machine_does_not_allow_names_the_event(tmp_path: Path) -> None:
    with SqlLog(tmp_path / "log.db") as log:
        put_blobs(log)
        record(log, "s", [*legal_session()[:2], *legal_session()[6:]])
        record(log, "t", legal_session()[1:2])
        assert kinds(verify(log)) == {("s", 2, "illegal"), ("t", 0, "illegal")}


def test_a_fold_that_breaks_is_a_finding_and_not_a_crash(log: SqlLog) -> None:
    def broken(events: object) -> None:
        raise KeyError("attempt")

    assert kinds(verify(log, legality=broken)) == {("s", None, "illegal"), ("t", None, "illegal")}


def test_damage_to_the_database_file_itself_never_raises(path: Path, tmp_path: Path) -> None:
    whole, random_ = path.read_bytes(), random.Random(7)
    for number in range(150):
        damaged = bytearray(whole)
        for _ in range(random_.choice((1, 4, 64))):
            damaged[random_.randrange(len(damaged))] ^= 1 << random_.randrange(8)
        if number % 5 == 0:
            del damaged[random_.randrange(len(damaged)) :]
        copy = tmp_path / f"copy{number}.db"
        copy.write_bytes(damaged)
        # A schema number or the size of the file may be hit: that is said, with its own exit code.
        with suppress(LogTooNew, NoLogYet), SqlLog(copy) as log:
            verify(log)


def test_what_is_not_there_is_said(path: Path, log: SqlLog, tmp_path: Path) -> None:
    with pytest.raises(NoSuchSession, match="no session x"):
        verify(log, "x")
    with pytest.raises(NoLogYet, match="no log at"):
        verify(SqlLog(tmp_path / "elsewhere.db"))
    with pytest.raises(ValueError, match="name it"):
        verify(log, expected_head=GENESIS)


def _nothing(events: object) -> None:
    """No legality: the byte is to be found by the log itself."""


def _candidate() -> str:
    return digest_of(MANIFEST)
