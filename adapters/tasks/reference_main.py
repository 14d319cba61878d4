"""The reference's process: runs model.py, makes a case's inputs and expected outputs, writes both to files.

Started by `reference.Reference` in a working copy of the task (its current directory), under limits. It imports torch
once and then serves one JSON request per line on stdin with one JSON answer per line on the real stdout; whatever
model.py prints goes to stderr. Nothing of the candidate ever runs here.

model.py is executed afresh for every case with torch, numpy and random seeded, so a case does not depend on the cases
made before it. A model that reads its case file finds a file with that one case. One that does not (it lists its cases
itself) is asked for all groups, once per set and seed, and the group is taken by index.

Requests: `describe` (groups of a task without case files), `init` (constructor arguments), `case` (one case).
Answers: `{"ok": true, ...}` or `{"ok": false, "stage": ..., "error": ..., "where": ...}`.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import numpy as np
import torch

from adapters import tensorfile
from adapters.tasks import cases, generate, npu_standin, torchvalues

_MODULE = "model"


class StageError(Exception):
    """What the reference did wrong, at which stage; the cause, if any, is model.py's own exception."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage


class Server:
    """State of the process: the working copy, the names its case file goes by, and the groups of the last set asked."""

    def __init__(self, case_files: list[str]) -> None:
        self.root = Path.cwd()
        self.model_path = self.root / "model.py"
        self.case_files = case_files
        self.case_file_opened = False
        self.groups: tuple[int, list[Any]] | None = None
        sys.path.insert(0, str(self.root))
        sys.addaudithook(self._watch)

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            self.case_file_opened |= Path(os.fsdecode(arguments[0])).name in self.case_files

    # ------------------------------------------------------------ requests

    def handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """The requests served, by name."""
        return {"describe": self.describe, "init": self.init, "case": self.case}

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Entries of every group the model makes itself: `groups`."""
        module = self._load(request["seed"])
        groups = self._all_groups(module, request["mode"])
        names = _parameter_names(module)
        return {"groups": [_describe_group(group, names) for group in groups]}

    def init(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write the constructor's positional arguments to `path`."""
        given = self._init_inputs(self._load(request["init_seed"]))
        values = _stage("get_init_inputs()", lambda: [torchvalues.to_value(item) for item in given])
        tensorfile.save(Path(request["path"]), values)
        return {}

    def case(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make one case: `inputs` gets the arguments, `expected` the flattened outputs and how many parameters the
        model has. Nothing is written for a group that contradicts the case's entries."""
        group, module = self._group(request)
        wrong = cases.disagreement(request["entries"], _describe_group(group, _parameter_names(module)))
        if wrong:
            raise StageError("get_input_groups()", wrong)
        inputs = _stage("get_input_groups()", lambda: [torchvalues.to_value(item) for item in group])
        tensorfile.save(Path(request["inputs"]), inputs)
        _seed(request["init_seed"])
        init = self._init_inputs(module)
        _seed(request["init_seed"])
        model = _stage("Model(...)", lambda: module.Model(*init).eval())
        with torch.no_grad():
            result = _stage("Model.forward()", lambda: model(*copy.deepcopy(group)))
        expected = _stage("Model.forward()", lambda: torchvalues.outputs(result))
        tensorfile.save(Path(request["expected"]), [list(expected), sum(1 for _ in model.parameters())])
        return {}

    # ------------------------------------------------------------ model.py

    def _load(self, seed: int) -> ModuleType:
        """Execute model.py afresh, with all generators seeded before and after."""
        self._forget_helpers()
        module = ModuleType(_MODULE)
        module.__file__ = str(self.model_path)
        sys.modules[_MODULE] = module
        _seed(seed)
        code = compile(self.model_path.read_text(encoding="utf-8"), str(self.model_path), "exec")
        _stage("import", lambda: exec(code, module.__dict__))
        _seed(seed)
        return module

    def _forget_helpers(self) -> None:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{self.root}{os.sep}"):
                del sys.modules[name]

    def _init_inputs(self, module: ModuleType) -> list[Any]:
        """Positional constructor arguments; a dict of keyword arguments is put in the order of Model's signature."""
        function = getattr(module, "get_init_inputs", None)
        given = _stage("get_init_inputs()", function) if function else []
        if isinstance(given, list | tuple):
            return list(given)
        if not isinstance(given, dict):
            raise StageError("get_init_inputs()", f"returned a {type(given).__name__}, expected a list or a dict")
        bound = _stage("get_init_inputs()", lambda: inspect.signature(module.Model).bind(**given))
        bound.apply_defaults()
        if bound.kwargs:
            names = ", ".join(sorted(bound.kwargs))
            raise StageError("get_init_inputs()", f"keyword-only arguments ({names}) cannot be passed: return a list")
        return list(bound.args)

    def _all_groups(self, module: ModuleType, mode: str) -> list[Any]:
        function = "get_inputs" if mode == "inputs" else "get_input_groups"
        made = _stage(f"{function}()", getattr(module, function))
        groups = [made] if mode == "inputs" else made
        if not isinstance(groups, list | tuple) or not groups:
            raise StageError(f"{function}()", f"returned {type(made).__name__}, expected a non-empty list of groups")
        for index, group in enumerate(groups):
            if not isinstance(group, list | tuple):
                raise StageError(f"{function}()", f"group {index} is a {type(group).__name__}, expected a list")
        return list(groups)

    def _group(self, request: dict[str, Any]) -> tuple[list[Any], ModuleType]:
        if request["mode"] == "entries":
            module = self._load(request["seed"])
            return _stage("inputs", lambda: [generate.argument(entry) for entry in request["entries"]]), module
        if request["mode"] == "groups" and self.groups is None and request["case_text"] is not None:
            for name in self.case_files:
                (self.root / name).write_text(request["case_text"], encoding="utf-8")
            self.case_file_opened = False
            module = self._load(request["seed"])
            groups = self._all_groups(module, "groups")
            if self.case_file_opened:
                if len(groups) != 1:
                    raise StageError("get_input_groups()", f"made {len(groups)} groups from a case file with one case")
                return list(groups[0]), module
        module = self._load(request["set_seed"])
        if self.groups is None or self.groups[0] != request["set_seed"]:
            self.groups = (request["set_seed"], self._all_groups(module, request["mode"]))
        groups = self.groups[1]
        if len(groups) != request["count"]:
            raise StageError(
                "get_input_groups()",
                f"made {len(groups)} groups without reading the case file, which lists {request['count']} cases",
            )
        return list(groups[request["index"]]), module


def _seed(seed: int) -> None:
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def _stage(stage: str, step: Callable[[], Any]) -> Any:
    """Run a step of the reference; its exception becomes a StageError that says where in model.py it arose."""
    try:
        return step()
    except (Exception, SystemExit) as error:
        raise StageError(stage, f"{type(error).__name__}: {error}") from error


def _parameter_names(module: ModuleType) -> list[str]:
    try:
        return list(inspect.signature(module.Model.forward).parameters)[1:]
    except (AttributeError, TypeError, ValueError):
        return []


def _describe_group(group: list[Any], names: list[str]) -> list[dict[str, Any]]:
    return [torchvalues.describe(names[i] if i < len(names) else f"input{i}", item) for i, item in enumerate(group)]


def _answer(server: Server, request: dict[str, Any]) -> dict[str, Any]:
    try:
        handler = server.handlers()[request["op"]]
        return {"ok": True, **handler(request)}
    except StageError as error:
        frames = traceback.extract_tb(error.__cause__.__traceback__) if error.__cause__ else []
        own = [frame for frame in frames if frame.filename.startswith(f"{server.root}{os.sep}")]
        where = f"{Path(own[-1].filename).relative_to(server.root)}:{own[-1].lineno}" if own else ""
        return {"ok": False, "stage": error.stage, "error": str(error), "where": where}


def main(arguments: list[str], kind: type[Server] = Server) -> None:
    """Serve until stdin ends. `arguments` are the names the case file goes by."""
    answers: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    npu_standin.install()
    server = kind(arguments)
    for line in sys.stdin:
        print(json.dumps(_answer(server, json.loads(line))), file=answers, flush=True)
