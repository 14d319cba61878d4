"""Rows of a test_cases.csv as the benchmark's own framework reads them (pandas' rules, without pandas).

A column of integers gives int, of numbers float (int where all are whole), of True and False bool, otherwise text; an
absent value is NaN.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from statemachine.ports import UsageError

_ABSENT = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
_TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """One dictionary per row. Raises UsageError that names the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, delimiter=";") if any(cell.strip() for cell in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read as a table of cases: {error}") from error
    if len(lines) < 2:
        raise UsageError(f"{path}: holds no case; write a header and one row per case")
    header, body = [name.strip() for name in lines[0]], lines[1:]
    columns = [_column([line[i] if i < len(line) else "" for line in body]) for i in range(len(header))]
    return [dict(zip(header, row, strict=True)) for row in zip(*columns, strict=True)]


def _column(cells: Sequence[str]) -> list[Any]:
    present = [cell for cell in cells if cell.strip() not in _ABSENT]
    if not present:
        return [math.nan] * len(cells)
    if len(present) == len(cells) and all(cell.strip() in _TRUTHS for cell in cells):
        return [_TRUTHS[cell.strip()] for cell in cells]
    try:
        numbers = [math.nan if cell.strip() in _ABSENT else float(cell) for cell in cells]
    except ValueError:
        return [math.nan if cell.strip() in _ABSENT else cell for cell in cells]
    if all(math.isfinite(number) and number == int(number) for number in numbers):
        return [int(number) for number in numbers]
    return list(numbers)
