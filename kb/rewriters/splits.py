"""Rewriters of work splitting: a tail of length zero, a remainder that no core takes."""

from __future__ import annotations

import re

from ast_grep_py import SgNode

from kb.cpp import Edit, Site, Source, bare, binary_operands, function_of, identifiers, last_name, statement_of
from kb.facts import Program
from kb.forms import ceil_divided
from kb.rewriters.blocks import call_of

_CORES = re.compile(
    r"GetBlockNum|(?<!sub)(?<!sub_)(?:core|block|aiv|worker)s?_?(?:num|cnt|count|dim|s)\b|(?:num|used|n)_?(?:core|block|aiv|worker)",
    re.IGNORECASE,
)


def _tail_name(program: Program, source: Source, node: SgNode) -> str | None:
    """Source text of the first name below `node` that holds a remainder."""
    for found in identifiers(node):
        if program.is_tail(found):
            parent = found.parent()
            whole = parent if parent is not None and parent.kind() == "field_expression" else found
            return source.original(whole)
    return None


def guard_empty_tail(program: Program) -> list[Site]:
    """The tail's path taken although there is no tail -> only when the remainder is not zero.

    Variants: the condition of the last iteration; the definition (a zero remainder means a full tile); the call.
    """
    sites: list[Site] = []
    for source in program.sources.values():
        for kind, part in (("if_statement", "consequence"), ("conditional_expression", "consequence")):
            for node in source.root.find_all(kind=kind):
                condition, branch = node.field("condition"), node.field(part)
                if condition is None or branch is None or not _last_iteration(program, condition):
                    continue
                tail = _tail_name(program, source, branch) or (branch.text() if program.is_tail(branch) else None)
                if tail is None or tail.split(".")[-1].split("->")[-1] in condition.text():
                    continue
                inner = bare(condition) if condition.kind() == "condition_clause" else condition
                value = condition.field("value") or inner
                held = source.original(value)
                held = held if value.kind() == "parenthesized_expression" else f"({held})"
                guarded = f"{held} && {tail} > 0"
                edit = source.replace(value, f"({guarded})" if kind == "conditional_expression" else guarded)
                line = source.line(node.range().start.index)
                sites.append(Site(source.path, line, (edit,), "tail path only with a tail", "condition"))
        sites += _definitions(program, source)
        sites += _unguarded_calls(program, source)
    return sites


def _last_iteration(program: Program, condition: SgNode) -> bool:
    """`i == n - 1`, `i + 1 == n`, or `i == last` where last is n - 1."""
    node = condition.field("value") or condition
    parts = binary_operands(node)
    if parts is None or parts[1] not in ("==", ">="):
        return False
    for side in (parts[0], parts[2]):
        inner = binary_operands(side)
        if inner is not None and inner[1] in "+-" and program.value(inner[2]) == 1:
            return True
        name = last_name(side)
        for value in program.values_of(name) if name is not None else ():
            inner = binary_operands(value)
            if inner is not None and inner[1] == "-" and program.value(inner[2]) == 1:
                return True
    return False


def _definitions(program: Program, source: Source) -> list[Site]:
    sites: list[Site] = []
    for node in source.root.find_all(kind="binary_expression"):
        parts = binary_operands(node)
        parent = node.parent()
        if parts is None or parts[1] != "%" or node.kind() != "binary_expression" or parent is None:
            continue
        if parent.kind() not in ("init_declarator", "assignment_expression") or program.value(parts[2]) is not None:
            continue
        whole, tile = source.original(node), source.original(parts[2])
        edit = source.replace(node, f"(({whole}) == 0 ? ({tile}) : ({whole}))")
        line = source.line(node.range().start.index)
        sites.append(Site(source.path, line, (edit,), "no remainder means a full tile", "definition"))
    return sites


def _unguarded_calls(program: Program, source: Source) -> list[Site]:
    groups: dict[tuple[int, str], list[SgNode]] = {}
    for call in source.calls:
        statement = statement_of(call.node)
        if statement is None or call_of(statement) is None or function_of(call.node) is None or call.receiver:
            continue
        tails = [argument for argument in call.args if last_name(argument) is not None and program.is_tail(argument)]
        inside_if = any(
            up.kind() in ("if_statement", "for_statement", "while_statement") for up in statement.ancestors()
        )
        if tails and not inside_if and not call.name[:1].islower():
            function = function_of(call.node)
            key = (function.range().start.index if function is not None else 0, source.original(tails[0]))
            groups.setdefault(key, []).append(statement)
    sites: list[Site] = []
    for (_, tail), statements in sorted(groups.items()):
        edits = tuple(source.replace(s, f"if (({tail}) > 0) {{ {source.original(s)} }}") for s in statements)
        line = source.line(statements[0].range().start.index)
        sites.append(Site(source.path, line, edits, "tail path only with a tail", "call"))
    return sites


def split_remainder(program: Program) -> list[Site]:
    """Work per core as total / cores, remainder dropped (or rounded up, last core over-running) -> every element once.

    Variants: `ceil` makes the share a ceiling and bounds each loop over it by the total; `rest` gives the last core the
    rest once its offset is known. Both need the total to be nameable in the kernel.
    """
    sites: list[Site] = []
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(node)
            target = _assigned(node)
            if parts is None or parts[1] != "/" or target is None or not _CORES.search(parts[2].text()):
                continue
            rounded = ceil_divided(node)
            total = rounded if rounded is not None else parts[0]
            name = last_name(total)
            if name is None:
                continue
            floor = rounded is None
            cores = source.original(parts[2])
            ceiling = f"(({source.original(parts[0])}) + ({cores}) - 1) / ({cores})"
            change = (source.replace(node, ceiling),) if floor else ()
            guards = _loop_guards(program, target, name)
            line = source.line(node.range().start.index)
            if guards or floor:
                label = "ceiling share per core, loops bounded by the total" if guards else "ceiling share per core"
                sites.append(Site(source.path, line, (*change, *guards), label, "ceil"))
            rest = _rest_of_last(program, target, name, floor)
            if rest:
                sites.append(Site(source.path, line, rest, "the last core takes the rest", "rest"))
    return sites


