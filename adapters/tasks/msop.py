"""A task in the msopgen layout, loaded: fits the engine's `Task` port.

    validation/module.py          class Model (the reference) and class ModelNew (the wrapper), in one file
    validation/prepare_inputs.py  get_inputs(param), get_init_inputs(param); or both in module.py
    validation/test_cases.csv     one case per row, `;` between columns
    validation/pybind.cpp         the binding (EXEC_NPU_CMD)
    answer/<n>/op_host, op_kernel the candidates; `--candidate answer/1` picks one, the first is the default

The compact set is the first two rows, the full set all of them. Unlike in the direct layout the constructor's arguments
belong to the case. The wrapper and the reference share a file here, so the candidate's process has the reference's
source; that its outputs come from a kernel is the integrity layer's business, not a matter of reach.
"""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters import tensorfile
from adapters.scratch import prefix
from adapters.tasks.cases import Case, digest
from adapters.tasks.csvcases import read_rows
from adapters.tasks.direct import derive
from adapters.tasks.health import Made
from adapters.tasks.layout import digest_files, read_candidate
from adapters.tasks.reference import Reference, ReferenceLimits
from events.types import CaseSet, CaseSetRef, TaskRef
from statemachine.ports import CaseData, UsageError

Array = npt.NDArray[Any]

GENERATOR = "msop-inputs/1"
COMPACT_ROWS = 2
MODULE = "kernel_gen_ops"
WRAPPER = "module.py"
_PROGRAM = "adapters.tasks.msop_main"


@dataclass(frozen=True)
class MsopCase(CaseData):
    """A case with the file of its constructor arguments."""

    init: Path | None = None


def is_msop(path: Path) -> bool:
    """Whether a directory is a task of this layout."""
    return (path / "validation" / WRAPPER).is_file() and (path / "validation" / "test_cases.csv").is_file()


