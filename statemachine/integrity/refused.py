"""Names that no wrapper needs, wherever they stand: reachable or not, at import time or in a helper.

A walk over the syntax tree with imports resolved to full names. What is found here does not depend on the flow of
values.
"""

from __future__ import annotations

import ast

from statemachine.integrity import vocabulary as words
from statemachine.integrity.program import Program
from statemachine.integrity.pymodule import PyModule
from statemachine.integrity.shadowing import local_names, module_names

_STORED = (ast.Store, ast.Del)


def scan(program: Program, module: PyModule) -> None:
    """Record every refused name, import, monkey patch, class and definition of `module` in `program`."""
    _imports(program, module)
    _rebinding(program, module)
    rebound, local = module_names(module.tree), local_names(module.tree)
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name):
            _name(program, module, node, rebound, local)
        elif isinstance(node, ast.ClassDef):
            _class(program, module, node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _function(program, module, node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            program.find("memo", "flagged", "rebinds names outside the function", module.name, node.lineno)
        elif isinstance(node, ast.Call) and module.dotted(node.func) == "builtins.type" and len(node.args) > 1:
            program.find("metaclass", "failed", "makes a class by calling type()", module.name, node.lineno)
        elif isinstance(node, ast.Try):
            _import_handler(program, module, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) > 4000:
            program.find(
                "payload", "flagged", "a very long literal, which could hold code or data", module.name, node.lineno
            )


def _imports(program: Program, module: PyModule) -> None:
    for item in module.imported:
        target, line = item.target, item.line
        root = target.split(".")[0]
        member = target.removeprefix("model:").strip(".")
        if target.startswith("model:"):
            _reference(program, module, member, line)
        elif target.startswith("unknown:"):
            detail = f"imports {target[8:]}, neither the extension, torch, a helper nor a plain module"
            program.find("import", "failed", detail, module.name, line)
        elif target.startswith("helper:"):
            name = target.removeprefix("helper:")
            if program.unreadable & {name, name.rpartition(".")[0]}:
                program.find("syntax", "failed", f"the helper {name} cannot be parsed as Python", module.name, line)
        elif target.startswith("ext:"):
            continue
        elif root in words.REFUSED_MODULES:
            program.find("import", "failed", f"imports {root}, which no wrapper needs", module.name, line)
        elif root == "ctypes":
            program.find("ctypes", "flagged", "uses ctypes: a launcher, or any library", module.name, line)
        elif root == "numpy":
            program.find("numpy", "noted", "imports numpy; tensor data may not reach it", module.name, line)
        elif root not in words.PLAIN_MODULES:
            program.find("import", "flagged", f"imports {root}, which wrappers rarely need", module.name, line)
        else:
            _refuse(program, module, target, line)
        if item.name == "*" and not target.startswith("model:"):
            program.find("star-import", "failed", "import * hides which names are bound", module.name, line)


def _rebinding(program: Program, module: PyModule) -> None:
    """Names that must mean one thing: what is imported, `ModelNew` and its `forward`."""
    bound: dict[str, str] = {}
    for item in module.imported:
        target = module_target(item.target) if item.name in ("torch", "os", "sys", "importlib") else item.target
        first = bound.setdefault(item.name, target)
        if first != target and not (first.startswith("ext:") and target.startswith("ext:")):
            program.find(
                "stub", "failed", f"{item.name} is imported as {first} and as {target}", module.name, item.line
            )
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in bound and node in module.tree.body:
            program.find("stub", "failed", f"{node.name} is imported and defined", module.name, node.lineno)
        stored = isinstance(getattr(node, "ctx", None), _STORED)
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if stored and name in ("ModelNew", "forward", "__call__"):
            program.find("rebound", "failed", f"assigns {name}", module.name, getattr(node, "lineno", 0))


def module_target(target: str) -> str:
    """`import a.b` binds `a`."""
    return target.split(".")[0]


def _reference(program: Program, module: PyModule, member: str, line: int) -> None:
    if member.isupper() or (member and member.replace("_", "").isupper()):
        detail = f"imports the constant {member} of the reference; served as a literal only"
        program.find("reference-constant", "noted", detail, module.name, line)
    elif member and member[0].islower() and not member.startswith("get_"):
        detail = f"imports the function {member} of the reference, which is not there for a candidate"
        program.find("reference-function", "flagged", detail, module.name, line)
    else:
        program.find(
            "imports-reference", "failed", f"imports {member or 'model'} from the reference", module.name, line
        )


def _refuse(program: Program, module: PyModule, dotted: str, line: int) -> None:
    parts = dotted.split(".")
    for size in range(1, len(parts) + 1):
        prefix = ".".join(parts[:size])
        if prefix in words.REFUSED:
            program.find("refused-name", "failed", f"uses {prefix}: {words.REFUSED[prefix]}", module.name, line)
            return
        if size == 1 and prefix in words.REFUSED_MODULES and prefix != "builtins":
            program.find("refused-name", "failed", f"uses {dotted}", module.name, line)
            return
    if dotted.startswith("importlib.machinery.Source"):
        program.find("refused-name", "failed", f"uses {dotted}: loads Python source", module.name, line)
    if dotted == "os.environ":
        program.find("environment", "flagged", "reads or changes environment variables", module.name, line)
    if parts[0] == "os" and parts[-1] in ("listdir", "walk", "scandir", "glob"):
        program.find("file-search", "flagged", f"uses {dotted}: searches the file system", module.name, line)
    if parts[0] == "torch" and any(p.startswith("_") and not p.startswith("__") for p in parts[1:]):
        program.find("refused-name", "failed", f"uses {dotted}: torch's internals", module.name, line)


def _name(
    program: Program, module: PyModule, node: ast.Attribute | ast.Name, rebound: set[str], local: set[int]
) -> None:
    dotted = module.dotted(node)
    if dotted is not None and not dotted.startswith(("helper:", "ext:", "model:", "unknown:")):
        root = dotted.split(".")[0]
        own = _root_id(node) in rebound or id(_root(node)) in local
        shadowed = root == "builtins" and isinstance(_root(node), ast.Name) and own
        if not shadowed:
            _refuse(program, module, dotted, node.lineno)
    if isinstance(node, ast.Attribute):
        _attribute(program, module, node)
    elif isinstance(node.ctx, _STORED) and node.id in module.imports:
        known = {i.name for i in module.imported if i.target.startswith("ext:")}
        if node.id in known and not _is_none_binding(module, node):
            program.find(
                "stub", "failed", f"{node.id} is bound by an import and by an assignment", module.name, node.lineno
            )
    elif node.id == "__builtins__":
        program.find("refused-name", "failed", "uses __builtins__", module.name, node.lineno)


def _is_none_binding(module: PyModule, name: ast.Name) -> bool:
    """`_ext = None` (filled later) or the loader's own `_ext = module_from_spec(...)` gives the name no other body."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign) and name in node.targets:
            value = node.value
            if isinstance(value, ast.Constant) and value.value is None:
                return True
            return isinstance(value, ast.Call) and (module.dotted(value.func) or "").startswith("importlib.")
    return False


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _root_id(node: ast.expr) -> str:
    root = _root(node)
    return root.id if isinstance(root, ast.Name) else ""


def _attribute(program: Program, module: PyModule, node: ast.Attribute) -> None:
    name, line = node.attr, node.lineno
    if name.startswith("__") and name.endswith("__") and name not in words.PLAIN_DUNDERS:
        program.find("dunder", "failed", f"uses .{name}, which reaches behind the object", module.name, line)
    if name in ("f_back", "f_locals", "f_globals", "tb_frame", "gi_frame", "cr_frame"):
        program.find("frame", "failed", f"uses .{name}: reads other frames", module.name, line)
    if name in words.HOOK_METHODS or (name.startswith("register_") and name.endswith("hook")):
        program.find("hook", "failed", f"uses .{name}: code that runs outside forward", module.name, line)
    if name in words.FILE_METHODS and not (module.dotted(node) or "").startswith("ext:"):
        program.find("file-access", "failed", f"uses .{name}()", module.name, line)
    if name in ("rename", "open"):
        program.find("file-access", "flagged", f"uses .{name}()", module.name, line)
    if isinstance(node.ctx, _STORED):
        base = module.dotted(node.value)
        root = _root_id(node)
        if root in module.imports or (root in module.classes) or (base or "").startswith("torch"):
            detail = f"assigns {base or root}.{name}: changes an object that other code uses"
            program.find("monkey-patch", "failed", detail, module.name, line)


def _class(program: Program, module: PyModule, node: ast.ClassDef) -> None:
    if node.keywords:
        program.find("metaclass", "failed", "a class with a metaclass or class keywords", module.name, node.lineno)
    for base in node.bases:
        where, dotted = program.locate_class(base, module.name)
        if where != "?":
            continue
        plain = dotted in (
            "torch.nn.Module",
            "torch.autograd.Function",
            "torch.nn.modules.module.Module",
            "builtins.object",
            "typing.NamedTuple",
        )
        if not plain and not dotted.startswith(
            ("enum.", "typing.", "builtins.Exception", "builtins.ValueError", "abc.")
        ):
            detail = f"class {node.name} inherits {dotted}, which is not torch.nn.Module nor a class of the candidate"
            program.find("inherits", "failed", detail, module.name, node.lineno)
    if node.name in module.imports and module.imports[node.name].startswith("ext:"):
        program.find("stub", "failed", f"class {node.name} takes the extension's name", module.name, node.lineno)


def _function(program: Program, module: PyModule, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    line = node.lineno
    if node.name in words.TASK_FUNCTIONS:
        program.find("task-function", "failed", f"defines {node.name}, which belongs to the task", module.name, line)
    if node.name == "get_init_inputs":
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
        empty = all(isinstance(v, ast.List | ast.Tuple) and not v.elts for v in returned) and bool(returned)
        detail = "defines get_init_inputs; the engine takes the task's own"
        program.find("init-inputs", "noted" if empty else "flagged", detail, module.name, line)
    if node.name in words.SPECIAL_METHODS:
        program.find(
            "special-method", "failed", f"defines {node.name}, which changes how calls happen", module.name, line
        )
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        dotted = module.dotted(target) or "?"
        if dotted not in words.PLAIN_DECORATORS and not dotted.endswith(".setter"):
            program.find("decorator", "flagged", f"decorates {node.name} with {dotted}", module.name, line)
        if dotted in ("functools.lru_cache", "functools.cache") and node.name in ("forward", "__init__"):
            program.find("memo", "failed", f"caches the results of {node.name}", module.name, line)


def _import_handler(program: Program, module: PyModule, node: ast.Try) -> None:
    """A handler around the extension's import may raise or try another import, not put something in its place."""
    names = {
        alias.asname or alias.name.split(".")[0]
        for inner in ast.walk(ast.Module(node.body, []))
        if isinstance(inner, ast.Import | ast.ImportFrom)
        for alias in inner.names
    }
    for handler in node.handlers:
        for inner in ast.walk(handler):
            if isinstance(inner, ast.ClassDef | ast.FunctionDef) and names:
                detail = f"defines {inner.name} where an import failed"
                program.find("stub", "failed", detail, module.name, inner.lineno)
