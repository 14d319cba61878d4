"""Cases side by side: the same results for any number of workers, in order, and nothing left when the caller stops."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.runner.forkserver import ForkServer
from adapters.runner.pool import ServerPool
from adapters.tasks import DirectTask, load_task
from statemachine.ports import CaseRun
from tests.tiny import ALIGNED_ONLY, KERNEL, case, write_task

SIZES = (8, 7, 1024, 33, 2048, 64, 100, 1)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[DirectTask]:
    """A kernel that is wrong on odd sizes and reported for it: values, findings and places all show."""
    folder = tmp_path_factory.mktemp("workers") / "plus"
    wrong = KERNEL.replace(*ALIGNED_ONLY)
    write_task(folder, kernel=wrong, **{"plus.json": "".join(case(n) for n in SIZES)})
    found = load_task(folder, cache=cache / "references")
    yield found
    found.close()


def _runs(task: DirectTask, cache: Path, workers: int) -> list[dict[str, Any]]:
    toolchain = CpuToolchain(cache, seed=3, seconds=20, memory_mb=1024, workers=workers)
    toolchain._servers = ServerPool(workers, grow_seconds=0.0)  # all of them at once, however short the cases are
    try:
        toolchain.begin(task, task.candidate, 3)
        built = toolchain.build(task, task.candidate, 3)
        assert built.passed, built.log
        return [_plain(run) for run in toolchain.run(task, built.handle, task.cases("compact", 3))]
    finally:
        toolchain.close()


def _plain(run: CaseRun) -> dict[str, Any]:
    """All but the time it took."""
    fields = dataclasses.asdict(dataclasses.replace(run, seconds=0.0))
    fields["outputs"] = [np.asarray(o).tobytes() for o in run.outputs or ()]
    return fields


def test_the_number_of_workers_changes_nothing(task: DirectTask, cache: Path) -> None:
    alone, together = _runs(task, cache, 1), _runs(task, cache, 3)
    assert alone == together
    assert [run["index"] for run in alone] == list(range(len(SIZES)))
    assert any(run["findings"] for run in alone)


def test_results_come_in_order_whichever_is_ready_first() -> None:
    pool = ServerPool(3, grow_seconds=0.0)
    try:
        order: list[int] = []

        def work(server: ForkServer, number: int, item: int) -> int:
            order.append(item)
            return item * item

        assert list(pool.run(iter(range(20)), work)) == [n * n for n in range(20)]
        assert sorted(order) == list(range(20))
    finally:
        pool.close()


def test_a_caller_that_stops_early_leaves_nothing_running(task: DirectTask, cache: Path) -> None:
    before = {p.pid for p in psutil.Process().children(recursive=True)}  # servers of other tests in this process
    toolchain = CpuToolchain(cache, seed=3, seconds=20, memory_mb=1024, workers=2)
    built = toolchain.build(task, task.candidate, 3)
    runs = toolchain.run(task, built.handle, task.cases("compact", 3))
    assert next(runs).index == 0
    runs.close()  # type: ignore[attr-defined]
    toolchain.close()
    now = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    left = [p.cmdline() for p in now if p.status() != psutil.STATUS_ZOMBIE]
    assert not any("server.py" in " ".join(line) for line in left)


def test_what_a_case_raises_reaches_the_caller() -> None:
    pool = ServerPool(2)

    def work(server: ForkServer, number: int, item: int) -> int:
        raise ValueError(f"case {number}")

    with pytest.raises(ValueError, match="case 0"):
        list(pool.run(iter(range(3)), work))
    pool.close()
