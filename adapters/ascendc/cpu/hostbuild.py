"""Builds an operator of the msopgen layout for this CPU: op_host, binding, and one kernel library per data types.

    libopmend_host.so   the operator's own op_host sources with host/launcher.cpp: definition, tiling, launch
    <module>.so         the task's pybind.cpp against the small stand-ins for torch
    opmend_kernel_<column>_<key>.so   op_kernel compiled for one column of the definition's data types

The definition and the tiling structures are asked of the host library itself, in a process of its own under limits, and
the kernel's unit is generated from the answer: DTYPE_*, ORIG_DTYPE_*, FORMAT_*, GET_TILING_DATA*, TILING_KEY_IS. The
tiling key is a value at run time; where an operator registers a structure per key it is a constant of the library.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters import sandbox
from adapters.ascendc.cpu import compiler as cc
from adapters.ascendc.cpu.build import DEBUG_ROOT, RUNTIME_NAME, Device, _Builder
from adapters.ascendc.cpu.cache import BuildCache, digest_of, digest_tree
from adapters.ascendc.cpu.compiler import CompileError
from adapters.ascendc.cpu.diagnostics import looks_like_a_clash
from adapters.ascendc.cpu.rewrite import blank_comments, rewrite_launches

__all__ = ["HOST", "HOST_NAME", "OperatorBuilder", "Variant", "kernel_name", "snake_case"]

HOST = Path(__file__).parent / "host"
HOST_NAME = "libopmend_host.so"
_MARK = "OPMEND-DESCRIPTION "
_LIMITS = sandbox.Limits(wall_seconds=60, cpu_seconds=30, memory_bytes=4 << 30, output_bytes=4 << 20)
#: The graph engine's data types: value, name, and the kernel's C++ type.
DATA_TYPES = {
    0: ("DT_FLOAT", "float"), 1: ("DT_FLOAT16", "half"), 2: ("DT_INT8", "int8_t"), 3: ("DT_INT32", "int32_t"),
    4: ("DT_UINT8", "uint8_t"), 6: ("DT_INT16", "int16_t"), 7: ("DT_UINT16", "uint16_t"), 8: ("DT_UINT32", "uint32_t"),
    9: ("DT_INT64", "int64_t"), 10: ("DT_UINT64", "uint64_t"), 11: ("DT_DOUBLE", "double"), 12: ("DT_BOOL", "bool"),
    16: ("DT_COMPLEX64", "float"), 27: ("DT_BF16", "bfloat16_t"),
}  # fmt: skip
#: Tiling structures of the high-level functions: the device's headers have them already.
DEVICE_STRUCTURES = frozenset({"SoftMaxTiling", "LogSoftMaxTiling", "TCubeTiling"})
_ENTRY = re.compile(r"__global__[\s\w]*?\bvoid\s+(\w+)\s*\(|\bKERNEL_API\s+void\s+(\w+)\s*\(")
_HOST_WORDS = re.compile(
    r"\bTilingContext\b|\bOpDef\b|\bOP_ADD\b|\bIMPL_OP_OPTILING\b|\bREGISTER_TILING_|\bgraphStatus\s+\w+::\w"
)
_OP_API = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<](?:opdev|aclnn|aclnn_kernels)/', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Variant:
    """One kernel library: the column of the definition's data types, and the tiling key (0 unless a constant)."""

    column: int
    key: int

    @property
    def file_name(self) -> str:
        return f"opmend_kernel_{self.column}_{self.key}.so"


