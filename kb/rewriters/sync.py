"""Rewriters of synchronisation: barriers where a finding points, queue steps that are missing."""

from __future__ import annotations

from ast_grep_py import SgNode

from kb.cpp import Call, Site, Source, ancestors, function_of, last_name, statement_of
from kb.facts import Program

_WAITS = frozenset({"EnQue", "DeQue", "WaitFlag", "PipeBarrier", "SyncAll"})
_COPIES = ("DataCopy", "DataCopyPad")
_NO_COMPUTE = frozenset(
    {"AllocTensor", "FreeTensor", "InitBuffer", "Get", "ReinterpretCast", "SetGlobalBuffer", "GetValue", "SetValue"}
)


def _barrier(source: Source, node: SgNode) -> str:
    return "AscendC::PipeBarrier<PIPE_ALL>();" if "AscendC::" in source.text else "PipeBarrier<PIPE_ALL>();"


def barrier_at_findings(program: Program) -> list[Site]:
    """A full barrier before (then: after) the statement that a pipe-hazard finding names."""
    sites: list[Site] = []
    seen: set[tuple[str, int]] = set()
    for finding in program.findings:
        if finding.kind not in ("pipe-hazard", "gm-race") or finding.file is None or finding.line is None:
            continue
        source = program.sources.get(finding.file)
        statement = source.statement_at(finding.line) if source is not None else None
        if source is None or statement is None or (finding.file, statement.range().start.index) in seen:
            continue
        seen.add((finding.file, statement.range().start.index))
        text = _barrier(source, statement)
        where = f"barrier at the reported {finding.kind}"
        sites.append(Site(source.path, finding.line, (source.before(statement, text),), where, "before"))
        sites.append(Site(source.path, finding.line, (source.after(statement, text),), where, "after"))
    return sites


def _used(node: SgNode, name: str) -> bool:
    found = node.find_all(
        {"rule": {"any": [{"kind": "identifier"}, {"kind": "field_identifier"}], "regex": f"^{name}$"}}
    )
    return any(True for _ in found)


def barrier_between_pipes(program: Program) -> list[Site]:
    """A copy into UB and a vector operation on it (or the reverse) with no wait between -> a barrier."""
    sites: list[Site] = []
    for source, copy in program.calls(*_COPIES):
        function = function_of(copy.node)
        if function is None or len(copy.args) < 3:
            continue
        target, origin = program.tensor(source, copy.args[0]), program.tensor(source, copy.args[1])
        if target is None or origin is None or target.space == origin.space:
            continue
        inward = origin.space == "gm"
        local = _root(copy.args[0] if inward else copy.args[1])
        if local is None:
            continue
        start, end = function.range().start.index, function.range().end.index
        inside = [c for c in source.calls if start <= c.node.range().start.index < end]
        at = copy.node.range().start.index
        if inward:
            between = [c for c in inside if c.node.range().start.index > at]
        else:
            between = [c for c in reversed(inside) if c.node.range().start.index < at]
        for call in between:
            if call.name in _WAITS:
                break
            if call.name in _COPIES or call.name in _NO_COMPUTE or call.receiver or not _touches(call, local):
                continue
            statement = statement_of(call.node if inward else copy.node)
            if statement is not None:
                line = source.line(statement.range().start.index)
                label = f"wait for the {'copy in' if inward else 'computation'} before it is used"
                sites.append(Site(source.path, line, (source.before(statement, _barrier(source, statement)),), label))
            break
    return sites


def _root(node: SgNode) -> str | None:
    while node.kind() == "subscript_expression":
        inner = node.field("argument")
        if inner is None:
            return None
        node = inner
    return last_name(node)


def _touches(call: Call, name: str) -> bool:
    return any(_used(argument, name) or argument.text() == name for argument in call.args)


def missing_queue_step(program: Program) -> list[Site]:
    """A queue whose steps do not pair: EnQue missing after AllocTensor, FreeTensor missing after DeQue -> inserted.

    Looked at per queue over all files; inserted after the last use of the tensor in the function that obtained it.
    """
    used: dict[str, set[str]] = {}
    for _, call in program.calls("AllocTensor", "EnQue", "DeQue", "FreeTensor"):
        used.setdefault(_queue(call), set()).add(call.name)
    sites: list[Site] = []
    for source, call in program.calls("AllocTensor", "DeQue"):
        steps = used[_queue(call)]
        missing = "EnQue" if call.name == "AllocTensor" else "FreeTensor"
        if missing in steps or (missing == "EnQue" and "DeQue" not in steps):
            continue
        tensor = _obtained(call)
        block = next(ancestors(call.node, "compound_statement"), None)
        last = _last_use(block, tensor) if tensor is not None and block is not None else None
        if tensor is None or last is None:
            continue
        receiver = call.node.field("function")
        owner = receiver.field("argument") if receiver is not None else None
        if owner is None:
            continue
        text = f"{source.original(owner)}.{missing}({tensor});"
        line = source.line(last.range().start.index)
        sites.append(Site(source.path, line, (source.after(last, text),), f"{missing} of {tensor}"))
    return sites


def _queue(call: Call) -> str:
    return call.receiver.replace("->", ".").split(".")[-1].split("[")[0]


def _obtained(call: Call) -> str | None:
    """The variable that receives the tensor: `auto x = q.DeQue<T>()`, `x = ...`, or `q.DeQue<T>(x)`."""
    if call.args:
        return last_name(call.args[0])
    parent = call.node.parent()
    target = parent.field("declarator") or parent.field("left") if parent is not None else None
    return target.text().lstrip("&") if target is not None else None


def _last_use(block: SgNode, name: str) -> SgNode | None:
    """The last statement directly in `block` that mentions `name`."""
    last: SgNode | None = None
    for statement in block.children():
        if statement.is_named() and _used(statement, name):
            last = statement
    return last
