"""From options to a running session: which adapter fits which port, and what a resumed session needs to find again."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters import scratch
from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.tasks import AnyTask, load_task
from adapters.workers.rules import RulesWorker
from events.types import Bounds, CaseSet, Configuration, Event
from kb.knowledge import PatternBase
from statemachine.candidate import Candidate
from statemachine.check import check
from statemachine.engine import Engine, Listener, Ports
from statemachine.evaluate import Progress
from statemachine.findings import POLICIES, findings_policy
from statemachine.ports import UsageError
from statemachine.tolerance import policy

if TYPE_CHECKING:
    from events.log import SqlLog
    from events.types import SessionOpened


class SystemClock:
    """Wall-clock time in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def engine_version() -> str:
    try:
        return version("opmend")
    except PackageNotFoundError:
        return "source tree"


def default_cache() -> Path:
    """`$XDG_CACHE_HOME/opmend`, or `~/.cache/opmend`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opmend"


@dataclass(frozen=True)
class Settings:
    """What the command line says, checked. `seed` is drawn here when the user names none."""

    configuration: Configuration
    candidate: Path | None
    cache: Path

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """From click's parameters; absent ones take the defaults of the paper. Raises UsageError."""
        try:
            tolerance = policy(options["tolerance"]).name
        except ValueError as error:
            raise UsageError(str(error)) from error
        findings = POLICIES[options.get("findings", "default")]
        bounds = {k: options[k] for k in ("attempts", "wall_seconds") if k in options}
        seed = options.get("seed")
        configuration = Configuration(
            bounds=Bounds(**bounds),
            tolerance=tolerance,
            scope=options.get("scope", "kernel"),
            seed=secrets.randbits(48) if seed is None else seed,
            check_level=options["check_level"],
            case_seconds=options["case_seconds"],
            case_memory_mb=options["case_memory_mb"],
            findings=findings.name,
            blocking_findings=findings.blocking,
            blocking_when_reaching=findings.reaching,
        )
        return cls(configuration, options.get("candidate"), options.get("cache") or default_cache())


