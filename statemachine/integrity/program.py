"""The whole candidate's Python side: its modules, the classes' method resolution, and the findings made on it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from events.types import CheckOutcome, Evidence
from statemachine.integrity.pymodule import PyModule, Resolver, helper_modules, read_module
from statemachine.integrity.values import Function, Value

#: Abstract evaluation steps before the reader gives up; a real wrapper needs a few thousand.
STEP_LIMIT = 150_000


class Program:
    """Modules by name, functions by id, and the report that the readers write into."""

    def __init__(
        self, source: str, filename: str, helpers: Mapping[str, str], extensions: Collection[str] | None
    ) -> None:
        sources = helper_modules(helpers)
        self.resolver = Resolver(sources, extensions)
        self.wrapper = read_module("", filename, source, self.resolver)
        self.modules: dict[str, PyModule] = {"": self.wrapper}
        self.unreadable: set[str] = set()
        for name, text in sources.items():
            try:
                self.modules[name] = read_module(name, f"{name.replace('.', '/')}.py", text, self.resolver)
            except (SyntaxError, ValueError, RecursionError):
                self.unreadable.add(name)
        self.functions: dict[str, Function] = {}
        self.attributes: dict[str, Value] = {}
        self.globals: dict[str, dict[str, Value]] = {}
        self.calls: list[tuple[int, str]] = []
        self.steps = 0
        self._seen: dict[tuple[str, str, str], Evidence] = {}

    # -------------------------------------------------------- findings

    def find(self, kind: str, outcome: CheckOutcome, detail: str, module: str, line: int) -> None:
        """Record one finding; the same kind at the same place is said once, at its most serious."""
        where = f"{self.modules[module].filename}:{line}"
        key = (kind, where, detail)
        if key not in self._seen:
            self._seen[key] = Evidence(check=f"wrapper:{kind}", outcome=outcome, detail=detail, where=where)

    @property
    def findings(self) -> tuple[Evidence, ...]:
        return tuple(self._seen.values())

    def saw_call(self, line: int, name: str) -> None:
        if (line, name) not in self.calls:
            self.calls.append((line, name))

    # -------------------------------------------------------- functions and classes

    def register(self, function: Function) -> str:
        """A stable id for `function`, by which values refer to it."""
        place = f"{function.node.lineno}:{function.node.col_offset}"
        key = f"{function.module}|{function.owner or ''}|{function.name}|{place}"
        self.functions[key] = function
        return key

    def ancestry(self, name: str, module: str = "") -> list[tuple[str, ast.ClassDef]]:
        """`(module, class)` from `name` up through the candidate's own base classes."""
        found: list[tuple[str, ast.ClassDef]] = []
        todo = [(module, name)]
        while todo and len(found) < 20:
            where, wanted = todo.pop(0)
            node = self.modules[where].classes.get(wanted) if where in self.modules else None
            if node is None or (where, node) in found:
                continue
            found.append((where, node))
            for base in node.bases:
                todo.append(self.locate_class(base, where))
        return found

    def locate_class(self, base: ast.expr, module: str) -> tuple[str, str]:
        """Where the class named by `base` is defined: (module, name), or ("?", full name) if it is foreign."""
        dotted = self.modules[module].dotted(base) or "?"
        if dotted.startswith("helper:"):
            where, _, name = dotted.removeprefix("helper:").rpartition(".")
            return (where, name) if where in self.modules else ("?", dotted)
        if isinstance(base, ast.Name) and base.id in self.modules[module].classes:
            return module, base.id
        return "?", dotted

    def method(self, owner: str, name: str, module: str = "", *, skip_first: bool = False) -> Function | None:
        """The method that `self.<name>` means, looked up through the candidate's own classes."""
        for where, node in self.ancestry(owner, module)[1 if skip_first else 0 :]:
            found = self.modules[where].functions.get(f"{node.name}.{name}")
            if found is not None:
                return found
        return None
