"""`make conformance TASKS=<folder>`: how many operators of a folder of tasks build, run and pass on this device.

Works on both layouts. Each task is loaded, built, and run on its first cases in a process of its own, under a time
limit; one JSON line per task goes to `.opmend/conformance.jsonl` as soon as it is known, and tasks already there are
not run again. A case that takes longer than its limit is run again with its leading dimension cut, and the row says so;
a case on which the reference itself raises is excluded and counted nowhere. Where the named policy refuses outputs that
the task's own check takes, the case passes, and its record says by which. Prints one row per task, then totals and
the causes of failure, grouped.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters import scratch
from adapters.tasks import MsopTask, load_task
from adapters.tasks.cut import cut_task, leading_of
from adapters.tasks.layout import MODEL, WRAPPER
from adapters.tasks.msop import is_msop
from events.types import SanitizerFinding
from statemachine.evaluate import judge_case, merge_findings, run_cases
from statemachine.ports import CaseData, CaseRun, OpmendError
from statemachine.tolerance import policy

_SEED = 20240601
_COLUMNS = ("task", "layout", "builds", "runs", "passed", "cut", "findings", "seconds", "cause")
#: A case that takes too long is cut to these shares of its leading dimension, one after the other.
_SHARES = (0.125, 0.015625, 0.0)
_ROOT = Path(__file__).resolve().parents[1]
#: What a message says beyond its cause: numbers, places, quoted detail.
_DETAIL = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?%?")


def find_tasks(folder: Path) -> Iterator[Path]:
    """Task directories at or beneath `folder`, of either layout, sorted."""
    for path in sorted([folder, *folder.rglob("*")]):
        if path.is_dir() and (is_msop(path) or ((path / MODEL).is_file() and (path / WRAPPER).is_file())):
            yield path


def measure(
    path: Path, *, cases: int, level: int, cache: Path, seconds: float, tolerance: str | None
) -> dict[str, Any]:
    """One task's row. What the candidate or the reference does wrong is in it; nothing is raised for it."""
    from adapters.ascendc.cpu.toolchain import CpuToolchain

    started = time.monotonic()
    row: dict[str, Any] = {"task": path.name, "layout": "?", "builds": False, "runs": False, "passed": 0, "total": 0}
    row |= {"findings": [], "cause": "", "cases": [], "excluded": 0}
    toolchain = None
    try:
        task = load_task(path, cache=cache / "references")
        msop = isinstance(task, MsopTask)
        row["layout"] = task.ref.layout
        rule = policy(tolerance or ("npukernelbench" if msop else "cann-ecosystem"))
        row["tolerance"] = rule.name
        count = len(task.descriptors("full"))
        total = min(cases, count) if cases else count
        row["total"] = total
        toolchain = CpuToolchain(cache, seed=_SEED, seconds=seconds, memory_mb=8192)
        outcome = toolchain.build(task, task.candidate, level)
        row["builds"] = outcome.passed
        if not outcome.passed:
            error = outcome.first_error
            place = f"{error.file}:{error.line}: " if error and error.file else ""
            row["cause"] = f"build: {place}{error.message if error else 'failed'}"
            return row
        findings: list[SanitizerFinding] = []
        excluded: dict[int, str] = {}
        for case, run in run_cases(task, toolchain, outcome.handle, "full", _SEED, range(total), excluded):
            size = ""
            if run.status == "timeout":
                case, run, size = _run_cut(path, toolchain, outcome.handle, case, run, cache)
            result = judge_case(_as_benchmark(case, run) if msop else case, run, rule)
            findings.extend(run.findings)
            row["runs"] |= run.status == "ok"
            own = isinstance(task, MsopTask) and run.outputs is not None and not result.passed
            own = own and _own_check(task, case, run)
            row["passed"] += result.passed or own
            known = {"index": case.index, "passed": result.passed or own, "reason": result.reason, "cut": size}
            row["cases"].append({**known, "own_check": own, "seconds": result.seconds})
            if own and "own check" not in row["tolerance"]:
                row["tolerance"] += ", else the task's own check"
            if not (result.passed or own) and not row["cause"]:
                row["cause"] = f"{'run' if run.status != 'ok' else 'numbers'}: {result.reason}"
        row["cases"] += [{"index": index, "excluded": reason} for index, reason in excluded.items()]
        row["excluded"], row["total"] = len(excluded), total - len(excluded)
        if excluded and not row["cause"]:
            row["cause"] = f"excluded: {next(iter(excluded.values()))}"
        row["findings"] = [f.model_dump() for f in merge_findings(findings)]
    except (OpmendError, SyntaxError) as error:
        row["cause"] = f"reference: {error}" if "reference" in str(error) else f"task: {error}"
    finally:
        row["seconds"] = round(time.monotonic() - started, 1)
        if toolchain is not None:
            toolchain.close()
    return row


