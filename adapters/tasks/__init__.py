"""Task layouts: how an operator task on disk becomes the engine's `Task`. See docs/tasks.md."""

from pathlib import Path

from adapters.tasks.direct import DirectTask, load_direct
from adapters.tasks.msop import MsopTask, is_msop
from adapters.tasks.reference import ReferenceLimits, ReferenceRunError

__all__ = ["AnyTask", "DirectTask", "MsopTask", "ReferenceRunError", "ReferenceLimits", "load_task"]

AnyTask = DirectTask | MsopTask


def load_task(
    path: Path, *, candidate_dir: Path | None = None, cache: Path, limits: ReferenceLimits | None = None
) -> AnyTask:
    """Load the task in directory `path`, of either layout; `candidate_dir` stands in for its own candidate; `cache` is
    the engine's folder.

    Raises UsageError with what is wrong and where; EnvironmentMissing if torch is needed and missing.
    """
    if is_msop(path):
        return MsopTask(path.resolve(), candidate_dir, cache.resolve(), limits or ReferenceLimits())
    return load_direct(path, candidate_dir=candidate_dir, cache=cache, limits=limits)
