"""The direct-launch layout on disk: which file of a task directory is what, and the digests over them.

    model.py               the reference: class Model, get_init_inputs(), get_input_groups() or get_inputs()
    <op>.json              compact cases (optional when model.py makes its own)
    <op>_all_case.json     full cases (optional)
    model_new_ascendc.py   the wrapper: class ModelNew
    kernel/                the near-miss candidate's C++ sources

The directory is read and never written. Anything missing is a UsageError that names the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from statemachine.candidate import Candidate, digest_bytes
from statemachine.ports import UsageError

MODEL, WRAPPER, KERNEL = "model.py", "model_new_ascendc.py", "kernel"
FULL_SUFFIX = "_all_case.json"
SOURCE_SUFFIXES = (".cpp", ".cc", ".asc", ".h", ".hpp", ".inc")
BINARY_SUFFIXES = (".so", ".o", ".a", ".obj", ".bin")
#: What model.py may read beside itself; other files (notes, traces, pictures) are no part of the task.
HELPER_SUFFIXES = (".py", ".json", ".csv", ".txt", ".yaml", ".yml", ".npy", ".npz", ".pt")


@dataclass(frozen=True)
class Layout:
    """The files of a task. `helpers` are further files model.py or the wrapper may read, relative to `directory`."""

    directory: Path
    model: str
    wrapper: str
    kernel: Path
    compact: Path | None
    full: Path | None
    helpers: Mapping[str, bytes]
    functions: frozenset[str]

    def reference_files(self) -> dict[str, bytes]:
        """The files the reference depends on: model.py and the helpers, without case files and wrapper."""
        return {MODEL: self.model.encode(), **self.helpers}


def find_layout(directory: Path, kernel: Path | None = None) -> Layout:
    """Look at a task directory; `kernel` replaces its `kernel/` (either the sources' folder or one holding it)."""
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "does not exist"
        raise UsageError(f"no such task: {directory} {what}; name a directory that holds {MODEL}")
    model = _read(directory / MODEL, "the reference (class Model)")
    functions = _functions(model, directory / MODEL)
    wrapper = _read(directory / WRAPPER, "the wrapper (class ModelNew)")
    _parse(wrapper, directory / WRAPPER)
    compact, full = _case_files(directory)
    used = {MODEL, WRAPPER, *(path.name for path in (compact, full) if path)}
    return Layout(
        directory=directory,
        model=model,
        wrapper=wrapper,
        kernel=_kernel_directory(directory, kernel),
        compact=compact,
        full=full,
        helpers={str(path.relative_to(directory)): path.read_bytes() for path in _helpers(directory, used)},
        functions=functions,
    )


def read_candidate(kernel: Path) -> tuple[Candidate, tuple[str, ...]]:
    """The C++ sources beneath `kernel` (build folders and hidden files left out), and warnings."""
    files: dict[str, str] = {}
    binaries = []
    for path in sorted(kernel.rglob("*")):
        relative = path.relative_to(kernel)
        if not path.is_file() or any(part.startswith(".") or part == "build" for part in relative.parts):
            continue
        if path.is_symlink():
            raise UsageError(f"{path}: a link is not accepted among kernel sources; put the file itself there")
        if path.suffix in SOURCE_SUFFIXES:
            try:
                files[relative.as_posix()] = path.read_bytes().decode()
            except UnicodeDecodeError as error:
                raise UsageError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
        elif path.suffix in BINARY_SUFFIXES:
            binaries.append(relative.as_posix())
    if not files:
        raise UsageError(f"{kernel}: no kernel sources ({', '.join(SOURCE_SUFFIXES)}); the candidate belongs there")
    warning = f"prebuilt files in kernel/ are ignored, the candidate is built from its sources: {', '.join(binaries)}"
    return Candidate(files), (warning,) if binaries else ()


def digest_files(files: Mapping[str, bytes]) -> str:
    """`sha256:` digest over (path, sha256 of content) of a set of files."""
    return digest_bytes(orjson.dumps({p: digest_bytes(data) for p, data in files.items()}, option=orjson.OPT_SORT_KEYS))


def _read(path: Path, what: str) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: not a file; a direct-launch task needs {what} there")
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        raise UsageError(f"{path}: missing; a direct-launch task needs {what} there") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text: {error}") from error


def _parse(source: str, path: Path) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise UsageError(f"{path}{line}: not Python: {getattr(error, 'msg', error)}") from error


def _functions(source: str, path: Path) -> frozenset[str]:
    """Names bound at the top level of model.py, read without running it."""
    tree = _parse(source, path)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if "Model" not in names:
        raise UsageError(f"{path}: defines no class `Model`; the reference must be called so")
    return frozenset(names)


def _kernel_directory(directory: Path, replacement: Path | None) -> Path:
    if replacement is not None:
        if not replacement.is_dir():
            raise UsageError(f"{replacement}: no such candidate directory")
        return replacement / KERNEL if (replacement / KERNEL).is_dir() else replacement
    if not (directory / KERNEL).is_dir():
        raise UsageError(f"{directory / KERNEL}: missing; put the candidate's sources there or name them (--candidate)")
    return directory / KERNEL


def _case_files(directory: Path) -> tuple[Path | None, Path | None]:
    """The pair `<op>.json`, `<op>_all_case.json`: whichever single pair (or single compact file) the directory has."""
    names = sorted(path.name for path in directory.glob("*.json") if path.is_file() and not path.name.startswith("."))
    full = [name.removesuffix(FULL_SUFFIX) for name in names if name.endswith(FULL_SUFFIX)]
    compact = [name.removesuffix(".json") for name in names if not name.endswith(FULL_SUFFIX)]
    paired = [op for op in compact if op in full]
    likely = [op for op in compact if op in (directory.name, "model")]
    chosen = paired or (compact if len(compact) == 1 else likely)
    if len(chosen) > 1 or (len(compact) > 1 and not chosen):
        raise UsageError(
            f"{directory}: cannot tell the compact cases among {', '.join(f'{op}.json' for op in chosen or compact)}; "
            f"keep one <op>.json / <op>{FULL_SUFFIX} pair"
        )
    if full and (not chosen or chosen[0] not in full):
        missing = directory / f"{full[0]}.json"
        raise UsageError(f"{missing}: missing; the full cases {full[0]}{FULL_SUFFIX} need the compact ones beside them")
    if not chosen:
        return None, None
    return directory / f"{chosen[0]}.json", directory / f"{chosen[0]}{FULL_SUFFIX}" if full else None


def _helpers(directory: Path, used: set[str]) -> Iterable[Path]:
    """Top-level files, and packages (folders with `__init__.py`), that the task's Python code may read."""
    for path in sorted(directory.iterdir()):
        other_backend = path.name.startswith("model_new_") and path.suffix == ".py"
        if path.name in used or path.name.startswith(".") or other_backend:
            continue
        if path.is_file() and path.suffix in HELPER_SUFFIXES:
            yield path
        elif path.is_dir() and path.name != KERNEL and (path / "__init__.py").is_file():
            yield from (p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix in HELPER_SUFFIXES)