def _run_cut(
    path: Path, toolchain: Any, handle: Any, case: CaseData, run: CaseRun, cache: Path
) -> tuple[CaseData, CaseRun, str]:
    """The case run with its leading dimension cut until it ends in time, and `N->M`; as it was where that fails."""
    dimension = leading_of(path, case.index)
    if dimension is None:
        return case, run, ""
    for size in dict.fromkeys(max(1, int(dimension.size * share)) for share in _SHARES):
        if size >= dimension.size:
            continue
        with tempfile.TemporaryDirectory(prefix=scratch.prefix("cut")) as folder:
            smaller = load_task(cut_task(path, case.index, dimension, size, Path(folder)), cache=cache / "references")
            try:
                ran = list(run_cases(smaller, toolchain, handle, "full", _SEED, [case.index], {}))
            except OpmendError:  # the smaller case contradicts something the task says elsewhere
                ran = []
            finally:
                smaller.close()
        if ran and ran[0][1].status != "timeout":
            return (*ran[0], f"{dimension.size}->{size}")
    return case, run, ""


def _own_check(task: Any, case: CaseData, run: CaseRun) -> bool:
    """What the task's own check says of outputs that the named policy refuses; no where it does not run."""
    try:
        return bool(task.own_check(case.index, case.expected, run.outputs))
    except OpmendError:
        return False


def _as_benchmark(case: CaseData, run: CaseRun) -> CaseData:
    """The case with expectations of the dtype and shape that the output has, where they differ only as the benchmark's
    own check does not see: it promotes dtypes, and broadcasts (one element is one element). Only for this table."""
    if run.outputs is None or len(run.outputs) != len(case.expected):
        return case
    expected = []
    for want, got in zip(case.expected, run.outputs, strict=True):
        floats = want.dtype.kind == "f" and got.dtype.kind in "fV" and got.dtype.itemsize < want.dtype.itemsize
        whole = want.dtype.kind in "iub" and got.dtype.kind in "iub"
        seen = want.astype(got.dtype) if floats or whole else want
        expected.append(seen.reshape(got.shape) if seen.size == got.size == 1 else seen)
    return replace(case, expected=expected)


