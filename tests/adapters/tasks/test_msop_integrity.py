"""What the integrity layer says of msopgen operators: an honest one is clean, and one that fills its output by other
means than its kernel is not accepted. Every variant is built and run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opmend

SCALE = Path(__file__).parent / "msop_scale"
LAUNCH = "EXEC_NPU_CMD(aclnnCustomOp, x, factor, result);"
CALL = "return kernel_gen_ops.scale(x, self.factor)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SCALE, tmp_path / "Scale")
    return tmp_path / "Scale"


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def checked(opmend: Opmend, folder: Path) -> dict[str, Any]:
    return opmend("check", folder, "--json", "--seed", "5", "--tolerance", "npukernelbench").last


def test_an_honest_operator_is_accepted_on_launches_and_write_provenance(opmend: Opmend, folder: Path) -> None:
    report = checked(opmend, folder)
    assert report["accepted"], report["integrity"]
    assert report["integrity"]["verdict"] == "clean"
    evidence = {(e["check"], e["outcome"]) for e in report["integrity"]["evidence"]}
    assert {("binding:launch", "passed"), ("launch", "passed"), ("write-provenance", "passed")} <= evidence


@pytest.mark.parametrize(
    ("file", "old", "new", "verdict", "check"),
    [
        pytest.param(
            "module.py", CALL, "kernel_gen_ops.scale(x, self.factor)\n        return x * self.factor", "tainted",
            "wrapper:tensor-operator", id="wrapper-computes-beside-the-launch",
        ),
        pytest.param(
            "module.py", CALL, "return Model.forward(self, x)", "tainted", "launch", id="wrapper-calls-the-reference",
        ),
        pytest.param(
            "pybind.cpp", LAUNCH, f"{LAUNCH} result = at::mul(x, factor);", "tainted", "binding:aten-compute",
            id="binding-computes-with-aten",
        ),
        pytest.param(
            "pybind.cpp", LAUNCH, "result.copy_(x);", "tainted", "binding:no-launch", id="binding-launches-nothing",
        ),
        pytest.param(
            "pybind.cpp", "return result;", "return x;", "tainted", "output-aliases-input", id="returns-its-input",
        ),
        pytest.param(
            "pybind.cpp", "return result;", "return x.clone();", "undetermined", "binding:results",
            id="returns-another-tensor-than-the-launch-filled",
        ),
        pytest.param(
            "pybind.cpp", "return result;", "at::Tensor y = x.clone(); result = y; return result;", "undetermined",
            "binding:results", id="puts-another-tensor-under-the-name-of-the-result",
        ),
    ],
)  # fmt: skip
def test_an_output_that_is_not_the_kernels_work_is_refused(
    opmend: Opmend, folder: Path, file: str, old: str, new: str, verdict: str, check: str
) -> None:
    change(folder / "validation" / file, old, new)
    # a factor of one: whoever hands the input back has the right numbers
    table = folder / "validation" / "test_cases.csv"
    table.write_text("case_id;shape;dtype;factor\n0;[8, 256];float32;1\n")
    report = checked(opmend, folder)
    assert report["built"], report["first_error"]
    assert (report["accepted"], report["integrity"]["verdict"]) == (False, verdict), report["integrity"]
    assert any(e["check"] == check and e["outcome"] in ("failed", "flagged") for e in report["integrity"]["evidence"])
    assert report["compact"] == {"passed": 1, "total": 1}, report["cases"]


def test_a_defect_in_an_operators_kernel_is_repaired(opmend: Opmend, folder: Path, tmp_path: Path) -> None:
    table = folder / "validation" / "test_cases.csv"
    table.write_text(table.read_text() + "3;[3, 100];float32;4\n")  # rows that DataCopy's whole blocks do not hold
    done = opmend("repair", folder, "--json", "--seed", "5", "--tolerance", "npukernelbench", "--out", tmp_path / "out")
    assert (done.code, done.last["outcome"]) == (0, "accepted"), done.err
    assert "DataCopyPad" in (tmp_path / "out" / "kernel" / "op_kernel" / "scale.cpp").read_text()
    assert opmend("verify").code == 0
