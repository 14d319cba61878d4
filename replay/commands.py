"""The commands that look back: sessions, replay, cost, verify, diff. Only `replay --rerun` executes anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from replay.options import JSON, LOG, dump, open_log

if TYPE_CHECKING:
    from replay.verify import Finding


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
@click.option("--at", "at_event", type=click.IntRange(min=0), help="The state after this event, and what came next.")
@click.option(
    "--rerun",
    "again",
    is_flag=True,
    help="Execute the recorded candidates again and compare case by case. Exit 3: a result differs on the same "
    "toolchain; 1: it differs on another toolchain; 0: every case agrees.",
)
@click.option("--cache", type=click.Path(path_type=Path), envvar="OPMEND_CACHE", help="Folder of builds (--rerun).")
@LOG
@JSON
@click.pass_context
def replay(
    ctx: click.Context,
    session: str,
    explained: bool,
    at_event: int | None,
    again: bool,
    cache: Path | None,
    log_url: str,
    as_json: bool,
) -> None:
    """Tell the story of SESSION (an id, its beginning, `last`, or a FILE of `opmend export`) from the log alone.

    Nothing is executed, except with --rerun.
    """
    from events.canonical import payload_of
    from replay.explain import explain, render
    from replay.history import read_history, resolve
    from replay.story import tell

    if sum((explained, at_event is not None, again)) > 1:
        raise click.UsageError("--explain, --at and --rerun are different questions: ask one at a time")
    place, name = where_is(session, log_url)
    with open_log(place) as log:
        history = read_history(log, resolve(log, name or "last"))
        if at_event is not None:
            from replay import moment

            then = moment.at(history, at_event)
            dump(then) if as_json else click.echo("\n".join(moment.render(then)))
            return
        if again:
            from replay import rerun

            with ctx.obj(history.state.opened, log, cache) as bench:
                found = rerun.rerun(history, bench, lambda what, done, of: click.echo(f"{what} of {of - 1}", err=True))
            dump(found) if as_json else click.echo("\n".join(rerun.render(found)))
            ctx.exit(rerun.exit_code(found))
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
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@LOG
@JSON
def cost(sessions: tuple[str, ...], log_url: str, as_json: bool) -> None:
    """What SESSION... (default: every session) cost: turns, tokens and working time, per attempt and in all.

    Unknown usage is shown as unknown, never as zero.
    """
    from replay.cost import cost as count
    from replay.cost import render
    from replay.history import read_history, resolve, sessions_of

    with open_log(log_url) as log:
        for name in [resolve(log, s) for s in sessions] or sessions_of(log):
            answer = count(name, read_history(log, name).timed)
            dump(answer) if as_json else click.echo("\n".join(render(answer)))


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
    help="Receipts, also those inside an export, must be signed with this key (PEM); all of FILE must be sealed so.",
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
    from replay.sealing import check, check_covered, check_stored, read_receipt
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
        if public is not None and place != log_url and (kept or given):  # an exported file: all of it is to be sealed
            findings += check_covered(log, public, given)
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