def _measure_apart(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """`measure` in a process of its own: a task that hangs or breaks the engine costs its own row only."""
    command = [sys.executable, "-m", "adapters.conformance", "--one", str(path), "--cases", str(options.cases)]
    command += [
        "--level",
        str(options.level),
        "--cache",
        str(options.cache),
        "--case-seconds",
        str(options.case_seconds),
    ]
    command += ["--tolerance", options.tolerance] if options.tolerance else []
    started = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=_ROOT,
            capture_output=True,
            text=True,
            timeout=options.timeout,
            start_new_session=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        cause = f"engine: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    except subprocess.TimeoutExpired:
        lines, cause = [], f"timeout: not finished within {options.timeout:g} s"
    if lines:
        found: dict[str, Any] = json.loads(lines[-1])
        return found
    seconds = round(time.monotonic() - started, 1)
    layout = "msopgen" if is_msop(path) else "direct"
    row: dict[str, Any] = {"task": path.name, "layout": layout, "builds": False, "runs": False, "passed": 0}
    return row | {
        "total": options.cases,
        "excluded": 0,
        "findings": [],
        "cause": cause,
        "cases": [],
        "seconds": seconds,
    }


def group(cause: str) -> str:
    """A cause without what differs between tasks that fail for the same reason."""
    if unsupported := re.search(r"unsupported: [\w:<>]+", cause):
        return unsupported[0]
    undeclared = re.search(
        r"[‘'](\w[^’']*)[’'] (?:was not declared|has not been declared|is not a member of [‘'](\w+))", cause
    )
    if undeclared:
        return f"not declared: {undeclared[1]}"
    if missing := re.search(r"(\S+): No such file or directory", cause):
        return f"no header {missing[1]}"
    return _DETAIL.sub("N", re.sub(r"^(\w+): \S+:\d+: ", r"\1: ", cause))[:110]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as aligned text, then totals and the grouped causes."""
    cells = [list(_COLUMNS)]
    for row in rows:
        kinds = ",".join(f"{kind}:{n}" for kind, n in sorted(Counter(f["kind"] for f in row["findings"]).items()))
        passed = f"{row['passed']}/{row['total']}"
        passed += f" ({row['excluded']} excluded)" if row.get("excluded") else ""
        cut = ",".join(f"{c['index']}: {c['cut']}" for c in row["cases"] if c.get("cut"))
        yes = ["yes" if row[name] else "no" for name in ("builds", "runs")]
        numbers = [passed, cut or "-", kinds or "-", f"{row['seconds']:.1f}"]
        cells.append([row["task"], row["layout"], *yes, *numbers, row["cause"][:150]])
    widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS) - 1)]
    text = ["  ".join([*(c.ljust(w) for c, w in zip(line, widths, strict=False)), line[-1]]).rstrip() for line in cells]
    good = [row for row in rows if row["total"] and row["passed"] == row["total"]]
    built, ran = (sum(bool(row[name]) for row in rows) for name in ("builds", "runs"))
    text.append(f"\n{len(rows)} tasks: {built} build, {ran} run, {len(good)} pass all cases asked for")
    text.append(f"passes: {len(good)} of {len(rows)} operators")
    causes = Counter(group(row["cause"]) for row in rows if row not in good)
    text += [f"{count:4d}  {cause}" for cause, count in causes.most_common()]
    return "\n".join(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as a program; 0 when every task was measured."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="a task, or a folder with tasks beneath it")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=0, help="at most so many tasks (0: all)")
    parser.add_argument("--cases", type=int, default=2, help="the first so many cases of each (0: all)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one task, build included")
    parser.add_argument("--case-seconds", type=float, default=60.0, help="seconds for one case; above, it is cut")
    parser.add_argument("--jobs", type=int, default=1, help="tasks measured at once (default: 1)")
    parser.add_argument("--level", type=int, default=2, choices=range(4), help="device checks")
    parser.add_argument("--tolerance", help="named policy (default: npukernelbench for msopgen, else cann-ecosystem)")
    parser.add_argument("--cache", type=Path, default=Path(".opmend/cache"))
    parser.add_argument("--results", type=Path, default=Path(".opmend/conformance.jsonl"))
    parser.add_argument("--match", default="", help="only tasks whose path contains this")
    parser.add_argument("--again", action="store_true", help="measure failed tasks again")
    options = parser.parse_args(arguments)
    options.cache = options.cache.resolve()
    if options.one:
        limits = {"cases": options.cases, "level": options.level, "seconds": options.case_seconds}
        print(json.dumps(measure(options.one, cache=options.cache, tolerance=options.tolerance, **limits)))
        return 0
    if options.folder is None or not options.folder.is_dir():
        parser.error(f"{options.folder}: no such folder; name one with tasks beneath it (TASKS=<folder>)")
    paths = [p for p in find_tasks(options.folder.resolve()) if options.match in str(p)]
    rows = _measure_all(paths[: options.limit or None], options)
    print(table(rows))
    return 0


def _measure_all(paths: Sequence[Path], options: argparse.Namespace) -> list[dict[str, Any]]:
    options.results.parent.mkdir(parents=True, exist_ok=True)
    known: dict[tuple[str, int], dict[str, Any]] = {}
    if options.results.exists():
        for line in options.results.read_text().splitlines():
            row = json.loads(line)
            known[row["path"], row["cases_asked"]] = row
    writing = threading.Lock()

    def row_of(number: int, path: Path) -> dict[str, Any]:
        key = (str(path), options.cases)
        row = known.get(key)
        if row is None or (options.again and row["passed"] != row["total"]):
            row = {"path": key[0], "cases_asked": key[1], **_measure_apart(path, options)}
            with writing, options.results.open("a") as file:
                file.write(json.dumps(row) + "\n")
            verdict = f"{row['passed']}/{row['total']} {row['cause'][:120]}"
            print(
                f"[{number + 1}/{len(paths)}] {row['task']} {row['seconds']} s {verdict}", file=sys.stderr, flush=True
            )
        return row

    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        return list(pool.map(row_of, range(len(paths)), paths))


if __name__ == "__main__":
    sys.exit(main())
