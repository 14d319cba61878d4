"""The reader of an msopgen operator: validation/pybind.cpp (the binding, the task's own) and the candidate's op_host
and op_kernel sources.

There is no `<<<...>>>` to see: `EXEC_NPU_CMD(aclnn<Operator>, ...)` tiles and launches the kernel, and it can reach
nothing but the candidate's own operator, whose host library is the only one in the process. So such a call counts as
the launch of the kernel with the operator's name; the rest of the binding is read like any other. That what it returns
is what the kernel stored, and not some other tensor beside it, is left to write provenance: without it nothing of this
layout is clean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from events.types import Evidence
from statemachine.integrity.binding import BindingReport, evidence, kernels_defined, live, read_binding
from statemachine.integrity.cpptext import Launch

BINDING = "validation/pybind.cpp"
_EXECUTE = re.compile(r"\bEXEC_NPU_CMD\s*\(\s*aclnn(\w+)\s*,")


def read_operator(binding: str, files: Mapping[str, str]) -> BindingReport:
    """The binding and the candidate's sources (text by path) as one report. Never raises on hostile text."""
    code = live(binding)
    defined = kernels_defined(files)
    found: list[Evidence] = []
    starts = list(_launches(code, defined, found))
    bound = read_binding({BINDING: _without_calls(binding)}, launching=False)
    operator = read_binding(files, launching=False)
    found += bound.evidence
    found += [_of_operator(item) for item in operator.evidence]
    named = tuple(dict.fromkeys(_placed(item) for item in found))
    return replace(bound, evidence=named, kernels=tuple(sorted({s.kernel for s in starts})), launches=tuple(starts))


def _launches(code: str, defined: set[str], found: list[Evidence]) -> Iterator[Launch]:
    known = {_plain(name): name for name in sorted(defined)}
    for match in _EXECUTE.finditer(code):
        kernel = known.get(_plain(match.group(1)))
        if kernel is None:
            detail = f"runs the operator {match.group(1)}, and no kernel of that name is in op_kernel"
            found.append(evidence("foreign-kernel", "flagged", detail, BINDING, code, match.start()))
            kernel = match.group(1)
        else:
            found.append(evidence("launch", "passed", f"launches {kernel}", BINDING, code, match.start()))
        line = code.count("\n", 0, match.start()) + 1
        yield Launch(kernel, "", BINDING, line, match.start())
    if _EXECUTE.search(code):
        detail = "whether the returned tensors are those that the launch filled is not read off the binding"
        found.append(Evidence(check="binding:results", outcome="flagged", detail=detail, where=BINDING))
    else:
        detail = f"no EXEC_NPU_CMD in {BINDING}: nothing launches the operator"
        found.append(Evidence(check="binding:no-launch", outcome="failed", detail=detail))


def _plain(name: str) -> str:
    """`AddLayerNorm` and `add_layer_norm` alike."""
    return name.replace("_", "").lower()


def _without_calls(binding: str) -> str:
    """The text with each launch spelled as an ordinary call of the same length, for the reader of bindings."""

    def spell(match: re.Match[str]) -> str:
        return re.sub(r"EXEC_NPU_CMD|aclnn\w+", lambda word: "_" * len(word.group()), match.group())

    return _EXECUTE.sub(spell, binding)


def _of_operator(item: Evidence) -> Evidence:
    """A finding in op_host or op_kernel. aclnn functions there are for an NPU: none exists on this device."""
    if item.check == "binding:vendor-operator":
        detail = f"{item.detail}: there is none on this device, so nothing of it can run here"
        return item.model_copy(update={"outcome": "noted", "detail": detail})
    return item


def _placed(item: Evidence) -> Evidence:
    where = (item.where or "").replace(f"kernel/{BINDING}", BINDING).removeprefix("kernel/")
    return item.model_copy(update={"where": where or None})