def new_session_id(task: Path) -> str:
    """`<task>-<8 hex>`: readable, unique enough for one log, and refused by the log if it is not."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "_", task.resolve().name)[:80] or "task"
    return f"{name}-{secrets.token_hex(4)}"


def weaknesses(task: AnyTask, seed: int) -> tuple[str, ...]:
    """What makes the task a poor test. A reference that fails is not said here: the engine meets it and records it."""
    try:
        return task.health(seed)
    except UsageError:
        return ()


def knowledge_base() -> PatternBase:
    """The patterns, read now: a broken file is an error before a session begins, not in the middle of one."""
    base = PatternBase()
    _ = base.patterns
    return base


def toolchain_for(configuration: Configuration, cache: Path) -> CpuToolchain:
    return CpuToolchain(
        cache, seed=configuration.seed, seconds=configuration.case_seconds, memory_mb=configuration.case_memory_mb
    )


@contextmanager
def open_session(session: str, path: Path, settings: Settings, log: SqlLog, listener: Listener) -> Iterator[Engine]:
    """Load the task and begin `session` on it; the session is owned, and its processes end, with the block."""
    knowledge = knowledge_base()
    task = load_task(path, candidate_dir=settings.candidate, cache=settings.cache / "references")
    toolchain = toolchain_for(settings.configuration, settings.cache)
    try:
        with log.writer(session):
            toolchain.begin(task, task.candidate, settings.configuration.check_level)
            ports = Ports(task, toolchain, RulesWorker(knowledge), log, log, SystemClock(), engine_version())
            yield Engine.open(
                session,
                ports,
                settings.configuration,
                knowledge=knowledge.snapshot(),
                warnings=weaknesses(task, settings.configuration.seed),
                listener=listener,
            )
    finally:
        toolchain.close()
        task.close()


@contextmanager
def resume_session(
    session: str, opened: SessionOpened, candidate: Candidate, cache: Path | None, log: SqlLog, listener: Listener
) -> Iterator[Engine]:
    """Take `session` over. `candidate` is its attempt 0, from the log: the folder it came from may be gone."""
    if opened.worker.kind != "rules":
        raise UsageError(
            f"session {session} was led by a {opened.worker.kind} worker, which this version does not have"
        )
    cache = cache or default_cache()
    knowledge = knowledge_base()
    if opened.knowledge != knowledge.snapshot():
        raise UsageError(
            f"the knowledge base has changed since session {session} was opened ({opened.knowledge} then, "
            f"{knowledge.snapshot()} now): go on with that version of opmend, or start a new session"
        )
    with tempfile.TemporaryDirectory(prefix=scratch.prefix("resume")) as folder:
        task = load_candidate(Path(opened.task.path), candidate, Path(folder), cache)
        toolchain = toolchain_for(opened.configuration, cache)
        try:
            with log.writer(session):
                history: list[tuple[datetime, Event]] = [(e.time, e.event()) for e in log.read(session)]
                ports = Ports(task, toolchain, RulesWorker(knowledge), log, log, SystemClock(), engine_version())
                yield Engine.resume(session, history, ports, listener)
        finally:
            toolchain.close()
            task.close()


def check_task(path: Path, which: CaseSet, settings: Settings, progress: Progress | None = None) -> dict[str, Any]:
    """`opmend check`: the report of statemachine.check on the task at `path`."""
    configuration = settings.configuration
    task = load_task(path, candidate_dir=settings.candidate, cache=settings.cache / "references")
    toolchain = toolchain_for(configuration, settings.cache)
    try:
        toolchain.begin(task, task.candidate, configuration.check_level)
        report = check(
            task,
            toolchain,
            which,
            seed=configuration.seed,
            tolerance=configuration.tolerance,
            level=configuration.check_level,
            findings=findings_policy(configuration),
            max_excluded=configuration.max_excluded,
            progress=progress,
        )
        report["warnings"] += weaknesses(task, configuration.seed)
        return report
    finally:
        toolchain.close()
        task.close()


def load_candidate(path: Path, candidate: Candidate, folder: Path, cache: Path) -> AnyTask:
    """The task at `path` with `candidate` in place of its kernel folder."""
    write_sources(candidate, folder / "kernel")
    return load_task(path, candidate_dir=folder / "kernel", cache=cache / "references")


def write_sources(candidate: Candidate, folder: Path) -> None:
    """Write a candidate's files under `folder`, which is made."""
    for name, text in candidate.files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def outputs_for(tasks: Sequence[Path], out: Path | None) -> list[Path | None]:
    """Where each task's accepted candidate goes: `out`, or `out/<task name>` of several. UsageError if that would lose
    something: it is no folder, it is not empty, it lies in a task or holds one, or two tasks share a name."""
    if out is None:
        return [None] * len(tasks)
    places = [out / task.resolve().name for task in tasks] if len(tasks) > 1 else [out]
    if len({place.resolve() for place in places}) < len(places):
        raise UsageError(f"--out {out}: two of the tasks have the same name; repair them one by one")
    for place in places:
        if place.exists() and not place.is_dir():
            raise UsageError(f"--out {place}: is no folder; name one that is empty or does not exist")
        if place.is_dir() and any(place.iterdir()):
            raise UsageError(f"--out {place}: is not empty, and nothing is overwritten; name another folder")
        for task in tasks:
            if place.resolve().is_relative_to(task.resolve()):
                raise UsageError(f"--out {place}: lies in the task {task}, which is never modified")
    return list(places)


def write_accepted(candidate: Candidate, base: Candidate, out: Path) -> None:
    """Write the accepted sources to `out/kernel` and the unified diff from the near-miss to `out/repair.diff`."""
    write_sources(candidate, out / "kernel")
    (out / "repair.diff").write_text(candidate.diff_from(base), encoding="utf-8")
