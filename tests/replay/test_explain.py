"""`replay --explain` answers from the log alone: no toolchain, no task, no torch, nothing executed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.conftest import ROOT, Opmend
from tests.tiny import ALIGNED_ONLY, KERNEL, write_task

BLOCKED = """
import sys

parts = ("ascendc", "runner", "sandbox", "session", "tasks", "tensorfile", "workers", "doctor", "conformance")
for name in (*(f"adapters.{part}" for part in parts), "kb", "torch", "ast_grep_py", "tree_sitter"):
    sys.modules[name] = None

def refuse(event, arguments):
    if event in ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system"):
        raise RuntimeError(f"replay executed something: {event}")

sys.addaudithook(refuse)
import cli

cli.run()
"""


@pytest.fixture
def repaired(opmend: Opmend, tmp_path: Path) -> Path:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))
    assert opmend("repair", task).code == 0
    shutil.rmtree(task)
    return tmp_path / "log.db"


def alone(log: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`opmend` in a process that cannot import any adapter and has no compiler on its path."""
    command = [sys.executable, "-c", BLOCKED, *arguments, "--log", str(log)]
    return subprocess.run(command, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=False)


def test_explain_gives_attempts_diffs_numbers_integrity_and_budgets(repaired: Path) -> None:
    done = alone(repaired, "replay", "last", "--explain", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = orjson.loads(done.stdout)
    assert answer["outcome"] == "accepted"
    near_miss, patched = answer["attempts"]
    assert near_miss["compact"]["passed"] < near_miss["compact"]["total"]
    assert patched["pattern"]
    assert "-        DataCopy(yGm[done], yLocal, n);" in patched["diff"]
    assert patched["full"] == {"passed": 8, "total": 8}
    assert patched["accepted"] is True
    numbers = answer["numeric_evidence"]
    assert (numbers["set"], numbers["by_dtype"]["float32"]["passed"]) == ("full", 8)
    assert answer["integrity_evidence"]["verdict"] == "clean"
    assert {e["check"] for e in answer["integrity_evidence"]["evidence"] if e["outcome"] == "skipped"}
    assert answer["budget_left"]["attempts"] == 4
    assert answer["tolerance"] == "cann-ecosystem/1"


def test_the_explanation_for_people_names_the_same_facts(repaired: Path) -> None:
    text = alone(repaired, "replay", "last", "--explain").stdout
    for words in (
        "why: accepted after patch 1",
        "8/8 cases passed",
        "budget left: attempts 4",
        "skipped",
        "DataCopyPad",
    ):
        assert words in text


def test_the_story_the_listing_and_verify_need_no_adapter_either(repaired: Path) -> None:
    story = alone(repaired, "replay", "last").stdout.splitlines()
    assert "opened" in story[0]
    assert "accepted" in story[-1]
    listed = orjson.loads(alone(repaired, "sessions", "--json").stdout)
    assert set(listed) == {"session", "task", "outcome", "attempts", "head"}
    verified = alone(repaired, "verify")
    assert (verified.returncode, verified.stdout) == (0, "")


def test_replay_json_prints_every_event_with_its_hash(repaired: Path) -> None:
    lines = [orjson.loads(line) for line in alone(repaired, "replay", "last", "--json").stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert lines[-1]["type"] == "SessionAccepted"
    assert all(line["hash"].startswith("sha256:") for line in lines)
