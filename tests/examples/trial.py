"""One candidate of an example run on all full cases, through the real loader, compiler, device and candidate process.

The compact cases are the first of the full ones in every example (a test holds them to it), so one run tells both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adapters import tensorfile
from adapters.ascendc.cpu.build import build
from adapters.runner.client import ForkServer, Limits, Runner
from adapters.runner.materialise import materialise
from adapters.tasks import DirectTask
from statemachine.candidate import Candidate
from statemachine.tolerance import compare_outputs, policy

EXAMPLES = Path(__file__).parents[2] / "examples"
FIXES = Path(__file__).parent / "fixes"
SEED = 11
CHECK_LEVEL = 3  # all of the sanitizer


@dataclass(frozen=True)
class Trial:
    """Per full case, in order: its inputs by name (descriptors), whether it passed, why not; and the finding kinds."""

    cases: tuple[Mapping[str, Mapping[str, Any]], ...]
    passed: tuple[bool, ...]
    reasons: tuple[str, ...]
    findings: frozenset[str]

    @property
    def count(self) -> int:
        return sum(self.passed)


class Workshop:
    """Builds and runs candidates; one fork server and one build cache for all of them."""

    def __init__(self, scratch: Path, server: ForkServer) -> None:
        self._scratch, self._server, self._runs = scratch, server, 0

    def run(self, task: DirectTask, candidate: Candidate) -> Trial:
        """Run `candidate` on all full cases of `task`. A candidate that does not build is an AssertionError."""
        self._runs += 1
        place = self._scratch / f"run{self._runs}"
        sources = place / "sources"
        for name, text in candidate.files.items():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            (sources / name).write_text(text)
        built = build(sources, level=CHECK_LEVEL, cache=self._scratch / "builds")
        assert built.so_path, built.log
        folder = materialise(
            place / task.ref.name, task_dir=task.directory, wrapper="model_new_ascendc.py", module_so=built.so_path
        )
        runner = Runner(folder, built.so_path, Limits(), init_inputs_file=task.init_inputs(SEED), server=self._server)
        return self._judge(task, runner, place / "out")

    def _judge(self, task: DirectTask, runner: Runner, out: Path) -> Trial:
        cases, passed, reasons, kinds = [], [], [], set()
        rule = policy("cann-ecosystem/1")
        for case in task.cases("full", SEED):
            ran = runner.run(case.inputs, out)
            reason = f"{ran.status}: {ran.detail}"
            if ran.status == "ok" and ran.outputs and ran.report is not None:
                loaded = tensorfile.load(ran.outputs, max_bytes=1 << 30)
                actual = [value for value in loaded if isinstance(value, np.ndarray)]
                reason = "; ".join(c.reason for c in compare_outputs(rule, actual, case.expected) if not c.passed)
                kinds |= {str(finding["kind"]) for finding in ran.report["findings"]}
            cases.append({entry["name"]: entry for entry in case.descriptor["inputs"]})
            passed.append(not reason)
            reasons.append(reason)
        return Trial(tuple(cases), tuple(passed), tuple(reasons), frozenset(kinds))


def fixes_of(name: str) -> dict[str, str]:
    """The true fixes of an example: unified diffs over `kernel/`, by file name without suffix."""
    return {path.stem: path.read_text() for path in sorted((FIXES / name).glob("*.patch"))}


def patched(candidate: Candidate, patches: Iterable[str]) -> Candidate:
    """`candidate` with unified diffs applied; a hunk must fit at exactly one place, whatever its line numbers say."""
    for patch in patches:
        files: dict[str, str] = {}
        current = ""
        for part in re.split(r"(?m)^(?=--- a/|@@ )", patch):
            if named := re.search(r"(?m)^\+\+\+ b/kernel/(\S+)$", part):
                current = named[1]
                files[current] = candidate.files[current]
            elif part.startswith("@@"):
                lines = part.rstrip("\n").split("\n")[1:]
                before = "\n".join(line[1:] for line in lines if line[:1] in ("", " ", "-"))
                after = "\n".join(line[1:] for line in lines if line[:1] in ("", " ", "+"))
                assert files[current].count(before) == 1, f"a hunk does not fit {current} at one place:\n{part}"
                files[current] = files[current].replace(before, after)
        candidate = candidate.with_files(files)
    return candidate
