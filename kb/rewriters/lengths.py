"""Rewriters of lengths and offsets: logical against padded width, tail against nominal tile."""

from __future__ import annotations

from collections.abc import Iterator

from ast_grep_py import SgNode

from kb.cpp import Edit, Site, Source, bare, binary_operands, function_of, identifiers, last_name
from kb.facts import Program
from kb.rewriters.blocks import mentions
from kb.rewriters.copies import fields

_REDUCERS = ("ReduceSum", "ReduceMax", "ReduceMin", "Sum", "Mean")


def unpadded_count(program: Program) -> list[Site]:
    """A reduction over a rounded-up length -> over the logical length; the same for a mean's divisor.

    Variants: the counts of reductions; the float divisors; both together.
    """
    counts: list[Site] = []
    for source, call in program.calls(*_REDUCERS):
        if len(call.args) < 4:
            continue
        logical = program.logical(source, call.args[3])
        if logical is not None:
            edit = source.replace(call.args[3], logical)
            counts.append(_site(source, call.node, (edit,), f"{call.name} over {logical} valid elements"))
    divisors: list[Site] = []
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(node)
            if parts is None or parts[1] != "/" or not _floating(source, node):
                continue
            logical = program.logical(source, parts[2])
            if logical is not None:
                text = f"static_cast<float>({logical})"
                edit = source.replace(parts[2], text)
                divisors.append(_site(source, node, (edit,), f"divide by {logical}", variant="divisor"))
    both = [Site(s.path, s.line, s.edits, s.label, "count and divisor") for s in (*counts, *divisors)]
    return counts + divisors + (both if counts and divisors else [])


def _floating(source: Source, node: SgNode) -> bool:
    text = node.text()
    return "float" in text or ".0" in text or "f /" in text


def _site(source: Source, node: SgNode, edits: tuple[Edit, ...], label: str, variant: str = "") -> Site:
    return Site(source.path, source.line(node.range().start.index), edits, label, variant)


def _offsets(program: Program, space: str) -> Iterator[tuple[Source, SgNode, SgNode]]:
    """(source, subscript, factor) for every factor of a product in an element offset of a tensor of that space."""
    for source in program.sources.values():
        for node in source.root.find_all(kind="subscript_expression"):
            owner = node.field("argument")
            kind = program.tensor(source, owner) if owner is not None else None
            if kind is None or kind.space != space:
                continue
            indices = node.field("indices")
            for holder in _index_expressions(node, indices):
                for product in holder.find_all(kind="binary_expression"):
                    parts = binary_operands(product)
                    if parts is not None and parts[1] == "*":
                        yield source, node, parts[0]
                        yield source, node, parts[2]


def _index_expressions(node: SgNode, indices: SgNode | None) -> Iterator[SgNode]:
    """The index itself, and what local variables in it are initialised with."""
    function = function_of(node)
    if indices is None or function is None:
        return
    yield indices
    names = {found.text() for found in identifiers(indices)}
    for declarator in function.find_all(kind="init_declarator"):
        target, value = declarator.field("declarator"), declarator.field("value")
        if target is not None and value is not None and target.text() in names:
            yield value


def padded_pitch(program: Program) -> list[Site]:
    """`local[row * width]` -> `local[row * padded width]` where some name in scope holds the width rounded up.

    Rows that DataCopyPad lays into UB start at 32-byte boundaries; the logical width is right only for lengths.
    """
    sites: list[Site] = []
    for source, node, factor in _offsets(program, "ub"):
        if last_name(factor) is None or program.logical(source, factor) is not None:
            continue
        padded = program.padded(source, factor)
        if padded is None:
            padded = _computed_pitch(program, source, node, factor)
        if padded is not None:
            edit = source.replace(factor, padded)
            sites.append(_site(source, node, (edit,), f"row offset in UB steps by {padded}"))
    return sites


def _computed_pitch(program: Program, source: Source, node: SgNode, factor: SgNode) -> str | None:
    """Where a multi-row DataCopyPad of the same file uses this width: the rounding written out."""
    owner = node.field("argument")
    kind = program.tensor(source, owner) if owner is not None else None
    name = last_name(factor)
    if kind is None or name is None:
        return None
    lengths = [
        fields(source, c.args[2]).get("blockLen") for c in source.calls if c.name == "DataCopyPad" and len(c.args) > 2
    ]
    wide = any(length is not None and mentions(length, frozenset({name})) for length in lengths)
    width = program.width(kind)
    text = source.original(factor)
    return f"(({text} + {width} - 1) / {width} * {width})" if wide else None


