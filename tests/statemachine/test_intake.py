"""A proposal becomes a patch or a refusal; both are on the record, and a refusal comes back in the next brief."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from events import types as t
from events.log import SqlLog
from statemachine import sources
from statemachine.briefing import brief_for
from statemachine.candidate import Candidate
from statemachine.intake import receive
from statemachine.ports import Proposal
from statemachine.state import SessionState, apply, fold
from tests.statemachine.streams import START, case, digest, opened, timed

BASE = Candidate({"op.cpp": '#include "kernel_operator.h"\nint one;\n', "bind.cpp": "int two;\n"})


class PublicTask:
    """What a brief takes from a task: its two public texts."""

    reference_source = "class Model: ..."
    wrapper_source = "class ModelNew: ..."


@pytest.fixture
def blobs(tmp_path: Path) -> SqlLog:
    return SqlLog(tmp_path / "log.db")


@pytest.fixture
def state(blobs: SqlLog) -> SessionState:
    first = sources.store(blobs, BASE)
    brief = blobs.put(b"the brief")
    common = {"attempt": 0, "candidate": first}
    events: list[t.Event] = [
        opened().model_copy(update={"candidate": first}),
        t.CompileFinished(**common, passed=True),
        t.CompactEvaluated(
            **common, tolerance="cann-ecosystem/1", passed=False, cases=tuple(case(i, 0.5) for i in range(4))
        ),
        t.IntegrityJudged(**common, verdict="undetermined", evidence=(), settled_by="test"),
        t.CheckpointSaved(**common),
        t.ForensicsRecorded(**common, features=(), mechanisms=(), brief=brief),
    ]
    return fold(timed(events))


def propose(state: SessionState, blobs: SqlLog, files: Mapping[str, str], base: str | None = None) -> t.Event:
    return receive(state, Proposal(base or BASE.digest, files, "because", "X-01"), blobs)


def test_a_patch_within_scope_is_let_through_with_its_candidate_and_diff(state: SessionState, blobs: SqlLog) -> None:
    event = propose(state, blobs, {"op.cpp": BASE.files["op.cpp"].replace("one", "1 + 1")})
    assert isinstance(event, t.PatchProposed)
    assert (event.attempt, event.files, event.pattern) == (1, ("op.cpp",), "X-01")
    assert "+int 1 + 1;" in blobs.get(event.diff).decode()
    assert sources.load(blobs, event.candidate).files["bind.cpp"] == "int two;\n"


@pytest.mark.parametrize(
    "files",
    [
        {"../model.py": "x"},
        {"model_new_ascendc.py": "x"},
        {"CMakeLists.txt": "x"},
        {"op.cpp": BASE.files["op.cpp"]},
        {},
        {"kernel_operator.h": "x"},
        {"op.cpp": "int \ud800;"},
    ],
)
def test_a_patch_out_of_scope_is_refused_with_a_reason(
    state: SessionState, blobs: SqlLog, files: Mapping[str, str]
) -> None:
    event = propose(state, blobs, files)
    assert isinstance(event, t.PatchRefused)
    assert event.reason
    assert apply(state, event, START).status == "diagnosed"


def test_an_unknown_base_and_a_known_candidate_are_refused(state: SessionState, blobs: SqlLog) -> None:
    edit = {"op.cpp": BASE.files["op.cpp"] + "// more\n"}
    unknown = propose(state, blobs, edit, base=digest(77))
    assert isinstance(unknown, t.PatchRefused)
    assert "neither the standing candidate nor the checkpoint" in unknown.reason
    undone = propose(state, blobs, BASE.files)
    assert isinstance(undone, t.PatchRefused)


def test_a_refusal_comes_back_in_the_brief_so_that_it_is_not_proposed_again(state: SessionState, blobs: SqlLog) -> None:
    refused = propose(state, blobs, {"CMakeLists.txt": "add_library(x)\n"})
    brief = brief_for(apply(state, refused, START), PublicTask(), blobs)  # type: ignore[arg-type]
    (tried,) = brief.tried
    assert tried.outcome.startswith("refused: ")
    assert "+add_library(x)" in tried.diff
    assert tried.pattern == "X-01"
