"""The front door: click commands that put the parts together. No logic of their own.

stdout is data, stderr is for people. Heavy imports (torch, SQLModel, tree-sitter) happen inside the commands, so that
`opmend --help` is instant. Configuration: command line > OPMEND_* > opmend.toml > defaults (`opmend config` shows it).
Exit codes: 0 accepted/ok, 1 not repaired or check failed, 2 usage or configuration, 3 verification or integrity failure
of a log, 4 environment or toolchain missing, 5 infrastructure failed and safe to retry, 130 interrupted and resumable.
"""

from __future__ import annotations

import os
import sys
import tomllib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adapters.options import CACHE, PATH, toolchain_options
from replay.commands import cost, diff, replay, sessions, verify
from replay.evidence import export, import_, keygen, seal
from replay.options import JSON, LOG, dump, open_log
from replay.shadow.commands import shadow

if TYPE_CHECKING:
    from events.log import SqlLog
    from events.types import CaseSet, SessionOpened
    from replay.again import Again

VERSION = "0.1.0"
CONFIG_FILE = "opmend.toml"


class Group(click.Group):
    """Commands in the order of a user's day, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _defaults() -> dict[str, Any]:
    """opmend.toml in the current directory: one table per command, and [opmend] for all of them."""
    path = Path(CONFIG_FILE)
    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: {error}") from error
    wrong = [
        name for name, table in tables.items() if not isinstance(table, dict) or name not in {"opmend", *main.commands}
    ]
    if wrong:
        raise click.UsageError(f"{path}: {wrong[0]} is no table of options; use [opmend] or [<command>]")
    common = tables.pop("opmend", {})
    names = {"log": "log_url", "cases": "which"}
    merged = {name: {**common, **tables.get(name, {})} for name in main.commands}
    return {c: {names.get(k, k.replace("-", "_")): v for k, v in table.items()} for c, table in merged.items()}


@click.group(cls=Group, context_settings={"auto_envvar_prefix": "OPMEND", "help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="opmend")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Repair AscendC kernels that compile, run and are wrong; and show why the result was accepted."""
    ctx.default_map = _defaults()
    ctx.obj = _again


def _again(opened: SessionOpened, log: SqlLog, cache: Path | None) -> AbstractContextManager[Again]:
    """The way in for `replay --rerun` and `shadow --evaluate`, the only looking back that executes anything."""
    from adapters.again import workbench

    return workbench(opened, log, cache)


@main.command()
@click.argument("tasks", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="Write the accepted kernel sources and repair.diff here.")
@click.option(
    "--attempts", type=click.IntRange(min=0), default=5, show_default=True, help="Hard bound on repair attempts."
)
@click.option(
    "--wall-seconds",
    type=click.FloatRange(min=1),
    default=43200.0,
    show_default=True,
    help="Hard bound on working time.",
)
@click.option(
    "--scope",
    type=click.Choice(["kernel", "device"]),
    default="kernel",
    show_default=True,
    help="What a patch may touch.",
)
@click.option(
    "--worker", type=click.Choice(["rules"]), default="rules", show_default=True, help="Who proposes patches."
)
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@toolchain_options
@LOG
@JSON
@click.pass_context
def repair(
    ctx: click.Context,
    /,
    tasks: tuple[Path, ...],
    out: Path | None,
    as_json: bool,
    quiet: bool,
    log_url: str,
    **options: Any,
) -> None:
    """Repair each TASK: a directory with a reference, cases and a near-miss kernel. The task is never modified."""
    from adapters.session import Settings, new_session_id, open_session, outputs_for
    from replay.live import LiveStory
    from statemachine.ports import UsageError

    settings = Settings.of(options)
    codes: list[int] = []
    targets = outputs_for(tasks, out)
    with open_log(log_url) as log:
        for task, target in zip(tasks, targets, strict=True):
            session = new_session_id(task)
            story = LiveStory(session, json=as_json, quiet=quiet)
            try:
                with story, open_session(session, task, settings, log, story) as engine:
                    engine.run()
            except UsageError as error:  # this task is broken; the next one may not be
                click.echo(f"opmend: {error}", err=True)
                if as_json and session in log.sessions():
                    _finish(session, None, log, log_url, as_json)
                codes.append(error.exit_code)
                continue
            codes.append(_finish(session, target, log, log_url, as_json))
    ctx.exit(max(codes))


@main.command()
@click.argument("session")
@click.option("--out", type=PATH, help="Write the accepted kernel sources and repair.diff here.")
@click.option("--quiet", is_flag=True, help="No progress on stderr.")
@CACHE
@LOG
@JSON
@click.pass_context
def resume(
    ctx: click.Context, session: str, out: Path | None, quiet: bool, cache: Path | None, log_url: str, as_json: bool
) -> None:
    """Go on with an interrupted SESSION (an id, its beginning, or `last`) from its log."""
    from adapters.session import outputs_for, resume_session
    from replay.history import read_history, resolve
    from replay.live import LiveStory
    from statemachine.sources import load

    with open_log(log_url) as log:
        session = resolve(log, session)
        state = read_history(log, session).state
        outputs_for([Path(state.opened.task.path)], out)
        if state.outcome is None:
            story = LiveStory(session, json=as_json, quiet=quiet)
            first = load(log, state.opened.candidate)
            with story, resume_session(session, state.opened, first, cache, log, story) as engine:
                engine.run()
        ctx.exit(_finish(session, out, log, log_url, as_json))


