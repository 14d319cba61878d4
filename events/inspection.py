"""Is the log itself as opmend made it: its tables, the triggers that keep it append-only, and the facts it states?

A log whose triggers were dropped may still hold what was recorded (the chains say that), but nothing has refused
changes since; somebody wanted to make some. What is expected is what the migrations make, so it never falls behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sqlalchemy import Connection, create_engine, text

from events import schema


def inspect(connection: Connection) -> list[str]:
    """One message per fault; empty when all is as it was made."""
    version = schema.stored_version(connection)
    facts = [
        f"an entry {key!r} that opmend does not write is among the facts about the log"
        for (key,) in connection.execute(text("SELECT key FROM meta"))
        if key != "schema"
    ]
    if version is None or version > schema.SCHEMA_VERSION:
        return [*facts, "the schema version it states is none that this opmend knows"]
    if connection.dialect.name == "postgresql":
        return [*facts, *_postgres(connection, version)]
    return [*facts, *_sqlite(connection, version)]


def _sqlite(connection: Connection, version: int) -> Iterator[str]:
    yield from _differences(_made(version), _objects(connection))


@cache
def _made(version: int) -> dict[str, str]:
    """The objects of a log that has just been made."""
    engine = create_engine("sqlite://")
    with engine.begin() as fresh:
        schema.migrate(fresh, to=version)
        objects = _objects(fresh)
    engine.dispose()
    return objects


def _objects(connection: Connection) -> dict[str, str]:
    """Tables of the log by their columns; triggers and views, of whatever kind, by their text."""
    ours = {table.name for table in schema.tables(schema.SCHEMA_VERSION)}
    query = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'trigger', 'view')"
    rows = connection.execute(text(query))
    objects: dict[str, str] = {}
    for kind, name, statement in rows.all():
        if kind != "table":
            objects[f"{kind} {name}"] = " ".join(str(statement).split())
        elif name in ours:
            columns = connection.exec_driver_sql(f"PRAGMA table_xinfo({name})").all()
            objects[f"table {name}"] = repr([tuple(column) for column in columns])
    return objects


def _postgres(connection: Connection, version: int) -> Iterator[str]:
    names = [table.name for table in schema.tables(version)]
    query = """SELECT t.tgname, t.tgenabled, p.proname, p.prosrc FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT t.tgisinternal AND c.oid = to_regclass(:table)"""
    expected = {f"trigger {name}": schema.POSTGRES_BODY for name in schema.triggers("postgresql", names)}
    found: dict[str, str] = {}
    for table in (table.name for table in schema.tables(schema.SCHEMA_VERSION)):
        for trigger, enabled, function, body in connection.execute(text(query), {"table": table}):
            active = enabled in ("O", "A", b"O", b"A") and function == "opmend_append_only"
            found[f"trigger {trigger}"] = body.strip() if active else "not active"
    yield from _differences(expected, found)


def _differences(expected: dict[str, str], found: dict[str, str]) -> Iterator[str]:
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            yield f"the {name} is gone: changes have not been refused since"
        elif name not in expected:
            yield f"a {name} is there that opmend did not make"
        elif expected[name] != found[name]:
            yield f"the {name} is not the one that opmend made"
