"""Rewriters of buffer use: casts onto their own storage, atomics left on, tensors freed too early."""

from __future__ import annotations

from ast_grep_py import SgNode

from kb.cpp import Call, Site, Source, as_call, bare, function_of, last_name, statement_of
from kb.facts import Program
from kb.forms import SIZES
from kb.rewriters.blocks import call_of, later, mentions, prefix, removal, whole_statement

_CHUNK = 64
_ATOMICS = ("SetAtomicAdd", "SetAtomicMax", "SetAtomicMin")


def cast_descending(program: Program) -> list[Site]:
    """A widening Cast onto its own storage -> the same cast in chunks from the end, so nothing unread is overwritten.

    One chunk is one vector repeat; a repeat reads its lanes before it writes them.
    """
    sites: list[Site] = []
    for source, cast in program.calls("Cast"):
        statement = whole_statement(cast)
        if statement is None or len(cast.args) != 4:
            continue
        target, origin = program.tensor(source, cast.args[0]), program.tensor(source, cast.args[1])
        if target is None or origin is None or not _widens(origin.element, target.element):
            continue
        if _storage(source, cast.args[0]) != _storage(source, cast.args[1]):
            continue
        out, data, mode, count = (source.original(argument) for argument in cast.args)
        indent, space = source.indent(source.span(statement)[0]), prefix(source, cast)
        text = (
            f"for (int32_t castBase = (static_cast<int32_t>({count}) - 1) / {_CHUNK} * {_CHUNK}; castBase >= 0; "
            f"castBase -= {_CHUNK}) {{\n"
            f"{indent}    const int32_t castLeft = static_cast<int32_t>({count}) - castBase;\n"
            f"{indent}    const int32_t castLanes = castLeft < {_CHUNK} ? castLeft : {_CHUNK};\n"
            f"{indent}    {space}Cast({out}[castBase], {data}[castBase], {mode}, castLanes);\n"
            f"{indent}    {space}PipeBarrier<PIPE_V>();\n{indent}}}"
        )
        line = source.line(cast.node.range().start.index)
        label = "widening cast on one buffer, from the end"
        sites.append(Site(source.path, line, (source.replace(statement, text),), label))
    return sites


def _widens(origin: str, target: str) -> bool:
    """Whether a cast makes elements larger; a type parameter counts as narrow on the source side only."""
    before, after = SIZES.get(origin, 2), SIZES.get(target, 2)
    return before < after


def _storage(source: Source, node: SgNode, depth: int = 3) -> str:
    """The name of the buffer or tensor whose memory an expression views."""
    node = bare(node)
    call = as_call(node) if node.kind() == "call_expression" else None
    if call is not None and call.name in ("ReinterpretCast", "Get") and call.receiver:
        return _storage_of_name(source, node, call.receiver.replace("->", ".").split(".")[-1], depth)
    name = last_name(node)
    return _storage_of_name(source, node, name, depth) if name is not None else node.text()


def _storage_of_name(source: Source, place: SgNode, name: str, depth: int) -> str:
    function = function_of(place)
    if depth == 0 or function is None:
        return name
    for declarator in function.find_all(
        {"rule": {"any": [{"kind": "init_declarator"}, {"kind": "assignment_expression"}]}}
    ):
        target = declarator.field("declarator") or declarator.field("left")
        value = declarator.field("value") or declarator.field("right")
        if target is None or value is None or last_name(target) != name:
            continue
        call = as_call(bare(value)) if bare(value).kind() == "call_expression" else None
        if call is not None and call.name in ("ReinterpretCast", "Get") and call.receiver:
            return _storage_of_name(source, value, call.receiver.replace("->", ".").split(".")[-1], depth - 1)
    return name


def disable_atomics(program: Program) -> list[Site]:
    """SetAtomicAdd/Max/Min with no SetAtomicNone after it in the function -> switched off after the last copy out."""
    sites: list[Site] = []
    for source, call in program.calls(*_ATOMICS):
        statement, function = whole_statement(call), function_of(call.node)
        if statement is None or function is None:
            continue
        at, end = call.node.range().start.index, function.range().end.index
        after = [c for c in source.calls if at < c.node.range().start.index < end]
        if any(c.name in ("SetAtomicNone", "DisableDmaAtomic") for c in after):
            continue
        stores = [s for s in later(statement) if _stores(program, source, s)]
        anchor = stores[-1] if stores else statement
        if not stores:
            following = list(later(statement))
            anchor = following[-1] if following else statement
        text = f"{prefix(source, call)}SetAtomicNone();"
        line = source.line(call.node.range().start.index)
        sites.append(Site(source.path, line, (source.after(anchor, text),), "atomics off after the copy out"))
    return sites


