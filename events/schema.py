"""The tables of a log, and the triggers that keep it append-only. SQLModel declares; rows are written with Core.

`INSERT OR REPLACE` deletes without firing DELETE triggers in SQLite, so insertion over an existing key is refused
(event, meta, receipt) or ignored (blob: same name, same bytes) by a trigger of its own.

The schema grows by numbered migrations (MIGRATIONS): the first write of a newer opmend brings an older log up, in one
transaction; reading never changes a log and knows every version. A migration adds; it never touches what is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Column, Connection, LargeBinary, Table, insert, inspect, text
from sqlmodel import Field, SQLModel


class EventRow(SQLModel, table=True):
    """One event. See events.envelope for the meaning of the columns."""

    __tablename__ = "event"

    session: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    recorded_at: str
    type: str
    version: int
    previous: str
    hash: str
    payload: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class BlobRow(SQLModel, table=True):
    """One content-addressed blob: `digest` is `sha256:<hex>` of `data`."""

    __tablename__ = "blob"

    digest: str = Field(primary_key=True)
    data: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class MetaRow(SQLModel, table=True):
    """Facts about the log itself. `schema`: its SCHEMA_VERSION."""

    __tablename__ = "meta"

    key: str = Field(primary_key=True)
    value: str


class ReceiptRow(SQLModel, table=True):
    """The receipt that an imported or exported session came with (events.receipts): what it was when it was sealed."""

    __tablename__ = "receipt"

    session: str = Field(primary_key=True)
    length: int = Field(primary_key=True)
    document: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


def _table(model: type[SQLModel]) -> Table:
    return SQLModel.metadata.tables[str(model.__tablename__)]


EVENT, BLOB, META, RECEIPT = _table(EventRow), _table(BlobRow), _table(MetaRow), _table(ReceiptRow)

#: Migration n brings a log from version n - 1 to n by adding these tables, append-only.
MIGRATIONS: dict[int, list[Table]] = {1: [EVENT, BLOB, META], 2: [RECEIPT]}

#: Version of the tables of this opmend. A log with a greater one is refused (LogTooNew).
SCHEMA_VERSION = max(MIGRATIONS)

_KEYS = {"event": ("session", "seq"), "blob": ("digest",), "meta": ("key",), "receipt": ("session", "length")}

POSTGRES_BODY = "BEGIN RAISE EXCEPTION 'append-only: % on % is refused', TG_OP, TG_TABLE_NAME; END"
_POSTGRES_FUNCTION = f"""
CREATE OR REPLACE FUNCTION opmend_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ {POSTGRES_BODY} $$
"""


def tables(version: int) -> list[Table]:
    """Every table of a log of schema `version`."""
    return [table for number, added in MIGRATIONS.items() if number <= version for table in added]


def triggers(dialect: str, names: Iterable[str]) -> dict[str, str]:
    """Name to statement of what makes the tables `names` append-only in `dialect` (`sqlite` or `postgresql`)."""
    if dialect == "sqlite":
        return {name: statement for table in names for name, statement in _sqlite_triggers(table).items()}
    return {
        f"{table}_{name}": f"CREATE TRIGGER {table}_{name} BEFORE {what} ON {table} FOR EACH {each} "
        "EXECUTE FUNCTION opmend_append_only()"
        for table in names
        for name, what, each in (("no_change", "UPDATE OR DELETE", "ROW"), ("no_truncate", "TRUNCATE", "STATEMENT"))
    }


def _sqlite_triggers(table: str) -> dict[str, str]:
    refuse = f"SELECT RAISE(ABORT, 'append-only: the {table} table refuses it')"
    over = "SELECT RAISE(IGNORE)" if table == "blob" else refuse
    exists = f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{key} = NEW.{key}' for key in _KEYS[table])})"
    bodies = {
        f"{table}_no_update": f"BEFORE UPDATE ON {table} BEGIN {refuse}; END",
        f"{table}_no_delete": f"BEFORE DELETE ON {table} BEGIN {refuse}; END",
        f"{table}_no_replace": f"BEFORE INSERT ON {table} WHEN {exists} BEGIN {over}; END",
    }
    return {name: f"CREATE TRIGGER {name} {body}" for name, body in bodies.items()}


def migrate(connection: Connection, since: int = 0, to: int = SCHEMA_VERSION) -> None:
    """Bring the tables from version `since` (0: an empty database) to version `to`, in `connection`'s transaction."""
    dialect = connection.dialect.name
    if dialect != "sqlite":
        connection.execute(text(_POSTGRES_FUNCTION))
    for version in range(since + 1, to + 1):
        SQLModel.metadata.create_all(connection, tables=MIGRATIONS[version], checkfirst=False)
        for statement in triggers(dialect, [table.name for table in MIGRATIONS[version]]).values():
            connection.execute(text(statement))
    if since == 0:
        connection.execute(insert(META).values(key="schema", value=str(to)))
    elif since < to:
        name = "meta_no_update" if dialect == "sqlite" else "meta_no_change"
        connection.execute(text(f"DROP TRIGGER {name}" + ("" if dialect == "sqlite" else " ON meta")))
        connection.execute(text("UPDATE meta SET value = :to WHERE key = 'schema'"), {"to": str(to)})
        connection.execute(text(triggers(dialect, ["meta"])[name]))


def tables_of(connection: Connection) -> set[str]:
    """Names of the tables that are there."""
    return set(inspect(connection).get_table_names())


def stored_version(connection: Connection) -> int | None:
    """The schema version as it is stored; None if there is none, or what is stored never was one."""
    value = connection.execute(text("SELECT value FROM meta WHERE key = 'schema'")).scalar()
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else 0
    return number if number >= 1 and str(number) == value else None
