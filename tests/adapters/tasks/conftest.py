"""Fixtures over the `scale` task."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.tasks.scale_task import MakeTask, write_task


@pytest.fixture
def make_task(tmp_path: Path) -> MakeTask:
    """`make_task(**{"model.py": ...})` writes a task to a folder called `scale` and returns it."""

    def make(**changes: str | None) -> Path:
        return write_task(tmp_path / "scale", changes)

    return make
