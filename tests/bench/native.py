"""A candidate's module in this process: the kernel's own time, without the candidate's process around it."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from adapters.ascendc.cpu.build import build


class Native:
    """`kernel` (text by path) built with checks of `level` and loaded; `scratch` is an empty folder for the sources."""

    # One for all: by its name, the library that is loaded first serves the modules that come later.
    _device: ClassVar[ctypes.CDLL | None] = None
    # pybind11 gives a module of a name it knows again, so each gets a package of its own.
    _packages: ClassVar[count[int]] = count()

    def __init__(self, kernel: Mapping[str, str], level: int, builds: Path, scratch: Path) -> None:
        for name, text in kernel.items():
            (scratch / name).write_text(text)
        built = build(scratch, level=level, cache=builds)
        assert built.so_path and built.runtime_so and built.module_name, built.log
        if Native._device is None:
            Native._device = ctypes.CDLL(str(built.runtime_so), mode=os.RTLD_GLOBAL | os.RTLD_NOW)
            Native._device.opmend_report_json.restype = ctypes.c_char_p
        self.device = Native._device
        name = f"native{next(Native._packages)}.{built.module_name}"
        spec = importlib.util.spec_from_file_location(name, built.so_path)
        assert spec and spec.loader
        self.module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)
        assert self.module.__file__ == str(built.so_path)

    def reset(self) -> None:
        """Forget launches, findings and tensors, as at the beginning of a case."""
        self.device.opmend_reset()

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.device.opmend_report_json())
        return found
