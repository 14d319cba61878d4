"""`opmend check --trace`: one case with the flight recorder on, in both layouts, placed in the user's kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.conftest import Opmend
from tests.tiny import KERNEL, write_task

SCALE = Path(__file__).parent / "tasks" / "msop_scale"
ADDS = "        Adds(yLocal, xLocal, 1.0f, n);\n"
# The second tile on has a logarithm of a negative number.
BROKEN = KERNEL.replace(ADDS, ADDS + "        if (done > 0) { Duplicate(yLocal, -1.0f, 64); Ln(yLocal, yLocal, 8); }\n")


def test_a_nan_is_traced_to_its_line_and_iteration(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=BROKEN)
    done = opmend("check", task, "--trace", "full:6", "--seed", 7, "--json")
    assert done.code == 0  # it ran; whether it is right is what `check` says
    report = done.last
    assert (report["set"], report["case"], report["status"], report["dropped"]) == ("full", 6, "ok", 0)
    wrong = next(row for row in report["records"] if row["nans"])
    line = next(i for i, text in enumerate(BROKEN.splitlines(), 1) if "Ln(" in text)
    assert (wrong["api"], wrong["file"], wrong["line"], wrong["core"]) == ("Ln", "plus.cpp", line, 0)
    assert wrong["kernel"] == "plus_custom" and wrong["first"][0] == "nan"
    adds = [row for row in report["records"] if row["api"] == "Adds"]
    assert [row["iteration"] for row in adds] == [1, 2] and {row["count"] for row in adds} == {1024}


def test_the_table_has_a_line_for_every_instruction(opmend: Opmend, tmp_path: Path) -> None:
    done = opmend("check", write_task(tmp_path / "plus", kernel=BROKEN), "--trace", "full:6", "--seed", 7)
    lines = done.out.splitlines()
    assert lines[0] == "plus, full case 6: ok" and "plus_custom" in lines[1]
    assert lines[2].split()[:5] == ["order", "API", "place", "core", "iter"]
    assert [line.split()[1] for line in lines[3:9]] == ["DataCopyPad", "Adds", "DataCopyPad", "Adds", "Duplicate", "Ln"]
    assert lines[-1].startswith("first NaN or infinity: Ln plus.cpp:")


def test_an_operator_of_the_msopgen_layout_is_traced(opmend: Opmend, tmp_path: Path) -> None:
    shutil.copytree(SCALE, tmp_path / "Scale")
    done = opmend("check", tmp_path / "Scale", "--candidate", "answer/0", "--trace", "--seed", 7, "--json")
    rows = done.last["records"]
    assert done.code == 0 and rows
    assert {row["file"] for row in rows} == {"op_kernel/scale.cpp"}
    text = (tmp_path / "Scale/answer/0/op_kernel/scale.cpp").read_text().splitlines()
    assert all(row["api"] in text[row["line"] - 1] for row in rows)


def test_a_case_that_does_not_exist_is_named(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus")
    for case, said in (("99", "0 to 3"), ("all", "name a case")):
        done = opmend("check", task, "--trace", case)
        assert done.code == 2 and said in done.err
