"""What a call means when tensor values are among its arguments: the default-deny heart of the Python reader.

A call into torch is looked up by full name, a method by its leaf name. What is not allowed is a finding; the result of
a refused call is still followed, so that one cheat does not hide the next.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from events.types import CheckOutcome
from statemachine.integrity import vocabulary as words
from statemachine.integrity.values import EXTENT, SAFE, State, Value, container, fixed, join, ref, tensor
from statemachine.integrity.wordset import wordset

if TYPE_CHECKING:
    from statemachine.integrity.flow import Flow

_HOST_BUILTINS = wordset("int float bool complex sum min max abs sorted round pow divmod all any bytes")
_GATHERING = wordset("tuple list reversed iter next zip enumerate set frozenset dict")
_SPAN = wordset("len isinstance type repr print hasattr id callable hash str format issubclass range")


def severity(arguments: list[Value], *, index_ok: bool) -> tuple[CheckOutcome, str]:
    """How serious computing on `arguments` is: constants and integer indices are flagged, all else is failed."""
    held = [_inner(a) for a in arguments if a.may_hold_tensor]
    if held and all(h.kind == "tensor" and not h.derived for h in held):
        return "flagged", "constant-compute"
    if index_ok and held and all(h.kind == "tensor" and (h.integer or not h.derived) for h in held):
        return "flagged", "index-arithmetic"
    if held and all(h.kind == "maybe" for h in held):
        return "flagged", "maybe-tensor"
    return "failed", "torch-compute"


def _inner(value: Value) -> Value:
    while value.kind == "container" and value.element is not None:
        value = value.element
    return value


def merged(arguments: list[Value], *, integer: bool | None = None) -> Value:
    """A tensor whose data comes from all tensor arguments."""
    held = [_inner(a) for a in arguments if a.may_hold_tensor]
    bases = frozenset[str]().union(*(h.bases for h in held))
    known = bool(held) and all(h.integer for h in held)
    return tensor(bases, integer=known if integer is None else integer, derived=any(h.derived for h in held))


class Calls:
    """Call semantics over one `Flow`."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    # -------------------------------------------------------- torch and other imported names

    def imported(self, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        """Call of the imported thing with the full dotted `name`."""
        flow = self.flow
        held = [a for a in args if a.may_hold_tensor]
        if name.startswith("ext:") or self._is_registered_op(name):
            return self._extension(name, args, node, state)
        if name.startswith("ctypes.") or "ctypes.CDLL" in name or "ctypes.cdll" in name:
            return self._ctypes(name, args, node, state)
        if name.startswith("torch."):
            return self._torch(name.removeprefix("torch."), args, node, state)
        if name.startswith("torch_npu."):
            if not held and name.startswith(words.TORCH_DEVICE_NAMESPACES):
                return SAFE
            flow.find("vendor-operator", "failed", f"calls {name}, an operator that is not the candidate's", node)
            return merged(args)
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), args, node, state)
        if name.startswith("importlib."):
            return self._importlib(name, node)
        if name.startswith("functools.partial"):
            return args[0] if args else SAFE
        if held:
            kind = "host-compute" if name.split(".")[0] in ("numpy", "math", "operator") else "unknown-call"
            outcome: CheckOutcome = "failed" if any(h.holds_tensor or h.kind == "nn" for h in held) else "flagged"
            if outcome == "flagged" and name.split(".")[0] in (
                "math",
                "warnings",
                "logging",
                "typing",
                "os",
                "pathlib",
            ):
                return SAFE
            flow.find(kind, outcome, f"passes tensor values to {name}", node)
            return merged(args)
        return SAFE if name.split(".")[0] != "ctypes" else ref(f"{name}()")

    def _is_registered_op(self, name: str) -> bool:
        parts = name.split(".")
        return len(parts) >= 4 and parts[:2] == ["torch", "ops"] and parts[2] not in words.FOREIGN_OP_NAMESPACES

    def _extension(self, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        module, _, function = name.removeprefix("ext:").removeprefix("torch.ops.").partition(".")
        self.flow.program.saw_call(node.lineno, f"{module}.{function}")
        state.launched = True
        self._fill(args, state)
        base = f"ext:{node.lineno}:{node.col_offset}"
        state.filled.add(base)
        state.overwritten.discard(base)
        return tensor(frozenset({base}))

    @staticmethod
    def _fill(args: list[Value], state: State) -> None:
        for arg in args:
            for base in _inner(arg).bases:
                (state.given if base.startswith(("in:", "param:")) else state.filled).add(base)
                state.overwritten.discard(base)

    def _ctypes(self, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        leaf = name.split(".")[-1]
        if leaf in ("memmove", "memset", "string_at", "from_address", "cast", "pythonapi", "PyDLL", "from_buffer"):
            self.flow.find("ctypes-memory", "failed", f"{name} touches memory directly", node)
        elif "ctypes.CDLL()" in name and leaf not in ("CDLL", "LoadLibrary"):
            self.flow.find("ctypes", "flagged", "launches through ctypes, which a text reader cannot follow", node)
            self.flow.program.saw_call(node.lineno, f"ctypes.{leaf}")
            state.launched = True
            state.filled.update(b for b in self.flow.pointers if not b.startswith("in:"))
            return SAFE
        if leaf in ("CDLL", "LoadLibrary"):
            return ref("ctypes.CDLL()")
        return SAFE

    def _importlib(self, name: str, node: ast.Call) -> Value:
        leaf = name.split(".")[-1]
        literal = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        if leaf == "import_module":
            if isinstance(literal, str):
                target = self.flow.program.resolver.module(literal)
                if target.startswith("model:"):
                    self.flow.find("imports-reference", "failed", f"imports {literal}, the task's reference", node)
                elif target.startswith("unknown:") or target.split(".")[0] in words.REFUSED_MODULES:
                    self.flow.find("import", "failed", f"imports {literal} at run time", node)
                return ref(target)
            self.flow.find("dynamic-import", "failed", "imports a module by a computed name", node)
            return SAFE
        if leaf in ("spec_from_file_location", "module_from_spec"):
            known = self.flow.program.resolver.extensions
            if isinstance(literal, str):
                if known is not None and literal not in known:
                    self.flow.find("import", "failed", f"loads {literal}, which is not the built extension", node)
                return ref(f"ext:{literal}")
            return ref("ext:loaded")
        if leaf in ("invalidate_caches", "find_spec", "ExtensionFileLoader", "files"):
            return SAFE
        self.flow.find("dynamic-import", "failed", f"uses {name} beyond loading the extension", node)
        return SAFE

    def _torch(self, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        flow, leaf = self.flow, name.split(".")[-1]
        held = [a for a in args if a.may_hold_tensor]
        if f"torch.{name}".startswith(words.TORCH_DEVICE_NAMESPACES) and not held:
            return SAFE
        if name.startswith(("ops.load_library", "classes.load_library")):
            flow.find("load-library", "noted", "loads a registered library", node)
            return SAFE
        if name == leaf and leaf in words.ALLOCATIONS | words.RANDOM_ALLOCATIONS:
            return self._allocation(leaf, args, node)
        if name == leaf and leaf in words.TORCH_PLAIN:
            return SAFE
        if f"torch.{name}" in words.PAD_FUNCTIONS or (name == leaf and leaf in words.VIEW_METHODS | {"clone"}):
            return self._view(leaf, args[0] if args else SAFE, node)
        if name.startswith("nn.init."):
            if flow.constructing:
                return SAFE
        elif name.startswith("nn.") and leaf[:1].isupper():
            return self._nn(leaf, args, node)
        if not held and name.startswith(("utils._pytree", "autograd")):
            return SAFE
        outcome, kind = severity(args, index_ok=leaf in words.INDEX_FUNCTIONS)
        if kind == "maybe-tensor" or not held:
            outcome, kind = "failed", "torch-compute"
        flow.find(kind, outcome, f"torch.{name} is not an allocation, view, copy, cast or pad", node)
        return merged(args)

    def _allocation(self, leaf: str, args: list[Value], node: ast.Call) -> Value:
        integer = leaf in ("arange", "randint", "randperm") or self.flow.integer_dtype(node)
        if leaf in words.RANDOM_ALLOCATIONS and not self.flow.constructing:
            self.flow.find("torch-compute", "failed", f"torch.{leaf} makes data in forward", node)
        if leaf in ("tensor", "as_tensor", "scalar_tensor") and args and args[0].holds_tensor:
            return merged(args)
        if not leaf.endswith("_like") and any(a.holds_tensor for a in args):
            self.flow.find("torch-compute", "failed", f"torch.{leaf} is filled from a tensor's value", node)
        return tensor(frozenset({f"new:{node.lineno}:{node.col_offset}"}), integer=integer, derived=False)

    def _nn(self, leaf: str, args: list[Value], node: ast.Call) -> Value:
        if leaf in words.NN_PARAMETERS:
            return tensor(frozenset({f"param:{node.lineno}"}))
        if leaf in words.NN_CONTAINERS:
            return container(*[a.item() for a in args]) if args else container(SAFE)
        self.flow.find("nn-layer", "flagged", f"constructs torch.nn.{leaf}, which can compute", node)
        return Value("nn", refs=frozenset({leaf}))

    # -------------------------------------------------------- builtins

    def _builtin(self, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        flow = self.flow
        held = [a for a in args if a.may_hold_tensor]
        if name == "getattr":
            return self._getattr(args, node, state)
        if name == "setattr":
            if not (args and args[0].kind == "self" and self._literal(node, 1)):
                flow.find("monkey-patch", "failed", "setattr on something other than the model itself", node)
            return SAFE
        if name == "map" and len(args) >= 2:
            return container(flow.call_value(args[0], [a.item() for a in args[1:]], {}, node, state))
        if name == "filter" and len(args) == 2:
            return args[1]
        if name in _GATHERING:
            if name == "next" and args:
                return args[0].item()
            inner = [a.item() for a in args]
            if name == "enumerate" and inner:
                return container(fixed(SAFE, inner[0]))
            return container(fixed(*inner) if name == "zip" else join(*inner)) if inner else container()
        if name in _SPAN or not held:
            sized = name == "len" or any(a.item().extent for a in args)
            return EXTENT if sized and name in _HOST_BUILTINS | {"len", "range"} else SAFE
        if name in _HOST_BUILTINS:
            if any(a.holds_tensor or a.kind == "nn" for a in held):
                flow.find("host-read", "failed", f"{name}() reads tensor elements on the host", node)
            elif name not in ("int", "float", "bool"):
                flow.find("maybe-tensor", "flagged", f"{name}() on a value that may be a tensor", node)
            return SAFE
        flow.find("unknown-call", "flagged", f"passes tensor values to {name}", node)
        return merged(args)

    @staticmethod
    def _literal(node: ast.Call, position: int) -> str | None:
        if len(node.args) > position:
            arg = node.args[position]
            if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                return arg.value
        return None

    def _getattr(self, args: list[Value], node: ast.Call, state: State) -> Value:
        target, name = (args[0] if args else SAFE), self._literal(node, 1)
        if name is not None:
            return self.flow.attribute(target, name, node)
        if target.kind == "ref" and all(r.startswith("ext:") for r in target.refs):
            self.flow.find("getattr-extension", "noted", "picks an extension function by computed name", node)
            return ref(*[f"{r}.*" for r in target.refs])
        self.flow.find("dynamic-attribute", "failed", "getattr with a computed name", node)
        return SAFE

    # -------------------------------------------------------- tensor methods

    def method(self, owner: Value, name: str, args: list[Value], node: ast.Call, state: State) -> Value:
        """Call of `name` on a tensor (or on something that may be one)."""
        flow = self.flow
        if name in words.METADATA_METHODS:
            if name == "data_ptr":
                flow.pointers |= owner.bases
            return EXTENT if name in words.EXTENTS else SAFE
        if name in words.VIEW_METHODS:
            return self._view(name, owner, node)
        if name in words.COPY_METHODS or name in words.INTEGER_CASTS:
            integer = name in words.INTEGER_CASTS or flow.integer_dtype(node) or (owner.integer and not node.args)
            if name == "clone":
                return self._cloned(owner, node, state)
            return replace(owner, kind="tensor", integer=integer)
        if name in words.NEW_METHODS:
            integer = flow.integer_dtype(node) or owner.integer
            if any(a.holds_tensor for a in args):
                flow.find("torch-compute", "failed", f".{name} is filled from a tensor's value", node)
            return tensor(frozenset({f"new:{node.lineno}:{node.col_offset}"}), integer=integer, derived=False)
        if name in words.WRITE_METHODS:
            flow.write(owner, join(*args) if args else SAFE, node, state)
            return owner
        if name == "cpu":
            flow.find("host-copy", "flagged", "copies a tensor to the host", node)
            return owner
        if owner.kind == "maybe" and name in words.PLAIN_METHODS:
            return owner
        if name in words.HOST_READS:
            flow.find("host-read", "failed", f".{name}() reads tensor elements on the host", node)
            return SAFE
        outcome, kind = severity([owner, *args], index_ok=name in words.INDEX_FUNCTIONS)
        if kind == "maybe-tensor":
            outcome, kind = "failed", "torch-compute"
        flow.find(kind, outcome, f".{name}() is not an allocation, view, copy, cast or pad", node)
        return merged([owner, *args])

    @staticmethod
    def _cloned(owner: Value, node: ast.Call, state: State) -> Value:
        """A copy with storage of its own; a copy of what an extension filled counts as filled."""
        base = f"new:{node.lineno}:{node.col_offset}"
        if owner.bases and owner.bases <= state.filled:
            state.filled.add(base)
        return replace(owner, kind="tensor", bases=frozenset({base}))

    def _view(self, name: str, owner: Value, node: ast.Call) -> Value:
        base = _inner(owner)
        value = replace(base, kind="tensor") if base.may_hold_tensor else base
        if name in ("unbind", "split", "chunk", "tensor_split", "split_with_sizes"):
            return container(value)
        if name in ("pad", "constant_pad_nd"):
            mode = next(
                (k.value for k in node.keywords if k.arg == "mode"), node.args[2] if len(node.args) > 2 else None
            )
            if mode is not None and not (isinstance(mode, ast.Constant) and mode.value in ("constant", 0, 0.0)):
                self.flow.find("pad-mode", "flagged", "pads with something other than a constant", node)
        return value
