"""Full evaluations made after a session: read from the stream beside it, and made where a shadow lacks them.

Only whether an accepted candidate holds is answered by them; no decision of a shadow rests on one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from events.errors import LogCorrupt
from events.log import SqlLog
from events.types import FullEvaluated, PostHocEvaluated, SessionOpened
from replay.again import Again
from replay.history import History
from replay.shadow.derive import Shadow
from statemachine.evaluate import Evaluation
from statemachine.posthoc import covers, stream_of


def posthoc_of(log: SqlLog, session: str, hashes: Collection[str], opened: SessionOpened) -> dict[str, FullEvaluated]:
    """By candidate. `hashes`: those of the session's events. Raises LogCorrupt for a record that speaks of another
    session, of another past of this one, of another tolerance, or not of the cases of its set."""
    known: dict[str, FullEvaluated] = {}
    stream = stream_of(session)
    for envelope in log.read(stream):
        event = envelope.event()
        if (
            not isinstance(event, PostHocEvaluated)
            or event.of != session
            or event.head not in hashes
            or event.tolerance != opened.configuration.tolerance
            or not covers(event, opened)
        ):
            raise LogCorrupt(
                f"event {envelope.seq} of {stream} does not speak of session {session} as it is recorded here: it was "
                "made from another log, or this one was changed; run `opmend verify`"
            )
        if event.which == "full":
            shared = {name: getattr(event, name) for name in FullEvaluated.model_fields if name != "type"}
            known[event.candidate] = FullEvaluated(**shared)
    return known


def lacking(shadows: Iterable[Shadow], known: Mapping[str, FullEvaluated]) -> dict[str, int]:
    """Candidates that a shadow accepted and of which no full evaluation is known, with their attempt."""
    wanted: dict[str, int] = {}
    for shadow in shadows:
        if shadow.state is not None and shadow.state.status == "accepted" and shadow.holds is None:
            now = shadow.state.current
            if now.candidate not in known:
                wanted[now.candidate] = now.number
    return wanted


def evaluate_afterwards(log: SqlLog, history: History, wanted: Mapping[str, int], again: Again) -> None:
    """Run the full set for each candidate of `wanted` and append what came of it to the stream beside the session."""
    stream = stream_of(history.session)
    with log.writer(stream):
        for candidate, attempt in wanted.items():
            built = again.build(candidate)
            result = again.evaluate(built.handle, "full") if built.passed else Evaluation()
            event = PostHocEvaluated(
                of=history.session,
                head=history.head,
                which="full",
                attempt=attempt,
                candidate=candidate,
                tolerance=history.state.opened.configuration.tolerance,
                passed=result.passed,
                cases=tuple(result.cases),
                sanitizer=result.sanitizer,
                blocking=result.blocking if built.passed else ("does-not-build-any-more",),
                evidence=result.evidence,
                seconds=result.seconds,
                toolchain=again.toolchain,
                isolation=again.isolation,
                engine=again.engine,
            )
            log.append(stream, event, datetime.now(UTC))
