"""Hand-made event streams for the tests of the machine, the fold and the rules. No task, no toolchain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from events import types as t

SIZE = 4
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def digest(n: int) -> str:
    return "sha256:" + f"{n:064x}"


def opened(**bounds: Any) -> t.SessionOpened:
    cases = t.CaseSetRef(digest=digest(900), count=SIZE)
    task = t.TaskRef(
        name="op", path="op", layout="direct", digest=digest(901), compact=cases, full=cases, coverage_equivalent=False
    )
    return t.SessionOpened(
        task=task,
        candidate=digest(0),
        configuration=t.Configuration(tolerance="cann-ecosystem/1", seed=7, bounds=t.Bounds(**bounds)),
        worker=t.WorkerIdentity(kind="rules", name="rules"),
        knowledge=None,
        toolchain={},
        isolation={},
        engine="test",
    )


def case(index: int, ratio: float) -> t.CaseResult:
    return t.CaseResult(
        index=index, passed=ratio == 1.0, dtype="float32", shape=(8,), match_ratio=ratio, error=1 - ratio
    )


def compiled(n: int, ok: bool = True) -> t.CompileFinished:
    error = None if ok else t.CompilerError(file="k.cpp", line=3, message="expected ';'")
    return t.CompileFinished(attempt=n, candidate=digest(n), passed=ok, first_error=error)


def evaluated(kind: type[Any], n: int, ratios: Sequence[float]) -> Any:
    padded = (*ratios, *[ratios[-1]] * (SIZE - len(ratios)))
    cases = tuple(case(i, r) for i, r in enumerate(padded))
    return kind(
        attempt=n,
        candidate=digest(n),
        tolerance="cann-ecosystem/1",
        passed=all(c.passed for c in cases),
        cases=cases,
    )


def compact(n: int, *ratios: float) -> t.CompactEvaluated:
    return evaluated(t.CompactEvaluated, n, ratios)  # type: ignore[no-any-return]


def full(n: int, *ratios: float) -> t.FullEvaluated:
    return evaluated(t.FullEvaluated, n, ratios)  # type: ignore[no-any-return]


def judged(n: int, verdict: t.Verdict = "undetermined", *evidence: t.Evidence) -> t.IntegrityJudged:
    return t.IntegrityJudged(attempt=n, candidate=digest(n), verdict=verdict, evidence=evidence, settled_by="test")


def saved(n: int) -> t.CheckpointSaved:
    return t.CheckpointSaved(attempt=n, candidate=digest(n))


def forensics(n: int, candidate: int | None = None) -> t.ForensicsRecorded:
    return t.ForensicsRecorded(
        attempt=n,
        candidate=digest(n if candidate is None else candidate),
        features=(),
        mechanisms=(),
        brief=digest(902),
    )


def patch(n: int, base: int = 0) -> t.PatchProposed:
    return t.PatchProposed(
        attempt=n,
        base=digest(base),
        candidate=digest(n),
        diff=digest(903),
        files=("k.cpp",),
        pattern="P",
        rationale="r",
    )


def timed(events: Sequence[t.Event], step: float = 1.0) -> list[tuple[datetime, t.Event]]:
    """The events one `step` of seconds apart."""
    return [(START + timedelta(seconds=i * step), event) for i, event in enumerate(events)]


def failed_attempt(n: int, *ratios: float, improved: bool, base: int = 0) -> list[t.Event]:
    """Patch, build, compact evaluation that fails, verdict, and the checkpoint if it was progress."""
    events: list[t.Event] = [patch(n, base)] if n else []
    events += [compiled(n), compact(n, *ratios), judged(n)]
    return [*events, saved(n)] if improved else events


ACCEPTED: list[t.Event] = [
    opened(),
    *failed_attempt(0, 0.5, 1.0, improved=True),
    forensics(0),
    patch(1),
    compiled(1),
    compact(1, 1.0, 1.0),
    full(1, 1.0, 1.0, 1.0, 1.0),
    judged(1, "clean"),
    saved(1),
    t.SessionAccepted(attempt=1, candidate=digest(1)),
]
