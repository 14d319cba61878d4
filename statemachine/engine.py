"""The engine: `decide -> act -> append`, until the session is over.

It owns no truth. Every step asks `decide(state)` what to do, does it through a port, and appends the event that says
what happened; the state is the fold of those events. A killed engine is resumed by folding the log and going on: an
effect whose event is missing is done again (builds are cached, evaluations are pure in the seed), never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from events.types import (
    CompactEvaluated,
    CompileFinished,
    Configuration,
    Event,
    ForensicsRecorded,
    FullEvaluated,
    SessionExhausted,
    SessionOpened,
    SessionResumed,
    TurnTaken,
    Usage,
)
from statemachine import sources
from statemachine.briefing import brief_for, diagnosis_for
from statemachine.candidate import Candidate
from statemachine.consequences import consequences
from statemachine.decide import Action, decide
from statemachine.evaluate import evaluate
from statemachine.findings import findings_policy
from statemachine.intake import receive
from statemachine.integrity.static import read_statically
from statemachine.machine import Live, build_machine, move_of
from statemachine.ports import (
    BlobStore,
    Clock,
    EventLog,
    GiveUp,
    Task,
    Toolchain,
    UsageError,
    Worker,
)
from statemachine.state import SessionState, apply, begin, fold
from statemachine.tolerance import policy

#: The usage of a turn whose answer was lost: it may have been billed, so it is not zero.
UNKNOWN = Usage(input=None, output=None, cache_read=None, cache_write=None)


class Listener(Protocol):
    """Who watches a session live. Called after an event is durable; must not raise."""

    def event(self, state: SessionState, event: Event) -> None: ...
    def progress(self, what: str, done: int, total: int) -> None: ...


class Silent:
    """A listener that does nothing."""

    def event(self, state: SessionState, event: Event) -> None:
        pass

    def progress(self, what: str, done: int, total: int) -> None:
        pass


@dataclass(frozen=True)
class Ports:
    """The outside world of one session (see statemachine/ports.py)."""

    task: Task
    toolchain: Toolchain
    worker: Worker
    log: EventLog
    blobs: BlobStore
    clock: Clock
    engine_version: str


class Engine:
    """Drives one session. Build it with `Engine.open` or `Engine.resume`, then `run()`."""

    def __init__(self, session: str, state: SessionState, ports: Ports, listener: Listener | None = None) -> None:
        self.session, self.state, self.ports = session, state, ports
        self.listener: Listener = listener or Silent()
        self.tolerance = policy(state.opened.configuration.tolerance)
        self._built: tuple[str, Any] | None = None
        self._acts: dict[str, Callable[[Action], None]] = {
            "compile": self._compile,
            "compact_eval": self._compact_eval,
            "full_eval": self._full_eval,
            "anti_cheat": self._follow,
            "checkpoint": self._follow,
            "accept": self._follow,
            "rollback": self._follow,
            "forensics": self._forensics,
            "ask": self._ask,
            "exhaust": self._follow,
            "abort": self._follow,
        }
        self._live = Live()
        build_machine(self._live, state.status, self._append)

    # ------------------------------------------------------------ opening and resuming

    @classmethod
    def open(
        cls,
        session: str,
        ports: Ports,
        configuration: Configuration,
        *,
        knowledge: str | None = None,
        warnings: tuple[str, ...] = (),
        listener: Listener | None = None,
    ) -> Engine:
        """Begin a session: SessionOpened is durable when this returns. `warnings` about the task go on the record."""
        ref = ports.task.ref
        event = SessionOpened(
            task=ref.model_copy(update={"warnings": (*ref.warnings, *warnings)}),
            candidate=sources.store(ports.blobs, ports.task.candidate),
            configuration=configuration,
            worker=ports.worker.identity(),
            knowledge=knowledge,
            toolchain=ports.toolchain.fingerprint(),
            isolation=ports.toolchain.isolation(),
            engine=ports.engine_version,
        )
        at = ports.clock.now()
        recorded = ports.log.append(session, event, at)
        engine = cls(session, begin(recorded.event(), at), ports, listener)
        engine.listener.event(engine.state, event)
        return engine

    @classmethod
    def resume(
        cls,
        session: str,
        history: Iterable[tuple[datetime, Event]],
        ports: Ports,
        listener: Listener | None = None,
    ) -> Engine:
        """Take over a session from its `history`. Raises UsageError if the task is not the one it was opened on."""
        state = fold(history)
        then, now = state.opened.task, ports.task.ref
        if now.digest != then.digest:
            raise UsageError(
                f"the task {now.path} has changed since session {session} was opened "
                f"({then.digest[:19]} then, {now.digest[:19]} now): restore it, or start a new session"
            )
        engine = cls(session, state, ports, listener)
        if not state.outcome:
            toolchain = ports.toolchain
            engine.record(
                SessionResumed(
                    engine=ports.engine_version,
                    toolchain=toolchain.fingerprint(),
                    isolation=toolchain.isolation(),
                )
            )
            if (lost := engine.state.open_turn) is not None:  # its answer died with the process that waited for it
                engine.record(
                    TurnTaken(
                        conversation=lost.conversation, turn=lost.turn, usage=UNKNOWN, model=lost.model, stop="lost"
                    )
                )
        return engine

    # ------------------------------------------------------------ the loop

    def run(self) -> SessionState:
        """Drive the session to its end. UsageError (the task is broken) ends it as aborted and is raised again; any
        other exception leaves it as it is, to be resumed."""
        while (action := decide(self.state)).verb != "stop":
            try:
                self._acts[action.verb](action)
            except UsageError as error:
                self._follow(Action("abort", "broken-task", str(error)))
                raise
        return self.state

    def record(self, event: Event) -> None:
        """Append `event` if the machine allows it now. The state moves only when the append is durable.

        A retrieval that the log already holds (the worker was asked again after a refusal or a crash) is not repeated.
        """
        if event in self.state.retrieved:
            return
        trigger, passed = move_of(event)
        if not self._live.trigger(trigger, event=event, passed=passed):
            raise RuntimeError(
                f"{event.type} (passed: {passed}) has no place in state {self._live.status}: not recorded"
            )
        assert self._live.status == self.state.status, "the live machine and the fold disagree"
        self.listener.event(self.state, event)

    def _append(self, event: Event) -> None:
        at = self.ports.clock.now()
        apply(self.state, event, at)  # an event that the fold refuses is not written
        recorded = self.ports.log.append(self.session, event, at)
        # What is folded is what the log says, to the order of keys: a resumed engine knows exactly the same.
        self.state = apply(self.state, recorded.event(), at)

    def blob(self, data: bytes) -> str:
        return self.ports.blobs.put(data)

    # ------------------------------------------------------------ acts, in the order of a session's life

    def _compile(self, action: Action) -> None:
        now = self.state.current
        outcome, candidate = self._build(now.candidate)
        static = (*read_statically(self.ports.task, candidate), *outcome.evidence)
        self.record(
            CompileFinished(
                attempt=now.number,
                candidate=now.candidate,
                passed=outcome.passed,
                first_error=outcome.first_error,
                log=self.blob(outcome.log.encode()) if outcome.log else None,
                artifact=outcome.artifact,
                static=static,
                seconds=round(outcome.seconds, 3),
                cached=outcome.cached,
            )
        )

    def _build(self, digest: str) -> tuple[Any, Candidate]:
        candidate = sources.load(self.ports.blobs, digest)
        self.listener.progress("build", 0, 1)
        outcome = self.ports.toolchain.build(self.ports.task, candidate, self.state.opened.configuration.check_level)
        self.listener.progress("build", 1, 1)
        self._built = (digest, outcome.handle)
        return outcome, candidate

    def _handle(self) -> Any:
        """The built candidate of the current attempt; built again if this process did not build it."""
        digest = self.state.current.candidate
        if self._built is None or self._built[0] != digest:
            outcome, _ = self._build(digest)
            if not outcome.passed:
                raise RuntimeError(
                    f"candidate {digest[:19]} was built before and does not build any more: {outcome.log}"
                )
        assert self._built is not None
        return self._built[1]

    def _compact_eval(self, action: Action) -> None:
        self.record(CompactEvaluated(**self._evaluation("compact")))

    def _full_eval(self, action: Action) -> None:
        task = self.state.opened.task
        if task.full.digest == task.compact.digest:
            self._follow(action)
        else:
            self.record(FullEvaluated(**self._evaluation("full")))

    def _evaluation(self, which: Any) -> dict[str, Any]:
        now, configuration = self.state.current, self.state.opened.configuration
        result = evaluate(
            self.ports.task,
            self.ports.toolchain,
            self._handle(),
            which,
            configuration.seed,
            self.tolerance,
            findings_policy(configuration),
            self.listener.progress,
            max_excluded=configuration.max_excluded,
        )
        return {
            "attempt": now.number,
            "candidate": now.candidate,
            "tolerance": self.tolerance.name,
            "passed": result.passed,
            "cases": tuple(result.cases),
            "sanitizer": result.sanitizer,
            "blocking": result.blocking,
            "evidence": result.evidence,
            "seconds": result.seconds,
        }

    def _follow(self, action: Action) -> None:
        """An act that needs no port: what it records follows from the state."""
        for event in consequences(self.state, action):
            self.record(event)

    def _forensics(self, action: Action) -> None:
        diagnosis, text = diagnosis_for(self.state)
        self.record(
            ForensicsRecorded(
                attempt=self.state.current.number,
                candidate=self.state.standing,
                features=tuple(diagnosis.features),
                mechanisms=tuple(diagnosis.mechanisms),
                ruled_out=tuple(diagnosis.ruled_out),
                brief=self.blob(text.encode()),
            )
        )

    def _ask(self, action: Action) -> None:
        brief = brief_for(self.state, self.ports.task, self.ports.blobs)
        answer = self.ports.worker.propose(brief, self)
        if isinstance(answer, GiveUp):
            best = self.state.best_attempt
            self.record(SessionExhausted(reason=f"the worker gave up: {answer.reason}", best=best and best.candidate))
        else:
            self.record(receive(self.state, answer, self.ports.blobs))
