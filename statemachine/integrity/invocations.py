"""Calls by what is called: tensor methods, the candidate's own functions, classes and modules, imported names.

What a call into torch, the extension or Python means is in `calls.py`; here the target is found and its body entered.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from statemachine.integrity import vocabulary as words
from statemachine.integrity.calls import merged
from statemachine.integrity.signature import bind
from statemachine.integrity.values import SAFE, State, Value, container, fixed, join

if TYPE_CHECKING:
    from statemachine.integrity.flow import Flow

_DEPTH_LIMIT = 12


class Invocations:
    """Finding and entering what is called, over one `Flow`."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def call(self, node: ast.Call, state: State) -> Value:
        function = node.func
        if isinstance(function, ast.Attribute):
            owner = self._super(function.value) or self.flow.eval(function.value, state)
            args, keywords = self._arguments(node, state)
            if owner.kind in ("tensor", "maybe"):
                return self.flow.calls.method(owner, function.attr, [*args, *keywords.values()], node, state)
            if owner.kind == "container" and function.attr in words.PLAIN_METHODS:
                return self._container_method(function, owner, [*args, *keywords.values()], state)
            if owner.kind == "safe":
                return self._plain_method(function, [*args, *keywords.values()], node)
            if owner.kind == "self" and function.attr in ("register_buffer", "register_parameter", "add_module"):
                return self._registers(node, args, state)
            if owner.kind == "self" and function.attr in ("save_for_backward", "mark_non_differentiable"):
                return SAFE
            return self.call_value(self.flow.attribute(owner, function.attr, function), args, keywords, node, state)
        target = self.flow.eval(function, state)
        args, keywords = self._arguments(node, state)
        return self.call_value(target, args, keywords, node, state)

    def _arguments(self, node: ast.Call, state: State) -> tuple[list[Value], dict[str, Value]]:
        args = [self.flow.eval(a, state) for a in node.args]
        return args, {k.arg or f"**{i}": self.flow.eval(k.value, state) for i, k in enumerate(node.keywords)}

    def _super(self, node: ast.expr) -> Value | None:
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "super"
            and self.flow.owner
        ):
            return None
        parents = self.flow.program.ancestry(self.flow.owner, self.flow.module)[1:]
        return Value("self", refs=frozenset({f"{parents[0][0]}|{parents[0][1].name}"})) if parents else SAFE

    def _container_method(self, function: ast.Attribute, owner: Value, args: list[Value], state: State) -> Value:
        if args and any(a.may_hold_tensor or a.kind in ("ref", "func") for a in args):
            grown = container(*[v for v in (owner.element, *[a.item() for a in args]) if v is not None])
            self.flow.paths.rebind(function.value, grown, state)
        if function.attr == "items":
            return container(fixed(SAFE, owner.item()))
        return container(owner.item()) if function.attr in ("values", "copy") else owner.item()

    def _plain_method(self, function: ast.Attribute, args: list[Value], node: ast.Call) -> Value:
        held = [a for a in args if a.may_hold_tensor]
        if held and any(h.holds_tensor for h in held):
            remembers = function.attr in ("append", "setdefault", "update", "add", "insert", "__setitem__")
            kind = "memo" if remembers else "unknown-call"
            self.flow.find(
                kind, "flagged" if remembers else "failed", f"passes tensor values to .{function.attr}()", node
            )
            return merged(args)
        return SAFE

    def _registers(self, node: ast.Call, args: list[Value], state: State) -> Value:
        name = node.args[0] if node.args else None
        if isinstance(name, ast.Constant) and len(args) > 1:
            self.flow.paths.remember(str(name.value), args[1], node, state)
        return SAFE

    def call_value(
        self, target: Value, args: list[Value], keywords: Mapping[str, Value], node: ast.Call, state: State
    ) -> Value:
        """Call whatever `target` may be; several possibilities are all followed."""
        values = [*args, *keywords.values()]
        if target.kind == "container":
            target = target.item()
        if target.kind == "ref":
            results = []
            for name in sorted(target.refs):
                if name.startswith("class:"):
                    results.append(self._construct(name, args, keywords, node, state))
                else:
                    results.append(self.flow.calls.imported(name, values, node, state))
            return join(*results)
        if target.kind == "func":
            results, starts = [], state.fork()
            ends: list[State] = []
            for key in sorted(target.refs):
                path = starts.fork()
                results.append(self.invoke(key, target, args, keywords, path))
                ends.append(path)
            state.become(*ends)
            return join(*results)
        if target.kind == "nn":
            self.flow.find("nn-layer", "failed", "a torch.nn layer does work in forward", node)
            return merged(values)
        if target.kind == "self":
            method = self.flow.own_attribute(target, "forward", node)
            if method.kind == "func":
                return self.call_value(method, args, keywords, node, state)
        if any(v.holds_tensor for v in values):
            self.flow.find(
                "unknown-call", "failed", "passes tensor values to something the reader cannot identify", node
            )
            return merged(values)
        return SAFE

    def _construct(
        self, name: str, args: list[Value], keywords: Mapping[str, Value], node: ast.Call, state: State
    ) -> Value:
        """An instance of one of the candidate's own classes, its constructor run."""
        module, _, bare = name.removeprefix("class:").partition("|")
        values = [*args, *keywords.values()]
        if module not in self.flow.program.modules or bare not in self.flow.program.modules[module].classes:
            if any(v.may_hold_tensor for v in values):
                self.flow.find(
                    "unknown-call", "failed", f"passes tensor values to {bare}, which is not defined here", node
                )
            return merged(values) if any(v.may_hold_tensor for v in values) else SAFE
        instance = Value("self", refs=frozenset({f"{module}|{bare}"}))
        init = self.flow.program.method(bare, "__init__", module)
        if init is None:
            return container(*values) if any(v.may_hold_tensor for v in values) else instance
        target = Value("func", refs=frozenset({self.flow.program.register(init)}), element=instance)
        self.call_value(target, args, keywords, node, state)
        return instance

    def invoke(self, key: str, target: Value, args: list[Value], keywords: Mapping[str, Value], state: State) -> Value:
        function = self.flow.program.functions[key]
        if self.flow.stack.count(key) >= 1 or len(self.flow.stack) > _DEPTH_LIMIT:
            return merged([*args, *keywords.values()]) if any(a.may_hold_tensor for a in args) else SAFE
        inner = type(self.flow)(
            self.flow.program, function.module, constructing=self.flow.constructing, stack=(*self.flow.stack, key)
        )
        inner.owner = function.owner
        bound_to = target.element if target.element is not None and target.element.kind == "self" else None
        env = {**dict(function.closure), **bind(function, bound_to, args, keywords)}
        result = inner.paths.function(function.node, env, state)
        self.flow.pointers |= inner.pointers
        return result
