"""The folder a candidate runs in: what it needs and nothing more.

The wrapper, helper modules of the task, the module the engine built, and a stand-in for ``model.py`` that holds only
constants. No reference, no case files, no sources, nothing prebuilt by somebody else.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from adapters.runner.constants import constants_stub

_LIBRARY = re.compile(r"""["'/]([A-Za-z0-9_.+-]{1,100}\.so)["']""")

__all__ = ["folder_digest", "materialise", "needed_helpers", "place_module"]


def materialise(
    target: Path,
    *,
    task_dir: Path,
    wrapper: str,
    module_so: Path,
    helpers: Iterable[str] = (),
    model: str | None = "model.py",
) -> Path:
    """Fill ``target`` (absent or empty) from a task and a built module, and return it.

    Args:
        target: the folder to make.
        task_dir: where ``wrapper``, ``helpers`` and ``model`` are, as paths relative to it.
        wrapper: the module that defines ``ModelNew``; put at the top of ``target`` under its own name.
        module_so: the engine-built extension; its folder also holds the runtime library it needs.
        helpers: Python files of the task that the wrapper imports.
        model: the reference's file, of which only constants are kept; None for no stand-in.

    Raises:
        FileNotFoundError: the wrapper or a helper does not exist.
        ValueError: a helper's path leaves the task, or is the reference.
    """
    build = target / "kernel" / "build"
    build.mkdir(parents=True)
    shutil.copyfile(task_dir / wrapper, target / Path(wrapper).name)
    for helper in helpers:
        relative = Path(helper)
        if relative.is_absolute() or ".." in relative.parts:
            raise ValueError(f"{helper} is not inside the task folder")
        if model is not None and relative == Path(model):
            raise ValueError(f"{helper} is the reference: the candidate cannot have it")
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(task_dir / relative, target / relative)
    if model is not None and (task_dir / model).is_file():
        (target / "model.py").write_text(
            constants_stub((task_dir / model).read_text(encoding="utf-8")), encoding="utf-8"
        )
    place_module(target, module_so)
    return target


def needed_helpers(task_dir: Path, *, wrapper: str, task_name: str, model: str = "model.py") -> tuple[str, ...]:
    """Python files of the task that ``wrapper`` imports, directly or through one another, relative to ``task_dir``.

    The reference is not among them, nor is a file that only the reference uses. Imports made at run time are not seen.

    Raises:
        SyntaxError: one of the files is not Python.
    """
    found: list[str] = []
    pending = [wrapper]
    while pending:
        current = pending.pop()
        here = Path(current).parent
        for name in _imported(ast.parse((task_dir / current).read_text(encoding="utf-8")), task_name, here):
            for candidate in (name.with_suffix(".py"), name / "__init__.py"):
                path = candidate.as_posix()
                if (task_dir / candidate).is_file() and path not in (model, wrapper, *found):
                    found.append(path)
                    pending.append(path)
    return tuple(sorted(found))


def _imported(tree: ast.Module, task_name: str, here: Path) -> list[Path]:
    """Modules that a file may import from the task, as paths without suffix relative to the task's folder."""
    names: list[tuple[str, ...]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = here.parts[: max(0, len(here.parts) - node.level + 1)] + base
            names += [base, *((*base, alias.name) for alias in node.names)]
    inside = [name[1:] if name[:1] in (("current_task",), (task_name,)) else name for name in names]
    return [Path(*name[:end]) for name in inside for end in range(1, len(name) + 1)]


def folder_digest(folder: Path) -> str:
    """A digest of the names and contents of all files in ``folder`` (a link counts as its target's path)."""
    digest = hashlib.blake2b(digest_size=20)
    for path in sorted(folder.rglob("*")):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        for part in (path.relative_to(folder).as_posix().encode(), content):
            digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def place_module(target: Path, module_so: Path) -> Path:
    """Copy the module and the device's libraries beside it to ``kernel/build`` and return the module's new path.

    A wrapper that loads a library by path (ctypes, torch.ops.load_library) finds the module there under the name that
    it uses.
    """
    build = target / "kernel" / "build"
    build.mkdir(parents=True, exist_ok=True)
    for source in (module_so, *sorted(module_so.parent.glob("*opmend_*.so"))):
        scratch = build / f".{source.name}.new"
        shutil.copyfile(source, scratch)
        scratch.replace(build / source.name)
    placed = build / module_so.name
    for name in _libraries_named(target) - {placed.name}:
        (build / name).unlink(missing_ok=True)
        (build / name).hardlink_to(placed)  # the same file: loaded once, whatever it is called
    return placed


def _libraries_named(folder: Path) -> set[str]:
    """File names of shared libraries that the Python files of ``folder`` spell out."""
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in folder.rglob("*.py"))
    names = {name for text in texts for name in _LIBRARY.findall(text)}
    return names - {"libopmend_rt.so"}
