"""AscendC sources as trees: qualifiers are blanked so that a C++ parser understands them; edits go to the original.

AscendC is C++ plus address-space and function qualifiers, a launch syntax and a few macros. `blank` replaces those with
spaces of the same length (so every offset stays valid), and hides `AscendC::`, `this->` and `template ` after a dot,
which only stand between a rule and the call it looks for. `Source.original` gives back what was hidden.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ast_grep_py import SgNode, SgRoot

_QUALIFIERS = re.compile(
    r"\b(?:__aicore__|__global__|__gm__|__ubuf__|__cbuf__|__ca__|__cb__|__cc__|__fbuf__|__host__|__host_aicore__|"
    r"__inline__|__sync_noalias__|__sync_alias__|__restrict__|__restrict|__aicpu__|__cube__|__vector__|__mix__|"
    r"__simd_vf__|__simd_callee__|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\))(?:\(\d+,\s*\d+\))?"
)
_HIDDEN = re.compile(r"\bAscendC::|\bthis->|(?<=[.>])template\s+")
_LAUNCH = re.compile(r"<<<.*?>>>", re.DOTALL)
_SPLIT_KEYWORD = re.compile(r"\bASCEND_IS_(AIV|AIC)\b(?!\s*\))")


def _spaces(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group(0))


def blank(text: str) -> str:
    """`text` with AscendC's own syntax replaced by same-length C++ (spaces keep newlines); non-ASCII becomes `?`."""
    clean = "".join(ch if ch < "\x80" else "?" for ch in text)
    clean = _QUALIFIERS.sub(_spaces, clean)
    clean = _LAUNCH.sub(_spaces, clean)
    clean = _SPLIT_KEYWORD.sub(lambda m: "(" + m.group(0)[1:-1] + ")", clean)
    return _HIDDEN.sub(_spaces, clean)


@dataclass(frozen=True, order=True)
class Edit:
    """Replace characters [start, end) of file `path` (original text) with `text`."""

    path: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Call:
    """One call expression: `name` without namespace and object, `template` the text between `<>`, or empty."""

    node: SgNode
    name: str
    template: str
    receiver: str
    args: tuple[SgNode, ...]


class Source:
    """One parsed file. Nodes carry offsets into both the blanked and the original text."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.clean = blank(text)
        self._hidden_ends = {m.end(): m.start() for m in _HIDDEN.finditer(self._visible())}

    def _visible(self) -> str:
        return "".join(ch if ch < "\x80" else "?" for ch in self.text)

    @cached_property
    def root(self) -> SgNode:
        return SgRoot(self.clean, "cpp").root()

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def line(self, offset: int) -> int:
        """1-based line of a character offset."""
        return bisect_left(self._line_starts, offset + 1)

    def span(self, node: SgNode) -> tuple[int, int]:
        """[start, end) of `node` in the original text, with a hidden prefix (`AscendC::`, `this->`) included."""
        where = node.range()
        start = where.start.index
        return self._hidden_ends.get(start, start), where.end.index

    def original(self, node: SgNode) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def replace(self, node: SgNode, text: str) -> Edit:
        start, end = self.span(node)
        return Edit(self.path, start, end, text)

    def before(self, node: SgNode, text: str) -> Edit:
        """Insert `text` as a line of its own before the statement `node`, with the statement's indentation."""
        start, _ = self.span(node)
        return Edit(self.path, start, start, _indented(text, self.indent(start)) + "\n" + self.indent(start))

    def after(self, node: SgNode, text: str) -> Edit:
        """Insert `text` as a line of its own after the statement `node`."""
        start, end = self.span(node)
        indent = self.indent(start)
        return Edit(self.path, end, end, "\n" + indent + _indented(text, indent))

    def indent(self, offset: int) -> str:
        line = self.text[self._line_starts[self.line(offset) - 1] : offset]
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Every call of the file, in source order."""
        return tuple(call for call in map(as_call, self.root.find_all(kind="call_expression")) if call is not None)

    def statement_at(self, line: int) -> SgNode | None:
        """The innermost simple statement (or declaration) that covers `line`; the outermost call's one on ties."""
        best: SgNode | None = None
        for kind in ("expression_statement", "declaration"):
            for node in self.root.find_all(kind=kind):
                where = node.range()
                if where.start.line + 1 <= line <= where.end.line + 1 and function_of(node) is not None:
                    size = where.end.index - where.start.index
                    if best is None or size < best.range().end.index - best.range().start.index:
                        best = node
        return best

    @cached_property
    def errors(self) -> int:
        return error_count(self.root)


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent)