def _finish(session: str, out: Path | None, log: SqlLog, log_url: str, as_json: bool) -> int:
    """Write the accepted candidate where the user asked, print the summary, and give the exit code."""
    from adapters.session import write_accepted
    from replay.explain import why
    from replay.history import read_history, summary
    from statemachine.sources import load

    history = read_history(log, session)
    state = history.state
    accepted = state.outcome == "accepted"
    if accepted and out is not None:
        write_accepted(load(log, state.current.candidate), load(log, state.opened.candidate), out)
    if as_json:
        dump(summary(session, state, history.head))
    else:
        click.echo(f"{session}: {why(state)}")
        click.echo(f"  story: opmend replay {session} --explain --log {log_url}", err=True)
        if accepted and out is not None:
            click.echo(f"  written: {out}", err=True)
    return 0 if accepted else 1


@main.command()
@click.argument("task", type=PATH)
@click.option(
    "--cases",
    "which",
    type=click.Choice(["compact", "full"]),
    default="full",
    show_default=True,
    help="Which sets to run; full runs both.",
)
@click.option(
    "--trace",
    metavar="[CASE]",
    is_flag=False,
    flag_value="0",
    help="Run one case only (0; 3; full:3) and show what every instruction wrote: statistics by line, core, iteration.",
)
@toolchain_options
@JSON
@click.pass_context
def check(ctx: click.Context, /, task: Path, which: CaseSet, trace: str | None, as_json: bool, **options: Any) -> None:
    """Evaluate and judge the candidate of TASK as it stands: numbers, device findings, integrity. Repairs nothing."""
    from adapters.session import Settings, check_task
    from replay.live import LiveStory
    from replay.report import render_check
    from replay.tracetable import render_trace

    if trace is not None:
        from adapters.trace import trace_task

        traced = trace_task(task, trace, Settings.of(options))
        dump(traced) if as_json else click.echo("\n".join(render_trace(traced)))
        ctx.exit(0 if traced.get("status") == "ok" else 1)
    story = LiveStory("", quiet=as_json)
    with story:
        report = check_task(task, which, Settings.of(options), story.progress)
    if as_json:
        dump(report)
    else:
        click.echo("\n".join(render_check(report)))
    ctx.exit(0 if report["passed"] and report["integrity"]["verdict"] == "clean" else 1)


main.add_command(sessions)
main.add_command(replay)
main.add_command(verify)
main.add_command(diff)
for command in (cost, shadow, seal, keygen, export, import_):
    main.add_command(command)


@main.command()
@CACHE
@LOG
@JSON
@click.pass_context
def doctor(ctx: click.Context, cache: Path | None, log_url: str, as_json: bool) -> None:
    """Say what this machine offers: compiler, libraries, device, isolation, log. Exit 4 if something is missing."""
    from adapters.doctor import examine

    rows = examine(cache, log_url)
    for row in rows:
        if as_json:
            dump(row)
        else:
            click.echo(f"{row['state']:<8} {row['what']:<14} {row['detail']}")
    ctx.exit(4 if any(row["state"] == "missing" for row in rows) else 0)


@main.command()
@JSON
def config(as_json: bool) -> None:
    """Show the effective default of every option, and where it comes from (environment, opmend.toml, built in)."""
    defaults = _defaults()
    for name, command in main.commands.items():
        for parameter in command.params:
            if not isinstance(parameter, click.Option) or parameter.is_flag or parameter.name is None:
                continue
            variable = parameter.envvar or f"OPMEND_{name.upper()}_{parameter.name.upper()}"
            value, source = parameter.default, "default"
            if parameter.name in defaults.get(name, {}):
                value, source = defaults[name][parameter.name], CONFIG_FILE
            if isinstance(variable, str) and variable in os.environ:
                value, source = os.environ[variable], variable
            shown = value if isinstance(value, str | int | float | bool) else None
            row = {"command": name, "option": parameter.opts[0], "value": shown, "source": source, "env": str(variable)}
            dump(row) if as_json else click.echo(f"{name:<9} {row['option']:<18} {shown!s:<22} {source}")


def run() -> None:
    """The `opmend` program: `main` with typed errors turned into messages and exit codes."""
    try:
        sys.exit(main(standalone_mode=False))  # click hands the code of ctx.exit back here
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        click.echo("\ninterrupted; a session that had begun is not lost: `opmend resume last` goes on", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo("opmend: nobody reads the output any more; `opmend resume last` goes on", err=True)
        sys.exit(130)
    except OSError as error:
        click.echo(f"opmend: {error.strerror or error}: {error.filename or 'the operating system refused'}", err=True)
        sys.exit(5)
    except Exception as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        click.echo(f"opmend: {error}", err=True)
        sys.exit(code)


if __name__ == "__main__":
    run()
