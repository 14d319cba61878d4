"""Rewriters of copies between global memory and unified buffer: padding, length units, stride gaps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ast_grep_py import SgNode

from kb.cpp import Call, Edit, Site, Source, bare, binary_operands, function_of, last_name
from kb.facts import Program, TensorType
from kb.forms import without_sizeof

_PARAMS = ("DataCopyParams", "DataCopyExtParams")


def _direction(program: Program, source: Source, call: Call) -> tuple[str, TensorType] | None:
    """(`in` or `out`, element type) of a copy between global memory and a local tensor; None for anything else."""
    if len(call.args) < 2:
        return None
    target, origin = program.tensor(source, call.args[0]), program.tensor(source, call.args[1])
    if target is None or origin is None or target.space == origin.space:
        return None
    return ("out", origin) if target.space == "gm" else ("in", target)


def _count_text(program: Program, source: Source, node: SgNode) -> str:
    return program.logical(source, node) or source.original(node)


def byte_length(count: str, element: str) -> str:
    """A length in bytes, as the 32-bit field of a copy takes it."""
    factor = count if re.fullmatch(r"[\w.]+(->\w+)*", count) else f"({count})"
    return f"static_cast<uint32_t>({factor} * sizeof({element}))"


def pad_copies(program: Program) -> list[Site]:
    """Count-form DataCopy between global memory and UB -> DataCopyPad with the exact byte length.

    A literal multiple of the block is left alone. A rounded-up length is taken back to the logical one.
    """
    sites: list[Site] = []
    for source, call in program.calls("DataCopy"):
        side = _direction(program, source, call)
        if side is None or len(call.args) != 3 or _is_params(source, call.args[2]):
            continue
        way, kind = side
        literal = program.value(call.args[2])
        width = program.width(kind)
        if literal is not None and width.isdigit() and literal % int(width) == 0:
            continue
        count = _count_text(program, source, call.args[2])
        space = "AscendC::" if source.original(call.node).startswith("AscendC::") else ""
        length = byte_length(count, kind.element)
        params = f"{space}DataCopyExtParams{{1, {length}, 0, 0, 0}}"
        target, origin = source.original(call.args[0]), source.original(call.args[1])
        padding = f"{space}DataCopyPadExtParams<{kind.element}>{{false, 0, 0, static_cast<{kind.element}>(0)}}"
        tail = f", {padding}" if way == "in" else ""
        text = f"{space}DataCopyPad({target}, {origin}, {params}{tail})"
        label = f"copy {way} of {count} elements padded to exact bytes"
        sites.append(
            Site(source.path, source.line(call.node.range().start.index), (source.replace(call.node, text),), label)
        )
    return sites


def _is_params(source: Source, node: SgNode) -> bool:
    text = node.text()
    name = last_name(node)
    if name is not None and re.search(rf"\b\w*Params\w*\s*(?:const\s*)?&?\s*{name}\b", source.clean):
        return True
    return any(word in text for word in _PARAMS) or node.kind() == "initializer_list" or bool(fields(source, node))


@dataclass(frozen=True)
class _Params:
    """Nodes of the fields of one DataCopyParams / DataCopyExtParams value, in the order of the constructor."""

    fields: dict[str, SgNode]
    type_node: SgNode | None


_ORDER = ("blockCount", "blockLen", "srcStride", "dstStride")


def fields(source: Source, node: SgNode) -> dict[str, SgNode]:
    """Nodes of blockCount, blockLen, srcStride, dstStride of the parameters of a copy, as far as they are found."""
    return _params(source, node).fields


def _params(source: Source, node: SgNode) -> _Params:
    """Fields of a parameter struct given inline, or by a variable that is built in the same function."""
    node = bare(node)
    listed = node if node.kind() == "initializer_list" else None
    kind: SgNode | None = None
    if node.kind() in ("compound_literal_expression", "call_expression"):
        kind = node.field("type") or node.field("function")
        if kind is None or kind.text() not in _PARAMS:
            return _Params({}, None)
        listed = node.field("value") or node.field("arguments")
    fields: dict[str, SgNode] = {}
    if listed is not None:
        return _Params(_by_position(listed), kind)
    name, function = last_name(node), function_of(node)
    if name is None or function is None:
        return _Params({}, None)
    for declaration in function.find_all(kind="declaration"):
        type_node = declaration.field("type")
        if type_node is None or type_node.text() not in _PARAMS:
            continue
        for declarator in declaration.children():
            inner = declarator.field("declarator") if declarator.kind() == "init_declarator" else declarator
            if inner is None or inner.text() != name:
                continue
            kind = type_node
            value = declarator.field("value") if declarator.kind() == "init_declarator" else None
            if value is not None and value.kind() in ("call_expression", "compound_literal_expression"):
                value = value.field("arguments") or value.field("value")
            if value is not None:
                fields = _by_position(value)
    for assignment in function.find_all(kind="assignment_expression"):
        left, right = assignment.field("left"), assignment.field("right")
        if left is None or right is None or left.kind() != "field_expression":
            continue
        owner, field = left.field("argument"), left.field("field")
        if owner is not None and field is not None and owner.text() == name and field.text() in _ORDER:
            fields[field.text()] = right
    return _Params(fields, kind)


def _by_position(listed: SgNode) -> dict[str, SgNode]:
    values = [child for child in listed.children() if child.is_named() and child.kind() != "comment"]
    return dict(zip(_ORDER, values, strict=False))


def block_length_unit(program: Program) -> list[Site]:
    """blockLen in the unit of the API called: bytes for DataCopyPad, 32-byte blocks for DataCopy.

    DataCopyPad with a length divided by 32 loses the division. DataCopy with a byte length (or one that is divided,
    which drops a remainder) becomes DataCopyPad when it moves one block, else its length is divided.
    """
    sites: list[Site] = []
    for source, call in program.calls("DataCopyPad", "DataCopy"):
        side = _direction(program, source, call)
        if side is None or len(call.args) < 3:
            continue
        given = fields(source, call.args[2])
        length = given.get("blockLen")
        if length is None:
            continue
        parts = binary_operands(length)
        divided = parts is not None and parts[1] == "/" and program.value(parts[2]) == 32
        line = source.line(call.node.range().start.index)
        if call.name == "DataCopyPad" and divided and parts is not None:
            edit = source.replace(length, _keep_cast(source, length, source.original(parts[0])))
            sites.append(Site(source.path, line, (edit,), "DataCopyPad takes blockLen in bytes"))
        elif call.name == "DataCopyPad" and _counts_elements(program, source, length):
            text = byte_length(source.original(length), side[1].element)
            label = "DataCopyPad takes blockLen in bytes, not elements"
            sites.append(Site(source.path, line, (source.replace(length, text),), label, variant="elements"))
        elif call.name == "DataCopy" and not divided and "sizeof" in length.text():
            edit = source.replace(length, f"({source.original(length)}) / 32")
            sites.append(Site(source.path, line, (edit,), "DataCopy takes blockLen in 32-byte blocks"))
        if call.name == "DataCopy" and divided and parts is not None:
            edit = source.replace(length, source.original(parts[0]))
            name = call.node.field("function")
            if name is None:
                continue
            kind = side[1].element
            space = "AscendC::" if source.original(call.node).startswith("AscendC::") else ""
            edits = [edit, source.replace(name, f"{space}DataCopyPad")]
            if side[0] == "in":
                _, end = source.span(call.args[2])
                padding = f", {space}DataCopyPadParams{{}}"
                edits.append(Edit(source.path, end, end, padding))
            label = f"copy {side[0]} of whole blocks of {kind} only: exact bytes instead"
            sites.append(Site(source.path, line, tuple(edits), label, variant="pad"))
    return sites


def _keep_cast(source: Source, node: SgNode, text: str) -> str:
    """`text` under the same leading static_cast as `node` has in the source."""
    original = source.original(node)
    head = original[: original.index("(") + 1] if original.startswith("static_cast<") else ""
    return f"{head}{text})" if head else text


def _counts_elements(program: Program, source: Source, length: SgNode) -> bool:
    text = length.text()
    if "sizeof" in text or "byte" in text.lower() or program.value(length) is not None:
        return False
    name = last_name(length)
    if name is None:
        return False
    return not any("sizeof" in value.text() or "*" in value.text() for value in program.values_of(name))


def stride_gap(program: Program) -> list[Site]:
    """A stride that is a whole pitch -> the gap (pitch - block length): bytes on the GM side, blocks on the UB side."""
    sites: list[Site] = []
    for source, call in program.calls("DataCopyPad"):
        side = _direction(program, source, call)
        if side is None or len(call.args) < 3:
            continue
        given = fields(source, call.args[2])
        length = given.get("blockLen")
        if length is None:
            continue
        line = source.line(call.node.range().start.index)
        block = source.original(length)
        for field in ("srcStride", "dstStride"):
            stride = given.get(field)
            if stride is None or program.value(stride) is not None:
                continue
            outside = (field == "srcStride") == (side[0] == "in")
            text = source.original(stride)
            if "-" in text:
                if not outside and "sizeof" in text and "/" not in text:
                    edit = source.replace(stride, f"({text}) / 32")
                    sites.append(Site(source.path, line, (edit,), f"{field}: UB side counts 32-byte blocks"))
                continue
            gap = f"({text}) - ({block})" if outside else f"(({text}) - ({block})) / 32"
            if without_sizeof(stride).text() == without_sizeof(length).text():
                gap = "0"
            label = f"{field} is the gap between blocks, not the pitch"
            sites.append(Site(source.path, line, (source.replace(stride, gap),), label))
    return sites
