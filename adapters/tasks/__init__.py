"""Task layouts: how an operator task on disk becomes the engine's `Task`. See docs/tasks.md."""

from adapters.tasks.direct import DirectTask, load_task
from adapters.tasks.reference import ReferenceLimits, ReferenceRunError

__all__ = ["DirectTask", "ReferenceRunError", "ReferenceLimits", "load_task"]
