"""The event catalogue: everything that can ever be said about a repair session, in the past tense.

One frozen pydantic model per event, one discriminated union (`Event`), one cached decoder (`decode`). State is a pure
fold over these (law 1), so an event carries every fact the engine later decides on, and nothing that can be derived.
Large things (sources, diffs, logs, briefs) are not here: an event names them by digest in the blob store.

Adding an event or a field: docs/events.md. A field that is added needs a default, or a new version and an upcaster.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
#: A digest whose bytes are in the blob store. (A plain Digest only identifies something: a task, a case set.)
BlobRef = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$"), "blob"]
CaseSet = Literal["compact", "full"]
Verdict = Literal["clean", "tainted", "undetermined"]
Reach = Literal["yes", "no", "unknown"]
CheckOutcome = Literal["passed", "flagged", "failed", "skipped", "noted"]


class Frozen(BaseModel):
    """Base of all domain types: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


# ---------------------------------------------------------------- parts of events


class CaseSetRef(Frozen):
    """A frozen set of cases: how many, and the digest of their descriptors (not of any tensor)."""

    digest: Digest
    count: int = Field(ge=0)


class TaskRef(Frozen):
    """The operator task a session works on. `coverage_equivalent`: the full set adds nothing to the compact set."""

    name: str
    path: str
    layout: str
    digest: Digest
    compact: CaseSetRef
    full: CaseSetRef
    coverage_equivalent: bool
    warnings: tuple[str, ...] = ()


class Bounds(Frozen):
    """Hard bounds and thresholds of a session. Defaults are those of the paper (see docs/architecture.md)."""

    turns_per_conversation: int = Field(240, ge=1)
    turns: int = Field(600, ge=1)
    attempts: int = Field(5, ge=0)
    wall_seconds: float = Field(12 * 3600.0, gt=0)
    refusals: int = Field(20, ge=1)
    patience: int = Field(2, ge=1)
    progress: float = Field(0.90, gt=0, le=1)


#: More of a set's cases left out than this share say nothing about a candidate any more.
MAX_EXCLUDED = 0.5


class Configuration(Frozen):
    """What the user chose. `seed` makes the inputs; it is in the log, where no worker and no candidate reads.

    `findings` names the policy on device findings; its content are the kinds that fail a candidate
    (`blocking_findings`) and those of them that do so only where their data may reach an output. `max_excluded`: the
    share of a set's cases that the reference may fail on before the task is a broken one.
    """

    arm: str = "full"
    bounds: Bounds = Bounds()
    tolerance: str
    scope: Literal["kernel", "device"] = "kernel"
    seed: int
    check_level: int = Field(3, ge=0, le=3)
    case_seconds: float = Field(60.0, gt=0)
    case_memory_mb: int = Field(4096, ge=64)
    findings: str = "kinds/1"
    blocking_findings: tuple[str, ...] = ()
    blocking_when_reaching: tuple[str, ...] = ()
    max_excluded: float = Field(MAX_EXCLUDED, ge=0, le=1)


class WorkerIdentity(Frozen):
    """Who proposes: kind (`rules`, `recorded`, `llm`), a name and the parameters that change what it would propose."""

    kind: str
    name: str
    parameters: dict[str, str] = {}


class CompilerError(Frozen):
    """The first error of a build; `file` is relative to the task's kernel folder."""

    file: str | None = None
    line: int | None = None
    message: str


class SanitizerFinding(Frozen):
    """What the device noticed beside the numbers; `file` and `line` are the candidate's own source.
    `reaches_output`: whether bytes that it is about are in a returned tensor in the end."""

    kind: str
    api: str = ""
    file: str | None = None
    line: int | None = None
    message: str
    count: int = 1
    reaches_output: Reach = "unknown"


class Evidence(Frozen):
    """One check of the integrity layer. `skipped` says that it was not run and why (law 6)."""

    check: str
    outcome: CheckOutcome
    detail: str = ""
    where: str | None = None


class Feature(Frozen):
    """One observed trait of a wrong tensor, from the vocabulary of statemachine/forensics (e.g. `tail-only`).

    `strength` in [0, 1] is how well the trait explains the wrong elements; `facts` are numbers a rule may use.
    """

    name: str
    strength: float = Field(ge=0, le=1)
    facts: dict[str, float] = {}
    detail: str = ""


