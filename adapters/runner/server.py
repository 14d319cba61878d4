"""The candidate's fork server: imports torch once, then gives every case a process of its own.

Started by path (``python -I server.py``), so that nothing of the engine but the few files loaded below is in the
process. Requests come as JSON lines on standard input, answers go as JSON lines to the descriptor named on the
command line; the forked child closes both before it runs candidate code. The server tells how the child ended and
what it printed; what the case means is for the client to decide. It ends when its input ends, and takes every
descendant with it.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

_HERE = Path(__file__).resolve().parent


def load_by_path(name: str, path: Path) -> ModuleType:
    """Import one file under a private name, without its package."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def serve(answers: int) -> None:
    """Answer requests until the input ends."""
    confine = load_by_path("opmend_confine", _HERE / "confine.py")
    confine.adopt_orphans()
    tensorfile = load_by_path("opmend_tensorfile", _HERE.parent / "tensorfile.py")
    guard = load_by_path("opmend_guard", _HERE / "guard.py")
    child = load_by_path("opmend_child", _HERE / "child.py")
    load_by_path("opmend_syscalls", _HERE / "syscalls.py")
    load_by_path("opmend_library", _HERE / "library_shim.py")
    child.warm_up()
    gc.freeze()  # collections in a child would copy the pages it shares with us
    os.write(answers, b'{"ready": true}\n')
    buffer = b""
    while True:
        while b"\n" not in buffer:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return
            buffer += chunk
        line, buffer = buffer.split(b"\n", 1)
        job = json.loads(line)
        answer = _case(job, answers, confine, lambda job=job: child.run_case(job, tensorfile, guard))
        if answer is None:
            return
        os.write(answers, json.dumps(answer).encode() + b"\n")


def _case(job: dict[str, Any], answers: int, confine: ModuleType, body: Any) -> dict[str, Any] | None:
    """Fork, watch, reap. None when the client went away meanwhile."""
    reader, writer = os.pipe()
    server = os.getpid()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            _become_candidate(job, answers, writer, server, confine)
            code = body()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            code = 13
        os._exit(code)
    os.close(writer)
    try:
        status, output, dropped, timed_out, peak = _watch(
            pid, reader, started + job["wall_seconds"], job["output_bytes"]
        )
    except EOFError:
        return None
    finally:
        os.close(reader)
        _kill_descendants(pid, confine if job["own_user"] else None)
    return {
        "exit": os.waitstatus_to_exitcode(status),
        "timed_out": timed_out,
        "output": output.decode("utf-8", "replace"),
        "dropped": dropped,
        "seconds": time.monotonic() - started,
        "peak_bytes": peak,
    }


def _become_candidate(job: dict[str, Any], answers: int, writer: int, server: int, confine: ModuleType) -> None:
    """In the child: cut what leads to the engine, and take on the case's limits."""
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    for source, target in ((null, 0), (writer, 1), (writer, 2)):
        os.dup2(source, target)
    for descriptor in (null, writer, answers):
        if descriptor > 2:
            os.close(descriptor)
    os.chdir(job["scratch"])
    tempfile = sys.modules.get("tempfile")
    os.environ["TMPDIR"] = job["scratch"]
    if tempfile is not None:
        tempfile.tempdir = job["scratch"]  # type: ignore[attr-defined]
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    confine.set_limits(
        {
            "memory": mapped + job["memory_bytes"],
            "cpu": int(job["wall_seconds"] * 2) + 2,
            "file": job["file_bytes"],
            "processes": job["processes"],
        }
    )
    if job["own_user"] and (why := confine.become_nobody(os.getpid())):
        raise OSError(why)
    confine.die_with(server)  # changing the user forgets it
    if job["confine_files"]:
        system = [
            "/usr",
            "/lib",
            "/lib64",
            "/etc",
            sys.prefix,
            sys.base_prefix,
            "/proc/self",
            "/proc/cpuinfo",
            "/proc/meminfo",
            "/sys/devices/system",
        ]
        inputs = [path for path in (job["inputs"], job["init_inputs"]) if path]
        readable = [
            *system,
            "/dev/urandom",
            "/dev/random",
            "/dev/zero",
            str(Path(job["folder"])),
            job["runtime"],
            *inputs,
        ]
        confine.restrict_files(readable, [job["out_dir"], job["scratch"], "/dev/null"], [])
    if job["refuse_calls"]:
        sys.modules["opmend_syscalls"].refuse()


def _watch(pid: int, reader: int, deadline: float, cap: int) -> tuple[int, bytes, int, bool, int]:
    """Collect output until the child ends or its time is up; raises EOFError when the client goes away."""
    ended = os.pidfd_open(pid)
    kept, dropped, timed_out = bytearray(), 0, False
    sources = [ended, reader, 0]
    try:
        while True:
            ready, _, _ = select.select(sources, [], [], max(0.0, deadline - time.monotonic()))
            if reader in ready:
                chunk = os.read(reader, 1 << 16)
                if not chunk:
                    sources.remove(reader)
                room = cap - len(kept)
                kept += chunk[:room]
                dropped += max(0, len(chunk) - room)
                if time.monotonic() < deadline:
                    continue
            if ended in ready:
                break
            if 0 in ready:  # nothing is asked while a case runs: the client is gone
                raise EOFError
            if time.monotonic() >= deadline:
                timed_out = True
                break
    finally:
        _kill_group(pid)
        os.close(ended)
        _, status, usage = os.wait4(pid, 0)
    return status, bytes(kept), dropped, timed_out, usage.ru_maxrss * 1024


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _kill_user(first: int, confine: ModuleType) -> None:
    """Kill all processes of the case's user at once: what forks faster than it can be looked for is gone, too."""
    pid = os.fork()
    if pid == 0:
        try:
            if confine.become_nobody(first) is None:
                os.kill(-1, signal.SIGKILL)  # all but this one
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _kill_descendants(first: int, confine: ModuleType | None) -> None:
    """Kill and reap whatever the case left behind; as subreaper, this process inherits all of it. With ``confine`` the
    case had a user of its own.
    """
    _kill_group(first)
    if not _children():
        return
    if confine is not None:
        _kill_user(first, confine)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        children = _children()
        if not children:
            return
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except (ProcessLookupError, PermissionError, ChildProcessError):
                continue


def _children() -> list[int]:
    return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(int(sys.argv[1]))
