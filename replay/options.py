"""What every command that reads a log shares: its options, how it opens the log and how it prints data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from events.log import SqlLog

LOG = click.option(
    "--log",
    "log_url",
    default=".opmend/log.db",
    show_default=True,
    envvar="OPMEND_LOG",
    help="The event log: a path or a database URL.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Data on stdout as JSON.")


def open_log(url: str) -> SqlLog:
    """The log at `url`. Imported late: SQLModel takes half a second."""
    from events.log import SqlLog

    return SqlLog(url)


def dump(value: Any) -> None:
    """One JSON line on stdout. NaN and infinities as strings, as in the log."""
    from events.canonical import canonical

    click.echo(canonical(value).decode())
