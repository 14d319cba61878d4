"""The whole life of a repair, on one screen.

`TRANSITIONS` is the only place that says which move is legal. The live machine (pytransitions) is built from it, and so
is `NEXT`, the table that the fold replays a log with; a test holds the two equal. Every event is either a move (it has
a trigger) or it is said in a state that allows it (`source == dest`). What is not in the table cannot happen: the live
machine refuses it before anything is written, and a fold that meets it reports a corrupted log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from events.types import (
    BudgetExhausted,
    CheckpointSaved,
    CompactEvaluated,
    CompileFinished,
    ConversationStarted,
    Event,
    ForensicsRecorded,
    FullEvaluated,
    IntegrityJudged,
    KnowledgeRetrieved,
    PatchProposed,
    PatchRefused,
    ProbePlanned,
    ProbeRecorded,
    RolledBack,
    SessionAborted,
    SessionAccepted,
    SessionExhausted,
    SessionOpened,
    SessionResumed,
    TurnStarted,
    TurnTaken,
)

if TYPE_CHECKING:
    from transitions import EventData, Machine

Status = Literal[
    "opened",
    "diagnosed",
    "patched",
    "built",
    "compact_passed",
    "full_passed",
    "clean",
    "rejected",
    "rolled_back",
    "accepted",
    "exhausted",
    "aborted",
]
TERMINAL: frozenset[Status] = frozenset({"accepted", "exhausted", "aborted"})
#: A candidate is there and no gate has failed: who aborts here judges it first.
BEFORE_VERDICT: tuple[Status, ...] = ("patched", "built", "compact_passed")
LIVE: tuple[Status, ...] = tuple(status for status in get_args(Status) if status not in TERMINAL)


@dataclass(frozen=True)
class Transition:
    """`trigger` moves `source` to `dest`; `passed` selects between two ends of one trigger (None: there is one end)."""

    trigger: str
    source: Status
    dest: Status
    passed: bool | None = None


TRANSITIONS: tuple[Transition, ...] = (
    Transition("compile", "opened", "built", True),
    Transition("compile", "opened", "rejected", False),
    Transition("compact_eval", "built", "compact_passed", True),
    Transition("compact_eval", "built", "rejected", False),
    Transition("full_eval", "compact_passed", "full_passed", True),
    Transition("full_eval", "compact_passed", "rejected", False),
    Transition("anti_cheat", "full_passed", "clean", True),
    Transition("anti_cheat", "full_passed", "rejected", False),
    Transition("anti_cheat", "rejected", "rejected", True),  # every materialised candidate gets its verdict
    Transition("anti_cheat", "rejected", "rejected", False),
    # ... even if its session aborts before it could be run, or run on the full set
    *(Transition("anti_cheat", at, at, clean) for at in BEFORE_VERDICT for clean in (True, False)),
    Transition("checkpoint", "clean", "clean"),
    Transition("checkpoint", "rejected", "rejected"),
    Transition("accept", "clean", "accepted"),
    Transition("rollback", "rejected", "rolled_back"),
    Transition("forensics", "rejected", "diagnosed"),
    Transition("forensics", "rolled_back", "diagnosed"),
    Transition("floor", "diagnosed", "diagnosed"),  # the worker's own turns, conversations and retrievals
    Transition("probe", "diagnosed", "diagnosed"),
    Transition("refuse", "diagnosed", "diagnosed"),
    Transition("patch", "diagnosed", "patched"),
    Transition("compile", "patched", "built", True),
    Transition("compile", "patched", "rejected", False),
    *(Transition("resume", status, status) for status in LIVE),
    *(Transition("bound", status, status) for status in LIVE),
    *(Transition("exhaust", status, "exhausted") for status in LIVE),
    *(Transition("abort", status, "aborted") for status in LIVE),
)

NEXT: dict[tuple[Status, str, bool | None], Status] = {(t.source, t.trigger, t.passed): t.dest for t in TRANSITIONS}

TRIGGERS: dict[type[Any], str] = {
    SessionResumed: "resume",
    ForensicsRecorded: "forensics",
    ProbePlanned: "probe",
    ProbeRecorded: "probe",
    ConversationStarted: "floor",
    TurnStarted: "floor",
    TurnTaken: "floor",
    KnowledgeRetrieved: "floor",
    PatchProposed: "patch",
    PatchRefused: "refuse",
    CompileFinished: "compile",
    CompactEvaluated: "compact_eval",
    FullEvaluated: "full_eval",
    IntegrityJudged: "anti_cheat",
    CheckpointSaved: "checkpoint",
    RolledBack: "rollback",
    SessionAccepted: "accept",
    BudgetExhausted: "bound",
    SessionExhausted: "exhaust",
    SessionAborted: "abort",
}


#: Triggers whose event says itself whether it passed.
SETTLED = frozenset({"compile", "compact_eval", "full_eval"})


def move_of(event: Event) -> tuple[str, bool | None]:
    """(trigger, passed) of an event. ValueError for SessionOpened, the beginning, and for what no session holds."""
    kind = type(event)  # isinstance of a pydantic model that it is not costs as much as the rest of a fold
    trigger = TRIGGERS.get(kind)
    if trigger is None:
        if kind is SessionOpened:
            raise ValueError("SessionOpened begins a stream; it is not a move within one")
        raise ValueError(f"{event.type} is said after a session, in a stream of its own; it is no move")
    if trigger in SETTLED and isinstance(event, CompileFinished | CompactEvaluated | FullEvaluated):
        return trigger, event.passed
    if kind is IntegrityJudged:
        return trigger, event.verdict == "clean"  # type: ignore[union-attr]
    return trigger, None


class Live:
    """What the live machine moves: the machine puts `status` and `trigger` here."""

    status: Status
    trigger: Callable[..., bool]


def build_machine(model: Live, initial: Status, append: Callable[[Event], None]) -> Machine:
    """The live machine over `model`, which gets `.trigger` and `.status`.

    `append` runs before the state moves: if it raises, the state has not moved. An illegal trigger raises
    transitions.MachineError before anything is appended.
    """
    from transitions import Machine

    def before(data: EventData) -> None:
        append(data.kwargs["event"])

    def condition(passed: bool | None) -> Callable[[EventData], bool]:
        return lambda data: data.kwargs["passed"] is passed

    return Machine(
        model=model,
        states=list(get_args(Status)),
        initial=initial,
        model_attribute="status",
        auto_transitions=False,
        send_event=True,
        transitions=[
            {
                "trigger": t.trigger,
                "source": t.source,
                "dest": t.dest,
                "conditions": condition(t.passed),
                "before": before,
            }
            for t in TRANSITIONS
        ],
    )
