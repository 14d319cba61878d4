"""`opmend shadow`: what other rules would have made of recorded sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replay.options import JSON, LOG, dump, open_log

if TYPE_CHECKING:
    from events.log import SqlLog
    from replay.again import Executor
    from replay.shadow.derive import Shadow
    from replay.shadow.policy import Policy
    from replay.shadow.record import Record

#: More shadows than this are shown as totals only; `--json` gives each.
SHOWN = 40


@click.command()
@click.argument("sessions", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every session of the log.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    required=True,
    help="Rules that differ from the recorded ones, separated by commas: no-full-eval, no-anti-cheat, attempts=N, "
    "turns=N, patience=N, progress=X, as-recorded. May be given several times.",
)
@click.option(
    "--evaluate",
    is_flag=True,
    help="Run the full set for accepted candidates of which no full evaluation is known, and record it beside the "
    "session (needs the task and the toolchain).",
)
@click.option("--cache", type=click.Path(path_type=Path), envvar="OPMEND_CACHE", help="Folder of builds (--evaluate).")
@LOG
@JSON
@click.pass_context
def shadow(
    ctx: click.Context,
    sessions: tuple[str, ...],
    everything: bool,
    policies: tuple[str, ...],
    evaluate: bool,
    cache: Path | None,
    log_url: str,
    as_json: bool,
) -> None:
    """What would have become of SESSION... under other rules, derived from the log alone. Descriptive: not a run.

    A session for which the log cannot tell is `not identifiable`, with the reason. Exit 3 if a session cannot be read.
    """
    from events.errors import LogError
    from replay.history import resolve, sessions_of
    from replay.shadow.policy import parse
    from replay.shadow.report import render_rows, render_totals, row, total

    if everything == bool(sessions):
        raise click.UsageError("name one or more sessions, or give --all")
    rules = [parse(text) for text in policies]
    by_policy: dict[Policy, list[dict[str, Any]]] = {policy: [] for policy in rules}
    broken = 0
    with open_log(log_url) as log:
        names = sessions_of(log) if everything else [resolve(log, name) for name in sessions]
        for name in _counted(names):
            try:
                shadows = list(_shadows(log, name, by_policy, ctx.obj if evaluate else None, cache))
            except LogError as error:
                if not everything:
                    raise
                broken += 1
                click.echo(f"{name}: {error}", err=True)
                continue
            for one in shadows:
                by_policy[one.policy].append(row(one))
                if as_json:
                    dump(by_policy[one.policy][-1])
    totals = [total(policy, rows) for policy, rows in by_policy.items()]
    rows = [r for group in zip(*by_policy.values(), strict=True) for r in group]
    if as_json:
        for line in totals:
            dump(line)
    else:
        if len(rows) <= SHOWN:
            click.echo("\n".join(render_rows(rows)) + "\n")
        else:
            click.echo(f"{len(rows)} shadows: totals only; --json gives each", err=True)
        click.echo("\n".join(render_totals(totals)))
    ctx.exit(3 if broken else 0)


def _counted(names: list[str]) -> Iterable[str]:
    """`names`, with a progress bar on a terminal's stderr when there are many."""
    if len(names) < SHOWN:
        return names
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(names, "shadows", console=console, transient=True, disable=not console.is_terminal)


def _shadows(
    log: SqlLog, session: str, policies: Iterable[Policy], executor: Executor | None, cache: Path | None
) -> Iterator[Shadow]:
    from replay.shadow.derive import derive

    record, hashes = read_record(log, session)
    known = _known(log, record, hashes)
    shadows = [derive(record, policy, known) for policy in policies]
    if executor is None:
        yield from shadows
        return
    from replay.history import read_history
    from replay.shadow.posthoc import evaluate_afterwards, lacking

    if wanted := lacking(shadows, known):
        click.echo(f"{session}: evaluating {len(wanted)} candidate(s) on the full set", err=True)
        with executor(record.opened, log, cache) as again:
            evaluate_afterwards(log, read_history(log, session), wanted, again)
        known = _known(log, record, hashes)
    yield from (derive(record, policy, known) for policy in policies)


def read_record(log: SqlLog, session: str) -> tuple[Record, list[str]]:
    """A session as shadows need it, and the hashes of its events. Raises NoSuchSession, LogCorrupt."""
    from events.errors import LogCorrupt
    from replay.shadow.record import Record
    from statemachine.state import IllegalTransition

    hashes: list[str] = []

    def stream() -> Iterator[Any]:
        for envelope in log.read(session):
            hashes.append(envelope.hash)
            yield envelope.time, envelope.event()

    try:
        return Record.of(session, stream()), hashes
    except IllegalTransition as error:
        raise LogCorrupt(f"session {session}: {error}; run `opmend verify {session}`") from error


def _known(log: SqlLog, record: Record, hashes: list[str]) -> dict[str, Any]:
    from events.errors import NoSuchSession
    from replay.shadow.posthoc import posthoc_of

    try:
        return posthoc_of(log, record.session, frozenset(hashes), record.opened)
    except NoSuchSession:
        return {}
