"""The static reading of one candidate on its task: wrapper, helpers and kernel sources, as one list of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from events.types import Evidence
from statemachine.candidate import Candidate
from statemachine.integrity.binding import read_binding
from statemachine.integrity.operator import read_operator
from statemachine.integrity.wrapper import read_wrapper
from statemachine.ports import OperatorTask, Task

WRAPPER = "model_new_ascendc.py"
OPERATOR_WRAPPER = "validation/module.py"
#: Python files of a task that are not the candidate's.
NOT_HELPERS = frozenset({WRAPPER, "model.py"})


def read_statically(task: Task, candidate: Candidate) -> tuple[Evidence, ...]:
    """Evidence of the wrapper reader and the binding reader for `candidate` on `task`. Nothing is executed."""
    if isinstance(task, OperatorTask):
        bound = read_operator(task.binding, candidate.files)
        modules = bound.modules or None
        report = read_wrapper(task.wrapper_source, OPERATOR_WRAPPER, helpers=task.helpers, extensions=modules)
        return (*report.evidence, *bound.evidence)
    return read_sources(task.wrapper_source, candidate.files, helpers_of(task.directory))


def read_sources(wrapper: str, kernel: Mapping[str, str], helpers: Mapping[str, str]) -> tuple[Evidence, ...]:
    """The same over texts: `kernel` by path relative to kernel/, `helpers` by file name."""
    binding = read_binding(kernel)
    modules = binding.modules or None
    report = read_wrapper(wrapper, WRAPPER, helpers=helpers, extensions=modules)
    return (*report.evidence, *binding.evidence)


def helpers_of(directory: Path) -> dict[str, str]:
    """Task-local Python modules beside the wrapper; text that is not UTF-8 is kept readable, not skipped."""
    return {
        path.name: path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(directory.glob("*.py"))
        if path.name not in NOT_HELPERS and path.is_file() and not path.name.startswith("model_new_")
    }
