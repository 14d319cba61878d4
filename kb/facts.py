"""What a rewriter may ask about a candidate as a whole: types of tensors, definitions, constants, aligned lengths.

Kernels spread one quantity over host tiling, struct fields, members and parameters. `Program` follows plain copies
between those names, recognises the usual ways of rounding a length up or splitting it into tiles, and answers with an
expression that is in scope at the place that is being edited. All answers are heuristics for *proposals*; the engine's
evaluation decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ast_grep_py import SgNode

from events.types import Feature, SanitizerFinding
from kb.cpp import Call, Source, as_call, bare, expression, function_of, identifiers, last_name
from kb.forms import SIZES, arithmetic, is_remainder, rounded_from, without_sizeof

_TENSOR_DECLARATION = re.compile(
    r"\b(?P<space>GlobalTensor|LocalTensor)\s*<\s*(?P<type>[^<>;]+(?:<[^<>;]*>)?)\s*>\s*(?:const\b\s*)?[&*]?\s*"
    r"(?P<names>\w+(?:\s*\[[^\]]*\])?(?:\s*,\s*\w+\b(?!\s*[<&*\w:])(?:\s*\[[^\]]*\])?)*)"
)
_AUTO_TENSOR = re.compile(
    r"\bauto\s*&?\s*(?P<names>\w+)\s*=\s*[^;=]*?\b(?:AllocTensor|DeQue|Get|GetWithOffset|ReinterpretCast)\s*<\s*(?P<type>[^<>;]+)\s*>"
)
_DEFINITION = re.compile(r"(?P<name>\b\w+)\s*(?:=(?!=)|\{)\s*(?P<value>[^;{}=]+?)\s*(?=[;}]|,\s*\w+\s*=(?!=))")
_CONSTANT = re.compile(
    r"(?:\bconstexpr\b[^;=\n]*?|\bconst\b[^;=\n]*?|#define\s+)\b(?P<name>\w+)\s*[={ ]\s*"
    r"(?P<value>[\w\s*/+()<>-]+?)\s*\}?\s*(?:;|$)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class TensorType:
    """`space` is `gm` or `ub`; `element` the element type as the source spells it."""

    space: str
    element: str


class Program:
    """The candidate's files, parsed, and the evidence a rewriter may use (features, findings)."""

    def __init__(
        self,
        files: Mapping[str, str],
        features: Iterable[Feature] = (),
        findings: Iterable[SanitizerFinding] = (),
    ) -> None:
        self.files = dict(files)
        self.sources = {path: Source(path, text) for path, text in sorted(files.items())}
        self.features = {feature.name: feature for feature in features}
        self.findings = tuple(findings)

    # ------------------------------------------------------------ iteration

    def calls(self, *names: str) -> Iterator[tuple[Source, Call]]:
        """Calls of these API names in all files, in path and source order."""
        for source in self.sources.values():
            for call in source.calls:
                if call.name in names:
                    yield source, call

    # ------------------------------------------------------------ tensors

    @cached_property
    def _tensors(self) -> dict[str, list[tuple[str, int, TensorType]]]:
        table: dict[str, list[tuple[str, int, TensorType]]] = {}
        for source in self.sources.values():
            for regex in (_TENSOR_DECLARATION, _AUTO_TENSOR):
                for match in regex.finditer(source.clean):
                    space = "gm" if match.groupdict().get("space") == "GlobalTensor" else "ub"
                    kind = TensorType(space, match["type"].strip())
                    for name in match["names"].split(","):
                        key = name.split("[")[0].strip()
                        table.setdefault(key, []).append((source.path, match.start(), kind))
        return table

    def tensor(self, source: Source, node: SgNode) -> TensorType | None:
        """The tensor type of an expression: a name, an element-offset `x[i]`, or a cast view of one."""
        node = bare(node)
        if node.kind() == "subscript_expression":
            inner = node.field("argument")
            return self.tensor(source, inner) if inner is not None else None
        if node.kind() == "call_expression":
            call = as_call(node)
            if call is not None and call.name == "ReinterpretCast":
                return TensorType("ub", call.template)
            return TensorType("ub", call.template) if call is not None and call.name in ("Get", "DeQue") else None
        name = last_name(node)
        seen = self._tensors.get(name or "", [])
        if not seen:
            return None
        function = function_of(node)
        here = node.range().start.index

        def nearness(entry: tuple[str, int, TensorType]) -> tuple[int, int]:
            path, offset, _ = entry
            if path != source.path:
                return (3, 0)
            span = function.range() if function is not None else None
            local = span is not None and span.start.index <= offset <= here
            return (0 if local else 1, abs(here - offset))

        best = min(seen, key=nearness)
        if best[0] != source.path and len({entry[2] for entry in seen}) > 1:
            spaces = {entry[2].space for entry in seen}
            return TensorType(best[2].space, best[2].element) if len(spaces) == 1 else None
        return best[2]

    def width(self, kind: TensorType | None) -> str:
        """Elements of that type per 32-byte block, as source text (`8`, or `(32 / sizeof(T))`)."""
        size = SIZES.get(kind.element) if kind is not None else None
        if size:
            return str(32 // size)
        return f"(32 / sizeof({kind.element}))" if kind is not None else "8"

    # ------------------------------------------------------------ names and values

    @cached_property
    def definitions(self) -> dict[str, tuple[str, ...]]:
        """Right-hand sides assigned to each bare name, in any file."""
        table: dict[str, list[str]] = {}
        for source in self.sources.values():
            for match in _DEFINITION.finditer(source.clean):
                values = table.setdefault(match["name"], [])
                value = " ".join(match["value"].split())
                if value not in values:
                    values.append(value)
        return {name: tuple(values) for name, values in table.items()}

    @cached_property
    def constants(self) -> dict[str, int]:
        """Integer values of `constexpr`, `const` and `#define` names that are plain arithmetic."""
        raw: dict[str, str] = {}
        for source in self.sources.values():
            for match in _CONSTANT.finditer(source.clean):
                raw.setdefault(match["name"], match["value"])
        known: dict[str, int] = {}
        for _ in range(3):
            for name, value in raw.items():
                number = self._evaluate(value, known)
                if number is not None:
                    known[name] = number
        return known

    @staticmethod
    def _evaluate(text: str, known: Mapping[str, int]) -> int | None:
        text = re.sub(r"\bsizeof\s*\(\s*(\w+)\s*\)", lambda m: str(SIZES.get(m[1], "?")), text)
        text = re.sub(r"\b(?:static_cast<[^>]*>)", "", text)
        text = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(known.get(m[0], "?")), text)
        text = re.sub(r"(\d)[uUlL]+\b", r"\1", text)
        if not re.fullmatch(r"[\d\s*/+()-]+", text) or len(text) > 120:
            return None
        return arithmetic(text)

    def value(self, node: SgNode) -> int | None:
        """The integer value of a constant expression, or None."""
        return self._evaluate(node.text(), self.constants)

    @cached_property
    def _aliases(self) -> dict[str, frozenset[str]]:
        """Names joined by plain copies (`a = b`, `x.a = b`), as groups of bare names.

        A name that is given more than one thing (a tile here, the tail there) is a copy of neither.
        """
        group: dict[str, set[str]] = {}
        for name, values in self.definitions.items():
            given = {value for value in values if arithmetic(value) is None}
            node = expression(min(given)) if len(given) == 1 and len(min(given)) < 120 else None
            other = last_name(node) if node is not None else None
            if other is None or other == name or other in self.constants:
                continue
            joined = group.get(name, {name}) | group.get(other, {other})
            for member in joined:
                group[member] = joined
        return {name: frozenset(members) for name, members in group.items()}

    def same(self, name: str) -> frozenset[str]:
        """Every name that carries the same quantity, `name` included."""
        return self._aliases.get(name, frozenset({name}))

    def values_of(self, name: str) -> Iterator[SgNode]:
        """Parsed right-hand sides of `name` and of every name it is a copy of."""
        for alias in sorted(self.same(name), key=lambda a: (a != name, a)):
            for value in self.definitions.get(alias, ()):
                node = expression(value)
                if node is not None:
                    yield node

    # ------------------------------------------------------------ rounding and splitting

    def logical(self, source: Source, node: SgNode) -> str | None:
        """The unrounded length, in scope here, of one that is rounded up (directly or through names)."""
        direct = rounded_from(node)
        if direct is not None:
            return _text_here(source, direct)
        name = last_name(node)
        if name is None:
            return None
        for value in self.values_of(name):
            inner = rounded_from(value)
            if inner is None:
                continue
            inner = without_sizeof(inner)
            target = last_name(inner)
            spelled = self.spelled_here(source, node, target) if target is not None else None
            if spelled is not None and spelled != node.text():
                return spelled
        return None

    def padded(self, source: Source, node: SgNode) -> str | None:
        """For a plain length: source text of a name in scope that holds it rounded up to a granule, or None."""
        name = last_name(node)
        if name is None:
            return None
        same = self.same(name)
        for candidate in sorted(self.definitions):
            if candidate in same:
                continue
            for value in self.values_of(candidate):
                inner = rounded_from(value)
                target = last_name(without_sizeof(inner)) if inner is not None else None
                if target is not None and target in same:
                    spelled = self.spelled_here(source, node, candidate)
                    if spelled is not None:
                        return spelled
        return None

    def is_tail(self, node: SgNode) -> bool:
        """Whether an expression (or what a name holds) is a remainder: `n % t`, `n - t * (loops - 1)`."""
        name = last_name(node)
        return any(is_remainder(value) for value in ([bare(node)] if name is None else self.values_of(name)))

    # ------------------------------------------------------------ scope

    def spelled_here(self, source: Source, node: SgNode, name: str) -> str | None:
        """How the quantity `name` can be written at `node`: a spelling of the same function or class, else None."""
        wanted = self.same(name)
        own, here = last_name(node), node.range().start.index
        function = function_of(node)
        owner = next(_up(node, "class_specifier", "struct_specifier"), None)
        members = _members(owner) if owner is not None else frozenset[str]()
        for scope in (function, owner):
            best: tuple[bool, int, str] | None = None
            for found in identifiers(scope) if scope is not None else ():
                if found.text() not in wanted or found.text() == own:
                    continue
                whole = _whole(found)
                text = source.original(whole)
                root = re.split(r"\W+", text.removeprefix("this->"))[0]
                if (scope is owner and root not in members) or _declares(found):
                    continue
                rank = (whole is not found, abs(found.range().start.index - here), text)
                best = rank if best is None or rank < best else best
            if best is not None:
                return best[2]
        direct = sorted(wanted & members - {own or ""})
        return direct[0] if direct else None


def _whole(name: SgNode) -> SgNode:
    parent = name.parent()
    if name.kind() == "field_identifier" and parent is not None and parent.kind() == "field_expression":
        return parent
    return name


def _declares(name: SgNode) -> bool:
    parent = name.parent()
    return parent is not None and parent.kind() in ("field_declaration", "enumerator")


def _members(owner: SgNode) -> frozenset[str]:
    """Names of the data members a class declares."""
    names: set[str] = set()
    body = owner.field("body")
    for child in body.children() if body is not None else ():
        if child.kind() == "field_declaration":
            names |= {found.text() for found in child.find_all(kind="field_identifier")}
    return frozenset(names)


def _up(node: SgNode, *kinds: str) -> Iterator[SgNode]:
    return (up for up in node.ancestors() if up.kind() in kinds)


def _text_here(source: Source, node: SgNode) -> str:
    inner = without_sizeof(node)
    start = node.range().start.index
    at_place = source.clean[start : node.range().end.index] == node.text()
    return source.original(inner) if at_place else inner.text()