def aligned_offset(program: Program) -> list[Site]:
    """`global[row * padded width]` -> `global[row * width]`: rows in global memory lie side by side."""
    sites: list[Site] = []
    for source, node, factor in _offsets(program, "gm"):
        logical = program.logical(source, factor)
        if logical is not None:
            edit = source.replace(factor, logical)
            sites.append(_site(source, node, (edit,), f"row offset in global memory steps by {logical}"))
    return sites


def nominal_offset(program: Program) -> list[Site]:
    """`global[i * len]` where `len` may be the tail's length -> `global[i * nominal tile]`."""
    sites: list[Site] = []
    for source, node, factor in _offsets(program, "gm"):
        nominal = _nominal(program, source, factor)
        if nominal is not None and nominal != source.original(factor):
            edit = source.replace(factor, nominal)
            sites.append(_site(source, node, (edit,), f"tile offset steps by the nominal {nominal}"))
    return sites


def _nominal(program: Program, source: Source, factor: SgNode) -> str | None:
    """The nominal tile behind a length that is a tail now and then: from its `?:`, its min(), or its call sites."""
    name, function = last_name(factor), function_of(factor)
    if name is None or function is None:
        return None
    for value in _local_values(program, function, name):
        for option in _options(value):
            if last_name(option) is not None and not program.is_tail(option):
                spelled = program.spelled_here(source, factor, last_name(option) or "")
                return spelled or source.original(option)
    arguments = _arguments(program, function, name)
    tails = [argument for argument in arguments if program.is_tail(argument)]
    others = [argument for argument in arguments if not program.is_tail(argument) and last_name(argument) is not None]
    if tails and others:
        return program.spelled_here(source, factor, last_name(others[0]) or "") or others[0].text()
    if not program.is_tail(factor):
        return None
    for value in program.values_of(name):
        target = last_name(value)
        if target is not None and not program.is_tail(value):
            spelled = program.spelled_here(source, factor, target)
            if spelled is not None:
                return spelled
    return _sibling_tile(program, source, factor)


def _sibling_tile(program: Program, source: Source, factor: SgNode) -> str | None:
    """For `tail = n % tile`: how `tile` is written here."""
    for value in program.values_of(last_name(factor) or ""):
        for inner in [value, *value.find_all(kind="binary_expression")]:
            parts = binary_operands(inner)
            if parts is not None and parts[1] == "%" and last_name(parts[2]) is not None:
                return program.spelled_here(source, factor, last_name(parts[2]) or "")
    return None


def _local_values(program: Program, function: SgNode, name: str) -> Iterator[SgNode]:
    for declarator in function.find_all(kind="init_declarator"):
        target, value = declarator.field("declarator"), declarator.field("value")
        if target is not None and value is not None and target.text() == name:
            yield bare(value)
    for assignment in function.find_all(kind="assignment_expression"):
        left, right = assignment.field("left"), assignment.field("right")
        if left is not None and right is not None and last_name(left) == name:
            yield bare(right)


def _options(value: SgNode) -> list[SgNode]:
    if value.kind() == "conditional_expression":
        branches = [value.field("alternative"), value.field("consequence")]
        return [bare(branch) for branch in branches if branch is not None]
    return []


def _arguments(program: Program, function: SgNode, name: str) -> list[SgNode]:
    """What callers pass for the parameter `name` of `function`, over all files."""
    declarator = function.find(kind="function_declarator")
    called = declarator.field("declarator") if declarator is not None else None
    listed = declarator.field("parameters") if declarator is not None else None
    if called is None or listed is None:
        return []
    parameters = [child for child in listed.children() if child.kind() == "parameter_declaration"]
    for position, parameter in enumerate(parameters):
        target = parameter.field("declarator")
        if target is not None and target.text().lstrip("&* ") == name:
            short = called.text().split("::")[-1]
            return [call.args[position] for _, call in program.calls(short) if len(call.args) > position]
    return []