def snake_case(name: str) -> str:
    """An operator's type as the name of its files and kernel: `AddLayerNorm` -> `add_layer_norm`."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def kernel_name(source: str, wanted: str) -> str | None:
    """The kernel function of a source: `wanted` if it is there, else the first `__global__` one."""
    names = [first or second for first, second in _ENTRY.findall(blank_comments(source))]
    return wanted if wanted in names else names[0] if names else None


class OperatorBuilder:
    """Builds from `files` (paths under `op_host/` and `op_kernel/`) and the binding's text; all results are cached."""

    def __init__(self, files: Mapping[str, str], binding: str, level: int, cache: Path) -> None:
        self.files, self.binding, self.level = dict(files), binding, level
        self.cache = BuildCache(cache)
        self.compiler = cc.find_compiler()
        self.builder = _Builder(self.compiler, self.cache, Device(), level)
        self.stand_ins = digest_tree(HOST, cc.COMPAT)
        self.compiled = False

    # ------------------------------------------------------------ the host library and the binding

    def host(self) -> Path:
        """The entry with `libopmend_host.so`, the runtime library and `description.json`."""
        runtime = self.builder.runtime()
        units = self._host_units()
        if not units:
            raise CompileError("error: op_host has no source with a definition or a tiling function")
        objects = [self._host_objects(units), self._launcher()]
        key = digest_of([runtime.name, *(entry.name for entry in objects)])

        def make(folder: Path) -> None:
            shutil.copyfile(runtime / RUNTIME_NAME, folder / RUNTIME_NAME)
            inputs = [str(path) for entry in objects for path in sorted(entry.glob("*.o"))]
            options = ["-shared", "-Wl,-rpath,$ORIGIN", f"-L{folder}", f"-Wl,-soname,{HOST_NAME}"]
            self._run([*options, *inputs, "-lopmend_rt", "-ldl", "-o", HOST_NAME], folder, objects)
            shutil.rmtree(folder / ".tmp", ignore_errors=True)
            (folder / "description.json").write_text(json.dumps(_describe(folder / HOST_NAME)))

        return self.cache.get_or_make("host", key, make)[0]

    def module(self, name: str) -> Path:
        """The entry with the binding `<name>.<ext>.so`, to lie beside the host library."""
        host = self.host()
        key = digest_of([self.builder.host.key, self.stand_ins, host.name, name, self.binding])

        def make(folder: Path) -> None:
            header = self.builder.header("binding")
            with self.cache.scratch() as scratch:
                work = Path(scratch)
                (work / "kernel").mkdir()
                (work / "kernel" / "pybind.cpp").write_text(self.binding)
                flags = [*self.builder.host.flags, f"-DTORCH_EXTENSION_NAME={name}", "-include"]
                arguments = [*flags, str(header / "binding.h"), "-c", "kernel/pybind.cpp", "-o", "unit.o"]
                self._run(arguments, work, [header, HOST])
                target = f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
                options = ["-shared", "-Wl,-rpath,$ORIGIN", f"-L{host}", f"-Wl,-rpath-link,{host}"]
                self._run([*options, "unit.o", "-lopmend_host", "-lopmend_rt", "-o", target], work, [host])
                shutil.copyfile(work / target, folder / target)

        return self.cache.get_or_make("binding", key, make)[0]

    def _host_units(self) -> list[str]:
        """Sources that define or tile. Shape inference alone and hand-written aclnn functions (op_api) do not run."""
        found = [n for n in self.files if n.startswith("op_host/") and n.endswith((".cpp", ".cc"))]
        return [n for n in found if _HOST_WORDS.search(self.files[n]) and not _OP_API.search(self.files[n])]

    def _host_objects(self, units: Sequence[str]) -> Path:
        texts = [part for n, t in sorted(self.files.items()) if n.startswith("op_host/") for part in (n, t)]
        key = digest_of([self.compiler.fingerprint, *self._host_flags(), self.stand_ins, *units, *texts])

        def make(folder: Path) -> None:
            with self.cache.scratch() as scratch:
                work = self._write(Path(scratch), "op_host/")
                try:
                    self._host_unit(units, work, folder / "unit.o")
                except CompileError as error:
                    if len(units) == 1 or not looks_like_a_clash(error.log):
                        raise
                    for number, unit in enumerate(units):
                        self._host_unit([unit], work, folder / f"unit{number}.o")

        return self.cache.get_or_make("hostobject", key, make)[0]

    def _host_unit(self, units: Sequence[str], work: Path, target: Path) -> None:
        (work / "unit.cpp").write_text("".join(f'#include "kernel/{unit}"\n' for unit in units))
        map_ = f"-ffile-prefix-map={work}={DEBUG_ROOT}"
        self._run([*self._host_flags(), map_, "-c", "unit.cpp", "-o", "unit.o"], work, [HOST])
        shutil.copyfile(work / "unit.o", target)

    def _launcher(self) -> Path:
        key = digest_of([self.compiler.fingerprint, *self._host_flags(), self.stand_ins])

        def make(folder: Path) -> None:
            source = str(HOST / "launcher.cpp")
            self._run([*self._host_flags(), "-fvisibility=hidden", "-c", source, "-o", "launcher.o"], folder, [HOST])
            shutil.rmtree(folder / ".tmp", ignore_errors=True)

        return self.cache.get_or_make("launcher", key, make)[0]

    def _host_flags(self) -> list[str]:
        relaxed = ["-Wno-narrowing", "-fpermissive", "-w", "-include", str(HOST / "opmend" / "opdef.h")]
        base = [flag for flag in self.compiler.base_flags(None) if flag != "-Werror=narrowing"]
        return [*base, *relaxed, f"-I{HOST}", f"-idirafter{cc.COMPAT}", "-Ikernel/op_host"]

    # ------------------------------------------------------------ kernels

    def description(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.host() / "description.json").read_text())
        return found

    def kernel(self, variant: Variant) -> Path:
        """The kernel library of one variant. Raises CompileError."""
        description = self.description()
        name, source = self._kernel_source(description["operators"])
        unit = _unit(description, variant, name, source)
        texts = [part for n, t in sorted(self.files.items()) if n.startswith("op_kernel/") for part in (n, t)]
        runtime = self.builder.runtime()
        key = digest_of([self.builder.device_recipe.key, self.stand_ins, runtime.name, unit, *texts])

        def make(folder: Path) -> None:
            header = self.builder.header("kernel")
            with self.cache.scratch() as scratch:
                work = self._write(Path(scratch), "op_kernel/", rename=(source, name))
                (work / "unit.cpp").write_text(unit)
                more = [f"-ffile-prefix-map={work}={DEBUG_ROOT}", "-include", str(header / "kernel.h")]
                paths = ["-Ikernel/op_kernel", "-Ikernel", f"-I{HOST / 'kernel'}"]
                arguments = [*self.builder.device_recipe.flags, *more, *paths, "-c", "unit.cpp", "-o", "unit.o"]
                self._run(arguments, work, [*self.builder.device_recipe.readable, header, HOST])
                options = ["-shared", "-Wl,-rpath,$ORIGIN", f"-L{runtime}"]
                self._run([*options, "unit.o", "-lopmend_rt", "-o", variant.file_name], work, [runtime])
                shutil.copyfile(work / variant.file_name, folder / variant.file_name)

        return self.cache.get_or_make("kernel", key, make)[0] / variant.file_name

    def _kernel_source(self, operators: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
        """(kernel function, its file)."""
        if not operators:
            raise CompileError("error: op_host adds no operator (OP_ADD)")
        wanted = snake_case(operators[0]["name"])
        units = [n for n in self.files if n.startswith("op_kernel/") and n.endswith((".cpp", ".cc"))]
        for unit in sorted(units, key=lambda n: Path(n).stem != wanted):
            if name := kernel_name(self.files[unit], wanted):
                return name, unit
        raise CompileError(f"error: op_kernel has no __global__ function {wanted}")

    def _write(self, work: Path, prefix: str, rename: tuple[str, str] | None = None) -> Path:
        for name, text in self.files.items():
            if name.startswith(prefix):
                path = work / "kernel" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if rename and name == rename[0]:  # a kernel `sqrt` with C linkage would be libm's
                    text = re.sub(rf"\bvoid(\s+){rename[1]}(\s*\()", rf"void\1opmend_kernel_{rename[1]}\2", text)
                    text = rewrite_launches(re.sub(rf"\b{rename[1]}(\s*<<<)", rf"opmend_kernel_{rename[1]}\1", text))
                path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return work

    def _run(self, arguments: Sequence[str], work: Path, readable: Sequence[Path]) -> None:
        self.compiled = True
        self.compiler.run(arguments, work, readable)


def _describe(library: Path) -> dict[str, Any]:
    """What the host library says about itself; running its constructors is running the candidate's code."""
    files = sandbox.Files(
        readable=[str(library.parent), str(HOST), "/etc", "/proc/self", "/dev"],
        executable=["/usr", "/lib", "/lib64", "/bin", sys.prefix, sys.base_prefix],
    )
    command = [sys.executable, "-I", "-S", str(HOST / "describe.py"), str(library)]
    done = sandbox.run(command, _LIMITS, env=sandbox.scrubbed_environment(), files=files)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if not done.ok or not lines:
        raise CompileError(f"error: the host library does not load: {(done.stderr or done.stdout).strip()[-500:]}")
    try:
        found: dict[str, Any] = json.loads(lines[-1].removeprefix(_MARK))
    except ValueError as error:
        raise CompileError(f"error: the host library describes itself wrongly: {error}") from error
    return found


def _unit(description: Mapping[str, Any], variant: Variant, name: str, source: str) -> str:
    """The text of a kernel's translation unit."""
    operator = description["operators"][0]
    lines = ['#include "opmend_entry.h"', "using AscendC::GetBlockIdx;", "using AscendC::GetBlockNum;"]
    lines += ["#undef ASSERT", "#define ASSERT(...)"]  # as in the vendor's NPU build: sources rely on it being nothing
    lines.append("#define ASCENDC_CPU_DEBUG 1")  # leaves out launchers of the kernel's own, which nothing calls here
    lines += [f"#define {dt} {value}" for value, (dt, _) in DATA_TYPES.items()]
    for parameter in {p["name"]: p for p in (*operator["outputs"], *operator["inputs"])}.values():
        upper, types, formats = parameter["name"].upper(), parameter["types"], parameter["formats"]
        if types:
            value = types[min(variant.column, len(types) - 1)]
            if value in DATA_TYPES:
                lines += [f"#define DTYPE_{upper} {DATA_TYPES[value][1]}", f"#define ORIG_DTYPE_{upper} {value}"]
        if formats:
            lines.append(f"#define FORMAT_{upper} {formats[min(variant.column, len(formats) - 1)]}")
    own = [c for c in description["classes"] if c["name"] not in DEVICE_STRUCTURES]
    lines += [f"struct {c['name']} {{ {_members(c)} }};" for c in own]
    lines += [f'static_assert(sizeof({c["name"]}) == {c["bytes"]}, "layout");' for c in description["classes"]]
    registered = description["registered"]
    keyed = f"{operator['name']}_{variant.key}"
    default = registered.get(keyed) or registered.get(operator["name"]) or next(iter(registered.values()), None)
    per_key = any(key.startswith(f"{operator['name']}_") for key in registered)
    lines.append(f"static uint64_t opmend_key = {variant.key};")
    known = f"{variant.key}ULL" if per_key else "opmend_key"
    lines.append(f"#define TILING_KEY_IS(key) ({known} == static_cast<uint64_t>(key))")
    lines.append(f"#define TILING_KEY_VAR {known}")
    lines.append("#undef KERNEL_TASK_TYPE")
    lines.append(
        "#define KERNEL_TASK_TYPE(key, type) do { if (TILING_KEY_IS(key)) KERNEL_TASK_TYPE_DEFAULT(type); } while (0)"
    )
    read = "::opmend_entry::read_tiling"
    if default:
        lines.append(f"#define GET_TILING_DATA(name, from) {default} name; {read}(name, from)")
    lines.append(f"#define GET_TILING_DATA_WITH_STRUCT(type, name, from) type name; {read}(name, from)")
    lines.append(
        "#define GET_TILING_DATA_MEMBER(type, member, name, from) decltype(type::member) name; "
        "memcpy(static_cast<void *>(&name), (from) + offsetof(type, member), sizeof name)"
    )
    lines.append("#define REGISTER_TILING_DEFAULT(type)")
    lines.append(f'#include "kernel/{source}"')
    lines.append('extern "C" void opmend_kernel_run(void **arguments, size_t count, uint64_t blocks, uint64_t key)')
    call = f'::opmend_entry::run("{name}", "{source}", 1, opmend_kernel_{name}, arguments, count, blocks)'
    lines.append(f"{{ opmend_key = key; {call}; }}")
    return "\n".join(lines) + "\n"


def _members(described: Mapping[str, Any]) -> str:
    return " ".join(f"{kind} {name}{f'[{count}]' if count else ''};" for kind, name, count in described["fields"])
