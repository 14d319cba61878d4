"""The `Toolchain` port on this CPU: build with the host compiler, run case by case in processes of its own.

Nothing here judges: numbers are compared by the engine, evidence is weighed by `statemachine.integrity`. What the
candidate's process says about itself (launches, findings, operators seen) is passed on as evidence from that process.
"""

from __future__ import annotations

import platform
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adapters import sandbox, scratch, tensorfile
from adapters.ascendc.cpu import compiler as cc
from adapters.ascendc.cpu.build import BuildResult, build
from adapters.ascendc.cpu.cache import digest_tree
from adapters.ascendc.cpu.observed import case_evidence
from adapters.ascendc.cpu.operator import BuiltOperator, OperatorRuns, build_operator
from adapters.ascendc.cpu.reach import reach_of
from adapters.ascendc.cpu.recording import Recording, read_recording
from adapters.ascendc.cpu.symbolise import Symboliser
from adapters.runner import client
from adapters.runner.materialise import folder_digest, materialise, needed_helpers
from adapters.runner.pool import ServerPool
from adapters.tasks.direct import DirectTask
from adapters.tasks.layout import WRAPPER
from adapters.tasks.msop import MsopTask
from events.types import CompilerError, Evidence, SanitizerFinding
from statemachine.candidate import Candidate
from statemachine.ports import BuildOutcome, CaseData, CaseRun, EnvironmentMissing, InfrastructureError, Task

_MAX_OUTPUT_BYTES = 2 << 30


@dataclass(frozen=True)
class Built:
    """A handle: the built module, and what turns its addresses into lines of the candidate's sources."""

    result: BuildResult
    places: Symboliser


