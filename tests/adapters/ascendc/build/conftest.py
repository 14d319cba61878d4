"""One build cache for all build tests, and a candidate folder to change at will."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.ascendc.cpu.build import BuildResult, build

TASK = Path(__file__).parent / "add_task"


@pytest.fixture(scope="session")
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("build-cache")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    shutil.copytree(TASK / "kernel", tmp_path / "kernel")
    return tmp_path / "kernel"


@pytest.fixture
def make(build_cache: Path) -> Callable[[Path], BuildResult]:
    return lambda folder: build(folder, level=2, cache=build_cache)
