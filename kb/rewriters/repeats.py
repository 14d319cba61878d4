"""Rewriters of vector repeats: more than 255 of them, and a last repeat that covers fewer lanes than the mask."""

from __future__ import annotations

from dataclasses import dataclass

from ast_grep_py import SgNode

from kb.cpp import Call, Edit, Site, Source, bare, binary_operands, last_name, statement_of
from kb.facts import Program
from kb.forms import ceil_divided, leftmost_sum

_BINARY = frozenset(
    {"Add", "Sub", "Mul", "Div", "Max", "Min", "And", "Or", "MulAddDst", "FusedMulAdd", "AddRelu", "SubRelu"}
)
_UNARY = frozenset({"Exp", "Ln", "Abs", "Sqrt", "Rsqrt", "Reciprocal", "Relu", "Not"})
_SCALAR = frozenset({"Adds", "Muls", "Maxs", "Mins", "LeakyRelu", "ShiftLeft", "ShiftRight", "Axpy"})
_WHOLE = frozenset({"WholeReduceSum", "WholeReduceMax", "WholeReduceMin"})
_MAX_REPEAT = 255
#: 32-byte blocks that one vector repeat covers.
_BLOCKS = 8


@dataclass(frozen=True)
class _Form:
    """Where the operands of a mask/repeat call stand: tensors, mask, repeat, and the rep-stride of each tensor.

    A stride is source text in blocks, or in elements where `elements` says so for that operand.
    """

    tensors: tuple[int, ...]
    mask: int
    repeat: int
    strides: tuple[str, ...]
    elements: tuple[bool, ...]
    contiguous: bool