def _assigned(node: SgNode) -> str | None:
    for up in node.ancestors():
        if up.kind() in ("init_declarator", "assignment_expression"):
            target = up.field("declarator") or up.field("left")
            return last_name(target) if target is not None else None
        if up.kind() not in ("parenthesized_expression", "call_expression", "argument_list", "cast_expression"):
            return None
    return None


def _loop_guards(program: Program, share: str, total: str) -> tuple[Edit, ...]:
    names = program.same(share)
    edits: list[Edit] = []
    for source in program.sources.values():
        for loop in source.root.find_all(kind="for_statement"):
            condition, start = loop.field("condition"), loop.field("initializer")
            parts = binary_operands(condition) if condition is not None else None
            if condition is None or start is None or parts is None or parts[1] not in ("<", "!="):
                continue
            bound = {found.text() for found in identifiers(parts[2])} | {parts[2].text()}
            spelled = program.spelled_here(source, condition, total)
            if not bound & names or spelled is None:
                continue
            index = source.original(parts[0])
            from_zero = re.search(r"=\s*0\s*[uU]?\s*;?$", start.text())
            share_text = source.original(parts[2])
            position = f"GetBlockIdx() * ({share_text}) + {index}" if from_zero else index
            edits.append(source.replace(condition, f"{source.original(condition)} && {position} < {spelled}"))
    return tuple(edits)


def _rest_of_last(program: Program, share: str, total: str, floor: bool) -> tuple[Edit, ...]:
    names = program.same(share)
    edits: list[Edit] = []
    for source in program.sources.values():
        last: tuple[SgNode, str] | None = None
        for product in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(product)
            if parts is None or parts[1] != "*":
                continue
            sides = {last_name(parts[0]): parts[0], last_name(parts[2]): parts[2]}
            held = next((side for name, side in sides.items() if name in names), None)
            block = any(_is_block_index(program, side) for side in (parts[0], parts[2]))
            statement = statement_of(product)
            if held is not None and block and statement is not None:
                last = (statement, source.original(held))
        if last is None:
            continue
        statement, text = last
        spelled = program.spelled_here(source, statement, total)
        if spelled is None or "->" in text:
            continue
        where = "AscendC::" if "AscendC::GetBlockIdx" in source.text else ""
        index = f"{where}GetBlockIdx()"
        if floor:
            code = f"if ({index} + 1 == {where}GetBlockNum()) {{\n    {text} = {spelled} - {index} * {text};\n}}"
        else:
            code = (
                f"if ({index} * {text} + {text} > {spelled}) {{\n"
                f"    {text} = {index} * {text} < {spelled} ? {spelled} - {index} * {text} : 0;\n}}"
            )
        edits.append(source.after(statement, code))
    return tuple(edits)


def _is_block_index(program: Program, node: SgNode) -> bool:
    if "GetBlockIdx" in node.text():
        return True
    name = last_name(node)
    return name is not None and any("GetBlockIdx" in value.text() for value in program.values_of(name))


def round_count_up(program: Program) -> list[Site]:
    """A number of tiles or blocks as n / tile, with no remainder of the two taken anywhere -> rounded up.

    Only where the quotient bounds a loop or a comparison, or is the grid of a launch: directly, through a name, or as
    what a function returns.
    """
    sites: list[Site] = []
    bounds = _bounds(program)
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(node)
            if parts is None or parts[1] != "/" or node.kind() != "binary_expression":
                continue
            total, tile = last_name(parts[0]), last_name(parts[2])
            if (
                total is None
                or program.value(parts[0]) is not None
                or (tile is None and program.value(parts[2]) is None)
            ):
                continue
            if not _receiver(node) & bounds or _has_remainder(program, total):
                continue
            left, right = source.original(parts[0]), source.original(parts[2])
            edit = source.replace(node, f"({left} + {right} - 1) / {right}")
            line = source.line(node.range().start.index)
            sites.append(Site(source.path, line, (edit,), f"{left} / {right} rounded up"))
    return sites


def _receiver(node: SgNode) -> frozenset[str]:
    """Names that a quotient is given to: a variable, a field, or the function that returns it."""
    target = _assigned(node)
    if target is not None:
        return frozenset({target})
    statement = next((up for up in node.ancestors() if up.kind() == "return_statement"), None)
    function = function_of(node) if statement is not None else None
    declarator = function.find(kind="function_declarator") if function is not None else None
    name = declarator.field("declarator") if declarator is not None else None
    return frozenset({name.text().split("::")[-1]}) if name is not None else frozenset()


def _bounds(program: Program) -> frozenset[str]:
    names: set[str] = set()
    for source in program.sources.values():
        for launch in re.finditer(r"<<<\s*(\w+)\s*,", source.text):
            names |= program.same(launch[1])
        for loop in source.root.find_all(
            any=[{"kind": "for_statement"}, {"kind": "while_statement"}, {"kind": "if_statement"}]
        ):
            condition = loop.field("condition")
            for found in identifiers(condition) if condition is not None else ():
                names |= program.same(found.text())
    return frozenset(names)


def _has_remainder(program: Program, total: str) -> bool:
    names = program.same(total)
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(node)
            if parts is not None and parts[1] == "%" and last_name(parts[0]) in names:
                return True
    return False
