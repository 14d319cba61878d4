"""The sandbox with real programs: each way to misbehave ends within its limit, is told apart, and leaves nothing
running.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from adapters import sandbox
from adapters.sandbox import Files, Limits, SandboxError


def gone(pid: int) -> bool:
    """Whether the process ends (or is only a zombie that init has yet to reap) within ten seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        os.sched_yield()
    return False


PY = [sys.executable, "-I", "-S", "-c"]


def test_output_exit_code_and_an_empty_working_directory() -> None:
    done = sandbox.run([*PY, "import os,sys; print(os.listdir()); print('e', file=sys.stderr); sys.exit(3)"], Limits())
    assert (done.returncode, done.stdout, done.stderr, done.ok) == (3, "[]\n", "e\n", False)


def test_secrets_of_the_environment_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPMEND_SECRET", "x")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    done = sandbox.run([*PY, "import os; print(sorted(os.environ))"], Limits())
    assert "OPMEND_SECRET" not in done.stdout and "PYTHONPATH" not in done.stdout


def test_a_loop_is_killed_with_its_children() -> None:
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, '-S', '-c', 'while 1: pass'])
print(child.pid, flush=True)
while 1: pass
"""
    done = sandbox.run([*PY, code], Limits(wall_seconds=1.0))
    assert done.timed_out and done.seconds < 5
    assert gone(int(done.stdout))


def test_a_background_child_that_keeps_the_pipe_open_does_not_hold_us() -> None:
    code = "import subprocess,sys; subprocess.Popen([sys.executable,'-S','-c','while 1: pass'])"
    done = sandbox.run([*PY, code], Limits(wall_seconds=20.0))
    assert done.ok and done.seconds < 10


def test_a_cpu_limit_counts_as_a_timeout() -> None:
    done = sandbox.run([*PY, "while 1: pass"], Limits(wall_seconds=20, cpu_seconds=1))
    assert done.timed_out and done.seconds < 10


def test_memory_is_bounded() -> None:
    done = sandbox.run([*PY, "x = bytearray(1 << 30)"], Limits(memory_bytes=256 << 20))
    assert done.returncode == 1 and "MemoryError" in done.stderr


def test_a_signal_is_reported() -> None:
    done = sandbox.run([*PY, "import os; os.kill(os.getpid(), 11)"], Limits())
    assert done.signal == signal.SIGSEGV


def test_megabytes_of_prints_are_cut_not_fatal() -> None:
    done = sandbox.run([*PY, "import sys; sys.stdout.write('x' * 8_000_000)"], Limits(output_bytes=1000))
    assert done.ok and done.truncated
    assert len(done.stdout) < 1100 and "7999000 more bytes" in done.stdout


def test_files_have_a_maximal_size(tmp_path: Path) -> None:
    done = sandbox.run([*PY, f"open({str(tmp_path / 'f')!r}, 'wb').write(bytes(1 << 20))"], Limits(file_bytes=1000))
    assert not done.ok
    assert (tmp_path / "f").stat().st_size <= 1000


def test_no_network_where_isolation_says_so() -> None:
    if sandbox.isolation()["network"] != "namespace":
        pytest.skip(sandbox.isolation()["network"])
    done = sandbox.run([*PY, "import socket; print([n for _, n in socket.if_nameindex()])"], Limits())
    assert done.stdout.strip() == "['lo']"


def test_only_the_named_files_are_in_reach_where_isolation_says_so(tmp_path: Path) -> None:
    if not sandbox.isolation()["filesystem"].startswith("landlock"):
        pytest.skip(sandbox.isolation()["filesystem"])
    (tmp_path / "secret").write_text("s")
    (tmp_path / "out").mkdir()
    code = f"""
import os
d = {str(tmp_path)!r}
open(d + '/out/ok', 'w').write('1')
def attempt(action):
    try:
        action()
        print('allowed')
    except PermissionError:
        print('denied')
attempt(lambda: open(d + '/secret'))
attempt(lambda: open(d + '/new', 'w'))
attempt(lambda: os.kill({os.getpid()}, 0))
"""
    system = ["/usr", "/lib", "/lib64", sys.base_prefix, sys.prefix]
    files = Files(readable=["/etc"], writable=[str(tmp_path / "out")], executable=system)
    done = sandbox.run([*PY, code], Limits(), files=files)
    assert done.stdout.split() == ["denied"] * 3, done.stderr
    assert (tmp_path / "out" / "ok").read_text() == "1"


def test_a_missing_program_is_the_environments_fault() -> None:
    with pytest.raises(SandboxError, match="not installed"):
        sandbox.run(["no-such-compiler"], Limits())


def test_the_program_dies_with_the_engine(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    inner = f"import os\nopen({str(mark)!r},'w').write(str(os.getpid()))\nwhile 1: pass"
    code = f"from adapters import sandbox; sandbox.run({[*PY, inner]!r}, sandbox.Limits(wall_seconds=60))"
    engine = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    until = time.monotonic() + 20
    while not (mark.exists() and mark.read_text()) and time.monotonic() < until:
        os.sched_yield()
    pid = int(mark.read_text())
    engine.kill()
    engine.wait()
    assert gone(pid)


def test_an_interrupt_kills_the_program_and_is_passed_on(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    inner = f"import os\nopen({str(mark)!r},'w').write(str(os.getpid()))\nos.kill({os.getpid()}, 2)\nwhile 1: pass"
    with pytest.raises(KeyboardInterrupt):
        sandbox.run([*PY, inner], Limits(wall_seconds=20))
    assert not psutil.pid_exists(int(mark.read_text()))
