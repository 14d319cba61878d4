"""Rewriters of integer widths: counts, lengths and offsets held in 8 or 16 bits, products made in 32."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ast_grep_py import SgNode

from kb.cpp import Edit, Site, Source, ancestors, binary_operands
from kb.facts import Program

_WIDER = {"uint16_t": "uint32_t", "int16_t": "int32_t", "uint8_t": "uint32_t"}
_WORDS = {"unsigned short": "uint32_t", "short": "int32_t"}
#: Every field of these API structs is narrow by definition; what feeds one has to stay narrow (a wider value in a
#: braced list is ill-formed C++).
_NARROW_STRUCTS = frozenset(
    {
        "DataCopyParams",
        "DataCopyPadParams",
        "DataCopyPadExtParams",
        "CopyRepeatParams",
        "BinaryRepeatParams",
        "UnaryRepeatParams",
        "BrcbRepeatParams",
        "GatherRepeatParams",
    }
)
#: Of these, only the first field (the block count) is.
_NARROW_FIRST = frozenset({"DataCopyExtParams"})
_API_RECEIVERS = frozenset({"SetValue", "Duplicate", "SetFlag", "WaitFlag", "ShiftLeft", "ShiftRight", "TQueBind"})


def widen_counters(program: Program) -> list[Site]:
    """Scalars of 8 or 16 bits -> 32 bits: declarations, parameters, members, struct fields, and casts of expressions.

    One site per name (all of its declarations and the casts that feed it), so that host and kernel stay in step; then
    one per cast that is left. Element types (`LocalTensor<uint16_t>`, pointers) are no counters and stay.
    """
    groups: dict[str, list[tuple[Source, SgNode, Edit]]] = {}
    for source in program.sources.values():
        for name, node, edit in _declarations(source):
            groups.setdefault(name, []).append((source, node, edit))
    casts = [(source, node, edit) for source in program.sources.values() for node, edit in _casts(source)]
    sites: list[Site] = []
    done: set[Edit] = set()
    for name in sorted(groups):
        if any(edit in done for _, _, edit in groups[name]):
            continue
        members = [entry for alias in sorted(program.same(name)) for entry in groups.get(alias, [])]
        members = members or groups[name]
        lines = {(source.path, node.range().start.line) for source, node, _ in members}
        feeding = [e for s, n, e in casts if (s.path, n.range().start.line) in lines or _feeds(n, program.same(name))]
        back = _narrowed_uses(program, program.same(name), source_type(members[0][0], members[0][1]))
        edits = tuple(sorted({*(edit for _, _, edit in members), *feeding, *back}))
        done |= set(edits)
        source, node, _ = members[0]
        line = source.line(node.range().start.index)
        sites.append(Site(source.path, line, edits, f"{name} in 32 bits"))
    for source, node, edit in casts:
        if edit not in done:
            sites.append(Site(source.path, source.line(node.range().start.index), (edit,), "cast to 32 bits"))
    return sites


def source_type(source: Source, node: SgNode) -> str:
    """The type a declaration gives now, as written."""
    type_node = node.field("type")
    return source.original(type_node) if type_node is not None else "uint16_t"


def _declarations(source: Source) -> Iterator[tuple[str, SgNode, Edit]]:
    for kind in ("declaration", "field_declaration", "parameter_declaration"):
        for node in source.root.find_all(kind=kind):
            type_node = node.field("type")
            wider = _WIDER.get(type_node.text()) or _WORDS.get(type_node.text()) if type_node is not None else None
            if type_node is None or wider is None:
                continue
            names = [found for child in node.children() if (found := _scalar(child)) is not None]
            if len(names) == 1 and "constexpr" not in node.text().split("=")[0]:
                yield names[0], node, source.replace(type_node, wider)


def _scalar(node: SgNode) -> str | None:
    if node.kind() in ("identifier", "field_identifier"):
        return node.text()
    inner = node.field("declarator") if node.kind() == "init_declarator" else None
    return inner.text() if inner is not None and inner.kind() == "identifier" else None


def _casts(source: Source) -> Iterator[tuple[SgNode, Edit]]:
    for node in source.root.find_all(kind="type_descriptor"):
        wider = _WIDER.get(node.text()) or _WORDS.get(node.text())
        holder = next(ancestors(node, "call_expression", "cast_expression"), None)
        if wider is None or holder is None or not holder.text().startswith(("static_cast", "(")):
            continue
        if not any(
            binary_operands(inner) is not None for inner in holder.find_all(kind="binary_expression")
        ) and not any(ch.isalpha() for ch in holder.text().split(">", 1)[-1]):
            continue
        if not _feeds_narrow_api(holder):
            yield node, source.replace(node, wider)


def _feeds_narrow_api(node: SgNode) -> bool:
    """Whether a value goes straight into an API struct or call whose parameter is narrow by definition."""
    if _in_narrow_struct(node):
        return True
    for up in ancestors(node, "call_expression", "assignment_expression"):
        head = up.text().split("(")[0].strip()
        if any(head.endswith(word) for word in ("blockCount", "RepStride", "BlkStride")) or ".block" in head:
            return True
        if head.split("::")[-1].split(".")[-1] in _API_RECEIVERS:
            return True
    return False


def _in_narrow_struct(node: SgNode) -> bool:
    """Whether a value stands where a narrow field of an API struct is made: `Params p{...}`, `Params p(...)`."""
    for values in ancestors(node, "initializer_list", "argument_list"):
        maker = next(ancestors(values, "declaration", "compound_literal_expression", "call_expression"), None)
        if maker is None:
            continue
        head = maker.text()[: values.range().start.index - maker.range().start.index]
        words = frozenset(re.findall(r"\w+", head))
        if words & _NARROW_STRUCTS:
            return True
        elements = [child for child in values.children() if child.kind() not in ("{", "}", "(", ")", ",", "comment")]
        if words & _NARROW_FIRST and elements and _holds(elements[0], node):
            return True
    return False


def _holds(outer: SgNode, inner: SgNode) -> bool:
    a, b = outer.range(), inner.range()
    return a.start.index <= b.start.index and b.end.index <= a.end.index


def _narrowed_uses(program: Program, names: frozenset[str], narrow: str) -> Iterator[Edit]:
    """Where a widened name itself feeds a narrow field: a cast back, so that the list stays well-formed."""
    for source in program.sources.values():
        for kind in ("identifier", "field_expression"):
            for node in source.root.find_all(kind=kind):
                parent = node.parent()
                if parent is None or parent.kind() not in ("initializer_list", "argument_list"):
                    continue
                if node.text().replace("->", ".").split(".")[-1] in names and _in_narrow_struct(node):
                    yield source.replace(node, f"static_cast<{narrow}>({source.original(node)})")


def _feeds(node: SgNode, names: frozenset[str]) -> bool:
    """Whether a cast is (part of) what is assigned to one of `names`."""
    for up in ancestors(node, "assignment_expression", "init_declarator"):
        left = up.field("left") or up.field("declarator")
        if left is not None and left.text().replace("->", ".").split(".")[-1] in names:
            return True
    return False


def widen_products(program: Program) -> list[Site]:
    """A product that indexes global memory -> computed in 64 bits (the first factor is cast)."""
    sites: list[Site] = []
    for source in program.sources.values():
        for node in source.root.find_all(kind="subscript_expression"):
            owner, indices = node.field("argument"), node.field("indices")
            kind = program.tensor(source, owner) if owner is not None else None
            product = indices.find(kind="binary_expression") if indices is not None else None
            if kind is None or kind.space != "gm" or product is None or "64" in product.text():
                continue
            while (parts := binary_operands(product)) is not None and parts[1] in "+-":
                product = parts[0]
            parts = binary_operands(product)
            if parts is None or parts[1] != "*":
                continue
            left = parts[0]
            while (inner := binary_operands(left)) is not None and inner[1] == "*":
                left = inner[0]
            edit = source.replace(left, f"static_cast<uint64_t>({source.original(left)})")
            line = source.line(node.range().start.index)
            sites.append(Site(source.path, line, (edit,), "offset computed in 64 bits"))
    return sites
