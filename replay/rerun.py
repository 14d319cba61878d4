"""The recorded candidates executed again, and held against the log case by case.

Two things can differ, and they are told apart: the toolchain (its fingerprint then and now) and the result (a build or
a case ended otherwise). A result that differs on the same toolchain is not reproducible; one on another toolchain may
be the toolchain's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from events.types import CaseResult, CaseSet, CompileFinished, Evaluated, SessionOpened, SessionResumed
from replay.again import Again, differing
from replay.history import History

#: What is compared of a case. The verdict decides; the numbers are shown beside it.
VERDICT = ("passed", "status")
NUMBERS = ("mere", "mare", "match_ratio")

Progress = Callable[[str, int, int], None]


def rerun(history: History, again: Again, progress: Progress | None = None) -> dict[str, Any]:
    """One JSON-able object: `verdict`, `toolchain` (what differs), and per attempt the build and each set's agreement.

    `verdict`: `same`; `toolchain-differs` (results agree, on another toolchain); `result-differs` (same toolchain);
    `result-differs-on-another-toolchain`.
    """
    attempts = [a for a in history.state.attempts if a.compiled is not None]
    rows = []
    for done, attempt in enumerate(attempts):
        if progress:
            progress(f"attempt {attempt.number}", done, len(attempts))
        assert attempt.compiled is not None
        rows.append(_attempt(attempt.number, attempt.compiled, (attempt.compact, attempt.full), again))
    other = {key: value for then in _toolchains(history) for key, value in differing(then, again.toolchain).items()}
    agree = all(row["agrees"] for row in rows)
    return {
        "session": history.session,
        "head": history.head,
        "task": history.state.opened.task.name,
        "verdict": _verdict(agree, bool(other)),
        "agrees": agree,
        "toolchain": other,
        "cases": {
            "agree": sum(s["agree"] for row in rows for s in row["sets"].values()),
            "total": sum(s["total"] for row in rows for s in row["sets"].values()),
        },
        "attempts": rows,
    }


def _verdict(agree: bool, other_toolchain: bool) -> str:
    if agree:
        return "toolchain-differs" if other_toolchain else "same"
    return "result-differs-on-another-toolchain" if other_toolchain else "result-differs"


def _toolchains(history: History) -> list[dict[str, str]]:
    """Every fingerprint the session's effects were recorded under."""
    return [dict(e.toolchain) for e in history.events if isinstance(e, SessionOpened | SessionResumed)]


def _attempt(
    number: int, compiled: CompileFinished, recorded: Sequence[Evaluated | None], again: Again
) -> dict[str, Any]:
    built = again.build(compiled.candidate)
    names: tuple[CaseSet, ...] = ("compact", "full")
    sets = {}
    for which, then in zip(names, recorded, strict=True):
        if then is None:
            continue
        now = again.evaluate(built.handle, which).cases if built.passed else []
        sets[which] = _compare(then.cases, now)
    same_build = built.passed == compiled.passed
    return {
        "attempt": number,
        "candidate": compiled.candidate,
        "build": {"then": compiled.passed, "now": built.passed},
        "sets": sets,
        "agrees": same_build and all(s["agree"] == s["total"] for s in sets.values()),
    }


def _compare(then: Sequence[CaseResult], now: Sequence[CaseResult]) -> dict[str, Any]:
    results = {case.index: case for case in now}
    differ = []
    numbers = 0
    for case in then:
        other = results.get(case.index)
        if other is None or _of(case, VERDICT) != _of(other, VERDICT):
            gone = {"then": _shown(case), "now": None if other is None else _shown(other)}
            differ.append({"index": case.index, "dtype": case.dtype, "shape": list(case.shape), **gone})
        elif not all(_same(a, b) for a, b in zip(_of(case, NUMBERS), _of(other, NUMBERS), strict=True)):
            numbers += 1
    return {"total": len(then), "agree": len(then) - len(differ), "numbers_differ": numbers, "differ": differ}


def _of(case: CaseResult, names: Sequence[str]) -> list[Any]:
    return [getattr(case, name) for name in names]


def _same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


def _shown(case: CaseResult) -> dict[str, Any]:
    return {**{name: getattr(case, name) for name in (*VERDICT, *NUMBERS)}, "reason": case.reason}


def exit_code(answer: dict[str, Any]) -> int:
    """0: every case agrees. 3: a result differs on the same toolchain. 1: it differs, and so does the toolchain."""
    if answer["agrees"]:
        return 0
    return 1 if answer["toolchain"] else 3


def render(answer: dict[str, Any]) -> Iterator[str]:
    """For a terminal, line by line."""
    cases = answer["cases"]
    yield f"session {answer['session']}  task {answer['task']}  {answer['verdict']}"
    for key, value in answer["toolchain"].items():
        yield f"toolchain differs: {key} was {value['then']}, is {value['now']}"
    for row in answer["attempts"]:
        build = row["build"]
        if build["then"] != build["now"]:
            words = {True: "built", False: "did not build", None: "?"}
            yield f"attempt {row['attempt']}: {words[build['then']]} then and {words[build['now']]} now"
        for which, s in row["sets"].items():
            note = f", {s['numbers_differ']} of them with other numbers" if s["numbers_differ"] else ""
            yield f"attempt {row['attempt']}: {which} {s['agree']}/{s['total']} cases agree{note}"
            for case in s["differ"]:
                yield (
                    f"  result differs: case {case['index']} {case['dtype']} {case['shape']}: "
                    f"{_words(case['then'])} then, {_words(case['now'])} now"
                )
        if not row["sets"] and build["then"] == build["now"]:
            yield f"attempt {row['attempt']}: does not build, as recorded"
    yield f"{cases['agree']} of {cases['total']} recorded case results agree"


def _words(case: dict[str, Any] | None) -> str:
    if case is None:
        return "not run"
    return "passed" if case["passed"] else f"failed ({case['reason'] or case['status']})"
