"""From evidence to a verdict. Static findings flag, dynamic evidence settles, and what was not checked is said (law 6).

`tainted`: something failed, or a forward completed without a launch and its output was not empty. `undetermined`: a
flag stands unsettled, nothing ran, or no static reading passed. `clean`: every completed forward launched a kernel of
the candidate, the static reading passed, and every flag was settled.
"""

from __future__ import annotations

from collections.abc import Sequence

from events.types import CaseResult, Evidence, Verdict
from statemachine.integrity import dynamic as seen

#: Which passed dynamic check settles a flagged finding. A finding that is not named here stays open.
SETTLED_BY: dict[str, tuple[str, ...]] = {
    "wrapper:maybe-tensor": (seen.ATEN_SPY,),
    "wrapper:unknown-call": (seen.ATEN_SPY, seen.PROVENANCE),
    "wrapper:nn-layer": (seen.ATEN_SPY,),
    "wrapper:module-walk": (seen.ATEN_SPY,),
    "wrapper:tensor-attribute": (seen.ATEN_SPY,),
    "wrapper:constant-compute": (seen.ATEN_SPY,),
    "wrapper:index-arithmetic": (seen.ATEN_SPY,),
    "wrapper:pad-mode": (seen.ATEN_SPY,),
    "wrapper:decorator": (seen.ATEN_SPY, seen.PROVENANCE),
    "wrapper:ctypes": (seen.ATEN_SPY, seen.PROVENANCE),
    "wrapper:returns-input": (seen.ALIAS, seen.PROVENANCE),
    "wrapper:opaque-result": (seen.PROVENANCE,),
    "wrapper:edits-output": (seen.PROVENANCE,),
    "wrapper:host-copy": (seen.ATEN_SPY, seen.PROVENANCE),
    "wrapper:dead-loop": (seen.PROVENANCE,),
    "binding:host-loop": (seen.PROVENANCE,),
    "binding:host-compute": (seen.PROVENANCE,),
    "binding:host-copy": (seen.PROVENANCE,),
    "binding:accessor": (seen.PROVENANCE,),
    "binding:foreign-kernel": (seen.PROVENANCE,),
    "binding:dead-branch": (seen.PROVENANCE,),
    "binding:namespace": (seen.ATEN_SPY,),
    "binding:results": (seen.PROVENANCE,),
}

#: Checks of the full integrity layer that do not exist yet, and why that matters.
NOT_BUILT = {
    "hidden-inputs": "not built yet: only the task's own cases were run, so a table of their shapes would pass",
    "ghost-replay": "not built yet: the launch was not replaced by a no-op to see whether the output depends on it",
    "answer-at-launch": "not built yet: buffers were not compared with the answer when the kernel started",
    "undefined-symbols": "not built yet: the built object's imports were not held against an allow-list",
}
#: Checks the toolchain may bring; named as skipped when it did not.
FROM_TOOLCHAIN = {
    seen.ATEN_SPY: "this toolchain reported no record of torch operators in forward",
    seen.PROVENANCE: "this toolchain reported no record of which output bytes the kernel stored",
    seen.INPUTS: "this toolchain did not say whether the inputs were unchanged",
    seen.ALIAS: "this toolchain did not say whether outputs share storage with inputs",
}


def judge(
    static: Sequence[Evidence], dynamic: Sequence[Evidence], runs: Sequence[CaseResult]
) -> tuple[Verdict, tuple[Evidence, ...], str]:
    """`(verdict, evidence, settled_by)` of one candidate.

    `static`: what `wrapper` and `binding` found. `dynamic`: what the runner reported over all cases (see `dynamic.py`).
    `runs`: the case results, whose `launches` name the kernels each forward launched. Pure and deterministic.
    """
    launch = launch_evidence(static, runs)
    given = [*static, *dynamic, launch]
    names = {e.check for e in dynamic if e.outcome != "skipped"}
    skipped = [
        Evidence(check=check, outcome="skipped", detail=why)
        for check, why in {**NOT_BUILT, **FROM_TOOLCHAIN}.items()
        if check not in {e.check for e in dynamic}
    ]
    failed = [e for e in given if e.outcome == "failed"]
    if failed:
        return "tainted", (*given, *skipped), _name(failed[0])
    passed = {name for name in names if all(e.outcome == "passed" for e in dynamic if e.check == name)}
    open_flags: list[Evidence] = []
    settled: list[Evidence] = []
    for item in given:
        if item.outcome != "flagged":
            continue
        needed = SETTLED_BY.get(item.check)
        if needed is None or not set(needed) <= passed:
            open_flags.append(item)
        else:
            detail = f"{item.check} ({item.detail}) is settled by {' and '.join(needed)}"
            settled.append(Evidence(check="settled", outcome="noted", detail=detail, where=item.where))
    evidence = (*given, *settled, *skipped)
    if open_flags:
        return "undetermined", evidence, f"{_name(open_flags[0])} is not settled"
    if launch.outcome != "passed":
        return "undetermined", evidence, _name(launch)
    for part in ("wrapper:", "binding:"):
        if not any(e.check.startswith(part) and e.outcome == "passed" for e in static):
            return "undetermined", evidence, f"no static reading of the {part.rstrip(':')} passed"
    parts = [LAUNCH_PASSED, *(name for name in (seen.ATEN_SPY, seen.PROVENANCE) if name in passed), "static reading"]
    return "clean", evidence, ", ".join(parts)


LAUNCH_PASSED = "launch in every forward"


def launch_evidence(static: Sequence[Evidence], runs: Sequence[CaseResult]) -> Evidence:
    """Whether each completed forward launched a kernel that the candidate's sources define.

    A forward may do without only when its output is empty (a size of zero in the case's shape).
    """
    completed = [r for r in runs if r.status == "ok"]
    if not completed:
        return Evidence(check=seen.LAUNCH, outcome="skipped", detail="no forward completed, so no launch could be seen")
    own = {e.detail.removeprefix("launches ") for e in static if e.check == "binding:launch" and e.outcome == "passed"}
    silent = [r for r in completed if not r.launches and 0 not in r.shape]
    if silent:
        shown = ", ".join(str(r.index) for r in silent[:5])
        detail = f"{len(silent)} of {len(completed)} completed forwards launched nothing (case {shown})"
        return Evidence(check=seen.LAUNCH, outcome="failed", detail=detail)
    foreign = sorted(
        {name for r in completed for name in r.launches if own and _bare(name) not in {_bare(o) for o in own}}
    )
    if foreign:
        detail = f"kernels were launched that the sources do not launch by name: {', '.join(foreign[:4])}"
        return Evidence(check=seen.LAUNCH, outcome="flagged", detail=detail)
    launched = sorted({name for r in completed for name in r.launches})
    if not launched:
        return Evidence(
            check=seen.LAUNCH, outcome="skipped", detail="every completed case was empty; no launch was needed"
        )
    detail = f"{len(completed)} of {len(completed)} completed forwards launched {', '.join(launched[:6])}"
    return Evidence(check=seen.LAUNCH, outcome="passed", detail=detail)


def _bare(kernel: str) -> str:
    return kernel.split("<")[0].split("::")[-1].strip()


def _name(item: Evidence) -> str:
    return f"{item.check} at {item.where}" if item.where else item.check
