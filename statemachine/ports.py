"""What the engine needs from the outside world, as small Protocols. The adapters fit them; this folder imports none.

`Task` gives the operator (sources, cases, expected values), `Toolchain` builds and runs candidates in their own
processes, `Worker` proposes patches, `Knowledge` retrieves patterns, `EventLog` and `BlobStore` remember, `Clock` tells
time.
Arrays at this boundary are numpy arrays (bfloat16 through ml_dtypes); torch exists only behind the ports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from events.types import (
    CaseSet,
    CompilerError,
    Event,
    Evidence,
    Feature,
    Mechanism,
    SanitizerFinding,
    TaskRef,
    WorkerIdentity,
)
from statemachine.candidate import Candidate

if TYPE_CHECKING:
    from events.envelope import Envelope

Array = npt.NDArray[np.generic]
RunStatus = Literal["ok", "error", "crash", "timeout", "oom", "bad-output"]


# ---------------------------------------------------------------- errors that decide an exit code


class OpmendError(Exception):
    """An error for people: what happened, where, what to do next. `exit_code` is the process's exit code."""

    exit_code = 1


class UsageError(OpmendError):
    """Bad arguments, a broken task or configuration (2)."""

    exit_code = 2


class ReferenceFails(UsageError):
    """The reference's own code raised on one case, which therefore says nothing about a candidate. Not raised where it
    ran out of time or memory, nor where it contradicts the task: those end the session."""


class VerificationError(OpmendError):
    """A log or a record does not verify (3)."""

    exit_code = 3


class EnvironmentMissing(OpmendError):
    """A compiler, a library or a device is not there (4)."""

    exit_code = 4


class InfrastructureError(OpmendError):
    """Something outside the candidate broke: disk, database, lost process. Safe to retry or resume (5)."""

    exit_code = 5


# ---------------------------------------------------------------- task


@dataclass(frozen=True)
class CaseData:
    """One case, made by the engine: `inputs` is the file handed to the candidate, `expected` never leaves the engine.

    `expected` is the reference's output, flattened to arrays in order; `descriptor` is what may be shown of the case
    (names, dtypes, shapes, attributes; never values).
    """

    index: int
    descriptor: Mapping[str, Any]
    inputs: Path
    expected: Sequence[Array]


class Task(Protocol):
    """A loaded operator task. Loading raises UsageError with what is wrong and where."""

    @property
    def ref(self) -> TaskRef: ...
    @property
    def directory(self) -> Path: ...
    @property
    def candidate(self) -> Candidate:
        """Attempt 0: the untouched near-miss."""
        ...

    @property
    def reference_source(self) -> str: ...
    @property
    def wrapper_source(self) -> str: ...
    @property
    def helpers(self) -> Mapping[str, str]:
        """Other Python files of the task that the wrapper may import, by path relative to the task."""
        ...

    def descriptors(self, which: CaseSet) -> Sequence[Mapping[str, Any]]: ...
    def cases(self, which: CaseSet, seed: int, indices: Sequence[int] | None = None) -> Iterator[CaseData]:
        """Make inputs and expected outputs (in a process of their own), in case order. Pure in (task, which, seed).
        Raises ReferenceFails on a case that the reference cannot do."""
        ...


@runtime_checkable
class OperatorTask(Task, Protocol):
    """A task whose binding is the task's own and not the candidate's (the msopgen layout)."""

    @property
    def binding(self) -> str:
        """The C++ text that hands tensors to the operator."""
        ...


# ---------------------------------------------------------------- toolchain


@dataclass(frozen=True)
class BuildOutcome:
    """Result of building a candidate. `handle` is what `Toolchain.run` takes; None when the build failed."""

    passed: bool
    handle: Any | None
    log: str
    first_error: CompilerError | None
    artifact: str | None
    seconds: float
    cached: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class CaseRun:
    """What one run of the candidate on one case gave. `outputs` are None unless status is `ok`."""

    index: int
    status: RunStatus
    detail: str
    outputs: Sequence[Array] | None
    launches: tuple[str, ...]
    findings: tuple[SanitizerFinding, ...]
    evidence: tuple[Evidence, ...]
    seconds: float


