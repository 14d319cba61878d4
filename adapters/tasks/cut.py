"""A smaller version of one case: a copy of its task in which the case's leading dimension is cut.

For measuring, never for accepting: a case that takes too long on this device is run with fewer rows, and whoever shows
the result says so. The leading dimension is the first one larger than 1 of the case's largest tensor; every tensor that
has the same size in the same place is cut with it. Whether the reference takes the smaller case, its process says.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.tasks.layout import find_layout

Shape = list[int]
Table = list[list[str]]


@dataclass(frozen=True)
class Leading:
    """The dimension to cut: its place in a shape and its size."""

    place: int
    size: int

    def cut(self, shape: Shape, size: int) -> Shape:
        """`shape` with `size` there, if it has this dimension."""
        if len(shape) > self.place and shape[self.place] == self.size:
            return [*shape[: self.place], size, *shape[self.place + 1 :]]
        return shape


def leading(shapes: Iterable[Shape]) -> Leading | None:
    """The first dimension larger than 1 of the largest shape; None when all are 1 or less."""
    largest = max(shapes, key=math.prod, default=[])
    return next((Leading(place, size) for place, size in enumerate(largest) if size > 1), None)


def leading_of(task: Path, index: int) -> Leading | None:
    """What can be cut of full case `index` of a task in either layout; None when its shapes are in no case file."""
    found: list[Shape] = []

    def note(shape: Shape) -> Shape:
        found.append(shape)
        return shape

    _rewrite(task, index, note)
    return leading(found)


def cut_task(task: Path, index: int, dimension: Leading, size: int, folder: Path) -> Path:
    """A copy of `task` in `folder` (made anew) whose full case `index` has `size` in that dimension."""
    copy = folder / task.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(task, copy, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    for path, text in _rewrite(copy, index, lambda shape: dimension.cut(shape, size)).items():
        path.write_text(text, encoding="utf-8")
    return copy


def _rewrite(task: Path, index: int, change: Callable[[Shape], Shape]) -> dict[Path, str]:
    """The case file's new text, every shape of case `index` put through `change`; empty when there is none."""
    table = task / "validation" / "test_cases.csv"
    if table.is_file():
        return {table: _rewrite_rows(table.read_text(encoding="utf-8-sig"), index, change)}
    layout = find_layout(task)
    path = layout.full or layout.compact
    return {} if path is None else {path: _rewrite_cases(path.read_text(encoding="utf-8"), index, change)}


def _rewrite_rows(text: str, index: int, change: Callable[[Shape], Shape]) -> str:
    lines: Table = [line for line in csv.reader(io.StringIO(text), delimiter=";") if any(c.strip() for c in line)]
    lines[index + 1] = [_cell(cell, change) for cell in lines[index + 1]]
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(lines)
    return out.getvalue()


def _cell(cell: str, change: Callable[[Shape], Shape]) -> str:
    """A cell that holds a shape (a list of positive integers) or a list of shapes, changed; any other as it is."""
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return cell
    if _is_shape(value):
        return str(change(list(value)))
    if isinstance(value, list | tuple) and value and all(map(_is_shape, value)):
        return str([change(list(each)) for each in value])
    return cell


def _is_shape(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(type(n) is int and n > 0 for n in value)


def _rewrite_cases(text: str, index: int, change: Callable[[Shape], Shape]) -> str:
    array = text.lstrip().startswith("[")
    cases = json.loads(text) if array else [json.loads(line) for line in text.splitlines() if line.strip()]
    for entry in cases[index]["inputs"]:
        if _is_shape(entry.get("shape")):
            entry["shape"] = change(entry["shape"])
        for name in ("shape", "shapes"):
            if isinstance(entry.get(name), list) and entry[name] and all(map(_is_shape, entry[name])):
                entry[name] = [change(shape) for shape in entry[name]]
    if array:
        return json.dumps(cases)
    return "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
