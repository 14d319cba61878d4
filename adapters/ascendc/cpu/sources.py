"""The candidate's kernel folder as the build sees it: which files count, which is the binding, what includes what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from adapters.ascendc.cpu.diagnostics import SourceError
from adapters.ascendc.cpu.generated import Stub, header_name, launch_header, stubs_for
from adapters.ascendc.cpu.rewrite import blank_comments, rewrite_launches

__all__ = ["HEADER_SUFFIXES", "SourceTree", "SourceTreeError", "UNIT_SUFFIXES", "included_names", "read_sources"]

UNIT_SUFFIXES = (".cpp", ".cc", ".asc")
HEADER_SUFFIXES = (".h", ".hpp", ".inc")
_PREBUILT_SUFFIXES = (".so", ".o", ".a", ".obj", ".lib", ".dll", ".dylib", ".gch", ".pyd", ".bin")
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)")
_LIBRARY = re.compile(r"\bTORCH_LIBRARY(?:_FRAGMENT|_IMPL)?\s*\(\s*(\w+)")
_LAUNCHER = re.compile(r'\bextern\s*"C"')
_TORCH_HEADERS = ("torch/", "ATen/", "c10/", "torch_npu/", "pybind11/")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>|(\S.*))", re.MULTILINE)
_INCBIN = re.compile(r"\.incbin\b|#[ \t]*embed\b")
_MAX_FILE_BYTES = 4 << 20
_MAX_FILES = 500


Form = Literal["pybind", "torch-library", "ctypes"]


class SourceTreeError(Exception):
    """The folder cannot be built as it stands; ``error`` says which file is at fault."""

    def __init__(self, error: SourceError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class SourceTree:
    """Allow-listed files by their path relative to the kernel folder; ``binding`` and ``units`` are keys of
    ``files``.

    ``form`` is how Python reaches the kernels: an extension module, operators registered with torch (``binding`` is
    the first file that registers some), or C functions called through ctypes (``binding`` is None).
    """

    files: dict[str, str]
    form: Form
    binding: str | None
    module_name: str
    units: tuple[str, ...]
    includes: dict[str, tuple[str, ...]]

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """``roots`` and every file of the folder that they include, directly or not."""
        pending, seen = list(roots), set[str]()
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += self.includes[name]
        return {name: self.files[name] for name in sorted(seen)}

    @property
    def torch_units(self) -> tuple[str, ...]:
        """The units that see torch's C++: what has to be compiled against the same torch headers."""
        roots = (*((self.binding,) if self.binding else ()), *self.units)
        return tuple(unit for unit in roots if self._sees_torch(unit))

    def _sees_torch(self, unit: str) -> bool:
        names = (name for text in self.closure([unit]).values() for name in included_names(text))
        return any(name.startswith(_TORCH_HEADERS) for name in names)

    @cached_property
    def stubs(self) -> dict[str, Stub]:
        """Kernels launched by a generated function (``generated.py``)."""
        return stubs_for(self.files)

    def stubs_in(self, units: Sequence[str]) -> list[Stub]:
        """Those whose kernel is defined in ``units``; a kernel in a header belongs to the first unit that has it."""
        order = (*((self.binding,) if self.binding else ()), *self.units)
        homes = {
            stub.kernel: next((unit for unit in order if stub.file in self.closure([unit])), None)
            for stub in self.stubs.values()
        }
        return [stub for stub in self.stubs.values() if homes[stub.kernel] in units]

    def write(self, target: Path) -> None:
        """Write all files, launches rewritten, under ``target``."""
        for name, text in self.files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rewrite_launches(text).encode("utf-8", "surrogateescape"))
        for stub in self.stubs.values():
            if header_name(stub.kernel) not in self.files:
                (target / header_name(stub.kernel)).write_text(launch_header(stub))


