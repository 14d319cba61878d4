"""The commands that look back: sessions, replay, verify, diff. They read a log and need no toolchain and no task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from events.log import SqlLog
    from replay.verify import Finding

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


@click.command()
@LOG
@JSON
def sessions(log_url: str, as_json: bool) -> None:
    """List the sessions of a log, oldest first."""
    from replay.history import listing

    with open_log(log_url) as log:
        rows = list(listing(log))
    for row in rows:
        if as_json:
            dump(row)
        else:
            state = row.get("error") or row["outcome"] or "open"
            click.echo(f"{row['session']}  {row['task'] or '?'}  {state}  attempts {row['attempts']}")
    if not rows:
        click.echo(f"no session yet in {log_url}; `opmend repair TASK` makes one", err=True)


@click.command()
@click.argument("session")
@click.option(
    "--explain",
    "explained",
    is_flag=True,
    help="Why the candidate was accepted or not: attempts, diffs, evidence, budgets.",
)
@LOG
@JSON
def replay(session: str, explained: bool, log_url: str, as_json: bool) -> None:
    """Tell the story of SESSION (an id, its beginning, `last`, or a FILE of `opmend export`) from the log alone.

    Nothing is executed.
    """
    from events.canonical import payload_of
    from replay.explain import explain, render
    from replay.history import read_history, resolve
    from replay.story import tell

    place, name = where_is(session, log_url)
    with open_log(place) as log:
        history = read_history(log, resolve(log, name or "last"))
        if explained:
            answer = explain(history, log)
            if as_json:
                dump(answer)
            else:
                click.echo("\n".join(render(answer)))
            return
        if as_json:
            import orjson

            for envelope, event in zip(history.envelopes, history.events, strict=True):
                head = {
                    "session": envelope.session,
                    "seq": envelope.seq,
                    "at": envelope.recorded_at,
                    "hash": envelope.hash,
                }
                dump({**head, **orjson.loads(payload_of(event))})
            return
        click.echo("\n".join(tell(history)))


@click.command()
@click.argument("session")
@LOG
@JSON
def diff(session: str, log_url: str, as_json: bool) -> None:
    """Print the unified diff from the near-miss to the accepted candidate (or the best checkpoint) of SESSION or FILE.

    FILE is one that `opmend export` wrote.
    """
    from replay.history import read_history, resolve
    from statemachine.sources import load

    place, name = where_is(session, log_url)
    with open_log(place) as log:
        history = read_history(log, resolve(log, name or "last"))
        state = history.state
        best = state.best_attempt or state.attempts[0]
        text = load(log, best.candidate).diff_from(load(log, state.attempts[0].candidate))
    if as_json:
        dump({"session": history.session, "attempt": best.number, "outcome": state.outcome, "diff": text})
        return
    if state.outcome != "accepted":
        click.echo(f"session {history.session} is not accepted; this is its best checkpoint", err=True)
    click.echo(text, nl=False)


@click.command()
@click.argument("session", required=False)
@click.option(
    "--receipt",
    "receipts",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Hold the log to this receipt of `opmend seal` as well (repeatable).",
)
@click.option(
    "--public-key",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Receipts, also those inside an export, must be signed with this key (PEM).",
)
@LOG
@JSON
@click.pass_context
def verify(
    ctx: click.Context,
    session: str | None,
    receipts: tuple[Path, ...],
    public_key: Path | None,
    log_url: str,
    as_json: bool,
) -> None:
    """Re-derive every hash of a log, of SESSION, or of an exported FILE: chain, blobs, legality of every move, tables.

    Silent when all is well; exit 3 with one line per finding otherwise. A log alone cannot show that the end of a
    session was cut off, or that a whole session is gone: only a receipt that was kept elsewhere can.
    """
    from events.errors import NoLogYet, ReceiptUnusable
    from events.receipts import read_public
    from replay.history import resolve
    from replay.sealing import check, check_stored, read_receipt
    from replay.verify import verify as run

    place, session = where_is(session, log_url)
    public = None if public_key is None else read_public(public_key)
    given = [read_receipt(path) for path in receipts]
    with open_log(place) as log:
        name = resolve(log, session) if session else None
        try:
            findings = run(log, name)
            kept = log.receipts(name) if not any(f.kind == "unreadable" for f in findings) else []
        except NoLogYet:
            if not given:
                raise
            findings, kept = [], []
        findings += check_stored(log, public, name) if kept else []
        for receipt in given:
            findings += check(log, receipt, public)
        withheld = len(log.withheld(name)) if kept else 0
    if public is not None and not kept and not given:
        raise ReceiptUnusable(f"there is no receipt to check against {public_key}: give one with --receipt")
    show_findings(findings, as_json)
    if withheld:
        click.echo(f"{withheld} blobs were withheld from the export; their digests are in the chain", err=True)
    if findings:
        ctx.exit(3)


def where_is(session: str | None, log_url: str) -> tuple[str, str | None]:
    """Log and session that an argument means: SESSION of the log, or a FILE that `opmend export` wrote."""
    return (session, None) if session and Path(session).is_file() else (log_url, session)


def show_findings(findings: list[Finding], as_json: bool) -> None:
    """One line per finding on stdout."""
    from dataclasses import asdict

    for finding in findings:
        if as_json:
            dump(asdict(finding))
        else:
            number = "" if finding.seq is None else f" event {finding.seq}"
            click.echo(f"{finding.session or 'log'}{number}: {finding.kind}: {finding.message}")
