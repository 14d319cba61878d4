"""Arithmetic forms that kernels use on lengths: constants, rounding up, ceiling division, remainders, byte sizes."""

from __future__ import annotations

import ast
import re

from ast_grep_py import SgNode

from kb.cpp import as_call, bare, binary_operands, last_name

_ROUND_UP_NAME = re.compile(r"align|round_?up", re.IGNORECASE)
_CEIL_DIV_NAME = re.compile(r"ceil_?div|div_?ceil|div_?up|^ceil$|cdiv", re.IGNORECASE)

#: Bytes per element of the types a kernel spells out.
SIZES = {"half": 2, "bfloat16_t": 2, "float": 4, "int8_t": 1, "uint8_t": 1, "bool": 1, "int16_t": 2, "uint16_t": 2,
          "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "double": 8, "int": 4}  # fmt: skip


def arithmetic(text: str) -> int | None:
    """The value of integer arithmetic in C syntax (`+ - * /`, parentheses, literals), None for anything else."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _fold(tree)


def _fold(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _fold(node.operand)
        return -inner if inner is not None else None
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _fold(node.left), _fold(node.right)
    if left is None or right is None:
        return None
    match node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() if right:
            return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case _:
            return None


def rounded_from(node: SgNode) -> SgNode | None:
    """X of an expression that rounds X up: AlignUp(X, ..), (X + a - 1) / a * a, ... & ~.., CeilDiv(X, a) * a."""
    node = bare(node)
    if node.kind() == "call_expression":
        call = as_call(node)
        return call.args[0] if call is not None and call.args and _ROUND_UP_NAME.search(call.name) else None
    if node.kind() == "conditional_expression":
        branches = [rounded_from(b) for f in ("consequence", "alternative") if (b := node.field(f)) is not None]
        return next((branch for branch in branches if branch is not None), None)
    parts = binary_operands(node)
    if parts is None:
        return None
    left, operator, right = parts
    if operator == "*":
        return ceil_divided(left) or ceil_divided(right)
    if operator == "/" and ("sizeof" in right.text() or last_name(right) is not None):
        inner = rounded_from(left)
        return without_sizeof(inner) if inner is not None else None
    if operator == "&" and right.text().lstrip("( ").startswith("~"):
        return leftmost_sum(left)
    return None


def ceil_divided(node: SgNode) -> SgNode | None:
    """For an expression that is ceil(X / a): X."""
    node = bare(node)
    if node.kind() == "call_expression":
        call = as_call(node)
        return call.args[0] if call is not None and len(call.args) == 2 and _CEIL_DIV_NAME.search(call.name) else None
    parts = binary_operands(node)
    if parts is None or parts[1] != "/":
        return None
    return leftmost_sum(parts[0])


def leftmost_sum(node: SgNode) -> SgNode | None:
    """X of `X + a - 1`; None when the node is no sum."""
    parts = binary_operands(node)
    if parts is None or parts[1] not in "+-":
        return None
    while (inner := binary_operands(parts[0])) is not None and inner[1] in "+-":
        parts = inner
    return bare(parts[0])


def without_sizeof(node: SgNode) -> SgNode:
    """`n` for `n * sizeof(T)`."""
    parts = binary_operands(node)
    if parts is not None and parts[1] == "*":
        if parts[2].text().startswith("sizeof"):
            return bare(parts[0])
        if parts[0].text().startswith("sizeof"):
            return bare(parts[2])
    return bare(node)


def is_remainder(node: SgNode) -> bool:
    node = bare(node)
    if node.kind() == "conditional_expression":
        return any(is_remainder(b) for f in ("consequence", "alternative") if (b := node.field(f)) is not None)
    parts = binary_operands(node)
    if parts is None:
        return False
    if parts[1] == "%":
        return True
    product = binary_operands(parts[2]) if parts[1] == "-" else None
    return product is not None and product[1] == "*"
