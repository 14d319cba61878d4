"""The host compiler: which one, with which flags, and one bounded run of it at a time."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pybind11

from adapters import sandbox
from statemachine.ports import UsageError

__all__ = ["COMPAT", "INCLUDE", "RUNTIME_SOURCES", "CompileError", "Compiler", "find_compiler", "vector_cores"]

_HERE = Path(__file__).parent
INCLUDE = _HERE / "include"
COMPAT = _HERE / "compat"
RUNTIME_SOURCES = _HERE / "runtime"

_LIMITS = sandbox.Limits(
    wall_seconds=180, cpu_seconds=180, memory_bytes=6 << 30, file_bytes=1 << 30, output_bytes=256 << 10
)


class CompileError(Exception):
    """The compiler refused, or ran into a limit; ``log`` is what it said."""

    def __init__(self, log: str) -> None:
        super().__init__(log.splitlines()[0] if log else "the compiler failed")
        self.log = log


@dataclass(frozen=True)
class Compiler:
    """A g++ and its identity (path and first line of ``--version``)."""

    program: str
    version: str

    @property
    def fingerprint(self) -> str:
        return f"{self.version} {platform.machine()}"

    def base_flags(self, level: int | None) -> list[str]:
        """Flags of every translation unit, without paths: what a cache key contains. No level, no device checks.

        ``-fno-gnu-unique`` keeps statics of two candidates apart; ``-ffp-contract=off`` keeps every operation rounded
        once; ``-Werror=narrowing`` because the vendor's clang refuses what g++ passes with a warning. Device code has
        its loops vectorised, which costs a build nothing (``-O2`` costs a third more); neither that nor the two
        ``-fno`` change a value: they give up errno and floating-point exceptions, which no kernel sees.
        """
        flags = ["-std=c++17", "-O1", "-g1", "-fPIC", "-fno-gnu-unique", "-ffp-contract=off"]
        flags.append(f"-DOPMEND_AIV_CORES={vector_cores()}")
        if level is not None:
            flags += [f"-DOPMEND_CHECK={level}", "-ftree-loop-vectorize", "-fvect-cost-model=dynamic"]
            flags += ["-fno-math-errno", "-fno-trapping-math"]
        if platform.machine() in ("x86_64", "AMD64"):
            flags += ["-mf16c"] if level is None or not _has_avx2() else ["-mf16c", "-mavx2"]
        return [*flags, "-Werror=narrowing", "-Wno-attributes", "-fdiagnostics-color=never", "-fmax-errors=10"]

    def include_flags(self) -> list[str]:
        """Where headers come from besides the device: stand-ins for torch and acl, pybind11's and Python's own."""
        system = (pybind11.get_include(), sysconfig.get_path("include"))
        return [f"-I{COMPAT}", *(f"-isystem{path}" for path in system)]

    def run(self, arguments: Sequence[str], cwd: Path, readable: Sequence[Path]) -> str:
        """Run the compiler in ``cwd``, which with ``readable`` and the system is all it can read. Returns its messages.

        Raises:
            CompileError: it refused, or needed more time or memory than allowed.
            sandbox.SandboxError: there is no compiler.
        """
        scratch = cwd / ".tmp"
        scratch.mkdir(exist_ok=True)
        system = ["/usr", "/lib", "/lib64", "/bin", "/opt", *_toolchain_roots(self.program)]
        files = sandbox.Files(
            readable=[
                *map(str, readable),
                str(COMPAT),
                pybind11.get_include(),
                sysconfig.get_path("include"),
                "/etc",
                "/proc/self",
                "/dev",
            ],
            writable=[str(cwd), "/dev/null"],
            executable=[*system, sys.prefix, sys.base_prefix],
        )
        environment = sandbox.scrubbed_environment({"TMPDIR": str(scratch), "LC_ALL": "C"})
        done = sandbox.run([self.program, *arguments], _LIMITS, cwd=cwd, env=environment, files=files)
        if done.timed_out:
            raise CompileError(
                f"error: the compiler needed more than {_LIMITS.wall_seconds:.0f} s and was stopped\n{done.stderr}"
            )
        if not done.ok:
            raise CompileError(
                (done.stderr + done.stdout).strip() or f"error: the compiler ended with status {done.returncode}"
            )
        return done.stderr


def vector_cores() -> int:
    """Vector cores that host code is told of: 48, or what `OPMEND_AIV_CORES` says.

    Parts of the series have 48 or 40. Public operators size their tiling arrays for 48 and more, and some are right
    with 48 only; none is known that needs 40.
    """
    given = os.environ.get("OPMEND_AIV_CORES", "48")
    if not given.isdigit() or int(given) not in range(2, 101, 2):
        raise UsageError(f"OPMEND_AIV_CORES={given}: an even number from 2 to 100 is needed")
    return int(given)


@cache
def find_compiler() -> Compiler:
    """The compiler named by ``OPMEND_CXX``, or ``g++``.

    Raises:
        sandbox.SandboxError: it is not there, or does not say what it is.
    """
    name = os.environ.get("OPMEND_CXX", "g++")
    program = shutil.which(name)
    if program is None:
        raise sandbox.SandboxError(
            f"no C++ compiler: {name} is not on PATH; install g++ 12 or newer, or set OPMEND_CXX"
        )
    done = sandbox.run([program, "--version"], sandbox.Limits(wall_seconds=20))
    if not done.ok or not done.stdout.strip():
        raise sandbox.SandboxError(f"{program} --version failed: {done.stderr.strip()[:200]}")
    return Compiler(program, done.stdout.splitlines()[0])


@cache
def _has_avx2() -> bool:
    """Whether this machine runs 256-bit integer vectors: what is built here runs here only."""
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def _toolchain_roots(program: str) -> list[str]:
    """The folder above ``bin`` of a compiler outside the system's own folders."""
    real = Path(program).resolve()
    return [] if real.is_relative_to("/usr") else [str(real.parent.parent)]
