"""How long `opmend --help` takes beside an interpreter that does nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.conftest import Timed

ROOT = Path(__file__).parents[2]
GROUP = "start"


def run(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_bare_interpreter(timed: Timed) -> None:
    timed(GROUP, "python -c pass", lambda: run("-c", "pass"), rounds=15, floor=True)


def test_help(timed: Timed) -> None:
    assert "repair" in timed(GROUP, "opmend --help", lambda: run("cli.py", "--help"), rounds=15)
