"""Statements around a statement: what rewriters of order need to see of a block."""

from __future__ import annotations

from collections.abc import Iterator

from ast_grep_py import SgNode

from kb.cpp import Call, Edit, Source, as_call, identifiers, statement_of

_SILENT = frozenset({"PipeBarrier", "SetFlag", "WaitFlag"})


def call_of(statement: SgNode) -> Call | None:
    """The call a statement consists of, or None."""
    if statement.kind() != "expression_statement":
        return None
    inner = next((child for child in statement.children() if child.is_named()), None)
    return as_call(inner) if inner is not None and inner.kind() == "call_expression" else None


def earlier(statement: SgNode) -> Iterator[SgNode]:
    """Statements before this one in its block, nearest first, without comments and pure synchronisation."""
    yield from _siblings(statement.prev_all())


def later(statement: SgNode) -> Iterator[SgNode]:
    """Statements after this one in its block, in order, without comments and pure synchronisation."""
    yield from _siblings(statement.next_all())


def _siblings(nodes: list[SgNode]) -> Iterator[SgNode]:
    for node in nodes:
        call = call_of(node)
        if node.is_named() and node.kind() != "comment" and (call is None or call.name not in _SILENT):
            yield node


def mentions(node: SgNode, names: frozenset[str]) -> bool:
    """Whether any identifier or field below `node` (or itself) is one of `names`."""
    return node.text() in names or any(found.text() in names for found in identifiers(node))


def names_in(node: SgNode) -> frozenset[str]:
    return frozenset(
        {found.text() for found in identifiers(node)} | ({node.text()} if node.text().isidentifier() else set())
    )


def whole_statement(call: Call) -> SgNode | None:
    """The expression statement that is nothing but this call."""
    statement = statement_of(call.node)
    return statement if statement is not None and call_of(statement) is not None else None


def removal(source: Source, statement: SgNode) -> Edit:
    """Delete a statement with its line when it stands alone on it."""
    start, end = source.span(statement)
    line_start = source.text.rfind("\n", 0, start) + 1
    line_end = source.text.find("\n", end)
    if not source.text[line_start:start].strip() and line_end >= 0 and not source.text[end:line_end].strip():
        return Edit(source.path, line_start, line_end + 1, "")
    return Edit(source.path, start, end, "")


def prefix(source: Source, call: Call) -> str:
    """`AscendC::` where the source writes the call so."""
    return "AscendC::" if source.original(call.node).startswith("AscendC::") else ""
