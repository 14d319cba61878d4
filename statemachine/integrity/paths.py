"""Abstract execution of statements: branches, loops, handlers, and what every returned tensor must have behind it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from statemachine.integrity.guards import constant_truth, empty_when_false, empty_when_true, never_runs, shape_literal
from statemachine.integrity.values import SAFE, Function, State, Value, container, join

if TYPE_CHECKING:
    from statemachine.integrity.flow import Flow


class Paths:
    """Statement semantics over one `Flow`."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.returns: list[tuple[Value, State]] = []
        self.breaks: list[State] = []
        self.continues: list[State] = []

    def function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, env: dict[str, Value], state: State
    ) -> Value:
        """Run a body with parameters `env`; `state` becomes the caller's state after it. Gives the joined result."""
        inner = state.fork()
        inner.env, inner.dead = dict(env), False
        if isinstance(node, ast.Lambda):
            result = self.flow.eval(node.body, inner)
            ends = [inner]
        else:
            self.block(node.body, inner)
            ends = [s for _, s in self.returns] + ([] if inner.dead else [inner])
            values = [v for v, _ in self.returns] + ([] if inner.dead else [SAFE])
            result = join(*values) if values else SAFE
        own = state.env
        outside = dict(own)
        state.become(*[e.fork() for e in ends])
        state.env.clear()
        state.env.update(outside)
        return result

    # -------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt], state: State) -> None:
        for statement in body:
            if state.dead:
                return
            self.statement(statement, state)

    def statement(self, node: ast.stmt, state: State) -> None:
        flow = self.flow
        match node:
            case ast.Return():
                self._return(node, state)
            case ast.Raise():
                flow.eval(node.exc, state)
                state.dead = True
            case ast.Continue() | ast.Break():
                (self.breaks if isinstance(node, ast.Break) else self.continues).append(state.fork())
                state.dead = True
            case ast.Expr():
                flow.eval(node.value, state)
            case ast.Assign():
                value = flow.eval(node.value, state)
                for target in node.targets:
                    self.bind(target, value, state, node.value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.bind(node.target, flow.eval(node.value, state), state, node.value)
            case ast.AugAssign():
                self._augmented(node, state)
            case ast.If():
                self._if(node, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(node, state)
            case ast.Try() | ast.TryStar():
                self._try(node, state)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    value = flow.eval(item.context_expr, state)
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, value, state)
                before = state.fork()
                self.block(node.body, state)
                if any(self._may_swallow(item.context_expr) for item in node.items):
                    before.dead = False
                    state.become(state.fork(), before)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                function = Function(node.name, flow.module, node, owner=None, closure=tuple(state.env.items()))
                state.env[node.name] = Value("func", refs=frozenset({flow.program.register(function)}))
            case ast.ClassDef():
                for inner in node.body:
                    if isinstance(inner, ast.Assign | ast.AnnAssign | ast.Expr):
                        self._class_attribute(inner, state)
            case ast.Match():
                self._match(node, state)
            case ast.Assert():
                flow.eval(node.test, state)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        flow.eval(child, state)

    def _may_swallow(self, context: ast.expr) -> bool:
        """Whether a context manager could end the block early without raising; torch's own do not."""
        target = context.func if isinstance(context, ast.Call) else context
        dotted = self.flow.program.modules[self.flow.module].dotted(target) or "?"
        return not dotted.startswith(("torch.", "torch_npu.", "contextlib.nullcontext"))

    def _class_attribute(self, node: ast.Assign | ast.AnnAssign | ast.Expr, state: State) -> None:
        value = self.flow.eval(node.value, state)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.flow.program.attributes[target.id] = value

    def _augmented(self, node: ast.AugAssign, state: State) -> None:
        flow = self.flow
        load = ast.copy_location(ast.BinOp(_as_load(node.target), node.op, node.value), node)
        target, value = flow.eval(_as_load(node.target), state), flow.eval(load, state)
        if target.kind == "tensor":
            flow.write(target, value, node, state)
        self.bind(node.target, value, state)

    def _return(self, node: ast.Return, state: State) -> None:
        value = self.flow.eval(node.value, state)
        if self.flow.entry:
            elements = node.value.elts if isinstance(node.value, ast.Tuple) else None
            for element in [self.flow.eval(e, state) for e in elements] if elements else [value]:
                self._check_returned(element, node, state)
        self.returns.append((value, state.fork()))
        state.dead = True

    def _check_returned(self, value: Value, node: ast.Return, state: State) -> None:
        while value.kind == "container" and value.element is not None:
            value = value.element
        find = self.flow.find
        if value.kind not in ("tensor", "maybe", "nn"):
            if not state.excused:
                find("opaque-result", "flagged", "the returned value cannot be traced to the extension", node)
            return
        if state.excused:
            find("empty-return", "noted", "returns without a launch where a size is zero", node)
            return
        if not state.launched:
            find("no-launch", "failed", "a tensor is returned on a path without a call into the extension", node)
            return
        if value.bases & state.overwritten:
            find("overwritten", "failed", "what the extension produced is overwritten before it is returned", node)
        stray = value.bases - state.filled
        if stray and stray <= state.given:
            find("returns-input", "flagged", "returns a tensor that comes from an input the extension was given", node)
        elif stray or not value.bases:
            names = ", ".join(sorted(b.split(":")[0] + ":" + b.split(":")[1] for b in stray)) or "unknown"
            find("foreign-result", "failed", f"the returned tensor does not come from the extension ({names})", node)

    def _if(self, node: ast.If, state: State) -> None:
        flow = self.flow
        if shape_literal(node.test):
            flow.find("case-table", "flagged", "compares a shape with one literal shape", node)
        truth = constant_truth(node.test)
        flow.eval(node.test, state)
        yes, no = state.fork(), state.fork()

        def extent(expression: ast.expr) -> bool:
            value = flow.eval(expression, state.fork())
            return value.extent and not value.may_hold_tensor

        for path, empty in ((yes, empty_when_true(node.test, extent)), (no, empty_when_false(node.test, extent))):
            if empty:
                path.excused = path.launched = True
        yes.dead, no.dead = truth is False, truth is True
        self.block(node.body, yes)
        self.block(node.orelse, no)
        state.become(yes, no)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> None:
        flow = self.flow
        if isinstance(node, ast.While):
            flow.eval(node.test, state)
            if constant_truth(node.test) is False:
                return
        else:
            source = flow.eval(node.iter, state)
            if never_runs(node.iter):
                flow.find("dead-loop", "flagged", "a loop that never runs", node)
                return
        outer, exits = (self.breaks, self.continues), list[State]()
        for _ in range(2):
            self.breaks, self.continues = [], []
            if not isinstance(node, ast.While):
                self.bind(node.target, source.item(), state)
            turn = state.fork()
            self.block(node.body, turn)
            turn.become(turn.fork(), *self.continues)
            exits.extend(self.breaks)
            if turn.dead:
                break
            before = state.fork()
            state.become(turn, before)
            state.launched = turn.launched
        self.breaks, self.continues = outer
        if isinstance(node, ast.While) and constant_truth(node.test) is True:
            state.dead = True
        self.block(node.orelse, state)
        state.become(state.fork(), *exits)

    def _try(self, node: ast.Try | ast.TryStar, state: State) -> None:
        before = state.fork()
        self.block(node.body, state)
        ends = []
        for handler in node.handlers:
            path = before.fork()
            path.become(before.fork(), *([] if state.dead else [state.fork()]))
            path.launched, path.filled = before.launched, set(before.filled)
            path.dead = False
            known = len(self.flow.program.findings)
            self.block(handler.body, path)
            failed = [f for f in self.flow.program.findings[known:] if f.outcome == "failed"]
            if failed:
                self.flow.find("fallback", "failed", "an exception handler gives a result instead of raising", handler)
            ends.append(path)
        if not state.dead:
            self.block(node.orelse, state)
        state.become(state.fork(), *ends)
        self.block(node.finalbody, state) if not state.dead else None

    def _match(self, node: ast.Match, state: State) -> None:
        self.flow.eval(node.subject, state)
        paths = []
        for case in node.cases:
            path = state.fork()
            self.flow.eval(case.guard, path)
            self.block(case.body, path)
            paths.append(path)
        exhaustive = any(isinstance(c.pattern, ast.MatchAs) and c.pattern.pattern is None for c in node.cases)
        state.become(*paths, *([] if exhaustive else [state.fork()]))

    # -------------------------------------------------------- binding

    def bind(self, target: ast.expr, value: Value, state: State, source: ast.expr | None = None) -> None:
        """Give `target` the value; attributes and subscripts are writes to something that exists."""
        flow = self.flow
        if isinstance(target, ast.Name):
            state.env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[Value]
            if isinstance(source, ast.Tuple | ast.List) and len(source.elts) == len(target.elts):
                parts = [flow.eval(e, state) for e in source.elts]
            elif value.parts is not None and len(value.parts) == len(target.elts):
                parts = list(value.parts)
            else:
                parts = [value.item()] * len(target.elts)
            for element, part in zip(target.elts, parts, strict=True):
                self.bind(element, part, state)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, container(value), state)
        elif isinstance(target, ast.Attribute):
            owner = flow.eval(target.value, state)
            if owner.kind == "self":
                self.remember(target.attr, value, target, state)
            elif owner.kind == "tensor" and target.attr == "data":
                flow.write(owner, value, target, state)
        elif isinstance(target, ast.Subscript):
            owner = flow.eval(target.value, state)
            index = flow.eval(target.slice, state)
            if owner.kind == "tensor":
                if index.holds_tensor:
                    flow.find(
                        "advanced-indexing", "failed", "writes a tensor at places given by a tensor (scatter)", target
                    )
                flow.write(owner, value, target, state)
            elif value.may_hold_tensor:
                self._store(target, owner, value, state)

    def _store(self, target: ast.Subscript, owner: Value, value: Value, state: State) -> None:
        root = target.value
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        local = isinstance(root, ast.Name) and root.id in state.env and state.env[root.id].kind != "self"
        if not local and not self.flow.constructing and value.holds_tensor:
            self.flow.find(
                "memo", "flagged", "keeps a tensor beyond the call, where a later call could return it", target
            )
        self.rebind(target.value, container(*[v for v in (owner.element, value) if v is not None]), state)

    def rebind(self, target: ast.expr, value: Value, state: State) -> None:
        """A container that was changed in place, by the expression that names it."""
        if isinstance(target, ast.Name):
            if target.id not in state.env and value.holds_tensor and not self.flow.constructing:
                self.flow.find("memo", "flagged", "keeps a tensor in a module-level container", target)
            state.env[target.id] = value
        elif isinstance(target, ast.Attribute):
            self.remember(target.attr, value, target, state)

    def remember(self, name: str, value: Value, node: ast.AST, state: State) -> None:
        """`self.name = value`: kept for the constructor's successor, suspicious in forward when it holds data."""
        if value.holds_tensor and not self.flow.constructing:
            self.flow.find(
                "memo", "flagged", f"stores a tensor on the model (.{name}), where a later call could return it", node
            )
        known = self.flow.program.attributes
        known[name] = join(known[name], value) if name in known else value


def _as_load(node: ast.expr) -> ast.expr:
    """The same target, to be read."""
    match node:
        case ast.Name():
            return ast.copy_location(ast.Name(node.id, ast.Load()), node)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(node.value, node.attr, ast.Load()), node)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(node.value, node.slice, ast.Load()), node)
    return node