def as_call(node: SgNode) -> Call | None:
    """`node` as a Call, or None when it is none that can be named."""
    function, arguments = node.field("function"), node.field("arguments")
    if function is None or arguments is None:
        return None
    receiver, template = "", ""
    if function.kind() == "field_expression":
        target, name = function.field("argument"), function.field("field")
        receiver = target.text() if target is not None else ""
        if name is None:
            return None
        function = name
    if function.kind() == "qualified_identifier":
        name = function.field("name")
        if name is None:
            return None
        function = name
    if function.kind() in ("template_function", "template_method"):
        name, listed = function.field("name"), function.field("arguments")
        template = listed.text()[1:-1].strip() if listed is not None else ""
        if name is None:
            return None
        function = name
    args = tuple(child for child in arguments.children() if child.is_named() and child.kind() != "comment")
    return Call(node, function.text(), template, receiver, args)


def error_count(root: SgNode) -> int:
    """Syntax errors the parser had to work around (a rewrite must not add any)."""
    return sum(1 for _ in root.find_all(kind="ERROR"))


def ancestors(node: SgNode, *kinds: str) -> Iterator[SgNode]:
    """Ancestors of `node` of the given kinds, innermost first."""
    return (up for up in node.ancestors() if up.kind() in kinds)


def identifiers(node: SgNode) -> list[SgNode]:
    """Every identifier and field name below `node`."""
    return node.find_all(any=[{"kind": "identifier"}, {"kind": "field_identifier"}])


def function_of(node: SgNode) -> SgNode | None:
    return next(ancestors(node, "function_definition"), None)


def statement_of(node: SgNode) -> SgNode | None:
    """The simple statement or declaration a node belongs to."""
    return next(ancestors(node, "expression_statement", "declaration", "return_statement"), None)


def bare(node: SgNode) -> SgNode:
    """`node` without parentheses and casts around it."""
    while True:
        kind = node.kind()
        if kind == "parenthesized_expression":
            inner = [child for child in node.children() if child.is_named()]
            if len(inner) != 1:
                return node
            node = inner[0]
        elif kind == "cast_expression":
            value = node.field("value")
            if value is None:
                return node
            node = value
        elif kind == "call_expression":
            call = as_call(node)
            named = call is not None and (call.name in CAST_WORDS or call.name == "static_cast") and not call.receiver
            if call is None or not named or len(call.args) != 1:
                return node
            node = call.args[0]
        else:
            return node


CAST_WORDS = frozenset(
    {"static_cast", "int", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}
    | {"float", "half", "double", "size_t", "bfloat16_t", "T"}
)


def binary_operands(node: SgNode) -> tuple[SgNode, str, SgNode] | None:
    """(left, operator, right) of a binary expression under parentheses and casts; None for anything else."""
    node = bare(node)
    if node.kind() != "binary_expression":
        return None
    left, operator, right = node.field("left"), node.field("operator"), node.field("right")
    if left is None or operator is None or right is None:
        return None
    return left, operator.text(), right


def last_name(node: SgNode) -> str | None:
    """`len` for `len`, `p.len`, `this->len`, `(uint32_t)p.len`; None for anything else."""
    node = bare(node)
    if node.kind() == "identifier":
        return node.text()
    if node.kind() == "field_expression":
        name = node.field("field")
        return name.text() if name is not None and name.kind() == "field_identifier" else None
    return None


def expression(text: str) -> SgNode | None:
    """`text` parsed as an expression; None if it is none."""
    node = SgRoot(f"auto v = ({text});", "cpp").root().find(kind="init_declarator")
    value = node.field("value") if node is not None else None
    return bare(value) if value is not None and error_count(value) == 0 else None


def apply(files: Mapping[str, str], edits: tuple[Edit, ...]) -> dict[str, str]:
    """New texts of the edited files. Edits must not overlap (several insertions at one place keep their order)."""
    changed: dict[str, str] = {}
    for path in sorted({edit.path for edit in edits}):
        text = files[path]
        ordered = sorted((e for e in edits if e.path == path), key=lambda e: (e.start, e.end))
        out: list[str] = []
        at = 0
        for edit in ordered:
            if edit.start < at:
                raise ValueError(f"overlapping edits in {path} at character {edit.start}; apply them one at a time")
            out += [text[at : edit.start], edit.text]
            at = edit.end
        changed[path] = "".join([*out, text[at:]])
    return changed


@dataclass(frozen=True)
class Site:
    """One place where a rewrite applies: its edits (any files), where it is, and which way of fixing it they are.

    `variant` separates alternative strategies of one rewriter: sites are only ever combined within a variant.
    """

    path: str
    line: int
    edits: tuple[Edit, ...]
    label: str
    variant: str = ""
    weight: float = field(default=1.0, compare=False)