def _stores(program: Program, source: Source, statement: SgNode) -> bool:
    for node in statement.find_all(kind="call_expression"):
        call = as_call(node)
        if call is not None and call.name.startswith("DataCopy") and call.args:
            kind = program.tensor(source, call.args[0])
            if kind is not None and kind.space == "gm":
                return True
    return False


def free_later(program: Program) -> list[Site]:
    """FreeTensor before the last use of the tensor in the same block -> after it."""
    sites: list[Site] = []
    for source, free in program.calls("FreeTensor"):
        statement = whole_statement(free)
        name = last_name(free.args[0]) if statement is not None and len(free.args) == 1 else None
        if statement is None or name is None:
            continue
        last: SgNode | None = None
        for after in later(statement):
            call = call_of(after)
            if _obtains(after, call, name):
                break
            if mentions(after, frozenset({name})):
                last = after
        if last is not None:
            edits = (removal(source, statement), source.after(last, source.original(statement)))
            line = source.line(free.node.range().start.index)
            sites.append(Site(source.path, line, edits, f"{name} freed after its last use"))
    return sites


def _obtains(statement: SgNode, call: Call | None, name: str) -> bool:
    if call is not None and call.name in ("AllocTensor", "DeQue") and call.args and last_name(call.args[0]) == name:
        return True
    return any(
        word in statement.text() and statement.text().split("=")[0].rstrip().endswith(name)
        for word in ("AllocTensor", "DeQue")
    )


_ACCUMULATE = frozenset({"Add", "Axpy", "MulAddDst", "FusedMulAdd"})


def zero_accumulator(program: Program) -> list[Site]:
    """A tensor that a function only ever adds to, never sets -> zeroed before the outermost loop around it."""
    sites: list[Site] = []
    for source in program.sources.values():
        for add in source.calls:
            function = function_of(add.node)
            name = last_name(add.args[0]) if add.args else None
            if function is None or name is None or add.name not in _ACCUMULATE or len(add.args) < 4:
                continue
            if add.name == "Add" and add.args[0].text() not in (add.args[1].text(), add.args[2].text()):
                continue
            if not any(_is_view(declared, name) for declared in _assignments(function)):
                continue
            start, at = function.range().start.index, add.node.range().start.index
            before = [c for c in source.calls if start <= c.node.range().start.index < at and c.args]
            if any(last_name(_owner(c.args[0])) == name and not c.receiver for c in before):
                continue
            kind = program.tensor(source, add.args[0])
            anchor = _outermost(add.node)
            if kind is None or anchor is None:
                continue
            out, count = source.original(add.args[0]), source.original(add.args[-1])
            space = prefix(source, add)
            text = f"{space}Duplicate({out}, static_cast<{kind.element}>(0), {count});\n{space}PipeBarrier<PIPE_V>();"
            line = source.line(at)
            sites.append(Site(source.path, line, (source.before(anchor, text),), f"{out} starts at zero"))
    return sites


def _owner(node: SgNode) -> SgNode:
    while node.kind() == "subscript_expression":
        inner = node.field("argument")
        if inner is None:
            return node
        node = inner
    return node


def _assignments(function: SgNode) -> list[SgNode]:
    return [*function.find_all(kind="init_declarator"), *function.find_all(kind="assignment_expression")]


def _is_view(node: SgNode, name: str) -> bool:
    """Whether a declaration or assignment makes `name` a view of a buffer, or a fresh tensor of a queue."""
    target = node.field("declarator") or node.field("left")
    value = node.field("value") or node.field("right")
    call = as_call(bare(value)) if value is not None and bare(value).kind() == "call_expression" else None
    return target is not None and last_name(target) == name and call is not None and call.name in ("Get", "AllocTensor")


def _outermost(node: SgNode) -> SgNode | None:
    """The outermost loop around a node, or the node's own statement."""
    loops = [up for up in node.ancestors() if up.kind() in ("for_statement", "while_statement", "do_statement")]
    return loops[-1] if loops else statement_of(node)
