"""Every way in which a direct-launch task reaches its kernel: built, run, right, seen, and not taken for a cheat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from adapters import tensorfile
from adapters.ascendc.cpu.build import build
from adapters.ascendc.cpu.observed import case_evidence
from adapters.runner.client import ForkServer, Limits, Runner
from adapters.runner.materialise import materialise
from statemachine.integrity.static import read_sources
from tests.adapters.ascendc.direct.forms import FORMS, write


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


@pytest.mark.parametrize("name", FORMS)
def test_a_form_builds_runs_and_is_seen(name: str, tmp_path: Path, cache: Path, server: ForkServer) -> None:
    task = write(tmp_path / "add_task", name)
    result = build(task / "kernel", level=3, cache=cache / "builds")
    assert result.ok and result.so_path, result.log
    folder = materialise(tmp_path / "c", task_dir=task, wrapper="model_new_ascendc.py", module_so=result.so_path)
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((5, 37), dtype=np.float32) for _ in range(2))
    tensorfile.save(tmp_path / "in.tensors", [x, y])
    runner = Runner(folder, result.so_path, Limits(wall_seconds=20), task_name="add_task", server=server)
    ran = runner.run(tmp_path / "in.tensors", tmp_path / "out")
    assert ran.status == "ok" and ran.outputs and ran.report, ran
    (z,) = tensorfile.load(ran.outputs, max_bytes=1 << 20)
    np.testing.assert_array_equal(z, x + y)
    assert tuple(launch["kernel"] for launch in ran.report["launches"]) == FORMS[name][2]
    assert ran.report["findings"] == []
    assert {e.outcome for e in case_evidence(ran.side, ran.report["launches"])} == {"passed"}


def test_torch_computing_inside_a_registered_operator_is_seen(tmp_path: Path, cache: Path, server: ForkServer) -> None:
    task = write(tmp_path / "add_task", "torch-library-without-schema")
    unit = task / "kernel" / "add.asc"
    unit.write_text(unit.read_text().replace("    return z;", "    return z.mul(1.0);"))
    result = build(task / "kernel", level=3, cache=cache / "builds")
    assert result.ok and result.so_path, result.log
    folder = materialise(tmp_path / "c", task_dir=task, wrapper="model_new_ascendc.py", module_so=result.so_path)
    tensorfile.save(tmp_path / "in.tensors", [np.ones((3, 8), np.float32)] * 2)
    ran = Runner(folder, result.so_path, server=server).run(tmp_path / "in.tensors", tmp_path / "out")
    assert ran.status == "ok" and "aten.mul.Tensor" in ran.side["forward_ops"], ran
    failed = [e for e in case_evidence(ran.side, []) if e.outcome == "failed"]
    assert any("aten::mul" in e.detail for e in failed)


@pytest.mark.parametrize("name", FORMS)
def test_the_readers_do_not_fail_an_honest_form(name: str) -> None:
    wrapper, files, _ = FORMS[name]
    evidence = read_sources(wrapper, files, {})
    assert not [e for e in evidence if e.outcome == "failed"]
    allowed = {"wrapper:ctypes"}  # a text cannot show what a ctypes call does; the run settles it
    assert {e.check for e in evidence if e.outcome == "flagged"} <= allowed
    assert any(e.check == "binding:launch" for e in evidence)
