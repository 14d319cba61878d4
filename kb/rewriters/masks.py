"""Rewriters of comparison masks and gathered offsets: lengths in whole repeats, offsets in bytes."""

from __future__ import annotations

from kb.cpp import Site, function_of, last_name
from kb.facts import Program
from kb.forms import SIZES, rounded_from
from kb.rewriters.blocks import mentions, prefix, whole_statement

_REPEAT_BYTES = 256
_SCALING = frozenset({"Muls", "ShiftLeft", "Mul"})


def compare_whole_repeats(program: Program) -> list[Site]:
    """Compare over n elements -> over n rounded up to 256 bytes, as the instruction wants; nothing else changes."""
    sites: list[Site] = []
    for source, call in program.calls("Compare", "CompareScalar", "Compares"):
        if len(call.args) != 5:
            continue
        kind, count = program.tensor(source, call.args[1]), call.args[4]
        literal = program.value(count)
        if kind is None or rounded_from(count) is not None or program.logical(source, count) is not None:
            continue
        lanes = str(_REPEAT_BYTES // SIZES[kind.element]) if kind.element in SIZES else ""
        lanes = lanes or f"(static_cast<uint32_t>({_REPEAT_BYTES} / sizeof({kind.element})))"
        if literal is not None and lanes.isdigit() and literal % int(lanes) == 0:
            continue
        text = f"(({source.original(count)}) + {lanes} - 1) / {lanes} * {lanes}"
        line = source.line(call.node.range().start.index)
        sites.append(Site(source.path, line, (source.replace(count, text),), f"{call.name} over whole repeats"))
    return sites


def gather_byte_offsets(program: Program) -> list[Site]:
    """Gather with element indices -> the indices are multiplied by the element's size first (offsets are bytes)."""
    sites: list[Site] = []
    for source, call in program.calls("Gather"):
        statement, function = whole_statement(call), function_of(call.node)
        if statement is None or function is None or len(call.args) != 5:
            continue
        kind, name = program.tensor(source, call.args[1]), last_name(call.args[2])
        if kind is None or name is None:
            continue
        start, at = function.range().start.index, call.node.range().start.index
        before = [c for c in source.calls if start <= c.node.range().start.index < at and c.args]
        if any(c.name in _SCALING and mentions(c.args[0], frozenset({name})) for c in before):
            continue
        space, offsets, count = prefix(source, call), source.original(call.args[2]), source.original(call.args[4])
        words = f"{offsets}.template ReinterpretCast<int32_t>()"
        text = f"{space}Muls({words}, {words}, static_cast<int32_t>(sizeof({kind.element})), {count});\n"
        text += f"{space}PipeBarrier<PIPE_V>();"
        line = source.line(at)
        sites.append(Site(source.path, line, (source.before(statement, text),), "offsets of Gather in bytes"))
    return sites
