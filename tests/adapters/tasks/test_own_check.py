"""A task's own judgement of outputs, and the benchmark's where it has none: for the conformance table."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from adapters.tasks import MsopTask, load_task

Array = npt.NDArray[Any]
SCALE = Path(__file__).parent / "msop_scale"
OWN = """

def custom_check_precision(param, outputs, outputs_new):
    from framework.utils import check_precision

    bound = 0.5 if param.dtype == "float32" else 0.001
    return check_precision(outputs, outputs_new, max_abs_error=bound, max_rel_error=bound)
"""


def load(folder: Path, addition: str) -> MsopTask:
    shutil.copytree(SCALE, folder / "Scale")
    path = folder / "Scale" / "validation" / "prepare_inputs.py"
    path.write_text(path.read_text() + addition)
    task = load_task(folder / "Scale", cache=folder / "cache")
    assert isinstance(task, MsopTask)
    return task


def test_the_benchmarks_rule_needs_both_bounds_to_be_broken(tmp_path: Path) -> None:
    task = load(tmp_path, "")
    try:
        want = [np.array([1000, 1e-6], np.float32)]
        assert task.own_check(0, want, [want[0] + np.array([0.9, 0.0009], np.float32)])
        assert not task.own_check(0, want, [want[0] + np.array([2, 0], np.float32)])
        assert not task.own_check(0, want, [want[0] + np.array([0, 0.002], np.float32)])
        assert task.own_check(0, [want[0].astype(ml_dtypes.bfloat16)], [want[0].astype(ml_dtypes.bfloat16)])
    finally:
        task.close()


def test_the_tasks_own_rule_is_asked_with_the_row(tmp_path: Path) -> None:
    task = load(tmp_path, OWN)
    try:
        want, near = np.ones(4, np.float32), np.full(4, 1.4, np.float32)
        assert task.own_check(0, [want], [near])  # float32
        assert not task.own_check(1, [want], [near])  # float16
        assert task.own_check(0, [want, want], [near])  # as the benchmark: what is not given is not compared
        assert not task.own_check(0, [want], [])
    finally:
        task.close()


@pytest.mark.parametrize("wrong", [np.ones(5, np.float32), np.array([1, 1, 1, np.nan], np.float32)])
def test_another_shape_or_a_misplaced_nan_never_passes(tmp_path: Path, wrong: Array) -> None:
    task = load(tmp_path, "\n\ndef custom_check_precision(param, outputs, outputs_new):\n    return 1, None, None\n")
    try:
        assert not task.own_check(0, [np.ones(4, np.float32)], [wrong])
        assert task.own_check(0, [np.ones(4, np.float32)], [np.zeros(4, np.float32)])
    finally:
        task.close()


def test_uniform_integers_are_made_as_beside_an_npu(tmp_path: Path) -> None:
    addition = "\n\ndef get_init_inputs(param, device=None):\n    return [torch.rand(2, dtype=torch.int32)]\n"
    shape = "\n\ndef get_inputs(param, device=None):\n    return [torch.ones(3, 2)]\n"
    task = load(tmp_path, addition + shape)
    try:
        assert [c.expected[0].tolist() for c in task.cases("full", 1, [0])] == [[[0.0, 0.0]] * 3]
    finally:
        task.close()
