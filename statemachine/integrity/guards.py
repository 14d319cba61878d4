"""Reading conditions: constant ones, those that hold only for an empty tensor, those that name one literal shape."""

from __future__ import annotations

import ast
from collections.abc import Callable

#: Says whether an expression is a plain value that comes from a shape.
Extent = Callable[[ast.expr], bool]


def constant_truth(test: ast.expr) -> bool | None:
    """True or False when the condition is a literal, else None. `__debug__` and flags are not literals."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant_truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
        return False
    return None


def empty_when_true(test: ast.expr, extent: Extent) -> bool:
    """Whether the condition can hold only where some size is zero: `x.numel() == 0`, `m == 0 or n == 0`, `not n`."""
    if isinstance(test, ast.BoolOp):
        parts = [empty_when_true(v, extent) for v in test.values]
        return all(parts) if isinstance(test.op, ast.Or) else any(parts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return empty_when_false(test.operand, extent)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, op, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(op, ast.In):
            return _is(left, 0) and extent(right)
        if isinstance(op, ast.Eq) and _is(left, 0):
            return extent(right)
        if isinstance(op, ast.Eq | ast.LtE) and _is(right, 0):
            return extent(left)
        return isinstance(op, ast.Lt) and _is(right, 1) and extent(left)
    return False


def empty_when_false(test: ast.expr, extent: Extent) -> bool:
    """Whether the else branch is reached only where some size is zero: `x.numel() > 0`, `x.numel()`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        op, right = test.ops[0], test.comparators[0]
        if isinstance(op, ast.Gt | ast.NotEq) and _is(right, 0):
            return extent(test.left)
        return isinstance(op, ast.GtE) and _is(right, 1) and extent(test.left)
    return extent(test)


def _is(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == number


def shape_literal(test: ast.expr) -> bool:
    """Whether a shape is compared for equality with a literal tuple of at least two sizes."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and any(isinstance(o, ast.Eq | ast.In) for o in node.ops):
            sides = [node.left, *node.comparators]
            literal = any(
                isinstance(s, ast.Tuple | ast.List)
                and len(s.elts) >= 2
                and all(isinstance(e, ast.Constant) and type(e.value) is int for e in s.elts)
                for s in (inner for side in sides for inner in ast.walk(side))
            )
            if literal and any("shape" in ast.dump(s) or "'size'" in ast.dump(s) for s in sides):
                return True
    return False


def never_runs(source: ast.expr) -> bool:
    """Whether a loop over `source` has no turn: `range(0)`, an empty literal."""
    if isinstance(source, ast.Tuple | ast.List | ast.Set):
        return not source.elts
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
        return len(source.args) == 1 and _is(source.args[0], 0)
    return False
