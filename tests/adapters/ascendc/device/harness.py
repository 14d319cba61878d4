"""Drives the embedded device from Python through its C interface: compile, register tensors, launch, read the report.

Kernels are compiled with the flags the toolchain uses. A library is loaded once per (source, level).
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adapters.ascendc.cpu.cache import digest_of, digest_tree
from adapters.ascendc.cpu.compiler import find_compiler

ROOT = Path(__file__).resolve().parents[4]
CPU = ROOT / "adapters" / "ascendc" / "cpu"
KERNELS = Path(__file__).parent / "kernels"

Array = NDArray[Any]


def flags(level: int | None) -> list[str]:
    """What the toolchain compiles device code of a check level with; None: the runtime library."""
    return find_compiler().base_flags(level)


@dataclass(frozen=True)
class Finding:
    kind: str
    api: str
    message: str
    count: int
    core: int
    frames: list[tuple[str, str]]


@dataclass(frozen=True)
class Report:
    launches: list[dict[str, Any]]
    findings: list[Finding]
    error: str | None

    @property
    def kinds(self) -> set[str]:
        return {finding.kind for finding in self.findings}

    def written(self, array: Array) -> int:
        """Distinct bytes of `array` that the last launch stored."""
        for write in self.launches[-1]["writes"]:
            if int(write["base"], 16) == array.ctypes.data:
                return int(write["written"])
        raise KeyError("the launch lists no write record for this array")


class Device:
    """The runtime library and the kernels compiled against it, kept in `cache` by the content of all they are made of:
    the workers of a test run, and later runs, compile each once."""

    def __init__(self, cache: Path, folder: Path) -> None:
        self._cache, self._folder = cache, folder
        self._kernels: dict[tuple[str, int], ctypes.CDLL] = {}
        self._sources = digest_tree(CPU / "include", CPU / "runtime", KERNELS)
        runtime = CPU / "runtime"
        self._library = self._made(
            "libopmend_rt.so", [str(runtime / "opmend_rt.cpp"), "-I", str(runtime), "-ldl"], None
        )
        self.runtime = ctypes.CDLL(str(self._library))
        self.runtime.opmend_report_json.restype = ctypes.c_char_p
        self.runtime.opmend_gm_register.argtypes = [ctypes.c_void_p, ctypes.c_uint64]

    def _made(self, name: str, arguments: Sequence[str], level: int | None) -> Path:
        target = self._cache / digest_of([self._sources, *flags(level), *arguments])[:20] / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                fresh = target.with_suffix(".new")
                self._compile(arguments, fresh, level)
                fresh.rename(target)
        return target

    def _compile(self, arguments: Sequence[str], output: Path, level: int | None = None) -> None:
        command = ["g++", *flags(level), "-shared", "-I", str(CPU / "include"), *arguments, "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\n{done.stderr}")

    def compile_error(self, source: str) -> str:
        """What the compiler says about a kernel source that must not compile."""
        path = self._folder / "rejected.cpp"
        path.write_text('#include "kernel_operator.h"\nusing namespace AscendC;\n' + source)
        command = ["g++", *flags(3), "-fsyntax-only", "-I", str(CPU / "include"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0, "the source compiles"
        return done.stderr

    def _linked(self, source: Path) -> list[str]:
        folder = self._library.parent
        return [str(source), "-L", str(folder), "-lopmend_rt", f"-Wl,-rpath,{folder}"]

    def compile_library(self, source: Path, output: Path, level: int = 3) -> None:
        """A kernel library at a check level, linked against the runtime."""
        self._compile(self._linked(source), output, level)

    def kernels(self, name: str, level: int = 3) -> ctypes.CDLL:
        """The library of kernels/<name>.cpp at a check level."""
        key = (name, level)
        if key not in self._kernels:
            output = self._made(f"{name}{level}.so", self._linked(KERNELS / f"{name}.cpp"), level)
            self._kernels[key] = ctypes.CDLL(str(output))
        return self._kernels[key]

    def reset(self) -> None:
        self.runtime.opmend_reset()
        self.runtime.opmend_set_core_order(0)
        self.runtime.opmend_set_noop(0)

    def register(self, array: Array, nbytes: int | None = None) -> ctypes.c_void_p:
        """Registers the array's exact extent (or its first `nbytes` bytes) and returns its address."""
        assert array.flags.c_contiguous
        self.runtime.opmend_gm_register(array.ctypes.data, array.nbytes if nbytes is None else nbytes)
        return ctypes.c_void_p(array.ctypes.data)

    def report(self) -> Report:
        raw = json.loads(self.runtime.opmend_report_json())
        findings = [
            Finding(f["kind"], f["api"], f["message"], f["count"], f["core"], [(m, o) for m, o in f["frames"]])
            for f in raw["findings"]
        ]
        return Report(raw["launches"], findings, raw["error"])


DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "int16": 3, "int32": 4, "uint16": 5, "int8": 6}


def run_operation(
    device: Device,
    name: str,
    a: Array,
    y: Array,
    b: Array | None = None,
    *,
    p: Sequence[int] = (),
    scalar: float = 0.0,
    dtype: str | None = None,
    level: int = 3,
    clean: bool = True,
    library: str = "operations",
) -> Array:
    """Runs one instruction of kernels/<library>.cpp; returns the new output (y holds the old one).

    `clean` asserts that the device has nothing to say about it.
    """
    second = np.zeros(8, np.float32) if b is None else b
    out = y.copy()
    integers = (ctypes.c_int64 * 16)(*[ctypes.c_int64(v).value for v in p])
    scalars = (ctypes.c_double * 2)(scalar)
    code = DTYPES.get(dtype or str(a.dtype), 0)
    failed = device.kernels(library, level).run_operation(
        name.encode(),
        code,
        device.register(a),
        a.nbytes,
        device.register(second),
        second.nbytes,
        device.register(out),
        out.nbytes,
        integers,
        scalars,
    )
    report = device.report()
    assert failed == 0, report.error
    if clean:
        assert report.findings == []
    return out
