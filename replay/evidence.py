"""The commands that carry evidence out of a log and back: seal, keygen, export, import. They execute nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from replay.commands import show_findings
from replay.options import JSON, LOG, dump, open_log

if TYPE_CHECKING:
    from replay.bundle import Redaction

FILE = click.Path(path_type=Path, dir_okay=False)
KEY = click.option("--key", type=FILE, help="Sign with this Ed25519 private key (PEM, e.g. of `opmend keygen`).")


@click.command()
@click.argument("session")
@KEY
@click.option("--out", type=FILE, help="Write the receipt here instead of to stdout.")
@LOG
@JSON
@click.pass_context
def seal(ctx: click.Context, session: str, key: Path | None, out: Path | None, log_url: str, as_json: bool) -> None:
    """Print a receipt of SESSION (an id, its beginning, or `last`): length, head, outcome, time; one line of JSON.

    Keep it where the log's keeper cannot write: `opmend verify --receipt FILE` then shows when the end of the session
    was cut off, its chain computed anew, or the whole session removed. What does not verify is not sealed: exit 3.
    """
    from datetime import UTC, datetime

    from replay.history import resolve
    from replay.sealing import seal as run

    with open_log(log_url) as log:
        receipt, findings = run(log, resolve(log, session), datetime.now(UTC), key=key)
    if receipt is None:
        show_findings(findings, as_json)
        ctx.exit(3)
    if out is None:
        click.echo(receipt.document)
    else:
        out.write_bytes(receipt.document + b"\n")
        if as_json:
            dump({"file": str(out), **receipt.model_dump()})
            return
        click.echo(
            f"sealed {receipt.session}: {receipt.length} events, head {receipt.head}, written to {out}", err=True
        )


@click.command()
@click.argument("file", type=FILE)
@JSON
def keygen(file: Path, as_json: bool) -> None:
    """Make a key to sign receipts with: FILE (private, mode 600) and FILE.pub. Neither is ever overwritten."""
    from events.receipts import make_keys

    public = make_keys(file)
    if as_json:
        dump({"private": str(file), "public": f"{file}.pub", "key": public})
    else:
        click.echo(
            f"{public}\n  private: {file} (keep it to yourself)\n  public:  {file}.pub (give it to who verifies)"
        )


@click.command()
@click.argument("session")
@click.option("--out", type=FILE, help="The file to write.  [default: SESSION.opmend]")
@click.option(
    "--redact",
    type=click.Choice(["none", "prompts", "sources", "all"]),
    default="none",
    show_default=True,
    help="Withhold blobs: prompts and responses; sources, diffs, build logs and the prompts that quote them; all.",
)
@KEY
@LOG
@JSON
@click.pass_context
def export(
    ctx: click.Context, session: str, out: Path | None, redact: Redaction, key: Path | None, log_url: str, as_json: bool
) -> None:
    """Write SESSION to one file with all its evidence: events, blobs, receipt.

    `opmend verify FILE`, `replay FILE` and `diff FILE` read it anywhere, offline. Redaction withholds blobs, not
    events: messages, file names and error texts inside events stay readable. Exit 3 if the session does not verify.
    """
    from datetime import UTC, datetime

    from replay.bundle import export as run
    from replay.history import resolve

    with open_log(log_url) as log:
        name = resolve(log, session)
        target = out or Path(f"{name.replace('/', '_')}.opmend")
        receipt, findings = run(log, name, target, datetime.now(UTC), redact=redact, key=key)
    if receipt is None:
        show_findings(findings, as_json)
        ctx.exit(3)
    if as_json:
        dump({"file": str(target), **receipt.model_dump()})
    else:
        held = f", {len(receipt.withheld)} blobs withheld" if receipt.withheld else ""
        click.echo(f"{target}: session {name}, {receipt.length} events, head {receipt.head}{held}")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE)
@LOG
@JSON
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...], log_url: str, as_json: bool) -> None:
    """Take the sessions of exported FILES into the log. Doing it again changes nothing.

    A file that does not verify, or a session that the log has with another history, is refused by name: exit 3.
    """
    from replay.bundle import adopt

    with open_log(log_url) as log:
        for file in files:
            with open_log(str(file)) as source:
                added, findings = adopt(source, log)
            if findings:
                click.echo(f"{file} is not imported: it does not verify", err=True)
                show_findings(findings, as_json)
                ctx.exit(3)
            for session, events in added.items():
                if as_json:
                    dump({"file": str(file), "session": session, "added": events})
                else:
                    click.echo(f"{session}: {f'{events} events imported' if events else 'already there'}")
