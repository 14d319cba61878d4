"""Fixtures of the whole suite: the command line in this process, and one build cache for all tests.

The cache is keyed by content and kept between runs (`.opmend/test-cache`): a second `make test` compiles nothing.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

import cli

ROOT = Path(__file__).parent.parent

# A shell's background job starts with SIGINT ignored, and so would every process of the suite; the tests of Ctrl-C need
# what a person's terminal gives.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Files of few tests that each run real sessions: begun first, so that no worker is left alone with one at the end.
SLOW = (
    "test_crash.py", "test_msop_integrity.py", "test_examples.py", "test_msop_task.py", "test_independence.py",
    "test_found_by_review.py", "test_bad_input.py", "test_command_line.py", "test_crash_matrix.py",
    "test_conformance.py", "test_findings_policy.py", "test_crash_storage.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: SLOW.index(item.path.name) if item.path.name in SLOW else len(SLOW))


@dataclass(frozen=True)
class Done:
    """How one call of `opmend` ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """stdout as JSON lines."""
        return [orjson.loads(line) for line in self.out.splitlines()]

    @property
    def last(self) -> dict[str, Any]:
        return self.lines[-1]


Opmend = Callable[..., Done]


@pytest.fixture(scope="session")
def cache() -> Path:
    return ROOT / ".opmend" / "test-cache"


@pytest.fixture
def opmend(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Opmend:
    """`opmend("check", task, "--json")`: the real command line, its log and cache set through the environment."""
    monkeypatch.setenv("OPMEND_LOG", str(tmp_path / "log.db"))
    monkeypatch.setenv("OPMEND_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["opmend", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.run()
        captured = capfd.readouterr()
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return run
