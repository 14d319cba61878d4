"""`opmend check --trace` for people: what every instruction wrote, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_HEAD = ("order", "API", "place", "core", "iter", "dtype", "count", "min", "max", "mean", "NaN", "Inf", "first values")
_LEFT = {1, 2, 5, 12}


def render_trace(report: dict[str, Any]) -> Iterator[str]:
    """Lines for a terminal, from the object that `check --trace --json` prints."""
    title = f"{report['task']}, {report['set']} case {report['case']}"
    if not report["built"]:
        error = report["first_error"] or {"file": None, "line": None, "message": "see the compiler's output"}
        yield f"{title}: does not compile: {error['file']}:{error['line']}: {error['message']}"
        return
    yield f"{title}: {report['status']} {report['detail']}".rstrip()
    for launch in dict.fromkeys(row["launch"] for row in report["records"]):
        rows = [row for row in report["records"] if row["launch"] == launch]
        yield f"launch {launch}: {rows[0]['kernel']}"
        yield from _table([_HEAD, *(_cells(row) for row in rows)])
    wrong = next((row for row in report["records"] if row["nans"] or row["infinities"]), None)
    if wrong:
        where = f"{wrong['api']} {_place(wrong)}, core {wrong['core']}, iteration {wrong['iteration']}"
        yield f"first NaN or infinity: {where}"
    if report["dropped"]:
        yield f"{report['dropped']} more were not kept: of each place only the first few, and the first not finite"
    if not report["records"]:
        yield "no instruction of the candidate's kernels wrote anything"


def _place(row: dict[str, Any]) -> str:
    return f"{row['file']}:{row['line']}" if row["file"] else "?"


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = ("-" if row[name] is None else f"{row[name]:.6g}" for name in ("least", "most", "mean"))
    first = " ".join(value if isinstance(value, str) else f"{value:.6g}" for value in row["first"])
    return (
        str(row["order"]),
        row["api"],
        _place(row),
        *(str(row[name]) for name in ("core", "iteration", "dtype", "count")),
        *numbers,
        *("" if not row[name] else str(row[name]) for name in ("nans", "infinities")),
        first,
    )


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (c.ljust(w) if i in _LEFT else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        yield ("  " + "  ".join(cells)).rstrip()
