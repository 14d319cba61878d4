"""A task in the direct-launch layout, loaded: fits the engine's `Task` port.

Loading reads and checks files and runs nothing, except for a task without case files: its cases are read off the
groups that its model.py makes, in the reference's process (once; the answer is cached). Inputs and expected outputs are
made on demand from the engine's seed and kept in the cache under names that tell nothing about seed, set or index.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from adapters.tasks import cases as casefile
from adapters.tasks import health, npu_standin
from adapters.tasks.cases import Case, CaseFile
from adapters.tasks.health import Made
from adapters.tasks.layout import Layout, digest_files, find_layout, read_candidate
from adapters.tasks.reference import Reference, ReferenceLimits
from events.types import CaseSet, CaseSetRef, TaskRef
from statemachine.ports import CaseData, UsageError

#: Changes when the same seed would make other inputs; part of every cache key.
GENERATOR = "inputs/1"
Mode = Literal["groups", "inputs", "entries"]
_DESCRIBE_SEED = 0


def load_direct(
    path: Path, *, candidate_dir: Path | None = None, cache: Path, limits: ReferenceLimits | None = None
) -> DirectTask:
    """Load the direct-launch task in `path`; `candidate_dir` stands in for its `kernel/`; `cache` is the
    engine's folder.

    Raises UsageError with what is wrong and where; EnvironmentMissing if torch is needed and missing.
    """
    layout = find_layout(path.resolve(), candidate_dir.resolve() if candidate_dir else None)
    return DirectTask(layout, cache.resolve(), limits or ReferenceLimits())


class DirectTask:
    """A loaded task. Holds at most one reference process, which `close` ends (so does the end of the engine)."""

    def __init__(self, layout: Layout, cache: Path, limits: ReferenceLimits) -> None:
        self._layout, self._cache = layout, cache
        self.candidate, warnings = read_candidate(layout.kernel)
        self._mode = _mode(layout)
        self._compact_file = casefile.parse_file(layout.compact) if layout.compact else None
        self._full_file = casefile.parse_file(layout.full) if layout.full else self._compact_file
        self.reference_digest = digest_files({**layout.reference_files(), **self._case_texts()})
        names = (layout.compact.name, "model.json") if layout.compact else ()
        self._reference = Reference(layout.reference_files(), tuple(dict.fromkeys(names)), cache / "work", limits)
        compact, full = self._cases("compact"), self._cases("full")
        known = {casefile.digest([case]) for case in compact}
        equivalent = all(casefile.digest([case]) in known for case in full)
        self.ref = TaskRef(
            name=layout.directory.name,
            path=str(layout.directory),
            layout="direct",
            digest=self._task_digest(),
            compact=CaseSetRef(digest=casefile.digest(compact), count=len(compact)),
            full=CaseSetRef(digest=casefile.digest(full), count=len(full)),
            coverage_equivalent=equivalent,
            warnings=(*warnings, *_coverage_warning(layout, equivalent)),
        )

    # ------------------------------------------------------------ the Task port

    @property
    def directory(self) -> Path:
        return self._layout.directory

    @property
    def reference_source(self) -> str:
        return self._layout.model

    @property
    def wrapper_source(self) -> str:
        return self._layout.wrapper

    def descriptors(self, which: CaseSet) -> Sequence[Mapping[str, Any]]:
        """What may be shown of each case: `{"inputs": [{name, type, dtype, shape | value, ...}]}`, never values."""
        return [case.shown() for case in self._cases(which)]

    def cases(self, which: CaseSet, seed: int, indices: Sequence[int] | None = None) -> Iterator[CaseData]:
        """Make (or find in the cache) the cases of a set, in the order of `indices` (default: all), lazily.

        Raises ReferenceRunError (a UsageError) when the reference fails on a case or contradicts its description.
        """
        known = self._cases(which)
        for index in range(len(known)) if indices is None else indices:
            made = self._make(which, seed, index)
            yield CaseData(index, known[index].shown(), made.inputs, made.expected_arrays())

    # ------------------------------------------------------------ beyond the port

    @property
    def helpers(self) -> Mapping[str, str]:
        """Other Python files of the task that the wrapper may import, by path relative to the task."""
        return {name: data.decode() for name, data in self._layout.helpers.items() if name.endswith(".py")}

    def init_inputs(self, seed: int) -> Path:
        """A tensor file with the positional constructor arguments that the task's get_init_inputs() gives (law 2: the
        task's, never the wrapper's)."""
        path = self._file("init", "init", seed, 0)
        if not path.exists():
            self._ask({"op": "init", "init_seed": self.construction_seed(seed), "path": str(path)}, "construction")
        return path

    def construction_seed(self, seed: int) -> int:
        """What torch is seeded with right before `Model(...)`; a ModelNew that draws parameters needs the same."""
        return derive(seed, "init", 0)

    def health(self, seed: int) -> tuple[str, ...]:
        """Warnings about the task as a test: inputs that do not depend on the seed, outputs that are (nearly) the same
        for different inputs, parameters that the candidate does not get, vendor functions that are stood in for. Runs
        one compact case under two seeds."""
        index = health.telling_case(self._cases("compact"))
        first, second = (self._make("compact", each, index) for each in (seed, seed + 1))
        vendor = npu_standin.warnings(self._layout.model)
        return (*health.warnings(first, second, f"compact case {index}"), *vendor)

    def close(self) -> None:
        self._reference.close()

    # ------------------------------------------------------------ cases and digests

    def _cases(self, which: CaseSet) -> tuple[Case, ...]:
        file = self._file_of(which)
        return file.cases if file else self._described

    def _file_of(self, which: CaseSet) -> CaseFile | None:
        return self._compact_file if which == "compact" else self._full_file

    @cached_property
    def _described(self) -> tuple[Case, ...]:
        """The cases of a task without case files, as its model.py makes them."""
        stored = self._cache / "described" / f"{self._key('described', _DESCRIBE_SEED, 0)}.json"
        if not stored.exists():
            answer = self._ask({"op": "describe", "mode": self._mode, "seed": _DESCRIBE_SEED}, "its own cases")
            stored.parent.mkdir(parents=True, exist_ok=True)
            scratch = stored.with_suffix(f".{os.getpid()}.tmp")
            scratch.write_text(json.dumps(answer["groups"]), encoding="utf-8")
            scratch.replace(stored)
        return casefile.from_description(json.loads(stored.read_text(encoding="utf-8")))

    def _case_texts(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (self._layout.compact, self._layout.full) if path}

    def _task_digest(self) -> str:
        kernel = {f"kernel/{path}": text.encode() for path, text in self.candidate.files.items()}
        wrapper = {"model_new_ascendc.py": self._layout.wrapper.encode()}
        return digest_files({**self._layout.reference_files(), **self._case_texts(), **wrapper, **kernel})

    # ------------------------------------------------------------ making a case

    def _make(self, which: CaseSet, seed: int, index: int) -> Made:
        """One case, from the cache or from the reference."""
        inputs, expected = (self._file(kind, which, seed, index) for kind in ("inputs", "expected"))
        if not (inputs.exists() and expected.exists()):
            case = casefile.with_scalars(self._cases(which)[index], derive(seed, which, index))
            file = self._file_of(which)
            request = {
                "op": "case",
                "mode": self._mode,
                "index": index,
                "count": len(self._cases(which)),
                "case_text": file.one(case) if file else None,
                "entries": list(case.inputs),
                "seed": derive(seed, which, index),
                "set_seed": derive(seed, which, -1),
                "init_seed": self.construction_seed(seed),
                "inputs": str(inputs),
                "expected": str(expected),
            }
            self._ask(request, f"{which} case {index}")
        return Made(inputs, expected)

    def _ask(self, request: Mapping[str, Any], what: str) -> dict[str, Any]:
        return self._reference.ask(request, f"{what} of {self._layout.directory.name}")

    def _file(self, kind: str, which: str, seed: int, index: int) -> Path:
        folder = self._cache / kind
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._key(f'{kind}/{which}', seed, index)}.safetensors"

    def _key(self, kind: str, seed: int, index: int) -> str:
        parts = (GENERATOR, self.reference_digest, _torch_version(), kind, str(seed), str(index))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def _torch_version() -> str:
    return metadata.version("torch")


def derive(seed: int, which: str, index: int) -> int:
    """The seed of one case (63 bits) from the session's seed: each set and index has a stream of its own."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{which}/{index}".encode()).digest()[:8], "big") >> 1


def _mode(layout: Layout) -> Mode:
    if "get_input_groups" in layout.functions:
        return "groups"
    if layout.compact:
        return "entries"
    if "get_inputs" in layout.functions:
        return "inputs"
    raise UsageError(
        f"{layout.directory}: no cases: add <op>.json (one case per line), or get_input_groups() to model.py"
    )


def _coverage_warning(layout: Layout, equivalent: bool) -> tuple[str, ...]:
    if not equivalent:
        return ()
    what = "the full cases are all among the compact ones" if layout.full else "there is no full case file"
    return (f"{what}: full coverage proves no more shapes than the compact set (fresh values, same cases)",)
