"""Abstract values of the Python reader: what kind of thing an expression may be, and where its data came from.

The lattice is deliberately small. `bases` names where a tensor's data may come from: `in:x` a forward parameter,
`param:w` module state, `new:LINE` an allocation, `ext:LINE` what an extension call returned.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["safe", "tensor", "maybe", "container", "self", "func", "ref", "nn"]


@dataclass(frozen=True)
class Value:
    """What an expression may be.

    kind: `safe` (no element values), `tensor`, `maybe` (an untyped parameter), `container` of `element`, `self` (the
    model, `refs` = its class), `func` (functions of the candidate, `refs` = their ids), `ref` (imported things,
    `refs` = dotted names), `nn` (a torch.nn layer). `integer`: dtype known to be integral; `derived`: from inputs or
    parameters (an arange does not). `parts`: the positions of a container of known length. `extent`: a plain value that
    comes from a shape, so that comparing it with zero asks whether a tensor is empty.
    """

    kind: Kind = "safe"
    refs: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    integer: bool = False
    derived: bool = True
    element: Value | None = None
    parts: tuple[Value, ...] | None = None
    extent: bool = False

    @property
    def holds_tensor(self) -> bool:
        """Whether tensor data may be inside."""
        if self.kind == "container":
            return self.element is not None and self.element.holds_tensor
        return self.kind == "tensor"

    @property
    def may_hold_tensor(self) -> bool:
        if self.kind == "container":
            return self.element is not None and self.element.may_hold_tensor
        return self.kind in ("tensor", "maybe", "nn")

    def item(self) -> Value:
        """What iterating or indexing gives."""
        if self.kind == "container":
            return self.element or SAFE
        return self


SAFE = Value()
EXTENT = Value(extent=True)
MAYBE = Value("maybe")


def tensor(bases: frozenset[str], *, integer: bool = False, derived: bool = True) -> Value:
    return Value("tensor", bases=bases, integer=integer, derived=derived)


def container(*elements: Value) -> Value:
    return Value("container", element=join(*elements) if elements else None)


def fixed(*elements: Value) -> Value:
    """A container whose positions are told apart."""
    return Value("container", element=join(*elements) if elements else None, parts=elements)


def ref(*names: str) -> Value:
    return Value("ref", refs=frozenset(names))


_RANK: dict[str, int] = {"safe": 0, "ref": 1, "func": 1, "self": 1, "maybe": 2, "container": 3, "tensor": 4, "nn": 5}


def join(*values: Value) -> Value:
    """The least value that covers all of `values`; tensors win over plain values."""
    result = values[0]
    for value in values[1:]:
        result = _join2(result, value)
    return result


def _join2(a: Value, b: Value) -> Value:
    if a == b:
        return a
    high, low = (a, b) if _RANK[a.kind] >= _RANK[b.kind] else (b, a)
    if high.kind == low.kind == "container":
        inner = [v.element for v in (high, low) if v.element is not None]
        parts = None
        if high.parts is not None and low.parts is not None and len(high.parts) == len(low.parts):
            parts = tuple(_join2(x, y) for x, y in zip(high.parts, low.parts, strict=True))
        return Value("container", element=join(*inner) if inner else None, parts=parts)
    if high.kind == "container" and low.kind != "safe":
        return replace(high, element=join(high.element, low) if high.element else low, parts=None)
    if low.kind == "tensor" or (high.kind == low.kind):
        return replace(
            high,
            refs=high.refs | low.refs,
            bases=high.bases | low.bases,
            integer=high.integer and low.integer,
            derived=high.derived or low.derived,
            extent=high.extent or low.extent,
        )
    if low.kind in ("ref", "func") and high.kind in ("ref", "func"):
        return replace(high, refs=high.refs | low.refs)
    return replace(high, bases=high.bases | low.bases)


@dataclass
class State:
    """One path through a function: bindings and what has been launched so far.

    `launched`: an extension call happened on every way here; `filled`: bases an extension call returned or was given;
    `given`: input bases it was given; `overwritten`: bases written by something else after that; `excused`: we are
    where a size is zero; `dead`: the path ended.
    """

    env: dict[str, Value] = field(default_factory=dict)
    launched: bool = False
    filled: set[str] = field(default_factory=set)
    given: set[str] = field(default_factory=set)
    overwritten: set[str] = field(default_factory=set)
    excused: bool = False
    dead: bool = False

    def fork(self) -> State:
        return State(
            dict(self.env),
            self.launched,
            set(self.filled),
            set(self.given),
            set(self.overwritten),
            self.excused,
            self.dead,
        )

    def become(self, *paths: State) -> None:
        """Make this state the meeting point of `paths`, dropping the dead ones."""
        alive = [p for p in paths if not p.dead]
        if not alive:
            self.dead = True
            return
        self.dead = False
        names = {name for p in alive for name in p.env}
        self.env.clear()
        for name in names:
            self.env[name] = join(*[p.env[name] for p in alive if name in p.env])
        self.launched = all(p.launched for p in alive)
        self.excused = all(p.excused for p in alive)
        self.filled = set().union(*(p.filled for p in alive))
        self.given = set().union(*(p.given for p in alive))
        self.overwritten = set().union(*(p.overwritten for p in alive))


@dataclass(frozen=True)
class Function:
    """A function of the candidate: its node, the module it lives in, its class if any, and what it closes over."""

    name: str
    module: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    owner: str | None = None
    closure: tuple[tuple[str, Value], ...] = ()
