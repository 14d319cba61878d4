"""A candidate's kernel folder made into an importable extension for this CPU, rebuilding only what a change touches.

All kernel files go into one translation unit (several times quicker than one each); where their names clash they are
compiled apart. The binding is a unit of its own, against small stand-ins for torch's headers. Launches are rewritten
first (``rewrite.py``); nothing else of the user's text changes, so messages and debug information name the user's
files and lines. Compiler runs are bounded and see nothing but the sources and the system. The result lies in a cache
entry together with the runtime library it needs, found through ``$ORIGIN``.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sysconfig
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pybind11

from adapters import sandbox
from adapters.ascendc.cpu import compiler as cc
from adapters.ascendc.cpu import realtorch
from adapters.ascendc.cpu.cache import BuildCache, digest_of, digest_tree
from adapters.ascendc.cpu.compiler import CompileError, Compiler
from adapters.ascendc.cpu.diagnostics import SourceError, first_error, looks_like_a_clash, shorten, strip_root
from adapters.ascendc.cpu.generated import launch_header, launch_stub
from adapters.ascendc.cpu.sources import SourceTree, SourceTreeError, included_names, read_sources

__all__ = ["DEBUG_ROOT", "BuildResult", "Device", "build", "warm_up"]

RUNTIME_NAME = "libopmend_rt.so"
DEBUG_ROOT = "/opmend"  # stands for the build folder in debug information, so that equal sources give equal objects

_KERNEL_PCH = '#include "kernel_operator.h"\n'
_BINDING_PCH = (
    "#include <pybind11/pybind11.h>\n#include <torch/extension.h>\n"
    '#include "acl/acl.h"\n#include "torch_npu/csrc/core/npu/NPUStream.h"\n'
)
_SYMBOL = re.compile(r"^\s+U (?P<name>\S+)$", re.MULTILINE)
_DEFINED = re.compile(r"^\S+ [TDBRVWu] (?P<name>[^\s@]+)", re.MULTILINE)
_OWN_PREFIXES = ("Py", "_Py", "opmend_")


@dataclass(frozen=True)
class Device:
    """Where the device's C++ lies: ``include`` (``kernel_operator.h``) and ``runtime`` (the sources of one shared
    library).
    """

    include: Path = cc.INCLUDE
    runtime: Path = cc.RUNTIME_SOURCES


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build gave. ``so_path`` and ``runtime_so`` lie in the same folder; paths in ``log`` and ``first_error``
    are relative to the kernel folder.

    ``log`` holds the compiler's messages (warnings when ok), shortened. ``cached`` says that no compiler ran for the
    candidate. ``undefined`` lists the symbols that the module takes from elsewhere, for the integrity layer; whether
    they are acceptable is not judged here.
    """

    ok: bool
    so_path: Path | None
    runtime_so: Path | None
    module_name: str | None
    log: str
    first_error: SourceError | None
    seconds: float
    cached: bool
    so_sha256: str | None = None
    undefined: tuple[str, ...] = ()


def build(
    kernel_dir: Path, *, level: int, cache: Path, module_hint: str | None = None, device: Device | None = None
) -> BuildResult:
    """Build the sources under ``kernel_dir`` (left untouched) with checks of ``level`` (0-3).

    A candidate that does not build is a result, not an exception.

    Raises:
        sandbox.SandboxError: there is no usable compiler, or the device's own sources do not compile.
    """
    started = time.monotonic()
    builder = _Builder(cc.find_compiler(), BuildCache(cache), device or Device(), level)
    try:
        tree = read_sources(kernel_dir, module_hint)
        module = builder.module(tree)
    except SourceTreeError as error:
        return _failed(str(error), error.error, started)
    except CompileError as error:
        return _failed(shorten(strip_root(error.log)), first_error(error.log), started)
    so_path = module / _file_name(tree)
    return BuildResult(
        ok=True,
        so_path=so_path,
        runtime_so=module / RUNTIME_NAME,
        module_name=tree.module_name,
        log=shorten(strip_root((module / "log").read_text(errors="replace"))),
        first_error=None,
        seconds=time.monotonic() - started,
        cached=not builder.compiled,
        so_sha256=hashlib.sha256(so_path.read_bytes()).hexdigest(),
        undefined=tuple((module / "undefined").read_text().split()),
    )


def warm_up(cache: Path, *, level: int, device: Device | None = None) -> float:
    """Build what does not depend on a candidate (runtime library, precompiled headers); returns the seconds it took."""
    started = time.monotonic()
    builder = _Builder(cc.find_compiler(), BuildCache(cache), device or Device(), level)
    builder.runtime()
    builder.header("kernel")
    builder.header("binding")
    return time.monotonic() - started


