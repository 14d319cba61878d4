"""Running a program that may misbehave: bounded in time, memory, output and reach, and gone without a trace afterwards.

The compiler (whose input is hostile) and the candidate's fork server are started through here. The program gets a
session of its own, resource limits, a scrubbed environment, an empty working directory, no network and, where the
kernel has Landlock, only the files it is told; ``isolation`` says what of this the machine gives. The steps are taken
by ``runner/confine.py`` in the new process, before it becomes the program, so that nothing runs between fork and exec
in a possibly threaded engine.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from adapters import scratch

__all__ = [
    "Files",
    "Finished",
    "Limits",
    "SandboxError",
    "confined_command",
    "isolation",
    "kill_group",
    "run",
    "scrubbed_environment",
]

_CONFINE = Path(__file__).with_name("runner") / "confine.py"
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "SYSTEMROOT")


class SandboxError(RuntimeError):
    """The program could not be started at all: the environment is at fault, not the program."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one run. Seconds, bytes and counts; ``None`` leaves a resource alone."""

    wall_seconds: float = 60.0
    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None
    processes: int | None = None
    output_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Files:
    """Paths left to the program (with what lies beneath them) where the kernel can enforce it."""

    readable: list[str] = field(default_factory=list)
    writable: list[str] = field(default_factory=list)
    executable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended. ``signal`` is set when a signal ended it; ``stdout`` and ``stderr`` are cut at the limit and
    say so.
    """

    returncode: int
    signal: int | None
    timed_out: bool
    stdout: str
    stderr: str
    truncated: bool
    seconds: float

    @property
    def ok(self) -> bool:
        return self.returncode == 0 and not self.timed_out


@cache
def isolation() -> dict[str, str]:
    """What keeps a candidate apart on this machine: ``network``, ``filesystem``, ``limits``, ``processes``,
    ``signals``, ``system-calls`` and ``memory``, each a mechanism (with what it leaves open) or ``none: <why>``.
    """
    probe = subprocess.run(
        [sys.executable, "-I", "-S", str(_CONFINE), "--probe"], capture_output=True, text=True, check=False, timeout=30
    )
    try:
        found = json.loads(probe.stdout)
        return {str(key): str(value) for key, value in found.items()}
    except ValueError:
        why = f"none: the probe failed: {probe.stderr.strip()[-200:]}"
        return dict.fromkeys(("network", "filesystem", "limits", "processes", "signals", "system-calls", "memory"), why)


def scrubbed_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The few variables a program may inherit (no tokens, no proxies, no Python or loader settings), and ``extra``."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | dict(extra or {})


def confined_command(
    argv: Sequence[str],
    limits: Limits,
    *,
    network: bool = False,
    files: Files | None = None,
    die_with_caller: bool = True,
    keep_users: bool = False,
) -> list[str]:
    """The command line that confines itself and then becomes ``argv``.

    ``die_with_caller`` has the kernel kill the program when the calling *thread* ends. ``keep_users`` lets a program
    of root's change its user later (see ``confine.leave_network``).

    Raises:
        SandboxError: the program does not exist.
    """
    program = shutil.which(argv[0])
    if program is None:
        raise SandboxError(f"{argv[0]} is not installed or not on PATH: install it, or name it in the configuration")
    spec = {
        "parent": os.getpid() if die_with_caller else 0,
        "network": network,
        "keep_users": keep_users,
        "limits": {
            "memory": limits.memory_bytes,
            "cpu": limits.cpu_seconds,
            "file": limits.file_bytes,
            "processes": limits.processes,
        },
        "files": asdict(files) if files else None,
    }
    return [sys.executable, "-I", "-S", str(_CONFINE), json.dumps(spec), "--", program, *argv[1:]]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole session of ``process`` and reap it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def run(
    argv: Sequence[str],
    limits: Limits,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    network: bool = False,
    files: Files | None = None,
) -> Finished:
    """Run ``argv`` to its end or to its limit, whichever comes first, and return how it went.

    ``cwd`` defaults to an empty directory that is removed afterwards; ``env`` to the scrubbed environment.

    Raises:
        SandboxError: the program does not exist.
        KeyboardInterrupt: passed on after the program was killed.
    """
    with ExitStack() as stack:
        if cwd is None:
            cwd = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=scratch.prefix("program"))))
        process = subprocess.Popen(
            confined_command(argv, limits, network=network, files=files),
            cwd=cwd,
            env=scrubbed_environment() if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started = time.monotonic()
        try:
            captured, timed_out = _drain(process, started + limits.wall_seconds, limits.output_bytes)
        finally:
            kill_group(process)
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
    seconds = time.monotonic() - started
    texts = [_text(data, dropped) for data, dropped in captured]
    code = process.returncode
    return Finished(
        returncode=code,
        signal=-code if code < 0 else None,
        timed_out=timed_out or code == -signal.SIGXCPU,
        stdout=texts[0],
        stderr=texts[1],
        truncated=any(dropped for _, dropped in captured),
        seconds=seconds,
    )


def _drain(process: subprocess.Popen[bytes], deadline: float, cap: int) -> tuple[list[tuple[bytes, int]], bool]:
    """Read both streams until the program ends; returns (kept bytes, dropped count) for each, and whether time ran
    out.
    """
    kept = [bytearray(), bytearray()]
    dropped = [0, 0]
    with selectors.DefaultSelector() as selector:
        for index, stream in enumerate((process.stdout, process.stderr)):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            selector.register(stream.fileno(), selectors.EVENT_READ, index)
        while True:
            ended = process.poll() is not None
            remaining = deadline - time.monotonic()
            if remaining <= 0 and not ended:
                return [(bytes(data), lost) for data, lost in zip(kept, dropped, strict=True)], True
            events = selector.select(0 if ended else min(remaining, 0.05)) if selector.get_map() else []
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fd)
                    continue
                room = cap - len(kept[key.data])
                kept[key.data] += chunk[:room]
                dropped[key.data] += max(0, len(chunk) - room)
            if ended and not events:
                return [(bytes(data), lost) for data, lost in zip(kept, dropped, strict=True)], False
            if not selector.get_map() and not ended:
                try:
                    process.wait(max(0.0, min(remaining, 0.05)))
                except subprocess.TimeoutExpired:
                    continue


def _text(data: bytes, dropped: int) -> str:
    text = data.decode("utf-8", "replace")
    return f"{text}\n[{dropped} more bytes not kept]" if dropped else text
