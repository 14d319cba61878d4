"""The msopgen layout from end to end: rows to cases, op_host to tiling, op_kernel per data type, EXEC_NPU_CMD."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.conformance import find_tasks, group, measure
from adapters.tasks import MsopTask, load_task
from adapters.tasks.csvcases import read_rows
from statemachine.evaluate import Evaluation, evaluate
from statemachine.findings import POLICIES
from statemachine.ports import UsageError
from statemachine.tolerance import policy

SCALE = Path(__file__).parent / "msop_scale"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("msop-cache")


@pytest.fixture(scope="module")
def toolchain(cache: Path) -> Iterator[CpuToolchain]:
    made = CpuToolchain(cache, seed=1)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SCALE, tmp_path / "Scale")
    return tmp_path / "Scale"


def run(task: MsopTask, toolchain: CpuToolchain) -> Evaluation:
    outcome = toolchain.build(task, task.candidate, 2)
    assert outcome.passed, outcome.log
    return evaluate(task, toolchain, outcome.handle, "full", 7, policy("npukernelbench"), POLICIES["none"])


def load(folder: Path, cache: Path, candidate: str = "answer/0") -> MsopTask:
    task = load_task(folder, candidate_dir=Path(candidate), cache=cache / "references")
    assert isinstance(task, MsopTask)
    return task


def test_an_operator_passes_on_every_row_with_one_kernel_library_per_data_type(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    task = load(folder, cache)
    try:
        assert (task.ref.layout, task.ref.compact.count, task.ref.full.count) == ("msopgen", 2, 3)
        result = run(task, toolchain)
        assert [case.reason for case in result.cases] == ["", "", ""]
        assert [case.launches for case in result.cases] == [("scale",)] * 3
        assert result.sanitizer == ()
    finally:
        task.close()


def test_another_answer_is_another_candidate_and_its_wrong_numbers_fail(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    task = load(folder, cache, "answer/1")
    try:
        assert not any(case.passed for case in run(task, toolchain).cases)
    finally:
        task.close()


def test_a_failing_tiling_function_is_a_failing_case_that_says_so(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    host = folder / "answer/0/op_host/scale.cpp"
    host.write_text(host.read_text().replace("return ge::GRAPH_SUCCESS", "return ge::GRAPH_FAILED"))
    task = load(folder, cache)
    try:
        assert "tiling function of Scale failed" in run(task, toolchain).cases[0].reason
    finally:
        task.close()


def test_a_kernel_that_does_not_compile_is_placed_in_its_own_file(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    kernel = folder / "answer/0/op_kernel/scale.cpp"
    kernel.write_text(kernel.read_text().replace("AscendC::Muls(", "AscendC::Mulz("))
    task = load(folder, cache)
    outcome = toolchain.build(task, task.candidate, 2)
    assert not outcome.passed and outcome.first_error is not None
    assert outcome.first_error.file == "op_kernel/scale.cpp" and "Mulz" in outcome.first_error.message


def test_conformance_measures_a_task_of_either_layout(folder: Path, cache: Path) -> None:
    assert list(find_tasks(folder.parent)) == [folder]
    row = measure(folder, cases=2, level=2, cache=cache, seconds=60, tolerance=None)
    assert (row["builds"], row["runs"], row["passed"], row["total"], row["cause"]) == (True, True, 2, 2, "")


def test_causes_are_grouped_by_what_is_missing() -> None:
    assert group("build: a.cpp:3: unsupported: Sort is not modelled") == "unsupported: Sort"
    assert group("build: a.cpp:3: 'Foo' was not declared in this scope") == "not declared: Foo"
    assert group("numbers: 3 of 40 differ") == group("numbers: 17 of 999 differ")


def test_rows_have_the_types_that_pandas_would_give(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("case_id;shape;eps;flag;axis\n0;[1, 2];1e-5;True;\n1;[3];2;False;1\n")
    first, second = read_rows(path)
    assert (first["case_id"], first["shape"], first["eps"], first["flag"]) == (0, "[1, 2]", 1e-5, True)
    assert math.isnan(first["axis"]) and second["axis"] == 1.0


@pytest.mark.parametrize("broken", ["validation/pybind.cpp", "answer"])
def test_a_task_without_binding_or_candidate_is_a_usage_error(folder: Path, cache: Path, broken: str) -> None:
    path = folder / broken
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(UsageError, match=r"pybind\.cpp|no candidate"):
        load_task(folder, cache=cache / "references")