def _failed(log: str, error: SourceError, started: float) -> BuildResult:
    return BuildResult(False, None, None, None, log, error, time.monotonic() - started, cached=False)


class _Recipe(NamedTuple):
    """How units of one sort are compiled: all flags, the key of what they depend on, and further readable folders."""

    flags: list[str]
    key: str
    readable: list[Path]


class _Builder:
    """One build: knows the keys, and remembers whether any of the candidate's code had to be compiled."""

    def __init__(self, compiler: Compiler, cache: BuildCache, device: Device, level: int) -> None:
        self.compiler, self.cache, self.device = compiler, cache, device
        stand_ins = [
            compiler.fingerprint,
            pybind11.__version__,
            sysconfig.get_config_var("SOABI"),
            digest_tree(cc.COMPAT),
        ]
        flags = [*compiler.base_flags(None), *compiler.include_flags()]
        self.host = _Recipe(flags, digest_of([*stand_ins, *compiler.base_flags(None)]), [])
        flags = [*compiler.base_flags(level), f"-I{device.include}", *compiler.include_flags()]
        key = digest_of([*stand_ins, *compiler.base_flags(level), digest_tree(device.include)])
        self.device_recipe = _Recipe(flags, key, [device.include])
        self.real = _Recipe(*realtorch.recipe(flags, key, compiler.fingerprint), [device.include, *realtorch.folders()])
        self.compiled = self.real_torch = False

    def module(self, tree: SourceTree) -> Path:
        """The cache entry that holds the linked module, its runtime library, its log and its undefined symbols."""
        runtime = self.runtime()
        try:
            binding = [self.object(tree, (tree.binding,), "binding")] if tree.binding else []
            objects = [*binding, *self.kernels(tree, tree.units)]
        except CompileError as error:
            if not (realtorch.AVAILABLE and tree.torch_units and realtorch.may_help(error.log)):
                raise
            objects = self.with_real_torch(tree, error)
        key = digest_of([runtime.name, _file_name(tree), *(entry.name for entry in objects)])
        return self.cache.get_or_make("module", key, lambda folder: self.link(folder, tree, objects, runtime))[0]

    def with_real_torch(self, tree: SourceTree, refused: CompileError) -> list[Path]:
        """The objects once more, everything that sees torch against torch's own headers: slow, and said in the log.

        Where that fails too, the first failure stands: it names what the stand-ins lack.
        """
        units = tree.torch_units
        try:
            objects = self.kernels(tree, units, "real")
        except CompileError:
            raise refused from None
        self.real_torch = True
        return [*objects, *self.kernels(tree, [unit for unit in tree.units if unit not in units])]

    def kernels(self, tree: SourceTree, units: Sequence[str], kind: str = "kernel") -> list[Path]:
        """The objects of `units`: one for all of them, or one each where together they clash."""
        if not units:
            return []
        apart = [self.object_key(tree, (unit,), kind) for unit in units]
        if len(apart) > 1 and all(self.cache.find("object", key) for key in apart):
            return [self.object(tree, (unit,), kind) for unit in units]
        try:
            return [self.object(tree, units, kind)]
        except CompileError as error:
            if len(units) == 1 or not looks_like_a_clash(error.log):
                raise
            return [self.object(tree, (unit,), kind) for unit in units]

    def object_key(self, tree: SourceTree, units: Sequence[str], kind: str) -> str:
        texts = [part for name, text in tree.closure(units).items() for part in (name, text)]
        texts += [part for stub in tree.stubs.values() for part in (launch_header(stub), launch_stub(stub))]
        return digest_of(
            [self.recipe(tree, units, kind).key, kind, tree.module_name if kind == "binding" else "", *units, *texts]
        )

    def recipe(self, tree: SourceTree, units: Sequence[str], kind: str) -> _Recipe:
        """A binding that includes nothing of the device is the same for every level and every change of the device."""
        if kind == "real":
            return self.real
        names = (name for text in tree.closure(units).values() for name in included_names(text))
        needs_device = (
            kind == "kernel"
            or tree.stubs_in(units)
            or any((self.device.include / Path(name).parts[0]).exists() for name in names)
        )
        return self.device_recipe if needs_device else self.host

    def object(self, tree: SourceTree, units: Sequence[str], kind: str) -> Path:
        """The cache entry with ``unit.o`` made of ``units`` (its ``log`` beside it)."""

        def make(folder: Path) -> None:
            self.compiled = True
            started = time.monotonic()
            recipe = self.recipe(tree, units, kind)
            header = self.header(kind)
            with self.cache.scratch() as scratch:
                work = Path(scratch)
                tree.write(work / "kernel")
                lines = [f'#include "kernel/{unit}"\n' for unit in units]
                lines += [launch_stub(stub) for stub in tree.stubs_in(units)]
                (work / "unit.cpp").write_text("".join(lines), errors="surrogateescape")
                name = [f"-DTORCH_EXTENSION_NAME={tree.module_name}"] if kind != "kernel" else []
                more = [
                    *name,
                    f"-ffile-prefix-map={work}={DEBUG_ROOT}",
                    "-include",
                    str(header / f"{kind}.h"),
                    "-Ikernel",
                ]
                arguments = [*recipe.flags, *more, "-c", "unit.cpp", "-o", "unit.o"]
                log = self.compiler.run(arguments, work, [*recipe.readable, header])
                shutil.copyfile(work / "unit.o", folder / "unit.o")
            said = realtorch.NOTE.format(seconds=time.monotonic() - started) if kind == "real" else ""
            (folder / "log").write_text(said + log, errors="replace")

        return self.cache.get_or_make("object", self.object_key(tree, units, kind), make)[0]

    def link(self, folder: Path, tree: SourceTree, objects: Sequence[Path], runtime: Path) -> None:
        """Link into ``folder``; a symbol that nothing defines is an error here rather than at import."""
        self.compiled = True
        shutil.copyfile(runtime / RUNTIME_NAME, folder / RUNTIME_NAME)
        target = folder / _file_name(tree)
        inputs = [str(entry / "unit.o") for entry in objects]
        options = ["-shared", "-Wl,-rpath,$ORIGIN", "-Wl,-z,now", f"-L{folder}"]
        torch = realtorch.link_options() if self.real_torch else []
        self.compiler.run([*options, *inputs, "-lopmend_rt", *torch, "-o", str(target)], folder, list(objects))
        shutil.rmtree(folder / ".tmp")
        undefined = [match["name"] for match in _SYMBOL.finditer(_nm(target, "--undefined-only"))]
        provided = {match["name"] for match in _DEFINED.finditer(_nm(folder / RUNTIME_NAME, "--defined-only"))}
        missing = [
            name
            for name in undefined
            if "@" not in name
            and name not in provided
            and not name.startswith(_OWN_PREFIXES)
            and not realtorch.provides(name)
        ]
        if missing:
            names = ", ".join(missing[:8])
            raise CompileError(
                f"error: no source defines {names}: declared and used, but no kernel or launcher of that name exists"
            )
        (folder / "undefined").write_text("\n".join(undefined))
        (folder / "log").write_text("".join((entry / "log").read_text(errors="replace") for entry in objects))

    def header(self, kind: str) -> Path:
        """The entry with ``<kind>.h`` and its precompiled form beside it."""
        text = {"binding": _BINDING_PCH, "kernel": _KERNEL_PCH, "real": realtorch.HEADER}[kind]
        recipe = {"binding": self.host, "kernel": self.device_recipe, "real": self.real}[kind]

        def make(folder: Path) -> None:
            (folder / f"{kind}.h").write_text(text)
            arguments = [*recipe.flags, "-x", "c++-header", f"{kind}.h", "-o", f"{kind}.h.gch"]
            self._own(arguments, folder, recipe.readable)

        return self.cache.get_or_make("header", digest_of([recipe.key, kind, text]), make)[0]

    def runtime(self) -> Path:
        """The entry with the device's runtime library."""
        flags = [*self.compiler.base_flags(None), "-O2"]
        roots = (self.device.runtime, self.device.include)

        def make(folder: Path) -> None:
            sources = [str(path) for path in sorted(self.device.runtime.glob("*.cpp"))]
            link = ["-shared", f"-Wl,-soname,{RUNTIME_NAME}", "-pthread", "-ldl", "-o", RUNTIME_NAME]
            self._own([*flags, f"-I{self.device.include}", *sources, *link], folder, list(roots))

        return self.cache.get_or_make(
            "runtime", digest_of([self.compiler.fingerprint, *flags, digest_tree(*roots)]), make
        )[0]

    def _own(self, arguments: Sequence[str], folder: Path, readable: Sequence[Path]) -> None:
        try:
            self.compiler.run(arguments, folder, readable)
        except CompileError as error:
            raise sandbox.SandboxError(
                f"the device's own sources do not compile with {self.compiler.version}:\n{shorten(error.log)}"
            ) from None
        shutil.rmtree(folder / ".tmp")


def _file_name(tree: SourceTree) -> str:
    """An extension module carries Python's suffix; a library that is loaded by path does not."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX") if tree.form == "pybind" else ".so"
    return f"{tree.module_name}{suffix}"


def _nm(path: Path, which: str) -> str:
    done = sandbox.run(["nm", "-D", which, str(path)], sandbox.Limits(wall_seconds=60, output_bytes=8 << 20))
    if not done.ok:
        raise sandbox.SandboxError(f"nm cannot read {path.name}: {done.stderr.strip()[:300]}")
    return done.stdout
