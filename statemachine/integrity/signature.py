"""What a parameter may be, from its annotation and default, and how call arguments meet parameters."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from statemachine.integrity.values import MAYBE, SAFE, Function, Value, container, join, tensor
from statemachine.integrity.wordset import wordset

_SCALARS = wordset(
    "int float bool str bytes None Optional Union List Tuple Sequence list tuple Sequence Iterable dict Dict Any_ "
    "torch typing dtype device Size Literal complex"
)


def annotation_names(node: ast.expr | None) -> set[str]:
    """Identifiers in an annotation, text annotations parsed."""
    if node is None:
        return set()
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return annotation_names(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return set()
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return names | {"None" for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value is None}


def parameter_value(name: str, annotation: ast.expr | None, default: ast.expr | None, *, first: bool) -> Value:
    """The value of a forward parameter: tensors are followed, annotated or defaulted scalars are not."""
    names = annotation_names(annotation)
    whole = tensor(frozenset({f"in:{name}"}))
    if any("Tensor" in n for n in names):
        return container(whole) if names & {"list", "List", "tuple", "Tuple", "Sequence"} else whole
    if names and names <= _SCALARS and not first:
        return SAFE
    if first:
        return whole
    if isinstance(default, ast.Constant) and default.value is not None:
        return SAFE
    if isinstance(default, ast.UnaryOp | ast.Tuple | ast.List):
        return SAFE
    return Value("maybe", bases=frozenset({f"in:{name}"}))


def forward_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Value]:
    """Abstract arguments for `forward`, `self` left out."""
    spec = node.args
    plain = [*spec.posonlyargs, *spec.args][1:]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(spec.defaults)) + list(spec.defaults)[-len(plain) :]
    found = {
        arg.arg: parameter_value(arg.arg, arg.annotation, default, first=i == 0)
        for i, (arg, default) in enumerate(zip(plain, defaults[-len(plain) :] if plain else [], strict=True))
    }
    for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        found[arg.arg] = parameter_value(arg.arg, arg.annotation, default, first=False)
    if spec.vararg is not None:
        found[spec.vararg.arg] = container(tensor(frozenset({f"in:{spec.vararg.arg}"})))
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = container(MAYBE)
    return found


def is_classmethod(function: Function) -> bool:
    """Whether the function is decorated as a class method."""
    decorators = getattr(function.node, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in decorators)


def is_property(function: Function) -> bool:
    """Whether reading the attribute runs the function."""
    decorators = getattr(function.node, "decorator_list", [])
    names = {d.id for d in decorators if isinstance(d, ast.Name)} | {
        d.attr for d in decorators if isinstance(d, ast.Attribute)
    }
    return bool(names & {"property", "cached_property"})


def bind(function: Function, owner: Value | None, args: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
    """Parameter values for a call of one of the candidate's own functions. Missing ones are plain defaults."""
    spec = function.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    decorators = {d.id for d in getattr(function.node, "decorator_list", []) if isinstance(d, ast.Name)}
    given = list(args)
    if (
        function.owner is not None
        and owner is not None
        and ("staticmethod" not in decorators or function.name == "forward")
    ):
        given.insert(0, owner)
    bound: dict[str, Value] = dict.fromkeys([*names, *(a.arg for a in spec.kwonlyargs)], SAFE)
    bound.update(zip(names, given, strict=False))
    rest = given[len(names) :]
    if spec.vararg is not None:
        bound[spec.vararg.arg] = container(*rest)
    elif rest and any(r.may_hold_tensor for r in rest):
        bound[names[-1] if names else "*"] = join(*rest)
    for name, value in keywords.items():
        if name in bound:
            bound[name] = value
        elif name.startswith("**") and value.may_hold_tensor:
            bound.update({n: value.item() for n in names[len(given) :]})
        elif spec.kwarg is not None:
            bound[spec.kwarg.arg] = join(bound.get(spec.kwarg.arg, container()), container(value))
    if spec.kwarg is not None:
        bound.setdefault(spec.kwarg.arg, container())
    return bound
