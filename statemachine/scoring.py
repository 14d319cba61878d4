"""How two candidates are compared, and what counts as progress.

Score = lexicographic (full cases passed, compact cases passed, mean element match ratio, -normalised error), as in
../docs/architecture.md. A candidate that did not reach the full set has 0 full cases passed. Ratios are rounded to
1e-9 so that noise in the last bit of a mean is never "better".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from events.types import CaseResult, Evaluated


@dataclass(frozen=True, order=True)
class Score:
    """Greater is better; compared field by field in this order."""

    full_passed: int = 0
    compact_passed: int = 0
    match_ratio: float = 0.0
    negative_error: float = -1.0


NOTHING = Score()


def score(compact: Evaluated | None, full: Evaluated | None) -> Score:
    """Score of a candidate from its evaluations. Ratio and error are means over the widest set that was run, without
    the excluded cases."""
    widest: Sequence[CaseResult] = full.counted if full else compact.counted if compact else ()
    count = max(1, len(widest))
    return Score(
        full_passed=passed(full),
        compact_passed=passed(compact),
        match_ratio=round(sum(c.match_ratio for c in widest) / count, 9),
        negative_error=-round(sum(c.error for c in widest) / count, 9) if widest else -1.0,
    )


def passed(evaluation: Evaluated | None) -> int:
    """Number of cases that passed (0 if the set was not run)."""
    return sum(c.passed for c in evaluation.cases) if evaluation else 0


def tally(evaluation: Evaluated) -> str:
    """`18/18`, and where cases are excluded how many and why."""
    text = f"{passed(evaluation)}/{len(evaluation.counted)}"
    return text + exclusions([case.reason for case in evaluation.excluded])


def exclusions(reasons: Sequence[str]) -> str:
    """` (2 cases excluded: <the first reason>)`, or nothing."""
    if not reasons:
        return ""
    return f" ({len(reasons)} case{'s' if len(reasons) > 1 else ''} excluded: {reasons[0]})"


def coverage(full: Evaluated | None) -> float:
    """Share of the full set's counted cases that passed, in [0, 1]."""
    return passed(full) / len(full.counted) if full and full.counted else 0.0


def improves(new: Score, best: Score | None, full: Evaluated | None, progress: float) -> bool:
    """Strictly better than the best checkpoint so far, or full coverage at or above the progress threshold."""
    return best is None or new > best or coverage(full) >= progress
