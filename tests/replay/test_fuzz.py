"""Random damage to a log of many sessions: all of it is found, and no good log is ever blamed.

Each trial takes the whole log (triggers dropped, as who wants to change the past has them), does one random thing to it
and asks `verify`, and the receipts that were kept elsewhere, what is wrong. Then the log is put back. What no check can
show from the log alone (a cut tail, a session that is gone) is asserted to be shown by the receipts.

    OPMEND_FUZZ=10000 python -m pytest tests/replay/test_fuzz.py -s      # all of it, prints the count
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from events.errors import LogTooNew
from events.log import SqlLog
from replay.sealing import check, seal
from replay.verify import Finding, verify
from tests.events.samples import START, legal_session, put_blobs, record
from tests.replay.streams import llm_session

TRIALS = int(os.environ.get("OPMEND_FUZZ", "250"))
SEED = int(os.environ.get("OPMEND_FUZZ_SEED", "2026"))
COLUMNS = ("session", "seq", "recorded_at", "type", "version", "payload", "previous", "hash")

Database = sqlite3.Connection
Damage = Callable[[random.Random, Database], str]


def rowid(rng: random.Random, past: Database, table: str = "event") -> int:
    return int(rng.choice(past.execute(f"SELECT rowid FROM {table} ORDER BY rowid").fetchall())[0])


def other_bytes(rng: random.Random, data: bytes) -> bytes:
    """`data` with a bit flipped, a byte taken out, a byte put in, its end cut off, or a piece of it twice."""
    place = rng.randrange(len(data)) if data else 0
    flipped = data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :] if data else b"x"
    end = rng.randrange(place, len(data)) + 1 if data else 0
    changed = rng.choice(
        [
            flipped,
            data[:place] + data[place + 1 :],
            data[:place] + bytes([rng.randrange(256)]) + data[place:],
            data[:place],
            data[:end] + data[place:end] + data[end:],
        ]
    )
    return changed if changed != data else flipped


def change_value(rng: random.Random, past: Database) -> str:
    """Bytes of one column of one event; numbers by a little or a lot."""
    row, column = rowid(rng, past), rng.choice(COLUMNS)
    (value,) = past.execute(f"SELECT {column} FROM event WHERE rowid = ?", (row,)).fetchone()
    if isinstance(value, int):
        new: object = value + rng.choice([-1, 1, 2**31, -(2**40)])
    else:
        changed = other_bytes(rng, value if isinstance(value, bytes) else value.encode())
        new = changed if column == "payload" else changed.decode("utf-8", "surrogateescape")
        if isinstance(new, str) and not new.isascii():
            new = changed  # not valid text: stored as it is
    past.execute(f"UPDATE OR REPLACE event SET {column} = ? WHERE rowid = ?", (new, row))
    return f"flip in {column}"


def change_type(rng: random.Random, past: Database) -> str:
    row, column = rowid(rng, past), rng.choice(COLUMNS)
    value = rng.choice([0, 1.5, "", "x", b"", b"\xff\x00", 2**62])
    past.execute(f"UPDATE OR REPLACE event SET {column} = ? WHERE rowid = ?", (value, row))
    return f"other value in {column}"


def delete_inside(rng: random.Random, past: Database) -> str:
    """One event, or several in a row, that are not the end of their session."""
    inner = "SELECT session, seq FROM event e WHERE seq < (SELECT MAX(seq) FROM event WHERE session = e.session)"
    session, seq = rng.choice(past.execute(inner).fetchall())
    (last,) = past.execute("SELECT MAX(seq) FROM event WHERE session = ?", (session,)).fetchone()
    past.execute(
        "DELETE FROM event WHERE session = ? AND seq BETWEEN ? AND ?", (session, seq, rng.randint(seq, last - 1))
    )
    return "delete inside"


def cut_tail(rng: random.Random, past: Database) -> str:
    session, last = rng.choice(past.execute("SELECT session, MAX(seq) FROM event GROUP BY session").fetchall())
    past.execute("DELETE FROM event WHERE session = ? AND seq > ?", (session, rng.randrange(last)))
    return "truncate the tail"


def remove_session(rng: random.Random, past: Database) -> str:
    (session,) = rng.choice(past.execute("SELECT DISTINCT session FROM event").fetchall())
    past.execute("DELETE FROM event WHERE session = ?", (session,))
    return "remove a session"


def swap(rng: random.Random, past: Database) -> str:
    """Some columns of two events, which may be of one session or of two."""
    columns = rng.choice([COLUMNS[1:], COLUMNS[2:], *((column,) for column in COLUMNS)])
    first, second = rng.sample(past.execute("SELECT rowid FROM event").fetchall(), 2)
    read = f"SELECT {', '.join(columns)} FROM event WHERE rowid = ?"
    one, two = past.execute(read, first).fetchone(), past.execute(read, second).fetchone()
    put = f"UPDATE OR REPLACE event SET {', '.join(f'{column} = ?' for column in columns)} WHERE rowid = ?"
    for values, row in (([f"free {number}" for number in range(len(one))], first), (one, second), (two, first)):
        past.execute(put, (*values, *row))
    return f"swap {'rows' if len(columns) > 1 else columns[0]}"


def duplicate(rng: random.Random, past: Database) -> str:
    """An event once more: at the end, in another session, or a whole session under another name."""
    row = rowid(rng, past)
    rest = "recorded_at, type, version, payload, previous, hash"
    into = f"INSERT INTO event (session, seq, {rest}) SELECT"
    match rng.randrange(3):
        case 0:
            last = "(SELECT MAX(seq) + 1 FROM event o WHERE o.session = event.session)"
            past.execute(f"{into} session, {last}, {rest} FROM event WHERE rowid = ?", (row,))
        case 1:
            past.execute(f"{into} session || 'x', seq, {rest} FROM event WHERE rowid = ?", (row,))
        case _:
            whole = "session = (SELECT session FROM event WHERE rowid = ?)"
            past.execute(f"{into} session || ' copy', seq, {rest} FROM event WHERE {whole}", (row,))
    return "duplicate"


def damage_blob(rng: random.Random, past: Database) -> str:
    row = rowid(rng, past, "blob")
    digest, data = past.execute("SELECT digest, data FROM blob WHERE rowid = ?", (row,)).fetchone()
    match rng.randrange(4):
        case 0:
            past.execute("DELETE FROM blob WHERE rowid = ?", (row,))
            return "delete a blob"
        case 1:
            past.execute("UPDATE blob SET digest = ? WHERE rowid = ?", (other_bytes(rng, digest.encode()).hex(), row))
            return "rename a blob"
        case 2:
            past.execute("INSERT INTO blob VALUES (?, ?)", (digest[:-1] + ("0" if digest[-1] != "0" else "1"), data))
            return "a blob twice"
        case _:
            past.execute("UPDATE blob SET data = ? WHERE rowid = ?", (other_bytes(rng, data), row))
            return "flip in a blob"


def damage_facts(rng: random.Random, past: Database) -> str:
    match rng.randrange(3):
        case 0:
            past.execute("DELETE FROM meta")
            return "delete a fact"
        case 1:
            past.execute("UPDATE meta SET value = ?", (rng.choice(["0", "1", "x", "", "02", b"2", "-1", "²", "9"]),))
            return "change the schema version"
        case _:
            past.execute("INSERT INTO meta VALUES ('x', 'y')")
            return "add a fact"


DAMAGES: tuple[Damage, ...] = (
    change_value,
    change_value,
    change_type,
    delete_inside,
    cut_tail,
    remove_session,
    swap,
    duplicate,
    damage_blob,
    damage_facts,
)
RECEIPTS_ONLY = {"truncate the tail", "remove a session"}


def contents(past: Database) -> list[list[tuple[object, ...]]]:
    orders = {"event": "session, seq", "blob": "digest", "meta": "key"}
    return [past.execute(f"SELECT * FROM {table} ORDER BY {order}").fetchall() for table, order in orders.items()]


def test_every_corruption_is_found() -> None:
    rng, done, missed = random.Random(SEED), Counter[str](), []
    with SqlLog.in_memory("fuzz") as log:
        put_blobs(log)
        for number in range(4):
            record(log, f"accepted-{number}", legal_session())
            record(log, f"llm-{number}", llm_session(turns=number))
        receipts = [made for session in log.sessions() if (made := seal(log, session, START)[0])]
        assert len(receipts) == 8
        assert verify(log) == []
        past = without_triggers()
        good, before = sqlite3.connect(":memory:"), contents(past)
        past.backup(good)
        for trial in range(TRIALS):
            what, attempt = "", DAMAGES[trial % len(DAMAGES)]
            while contents(past) == before:  # two rows that trade places, a number written as 5.0: the same log
                what = attempt(rng, past)
            found = judged(log)
            if what in RECEIPTS_ONLY:
                assert found == [], "a log cannot show that on its own"
                found = [finding for receipt in receipts for finding in check(log, receipt)]
            done[what] += 1
            if not found:
                missed.append((trial, what))
            good.backup(past)
            if trial % 50 == 0:
                assert judged(log) == [], f"after trial {trial} a good log is blamed"
                assert [finding for receipt in receipts for finding in check(log, receipt)] == []
        past.close()
    print(f"\n{sum(done.values()):,} trials, seed {SEED}, {len(missed)} missed: {dict(sorted(done.items()))}")
    assert missed == []


def without_triggers() -> Database:
    """A connection to the database of the test as somebody who wants to change the past would have it."""
    past = sqlite3.connect("file:/memory%3Afuzz?vfs=memdb", uri=True, isolation_level=None)
    for (name,) in past.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        past.execute(f"DROP TRIGGER {name}")
    return past


def judged(log: SqlLog) -> list[Finding]:
    """What `verify` says, but for the triggers; as a process would that has just opened the log."""
    log._database.ready = log._database._current = False
    try:
        return [finding for finding in verify(log) if "trigger" not in finding.message]
    except LogTooNew as error:  # a version that does not exist yet is refused by name
        return [Finding("", None, "schema", str(error))]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 30)), min_size=1, max_size=3))
def test_no_good_log_is_ever_blamed(sessions: list[tuple[int, int, int]]) -> None:
    """Sessions of any shape, finished or not, with their receipts."""
    with SqlLog.in_memory("good") as log:
        put_blobs(log)
        for number, (turns, attempts, length) in enumerate(sessions):
            record(log, f"s{number}", llm_session(turns, attempts)[:length])
        assert verify(log) == []
        for session in log.sessions():
            receipt, findings = seal(log, session, START)
            assert findings == []
            assert receipt is not None
            assert check(log, receipt) == []
