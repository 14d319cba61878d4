"""Abstract execution of the candidate's Python: expressions, with tensor values followed to where they may go.

`Flow` evaluates one function at a time, calls included, on the values of `values.py`. Statements are in `paths.py`,
calls in `calls.py`. A step limit keeps hostile code from holding the reader; reaching it is a finding.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from events.types import CheckOutcome
from statemachine.integrity import vocabulary as words
from statemachine.integrity.calls import Calls, merged, severity
from statemachine.integrity.invocations import Invocations
from statemachine.integrity.paths import Paths
from statemachine.integrity.program import STEP_LIMIT, Program
from statemachine.integrity.signature import is_classmethod, is_property
from statemachine.integrity.values import EXTENT, SAFE, Function, State, Value, container, fixed, join, ref
from statemachine.integrity.wordset import wordset

_INTEGER_DTYPES = wordset("int8 int16 int32 int64 uint8 uint16 uint32 uint64 int long short bool")


class TooLongError(Exception):
    """The reader's step limit was reached."""


class Flow:
    """Evaluator of one function body in module `module` of the program."""

    def __init__(
        self, program: Program, module: str, *, constructing: bool, stack: tuple[str, ...] = (), entry: bool = False
    ) -> None:
        self.program = program
        self.module = module
        self.constructing = constructing
        self.stack = stack
        self.entry = entry
        self.owner: str | None = None
        self.pointers: frozenset[str] = frozenset()
        self.calls = Calls(self)
        self.paths = Paths(self)
        self.invocations = Invocations(self)

    # -------------------------------------------------------- services

    def find(self, kind: str, outcome: CheckOutcome, detail: str, node: ast.AST) -> None:
        self.program.find(kind, outcome, detail, self.module, getattr(node, "lineno", 0))

    def integer_dtype(self, node: ast.Call) -> bool:
        """Whether a call names an integral dtype, as `.to(torch.int32)` or `dtype=torch.int64`."""
        named = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
        dotted = [self.program.modules[self.module].dotted(a) or "" for a in named]
        return any(d.startswith("torch.") and d.split(".")[-1] in _INTEGER_DTYPES for d in dotted)

    def write(self, target: Value, source: Value, node: ast.AST, state: State) -> None:
        """`source` is written into the storage of `target`."""
        if any(b.startswith("in:") for b in target.bases):
            self.find("input-mutation", "failed", "writes into an input tensor", node)
        foreign = source.may_hold_tensor and not (source.bases and source.bases <= state.filled)
        if source.bases and source.bases <= state.filled:
            state.filled |= {b for b in target.bases if b.startswith("new:")}  # a copy of what the extension filled
        elif target.bases & state.filled:
            if foreign:
                state.overwritten |= target.bases & state.filled
            elif not source.may_hold_tensor:
                self.find("edits-output", "flagged", "writes constants into what the extension produced", node)

    # -------------------------------------------------------- expressions

    def eval(self, node: ast.expr | None, state: State) -> Value:
        """The value of an expression; every sub-expression is visited."""
        if node is None:
            return SAFE
        self.program.steps += 1
        if self.program.steps > STEP_LIMIT:
            raise TooLongError
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is not None:
            result = handler(node, state)
            assert isinstance(result, Value)
            return result
        parts = [self.eval(child, state) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return join(*parts) if any(p.may_hold_tensor or p.extent for p in parts) else SAFE

    def _name(self, node: ast.Name, state: State) -> Value:
        if node.id in state.env:
            return state.env[node.id]
        return self.global_name(node.id)

    def global_name(self, name: str) -> Value:
        """A name of the module scope: what an import, a definition or an executed assignment bound."""
        module = self.program.modules[self.module]
        known = self.program.globals.get(self.module, {})
        if name in module.imports:
            imported = self._imported(module.imports[name])
            return join(imported, known[name]) if name in known and known[name] != SAFE else imported
        if name in known:
            return known[name]
        if name in module.functions:
            return Value("func", refs=frozenset({self.program.register(module.functions[name])}))
        if name in module.classes:
            return ref(f"class:{self.module}|{name}")
        return ref(f"builtins.{name}")

    def _imported(self, target: str) -> Value:
        if target.startswith("helper:"):
            where, _, name = target.removeprefix("helper:").rpartition(".")
            if where in self.program.modules:
                return Flow(self.program, where, constructing=self.constructing).global_name(name)
        return ref(target)

    def _attribute(self, node: ast.Attribute, state: State) -> Value:
        return self.attribute(self.eval(node.value, state), node.attr, node)

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """`owner.name` as a value (calls are handled by `_call`)."""
        if owner.kind == "self":
            return self.own_attribute(owner, name, node)
        if owner.kind == "ref":
            return join(*[self._member(r, name) for r in sorted(owner.refs)])
        if owner.kind == "nn":
            return Value("tensor", bases=frozenset({f"param:{name}"})) if name in ("weight", "bias") else owner
        if owner.kind in ("tensor", "maybe"):
            if name in words.METADATA_ATTRIBUTES or name in words.METADATA_METHODS:
                return EXTENT if name in words.EXTENTS else SAFE
            if name not in words.VIEW_ATTRIBUTES and not isinstance(getattr(node, "ctx", None), ast.Store):
                known = name in words.VIEW_METHODS | words.COPY_METHODS | words.WRITE_METHODS | words.INTEGER_CASTS
                plain = owner.kind == "maybe" and name in words.PLAIN_METHODS
                outcome: CheckOutcome = "flagged" if known or plain else "failed"
                self.find("tensor-attribute", outcome, f"uses .{name} of a tensor without calling it", node)
            return replace(owner, kind="tensor")
        return owner if owner.kind == "container" else SAFE

    def _member(self, target: str, name: str) -> Value:
        if target.startswith("helper:") and target.removeprefix("helper:") in self.program.modules:
            return Flow(self.program, target.removeprefix("helper:"), constructing=self.constructing).global_name(name)
        if target.startswith("class:"):
            return self._class_member(target, name)
        return ref(f"{target}.{name}")

    def _class_member(self, target: str, name: str) -> Value:
        """`Class.name`: a method without its instance; `apply` of an autograd function is its forward."""
        module, _, bare = target.removeprefix("class:").partition("|")
        applied = self.program.method(bare, "forward", module) if name == "apply" else None
        method = applied or self.program.method(bare, name, module)
        if method is None:
            return self.program.attributes.get(name, ref(f"{target}.{name}"))
        owner = Value("self", refs=frozenset({f"{module}|{bare}"})) if applied or is_classmethod(method) else None
        return Value("func", refs=frozenset({self.program.register(method)}), element=owner)

    def own_attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """`self.name`: what the constructor stored, or a method (run at once if it is a property)."""
        if name in self.program.attributes:
            return self.program.attributes[name]
        for cls in owner.refs:
            module, _, bare = cls.rpartition("|")
            method = self.program.method(bare, name, module)
            if method is not None:
                key = self.program.register(method)
                found = Value("func", refs=frozenset({key}), element=owner)
                return self.invocations.invoke(key, found, [], {}, State()) if is_property(method) else found
        if name in ("children", "modules", "named_children", "named_modules", "_modules", "_parameters", "_buffers"):
            self.find("module-walk", "flagged", f"walks the module tree through .{name}", node)
            return container(Value("nn"))
        if name in ("parameters", "named_parameters", "buffers", "named_buffers", "state_dict"):
            return container(Value("tensor", bases=frozenset({"param:*"})))
        return SAFE

    def _subscript(self, node: ast.Subscript, state: State) -> Value:
        owner, index = self.eval(node.value, state), self.eval(node.slice, state)
        if owner.kind == "ref" and any(r.startswith(("torch", "sys", "os")) for r in owner.refs):
            return SAFE
        if owner.kind == "tensor" and index.holds_tensor:
            self.find("advanced-indexing", *_pair(owner, index), node)
            return merged([owner, index])
        position = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if owner.parts is not None and isinstance(position, int) and -len(owner.parts) <= position < len(owner.parts):
            return owner.parts[position]
        return owner.item()

    def _slice(self, node: ast.Slice, state: State) -> Value:
        bounds = [self.eval(part, state) for part in (node.lower, node.upper, node.step)]
        return merged(bounds) if any(b.holds_tensor for b in bounds) else SAFE

    def _operator(self, node: ast.expr, operands: list[Value], symbol: str) -> Value:
        if any(o.kind == "container" for o in operands) and not any(o.kind == "tensor" for o in operands):
            return join(*operands)
        held = [o for o in operands if o.may_hold_tensor]
        if not held:
            return EXTENT if any(o.extent for o in operands) else SAFE
        outcome, kind = severity(operands, index_ok=True)
        kind = "tensor-operator" if outcome == "failed" else kind
        self.find(
            kind,
            outcome,
            f"operator {symbol} on a value that {'is' if outcome == 'failed' else 'may be'} a tensor",
            node,
        )
        value = merged(operands)
        return replace(value, kind="maybe") if kind == "maybe-tensor" else value

    def _binop(self, node: ast.BinOp, state: State) -> Value:
        return self._operator(node, [self.eval(node.left, state), self.eval(node.right, state)], type(node.op).__name__)

    def _unaryop(self, node: ast.UnaryOp, state: State) -> Value:
        value = self.eval(node.operand, state)
        return SAFE if isinstance(node.op, ast.Not) else self._operator(node, [value], type(node.op).__name__)

    def _compare(self, node: ast.Compare, state: State) -> Value:
        operands = [self.eval(node.left, state), *[self.eval(c, state) for c in node.comparators]]
        if all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return SAFE
        if any(isinstance(c, ast.Constant) and c.value is None for c in node.comparators):
            return SAFE
        if all(o.kind != "tensor" for o in operands):
            return SAFE
        value = self._operator(node, operands, type(node.ops[0]).__name__)
        return replace(value, integer=True)

    def _boolop(self, node: ast.BoolOp, state: State) -> Value:
        return join(*[self.eval(v, state) for v in node.values])

    def _ifexp(self, node: ast.IfExp, state: State) -> Value:
        self.eval(node.test, state)
        yes, no = state.fork(), state.fork()
        value = join(self.eval(node.body, yes), self.eval(node.orelse, no))
        state.become(yes, no)
        return value

    def _tuple(self, node: ast.Tuple, state: State) -> Value:
        elements = [self.eval(e, state) for e in node.elts]
        return container(*elements) if any(isinstance(e, ast.Starred) for e in node.elts) else fixed(*elements)

    def _list(self, node: ast.List | ast.Set, state: State) -> Value:
        return container(*[self.eval(e, state) for e in node.elts])

    _set = _list

    def _dict(self, node: ast.Dict, state: State) -> Value:
        for key in node.keys:
            self.eval(key, state)
        return container(*[self.eval(v, state) for v in node.values])

    def _starred(self, node: ast.Starred, state: State) -> Value:
        return self.eval(node.value, state).item()

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, state: State) -> Value:
        inner = state.fork()
        for generator in node.generators:
            self.paths.bind(generator.target, self.eval(generator.iter, inner).item(), inner)
            for test in generator.ifs:
                self.eval(test, inner)
        element = self.eval(node.value if isinstance(node, ast.DictComp) else node.elt, inner)
        state.launched, state.filled, state.given = inner.launched, inner.filled, inner.given
        return container(element)

    _setcomp = _generatorexp = _dictcomp = _listcomp

    def _lambda(self, node: ast.Lambda, state: State) -> Value:
        function = Function("<lambda>", self.module, node, owner=self.owner, closure=tuple(state.env.items()))
        return Value("func", refs=frozenset({self.program.register(function)}))

    def _joinedstr(self, node: ast.JoinedStr, state: State) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.eval(part.value, state)
        return SAFE

    def _namedexpr(self, node: ast.NamedExpr, state: State) -> Value:
        value = self.eval(node.value, state)
        self.paths.bind(node.target, value, state)
        return value

    # -------------------------------------------------------- calls

    def _call(self, node: ast.Call, state: State) -> Value:
        return self.invocations.call(node, state)

    def call_value(
        self, target: Value, args: list[Value], keywords: Mapping[str, Value], node: ast.Call, state: State
    ) -> Value:
        """Call whatever `target` may be; several possibilities are all followed."""
        return self.invocations.call_value(target, args, keywords, node, state)


def _pair(owner: Value, index: Value) -> tuple[CheckOutcome, str]:
    outcome, kind = severity([owner, index], index_ok=True)
    return outcome, f"indexes a tensor by a tensor ({kind}): that gathers elements"
