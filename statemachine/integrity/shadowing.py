"""Which names in Python text are a function's own: a parameter called `input` is not the builtin of that name.

Scopes as Python has them: a name that a function binds anywhere (and does not declare global) is its own in all of its
body and in the functions inside it; decorators, defaults and annotations are read outside; what a comprehension binds
is known inside it only; a class body binds nothing for its methods.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)


def local_names(tree: ast.Module) -> set[int]:
    """`id()` of every Name node that refers to a name bound by a function or comprehension around it."""
    found: set[int] = set()
    todo: list[tuple[ast.AST, frozenset[str]]] = [(node, frozenset()) for node in tree.body]
    while todo:
        node, known = todo.pop()
        if isinstance(node, ast.Name) and node.id in known:
            found.add(id(node))
        if isinstance(node, _FUNCTIONS):
            outside = list(_read_outside(node))
            inside = known - _declared_global(node) | _bound(node)
            body = node.body if isinstance(node.body, list) else [node.body]
            todo += [(part, known) for part in outside]
            todo += [(part, inside) for part in body]
            continue
        inner = known | _stored(node.generators) if isinstance(node, _COMPREHENSIONS) else known
        todo += [(child, inner) for child in ast.iter_child_nodes(node)]
    return found


def module_names(tree: ast.Module) -> set[str]:
    """Names that the module itself binds: what a bare name outside (and inside) functions may refer to instead of a
    builtin."""
    made = {n.name for n in _own(tree.body) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    declared = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    return made | _stored(tree.body) | declared


def _own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is in them, without what lies in a scope of its own (the scope's node itself is given)."""
    todo: list[ast.AST] = [*nodes]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    names = (node for node in _own(nodes) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Store | ast.Del)}


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    spec = function.args
    given = {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
    given |= {a.arg for a in (spec.vararg, spec.kwarg) if a is not None}
    if isinstance(function, ast.Lambda):
        return frozenset(given)
    made = {n.name for n in _own(function.body) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return frozenset((given | made | _stored(function.body)) - _declared_global(function))


def _declared_global(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    body = [] if isinstance(function, ast.Lambda) else function.body
    return frozenset(name for n in _own(body) if isinstance(n, ast.Global) for name in n.names)


def _read_outside(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    yield from function.args.defaults
    yield from (default for default in function.args.kw_defaults if default is not None)
    if not isinstance(function, ast.Lambda):
        yield from function.decorator_list
        yield from (node for node in (function.returns,) if node is not None)
        yield from (a.annotation for a in ast.walk(function.args) if isinstance(a, ast.arg) and a.annotation)
