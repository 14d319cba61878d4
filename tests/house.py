"""`make check`'s own rules: arrows between folders, module sizes, nothing of this machine in the tree, quick help.

Run as a program; prints each violation and exits 1 if there is any.
"""

from __future__ import annotations

import ast
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("events", "statemachine", "kb", "adapters", "replay")
#: Which of our packages each may import (DESIGN: arrows point one way). `cli` may import all.
ARROWS = {
    "events": {"events"},
    "statemachine": {"statemachine", "events"},
    "kb": {"kb", "statemachine", "events"},
    "adapters": {"adapters", "kb", "statemachine", "events"},
    "replay": {"replay", "statemachine", "events"},
}
MAX_LINES = 320
#: Modules that may be longer, and why.
LONGER = {"events/types.py": "the catalogue is one union in one place", "statemachine/engine.py": "one act per event"}
HELP_SECONDS = 0.3
FORBIDDEN = re.compile(r"/root/|/work/|/tmp/(?!\w*\.\.\.)|pypi\.org|files\.pythonhosted|registry\.npmjs")


def modules() -> Iterator[Path]:
    yield ROOT / "cli.py"
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def arrows() -> Iterator[str]:
    for path in modules():
        package = path.relative_to(ROOT).parts[0]
        if package not in ARROWS:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                if top in PACKAGES and top not in ARROWS[package]:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}: {package} imports {name}: against the arrows"


def sizes() -> Iterator[str]:
    for path in modules():
        lines = path.read_text().count("\n")
        if lines > MAX_LINES and str(path.relative_to(ROOT)) not in LONGER:
            yield f"{path.relative_to(ROOT)}: {lines} lines (at most {MAX_LINES})"


def foreign() -> Iterator[str]:
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".h", ".cpp", ".yaml", ".json", ""} and path != Path(__file__):
            for number, text in enumerate(path.read_text(errors="replace").split("\n"), 1):
                if match := FORBIDDEN.search(text):
                    where = f"{path.relative_to(ROOT)}:{number}"
                    yield f"{where}: names {match[0]!r}: a path of one machine, or a registry's host"


def docstrings() -> Iterator[str]:
    for path in modules():
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None:
            yield f"{path.relative_to(ROOT)}: no module docstring saying what it is for"


def quick_help() -> Iterator[str]:
    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, str(ROOT / "cli.py"), "--help"], cwd=ROOT, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    best = min(once() for _ in range(5))
    print(f"opmend --help: {best:.2f} s of processor time (bound {HELP_SECONDS} s, best of 5)")
    if best > HELP_SECONDS:
        yield f"opmend --help takes {best:.2f} s (bound {HELP_SECONDS} s)"


def main() -> int:
    problems = [p for rule in (arrows, sizes, foreign, docstrings, quick_help) for p in rule()]
    print("\n".join(problems) or "house rules: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
