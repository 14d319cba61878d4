"""What looking back needs to execute something again. The only door: plain replay never opens it.

`replay` imports no adapter, so the front door hands the way in (`Executor`, as click's context object) to the two
commands that ask for it: `replay --rerun` and `shadow --evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from events.types import CaseSet
from statemachine.evaluate import Evaluation
from statemachine.ports import BuildOutcome

if TYPE_CHECKING:
    from events.log import SqlLog
    from events.types import SessionOpened


class Again(Protocol):
    """A session's task and toolchain, set up once more as its first event says."""

    @property
    def toolchain(self) -> dict[str, str]:
        """The fingerprint of the toolchain as it is now."""
        ...

    @property
    def isolation(self) -> dict[str, str]: ...
    @property
    def engine(self) -> str: ...
    def build(self, candidate: str) -> BuildOutcome:
        """Build the candidate of that digest, from the log's blobs."""
        ...

    def evaluate(self, handle: Any, which: CaseSet) -> Evaluation:
        """Run a built candidate on a set, under the session's seed, limits and tolerance."""
        ...


class Executor(Protocol):
    def __call__(self, opened: SessionOpened, log: SqlLog, cache: Path | None) -> AbstractContextManager[Again]:
        """Raises UsageError when the task is gone or has changed, EnvironmentMissing without a toolchain."""
        ...


def differing(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, dict[str, str | None]]:
    """Where two fingerprints differ: `{key: {"then": ..., "now": ...}}`, None where a key is not there."""
    return {
        key: {"then": then.get(key), "now": now.get(key)}
        for key in sorted({*then, *now})
        if then.get(key) != now.get(key)
    }
