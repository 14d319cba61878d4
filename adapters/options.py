"""The command-line options of everything that runs a candidate. Imports click alone: `opmend --help` needs this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
CACHE = click.option(
    "--cache",
    type=PATH,
    envvar="OPMEND_CACHE",
    help="Folder of builds and references [default: the user's cache folder].",
)


def toolchain_options(function: F) -> F:
    """Options of every command that runs a candidate."""
    options = [
        click.option("--candidate", type=PATH, help="Use the kernel sources in this folder instead of TASK/kernel."),
        click.option(
            "--tolerance",
            default="cann-ecosystem",
            show_default=True,
            help="Named policy: cann-ecosystem, npukernelbench, allclose(rtol,atol).",
        ),
        click.option(
            "--findings",
            type=click.Choice(["default", "strict", "none"]),
            default="default",
            show_default=True,
            help="Device findings that fail a candidate: races, out-of-bounds and uninitialised data that reach an "
            "output (and hazards, deadlocks); strict: any finding; none: only warn. Recorded.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(0, 2**62),
            help="Seed of the inputs (default: a fresh one, recorded in the log).",
        ),
        click.option(
            "--check-level",
            type=click.IntRange(0, 3),
            default=3,
            show_default=True,
            help="Device checks: 0 none, 1 bounds, 2 + uninitialised data, 3 + pipeline hazards and races.",
        ),
        click.option(
            "--case-seconds",
            type=click.FloatRange(min=0.1),
            default=60.0,
            show_default=True,
            help="Time limit of one case.",
        ),
        click.option(
            "--case-memory-mb",
            type=click.IntRange(min=64),
            default=4096,
            show_default=True,
            help="Memory limit of one case, in MiB.",
        ),
        CACHE,
    ]
    for option in reversed(options):
        function = option(function)
    return function
