"""What one run showed, in the integrity layer's words: torch operators, inputs, aliases, and who wrote the output.

All of it was noted inside the candidate's process, by the spy and by the device's runtime. It is evidence against an
honest mistake and a naive cheat; `docs/integrity.md` says what it is worth against a hostile one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from events.types import Evidence
from statemachine.integrity.dynamic import (
    PROVENANCE,
    alias_evidence,
    aten_evidence,
    inputs_evidence,
    provenance_evidence,
)


def case_evidence(side: Mapping[str, Any], launches: Sequence[Mapping[str, Any]]) -> tuple[Evidence, ...]:
    """Evidence of one completed case from the runner's side file and the device's launches.

    What the side file lacks (a candidate can break it) gives no evidence; the judge reports it as skipped.
    """
    found: list[Evidence] = []
    if isinstance(ops := side.get("forward_ops"), dict):
        found.append(aten_evidence({str(k): int(v) for k, v in ops.items()}))
    if isinstance(changed := side.get("inputs_changed"), list):
        found.append(inputs_evidence(not changed))
    outputs = side.get("outputs")
    if isinstance(outputs, list) and all(isinstance(o, dict) for o in outputs):
        found.append(alias_evidence(any(o.get("aliases_input") for o in outputs)))
        found.extend(_provenance(outputs, launches))
    return tuple(found)


def _provenance(outputs: Sequence[Mapping[str, Any]], launches: Sequence[Mapping[str, Any]]) -> Iterator[Evidence]:
    """Per output: was every byte of its storage stored by a kernel? Chunked launches add up (overlap is not seen).

    An output whose storage no kernel stored to may still be an honest copy of a kernel's buffer (a cast, a slice made
    contiguous). It is noted as such where some kernel filled a whole buffer, and fails where no kernel filled any.
    """
    stored: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for launch in launches:
        for write in launch.get("writes", ()):
            base, written = str(write.get("base")), int(write.get("written", 0))
            stored[base] = stored.get(base, 0) + written
            sizes[base] = int(write.get("nbytes", 0))
    filled = [base for base, size in sizes.items() if size and stored[base] >= size]
    for number, output in enumerate(outputs):
        size = int(output.get("nbytes") or 0)
        if size == 0:
            continue
        mine = stored.get(str(output.get("base")), 0)
        if mine == 0 and filled:
            detail = f"output {number} is a copy made after the launch; the kernel filled another buffer entirely"
            yield Evidence(check=PROVENANCE, outcome="noted", detail=detail)
        else:
            yield provenance_evidence(min(1.0, mine / size), output=number)
