"""The engine's end of the candidate's fork server (``server.py``): started when first needed, replaced when it dies."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from adapters import sandbox

__all__ = ["ForkServer", "RunnerError"]

_SERVER = Path(__file__).with_name("server.py")
_START_SECONDS = 120.0
_ANSWER_GRACE_SECONDS = 20.0


class RunnerError(RuntimeError):
    """The runner itself could not work (no torch, no fork server): the environment is at fault, not the candidate."""


class ForkServer:
    """One process with torch loaded that forks a process per case. Candidates run in the forks only, so several
    candidates can share it.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None  # while it has not said that it is ready
        self._answers = -1
        self._buffer = b""

    def ask(self, job: dict[str, Any], wall_seconds: float) -> dict[str, Any] | None:
        """Have one case run; its answer, or None when the server died or fell silent (the next call starts another).

        Raises:
            RunnerError: the server does not start.
        """
        try:
            answer = self._ask(job, wall_seconds)
        except BaseException:
            self.close()
            raise
        if answer is None:
            self.close()
        return answer

    def begin(self) -> None:
        """Launch the server without waiting for it: the first ``ask`` waits for what is left, and tells what failed.

        Raises:
            RunnerError: no process can be started.
        """
        self._launch()

    def kill(self) -> None:
        """Kill the server from another thread than the one that asks it; that one then finds it gone."""
        process = self._process
        if process is not None and process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def start(self) -> None:
        """Start the server now rather than with the first case.

        Raises:
            RunnerError: it does not start.
        """
        self._running()

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """End the server and everything it started."""
        if self._process is not None:
            sandbox.kill_group(self._process)
            if self._process.stdin:
                with suppress(BrokenPipeError):
                    self._process.stdin.close()
            os.close(self._answers)
            self._process, self._buffer = None, b""
            if self._errors is not None:
                self._errors.close()
                self._errors = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, job: dict[str, Any], wall_seconds: float) -> dict[str, Any] | None:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
        return self._answer(wall_seconds + _ANSWER_GRACE_SECONDS)

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._launch()
        if self._errors is not None:
            if self._answer(_START_SECONDS) != {"ready": True}:
                self._errors.seek(0)
                said = self._errors.read().decode("utf-8", "replace").strip()[-1500:]
                self.close()
                raise RunnerError(
                    f"the candidate's server does not start; is torch installed for {sys.executable}?\n{said}"
                )
            self._errors.close()
            self._errors = None
        return process

    def _launch(self) -> subprocess.Popen[bytes]:
        if self._process is not None and (self._errors is not None or self._process.poll() is None):
            return self._process
        self.close()
        reader, writer = os.pipe()
        argv = [sys.executable, "-I", str(_SERVER), str(writer)]
        environment = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives until the server is ready
        try:
            self._process = subprocess.Popen(
                sandbox.confined_command(argv, sandbox.Limits(), die_with_caller=False, keep_users=True),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=sandbox.scrubbed_environment(environment),
                cwd="/",
                pass_fds=[writer],
                start_new_session=True,
            )
        except OSError as error:
            errors.close()
            os.close(reader)
            raise RunnerError(f"the candidate's server does not start: {error}") from error
        finally:
            os.close(writer)
        self._errors, self._answers = errors, reader
        return self._process

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line from the server; None when it is gone, silent for too long, or not making sense."""
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._answers, 1 << 16) if ready else b""
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            found = json.loads(line)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None
