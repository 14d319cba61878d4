"""What `make conformance` says of cases that take too long or that the reference cannot do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adapters.conformance import measure, table
from adapters.tasks.csvcases import read_rows
from adapters.tasks.cut import Leading, cut_task, leading, leading_of
from tests.tiny import MODEL, case, host, write_task

SPIN = """    for (volatile uint32_t turn = 0; count > 100000; ++turn) {
    }
"""
CHOOSY = MODEL.replace("return x + 1.0", "return x + (1.0 if x.numel() != 8 else {}['no eights'])")


def test_a_case_that_takes_too_long_is_cut_and_one_without_a_reference_excluded(tmp_path: Path, cache: Path) -> None:
    sizes = case(8) + case(400000) + case(64)
    files = {"model.py": CHOOSY, "plus.json": case(64), "plus_all_case.json": sizes}
    task = write_task(tmp_path / "plus", kernel=host(SPIN), **files)
    row = measure(task, cases=0, level=2, cache=cache, seconds=2.0, tolerance=None)
    assert (row["passed"], row["total"], row["excluded"]) == (2, 2, 1), row
    assert [c["cut"] for c in row["cases"] if c.get("passed")] == ["400000->50000", ""]
    shown = table([row])
    assert "2/2 (1 excluded)" in shown and "1: 400000->50000" in shown
    assert "passes: 1 of 1 operators" in shown
    assert "KeyError" in row["cause"]


def test_a_task_without_any_case_left_passes_nothing() -> None:
    row = {"task": "t", "layout": "direct", "builds": True, "runs": False, "passed": 0, "total": 0, "excluded": 2}
    assert "passes: 0 of 1" in table([row | {"findings": [], "cases": [], "seconds": 1.0, "cause": "excluded: x"}])


def test_the_leading_dimension_is_the_first_above_one_of_the_largest_tensor() -> None:
    assert leading([[4096], [1, 512, 4096], [512, 2]]) == Leading(1, 512)
    assert leading([[1, 1]]) is None
    assert Leading(1, 512).cut([3, 512], 8) == [3, 8]
    assert Leading(1, 512).cut([512, 3], 8) == [512, 3]


def test_a_row_of_a_table_is_cut_and_the_types_of_its_columns_stay(tmp_path: Path) -> None:
    folder = tmp_path / "op" / "validation"
    folder.mkdir(parents=True)
    table_ = "case_id;shape;shapes;eps;dtype\n0;[4];[[2]];0.5;float16\n1;[64, 8];[[64, 2], [3]];1.0;float32\n"
    (folder / "test_cases.csv").write_text(table_)
    found = leading_of(tmp_path / "op", 1)
    assert found == Leading(0, 64)
    copy = cut_task(tmp_path / "op", 1, found, 8, tmp_path / "copies")
    first, second = read_rows(copy / "validation" / "test_cases.csv")
    assert (first["shape"], second["shape"], second["shapes"]) == ("[4]", "[8, 8]", "[[8, 2], [3]]")
    assert isinstance(second["eps"], float)


def test_a_case_in_a_file_is_cut_where_it_stands(tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus")
    found = leading_of(task, 6)
    assert found == Leading(0, 2048)
    lines = (cut_task(task, 6, found, 2, tmp_path / "copies") / "plus_all_case.json").read_text().splitlines()
    assert [json.loads(line)["inputs"][0]["shape"] for line in lines[5:]] == [[1025], [2], [100]]


def test_shapes_that_stand_in_no_case_file_are_not_cut(tmp_path: Path) -> None:
    none: dict[str, Any] = {"plus.json": None, "plus_all_case.json": None}
    task = write_task(tmp_path / "plus", **none)
    assert leading_of(task, 0) is None
