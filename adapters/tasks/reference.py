"""The engine's end of the reference's process: starts it under limits, asks it for cases, ends it.

One process serves many cases, because importing torch costs two seconds. It works in a copy of the task's Python and
data files, so that a case file can be replaced by a single case without touching the user's task, and it dies with the
engine. What goes wrong in model.py is a UsageError that shows the reference's own exception; a process that breaks
otherwise (killed, out of memory, out of time) is one too, since only the task can be at fault, and a new process serves
the next request.
"""

from __future__ import annotations

import contextlib
import json
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters import sandbox
from adapters.scratch import prefix, remove_orphans
from statemachine.ports import EnvironmentMissing, ReferenceFails, UsageError

_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = "adapters.tasks.reference_main"
_BOOT = (
    "import importlib, sys; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2]).main(sys.argv[3:])"
)
_START_SECONDS = 120.0


@dataclass(frozen=True)
class ReferenceLimits:
    """Bounds of the reference: wall seconds for one case, address space of the process in bytes (None: unlimited)."""

    case_seconds: float = 600.0
    memory_bytes: int | None = 64 << 30


class ReferenceRunError(UsageError):
    """The reference failed; `stage` says where (`import`, `get_input_groups()`, `Model.forward()`, ...)."""

    def __init__(self, message: str, stage: str) -> None:
        super().__init__(message)
        self.stage = stage


class ReferenceCaseError(ReferenceRunError, ReferenceFails):
    """The task's own code raised while it made this one case: others may do."""


#: Stages that belong to one case; a failing import or constructor argument concerns all of them.
_OF_A_CASE = frozenset({"get_input_groups()", "get_inputs()", "inputs", "Model(...)", "Model.forward()"})

#: Out of memory says something about this machine and its limits, not about the case: no reason to leave one out.
_NO_MEMORY = re.compile(
    r"MemoryError|bad_alloc|(?:can't|cannot|unable to|failed to|could not) allocate|not enough memory|out of memory",
    re.I,
)


class Reference:
    """A lazily started reference process over a working copy made of `files` (path -> content).

    `case_files`: the names under which a single case is put into the working copy. `scratch`: where the copy is made.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        case_files: tuple[str, ...],
        scratch: Path,
        limits: ReferenceLimits,
        program: str = _PROGRAM,
    ) -> None:
        self._files, self._case_files, self._limits = files, case_files, limits
        self._scratch, self._program = scratch, program
        self._live: _Process | None = None

    def ask(self, request: Mapping[str, Any], what: str) -> dict[str, Any]:
        """Send one request, return its answer. `what` names the case in errors ("compact case 3").

        Raises ReferenceRunError when the reference fails (ReferenceCaseError: its own code raised, on this case),
        EnvironmentMissing when the process cannot even import torch.
        """
        if self._live is None or not self._live.alive():
            self.close()
            self._live = _Process(self._files, (self._program, *self._case_files), self._scratch, self._limits)
        try:
            answer = self._live.ask(request, self._limits.case_seconds)
        except BaseException:
            self.close()  # an answer may still be on its way, and would be taken for the next one's
            raise
        if isinstance(answer, str):
            self.close()
            raise ReferenceRunError(f"the reference's process broke on {what}: {answer}", "process")
        if not answer["ok"]:
            raised = answer["where"] and answer["stage"] in _OF_A_CASE and not _NO_MEMORY.search(answer["error"])
            raise (ReferenceCaseError if raised else ReferenceRunError)(_explain(answer, what), answer["stage"])
        return answer

    def close(self) -> None:
        """End the process and remove its working copy. A later `ask` starts anew."""
        if self._live is not None:
            self._live.end()
            self._live = None


class _Process:
    """One running process with its working copy."""

    def __init__(
        self, files: Mapping[str, bytes], arguments: tuple[str, ...], scratch: Path, limits: ReferenceLimits
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        remove_orphans(scratch)
        top = Path(tempfile.mkdtemp(prefix=prefix("reference"), dir=scratch)).resolve()
        self._home, self._log = top / "task", top / "stderr"
        for name, data in files.items():
            target = self._home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        bounds = sandbox.Limits(memory_bytes=limits.memory_bytes)
        command = [sys.executable, "-I", "-c", _BOOT, str(_ROOT), *arguments]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                sandbox.confined_command(command, bounds),
                cwd=self._home,
                env=_environment(top),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._started = False
        self.end = weakref.finalize(self, _end, self._process, top)

    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any] | str:
        """The answer, or why there is none."""
        assert self._process.stdin and self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._died()
        deadline = time.monotonic() + seconds + (0.0 if self._started else _START_SECONDS)
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return f"it took more than {seconds:g} s; make the case smaller or raise the limit"
                chunk = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                if not chunk:
                    return self._died()
                received += chunk
        self._started = True
        answer: dict[str, Any] = json.loads(received)
        return answer

    def _died(self) -> str:
        code = self._process.wait()
        tail = self._log.read_bytes()[-2000:].decode("utf-8", "replace").strip()
        last = tail.splitlines()[-1] if tail else "no message"
        if not self._started and "ModuleNotFoundError: No module named 'torch'" in tail:
            raise EnvironmentMissing("the reference needs torch, which is not installed: pip install torch (CPU build)")
        how = f"it was killed by signal {-code}" if code < 0 else f"it ended with status {code}"
        return f"{how} (its last line: {last})"


def _end(process: subprocess.Popen[bytes], top: Path) -> None:
    sandbox.kill_group(process)
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    shutil.rmtree(top, ignore_errors=True)


def _environment(home: Path) -> dict[str, str]:
    """One thread, no device plug-ins, no caches beside the working copy: the same result on every run."""
    return sandbox.scrubbed_environment(
        {
            "HOME": str(home),
            "TMPDIR": str(home),
            "OMP_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
    )


def _explain(answer: Mapping[str, Any], what: str) -> str:
    at = f" at {answer['where']}" if answer["where"] else ""
    error = str(answer["error"])
    text = f"the reference fails on {what}, in {answer['stage']}{at}: {error}"
    if "not implemented for 'Half'" in error or "not implemented for 'BFloat16'" in error:
        text += "; torch has no such operation for this dtype on a CPU: compute in float32 in model.py and cast back"
    return text
