"""The tables of a log, and the triggers that keep it append-only. SQLModel declares; rows are written with Core.

`INSERT OR REPLACE` deletes without firing DELETE triggers in SQLite, so insertion over an existing key is refused
(event, meta) or ignored (blob: same name, same bytes) by a trigger of its own.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, LargeBinary, Table, insert, inspect, text
from sqlmodel import Field, SQLModel

#: Version of the tables below. A log with a greater one is refused (LogTooNew).
SCHEMA_VERSION = 1


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
    """Facts about the log itself. `schema`: SCHEMA_VERSION of its writer."""

    __tablename__ = "meta"

    key: str = Field(primary_key=True)
    value: str


def _table(model: type[SQLModel]) -> Table:
    return SQLModel.metadata.tables[str(model.__tablename__)]


EVENT, BLOB, META = _table(EventRow), _table(BlobRow), _table(MetaRow)
TABLES = [EVENT, BLOB, META]

_KEYS = {"event": ("session", "seq"), "blob": ("digest",), "meta": ("key",)}

_POSTGRES_FUNCTION = """
CREATE OR REPLACE FUNCTION opmend_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'append-only: % on % is refused', TG_OP, TG_TABLE_NAME; END $$
"""


def triggers(dialect: str) -> list[str]:
    """The statements that make the tables append-only in `dialect` (`sqlite` or `postgresql`)."""
    if dialect == "sqlite":
        return [statement for table in _KEYS for statement in _sqlite_triggers(table)]
    return [_POSTGRES_FUNCTION] + [
        f"CREATE TRIGGER {table}_{name} BEFORE {what} ON {table} FOR EACH {each} EXECUTE FUNCTION opmend_append_only()"
        for table in _KEYS
        for name, what, each in (("no_change", "UPDATE OR DELETE", "ROW"), ("no_truncate", "TRUNCATE", "STATEMENT"))
    ]


def _sqlite_triggers(table: str) -> list[str]:
    refuse = f"SELECT RAISE(ABORT, 'append-only: the {table} table refuses it')"
    over = "SELECT RAISE(IGNORE)" if table == "blob" else refuse
    exists = f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{key} = NEW.{key}' for key in _KEYS[table])})"
    return [
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} BEGIN {refuse}; END",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} BEGIN {refuse}; END",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {exists} BEGIN {over}; END",
    ]


def create(connection: Connection) -> None:
    """Tables, triggers and the schema version, in the transaction of `connection`."""
    SQLModel.metadata.create_all(connection, tables=TABLES, checkfirst=False)
    for statement in triggers(connection.dialect.name):
        connection.execute(text(statement))
    connection.execute(insert(META).values(key="schema", value=str(SCHEMA_VERSION)))


def tables_of(connection: Connection) -> set[str]:
    """Names of the tables that are there."""
    return set(inspect(connection).get_table_names())


def stored_version(connection: Connection) -> str | None:
    """The schema version as it is stored; None if there is none."""
    value = connection.execute(text("SELECT value FROM meta WHERE key = 'schema'")).scalar()
    return None if value is None else str(value)
