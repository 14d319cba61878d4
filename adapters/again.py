"""A recorded session's task and toolchain, set up once more so that its candidates can be executed again.

Fits `Again` of replay/again.py, which this folder does not import: the front door puts the two together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters import scratch
from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.session import default_cache, engine_version, load_candidate, toolchain_for
from adapters.tasks import AnyTask
from events.types import CaseSet, SessionOpened
from statemachine import sources
from statemachine.evaluate import Evaluation, evaluate
from statemachine.findings import findings_policy
from statemachine.ports import BlobStore, BuildOutcome, UsageError
from statemachine.tolerance import policy

if TYPE_CHECKING:
    from events.log import SqlLog


@dataclass(frozen=True)
class Workbench:
    """The session's task, with a toolchain under its seed and limits; `toolchain` is the fingerprint of now."""

    opened: SessionOpened
    task: AnyTask
    runner: CpuToolchain
    blobs: BlobStore
    toolchain: dict[str, str]
    isolation: dict[str, str]
    engine: str

    def build(self, candidate: str) -> BuildOutcome:
        return self.runner.build(self.task, sources.load(self.blobs, candidate), self.opened.configuration.check_level)

    def evaluate(self, handle: Any, which: CaseSet) -> Evaluation:
        rules = self.opened.configuration
        return evaluate(
            self.task,
            self.runner,
            handle,
            which,
            rules.seed,
            policy(rules.tolerance),
            findings_policy(rules),
            max_excluded=rules.max_excluded,
        )


@contextmanager
def workbench(opened: SessionOpened, log: SqlLog, cache: Path | None) -> Iterator[Workbench]:
    """Load the task of `opened` (its candidate from the log) and a toolchain. UsageError if the task has changed."""
    cache = cache or default_cache()
    with tempfile.TemporaryDirectory(prefix=scratch.prefix("again")) as folder:
        first = sources.load(log, opened.candidate)
        task = load_candidate(Path(opened.task.path), first, Path(folder), cache)
        toolchain = toolchain_for(opened.configuration, cache)
        try:
            if task.ref.digest != opened.task.digest:
                raise UsageError(
                    f"the task {task.ref.path} has changed since the session was opened ({opened.task.digest[:19]} "
                    f"then, {task.ref.digest[:19]} now): its candidates cannot be executed as they were; restore it"
                )
            yield Workbench(
                opened, task, toolchain, log, toolchain.fingerprint(), toolchain.isolation(), engine_version()
            )
        finally:
            toolchain.close()
            task.close()
