"""Building and running an operator of the msopgen layout: the `Toolchain` port's part for `MsopTask`.

Kernels are compiled for the data types that a case asks for, when it asks: the candidate's process ends with
`opmend-needs-kernel:<column>:<key>`, the library is built here, and the case runs again. The candidate can only make
the engine compile its own kernel for another column; the number of such libraries is bounded.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from adapters import sandbox
from adapters.ascendc.cpu.compiler import CompileError
from adapters.ascendc.cpu.diagnostics import first_error, shorten, strip_root
from adapters.ascendc.cpu.hostbuild import OperatorBuilder, Variant
from adapters.ascendc.cpu.symbolise import Location, Symboliser
from adapters.runner import client
from adapters.runner.materialise import materialise, needed_helpers
from adapters.tasks.msop import MODULE, WRAPPER, MsopCase, MsopTask
from events.types import CompilerError
from statemachine.candidate import Candidate
from statemachine.ports import BuildOutcome, CaseData, EnvironmentMissing, InfrastructureError

_NEEDS = re.compile(r"opmend-needs-kernel:(\d+):(\d+)")
_MAX_VARIANTS = 64


class Places:
    """Symbolises findings of several kernel libraries; fits where one `Symboliser` does."""

    def __init__(self) -> None:
        self._known: dict[str, Symboliser] = {}

    def add(self, library: Path) -> None:
        self._known.setdefault(library.name, Symboliser(library))

    def locate_all(self, stacks: list[list[list[str]]]) -> list[Location | None]:
        """See `Symboliser.locate_all`."""
        found: list[Location | None] = [None] * len(stacks)
        for symboliser in self._known.values():
            found = [known or here for known, here in zip(found, symboliser.locate_all(stacks), strict=True)]
        return found


@dataclass
class BuiltOperator:
    """A handle: the builder, which makes kernel libraries on demand, and those made so far."""

    builder: OperatorBuilder
    variants: dict[Variant, Path | CompileError] = field(default_factory=dict)
    places: Places = field(default_factory=Places)

    def kernel(self, variant: Variant) -> Path:
        """The library of one variant. Raises CompileError, each time it is asked for."""
        if variant not in self.variants:
            if len(self.variants) >= _MAX_VARIANTS:
                raise CompileError(f"error: more than {_MAX_VARIANTS} kernel libraries asked for")
            try:
                self.variants[variant] = self.builder.kernel(variant)
            except CompileError as error:
                self.variants[variant] = error
        made = self.variants[variant]
        if isinstance(made, CompileError):
            raise made
        self.places.add(made)
        return made


def build_operator(task: MsopTask, candidate: Candidate, level: int, cache: Path) -> BuildOutcome:
    """Compile definition, tiling and binding, and the kernel for the first column of data types.

    A candidate that does not build is an outcome. Raises EnvironmentMissing when there is no compiler.
    """
    started = time.monotonic()
    try:
        builder = OperatorBuilder(candidate.files, task.binding, level, cache)
        module = builder.module(MODULE)
        built = BuiltOperator(builder)
        built.kernel(_first(builder))
    except CompileError as error:
        found = first_error(error.log)
        return BuildOutcome(
            passed=False,
            handle=None,
            log=shorten(strip_root(error.log)),
            first_error=CompilerError(file=found.file, line=found.line, message=found.message),
            artifact=None,
            seconds=time.monotonic() - started,
            cached=False,
        )
    except sandbox.SandboxError as missing:
        raise EnvironmentMissing(f"the CPU device cannot be built here: {missing}; see `opmend doctor`") from missing
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(module.iterdir()))).hexdigest()
    return BuildOutcome(
        passed=True,
        handle=built,
        log="",
        first_error=None,
        artifact=f"sha256:{digest}",
        seconds=time.monotonic() - started,
        cached=not builder.compiled,
    )


def _first(builder: OperatorBuilder) -> Variant:
    """The first variant: of the keys with structures of their own, the smallest."""
    described = builder.description()
    name = described["operators"][0]["name"] if described["operators"] else ""
    keys = [int(k.removeprefix(f"{name}_")) for k in described["registered"] if re.fullmatch(rf"{name}_\d+", k)]
    return Variant(0, min(keys, default=0))


class OperatorRuns:
    """Runs of one built operator; `place` is a scratch folder of its own."""

    def __init__(
        self,
        task: MsopTask,
        built: BuiltOperator,
        place: Path,
        limits: client.Limits,
        seed: int,
        server: client.ForkServer,
        recorder: bool = False,
    ) -> None:
        self._task, self._built, self._place = task, built, place
        self._limits, self._seed, self._server, self._recorder = limits, seed, server, recorder
        self._runner: client.Runner | None = None
        self._with: frozenset[Variant] = frozenset()
        self._folders = 0

    def run(self, cases: Iterator[CaseData]) -> Iterator[tuple[int, client.CaseRun]]:
        """(index, how it went) per case, in order. Raises InfrastructureError."""
        try:
            for case in cases:
                yield case.index, self._case(case)
        finally:
            shutil.rmtree(self._place, ignore_errors=True)

    def _case(self, case: CaseData) -> client.CaseRun:
        while True:
            ran = self._once(case)
            asked = _NEEDS.search(ran.detail) if ran.status == "error" else None
            if asked is None:
                return ran
            variant = Variant(int(asked[1]), int(asked[2]))
            if variant in self._with:
                return ran
            try:
                self._built.kernel(variant)
            except CompileError as error:
                why = (
                    f"the kernel does not build for column {variant.column} of its data types: {first_error(error.log)}"
                )
                return client.CaseRun("error", why, None, None, ran.seconds, {})

    def _once(self, case: CaseData) -> client.CaseRun:
        runner = self._fresh_runner()
        init = case.init if isinstance(case, MsopCase) else None
        try:
            return runner.run(case.inputs, self._place / "out", init_inputs_file=init, recorder=self._recorder)
        except client.RunnerError as error:
            raise InfrastructureError(str(error)) from error

    def _fresh_runner(self) -> client.Runner:
        """The runner over a folder with every kernel library made so far."""
        made = {v: p for v, p in self._built.variants.items() if isinstance(p, Path)}
        if self._runner is None or self._with != frozenset(made):
            self._folders += 1
            libraries = self._place / f"libraries{self._folders}"
            libraries.mkdir(parents=True)
            entries = (self._built.builder.module(MODULE), self._built.builder.host())
            for source in (*(p for entry in entries for p in entry.glob("*.so")), *made.values()):
                shutil.copyfile(source, libraries / source.name)
            module = next(libraries.glob(f"{MODULE}.*.so"))
            name = self._task.ref.name
            validation = self._task.validation
            folder = materialise(
                self._place / f"folder{self._folders}" / name,
                task_dir=validation,
                wrapper=WRAPPER,
                module_so=module,
                helpers=needed_helpers(validation, wrapper=WRAPPER, task_name=name),
                model=None,
            )
            self._runner = client.Runner(
                folder,
                module,
                self._limits,
                wrapper=WRAPPER,
                task_name=name,
                seed=self._task.construction_seed(self._seed),
                server=self._server,
                importable=True,
            )
            self._with = frozenset(made)
        return self._runner