class Toolchain(Protocol):
    def fingerprint(self) -> dict[str, str]:
        """Everything that could change a result: compiler, flags, device version, machine."""
        ...

    def isolation(self) -> dict[str, str]:
        """What holds the candidate's process in: `{"network": "namespace" | "none: why", ...}`."""
        ...

    def build(self, task: Task, candidate: Candidate, level: int) -> BuildOutcome: ...
    def run(self, task: Task, handle: Any, cases: Iterator[CaseData]) -> Iterator[CaseRun]:
        """Run the built candidate on `cases`, one CaseRun per case in order. A hostile candidate is a status, not an
        exception; InfrastructureError only when the machinery itself broke."""
        ...


# ---------------------------------------------------------------- worker and knowledge


@dataclass(frozen=True)
class Tried:
    """One earlier attempt, or refused proposal, as the worker may know it."""

    attempt: int
    pattern: str | None
    rationale: str
    diff: str
    outcome: str
    improved: bool


@dataclass(frozen=True)
class Brief:
    """All that a worker gets (law 2). A pure function of the log and the task's public parts.

    `sources` are the kernel files of the candidate that stands (`base`); `best_sources` those of the best checkpoint.
    `compact` are the compact case descriptors, each with whether it passed; `failing` names at most three failing full
    cases (shape, dtype, attributes). No expected value, no seed, no full-set value.
    """

    attempt: int
    task: str
    reference: str
    wrapper: str
    base: str
    sources: Mapping[str, str]
    best: str
    best_sources: Mapping[str, str]
    compact: Sequence[Mapping[str, Any]]
    failing: Sequence[Mapping[str, Any]]
    features: Sequence[Feature]
    mechanisms: Sequence[Mechanism]
    findings: Sequence[SanitizerFinding]
    tried: Sequence[Tried]
    budget_left: Mapping[str, float]
    text: str


@dataclass(frozen=True)
class Proposal:
    """A patch: whole new texts of kernel files, by path relative to `kernel/`, over the candidate `base` (digest)."""

    base: str
    files: Mapping[str, str]
    rationale: str
    pattern: str | None = None


@dataclass(frozen=True)
class GiveUp:
    """The worker has nothing (more) to propose."""

    reason: str


class Floor(Protocol):
    """The worker's way to put its own events (turns, retrievals) on the record while it has the floor."""

    def record(self, event: Event) -> None: ...
    def blob(self, data: bytes) -> str: ...


class Worker(Protocol):
    def identity(self) -> WorkerIdentity: ...
    def propose(self, brief: Brief, floor: Floor) -> Proposal | GiveUp: ...


@dataclass(frozen=True)
class Retrieved:
    """One knowledge entry that fits the failure: id, score, why, and the ready-made edits if it carries a rewrite."""

    id: str
    title: str
    score: float
    why: str
    remedy: str
    rewrites: Sequence[Mapping[str, str]] = field(default_factory=tuple)


class Knowledge(Protocol):
    def snapshot(self) -> str:
        """Digest of the frozen set of entries."""
        ...

    def retrieve(self, brief: Brief) -> Sequence[Retrieved]:
        """Entries that fit, best first. Deterministic in (snapshot, brief)."""
        ...


# ---------------------------------------------------------------- memory and time


class EventLog(Protocol):
    """Append-only, hash-chained, one writer per session. See docs/log-format.md."""

    def append(self, session: str, event: Event, recorded_at: datetime) -> Envelope: ...
    def read(self, session: str) -> Iterator[Envelope]: ...
    def sessions(self) -> Sequence[str]: ...


class BlobStore(Protocol):
    def put(self, data: bytes) -> str: ...
    def get(self, digest: str) -> bytes: ...


class Clock(Protocol):
    def now(self) -> datetime: ...