def _strides(source: Source, params: SgNode, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Rep-strides of (dst, sources...) from `{1, 1, 8, 8}` in either order of fields, or from a variable's fields."""
    node = bare(params)
    if node.kind() in ("compound_literal_expression", "call_expression"):
        inner = node.field("value") or node.field("arguments")
        if inner is None:
            return None
        node = inner
    if node.kind() in ("initializer_list", "argument_list"):
        values = [child for child in node.children() if child.is_named() and child.kind() != "comment"]
        if len(values) < 2 * len(names):
            return None
        return tuple(source.original(value) for value in values[len(names) : 2 * len(names)])
    name = last_name(node)
    return tuple(f"{source.original(node)}.{field}" for field in names) if name is not None else None


def _form(source: Source, call: Call) -> _Form | None:
    args = call.args
    if call.name in _BINARY and len(args) == 6:
        names: tuple[str, ...] = ("dstRepStride", "src0RepStride", "src1RepStride")
        tensors: tuple[int, ...] = (0, 1, 2)
        mask, repeat, params = 3, 4, 5
    elif call.name in _UNARY and len(args) == 5:
        names, tensors, mask, repeat, params = ("dstRepStride", "srcRepStride"), (0, 1), 2, 3, 4
    elif (call.name in _SCALAR or call.name == "Cast") and len(args) == 6:
        names, tensors, mask, repeat, params = ("dstRepStride", "srcRepStride"), (0, 1), 3, 4, 5
    elif call.name == "Duplicate" and len(args) == 6:
        return _Form((0,), 2, 3, (source.original(args[5]),), (False,), args[5].text() == "8")
    elif call.name in _WHOLE and len(args) >= 7:
        strides = (source.original(args[4]), source.original(args[6]))
        return _Form((0, 1), 2, 3, strides, (True, False), False)
    else:
        return None
    found = _strides(source, args[params], names)
    if found is None:
        return None
    contiguous = all(text.strip() == "8" for text in found) and call.name != "Cast"
    return _Form(tensors, mask, repeat, found, (False,) * len(found), contiguous)


def chunk_repeats(program: Program) -> list[Site]:
    """A repeat count that is not a small constant -> the count form (contiguous operands), or a loop of at most 255.

    An 8-bit variable that holds the count is widened along with it; widening alone is no site (the API still wraps).
    """
    sites: list[Site] = []
    for source in program.sources.values():
        for call in source.calls:
            form = _form(source, call)
            statement = statement_of(call.node)
            if form is None or statement is None or statement.kind() != "expression_statement":
                continue
            value = program.value(call.args[form.repeat])
            if value is not None and value <= _MAX_REPEAT:
                continue
            widened = _widen(program, source, call.args[form.repeat])
            line = source.line(call.node.range().start.index)
            if form.contiguous:
                edits = (*widened, _count_form(source, call, form))
                label = f"{call.name} over a count instead of repeats"
                sites.append(Site(source.path, line, edits, label, "count"))
            edits = (*widened, source.replace(statement, _loop(program, source, call, form)))
            label = f"{call.name} in chunks of at most {_MAX_REPEAT} repeats"
            sites.append(Site(source.path, line, edits, label, "loop"))
    return sites


def _count_form(source: Source, call: Call, form: _Form) -> Edit:
    mask, repeat = source.original(call.args[form.mask]), source.original(call.args[form.repeat])
    start, _ = source.span(call.args[form.mask])
    _, end = source.span(call.args[-1])
    return Edit(source.path, start, end, f"static_cast<int32_t>(({mask}) * ({_plain(repeat)}))")


def _plain(repeat: str) -> str:
    """The repeat expression without a cast to eight bits around it."""
    for cast in ("static_cast<uint8_t>", "(uint8_t)", "uint8_t"):
        if repeat.startswith(cast):
            return repeat[len(cast) :]
    return repeat


def _loop(program: Program, source: Source, call: Call, form: _Form) -> str:
    start, _ = source.span(call.node)
    function = call.node.field("function")
    name = source.original(function) if function is not None else call.name
    repeat = _plain(source.original(call.args[form.repeat]))
    texts = [source.original(argument) for argument in call.args]
    for position, stride, elements in zip(form.tensors, form.strides, form.elements, strict=True):
        width = program.width(program.tensor(source, call.args[position]))
        step = f"({stride})" if elements else f"({stride}) * {width}"
        texts[position] = f"{texts[position]}[repeatBase * {step}]"
    texts[form.repeat] = "static_cast<uint8_t>(repeatStep)"
    indent = source.indent(start)
    return (
        f"for (uint32_t repeatBase = 0, repeatAll = static_cast<uint32_t>({repeat}); repeatBase < repeatAll; "
        f"repeatBase += {_MAX_REPEAT}) {{\n"
        f"{indent}    const uint32_t repeatStep = repeatAll - repeatBase < {_MAX_REPEAT} ? repeatAll - repeatBase : "
        f"{_MAX_REPEAT};\n"
        f"{indent}    {name}({', '.join(texts)});\n{indent}}}"
    )


def _widen(program: Program, source: Source, repeat: SgNode) -> tuple[Edit, ...]:
    """Edits that give the variable behind a repeat count 32 bits wherever it is declared or cast on the way."""
    name = last_name(repeat)
    if name is None:
        return ()
    names = program.same(name)
    edits: list[Edit] = []
    for other in program.sources.values():
        for kind in ("declaration", "field_declaration", "parameter_declaration"):
            for node in other.root.find_all(kind=kind):
                type_node = node.field("type")
                if type_node is None or type_node.text() not in ("uint8_t", "uint16_t", "int8_t"):
                    continue
                declared = {n.text() for k in ("identifier", "field_identifier") for n in _declared(node, k)}
                if declared & names:
                    edits.append(other.replace(type_node, "uint32_t"))
                    edits += _uncast(other, node)
        for assignment in other.root.find_all(kind="assignment_expression"):
            left = assignment.field("left")
            if left is not None and last_name(left) in names:
                edits += _uncast(other, assignment)
    return tuple(sorted(set(edits)))


def _declared(node: SgNode, kind: str) -> list[SgNode]:
    found: list[SgNode] = []
    for child in node.children():
        if child.kind() == kind:
            found.append(child)
        elif child.kind() == "init_declarator":
            target = child.field("declarator")
            found += [target] if target is not None and target.kind() == kind else []
    return found


def _uncast(source: Source, node: SgNode) -> list[Edit]:
    """Casts to eight bits below `node`, widened."""
    return [
        source.replace(word, "uint32_t")
        for descriptor in node.find_all(kind="type_descriptor")
        if (word := descriptor) is not None and word.text() == "uint8_t"
    ]


def divide_once(program: Program) -> list[Site]:
    """`x / lanes * 8` (blocks per repeat) -> `x / (lanes / 8)`: one division by the elements of a block.

    A rounded-up quotient, and a quotient times its own divisor (rounding to a multiple), are meant as written.
    """
    sites: list[Site] = []
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            outer = binary_operands(node)
            inner = binary_operands(outer[0]) if outer is not None and outer[1] == "*" else None
            if outer is None or inner is None or inner[1] != "/" or leftmost_sum(inner[0]) is not None:
                continue
            lanes, blocks = program.value(inner[2]), program.value(outer[2])
            if blocks != _BLOCKS or inner[2].text() == outer[2].text() or lanes not in (None, 64, 128, 256):
                continue
            if lanes is None and last_name(inner[2]) is None:
                continue
            step = str(lanes // _BLOCKS) if lanes else f"({source.original(inner[2])} / {source.original(outer[2])})"
            text = f"{source.original(inner[0])} / {step}"
            line = source.line(node.range().start.index)
            sites.append(Site(source.path, line, (source.replace(node, text),), f"stride {text}"))
    return sites


def split_last_repeat(program: Program) -> list[Site]:
    """WholeReduce over ceil(n / mask) repeats -> the full repeats, then one call masked to the lanes that are left."""
    sites: list[Site] = []
    for source, call in program.calls(*_WHOLE):
        statement = statement_of(call.node)
        if len(call.args) < 7 or statement is None or statement.kind() != "expression_statement":
            continue
        total = _divided(program, source, call.args[3])
        if total is None:
            continue
        form = _form(source, call)
        function = call.node.field("function")
        if form is None or function is None:
            continue
        name, texts = source.original(function), [source.original(argument) for argument in call.args]
        mask = texts[2]
        kind = program.tensor(source, call.args[1])
        full, rest = f"(({total}) / ({mask}))", f"(({total}) % ({mask}))"
        first = [*texts[:3], full, *texts[4:]]
        last = [
            f"{texts[0]}[{full} * ({texts[4]})]",
            f"{texts[1]}[{full} * ({texts[6]}) * {program.width(kind)}]",
            *(rest, "1"),
            *texts[4:],
        ]
        indent = source.indent(source.span(statement)[0])
        text = (
            f"if ({full} > 0) {{\n{indent}    {name}({', '.join(first)});\n{indent}}}\n"
            f"{indent}if ({rest} > 0) {{\n{indent}    {name}({', '.join(last)});\n{indent}}}"
        )
        line = source.line(call.node.range().start.index)
        label = f"{call.name}: the last repeat only over the lanes that hold data"
        sites.append(Site(source.path, line, (source.replace(statement, text),), label))
    return sites


def _divided(program: Program, source: Source, repeat: SgNode) -> str | None:
    """Source text of X, in scope, when a repeat count is ceil(X / lanes)."""
    direct = ceil_divided(repeat)
    if direct is not None:
        return source.original(direct)
    name = last_name(repeat)
    for value in program.values_of(name) if name is not None else ():
        inner = ceil_divided(value)
        target = last_name(inner) if inner is not None else None
        if target is not None:
            return program.spelled_here(source, repeat, target)
    return None