class MsopTask:
    """A loaded task. Holds at most one reference process, which `close` ends."""

    def __init__(self, path: Path, candidate_dir: Path | None, cache: Path, limits: ReferenceLimits) -> None:
        self.directory = path
        self._cache = cache
        self.validation = path / "validation"
        self.operator = path.name.split("_")[0]
        self.rows = read_rows(self.validation / "test_cases.csv")
        self.candidate, warnings = read_candidate(_candidate_directory(path, candidate_dir))
        self.binding = self._binding()
        files = {p.name: p.read_bytes() for p in sorted(self.validation.glob("*.py"))}
        self.reference_source = files[WRAPPER].decode()
        self.wrapper_source = _without_model(self.reference_source, self.validation / WRAPPER)
        self.helpers: Mapping[str, str] = {n: d.decode() for n, d in files.items() if n != WRAPPER}
        self.reference_digest = digest_files(files)
        self._reference = Reference(files, (), cache / "work", limits, program=_PROGRAM)
        compact, full = self._cases("compact"), self._cases("full")
        sources = {f"candidate/{name}": text.encode() for name, text in self.candidate.files.items()}
        table = (self.validation / "test_cases.csv").read_bytes()
        self.ref = TaskRef(
            name=path.name,
            path=str(path),
            layout="msopgen",
            digest=digest_files({**files, "pybind.cpp": self.binding.encode(), "test_cases.csv": table, **sources}),
            compact=CaseSetRef(digest=digest(compact), count=len(compact)),
            full=CaseSetRef(digest=digest(full), count=len(full)),
            coverage_equivalent=len(full) <= len(compact),
            warnings=warnings,
        )

    # ------------------------------------------------------------ the Task port

    def descriptors(self, which: CaseSet) -> Sequence[Mapping[str, Any]]:
        """The columns of each row, as attributes."""
        return [case.shown() for case in self._cases(which)]

    def cases(self, which: CaseSet, seed: int, indices: Sequence[int] | None = None) -> Iterator[CaseData]:
        """Make (or find in the cache) the cases of a set, lazily. Raises ReferenceRunError when the reference fails."""
        known = self._cases(which)
        for index in range(len(known)) if indices is None else indices:
            inputs, init, expected = self._make(which, seed, index)
            yield MsopCase(index, known[index].shown(), inputs, Made(inputs, expected).expected_arrays(), init)

    # ------------------------------------------------------------ beyond the port

    def construction_seed(self, seed: int) -> int:
        """What torch is seeded with right before `Model(...)` and `ModelNew(...)`."""
        return derive(seed, "init", 0)

    def own_check(self, index: int, expected: Sequence[Array], outputs: Sequence[Array]) -> bool:
        """Whether the task's own check takes `outputs` for the expected ones of a row: what the benchmark itself would
        say, for the conformance table only. Never where shapes, or places of NaN and infinities, differ: a comparison
        with NaN is silent about it. Outputs that the candidate does not give are not asked for, as there.

        Raises ReferenceRunError when the check fails to run.
        """
        if not 0 < len(outputs) <= len(expected) or not all(map(_comparable, expected, outputs)):
            return False
        work = self._cache / "work"
        work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=prefix("check"), dir=work) as folder:
            files = {"expected": Path(folder) / "expected", "outputs": Path(folder) / "outputs"}
            tensorfile.save(files["expected"], list(expected))
            tensorfile.save(files["outputs"], list(outputs))
            request = {"op": "check", "row": self.rows[index], **{name: str(path) for name, path in files.items()}}
            return bool(self._reference.ask(request, f"the check of case {index}")["passed"])

    def health(self, seed: int) -> tuple[str, ...]:
        """No checks of the task itself yet."""
        return ()

    def close(self) -> None:
        self._reference.close()

    # ------------------------------------------------------------ parts

    def _cases(self, which: CaseSet) -> tuple[Case, ...]:
        rows = self.rows[:COMPACT_ROWS] if which == "compact" else self.rows
        return tuple(Case(row, tuple(_entry(name, value) for name, value in row.items())) for row in rows)

    def _binding(self) -> str:
        """pybind.cpp with the template's names filled in, as the benchmark's own build does."""
        from adapters.ascendc.cpu.hostbuild import snake_case

        path = self.validation / "pybind.cpp"
        if not path.is_file():
            raise UsageError(f"{path}: missing; an msopgen task needs its binding there")
        text = path.read_text(encoding="utf-8", errors="replace")
        return text.replace("custom_pybind_api", snake_case(self.operator)).replace("CustomOp", self.operator)

    def _make(self, which: CaseSet, seed: int, index: int) -> tuple[Path, Path, Path]:
        paths = [self._file(kind, seed, index) for kind in ("inputs", "init", "expected")]
        if not all(path.exists() for path in paths):
            request = {
                "op": "row",
                "row": self.rows[index],
                "seed": derive(seed, "row", index),
                "init_seed": self.construction_seed(seed),
                **{kind: str(path) for kind, path in zip(("inputs", "init", "expected"), paths, strict=True)},
            }
            self._reference.ask(request, f"{which} case {index} of {self.directory.name}")
        return paths[0], paths[1], paths[2]

    def _file(self, kind: str, seed: int, index: int) -> Path:
        parts = (GENERATOR, self.reference_digest, metadata.version("torch"), kind, str(seed), repr(self.rows[index]))
        folder = self._cache / kind
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{hashlib.sha256('/'.join((*parts, str(index))).encode()).hexdigest()}.safetensors"


def _comparable(want: Array, got: Array) -> bool:
    if want.shape != got.shape and not want.size == got.size == 1:
        return False
    wide = [array.reshape(-1).astype(np.complex128).view(np.float64) for array in (want, got)]
    return all(np.array_equal(test(wide[0]), test(wide[1])) for test in (np.isnan, np.isposinf, np.isneginf))


def _without_model(source: str, path: Path) -> str:
    """module.py as the wrapper's reader sees it: class Model blanked out, lines kept."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno}: not Python: {error.msg}") from error
    lines = source.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            last = node.end_lineno or node.lineno
            lines[first - 1 : last] = ["\n"] * (last - first + 1)
    return "".join(lines)


def _entry(name: str, value: Any) -> dict[str, Any]:
    return {"name": name, "type": "attr", "value": None if value != value else value}


def _candidate_directory(path: Path, given: Path | None) -> Path:
    """The folder with `op_host` and `op_kernel`: the one given (also relative to the task), or the first answer."""
    if given is not None:
        for folder in (given, path / given):
            if (folder / "op_kernel").is_dir():
                return folder
        raise UsageError(f"{given}: no candidate there: a folder with op_host/ and op_kernel/ is needed")
    answers = sorted(p for p in path.glob("answer/*") if (p / "op_kernel").is_dir())
    if not answers:
        raise UsageError(
            f"{path}: no candidate: put op_host/ and op_kernel/ in answer/0, or name a folder (--candidate)"
        )
    return answers[0]
