"""What an evaluation costs beside the kernel's own time, and what a changed kernel costs beside the bare compiler.

Everything is warm: the fork server runs, the device's own parts are built, inputs and expected outputs are cached.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from adapters import tensorfile
from adapters.ascendc.cpu import compiler as cc
from adapters.ascendc.cpu.rewrite import rewrite_launches
from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.tasks import DirectTask, load_task
from events.types import CaseSet
from statemachine.candidate import Candidate
from statemachine.evaluate import Evaluation, evaluate
from statemachine.findings import POLICIES
from statemachine.tolerance import policy
from tests import tiny
from tests.bench.conftest import CHECK_LEVEL, Timed
from tests.bench.native import Native

SEED = 7
POLICY = policy("cann-ecosystem")
SMALL = "evaluate a cached candidate: 8 cases of 7 to 2,048 elements"
LARGE = "evaluate a cached candidate: 4 cases of 2^20 elements"
CHANGED = "change one kernel: build, link and evaluate 4 small cases"
BOTH_SIZES = pytest.mark.parametrize(("group", "which"), [(SMALL, "full"), (LARGE, "compact")], ids=["small", "large"])


@dataclass
class Bench:
    """A task, and a toolchain with its fork server running."""

    task: DirectTask
    toolchain: CpuToolchain

    def evaluate(self, candidate: Candidate, which: CaseSet) -> Evaluation:
        built = self.toolchain.build(self.task, candidate, CHECK_LEVEL)
        return evaluate(self.task, self.toolchain, built.handle, which, SEED, POLICY, POLICIES["default"])

    def inputs(self, which: CaseSet) -> list[torch.Tensor]:
        """The first input of every case."""
        loaded = [tensorfile.load(case.inputs, max_bytes=1 << 30)[0] for case in self.task.cases(which, SEED)]
        return [torch.from_numpy(array) for array in loaded if isinstance(array, np.ndarray)]


@pytest.fixture(scope="module")
def bench(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Compact: 4 cases of 2^20 elements; full: 8 small cases."""
    folder = tiny.write_task(tmp_path_factory.mktemp("bench") / "plus", **{"plus.json": tiny.case(1 << 20) * 4})
    yield from _bench(folder, own_cache)


@pytest.fixture(scope="module")
def small_bench(own_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _bench(tiny.write_task(tmp_path_factory.mktemp("bench") / "plus"), own_cache)


def _bench(folder: Path, cache: Path) -> Iterator[Bench]:
    task = load_task(folder, cache=cache / "references")
    toolchain = CpuToolchain(cache, seed=SEED)
    yield Bench(task, toolchain)
    toolchain.close()
    task.close()


@BOTH_SIZES
def test_the_kernel_alone(
    timed: Timed, bench: Bench, own_cache: Path, tmp_path: Path, group: str, which: CaseSet
) -> None:
    inputs = bench.inputs(which)
    native = Native(bench.task.candidate.files, CHECK_LEVEL, own_cache / "builds", tmp_path)

    def run() -> None:
        for x in inputs:
            native.module.run_plus(x)

    what = "the kernel and its binding, in one process"
    timed(group, what, run, units=len(inputs), unit="case", rounds=20, setup=native.reset, floor=True)


@BOTH_SIZES
def test_evaluating_a_cached_candidate(timed: Timed, bench: Bench, group: str, which: CaseSet) -> None:
    cases = len(bench.task.descriptors(which))
    what = "build (cached), a process per case, compare"
    done = timed(group, what, lambda: bench.evaluate(bench.task.candidate, which), units=cases, unit="case")
    assert done.passed


def test_forking(timed: Timed) -> None:
    """What a process per case costs at least: the memory maps of torch are copied, and taken down again."""

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    timed(SMALL, "fork and end a process that has torch loaded", fork, unit="case", rounds=30)


def test_the_bare_compiler(timed: Timed, builds: Path, tmp_path: Path) -> None:
    """The same flags, a precompiled device header, one kernel and no binding, outside of any sandbox."""
    compiler = cc.find_compiler()
    flags = [*compiler.base_flags(CHECK_LEVEL), f"-I{cc.INCLUDE}", *compiler.include_flags()]
    runtime = next((builds / "runtime").iterdir())

    def compile_(*arguments: str) -> None:
        subprocess.run([compiler.program, *arguments], cwd=tmp_path, check=True)

    (tmp_path / "device.h").write_text('#include "kernel_operator.h"\n')
    (tmp_path / "kernel.cpp").write_text(rewrite_launches(tiny.KERNEL))
    compile_(*flags, "-x", "c++-header", "device.h", "-o", "device.h.gch")

    def build() -> None:
        compile_(*flags, "-include", "device.h", "-c", "kernel.cpp", "-o", "kernel.o")
        compile_("-shared", "kernel.o", f"-L{runtime}", "-lopmend_rt", "-o", "kernel.so")

    timed(CHANGED, "g++ -c and g++ -shared of the kernel", build, rounds=5, floor=True)


def test_changing_one_kernel(timed: Timed, small_bench: Bench) -> None:
    versions = count()

    def change() -> tuple[tuple[Candidate, CaseSet], dict[str, object]]:
        text = f"{tiny.KERNEL}\nextern const int version_{next(versions)};\n"
        return (small_bench.task.candidate.with_files({"plus.cpp": text}), "compact"), {}

    assert timed(CHANGED, "CpuToolchain.build and evaluate", small_bench.evaluate, setup=change, rounds=5).passed


def test_evaluating_the_small_cases_again(timed: Timed, small_bench: Bench) -> None:
    """What of the above is not building."""
    candidate = small_bench.task.candidate
    assert timed(CHANGED, "evaluate alone, nothing changed", lambda: small_bench.evaluate(candidate, "compact")).passed
