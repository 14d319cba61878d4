"""Reaching the database: what a path or URL means, how it is opened, and what its errors mean to people.

In memory (`memory_of`): SQLite's memdb, shared by the connections of this process and gone with the last of them.
SQLite: WAL, synchronous=FULL, created with its parent folders on the first write. A log that cannot be written is
opened read-only (`immutable` when its folder is read-only too and no WAL is pending: SQLite could not create the files
it shares with writers). Other databases by SQLAlchemy URL; they need their driver installed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy import event as hooks
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool, PoolProxiedConnection, QueuePool

from events import schema
from events.errors import LogCorrupt, LogDriverMissing, LogReadOnly, LogTooNew, LogUnavailable, NoLogYet
from events.explaining import of_sqlite
from events.ownership import sole

_WRITE = "opmend_write"
_MEMORY = "memory:"


def memory_of(name: str) -> str:
    """The target of a log in the memory of this process. Not for a command line: such a log does not survive it."""
    return _MEMORY + name


class Database:
    """One database that holds a log. Opens nothing before the first use; `where` is its name in messages."""

    def __init__(self, target: str | Path, busy_seconds: float = 5.0) -> None:
        self.memory = str(target).startswith(_MEMORY)
        self.path, self._url = (None, str(target)) if self.memory else _parse(target)
        url = "" if self.path or self.memory else make_url(self._url).render_as_string(hide_password=True)
        self.where = url or str(self.path or target)
        self._busy_seconds = busy_seconds
        self._engine: Engine | None = None
        self._raw: PoolProxiedConnection | None = None  # the connection of `direct`
        self._writing = threading.Lock()
        self._inode: int | None = None
        self.ready = False  # it is an opmend log that this opmend can read
        self._current = False  # its schema is of today, so that it can be written

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection in a read transaction. Raises NoLogYet when nothing was ever recorded here."""
        if self.path and not (self.path.exists() and (self.path.is_dir() or self.path.stat().st_size)):
            if self._inode is not None:
                raise self._gone()
            raise self._absent()
        with self._connected() as connection:
            self._check(connection, create=False)
            self.ready = True
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection in a write transaction (SQLite: BEGIN IMMEDIATE), committed at the end of the block."""
        if self.path and self._engine is None:
            self._make_writable(self.path)
        with self._connected(write=True) as connection:
            self._check(connection, create=True)
            yield connection
        self.ready = self._current = True

    @contextmanager
    def direct(self) -> Iterator[sqlite3.Connection | None]:
        """SQLite's own connection in a write transaction; None elsewhere, and before the first `writing`."""
        if not (self._current and self.path and self._engine):
            yield None
            return
        with self._explained(), self._writing:
            if self._inode != _inode(self.path):
                raise self._gone()
            self._raw = self._raw or self._engine.raw_connection()
            raw: Any = self._raw.driver_connection
            raw.execute("BEGIN IMMEDIATE")
            try:
                yield raw
                raw.execute("COMMIT")
            except BaseException:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
                raise

    @contextmanager
    def advisory_lock(self, name: str) -> Iterator[bool]:
        """Hold PostgreSQL's lock `name` on a connection of its own during the block; False if it is taken."""
        if self.memory:
            with sole(f"{self.where} {name}") as alone:
                yield alone
            return
        with ExitStack() as stack:
            with self._explained():
                engine = self._engine = self._engine or self._by_url()
                connection = stack.enter_context(engine.connect().execution_options(isolation_level="AUTOCOMMIT"))
                key = {"name": f"opmend:{name}"}
                taken = connection.execute(
                    text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))"), key
                ).scalar()
            try:
                yield bool(taken)
            finally:
                if taken:
                    with self._explained():
                        connection.execute(text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))"), key)

    def close(self) -> None:
        """Close every pooled connection; the next use opens again."""
        if self._raw is not None:
            self._raw.close()
            self._raw = None
        if self._engine is not None:
            self._engine.dispose()
        self._engine, self._inode, self.ready, self._current = None, None, False, False

    # ------------------------------------------------------------ opening

    @contextmanager
    def _connected(self, write: bool = False) -> Iterator[Connection]:
        with self._explained():
            if self._engine is None:
                self._engine = self._by_url() if self.path is None and not self.memory else self._sqlite()
            if self.path and self._inode not in (None, _inode(self.path)):
                raise self._gone()
            if write and not self._current and self.path:
                self._switch_to_wal(self._engine)
            with self._engine.connect().execution_options(**{_WRITE: write}) as connection, connection.begin():
                yield connection
                self._inode = _inode(self.path) if self.path else None

    def _sqlite(self) -> Engine:
        mode = _mode(self.path) if self.path else "mode=rwc"
        place = f"{quote(str(self.path))}?{mode}" if self.path else f"/{quote(self._url, safe='')}?vfs=memdb"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(
                f"file:{place}",
                uri=True,
                timeout=self._busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
            connection.text_factory = _text
            connection.execute("PRAGMA synchronous=FULL")
            return connection

        pool = NullPool if mode != "mode=rwc" else QueuePool
        engine = create_engine("sqlite://", creator=connect, poolclass=pool)

        @hooks.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            write = connection.get_execution_options().get(_WRITE)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _by_url(self) -> Engine:
        try:
            return create_engine(self._url, pool_pre_ping=True)
        except (ModuleNotFoundError, NoSuchModuleError) as error:
            raise LogDriverMissing(
                f"the log {self.where} needs a database driver that is not installed ({error}): "
                "for PostgreSQL, `pip install psycopg[binary]` and a URL of the form postgresql+psycopg://..."
            ) from error

    def _make_writable(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except PermissionError as error:
            raise self._read_only() from error
        except OSError as error:
            raise LogUnavailable(f"the folder of the log {path} cannot be made: {error}") from error
        if _mode(path) != "mode=rwc":
            raise self._read_only()

    def _switch_to_wal(self, engine: Engine) -> None:
        """Once per log and persistent; not possible inside a transaction. Leaves foreign databases alone.

        SQLite does not wait for a lock here when two engines create a log at the same moment, so this does.
        """
        deadline = time.monotonic() + self._busy_seconds
        pooled = engine.raw_connection()
        try:
            raw: Any = pooled.driver_connection
            while True:
                try:
                    tables = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                    if not tables or "meta" in tables:
                        raw.execute("PRAGMA journal_mode=WAL").fetchall()
                    return
                except sqlite3.OperationalError as error:
                    if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
        finally:
            pooled.close()

    def _check(self, connection: Connection, *, create: bool) -> None:
        if self._current or (self.ready and not create):
            return
        present = schema.tables_of(connection)
        every = {table.name for table in schema.tables(schema.SCHEMA_VERSION)}
        if not every & present and (not present or not (self.path or self.memory)):
            if not create:
                raise self._absent()
            schema.migrate(connection)
            return
        if "meta" not in present:
            raise self._foreign({"meta"})
        if (version := schema.stored_version(connection)) is None:
            raise LogCorrupt(f"the log {self.where} does not say its schema version: restore it from a copy")
        if version > schema.SCHEMA_VERSION:
            raise LogTooNew(
                f"the log {self.where} has schema version {version}, this opmend knows {schema.SCHEMA_VERSION}: "
                "upgrade opmend, or name another log with --log"
            )
        missing = {table.name for table in schema.tables(version)} - present
        if missing:
            raise self._foreign(missing)
        if create and version < schema.SCHEMA_VERSION:
            schema.migrate(connection, version)

    def _foreign(self, missing: set[str]) -> LogCorrupt:
        return LogCorrupt(
            f"{self.where} is a database but not an opmend log (no table {', '.join(sorted(missing))}): "
            "name another file with --log, or restore this one from a copy"
        )

    # ------------------------------------------------------------ errors

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._explain(error, error.orig) from error
        except sqlite3.Error as error:
            raise self._explain(error, error) from error
        except UnicodeDecodeError as error:  # sqlite3 quotes damaged bytes in an error message and cannot decode it
            raise LogCorrupt(f"{self.where} is damaged ({error}): restore it from a copy") from error
        except SQLAlchemyError as error:
            raise LogUnavailable(f"the log {self.where} cannot be used: {error}") from error

    def _explain(self, error: Exception, cause: BaseException | None) -> Exception:
        if self.path is None and not self.memory:
            return LogUnavailable(f"the log {self.where} failed: {cause}. Check the server, then run the command again")
        name = str(getattr(cause, "sqlite_errorname", "") or type(error).__name__)
        return self._read_only() if name.startswith("SQLITE_READONLY") else of_sqlite(name, cause, self.where)

    def _read_only(self) -> LogReadOnly:
        return LogReadOnly(
            f"the log {self.where} can be read but not written: make the file and its folder writable, "
            "or name another log with --log"
        )

    def _gone(self) -> LogUnavailable:
        return LogUnavailable(
            f"the log {self.where} was moved, deleted or replaced while in use: put it back, then resume"
        )

    def _absent(self) -> NoLogYet:
        return NoLogYet(f"there is no log at {self.where} yet: check --log / OPMEND_LOG, or run a repair first")


def _parse(target: str | Path) -> tuple[Path | None, str]:
    place = str(target)
    if "://" not in place:
        return Path(place).absolute(), ""
    try:
        url = make_url(place)
    except ArgumentError as error:
        raise LogUnavailable(f"{place!r} is neither a path nor a database URL: {error}") from error
    if url.get_backend_name() != "sqlite":
        return None, place
    if not url.database or url.database == ":memory:":
        raise LogUnavailable(
            "a log in memory would not survive the session: name a file, e.g. sqlite:///.opmend/log.db"
        )
    return Path(url.database).absolute(), ""


def _mode(path: Path) -> str:
    """How SQLite shall open `path`, by what this process may do there."""
    folder = _writable(path.parent)
    if folder and (not path.exists() or _writable(path)):
        return "mode=rwc"
    pending = path.with_name(path.name + "-wal")
    if not folder and not (pending.exists() and pending.stat().st_size):
        return "mode=ro&immutable=1"
    return "mode=ro"


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1


#: Text columns that a fault made invalid UTF-8 must not stop `verify`: they read as escapes and match no hash.
_text = methodcaller("decode", "utf-8", "backslashreplace")
