"""The commands that look back: sessions, replay, verify, diff. They read a log and need no toolchain and no task."""

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
    """Tell the story of SESSION (an id, its beginning, or `last`) from the log alone. Nothing is executed."""
    from events.canonical import payload_of
    from replay.explain import explain, render
    from replay.history import read_history, resolve
    from replay.story import tell

    with open_log(log_url) as log:
        history = read_history(log, resolve(log, session))
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
    """Print the unified diff from the near-miss to the accepted candidate (or to the best checkpoint) of SESSION."""
    from replay.history import read_history, resolve
    from statemachine.sources import load

    with open_log(log_url) as log:
        history = read_history(log, resolve(log, session))
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
@LOG
@JSON
@click.pass_context
def verify(ctx: click.Context, session: str | None, log_url: str, as_json: bool) -> None:
    """Re-derive every hash of a log (or of SESSION), the blobs and the legality of every move. Silent when all is well.

    Exit 3 with one line per finding otherwise. A plain chain cannot show that its end was cut off.
    """
    from dataclasses import asdict

    from replay.history import resolve
    from replay.verify import verify as run

    with open_log(log_url) as log:
        findings = run(log, resolve(log, session) if session else None)
    for finding in findings:
        if as_json:
            dump(asdict(finding))
        else:
            number = "" if finding.seq is None else f" event {finding.seq}"
            click.echo(f"{finding.session}{number}: {finding.kind}: {finding.message}")
    if findings:
        ctx.exit(3)
