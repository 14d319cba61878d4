"""Running a candidate on cases, from the engine's side.

``Runner`` keeps one fork server (``server.py``) with torch loaded and asks it for a fresh process per case. What
comes back is decided here, from how that process ended and from the files it left, read as hostile input. A server
that dies (a candidate may kill it) costs one case, not the session: the next case starts another.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from adapters import sandbox, scratch
from adapters.runner.forkserver import ForkServer, RunnerError
from adapters.runner.materialise import folder_digest, place_module

__all__ = ["CaseRun", "ForkServer", "Limits", "Runner", "RunnerError", "Status"]

Status = Literal["ok", "error", "crash", "timeout", "oom", "bad-output"]

_MAX_SIDE_BYTES = 32 << 20
#: What the flight recorder keeps by default: instructions of one place on one core, and in all.
RECORDER_BOUNDS = (8, 20_000)
_MAX_PROCESSES = 128
_SIGNALS = {
    4: "illegal instruction",
    6: "abort",
    7: "bus error",
    8: "arithmetic error",
    9: "killed",
    11: "segmentation fault",
    25: "file size limit",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one case. ``memory_bytes`` is on top of what Python and torch take; ``file_bytes`` bounds the
    outputs.
    """

    wall_seconds: float = 30.0
    memory_bytes: int = 4 << 30
    file_bytes: int = 2 << 30
    print_bytes: int = 64 << 10


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One case as it went.

    ``outputs`` is a tensor file with the list of returned values (one entry when ``forward`` returned a single
    value); it exists when ``status`` is ok. ``report`` is the device's report on ``forward``, ``side`` everything the
    candidate's process noted: ``setup_report``, ``forward_ops`` and ``setup_ops`` (ATen operator -> count),
    ``outputs`` and ``inputs`` (metadata with storage base and size), ``inputs_changed`` (indices), ``returned``,
    ``module_file``, ``stage``, ``error``. Both come out of a process that ran candidate code.
    """

    status: Status
    detail: str
    outputs: Path | None
    report: dict[str, Any] | None
    seconds: float
    side: dict[str, Any]
    printed: str = ""
    peak_bytes: int = 0

    @property
    def recording(self) -> dict[str, Any] | None:
        """What the flight recorder kept of ``forward``, if it was on: ``records`` (launch, order, place, core,
        iteration, dtype, count, min, max, mean, nans, infinities, first), ``places`` (api, frames), ``dropped``.
        """
        found = self.side.get("recording")
        return found if isinstance(found, dict) else None


class Runner:
    """Runs one built candidate; use as a context manager or call ``close``."""

    def __init__(
        self,
        materialised: Path,
        module_so: Path,
        limits: Limits | None = None,
        *,
        init_inputs_file: Path | None = None,
        wrapper: str = "model_new_ascendc.py",
        task_name: str | None = None,
        seed: int = 0,
        server: ForkServer | None = None,
        importable: bool = False,
        digest: str | None = None,
    ) -> None:
        """Prepare; the server starts with the first case.

        Args:
            materialised: the candidate's folder (see ``materialise``); ``module_so`` is copied to its ``kernel/build``.
            module_so: the extension, with ``libopmend_rt.so`` beside it.
            limits: bounds of each case.
            init_inputs_file: tensor file with the arguments of ``ModelNew``.
            wrapper: file name of the module that defines ``ModelNew``.
            task_name: the package name that wrappers may use for the task's folder, besides ``current_task``.
            seed: torch's seed just before ``ModelNew`` is constructed, as for the reference.
            server: a fork server to share between candidates (starting one takes seconds); a runner without one has
                its own.
            importable: whether the wrapper imports the module by its bare name, from nowhere (msopgen layout).
            digest: `folder_digest` of the folder as it was made; taken here by default.
        """
        self._folder = materialised.resolve()
        placed = module_so.resolve()
        if placed.parent != self._folder / "kernel" / "build":
            placed = place_module(self._folder, placed)
        self._runtime = placed.with_name("libopmend_rt.so")
        self._module_name, self._module_file = placed.name.split(".", 1)[0], placed.name
        self._limits = limits or Limits()
        self._init_inputs = init_inputs_file.resolve() if init_inputs_file else None
        self._wrapper, self._task_name, self._seed = wrapper, task_name or self._folder.name, seed
        self._digest = digest or folder_digest(self._folder)
        self._importable = importable
        self._owns_server = server is None
        self._server = server or ForkServer()

    def run(
        self,
        inputs_file: Path,
        out_dir: Path,
        *,
        noop: bool = False,
        reverse_cores: bool = False,
        recorder: bool | tuple[int, int] = False,
        init_inputs_file: Path | None = None,
    ) -> CaseRun:
        """Run ``forward`` on the values of ``inputs_file``; files go to ``out_dir``, which is emptied first.

        With ``noop`` launches are recorded but no kernel body runs; ``reverse_cores`` schedules the cores the other
        way round; ``recorder`` keeps statistics of what every instruction wrote (``CaseRun.recording``), of at most so
        many at each place of the source on a core and so many in all; ``init_inputs_file`` stands in for the runner's
        own.

        Raises:
            RunnerError: the fork server does not start.
        """
        shutil.rmtree(out_dir, ignore_errors=True)
        out_dir.mkdir(parents=True)
        out_dir = out_dir.resolve()
        started = time.monotonic()
        init = init_inputs_file.resolve() if init_inputs_file else self._init_inputs
        if folder_digest(self._folder) != self._digest:
            why = "the candidate's folder is not as the engine made it: an earlier case changed it"
            return CaseRun("crash", why, None, None, 0.0, {})
        with tempfile.TemporaryDirectory(prefix=scratch.prefix("case"), ignore_cleanup_errors=True) as empty:
            job = {
                "folder": str(self._folder),
                "wrapper": self._wrapper,
                "task_name": self._task_name,
                "module_name": self._module_name,
                "module_file": self._module_file,
                "runtime": str(self._runtime),
                "inputs": str(inputs_file.resolve()),
                "init_inputs": str(init) if init else None,
                "import_from": str(self._runtime.parent) if self._importable else None,
                "out_dir": str(out_dir),
                "scratch": empty,
                "noop": noop,
                "reverse_cores": reverse_cores,
                "recorder": RECORDER_BOUNDS if recorder is True else list(recorder) if recorder else None,
                "seed": self._seed,
                "wall_seconds": self._limits.wall_seconds,
                "memory_bytes": self._limits.memory_bytes,
                "file_bytes": self._limits.file_bytes,
                "output_bytes": self._limits.print_bytes,
                "max_input_bytes": 1 << 40,
                # where they cannot be told apart the count would include the user's other processes
                "processes": _MAX_PROCESSES if "counted" in sandbox.isolation()["processes"] else None,
                "own_user": sandbox.isolation()["processes"].startswith("a user of its own"),
                "refuse_calls": sandbox.isolation()["system-calls"] == "seccomp",
                "confine_files": sandbox.isolation()["filesystem"].startswith("landlock"),
            }
            answer = self._server.ask(job, self._limits.wall_seconds)
        if answer is None:
            return CaseRun(
                "crash",
                "the candidate's process took its server down with it",
                None,
                None,
                time.monotonic() - started,
                {},
            )
        return _judge(answer, out_dir, self._limits)

    def close(self) -> None:
        """End the server, where it is this runner's own."""
        if self._owns_server:
            self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _judge(answer: dict[str, Any], out_dir: Path, limits: Limits) -> CaseRun:
    """The outcome, from the process's end and the files in ``out_dir``."""
    side = _read_side(out_dir / "side.json")
    code, printed = int(answer["exit"]), str(answer["output"])
    if answer["dropped"]:
        printed += f"\n[{answer['dropped']} more bytes not kept]"
    outputs = out_dir / "outputs.tensors"
    error = side.get("error")
    said = f"{error.get('type')}: {error.get('message')}" if isinstance(error, dict) else ""
    stage = str(side.get("stage", "start"))
    status: Status
    if answer["timed_out"] or code == -24:
        status, detail = "timeout", f"not finished within {limits.wall_seconds:g} s"
    elif code == 0 and outputs.is_file() and not outputs.is_symlink() and stage == "done":
        status, detail = "ok", ""
    elif code == 0:
        status, detail = "bad-output", f"the process ended with status 0 during {stage} without writing its outputs"
    elif code == 11 or (code < 0 and "bad_alloc" in printed):
        status, detail = "oom", f"more than {limits.memory_bytes} bytes needed: {said or printed.strip()[-300:]}"
    elif code == 12:
        status, detail = "bad-output", said.removeprefix("BadOutput: ")
    elif code == 10:
        status, detail = "error", f"{said} (during {stage})"
    elif code < 0:
        status, detail = "crash", f"signal {-code} ({_SIGNALS.get(-code, 'unknown')}) {printed.strip()[-300:]}".strip()
    else:
        status, detail = "crash", f"the process ended with status {code} {printed.strip()[-300:]}".strip()
    report = side.get("report")
    return CaseRun(
        status=status,
        detail=detail,
        outputs=outputs if status == "ok" else None,
        report=report if isinstance(report, dict) else None,
        seconds=float(answer["seconds"]),
        side=side,
        printed=printed,
        peak_bytes=int(answer["peak_bytes"]),
    )


def _read_side(path: Path) -> dict[str, Any]:
    """The side file as a dictionary; empty when absent, no regular file, too large or malformed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            found = json.loads(file.read(_MAX_SIDE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