class CaseResult(Frozen):
    """The numeric verdict on one case under the session's tolerance policy, and what the comparison saw.

    `mere`/`mare`: mean / max relative error over finite elements; None where no comparison took place.
    `match_ratio`: share of elements within tolerance, 0 if the candidate gave nothing comparable.
    `error`: mean relative error capped to [0, 1] for scoring (1 if nothing was comparable).
    `excluded`: the reference itself fails on this case (`reason` says how), so nothing ran: neither passed nor failed.
    """

    index: int = Field(ge=0)
    passed: bool
    dtype: str
    shape: tuple[int, ...]
    descriptor: dict[str, Any] = {}
    status: Literal["ok", "error", "crash", "timeout", "oom", "bad-output", "excluded"] = "ok"
    mere: float | None = None
    mare: float | None = None
    match_ratio: float = Field(0.0, ge=0, le=1)
    error: float = Field(1.0, ge=0, le=1)
    reason: str = ""
    features: tuple[Feature, ...] = ()
    launches: tuple[str, ...] = ()
    seconds: float = 0.0


class Mechanism(Frozen):
    """A ranked hypothesis about the fault, with what speaks for it."""

    name: str
    score: float
    because: tuple[str, ...] = ()


class Usage(Frozen):
    """Tokens of one turn. None means unknown (a call that broke), which is not zero."""

    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0


# ---------------------------------------------------------------- events


class SessionOpened(Frozen):
    type: Literal["SessionOpened"] = "SessionOpened"
    task: TaskRef
    candidate: BlobRef
    configuration: Configuration
    worker: WorkerIdentity
    knowledge: Digest | None
    toolchain: dict[str, str]
    isolation: dict[str, str]
    engine: str


class SessionResumed(Frozen):
    """A new process took the session over. The gap before it does not count against the wall-clock bound."""

    type: Literal["SessionResumed"] = "SessionResumed"
    engine: str
    toolchain: dict[str, str]
    isolation: dict[str, str]


class ForensicsRecorded(Frozen):
    type: Literal["ForensicsRecorded"] = "ForensicsRecorded"
    attempt: int
    candidate: BlobRef
    features: tuple[Feature, ...]
    mechanisms: tuple[Mechanism, ...]
    ruled_out: tuple[str, ...] = ()
    brief: BlobRef


class ProbePlanned(Frozen):
    type: Literal["ProbePlanned"] = "ProbePlanned"
    attempt: int
    request: dict[str, Any]


class ProbeRecorded(Frozen):
    type: Literal["ProbeRecorded"] = "ProbeRecorded"
    attempt: int
    result: BlobRef
    summary: str


class ConversationStarted(Frozen):
    type: Literal["ConversationStarted"] = "ConversationStarted"
    conversation: int
    attempt: int
    brief: BlobRef


class TurnStarted(Frozen):
    type: Literal["TurnStarted"] = "TurnStarted"
    conversation: int
    turn: int
    request: BlobRef | None = None
    model: str = ""


class TurnTaken(Frozen):
    type: Literal["TurnTaken"] = "TurnTaken"
    conversation: int
    turn: int
    usage: Usage
    response: BlobRef | None = None
    model: str = ""
    stop: str = ""


class KnowledgeRetrieved(Frozen):
    type: Literal["KnowledgeRetrieved"] = "KnowledgeRetrieved"
    attempt: int
    snapshot: Digest
    entries: tuple[tuple[str, float, str], ...]


class PatchProposed(Frozen):
    """Attempt `attempt` begins: `candidate` = `base` with `diff` applied (blob: unified diff over kernel files)."""

    type: Literal["PatchProposed"] = "PatchProposed"
    attempt: int
    base: BlobRef
    candidate: BlobRef
    diff: BlobRef
    files: tuple[str, ...]
    pattern: str | None = None
    rationale: str = ""


class PatchRefused(Frozen):
    type: Literal["PatchRefused"] = "PatchRefused"
    attempt: int
    reason: str
    files: tuple[str, ...] = ()
    pattern: str | None = None
    proposal: BlobRef | None = None


class CompileFinished(Frozen):
    type: Literal["CompileFinished"] = "CompileFinished"
    attempt: int
    candidate: BlobRef
    passed: bool
    first_error: CompilerError | None = None
    log: BlobRef | None = None
    artifact: Digest | None = None
    static: tuple[Evidence, ...] = ()
    seconds: float = 0.0
    cached: bool = False


class Evaluated(Frozen):
    """Common body of the two evaluations. `passed` = every counted case within tolerance (and there is one) and no
    blocking finding."""

    attempt: int
    candidate: BlobRef
    tolerance: str
    passed: bool
    cases: tuple[CaseResult, ...]
    sanitizer: tuple[SanitizerFinding, ...] = ()
    blocking: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0

    @property
    def counted(self) -> tuple[CaseResult, ...]:
        """The cases that say something about the candidate: all but the excluded ones."""
        return tuple(case for case in self.cases if case.status != "excluded")

    @property
    def excluded(self) -> tuple[CaseResult, ...]:
        return tuple(case for case in self.cases if case.status == "excluded")


