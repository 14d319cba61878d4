"""The default-deny reader of a candidate's Python side: the wrapper and the task-local modules it imports.

A candidate is accepted for what its kernel computes, so Python may allocate, look at metadata, view, copy, cast, pad
and call the extension; anything else done to a tensor value is a finding. The text is parsed, never executed. What a
finding means for the verdict is decided in `judge.py`: `failed` taints, `flagged` needs dynamic evidence.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from events.types import Evidence
from statemachine.integrity.flow import Flow, TooLongError
from statemachine.integrity.program import Program
from statemachine.integrity.refused import scan
from statemachine.integrity.signature import forward_parameters
from statemachine.integrity.values import SAFE, State, Value

MODEL = "ModelNew"


@dataclass(frozen=True)
class WrapperReport:
    """What the reader found. `calls`: `(line, "extension.function")` for every call into the extension it reached."""

    evidence: tuple[Evidence, ...]
    extension_modules: tuple[str, ...]
    calls: tuple[tuple[int, str], ...]


def read_wrapper(
    source: str, filename: str, *, helpers: Mapping[str, str], extensions: Collection[str] | None = None
) -> WrapperReport:
    """Read a wrapper and its helpers.

    `helpers`: sources of task-local Python modules by file or module name. `extensions`: names of the modules that the
    candidate's build produces; when given, nothing else is the extension; when None the name has to look like one.
    Never raises on hostile text: what cannot be parsed or read to its end is a `failed` finding.
    """
    try:
        program = Program(source, filename, helpers, extensions)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 0
        detail = f"cannot be parsed as Python: {error}"
        return WrapperReport(
            (Evidence(check="wrapper:syntax", outcome="failed", detail=detail, where=f"{filename}:{line}"),), (), ()
        )
    try:
        for module in _reached(program):
            scan(program, program.modules[module])
        _run(program)
    except (TooLongError, RecursionError):
        program.find("too-complex", "failed", "the wrapper cannot be read to its end; make it simpler", "", 1)
    modules = {
        t.removeprefix("ext:").split(".")[0]
        for m in program.modules.values()
        for t in m.imports.values()
        if t.startswith("ext:")
    }
    return WrapperReport(_conclude(program), tuple(sorted(modules)), tuple(sorted(program.calls)))


def _reached(program: Program) -> list[str]:
    """The wrapper and every helper that is imported, directly or through another helper."""
    found, todo = [""], [""]
    while todo:
        for target in program.modules[todo.pop()].imports.values():
            if target.startswith("helper:"):
                name = target.removeprefix("helper:")
                name = name if name in program.modules else name.rpartition(".")[0]
                if name in program.modules and name not in found:
                    found.append(name)
                    todo.append(name)
    return found


def _run(program: Program) -> None:
    """Import, construction and forward, in this order, as the runner does them."""
    for name in reversed(_reached(program)):
        flow = Flow(program, name, constructing=True)
        state = State()
        flow.paths.block(_statements(program.modules[name].tree), state)
        program.globals[name] = dict(state.env)
    if MODEL not in program.wrapper.classes:
        where, bound = "", program.wrapper.imports.get(MODEL, "")
        if bound.startswith("helper:"):
            where = bound.removeprefix("helper:").rpartition(".")[0]
        if where not in program.modules or MODEL not in program.modules[where].classes:
            program.find("no-model", "failed", f"class {MODEL} is not defined in the candidate", "", 1)
            return
    else:
        where = ""
    owner = Value("self", refs=frozenset({f"{where}|{MODEL}"}))
    for inner_where, node in reversed(program.ancestry(MODEL, where)):
        state = State()
        Flow(program, inner_where, constructing=True).paths.statement(node, state)
    init = program.method(MODEL, "__init__", where)
    if init is not None:
        flow = Flow(program, init.module, constructing=True, stack=(program.register(init),))
        flow.owner = init.owner
        spec = init.node.args
        env = {a.arg: SAFE for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        flow.paths.function(init.node, {**env, next(iter(env), "self"): owner}, State())
    _forward(program, owner, where)


def _forward(program: Program, owner: Value, where: str) -> None:
    forward = program.method(MODEL, "forward", where)
    if forward is None or isinstance(forward.node, ast.Lambda):
        program.find("no-forward", "failed", f"{MODEL}.forward is not defined in the candidate", "", 1)
        return
    flow = Flow(program, forward.module, constructing=False, stack=(program.register(forward),), entry=True)
    flow.owner = forward.owner
    parameters = forward_parameters(forward.node)
    itself = forward.node.args.args[0].arg if forward.node.args.args else "self"
    flow.paths.function(forward.node, {**parameters, itself: owner}, State())
    if not program.calls:
        line = forward.node.lineno
        program.find("no-call", "failed", "forward never reaches a call into the extension", forward.module, line)


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Module statements that run at import; definitions are looked up by name instead."""
    return [s for s in tree.body if not isinstance(s, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]


def _conclude(program: Program) -> tuple[Evidence, ...]:
    findings = program.findings
    if any(f.outcome == "failed" for f in findings):
        return findings
    forward = program.method(MODEL, "forward", "") or program.wrapper.functions.get("forward")
    line = forward.node.lineno if forward else 0
    reached = ", ".join(f"{name} (line {at})" for at, name in sorted(program.calls))
    detail = (
        f"forward (line {line}) reaches {reached}; only allocation, metadata, view, copy, cast and pad touch tensors"
    )
    passed = Evidence(check="wrapper:path", outcome="passed", detail=detail, where=f"{program.wrapper.filename}:{line}")
    return (*findings, passed)
