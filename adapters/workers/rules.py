"""The rules worker: proposes edits from the knowledge base, ranked by the forensics. No model, no tokens, no turns.

It remembers nothing between calls: what was tried is read from the brief, so a resumed session proposes the same. One
hypothesis per attempt: the best edit whose diff was not tried or refused before. A pattern whose edits did not improve
the candidate loses rank with each try, so that a second hypothesis gets its turn before a third site of the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from events.types import KnowledgeRetrieved, WorkerIdentity
from statemachine.candidate import Candidate
from statemachine.ports import Brief, Floor, GiveUp, Knowledge, Proposal, Retrieved, Tried

#: Rank lost by a pattern with every try that did not improve, and by every later alternative of one pattern.
_DECAY_TRIED = 0.45
_DECAY_ALTERNATIVE = 0.8
#: How many entries of a retrieval are put on the record.
_RECORDED = 12


@dataclass(frozen=True)
class _Option:
    """One alternative of one entry, with its rank for this attempt."""

    entry: Retrieved
    number: int
    of: int
    rank: float
    files: dict[str, str]


class RulesWorker:
    """Fits the `Worker` port. Deterministic in (knowledge snapshot, brief)."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def identity(self) -> WorkerIdentity:
        parameters = {"decay_tried": str(_DECAY_TRIED), "decay_alternative": str(_DECAY_ALTERNATIVE)}
        return WorkerIdentity(kind="rules", name="rules/1", parameters=parameters)

    def propose(self, brief: Brief, floor: Floor) -> Proposal | GiveUp:
        """The best untried edit on the best checkpoint's sources, or GiveUp with what was tried and ruled out."""
        entries = self._knowledge.retrieve(brief)
        floor.record(
            KnowledgeRetrieved(
                attempt=brief.attempt,
                snapshot=self._knowledge.snapshot(),
                entries=tuple((entry.id, entry.score, entry.why) for entry in entries[:_RECORDED]),
            )
        )
        if not (brief.features or brief.findings or brief.failing):
            return GiveUp("every case is within tolerance and nothing was found: no numeric fault is left to repair.")
        sources, base = (brief.best_sources, brief.best) if brief.best_sources else (brief.sources, brief.base)
        standing = Candidate(dict(sources))
        known = {_essence(tried.diff) for tried in brief.tried}
        for option in _ranked(entries, brief.tried):
            diff = standing.with_files(option.files).diff_from(standing)
            if diff and _essence(diff) not in known:
                return Proposal(base, option.files, _rationale(option, diff), option.entry.id)
        return GiveUp(_farewell(brief, entries))


def _essence(diff: str) -> tuple[str, ...]:
    """A diff without what moves when other lines change: hunk headers and context."""
    return tuple(line.rstrip() for line in diff.splitlines() if line[:1] in ("+", "-"))


def _ranked(entries: Sequence[Retrieved], tried: Iterable[Tried]) -> list[_Option]:
    misses: dict[str, int] = {}
    for attempt in tried:
        if attempt.pattern is not None and not attempt.improved:
            misses[attempt.pattern] = misses.get(attempt.pattern, 0) + 1
    options = [
        _Option(entry, number, len(entry.rewrites), _rank(entry, number, misses.get(entry.id, 0)), dict(files))
        for entry in entries
        for number, files in enumerate(entry.rewrites)
    ]
    return sorted(options, key=lambda option: (-option.rank, option.entry.id, option.number))


def _rank(entry: Retrieved, number: int, misses: int) -> float:
    factor = _DECAY_TRIED**misses * _DECAY_ALTERNATIVE**number
    return entry.score * factor if entry.score >= 0 else entry.score / factor


def _rationale(option: _Option, diff: str) -> str:
    entry = option.entry
    places = [line for line in diff.splitlines() if line.startswith("@@")]
    files = ", ".join(sorted(option.files))
    choice = f" (alternative {option.number + 1} of {option.of})" if option.of > 1 else ""
    return f"{entry.title}{choice}: {entry.why}. {len(places)} place(s) in {files}. {entry.remedy.strip()}"


def _farewell(brief: Brief, entries: Sequence[Retrieved]) -> str:
    attempted = [f"{tried.pattern or 'a patch'} ({tried.outcome})" for tried in brief.tried]
    advice = [f"{entry.id} {entry.title}" for entry in entries if not entry.rewrites][:5]
    applied = sorted({entry.id for entry in entries if entry.rewrites})
    parts = [
        f"no untried edit is left; tried: {', '.join(attempted) if attempted else 'nothing'}",
        f"patterns that apply to this source, all of their edits tried: {', '.join(applied) if applied else 'none'}",
    ]
    if advice:
        parts.append(f"fits the failure but has no edit for this source: {', '.join(advice)}")
    if brief.mechanisms:
        parts.append(f"leading hypothesis: {brief.mechanisms[0].name}")
    return "; ".join(parts) + "."
