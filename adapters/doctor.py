"""`opmend doctor`: what this machine offers, and what is missing. Looks, and changes nothing but caches."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, TypedDict

from adapters import sandbox
from adapters.ascendc.cpu import compiler as cc
from adapters.ascendc.cpu.build import warm_up
from adapters.session import default_cache
from events.errors import LogError
from events.log import SqlLog
from kb.knowledge import PatternBase


class Row(TypedDict):
    """One line of the report. `limited` works, with the loss that `detail` names; `missing` makes the exit code 4."""

    what: str
    state: Literal["ok", "limited", "missing"]
    detail: str


def examine(cache: Path | None, log_url: str) -> list[Row]:
    """Every check, in the order in which they depend on each other."""
    return [*_python(), *_device(cache or default_cache()), *_isolation(), *_rest(log_url)]


def _row(what: str, state: Literal["ok", "limited", "missing"], detail: str) -> Row:
    return {"what": what, "state": state, "detail": detail}


def _python() -> Iterator[Row]:
    yield _row("python", "ok", platform.python_version())
    for package in ("torch", "numpy", "pybind11"):
        try:
            yield _row(package, "ok", version(package))
        except PackageNotFoundError:
            yield _row(package, "missing", f"not installed here: pip install {package}")


def _device(cache: Path) -> Iterator[Row]:
    try:
        compiler = cc.find_compiler()
    except sandbox.SandboxError as error:
        yield _row("compiler", "missing", str(error))
        return
    yield _row("compiler", "ok", compiler.version)
    try:
        seconds = warm_up(cache / "builds", level=3)
        yield _row("device", "ok", f"AscendC on the CPU, ready in {seconds:.1f} s (built once, then cached in {cache})")
    except (sandbox.SandboxError, OSError) as error:
        yield _row("device", "missing", str(error))
    npu = any(Path("/dev").glob("davinci[0-9]*"))
    yield _row(
        "npu",
        "limited",
        "an NPU is here, but no NPU toolchain in this version" if npu else "none here; kernels run on the CPU device",
    )


def _isolation() -> Iterator[Row]:
    for what, how in sandbox.isolation().items():
        state: Literal["ok", "limited"] = "limited" if how.startswith("none") else "ok"
        yield _row(f"hold:{what}", state, how)
    cores = os.cpu_count() or 1
    yield _row("cores", "ok", str(cores))


def _rest(log_url: str) -> Iterator[Row]:
    base = PatternBase()
    yield _row("knowledge", "ok", f"{len(base.patterns)} patterns, snapshot {base.snapshot()[:19]}")
    try:
        with SqlLog(log_url) as log:
            yield _row("log", "ok", f"{len(log.sessions())} sessions in {log_url}")
    except LogError as error:
        yield _row("log", "limited", str(error))
