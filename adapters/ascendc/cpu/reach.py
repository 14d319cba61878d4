"""Whether what a finding is about may have reached a returned tensor.

The device marks bytes of global memory that mean nothing (stored from UB bytes never written, or fought over by several
cores); a copy into UB takes the mark along and a proper store ends it (runtime/dubious.h). A finding's data reached the
output when a returned tensor's storage holds such bytes in the end. It is not known where marks cannot follow: the
scalar unit, the cube's copies, hazards inside a core, bytes that torch has read since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from events.types import Reach


def reach_of(finding: Mapping[str, Any], report: Mapping[str, Any], side: Mapping[str, Any]) -> Reach:
    """For one finding of a report; `side` is what the candidate's process said about its outputs."""
    outputs = side.get("outputs")
    if not finding.get("followed") or report.get("lost", True) or not isinstance(outputs, list):
        return "unknown"
    marked = _marked(report)
    if any(_meets(marked, output) for output in outputs):
        return "yes"
    read = side.get("torch_read")
    if not isinstance(read, list) or any(_meets(marked, storage) for storage in read):
        return "unknown"
    return "no"


def _marked(report: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Address ranges that are marked."""
    found = []
    for tensor in report.get("dubious", ()):
        base = int(str(tensor["base"]), 16)
        found += [(base + int(start), base + int(end)) for start, end in tensor["ranges"]]
    return found


def _meets(marked: list[tuple[int, int]], storage: Mapping[str, Any]) -> bool:
    """Whether a storage holds a marked byte; one without an address may hold any."""
    if not marked:
        return False
    if storage.get("base") is None:
        return True
    base = int(str(storage["base"]), 16)
    return any(start < base + int(storage["nbytes"]) and base < end for start, end in marked)
