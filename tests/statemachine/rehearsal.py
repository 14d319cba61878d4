"""A whole world for the real engine, made from one number: task, toolchain and worker, no compiler, no process.

What a candidate is worth is a function of its text, and what the worker proposes one of all it is told except its
budgets, so two sessions in one world differ only where their rules make them differ. Numbers are compared, diagnosed
and judged by the real engine; only the static reading of the (equal but for a comment) sources is done once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from events import types as t
from events.canonical import digest_of
from events.envelope import GENESIS, Envelope, seal
from statemachine.candidate import Candidate
from statemachine.integrity.static import read_sources
from statemachine.ports import Brief, BuildOutcome, CaseData, CaseRun, Floor, GiveUp, Proposal
from tests.statemachine.streams import START, digest
from tests.tiny import BINDING, KERNEL, WRAPPER

SETS: dict[t.CaseSet, int] = {"compact": 2, "full": 3}
SOURCES = {"pybind11.cpp": BINDING, "plus.cpp": KERNEL}
ELEMENTS = 8


@dataclass
class Odds:
    """How a world leans: the chance of each thing that can become of a candidate, and of what a worker does."""

    compiles: float = 0.9
    compact: float = 0.45
    full: float = 0.5
    tainted: float = 0.15
    tainted_by_full: float = 0.1
    tainted_wrapper: float = 0.02
    unsettled: float = 0.1
    blocking: float = 0.05
    refused: float = 0.15
    gives_up: float = 0.05
    turns: int = 3


@cache
def static_reading(wrapper: str, files: frozenset[str]) -> tuple[t.Evidence, ...]:
    return read_sources(WRAPPER, SOURCES, {})


def read_once(task: object, candidate: Candidate) -> tuple[t.Evidence, ...]:
    """In the place of `read_statically`: the candidates of a world are the same code, they differ in a comment."""
    assert all(text.startswith(SOURCES[path]) for path, text in candidate.files.items())
    return static_reading(WRAPPER, frozenset(candidate.files))


@dataclass
class World:
    """`seed` and `odds` decide everything. Fits the ports `Task`, `Toolchain` and `Worker`."""

    seed: int
    odds: Odds = field(default_factory=Odds)
    compact_only: bool = False

    directory = Path()
    reference_source = "class Model: ..."
    wrapper_source = WRAPPER
    helpers: Mapping[str, str] = field(default_factory=dict)

    def chance(self, *words: object) -> Random:
        return Random(hashlib.sha256(repr((self.seed, words)).encode()).digest())

    # ------------------------------------------------------------ the task

    @property
    def candidate(self) -> Candidate:
        return Candidate(dict(SOURCES))

    @property
    def ref(self) -> t.TaskRef:
        compact, full = (t.CaseSetRef(digest=digest(n), count=SETS[s]) for n, s in ((900, "compact"), (901, "full")))
        return t.TaskRef(
            name="plus", path="plus", layout="direct", digest=digest(902), compact=compact,
            full=compact if self.compact_only else full, coverage_equivalent=self.compact_only,
        )  # fmt: skip

    def descriptors(self, which: t.CaseSet) -> Sequence[Mapping[str, Any]]:
        return [{"set": which, "case": index} for index in range(SETS[which])]

    def cases(self, which: t.CaseSet, seed: int, indices: Sequence[int] | None = None) -> Iterator[CaseData]:
        for index, descriptor in enumerate(self.descriptors(which)):
            yield CaseData(index, descriptor, Path("no-file"), [np.ones(ELEMENTS, np.float32)])

    # ------------------------------------------------------------ the toolchain

    def fingerprint(self) -> dict[str, str]:
        return {"name": "rehearsal"}

    def isolation(self) -> dict[str, str]:
        return {"network": "nothing runs"}

    def build(self, task: object, candidate: Candidate, level: int) -> BuildOutcome:
        fate, files = self.chance("build", candidate.digest), candidate.files
        near_miss = files == SOURCES
        passed = near_miss or fate.random() < self.odds.compiles
        error = None if passed else t.CompilerError(file="plus.cpp", line=3, message="expected ';'")
        wrapper = fate.random() < self.odds.tainted_wrapper and not near_miss
        evidence = (t.Evidence(check="wrapper:torch-compute", outcome="failed", detail="torch.add"),) if wrapper else ()
        return BuildOutcome(passed, candidate, "", error, None, 0.0, False, evidence)

    def run(self, task: object, handle: Candidate, cases: Iterator[CaseData]) -> Iterator[CaseRun]:
        odds, seen = self.odds, self.chance("evidence", handle.digest)
        tainted, late, unsettled = (seen.random() < p for p in (odds.tainted, odds.tainted_by_full, odds.unsettled))
        for case in cases:
            which = case.descriptor["set"]
            fate = self.chance("numbers", handle.digest, which)
            right = fate.random() < getattr(odds, which) and handle.files != SOURCES
            wrong = 0 if right else fate.randint(case.index == 0, ELEMENTS)
            output = np.ones(ELEMENTS, np.float32)
            output[:wrong] = 9.0
            blocked = fate.random() < odds.blocking
            findings = (t.SanitizerFinding(kind="gm-race", message="two cores"),) if blocked else ()
            evidence = [t.Evidence(check="aten-spy", outcome="passed")]
            if tainted or (late and which == "full"):
                evidence = [t.Evidence(check="aten-spy", outcome="failed", detail="torch.add")]
            launches = ("other_kernel",) if unsettled else ("plus_custom",)
            yield CaseRun(case.index, "ok", "", [output], launches, findings, tuple(evidence), 0.0)

    # ------------------------------------------------------------ the worker

    def identity(self) -> t.WorkerIdentity:
        return t.WorkerIdentity(kind="scripted", name="rehearsal")

    def propose(self, brief: Brief, floor: Floor) -> Proposal | GiveUp:
        told = hashlib.sha256(repr(replace(brief, budget_left={})).encode()).hexdigest()
        chance = self.chance("worker", told)
        for turn in range(1, chance.randint(0, self.odds.turns) + 1):
            floor.record(t.TurnStarted(conversation=brief.attempt, turn=turn))
            usage = t.Usage(input=chance.randrange(100), output=chance.choice((None, 7)))
            floor.record(t.TurnTaken(conversation=brief.attempt, turn=turn, usage=usage))
        if chance.random() < self.odds.gives_up:
            return GiveUp("nothing left")
        if chance.random() < self.odds.refused:
            return Proposal(brief.base, {"CMakeLists.txt": told}, "out of scope")
        base = chance.choice((brief.base, brief.best))
        return Proposal(base, {"plus.cpp": f"{KERNEL}// {told}\n"}, "because", "P")


@dataclass
class Memory:
    """A log, its blobs and a clock in one, in memory. Every look at the clock is a second later."""

    stream: list[tuple[datetime, t.Event]] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    before_append: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return START + timedelta(seconds=len(self.stream))

    def append(self, session: str, event: t.Event, recorded_at: datetime) -> Envelope:
        self.before_append()
        previous = self.envelopes[-1].hash if self.envelopes else GENESIS
        self.envelopes.append(seal(session, len(self.stream), event, recorded_at, previous))
        self.stream.append((recorded_at, event))
        return self.envelopes[-1]

    def read(self, session: str) -> Iterator[Envelope]:
        return iter(self.envelopes)

    def sessions(self) -> Sequence[str]:
        return ["rehearsal"]

    def put(self, data: bytes) -> str:
        return self.blobs.setdefault(digest_of(data), data) and digest_of(data)

    def get(self, name: str) -> bytes:
        return self.blobs[name]
