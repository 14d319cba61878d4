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
THROUGH_WORKSPACE = """
    AscendC::GlobalTensor<DTYPE_X> own;
    own.SetGlobalBuffer((__gm__ DTYPE_X *)workspace, 256);
    if (workspace != AscendC::GetUserWorkspace(nullptr) || GetSysWorkSpacePtr() + (16 << 20) != workspace) {
        return;
    }
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::DataCopy(own, given, data.length);
    AscendC::PipeBarrier<PIPE_ALL>();
    AscendC::DataCopy(made, own, data.length);
"""


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


def test_a_kernel_that_computes_its_outputs_shape_gets_the_place_for_it(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    host, kernel = folder / "answer/0/op_host/scale.cpp", folder / "answer/0/op_kernel/scale.cpp"
    host.write_text(host.read_text().replace('Output("y")', 'Output("y").OutputShapeDependOnCompute()'))
    text = kernel.read_text().replace("GM_ADDR y, GM_ADDR workspace", "GM_ADDR y, GM_ADDR shape, GM_ADDR workspace")
    report = """    AscendC::GlobalTensor<uint64_t> shapes;
    shapes.SetGlobalBuffer((__gm__ uint64_t *)shape, 9);
    shapes.SetValue(AscendC::GetBlockIdx() == 0 ? 8 : 9, 1);
"""
    kernel.write_text(text.replace("    AscendC::TPipe pipe;\n", report + "    AscendC::TPipe pipe;\n"))
    task = load(folder, cache)
    try:
        result = run(task, toolchain)
        assert [case.reason for case in result.cases] == ["", "", ""]
        found = [(f.kind, f.api) for f in result.sanitizer]
        assert found == [("gm-out-of-bounds", "SetValue")], "nine words, and not one more"
    finally:
        task.close()


def test_another_answer_is_another_candidate_and_its_wrong_numbers_fail(
    folder: Path, cache: Path, toolchain: CpuToolchain
) -> None:
    shutil.copytree(folder / "answer/0", folder / "answer/1")
    kernel = folder / "answer/1/op_kernel/scale.cpp"
    kernel.write_text(kernel.read_text().replace("(data.factor)", "(data.factor + 1)"))
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


@pytest.mark.parametrize("workspace,findings", [("(16 << 20) + 256", set()), ("256", {"gm-out-of-bounds"})])
def test_bools_stand_for_bytes_and_a_workspace_has_the_frameworks_part_in_front(
    folder: Path, cache: Path, toolchain: CpuToolchain, workspace: str, findings: set[str]
) -> None:
    """The kernel passes its bytes through the workspace, which a tiling function must ask for with 16 MB on top."""
    edits = {
        "answer/0/op_host/scale.cpp": [
            ("(1)[0] = 0", f"(1)[0] = {workspace}"),
            ("DataType({ge::DT_FLOAT, ", "DataType({ge::DT_UINT8, "),
        ],
        "answer/0/op_kernel/scale.cpp": [
            ("AscendC::Muls(made, given, static_cast<DTYPE_X>(data.factor), data.length);", THROUGH_WORKSPACE),
        ],
        "validation/module.py": [("return x * self.factor", "return x.clone()")],
        "validation/prepare_inputs.py": [
            ('torch.rand(shape, device=device, dtype=getattr(torch, param["dtype"])) + 1', "torch.rand(shape) > 0.5")
        ],
    }
    for name, pairs in edits.items():
        text = (folder / name).read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text)
    (folder / "validation/test_cases.csv").write_text("case_id;shape;dtype;factor\n0;[32];bool;1\n")
    task = load(folder, cache)
    try:
        result = run(task, toolchain)
        assert [case.passed for case in result.cases] == [not findings], result.cases
        assert {finding.kind for finding in result.sanitizer} >= findings and bool(result.sanitizer) == bool(findings)
    finally:
        task.close()
