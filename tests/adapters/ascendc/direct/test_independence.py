"""From task to outputs: the same bytes at every check level and for any number of workers, in both layouts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.runner.pool import ServerPool
from adapters.tasks import AnyTask, load_task
from tests.tiny import ALIGNED_ONLY, KERNEL, case, write_task

SCALE = Path(__file__).parents[2] / "tasks" / "msop_scale"
Outcome = list[tuple[str, list[bytes], tuple[object, ...]]]


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[AnyTask]:
    """Wrong on sizes that are no multiple of eight, and reported for it."""
    folder = tmp_path_factory.mktemp("independence") / "plus"
    cases = "".join(case(n) for n in (8, 7, 1030))
    write_task(folder, kernel=KERNEL.replace(*ALIGNED_ONLY), **{"plus.json": cases})
    found = load_task(folder, cache=cache / "references")
    yield found
    found.close()


@pytest.fixture(scope="module")
def msopgen(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[AnyTask]:
    folder = tmp_path_factory.mktemp("independence") / "Scale"
    shutil.copytree(SCALE, folder)
    found = load_task(folder, candidate_dir=Path("answer/0"), cache=cache / "references")
    yield found
    found.close()


def outcome(task: AnyTask, cache: Path, level: int, workers: int) -> Outcome:
    """(status, bytes of the outputs, findings) of each case."""
    toolchain = CpuToolchain(cache, seed=3, seconds=30, memory_mb=1024, workers=workers)
    toolchain._servers = ServerPool(workers, grow_seconds=0.0)  # all of them at once, however short the cases are
    try:
        built = toolchain.build(task, task.candidate, level)
        assert built.passed, built.log
        runs = list(toolchain.run(task, built.handle, task.cases("compact", 3)))
        return [(run.status, [np.asarray(o).tobytes() for o in run.outputs or ()], run.findings) for run in runs]
    finally:
        toolchain.close()


def without_findings(found: Outcome) -> list[tuple[str, list[bytes]]]:
    return [(status, outputs) for status, outputs, _ in found]


def test_a_direct_task(direct: AnyTask, cache: Path) -> None:
    alone = outcome(direct, cache, 3, 1)
    assert alone == outcome(direct, cache, 3, 3) and any(findings for _, _, findings in alone)
    assert without_findings(outcome(direct, cache, 0, 2)) == without_findings(alone)


def test_an_msopgen_task(msopgen: AnyTask, cache: Path) -> None:
    alone = outcome(msopgen, cache, 3, 1)
    assert [status for status, _, _ in alone] == ["ok", "ok"]
    assert alone == outcome(msopgen, cache, 3, 2)
    assert without_findings(outcome(msopgen, cache, 0, 2)) == without_findings(alone)
