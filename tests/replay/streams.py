"""Legal sessions as an LLM worker makes them, of any length."""

from __future__ import annotations

from typing import Any

from events import types as t
from tests.events.samples import CANDIDATE, EVIDENCE, NOTE, opened

_FAILED: dict[str, Any] = {"candidate": CANDIDATE, "tolerance": "cann-ecosystem/1", "passed": False}
_BAD = t.CaseResult(
    index=0, passed=False, dtype="float16", shape=(7, 129), descriptor={"axis": -1}, mere=0.5, mare=float("inf"),
    match_ratio=0.25, reason="tail differs", features=(t.Feature(name="tail-only", strength=0.9, facts={"n": 3.0}),),
    launches=("add<<<8>>>",), seconds=0.125,
)  # fmt: skip
_GOOD = t.CaseResult(index=0, passed=True, dtype="float16", shape=(7, 129), match_ratio=1.0, error=0.0)


def llm_session(turns: int = 3, attempts: int = 1) -> list[t.Event]:
    """A near-miss that the last of `attempts` patches repairs; `turns` turns of the worker before each patch."""
    bad, number = {**_FAILED, "cases": (_BAD,)}, 0
    events: list[t.Event] = [opened(), *_tried(0, bad)]
    for attempt in range(1, attempts + 1):
        events += [
            t.ForensicsRecorded(attempt=attempt - 1, candidate=CANDIDATE, features=(), mechanisms=(), brief=NOTE),
            t.ConversationStarted(conversation=attempt, attempt=attempt, brief=NOTE),
        ]
        for _ in range(turns):
            number += 1
            usage = t.Usage(input=1000 + number, output=200, cache_read=900)
            events += [
                t.TurnStarted(conversation=attempt, turn=number, request=NOTE, model="m"),
                t.TurnTaken(conversation=attempt, turn=number, usage=usage, response=NOTE, model="m", stop="end"),
            ]
        events.append(
            t.PatchProposed(attempt=attempt, base=CANDIDATE, candidate=CANDIDATE, diff=NOTE, files=("add.cpp",))
        )
        if attempt < attempts:
            events += _tried(attempt, bad)
            if attempt % 2 == 0:
                events.append(t.RolledBack(attempt=attempt, restored=CANDIDATE))
    good = {**_FAILED, "passed": True, "cases": (_GOOD,), "attempt": attempts}
    return [
        *events,
        t.CompileFinished(attempt=attempts, candidate=CANDIDATE, passed=True, log=NOTE),
        t.CompactEvaluated(**good),
        t.FullEvaluated(**good),
        t.IntegrityJudged(
            attempt=attempts, candidate=CANDIDATE, verdict="clean", evidence=EVIDENCE, settled_by="launch shown"
        ),
        t.CheckpointSaved(attempt=attempts, candidate=CANDIDATE),
        t.SessionAccepted(attempt=attempts, candidate=CANDIDATE),
    ]


def _tried(attempt: int, evaluation: dict[str, Any]) -> list[t.Event]:
    return [
        t.CompileFinished(attempt=attempt, candidate=CANDIDATE, passed=True, log=NOTE),
        t.CompactEvaluated(attempt=attempt, **evaluation),
        t.IntegrityJudged(
            attempt=attempt, candidate=CANDIDATE, verdict="undetermined", evidence=EVIDENCE, settled_by="no full pass"
        ),
    ]
