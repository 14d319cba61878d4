"""Rewriters of numeric order and special values: scale, epsilon, neutral padding, NaN, softmax."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from kb.cpp import Call, Edit, Site, Source, as_call, bare, binary_operands, function_of, last_name
from kb.facts import Program
from kb.rewriters.blocks import call_of, earlier, later, mentions, names_in, prefix, removal, whole_statement

_ROOTS = frozenset({"Sqrt", "Rsqrt"})
_SCALAR_ROOT = re.compile(r"^(?:sqrtf?|rsqrtf?|Sqrt|Rsqrt)$")


def _line(source: Source, node: SgNode) -> int:
    return source.line(node.range().start.index)


def scale_first(program: Program) -> list[Site]:
    """Multiply, then scale -> scale, then multiply; sum, then scale -> scale, then sum.

    Variants: the nearest product before a Muls on the same tensor; the first product of a chain; scaling before a sum.
    """
    sites: list[Site] = []
    for source, scale in program.calls("Muls"):
        statement = whole_statement(scale)
        if statement is None or len(scale.args) != 4 or scale.args[0].text() != scale.args[1].text():
            continue
        target = scale.args[0].text()
        chain: list[tuple[SgNode, Call]] = []
        for before in earlier(statement):
            call = call_of(before)
            if call is not None and call.name == "Mul" and len(call.args) == 4 and call.args[0].text() == target:
                chain.append((before, call))
            elif mentions(before, names_in(scale.args[0]) | names_in(scale.args[2])):
                break
        for product, variant in ((chain[:1], "nearest product"), (chain[1:][-1:], "first product")):
            for _, call in product:
                sites.append(_swap(source, statement, scale, call, variant))
    sites += _scale_before_sum(program)
    return sites


def _swap(source: Source, statement: SgNode, scale: Call, product: Call, variant: str) -> Site:
    target, left, right = (source.original(argument) for argument in product.args[:3])
    factor, count = source.original(scale.args[2]), source.original(product.args[3])
    if right == target != left:
        left, right = right, left
    space = prefix(source, product)
    first = f"{space}Muls({target}, {left}, {factor}, {count})"
    second = f"{space}Mul({target}, {target}, {right}, {count})"
    barrier = f"{first};\n{source.indent(source.span(product.node)[0])}{space}PipeBarrier<PIPE_V>();\n"
    text = f"{barrier}{source.indent(source.span(product.node)[0])}{second}"
    edits = (source.replace(product.node, text), removal(source, statement))
    return Site(source.path, _line(source, product.node), edits, f"scale {target} before the product", variant)


def _scale_before_sum(program: Program) -> list[Site]:
    sites: list[Site] = []
    for source, total in program.calls("ReduceSum"):
        statement = whole_statement(total)
        if statement is None or len(total.args) != 4 or total.template:
            continue
        target, data, count = total.args[0].text(), source.original(total.args[1]), source.original(total.args[3])
        space = prefix(source, total)
        for after in later(statement):
            call = call_of(after)
            if call is not None and call.name == "Muls" and len(call.args) == 4 and call.args[0].text() == target:
                factor = source.original(call.args[2])
                text = f"{space}Muls({data}, {data}, {factor}, {count});\n{space}PipeBarrier<PIPE_V>();"
                edits = (source.before(statement, text), removal(source, after))
                label = "scale the terms before they are summed"
                sites.append(Site(source.path, _line(source, total.node), edits, label, "before the sum"))
                break
            scaled = _scaled_value(after, target)
            if scaled is not None:
                whole, value, operator, factor_node = scaled
                factor = source.original(factor_node)
                factor = factor if operator == "*" else f"1.0f / ({factor})"
                text = f"{space}Muls({data}, {data}, {factor}, {count});\n{space}PipeBarrier<PIPE_V>();"
                edits = (source.before(statement, text), source.replace(whole, source.original(value)))
                label = "scale the terms before they are summed"
                sites.append(Site(source.path, _line(source, total.node), edits, label, "before the sum"))
                break
    return sites


def _scaled_value(statement: SgNode, tensor: str) -> tuple[SgNode, SgNode, str, SgNode] | None:
    """(product, value, operator, factor) for `tensor.GetValue(0) * factor` or `/ factor` below a statement."""
    for node in statement.find_all(kind="binary_expression"):
        parts = binary_operands(node)
        call = as_call(bare(parts[0])) if parts is not None and bare(parts[0]).kind() == "call_expression" else None
        if parts is None or parts[1] not in "*/" or call is None:
            continue
        if call.name == "GetValue" and call.receiver == tensor:
            return node, parts[0], parts[1], parts[2]
    return None


def epsilon_inside(program: Program) -> list[Site]:
    """A term added after a root -> added under it; a term added before a mean's scale -> after it.

    Vector form: [R]Sqrt(d, s, n) .. Adds(d, d, e, n). Scalar form: sqrt(v) + e, 1 / sqrt(v) + e.
    """
    sites: list[Site] = []
    for source, add in program.calls("Adds"):
        statement = whole_statement(add)
        if statement is None or len(add.args) != 4 or add.args[0].text() != add.args[1].text():
            continue
        target, space = add.args[0].text(), prefix(source, add)
        for before in earlier(statement):
            call = call_of(before)
            if call is not None and call.name in _ROOTS and len(call.args) == 3 and call.args[0].text() == target:
                count, term = source.original(call.args[2]), source.original(add.args[2])
                text = f"{space}Adds({target}, {source.original(call.args[1])}, {term}, {count});\n"
                text += f"{space}PipeBarrier<PIPE_V>();"
                edits = (source.before(before, text), source.replace(call.args[1], target), removal(source, statement))
                sites.append(Site(source.path, _line(source, add.node), edits, f"{term} under the root"))
                break
            inverse = call is not None and call.name in ("Reciprocal", "Div") and call.args[0].text() == target
            if not inverse and mentions(before, names_in(add.args[0])):
                break
        following = next(later(statement), None)
        scale = call_of(following) if following is not None else None
        if scale is None or scale.name != "Muls" or len(scale.args) != 4:
            continue
        if scale.args[0].text() == scale.args[1].text() == target:
            swap = (
                source.replace(add.node, source.original(scale.node)),
                source.replace(scale.node, source.original(add.node)),
            )
            label = "add the term after the mean's scale"
            sites.append(Site(source.path, _line(source, add.node), swap, label, "after the scale"))
    for source in program.sources.values():
        sites += _scalar_epsilon(source)
        sites += _scaled_sum(source)
    return sites


def _scaled_sum(source: Source) -> list[Site]:
    """`(sum + e) * scale` in a function that takes a root -> `sum * scale + e`; the same for a division."""
    sites: list[Site] = []
    for node in source.root.find_all(kind="binary_expression"):
        parts, function = binary_operands(node), function_of(node)
        inner = binary_operands(parts[0]) if parts is not None and parts[1] in "*/" else None
        if parts is None or inner is None or function is None or inner[1] != "+" or _integral(node):
            continue
        if parts[0].kind() != "parenthesized_expression" or "sqrt" not in function.text().lower():
            continue
        total, term, factor = (source.original(part) for part in (inner[0], inner[2], parts[2]))
        edit = source.replace(node, f"({total} {parts[1]} {factor} + {term})")
        sites.append(Site(source.path, _line(source, node), (edit,), f"{term} after the scale", "after the scale"))
    return sites


def _integral(node: SgNode) -> bool:
    """Whether an expression is visibly about integers: an index, a size, a rounding."""
    if next((up for up in node.ancestors() if up.kind() == "subscript_expression"), None) is not None:
        return True
    return bool(re.search(r"sizeof|[+-]\s*\d+[uU]?\s*\)|%", node.text()))


def _scalar_epsilon(source: Source) -> list[Site]:
    sites: list[Site] = []
    for node in source.root.find_all(kind="binary_expression"):
        parts = binary_operands(node)
        if parts is None or parts[1] != "+":
            continue
        root = _scalar_root(parts[0])
        if root is None:
            continue
        argument, term = root.args[0], source.original(parts[2])
        start, _ = source.span(node)
        _, left_end = source.span(parts[0])
        _, end = source.span(node)
        inside = source.replace(argument, f"{source.original(argument)} + {term}")
        edits = (inside, Edit(source.path, left_end, end, ""))
        sites.append(Site(source.path, source.line(start), edits, f"{term} under the root"))
    return sites


def _scalar_root(node: SgNode) -> Call | None:
    node = bare(node)
    parts = binary_operands(node)
    if parts is not None and parts[1] == "/":
        node = bare(parts[2])
    call = as_call(node) if node.kind() == "call_expression" else None
    return call if call is not None and _SCALAR_ROOT.match(call.name) and len(call.args) == 1 else None


_INVERSE = {"GT": "LE", "LE": "GT", "LT": "GE", "GE": "LT"}


def nan_keeping_select(program: Program) -> list[Site]:
    """Compare + Select -> the inverse comparison with the operands swapped, so that NaN takes the other branch.

    A Select against a scalar cannot be swapped: there the inverse mask is negated instead.
    """
    sites: list[Site] = []
    for source, compare in program.calls("Compare", "CompareScalar"):
        statement, function = whole_statement(compare), function_of(compare.node)
        if statement is None or function is None or len(compare.args) < 5:
            continue
        mode, mask = compare.args[3], last_name(compare.args[0])
        word = mode.text().split("::")[-1]
        if word not in _INVERSE or mask is None:
            continue
        inverted = source.replace(mode, source.original(mode)[: -len(word)] + _INVERSE[word])
        swapped: list[Edit] = []
        negate = False
        for after in later(statement):
            call = call_of(after)
            if call is not None and call.name.startswith("Compare") and last_name(call.args[0]) == mask:
                break
            if call is None or call.name != "Select" or len(call.args) < 4 or last_name(call.args[1]) != mask:
                continue
            if program.tensor(source, call.args[3]) is None:
                negate = True
            else:
                swapped.append(source.replace(call.args[2], source.original(call.args[3])))
                swapped.append(source.replace(call.args[3], source.original(call.args[2])))
        line = _line(source, compare.node)
        if swapped and not negate:
            sites.append(Site(source.path, line, (inverted, *swapped), "NaN takes the other branch", "swap"))
        elif negate:
            target, count = source.original(compare.args[0]), source.original(compare.args[-1])
            words = f"{target}.template ReinterpretCast<uint16_t>()"
            text = f"{prefix(source, compare)}PipeBarrier<PIPE_V>();\n"
            text += f"{prefix(source, compare)}Not({words}, {words}, (({count}) + 15) / 16);"
            edits = (inverted, source.after(statement, text))
            sites.append(Site(source.path, line, edits, "NaN takes the other branch", "negate"))
    return sites


def max_before_exp(program: Program) -> list[Site]:
    """Exp whose result is summed, with no maximum taken before -> subtract the maximum first.

    Uses the destination and work tensors of the ReduceSum that follows; the data itself stays as it is.
    """
    sites: list[Site] = []
    for source, power in program.calls("Exp"):
        statement, function = whole_statement(power), function_of(power.node)
        if statement is None or function is None or len(power.args) != 3:
            continue
        at = power.node.range().start.index
        inside = [c for c in source.calls if (f := function_of(c.node)) is not None and f.range() == function.range()]
        if any(c.name in ("ReduceMax", "Max", "WholeReduceMax") and c.node.range().start.index < at for c in inside):
            continue
        target = power.args[0].text()
        total = next(
            (c for c in inside if c.name == "ReduceSum" and len(c.args) == 4 and c.args[1].text() == target), None
        )
        kind = program.tensor(source, power.args[1])
        if total is None or kind is None or total.node.range().start.index < at:
            continue
        out, data, count = (source.original(argument) for argument in power.args)
        slot, work = source.original(total.args[0]), source.original(total.args[2])
        space = prefix(source, power)
        lowered = f"static_cast<{kind.element}>(-static_cast<float>({slot}.GetValue(0)))"
        text = (
            f"{space}ReduceMax({slot}, {data}, {work}, {count});\n{space}PipeBarrier<PIPE_ALL>();\n"
            f"{space}Adds({out}, {data}, {lowered}, {count});\n"
            f"{space}PipeBarrier<PIPE_V>();"
        )
        edits = (source.before(statement, text), source.replace(power.args[1], out))
        sites.append(Site(source.path, _line(source, power.node), edits, "subtract the maximum before Exp"))
    return sites