class CpuToolchain:
    """`cache` holds builds; `seed` is the session's (for the wrapper's construction); limits are per case; at most
    `workers` cases run side by side (default: one per core)."""

    def __init__(
        self, cache: Path, *, seed: int, seconds: float = 60.0, memory_mb: int = 4096, workers: int | None = None
    ) -> None:
        self._cache = cache / "builds"
        self._seed = seed
        self._limits = client.Limits(wall_seconds=seconds, memory_bytes=memory_mb << 20)
        scratch.remove_orphans(Path(tempfile.gettempdir()))
        self._scratch = Path(tempfile.mkdtemp(prefix=scratch.prefix("run")))
        self._servers = ServerPool(workers)
        self._early: tuple[str, int, Future[BuildOutcome]] | None = None
        self._runs = 0

    def fingerprint(self) -> dict[str, str]:
        """What could change a result. EnvironmentMissing when there is no compiler."""
        try:
            compiler = cc.find_compiler()
        except sandbox.SandboxError as error:
            raise EnvironmentMissing(str(error)) from error
        return {
            "name": "ascendc-cpu",
            "compiler": compiler.version,
            "flags": " ".join(compiler.base_flags(3)),
            "device": digest_tree(cc.INCLUDE)[:19],
            "vector_cores": str(cc.vector_cores()),
            "machine": platform.machine(),
            "torch": version("torch"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        }

    def isolation(self) -> dict[str, str]:
        return dict(sandbox.isolation())

    def begin(self, task: Task, candidate: Candidate, level: int) -> None:
        """Start what will be needed first, the compiler and the candidate's server, while the caller does other things.

        `build` with the same arguments takes the result; what goes wrong is said there.
        """
        with suppress(client.RunnerError):  # the first case meets it again, and says so
            self._servers.begin()
        if isinstance(task, MsopTask):
            return
        future: Future[BuildOutcome] = Future()

        def work() -> None:
            try:
                future.set_result(self._build(candidate, level))
            except BaseException as error:
                future.set_exception(error)

        self._early = (candidate.digest, level, future)
        threading.Thread(target=work, name="opmend-build", daemon=True).start()

    def build(self, task: Task, candidate: Candidate, level: int) -> BuildOutcome:
        """Compile and link. A candidate that does not build is an outcome, not an exception."""
        if isinstance(task, MsopTask):
            return build_operator(task, candidate, level, self._cache)
        early, self._early = self._early, None
        if early is not None and early[:2] == (candidate.digest, level):
            return early[2].result()
        return self._build(candidate, level)

    def _build(self, candidate: Candidate, level: int) -> BuildOutcome:
        with tempfile.TemporaryDirectory(prefix=scratch.prefix("build")) as folder:
            kernel = Path(folder) / "kernel"
            for name, text in candidate.files.items():
                (kernel / name).parent.mkdir(parents=True, exist_ok=True)
                (kernel / name).write_bytes(text.encode())
            try:
                result = build(kernel, level=level, cache=self._cache)
            except sandbox.SandboxError as missing:
                raise EnvironmentMissing(
                    f"the CPU device cannot be built here: {missing}; see `opmend doctor`"
                ) from missing
        error = result.first_error
        return BuildOutcome(
            passed=result.ok,
            handle=Built(result, Symboliser(result.so_path)) if result.so_path else None,
            log=result.log,
            first_error=CompilerError(file=error.file, line=error.line, message=error.message) if error else None,
            artifact=f"sha256:{result.so_sha256}" if result.so_sha256 else None,
            seconds=result.seconds,
            cached=result.cached,
        )

    def run(self, task: Task, handle: Any, cases: Iterator[CaseData]) -> Iterator[CaseRun]:
        """One CaseRun per case, in order; each case in a fresh process forked from a warm server."""
        return self._run(task, handle, cases, None)

    def record(self, task: Task, handle: Any, case: CaseData) -> tuple[CaseRun, Recording]:
        """Run one case with the flight recorder on; also what every instruction of its kernels wrote."""
        kept: list[Recording] = []
        [run] = self._run(task, handle, iter([case]), kept)
        return run, kept[-1] if kept else Recording()

    def _run(
        self, task: Task, handle: Any, cases: Iterator[CaseData], kept: list[Recording] | None
    ) -> Iterator[CaseRun]:
        """``run``; with ``kept`` the flight recorder is on and its recordings go there."""
        if isinstance(handle, BuiltOperator) and isinstance(task, MsopTask):
            self._runs += 1
            place = self._scratch / f"run{self._runs}"
            runs = OperatorRuns(task, handle, place, self._limits, self._seed, self._servers.first, kept is not None)
            for index, ran in runs.run(cases):
                yield _case_run(index, ran, handle, kept)
            return
        assert isinstance(handle, Built) and isinstance(task, DirectTask)
        assert handle.result.so_path is not None
        self._runs += 1
        place = self._scratch / f"run{self._runs}"
        folder = materialise(
            place / task.ref.name,
            task_dir=task.directory,
            wrapper=WRAPPER,
            module_so=handle.result.so_path,
            helpers=needed_helpers(task.directory, wrapper=WRAPPER, task_name=task.ref.name),
        )
        module_so = folder / "kernel" / "build" / handle.result.so_path.name
        init_inputs, seed = task.init_inputs(self._seed), task.construction_seed(self._seed)

        def one(server: client.ForkServer, number: int, case: CaseData) -> tuple[CaseRun, Path]:
            runner = client.Runner(
                folder,
                module_so,
                self._limits,
                init_inputs_file=init_inputs,
                task_name=task.ref.name,
                seed=seed,
                server=server,
                digest=digest,
            )
            out = place / f"out{number}"
            return _case_run(case.index, runner.run(case.inputs, out, recorder=kept is not None), handle, kept), out

        digest = folder_digest(folder)
        try:
            for run, out in self._servers.run(cases, one):
                yield run
                shutil.rmtree(out, ignore_errors=True)
        except client.RunnerError as error:
            raise InfrastructureError(str(error)) from error
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def close(self) -> None:
        """End the fork server and remove what runs have left."""
        self._servers.close()
        shutil.rmtree(self._scratch, ignore_errors=True)


def _case_run(index: int, ran: client.CaseRun, handle: Built | BuiltOperator, kept: list[Recording] | None) -> CaseRun:
    status, detail, outputs = ran.status, ran.detail, None
    if status == "ok" and ran.outputs is not None:
        try:
            outputs = tensorfile.arrays_of(tensorfile.load(ran.outputs, max_bytes=_MAX_OUTPUT_BYTES))
        except (tensorfile.TensorFileError, ValueError) as error:
            status, detail = "bad-output", str(error)
    report = ran.report or {}
    launches = [launch for launch in report.get("launches", []) if isinstance(launch, dict)]
    if kept is not None:
        kept.append(read_recording(ran.recording, launches, handle.places))
    evidence: tuple[Evidence, ...] = case_evidence(ran.side, launches) if status == "ok" else ()
    return CaseRun(
        index=index,
        status=status,
        detail=detail,
        outputs=outputs,
        launches=tuple(str(launch.get("kernel", "?")) for launch in launches),
        findings=_findings(report, ran.side, handle),
        evidence=evidence,
        seconds=ran.seconds,
    )


def _findings(
    report: dict[str, Any], side: dict[str, Any], handle: Built | BuiltOperator
) -> tuple[SanitizerFinding, ...]:
    found = [f for f in report.get("findings", []) if isinstance(f, dict)]
    places = handle.places.locate_all([_stack(f.get("frames")) for f in found])
    return tuple(
        SanitizerFinding(
            kind=str(f.get("kind", "unknown")),
            api=str(f.get("api", "")),
            file=place.file if place else None,
            line=place.line if place else None,
            message=str(f.get("message", ""))[:500],
            count=max(1, int(f.get("count", 1))),
            reaches_output=reach_of(f, report, side),
        )
        for f, place in zip(found, places, strict=True)
    )


def _stack(frames: Any) -> list[list[str]]:
    """The frames of a finding if they have the form of frames (they come from the candidate's process)."""
    return [frame for frame in frames if isinstance(frame, list)] if isinstance(frames, list) else []
