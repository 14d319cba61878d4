"""The story of a session: one short line per event, the same for a live run and for a replay of the log."""

from __future__ import annotations

from collections.abc import Iterator

from events.types import (
    BudgetExhausted,
    CheckpointSaved,
    CompactEvaluated,
    CompileFinished,
    ConversationStarted,
    Evaluated,
    Event,
    ForensicsRecorded,
    FullEvaluated,
    IntegrityJudged,
    KnowledgeRetrieved,
    PatchProposed,
    PatchRefused,
    RolledBack,
    SessionAborted,
    SessionAccepted,
    SessionExhausted,
    SessionOpened,
    SessionResumed,
    TurnTaken,
)
from replay.history import History
from statemachine.scoring import exclusions, passed


def line(event: Event) -> str | None:
    """What `event` says, in one line; None for events that only matter to machines (a turn's start)."""
    match event:
        case SessionOpened():
            task = event.task
            return (
                f"opened    {task.name}: {task.compact.count} compact and {task.full.count} full cases, "
                f"tolerance {event.configuration.tolerance}, worker {event.worker.name}"
            )
        case SessionResumed():
            return f"resumed   engine {event.engine}"
        case CompileFinished():
            return _compiled(event)
        case CompactEvaluated():
            return f"compact   {_evaluated(event)}"
        case FullEvaluated():
            return f"full      {_evaluated(event)}"
        case IntegrityJudged():
            return f"integrity {event.verdict}: {event.settled_by}"
        case CheckpointSaved():
            return f"saved     attempt {event.attempt} is the checkpoint"
        case RolledBack():
            return f"rollback  to {event.restored[7:19]}"
        case ForensicsRecorded():
            named = ", ".join(m.name for m in event.mechanisms[:3]) or "no mechanism named"
            return f"forensics {named}"
        case KnowledgeRetrieved():
            shown = ", ".join(f"{e[0]} {e[1]:.2f}" for e in event.entries[:4])
            return f"knowledge {shown or 'nothing fits'}"
        case PatchProposed():
            by = f"{event.pattern}: " if event.pattern else ""
            first = event.rationale.split(". ")[0].split(": ")[0]
            return f"patch {event.attempt:<3} {by}{first} ({', '.join(event.files)})"
        case PatchRefused():
            return f"refused   {event.reason}"
        case ConversationStarted():
            return f"talk      conversation {event.conversation} begins"
        case TurnTaken():
            return f"turn {event.turn:<4} {event.usage.input} in, {event.usage.output} out"
        case SessionAccepted():
            return f"accepted  attempt {event.attempt}"
        case BudgetExhausted():
            return f"bound     {event.bound}: {event.used:g} of {event.limit:g}"
        case SessionExhausted():
            return f"exhausted {event.reason}"
        case SessionAborted():
            return f"aborted   {event.reason}: {event.detail}"
        case _:
            return None


def _compiled(event: CompileFinished) -> str:
    if event.passed:
        return f"built     in {event.seconds:.1f} s{' (cached)' if event.cached else ''}"
    error = event.first_error
    where = f"{error.file}:{error.line}: " if error and error.file else ""
    return f"no build  {where}{error.message if error else 'see the build log'}"


def _evaluated(event: Evaluated) -> str:
    left_out = exclusions([case.reason for case in event.excluded])
    text = f"{passed(event)}/{len(event.counted)} cases{left_out} passed in {event.seconds:.1f} s"
    if event.sanitizer:
        text += f", {len(event.sanitizer)} device findings"
    if event.blocking:
        text += f" (blocking: {', '.join(event.blocking)})"
    first = next((c for c in event.counted if not c.passed), None)
    if first is not None:
        text += f"; first failing: case {first.index} {first.dtype} {list(first.shape)}: {first.reason}"
    return text


def tell(history: History) -> Iterator[str]:
    """Every line of a recorded session, with its event number and time."""
    for envelope, event in zip(history.envelopes, history.events, strict=True):
        if (text := line(event)) is not None:
            yield f"{envelope.seq:>4}  {envelope.recorded_at[11:19]}  {text}"
