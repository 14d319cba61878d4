"""Rewriter of padding and start values that are not neutral for the reduction that consumes them."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from kb.cpp import Site, Source, bare, function_of, last_name
from kb.facts import Program
from kb.rewriters.blocks import mentions

_MAX = frozenset({"ReduceMax", "WholeReduceMax", "BlockReduceMax", "Max"})
_MIN = frozenset({"ReduceMin", "WholeReduceMin", "BlockReduceMin", "Min"})
_ZERO = re.compile(r"^(?:static_cast<[^>]*>|\w+)?\(?\s*0(?:\.0*)?[fFuU]?\s*\)?$")
_LOWEST = {
    "half": "-65504.0f",
    "int8_t": "-128",
    "int16_t": "-32768",
    "int32_t": "(-2147483647 - 1)",
    "int": "(-2147483647 - 1)",
}
_HIGHEST = {"half": "65504.0f", "int8_t": "127", "int16_t": "32767", "int32_t": "2147483647", "int": "2147483647"}
_FLOAT_LIMIT = "3.402823466e+38f"
_RAW = {"float": ("0xFF7FFFFFu", "0x7F7FFFFFu"), "half": ("0xFBFFu", "0x7BFFu"), "bfloat16_t": ("0xFF7Fu", "0x7F7Fu")}


def _extreme(element: str, lowest: bool) -> str:
    table = _LOWEST if lowest else _HIGHEST
    value = table.get(element, f"{'-' if lowest else ''}{_FLOAT_LIMIT}")
    return value if element == "float" else f"static_cast<{element}>({value})"


def neutral_padding(program: Program) -> list[Site]:
    """Zero as padding value, fill or start of a maximum (minimum) -> the lowest (highest) value of the type.

    Looks at the padding parameters of copies, at Duplicate of a tensor that a maximum touches, and at scalar starts.
    """
    names = {call.name for source in program.sources.values() for call in source.calls}
    sites: list[Site] = []
    for consumers, lowest in ((_MAX, True), (_MIN, False)):
        scalar = any(_compared(source, lowest) for source in program.sources.values())
        if not names & consumers and not scalar:
            continue
        variant = "maximum" if lowest else "minimum"
        for source in program.sources.values():
            sites += _padding(program, source, lowest, variant)
            sites += _fills(program, source, consumers, lowest, variant)
            sites += _starts(source, lowest, variant)
    return sites


def _padding(program: Program, source: Source, lowest: bool, variant: str) -> list[Site]:
    found: list[tuple[SgNode, str]] = []
    for node in source.root.find_all({"rule": {"any": [{"kind": "initializer_list"}, {"kind": "argument_list"}]}}):
        element = _pad_element(node)
        values = [child for child in node.children() if child.is_named() and child.kind() != "comment"]
        if element is None or len(values) != 4 or values[0].text() == "false":
            continue
        if _ZERO.match(values[3].text()):
            found.append((values[3], element))
    for node in source.root.find_all(kind="assignment_expression"):
        left, right = node.field("left"), node.field("right")
        field = left.field("field") if left is not None and left.kind() == "field_expression" else None
        if (
            left is None
            or right is None
            or field is None
            or field.text() != "paddingValue"
            or not _ZERO.match(right.text())
        ):
            continue
        owner = left.field("argument")
        element = _declared_pad(source, owner.text()) if owner is not None else None
        if element is not None:
            found.append((right, element))
    sites: list[Site] = []
    for node, element in found:
        raw = _RAW.get(_raw_type(program, source, node), ("", "")) if element == "" else None
        if raw is not None and not raw[0]:
            continue
        text = raw[0 if lowest else 1] if raw is not None else _extreme(element, lowest)
        line = source.line(node.range().start.index)
        sites.append(
            Site(source.path, line, (source.replace(node, text),), f"padding neutral for a {variant}", variant)
        )
    return sites


_PAD = re.compile(r"\bDataCopyPad(?:Ext)?Params\s*(?:<\s*(?P<type>[^<>]+?)\s*>)?\s*(?P<name>\w*)\s*(?:=\s*)?$")


def _pad_element(listed: SgNode) -> str | None:
    """Element type of the DataCopyPad[Ext]Params that a list builds: `""` for the raw-bits struct, None if not one."""
    holder = next((up for up in listed.ancestors() if up.kind() in _HOLDERS), None)
    if holder is None:
        return None
    head = holder.text()[: listed.range().start.index - holder.range().start.index]
    match = _PAD.search(head)
    return (match["type"] or "").strip() if match is not None else None


_HOLDERS = ("declaration", "compound_literal_expression", "call_expression", "expression_statement")


def _declared_pad(source: Source, name: str) -> str | None:
    match = re.search(rf"\bDataCopyPad(?:Ext)?Params\s*(?:<\s*([^<>]+?)\s*>)?\s*{re.escape(name)}\b", source.clean)
    return (match[1] or "").strip() if match is not None else None


def _raw_type(program: Program, source: Source, node: SgNode) -> str:
    function = function_of(node)
    for call in source.calls if function is not None else ():
        inside = (f := function_of(call.node)) is not None and function is not None and f.range() == function.range()
        if call.name == "DataCopyPad" and len(call.args) == 4 and inside:
            kind = program.tensor(source, call.args[0])
            if kind is not None:
                return kind.element
    return ""


def _fills(program: Program, source: Source, consumers: frozenset[str], lowest: bool, variant: str) -> list[Site]:
    touched: set[str] = set()
    for other in program.sources.values():
        for call in other.calls:
            if call.name in consumers:
                touched |= {name for argument in call.args[:3] if (name := _name(argument)) is not None}
    sites: list[Site] = []
    for call in source.calls:
        if call.name != "Duplicate" or len(call.args) < 3 or not _ZERO.match(call.args[1].text()):
            continue
        target = _name(call.args[0])
        if target is None or target not in touched:
            continue
        kind = program.tensor(source, call.args[0])
        element = call.template or (kind.element if kind is not None else "float")
        edit = source.replace(call.args[1], _extreme(element, lowest))
        line = source.line(call.node.range().start.index)
        sites.append(Site(source.path, line, (edit,), f"start of a {variant}", variant))
    return sites


def _name(node: SgNode) -> str | None:
    while node.kind() == "subscript_expression":
        inner = node.field("argument")
        if inner is None:
            return None
        node = inner
    return last_name(node)


def _compared(source: Source, lowest: bool) -> frozenset[str]:
    """Names that a running maximum (minimum) is kept in: `if (v > m) m = v`, `m = v > m ? v : m`, `m = max(m, v)`."""
    found: set[str] = set()
    for node in source.root.find_all(kind="assignment_expression"):
        left, right = node.field("left"), node.field("right")
        name = last_name(left) if left is not None else None
        if name is None or right is None:
            continue
        value = bare(right)
        condition = value.field("condition") if value.kind() == "conditional_expression" else None
        if condition is None:
            holder = next((up for up in node.ancestors() if up.kind() == "if_statement"), None)
            condition = holder.field("condition") if holder is not None else None
        text = condition.text() if condition is not None else ""
        orders = (">", "<") if condition is not None and mentions(condition, frozenset({name})) else ()
        greater = bool(re.search(rf">\s*=?\s*{name}\b|\b{name}\s*<", text))
        if orders and greater == lowest and re.search(r"[<>]", text):
            found.add(name)
        call = value.kind() == "call_expression" and value.text().split("(")[0].split("::")[-1]
        takers = ("max", "fmaxf", "fmax", "Max") if lowest else ("min", "fminf", "fmin", "Min")
        if call in takers and mentions(value, frozenset({name})):
            found.add(name)
    return frozenset(found)


def _starts(source: Source, lowest: bool, variant: str) -> list[Site]:
    kept = _compared(source, lowest)
    sites: list[Site] = []
    for node in source.root.find_all(kind="declaration"):
        type_node = node.field("type")
        for declarator in node.children():
            target = declarator.field("declarator") if declarator.kind() == "init_declarator" else None
            value = declarator.field("value") if declarator.kind() == "init_declarator" else None
            if target is None or value is None or type_node is None or target.text() not in kept:
                continue
            if type_node.text() in ("float", "half", "T", "double", "bfloat16_t") and _ZERO.match(value.text()):
                edit = source.replace(value, _extreme(type_node.text(), lowest))
                line = source.line(node.range().start.index)
                sites.append(Site(source.path, line, (edit,), f"start of a {variant}", variant))
    return sites
