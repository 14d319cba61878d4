"""What a killed engine leaves is removed by the next one; what belongs to a living one, or to somebody else, is not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from adapters import scratch
from adapters.ascendc.cpu.toolchain import CpuToolchain

MAKE = "import sys, tempfile\nfrom adapters import scratch\n"
MAKE += "print(tempfile.mkdtemp(prefix=scratch.prefix('run'), dir=sys.argv[1]), flush=True)\nsys.stdin.read()\n"


def test_only_the_folders_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    argv = [sys.executable, "-c", MAKE, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as engine:
        assert engine.stdout
        left = Path(engine.stdout.readline().decode().strip())
        (left / "inner").mkdir()
        own = Path(tempfile.mkdtemp(prefix=scratch.prefix("run"), dir=tmp_path))
        strange = tmp_path / "opmend-mine"
        strange.mkdir()
        assert scratch.remove_orphans(tmp_path) == []
        engine.kill()
    assert scratch.remove_orphans(tmp_path) == [left.name]
    assert own.is_dir() and strange.is_dir() and not left.exists()


def test_a_reused_process_number_is_told_apart(tmp_path: Path) -> None:
    name = scratch.prefix("run")
    parts = name.split("-")
    parts[4] = str(int(parts[4]) + 1)
    (tmp_path / ("-".join(parts) + "x")).mkdir()
    assert scratch.remove_orphans(tmp_path) == ["-".join(parts) + "x"]


def test_a_toolchain_begins_with_a_clean_place(tmp_path: Path) -> None:
    parts = scratch.prefix("run").split("-")
    parts[4] = "1"
    left = Path(tempfile.gettempdir()) / ("-".join(parts) + "left")
    left.mkdir()
    CpuToolchain(tmp_path, seed=1).close()
    assert not left.exists()
