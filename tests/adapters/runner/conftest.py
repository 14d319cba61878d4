"""The add task built once, a fork server shared by all runner tests, and a way to run any wrapper in place of its
own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapters import tensorfile
from adapters.ascendc.cpu.build import BuildResult, build
from adapters.runner.client import CaseRun, ForkServer, Limits, Runner
from adapters.runner.materialise import materialise

TASK = Path(__file__).parent.parent / "ascendc" / "build" / "add_task"
RunWrapper = Callable[..., CaseRun]


@pytest.fixture(scope="session")
def built(cache: Path) -> BuildResult:
    result = build(TASK / "kernel", level=2, cache=cache / "builds")
    assert result.ok, result.log
    return result


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    values: list[Any] = [rng.standard_normal((5, 37), dtype=np.float32) for _ in range(2)]
    tensorfile.save(tmp_path / "inputs.tensors", values)
    return tmp_path / "inputs.tensors"


@pytest.fixture
def run_wrapper(built: BuildResult, server: ForkServer, tmp_path: Path, inputs: Path) -> RunWrapper:
    """Run the add task with ``body`` as the body of ``forward`` (or ``source`` as the whole wrapper)."""

    count = itertools.count()

    def run(
        body: str | None = None, *, source: str | None = None, limits: Limits | None = None, **options: Any
    ) -> CaseRun:
        task = tmp_path / "task"
        task.mkdir(exist_ok=True)
        text = source or (TASK / "model_new_ascendc.py").read_text()
        if body is not None:
            text = text.replace("        return _ext.run_add(x.contiguous(), y.contiguous())", body)
        (task / "model_new_ascendc.py").write_text(text)
        (task / "model.py").write_text((TASK / "model.py").read_text())
        assert built.so_path
        folder = materialise(
            tmp_path / f"candidate{next(count)}", task_dir=task, wrapper="model_new_ascendc.py", module_so=built.so_path
        )
        runner = Runner(folder, built.so_path, limits or Limits(wall_seconds=20), task_name="add_task", server=server)
        return runner.run(inputs, tmp_path / "out", **options)

    return run
