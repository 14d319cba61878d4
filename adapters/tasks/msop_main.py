"""The reference's process of an msopgen task: runs validation/module.py and prepare_inputs.py for one row at a time.

Serves the same protocol as `reference_main`, with the requests `row` (inputs, constructor arguments and expected
outputs of one row of test_cases.csv) and `check` (the task's own judgement of outputs). The modules that exist only
beside an NPU (torch_npu, the built binding, the benchmark's framework) are stood in for: the reference computes with
torch on this CPU.
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


#: Both bounds of the benchmark's default rule (its base_config.yaml).
BENCHMARK_ERROR = 1e-3


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
        return {"row": self.row, "check": self.check}

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

    def check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whether the task's own check (or the benchmark's, where it has none) takes `outputs` for those expected."""
        _stand_in()
        expected, outputs = _tensors(request["expected"]), _tensors(request["outputs"])
        row = Row(request["row"])
        has_file = (self.root / "prepare_inputs.py").is_file()
        own = getattr(self._file("prepare_inputs") if has_file else None, "custom_check_precision", None)
        if own is None:
            taken = check_precision(expected, outputs, BENCHMARK_ERROR, BENCHMARK_ERROR)[0]
        else:
            taken = base._stage("custom_check_precision()", lambda: own(row, expected, outputs)[0])
        return {"passed": bool(taken), "own": own is not None}

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
    sys.modules["framework.utils"].check_precision = check_precision  # type: ignore[attr-defined]
    torch.rand = _rand


_torch_rand = torch.rand


def _rand(*size: Any, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    """torch.rand as beside an NPU, whose uniform fill also takes integer dtypes: numbers of [0, 1), truncated."""
    if dtype is None or dtype.is_floating_point or dtype.is_complex:
        return _torch_rand(*size, dtype=dtype, **options)
    return _torch_rand(*size, **options).to(dtype)


def check_precision(
    expected: Any, outputs: Any, max_abs_error: float, max_rel_error: float
) -> tuple[int, torch.Tensor, torch.Tensor]:
    """The benchmark's rule: everything finite, and no element beyond both bounds. Verdict, absolute and relative
    differences; task code imports it from `framework.utils`."""
    taken, absolutes, relatives = True, [], []
    for want, got in zip(_listed(expected), _listed(outputs), strict=False):
        if got.dtype == torch.bool:
            want, got = want.to(torch.int), got.to(torch.int)
        absolute = (want - got).abs()
        relative = absolute / (want.abs() + 1e-7)
        finite = all(bool(torch.isfinite(part).all()) for part in (want, got, absolute, relative))
        taken = taken and finite and not bool(((absolute > max_abs_error) & (relative > max_rel_error)).any())
        absolutes.append(absolute.reshape(-1))
        relatives.append(relative.reshape(-1))
    return int(taken), torch.cat(absolutes), torch.cat(relatives)


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _tensors(path: str) -> list[torch.Tensor]:
    arrays = tensorfile.arrays_of(tensorfile.load(Path(path), max_bytes=Path(path).stat().st_size))
    return [torchvalues.to_tensor(array) for array in arrays]


def main(arguments: list[str]) -> None:
    """Serve until stdin ends."""
    base.main(arguments, RowServer)
