"""The reference's process of an msopgen task: runs validation/module.py and prepare_inputs.py for one row at a time.

Serves the same protocol as `reference_main`, with one request, `row`: inputs, constructor arguments and expected
outputs of one row of test_cases.csv. The modules that exist only beside an NPU (torch_npu, the built binding, the
benchmark's framework) are stood in for by empty ones: the reference computes with torch on this CPU.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from adapters import tensorfile
from adapters.tasks import reference_main as base
from adapters.tasks import torchvalues
from adapters.tasks.reference_main import StageError

_EMPTY = (
    "torch_npu", "torch_npu.contrib", "torch_npu.contrib.transfer_to_npu", "kernel_gen_ops", "framework",
    "framework.utils",
)  # fmt: skip


class Row(dict[str, Any]):
    """A row as task code reads it: `row["x"]`, `row.get("x", d)`, `row.x`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class RowServer(base.Server):
    """Serves `row` requests."""

    def handlers(self) -> dict[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        return {"row": self.row}

    def row(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write `inputs`, `init` and `expected` of one row."""
        _stand_in()
        row = Row(request["row"])
        base._seed(request["seed"])
        module = self._file("module")
        maker = module if hasattr(module, "get_init_inputs") else self._file("prepare_inputs")
        base._seed(request["seed"])
        given = base._stage("get_init_inputs()", lambda: maker.get_init_inputs(row, device="cpu"))
        init = list(given) if isinstance(given, list | tuple) else [] if given is None else [given]
        made = base._stage("get_inputs()", lambda: maker.get_inputs(row, device="cpu"))
        group = list(made) if isinstance(made, list | tuple) else [made]
        tensorfile.save(Path(request["inputs"]), [torchvalues.to_value(item) for item in group])
        tensorfile.save(Path(request["init"]), [torchvalues.to_value(item) for item in init])
        base._seed(request["init_seed"])
        model = base._stage("Model(...)", lambda: module.Model(*init).eval())
        with torch.no_grad():
            result = base._stage("Model.forward()", lambda: model(*copy.deepcopy(group)))
        expected = base._stage("Model.forward()", lambda: torchvalues.outputs(result))
        tensorfile.save(Path(request["expected"]), [list(expected), sum(1 for _ in model.parameters())])
        return {}

    def _file(self, name: str) -> ModuleType:
        path = self.root / f"{name}.py"
        if not path.is_file():
            raise StageError("import", f"validation/{name}.py is missing")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader = spec.loader
        base._stage("import", lambda: loader.exec_module(module))
        return module


def _stand_in() -> None:
    for name in _EMPTY:
        if name not in sys.modules:
            module = ModuleType(name)
            module.__path__ = []
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)
    if not hasattr(sys.modules["framework.utils"], "check_precision"):
        sys.modules["framework.utils"].check_precision = None  # type: ignore[attr-defined]


def main(arguments: list[str]) -> None:
    """Serve until stdin ends."""
    base.main(arguments, RowServer)
