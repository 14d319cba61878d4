"""One Python module of the candidate as facts: imports under their full names, functions, classes and their bases.

Nothing is executed. Aliases are resolved here once, so that every later check matches full names, never spellings.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from statemachine.integrity import vocabulary as words
from statemachine.integrity.values import Function

_EXTENSION_NAME = re.compile(r"^_\w+$|ext|kernel|ops?\b|ascend|custom|launch", re.IGNORECASE)


@dataclass(frozen=True)
class ImportedName:
    """A name bound by an import: `target` is its full name, prefixed by what kind of module it comes from.

    Prefixes: `ext:` the candidate's extension, `helper:` a task-local module, `model:` the task's reference module,
    `unknown:` neither of these nor a module that wrappers are allowed; plain dotted names otherwise.
    """

    name: str
    target: str
    line: int


@dataclass
class PyModule:
    """A parsed module. `functions` maps `name` or `Class.name`; `bases` maps a class to its bases' full names."""

    name: str
    filename: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    imported: list[ImportedName] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    def dotted(self, node: ast.expr) -> str | None:
        """Full dotted name of a Name or Attribute chain, aliases resolved; None for anything else."""
        if isinstance(node, ast.Name):
            if node.id in self.imports:
                return self.imports[node.id]
            return f"builtins.{node.id}"
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base is not None else None
        return None


def is_reference(module: str) -> bool:
    """Whether an import of `module` reaches for the task's reference (`model`, `<package>.model`, `..model`)."""
    return module.split(".")[-1] in ("model", "current_task_model", "reference")


class Resolver:
    """Says what an imported module is, given the task's helper modules and (if known) the extension's real name."""

    def __init__(self, helpers: Collection[str], extensions: Collection[str] | None) -> None:
        self.helpers = set(helpers)
        self.extensions = None if extensions is None else set(extensions)

    def module(self, name: str) -> str:
        """Full, prefixed name for the module `name` of an import statement."""
        root, tail = name.split(".")[0], name.split(".")[-1]
        if self.extensions is not None and tail in self.extensions:
            return f"ext:{tail}"
        if name in self.helpers:
            return f"helper:{name}"
        if is_reference(name):
            return "model:"
        if root in words.PLAIN_MODULES or root in words.REFUSED_MODULES or root in sys.stdlib_module_names:
            return name
        if tail in self.helpers:
            return f"helper:{tail}"
        if self.extensions is None and _EXTENSION_NAME.search(tail):
            return f"ext:{tail}"
        return f"unknown:{name}"

    def member(self, module: str, name: str) -> str:
        """Full name of `name` imported from `module`; a submodule is recognised as such."""
        inner = f"{module}.{name}" if module else name
        as_module = self.module(inner)
        if as_module.startswith(("helper:", "model:", "ext:")) and (self.extensions is not None or not module):
            return as_module
        if as_module.startswith(("helper:", "model:")):
            return as_module
        base = self.module(module) if module else as_module
        return f"{base}.{name}" if module else as_module


def read_module(name: str, filename: str, source: str, resolver: Resolver) -> PyModule:
    """Parse `source`; raises SyntaxError as Python would."""
    module = PyModule(name, filename, ast.parse(source, filename))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = resolver.module(alias.name)
                bound = alias.asname or alias.name.split(".")[0]
                if alias.asname is None and "." in alias.name and ":" not in target:
                    target = alias.name.split(".")[0]
                module.imports.setdefault(bound, target)
                module.imported.append(ImportedName(bound, resolver.module(alias.name), node.lineno))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                target = resolver.member(node.module or "", alias.name)
                module.imports.setdefault(alias.asname or alias.name, target)
                module.imported.append(ImportedName(alias.asname or alias.name, target, node.lineno))
    for statement in ast.walk(module.tree):
        if isinstance(statement, ast.ClassDef):
            module.classes[statement.name] = statement
            for inner in statement.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    key = f"{statement.name}.{inner.name}"
                    module.functions[key] = Function(inner.name, name, inner, owner=statement.name)
    for statement in _top_level(module.tree.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            module.functions[statement.name] = Function(statement.name, name, statement)
    return module


def _top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements of the module scope, those inside if/try/with blocks included."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for block in ("body", "orelse", "finalbody"):
                found.extend(_top_level(getattr(statement, block, [])))
            for handler in getattr(statement, "handlers", []):
                found.extend(_top_level(handler.body))
    return found


def helper_modules(helpers: Mapping[str, str]) -> dict[str, str]:
    """Helper sources by dotted module name, from file names (`util.py`, `pkg/util.py`) or module names."""
    found: dict[str, str] = {}
    for name, source in helpers.items():
        dotted = name.removesuffix(".py").strip("./").replace("/", ".")
        found[dotted.removesuffix(".__init__")] = source
    return found
