"""What a candidate may still see of the reference: constants, and functions of plain numbers.

Public wrappers import tables from ``model.py`` (``from current_task.model import SCENARIO_BY_SHAPE``). The
candidate's process has no ``model.py``; in its place stands a module made here, holding the module-level constants
that literals, containers and comprehensions give, and the functions that can only do arithmetic on plain numbers
(``normalize_dim``): no attribute, no loop, no call but of a few builtins, and no tensor is let in when they are called.
A name that is not among them fails loudly.
"""

from __future__ import annotations

import ast

__all__ = ["constants_stub"]

_DTYPES = frozenset(
    {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "half", "float16", "bfloat16"}
    | {"float", "float32", "double", "float64", "complex64", "complex128", "short", "int", "long"}
)
_EXPRESSIONS = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.Name)
_PARTS = (ast.comprehension, ast.Starred, ast.Subscript, ast.Slice, ast.IfExp, ast.JoinedStr, ast.FormattedValue)
_OPERATIONS = (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_ALLOWED = (*_EXPRESSIONS, *_PARTS, *_OPERATIONS, ast.expr_context)
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.Return, ast.Raise, ast.Pass, ast.Call)
_PLAIN_CALLS = frozenset({"int", "float", "bool", "abs", "min", "max", "round", "ValueError", "TypeError", "str"})
_HEAD = '''"""Constants of the task's model.py, made by opmend; the reference itself is not here."""

import torch


def _plain(function):
    def call(*given, **named):
        if any(type(value) not in (int, float, bool, str) for value in (*given, *named.values())):
            raise ImportError(f"{function.__name__}: of the reference, functions of plain numbers only are available")
        return function(*given, **named)

    return call


'''
_TAIL = """


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"{name}: the reference (model.py) is not available to the candidate; only its constants and functions of "
        "plain numbers are"
    )
"""


def constants_stub(model_source: str) -> str:
    """Source of the module that stands for ``model.py`` in the candidate's process.

    Kept are module-level assignments whose value is made of literals, containers, comprehensions, operators, names
    bound before by kept assignments, and torch dtypes; and functions of plain numbers. Other calls, classes and
    functions are left out, and so is what depends on them.

    Raises:
        SyntaxError: ``model_source`` is not Python.
    """
    tree = ast.parse(model_source)
    torch_names = _torch_aliases(tree)
    bound: set[str] = set()
    kept: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _is_arithmetic(node, bound):
            bare = ast.FunctionDef(node.name, node.args, node.body, [ast.Name("_plain", ast.Load())], None)
            kept.append(ast.unparse(_without_annotations(ast.fix_missing_locations(ast.copy_location(bare, node)))))
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        names = {name for target in targets for name in _names(target)}
        if names and _is_constant(value, bound, torch_names):
            bound |= names
            rendered = " = ".join(ast.unparse(target) for target in targets)
            kept.append(f"{rendered} = {ast.unparse(_Dtypes(torch_names).visit(value))}")
        else:
            bound -= names
    return _HEAD + "\n".join(kept) + _TAIL


def _is_arithmetic(function: ast.FunctionDef, bound: set[str]) -> bool:
    """Whether a function can do nothing but arithmetic on its arguments (and on kept constants)."""
    spec = function.args
    if function.decorator_list or spec.vararg or spec.kwarg or [*spec.defaults, *filter(None, spec.kw_defaults)]:
        return False
    known = bound | {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    known |= {n.id for n in _nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in _nodes(function):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS) or node.keywords:
                return False
        elif isinstance(node, ast.Name):
            if node.id not in known | _PLAIN_CALLS:
                return False
        elif not isinstance(node, (*_ALLOWED, *_STATEMENTS)) or isinstance(
            node, ast.ListComp | ast.SetComp | ast.DictComp
        ):
            return False
    return True


def _nodes(function: ast.FunctionDef) -> list[ast.AST]:
    """Every node of a function's body but docstrings and annotations."""
    text = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return [node for statement in text for node in ast.walk(statement)]


def _without_annotations(function: ast.FunctionDef) -> ast.FunctionDef:
    for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        argument.annotation = None
    return function


def _torch_aliases(tree: ast.Module) -> set[str]:
    aliases = [alias for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    return {alias.asname or alias.name for alias in aliases if alias.name == "torch"}


def _names(target: ast.expr) -> list[str]:
    """Names that a target binds; empty when it is anything but names and tuples of names."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        parts = [_names(part) for part in target.elts]
        return [name for part in parts for name in part] if all(parts) else []
    return []


def _is_constant(value: ast.expr, bound: set[str], torch_names: set[str]) -> bool:
    dtypes = [node for node in ast.walk(value) if _is_dtype(node, torch_names)]
    inside = {id(node.value) for node in dtypes if isinstance(node, ast.Attribute)}
    own = {
        name.id
        for node in ast.walk(value)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(value):
        if id(node) in inside or any(node is dtype for dtype in dtypes):
            continue
        if not isinstance(node, _ALLOWED):
            return False
        if isinstance(node, ast.Name) and node.id not in bound | own:
            return False
    return True


def _is_dtype(node: ast.AST, torch_names: set[str]) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in _DTYPES
        and isinstance(node.value, ast.Name)
        and node.value.id in torch_names
    )


class _Dtypes(ast.NodeTransformer):
    """Writes dtypes as ``torch.<name>``, whatever the model called torch."""

    def __init__(self, torch_names: set[str]) -> None:
        self._torch_names = torch_names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if _is_dtype(node, self._torch_names):
            return ast.Attribute(ast.Name("torch", ast.Load()), node.attr, ast.Load())
        return self.generic_visit(node)
