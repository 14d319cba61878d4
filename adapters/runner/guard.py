"""What ``import`` finds in the candidate's process: its own folder, the libraries, and neither the reference nor the
engine.

Loaded by path in the candidate's process; standard library only. This is about names a candidate may use by habit.
That files are out of reach is the sandbox's business.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_ENGINE_PACKAGES = frozenset({"adapters", "statemachine", "events", "kb", "replay", "cli"})
_NPU_MODULES = frozenset({"torch_npu", "torch_npu.contrib", "torch_npu.contrib.transfer_to_npu"})
_REFERENCE = "the reference (model.py) is not available to the candidate"


class NpuStandIn(importlib.abc.Loader):
    """Loads an empty ``torch_npu``: wrappers import it to register the device, which is the CPU here."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The import system's hook: an ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """The import system's hook: fill the module."""

        def missing(name: str) -> None:
            if name.startswith("__"):
                raise AttributeError(name)
            raise AttributeError(f"torch_npu.{name} does not exist on the CPU device: use the candidate's kernels")

        module.__dict__["__getattr__"] = missing


class CandidateFinder:
    """Resolves ``current_task`` and the task's own name to the candidate's folder, and hides the engine's packages."""

    def __init__(self, folder: Path, task_name: str) -> None:
        self._folder = folder
        self._aliases = {"current_task"} | ({task_name} if task_name.isidentifier() else set())
        self._aliases.discard("model")

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The import system's hook: a spec, None for "not mine", or an ImportError that says why."""
        head, _, rest = name.partition(".")
        if head == "torch_npu" and name in _NPU_MODULES:
            return importlib.machinery.ModuleSpec(name, NpuStandIn(), is_package=True)
        if rest:
            if head in self._aliases and rest == "model" and not (self._folder / "model.py").exists():
                raise ModuleNotFoundError(f"{name}: {_REFERENCE}", name=name)
            return None
        if head in self._aliases:
            init = self._folder / "__init__.py"
            if init.exists():
                return importlib.util.spec_from_file_location(
                    name, init, submodule_search_locations=[str(self._folder)]
                )
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(self._folder)]
            return spec
        if head == "model" or head in _ENGINE_PACKAGES:
            spec_here = importlib.machinery.PathFinder.find_spec(name, [str(self._folder)])
            if spec_here is None:
                why = _REFERENCE if head == "model" else "the engine is not available to the candidate"
                raise ModuleNotFoundError(f"{name}: {why}", name=name)
            return spec_here
        return None


def redirect_libraries(module: Path) -> None:
    """Let ``ctypes.CDLL`` (and ``torch.ops.load_library``, which uses it) find the built module where a wrapper looks
    for a library of its own build: a ``.so`` that is not there, named with a folder or as one beside the module.
    """
    plain = ctypes.CDLL.__init__

    def find(self: ctypes.CDLL, name: Any, *more: Any, **options: Any) -> None:
        if isinstance(name, str | os.PathLike):
            path = Path(name)
            beside = len(path.parts) == 1 and (module.parent / path).exists()
            if path.suffix == ".so" and not path.exists() and (len(path.parts) > 1 or beside):
                name = str(module)
        plain(self, name, *more, **options)

    ctypes.CDLL.__init__ = find  # type: ignore[method-assign]


def install(folder: Path, task_name: str) -> None:
    """Put the finder first and the folder on ``sys.path``; compiled Python is neither read nor written there."""
    sys.dont_write_bytecode = True
    sys.meta_path.insert(0, CandidateFinder(folder, task_name))
    sys.path.insert(0, str(folder))