def read_sources(kernel_dir: Path, module_hint: str | None = None) -> SourceTree:
    """Read a kernel folder. A ``build`` folder and files of other kinds (CMake, scripts) are ignored.

    ``module_hint`` is the module's name where the binding leaves it to a macro.

    Raises:
        SourceTreeError: a prebuilt object, a link, an include that leaves the folder, or no (or more than one) binding.
    """
    files: dict[str, str] = {}
    for path in sorted(kernel_dir.rglob("*")):
        relative = path.relative_to(kernel_dir)
        name = relative.as_posix()
        if relative.parts[0] == "build":
            continue
        if path.is_symlink():
            raise SourceTreeError(
                SourceError(name, None, "a link is not accepted among kernel sources: put the file itself there")
            )
        if not path.is_file():
            continue
        if path.suffix.lower() in _PREBUILT_SUFFIXES or ".so." in path.name:
            raise SourceTreeError(
                SourceError(name, None, "a prebuilt object is not accepted: only sources are compiled")
            )
        if path.suffix.lower() in UNIT_SUFFIXES + HEADER_SUFFIXES:
            if path.stat().st_size > _MAX_FILE_BYTES or len(files) >= _MAX_FILES:
                raise SourceTreeError(
                    SourceError(name, None, f"more than {_MAX_FILE_BYTES} bytes, or more than {_MAX_FILES} files")
                )
            files[name] = path.read_bytes().decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    code = {name: blank_comments(text) for name, text in files.items()}
    includes = {name: _includes(name, text, files) for name, text in code.items()}
    form, binding, module_name = _entry(code, includes, module_hint)
    included = {target for name in files for target in includes[name]}
    units = tuple(name for name in files if name.endswith(UNIT_SUFFIXES) and name != binding and name not in included)
    return SourceTree(files, form, binding, module_name, units, includes)


def included_names(text: str) -> list[str]:
    """What a source includes by name, as written."""
    return [match[1] or match[2] for match in _INCLUDE.finditer(blank_comments(text)) if match[1] or match[2]]


def _entry(
    code: dict[str, str], includes: dict[str, tuple[str, ...]], hint: str | None
) -> tuple[Form, str | None, str]:
    """How Python reaches the kernels: the form, the file that binds them, and the module's name."""
    found = [(name, match[1]) for name, text in code.items() if (match := _MODULE.search(text))]
    found = [(_unit_of(name, includes), module) for name, module in found]
    if len(found) > 1:
        names = ", ".join(name for name, _ in found)
        raise SourceTreeError(SourceError(found[1][0], None, f"more than one file has a PYBIND11_MODULE: {names}"))
    if not found:
        registering = [(_unit_of(name, includes), m[1]) for name, text in code.items() if (m := _LIBRARY.search(text))]
        if registering:
            return "torch-library", registering[0][0], f"lib{registering[0][1]}"
        if any("<<<" in text or "aclrtlaunch_" in text for text in code.values()) and any(
            _LAUNCHER.search(text) for text in code.values()
        ):
            return "ctypes", None, "libkernels"
        why = "no source has a PYBIND11_MODULE, a TORCH_LIBRARY or an extern C launcher: there is nothing to import"
        raise SourceTreeError(SourceError(None, None, why))
    name, module = found[0]
    if module == "TORCH_EXTENSION_NAME":
        if not hint:
            raise SourceTreeError(
                SourceError(name, None, "the module's name is TORCH_EXTENSION_NAME and the build was told none")
            )
        module = hint
    return "pybind", name, module


def _unit_of(name: str, includes: dict[str, tuple[str, ...]]) -> str:
    """``name``, or for a header the first translation unit that includes it directly."""
    if name.endswith(UNIT_SUFFIXES):
        return name
    return next((unit for unit, targets in includes.items() if unit.endswith(UNIT_SUFFIXES) and name in targets), name)


def _includes(name: str, code: str, files: dict[str, str]) -> tuple[str, ...]:
    """The files of the folder that ``name`` includes; all of them where an include names a macro."""
    found: list[str] = []
    here = PurePosixPath(name).parent
    for match in _INCLUDE.finditer(code):
        quoted, angled, computed = match.groups()
        if computed:
            return tuple(other for other in files if other != name)
        target = quoted or angled
        candidates = [_normal(here / target)] if quoted else []
        for candidate in (*candidates, _normal(PurePosixPath(target))):
            if candidate is not None and candidate in files:
                found.append(candidate)
                break
        else:
            if target.startswith("/") or (candidates and candidates[0] is None):
                line = code.count("\n", 0, match.start()) + 1
                raise SourceTreeError(SourceError(name, line, f'#include "{target}" leaves the kernel folder'))
    if embedded := _INCBIN.search(code):
        line = code.count("\n", 0, embedded.start()) + 1
        raise SourceTreeError(SourceError(name, line, f"{embedded[0]} brings a file into the binary: not accepted"))
    return tuple(dict.fromkeys(found))


def _normal(path: PurePosixPath) -> str | None:
    """The path without ``.`` and ``..``, or None when it leaves the folder."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