class CompactEvaluated(Evaluated):
    type: Literal["CompactEvaluated"] = "CompactEvaluated"


class FullEvaluated(Evaluated):
    type: Literal["FullEvaluated"] = "FullEvaluated"


class IntegrityJudged(Frozen):
    type: Literal["IntegrityJudged"] = "IntegrityJudged"
    attempt: int
    candidate: BlobRef
    verdict: Verdict
    evidence: tuple[Evidence, ...]
    settled_by: str


class CheckpointSaved(Frozen):
    type: Literal["CheckpointSaved"] = "CheckpointSaved"
    attempt: int
    candidate: BlobRef


class RolledBack(Frozen):
    type: Literal["RolledBack"] = "RolledBack"
    attempt: int
    restored: BlobRef


class SessionAccepted(Frozen):
    type: Literal["SessionAccepted"] = "SessionAccepted"
    attempt: int
    candidate: BlobRef


class BudgetExhausted(Frozen):
    type: Literal["BudgetExhausted"] = "BudgetExhausted"
    bound: str
    limit: float
    used: float


class SessionExhausted(Frozen):
    type: Literal["SessionExhausted"] = "SessionExhausted"
    reason: str
    best: BlobRef | None


class SessionAborted(Frozen):
    type: Literal["SessionAborted"] = "SessionAborted"
    reason: str
    detail: str = ""


class PostHocEvaluated(Evaluated):
    """An evaluation made afterwards, in a stream of its own (`posthoc:<session>`, statemachine/posthoc.py).

    It is no event of the session `of` and changes nothing about it; `head` is the hash of that session's last event.
    """

    type: Literal["PostHocEvaluated"] = "PostHocEvaluated"
    of: str
    head: Digest
    which: CaseSet
    toolchain: dict[str, str]
    isolation: dict[str, str]
    engine: str


Event = Annotated[
    SessionOpened
    | SessionResumed
    | ForensicsRecorded
    | ProbePlanned
    | ProbeRecorded
    | ConversationStarted
    | TurnStarted
    | TurnTaken
    | KnowledgeRetrieved
    | PatchProposed
    | PatchRefused
    | CompileFinished
    | CompactEvaluated
    | FullEvaluated
    | IntegrityJudged
    | CheckpointSaved
    | RolledBack
    | SessionAccepted
    | BudgetExhausted
    | SessionExhausted
    | SessionAborted
    | PostHocEvaluated,
    Field(discriminator="type"),
]

#: Current version of every event type that is not at version 1.
VERSIONS: dict[str, int] = {}


def version_of(event_type: str) -> int:
    """The version that is written today for `event_type`."""
    return VERSIONS.get(event_type, 1)


@cache
def adapter() -> TypeAdapter[Event]:
    """The one decoder of the union, built on first use."""
    return TypeAdapter(Event)


@cache
def exact_types() -> frozenset[str]:
    """The types whose JSON is one to one with the event.

    They hold texts, integers, truth values, null, and models, tuples and dicts of those; no floats and no free fields.
    Read strictly, such a payload holds nothing that was converted (1 for 1.0, "NaN" for NaN, "7" for 7).
    """
    return frozenset(kind.model_fields["type"].default for kind in get_args(get_args(Event)[0]) if _exact(kind))


def _exact(part: Any) -> bool:
    if isinstance(part, type) and issubclass(part, BaseModel):
        return all(_exact(info.annotation) for info in part.model_fields.values())
    if get_origin(part) is Annotated:
        return _exact(get_args(part)[0])
    if get_origin(part) is Literal:
        return all(type(word) is str for word in get_args(part))
    return all(map(_exact, get_args(part))) if get_args(part) else part in _EXACT


_EXACT = (str, int, bool, type(None), Ellipsis)


def blob_refs(event: BaseModel) -> tuple[str, ...]:
    """The blobs an event names, in field order: the store must hold each of them."""
    return tuple([v for name in _blob_fields(type(event)) if (v := getattr(event, name)) is not None])


@cache
def _blob_fields(kind: type[BaseModel]) -> tuple[str, ...]:
    fields = kind.model_fields.items()
    return tuple(name for name, info in fields if "blob" in info.metadata or _optional_blob(info.annotation))


def _optional_blob(annotation: Any) -> bool:
    return any("blob" in getattr(part, "__metadata__", ()) for part in get_args(annotation))


@cache
def event_types() -> frozenset[str]:
    """Every `type` word of the catalogue."""
    return frozenset(adapter().json_schema()["discriminator"]["mapping"])
