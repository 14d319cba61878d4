"""`opmend check TASK --trace [CASE]`: one case with the flight recorder on.

For people: it tells values the candidate computed, never what they should have been. No session uses it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any

from adapters.ascendc.cpu.recording import Recorded
from adapters.session import Settings, toolchain_for
from adapters.tasks import load_task
from events.types import CaseSet
from statemachine.ports import UsageError

_CASE = re.compile(r"(?:(compact|full):)?(\d+)")


def trace_task(path: Path, case: str, settings: Settings) -> dict[str, Any]:
    """Run `case` (`3`: the compact set's, `full:3`) of the task at `path`; the report as one JSON-able object.

    Raises UsageError for a case that does not exist.
    """
    named = _CASE.fullmatch(case)
    if named is None:
        raise UsageError(f"--trace {case}: name a case as 3 (of the compact set) or full:3")
    which: CaseSet = "full" if named[1] == "full" else "compact"
    index, configuration = int(named[2]), settings.configuration
    task = load_task(path, candidate_dir=settings.candidate, cache=settings.cache / "references")
    toolchain = toolchain_for(configuration, settings.cache)
    try:
        total = len(task.descriptors(which))
        if index >= total:
            raise UsageError(f"--trace {case}: the {which} set has the cases 0 to {total - 1}")
        report: dict[str, Any] = {"task": task.ref.name, "set": which, "case": index, "built": False}
        outcome = toolchain.build(task, task.candidate, configuration.check_level)
        if not outcome.passed:
            return report | {"first_error": outcome.first_error.model_dump() if outcome.first_error else None}
        data = next(iter(task.cases(which, configuration.seed, [index])))
        run, recording = toolchain.record(task, outcome.handle, data)
        return report | {
            "built": True,
            "status": run.status,
            "detail": run.detail,
            "seed": configuration.seed,
            "records": [_plain(row) for row in recording.rows],
            "dropped": recording.dropped,
        }
    finally:
        toolchain.close()
        task.close()


def _plain(row: Recorded) -> dict[str, Any]:
    """JSON has no NaN and no infinity: they become text."""
    values = [value if math.isfinite(value) else str(value) for value in row.first]
    fields = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    return fields | {"first": values}
