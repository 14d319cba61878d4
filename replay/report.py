"""`opmend check` for people: the report as text, most decisive first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from statemachine.scoring import exclusions


def render_check(report: dict[str, Any]) -> Iterator[str]:
    """Lines for a terminal, from the object that `check --json` prints."""
    yield f"{report['task']}: {'ACCEPTED' if report['accepted'] else 'passed' if report['passed'] else 'NOT accepted'}"
    if not report["built"]:
        error = report["first_error"] or {"file": None, "line": None, "message": "see the compiler's output"}
        yield f"  does not compile, so it is no near-miss: {error['file']}:{error['line']}: {error['message']}"
    for name in ("compact", "full"):
        tally = report[name]
        if tally:
            left_out = [c["reason"] for c in report["cases"] if c["set"] == name and c["status"] == "excluded"]
            counts = f"{tally['passed']}/{tally['total']} cases{exclusions(left_out)}"
            yield f"  {name:<8} {counts} within {report['tolerance']}"
    if report["coverage_equivalent"]:
        yield "  note: the full set adds no case to the compact set (coverage-equivalent)"
    for note in report["warnings"]:
        yield f"  note: {note}"
    for case in report["cases"]:
        if case["status"] == "excluded":
            yield f"  excluded {case['set']} {case['index']}: {case['reason']}"
        elif not case["passed"]:
            yield f"  failing  {case['set']} {case['index']} {case['dtype']} {list(case['shape'])}: {case['reason']}"
    for finding in report["sanitizer"]:
        place = f"{finding['file']}:{finding['line']}" if finding["file"] else "no place"
        mark = "blocking" if finding["blocks"] else "warning"
        what = f"{finding['kind']} {finding['api']} {place} x{finding['count']}"
        what += ", in scratch memory only" if finding["reaches_output"] == "no" else ""
        yield f"  device   ({mark}) {what}: {finding['message']}"
    integrity = report["integrity"]
    yield f"  integrity {integrity['verdict']}: {integrity['settled_by']}"
    for e in integrity["evidence"]:
        yield f"    {e['outcome']:<8} {e['check']}: {e['detail']}" + (f" [{e['where']}]" if e["where"] else "")
