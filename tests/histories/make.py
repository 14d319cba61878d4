"""Made the histories of this folder, once: `python tests/histories/make.py NEW_FOLDER`.

The committed files are evidence that logs of the past stay readable and that damage keeps its name. They are not made
anew when the code changes: a test that fails on one of them has found a change of the format. Hence the new folder.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from sqlalchemy import create_engine, text

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from events import schema  # noqa: E402
from events import types as t  # noqa: E402
from events.canonical import digest_of  # noqa: E402
from events.envelope import GENESIS, seal  # noqa: E402
from events.receipts import receipt_of  # noqa: E402
from tests.events.samples import CANDIDATE, MANIFEST, SOURCE, START, TEXT, legal_session  # noqa: E402
from tests.replay.streams import llm_session  # noqa: E402

COLUMNS = "session, seq, recorded_at, type, version, payload, previous, hash"


def write(path: Path, streams: dict[str, list[t.Event]], version: int = schema.SCHEMA_VERSION) -> dict[str, str]:
    """A log with these sessions in the schema of `version`; returns the head of each."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema.migrate(connection, to=version)
        for data in (SOURCE, MANIFEST, TEXT):
            connection.execute(text("INSERT INTO blob VALUES (:d, :b)"), {"d": digest_of(data), "b": data})
    engine.dispose()
    heads: dict[str, str] = {}
    with closing(sqlite3.connect(path)) as past, past:
        for session, events in streams.items():
            previous = GENESIS
            for seq, event in enumerate(events):
                envelope = seal(session, seq, event, START + timedelta(seconds=seq), previous)
                previous = envelope.hash
                past.execute(f"INSERT INTO event ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", envelope)
            heads[session] = previous
    return heads


def change(path: Path, statement: str) -> None:
    """Do `statement` without the triggers, which are there again afterwards."""
    with closing(sqlite3.connect(path)) as past, past:
        kept = past.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in kept:
            past.execute(f"DROP TRIGGER {name}")
        past.execute(statement)
        for _, create in kept:
            past.execute(create)


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    good = {"accepted": legal_session(), "llm": llm_session(turns=2, attempts=2), "open": legal_session()[:3]}
    write(folder / "good.db", good)
    write(folder / "old_schema.db", good, version=1)
    other_rule = "CAST(replace(payload, 'cann-ecosystem', 'anything-passes') AS BLOB)"
    for name, statement in (
        ("truncated", "DELETE FROM event WHERE session = 'accepted' AND seq > 4"),
        (
            "tampered",
            f"UPDATE event SET payload = {other_rule} WHERE seq = 2",
        ),
    ):
        heads = write(folder / f"{name}.db", good)
        receipt = receipt_of("accepted", 7, heads["accepted"], START, outcome="accepted", candidate=CANDIDATE)
        change(folder / f"{name}.db", statement)
        (folder / f"{name}.receipt.json").write_bytes(receipt.document + b"\n")
    write(folder / "illegal_transition.db", {"hasty": [*legal_session()[:3], *legal_session()[5:]]})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
