"""The log: append-only, hash-chained, one writer per session; blobs beside it. SQLite by path, PostgreSQL by URL.

`SqlLog` is the `EventLog` and the `BlobStore` of the engine. Format and guarantees: docs/log-format.md. Importing this
module costs about half a second (SQLModel), so nothing that `cli.py` imports at its top may import it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, insert, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from events.canonical import digest_of
from events.database import Database, memory_of
from events.envelope import FIRST, GENESIS, Envelope, Row, envelope_of, seal
from events.errors import BlobMissing, BlobWithheld, LogBusy, LogConflict, LogCorrupt, LogError, NoLogYet, NoSuchSession
from events.inspection import inspect
from events.ownership import owned
from events.receipts import Receipt, parse
from events.schema import BLOB, EVENT, RECEIPT, tables_of
from events.types import Event

_COLUMNS = "session, seq, recorded_at, type, version, payload, previous, hash"
_NAMES = tuple(_COLUMNS.split(", "))
_TAIL = "SELECT seq, hash, type, recorded_at FROM event WHERE session = ? ORDER BY seq DESC LIMIT 1"
_PUT = f"INSERT INTO event ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_CHUNK = 256


class SqlLog:
    """A log in a database. Nothing is opened or created before the first use; safe to use from several threads.

    `target`: a path, `sqlite:///path`, or another SQLAlchemy URL. `busy_seconds`: how long to wait for a lock.
    Errors: events.errors; every message names the log and the next step.
    """

    def __init__(self, target: str | Path, *, busy_seconds: float = 5.0) -> None:
        self._database = Database(target, busy_seconds)
        self._heads: dict[str, tuple[int, str]] = {}

    @classmethod
    def in_memory(cls, name: str) -> Self:
        """A log in the memory of this process; logs of the same name are one. It ends with the last that is closed."""
        return cls(memory_of(name))

    @property
    def where(self) -> str:
        """The log's place, as messages name it (without a password)."""
        return self._database.where

    # ------------------------------------------------------------ writing

    def append(self, session: str, event: Event, recorded_at: datetime) -> Envelope:
        """Put `event` at the end of `session`, durably, and return it sealed.

        Raises LogBusy when the session's last event is not the one this log object appended or read last.
        """
        _check_name(session)
        with self._database.direct() as raw:
            if raw is not None:
                envelope = self._next(session, event, recorded_at, raw.execute(_TAIL, (session,)).fetchone())
                raw.execute(_PUT, envelope)
        if raw is None:
            with self._database.writing() as connection:
                tail = connection.execute(text(_TAIL.replace("?", ":session")), {"session": session}).first()
                envelope = self._next(session, event, recorded_at, tail)
                self._insert(connection, envelope)
        self._heads[session] = (envelope.seq, envelope.hash)
        return envelope

    def _next(self, session: str, event: Event, recorded_at: datetime, tail: Any) -> Envelope:
        """`event` sealed behind `tail` (seq, hash, type, recorded_at of the last event; None: there is none)."""
        seq, previous = tail[:2] if tail else (FIRST - 1, GENESIS)
        expected = self._heads.get(session)
        if expected is not None and expected != (seq, previous):
            last = f"event {seq} ({tail[2]}, {tail[3]})" if tail else "nothing"
            raise LogBusy(
                f"session {session} has moved on: another engine appended, and the log now ends with {last} where "
                f"event {expected[0]} was expected. Nothing was written: let the other one finish, or stop it, then "
                "resume"
            )
        return seal(session, seq + 1, event, recorded_at, previous)

    @contextmanager
    def writer(self, session: str) -> Iterator[None]:
        """Own `session` for the length of the block; read it inside, not before. Raises LogBusy, naming who has it."""
        _check_name(session)
        self._heads.pop(session, None)
        try:
            if self._database.path:
                folder = self._database.path.with_name(self._database.path.name + ".locks")
                with owned(folder, session):
                    yield
            else:
                with self._database.advisory_lock(session) as taken:
                    if not taken:
                        raise LogBusy(
                            f"session {session} is being worked on by another engine on {self.where}: "
                            "wait for it to end, or stop it and then resume"
                        )
                    yield
        finally:
            self._heads.pop(session, None)

    def put(self, data: bytes) -> str:
        """Keep `data` and return its digest. Putting the same bytes again is harmless."""
        digest = digest_of(data)
        try:
            with self._database.reading() as connection:
                if connection.execute(select(BLOB.c.digest).where(BLOB.c.digest == digest)).first():
                    return digest
        except NoLogYet:
            pass
        with self._database.writing() as connection:
            _keep(connection, digest, data)
        return digest

    def adopt(
        self, envelopes: Sequence[Envelope], blobs: Iterable[bytes], receipts: Iterable[Receipt]
    ) -> dict[str, int]:
        """Take over sessions that were recorded elsewhere, in one transaction; session to how many events were new.

        Events that are here already stay as they are. The caller has verified what it brings, and owns the sessions.
        Raises LogConflict when this log holds another history under one of the names; then nothing is taken over.
        """
        added = dict.fromkeys((envelope.session for envelope in envelopes), 0)
        for session in added:
            _check_name(session)
        with self._database.writing() as connection:
            held = select(EVENT.c.session, EVENT.c.seq, EVENT.c.hash).where(EVENT.c.session.in_(added))
            here: dict[tuple[str, int], str] = {(row[0], row[1]): row[2] for row in connection.execute(held)}
            for envelope in envelopes:
                if here.get((envelope.session, envelope.seq), envelope.hash) != envelope.hash:
                    raise LogConflict(
                        f"session {envelope.session} in {self.where} is another one from event {envelope.seq} "
                        f"({envelope.type}) on: nothing was imported. Import into another log with --log"
                    )
            new = [envelope for envelope in envelopes if (envelope.session, envelope.seq) not in here]
            for envelope in new:
                self._insert(connection, envelope)
                added[envelope.session] += 1
            for data in blobs:
                _keep(connection, digest_of(data), data)
            for receipt in receipts:
                _keep_receipt(connection, receipt)
        for session in added:
            self._heads.pop(session, None)
        return added

    # ------------------------------------------------------------ reading

    def read(self, session: str) -> Iterator[Envelope]:
        """The events of `session` in order, streamed, each only after its place in the chain and its hash hold.

        Raises NoSuchSession; LogCorrupt at the first event that is not what was recorded (`verify` finds all of them).
        """
        last: Envelope | None = None
        for row in self.rows(session):
            last = self._followed(last, envelope_of(row))
            yield last
        if last is None:
            raise NoSuchSession(f"the log {self.where} has no session {session}: `opmend sessions` lists what it has")
        self._heads.setdefault(session, (last.seq, last.hash))

    def read_all(self) -> Iterator[Envelope]:
        """Every event, session after session in opening order. Empty when there is no log yet."""
        for session in self.sessions():
            yield from self.read(session)

    def rows(self, session: str | None = None) -> Iterator[Row]:
        """Raw rows in the order of Envelope's fields, by session and seq, of one session or all; nothing is checked.

        For `verify`: a stored value may have any type and any content. Raises NoLogYet when there is no log.
        """
        where = "" if session is None else " WHERE session = :session"
        query = text(f"SELECT {_COLUMNS} FROM event{where} ORDER BY session, seq")
        with self._database.reading() as connection:
            given = {"session": session} if where else {}
            if self._database.path and connection.connection.driver_connection is not None:
                raw: Any = connection.connection.driver_connection
                yield from raw.execute(str(query), given)  # the same rows, without what SQLAlchemy makes of them
                return
            result = connection.execution_options(yield_per=_CHUNK).execute(query, given)
            if not self._database.memory:
                for row in result:
                    yield tuple(row)
                return
            rows = result.all()  # in memory an open reader would lock the writer out
        yield from map(tuple, rows)

    def blobs(self) -> Iterator[tuple[Any, Any]]:
        """Raw rows of the blob store, (digest, data), in no order; nothing is checked. For `verify`."""
        with self._database.reading() as connection:
            for row in connection.execution_options(yield_per=_CHUNK).execute(text("SELECT digest, data FROM blob")):
                yield row[0], row[1]

    def receipts(self, session: str | None = None) -> list[Row]:
        """Raw rows of the receipts that sessions came with: (session, length, document). For `verify`."""
        where = "" if session is None else " WHERE session = :session"
        query = text(f"SELECT session, length, document FROM receipt{where} ORDER BY session, length")
        with self._database.reading() as connection:
            if "receipt" not in tables_of(connection):
                return []
            return [tuple(row) for row in connection.execute(query, {"session": session} if where else {})]

    def withheld(self, session: str | None = None) -> frozenset[str]:
        """The blobs that, by the receipts the sessions came with, were left out on purpose."""
        names: set[str] = set()
        for _, _, document in self.receipts(session):
            try:
                names.update(parse(bytes(document), "a stored receipt").withheld)
            except (LogError, TypeError):
                continue  # `verify` names it
        return frozenset(names)

    def faults(self) -> list[str]:
        """What is wrong with the tables, triggers and facts of the log itself (events.inspection). For `verify`."""
        with self._database.reading() as connection:
            return inspect(connection)

    def sessions(self) -> Sequence[str]:
        """Session ids in opening order (time of the first event, then order of insertion). Empty if there is no log."""
        try:
            with self._database.reading() as connection:
                tie = "MIN(rowid)" if connection.dialect.name == "sqlite" else "session"
                query = f"SELECT session FROM event GROUP BY session ORDER BY MIN(recorded_at), {tie}"
                return [str(name) for (name,) in connection.execute(text(query))]
        except NoLogYet:
            return []

    def head(self, session: str) -> Envelope:
        """The last event of `session`; its hash vouches for all before it. Raises NoSuchSession."""
        query = text(f"SELECT {_COLUMNS} FROM event WHERE session = :session ORDER BY seq DESC LIMIT 1")
        with self._database.reading() as connection:
            row = connection.execute(query, {"session": session}).first()
        if row is None:
            raise NoSuchSession(f"the log {self.where} has no session {session}: `opmend sessions` lists what it has")
        return envelope_of(tuple(row))

    def get(self, digest: str) -> bytes:
        """The bytes of a blob. Raises BlobMissing, or LogCorrupt when they are not those the digest names."""
        try:
            with self._database.reading() as connection:
                data = connection.execute(text("SELECT data FROM blob WHERE digest = :d"), {"d": digest}).scalar()
        except NoLogYet:
            data = None
        if data is None:
            if self._database.ready and digest in self.withheld():
                raise BlobWithheld(f"blob {digest} was withheld from this log when its session was exported")
            raise BlobMissing(
                f"the log {self.where} has no blob {digest}: it was lost or never recorded; run `opmend verify`"
            )
        if not isinstance(data, bytes | memoryview) or digest_of(bytes(data)) != digest:
            raise LogCorrupt(f"blob {digest} in {self.where} is not what its name says: it was changed after recording")
        return bytes(data)

    def close(self) -> None:
        """Close the connections. The log can be used again afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------ parts

    def _followed(self, last: Envelope | None, envelope: Envelope) -> Envelope:
        seq, previous = (last.seq + 1, last.hash) if last else (FIRST, GENESIS)
        if (envelope.seq, envelope.previous) != (seq, previous) or not envelope.verify_hash():
            raise LogCorrupt(
                f"session {envelope.session} in {self.where} is not what was recorded, from event {seq} on: it was "
                "changed or removed there. `opmend verify` names all that is wrong; restore the log from a copy"
            )
        return envelope

    def _insert(self, connection: Connection, envelope: Envelope) -> None:
        try:
            connection.execute(insert(EVENT), dict(zip(_NAMES, envelope, strict=True)))
        except IntegrityError as error:
            raise LogBusy(
                f"session {envelope.session} has moved on: another engine appended event {envelope.seq} just now. "
                "Nothing was written; let the other one finish, or stop it and resume"
            ) from error


def _keep(connection: Connection, digest: str, data: bytes) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(postgresql.insert(BLOB).values(digest=digest, data=data).on_conflict_do_nothing())
    else:
        connection.execute(insert(BLOB).values(digest=digest, data=data))


def _keep_receipt(connection: Connection, receipt: Receipt) -> None:
    key = (RECEIPT.c.session == receipt.session) & (RECEIPT.c.length == receipt.length)
    if connection.execute(select(RECEIPT.c.length).where(key)).first() is None:
        row = {"session": receipt.session, "length": receipt.length, "document": receipt.document}
        connection.execute(insert(RECEIPT).values(row))


def _check_name(session: str) -> None:
    if not session or len(session) > 200 or not session.isprintable():
        raise ValueError(f"{session!r} is not a session id: 1 to 200 printable characters")
