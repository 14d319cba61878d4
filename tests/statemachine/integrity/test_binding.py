"""The C++ reader: every cheat of the corpus is named at its line, no honest kernel folder is flagged."""

from __future__ import annotations

import time

import pytest

from statemachine.integrity.binding import read_binding
from statemachine.integrity.hostcode import Effort
from statemachine.integrity.judge import judge
from tests.statemachine.integrity.binding_corpus import CHEATS, GOOD, HONEST, KERNEL, folder


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_named(name: str) -> None:
    files, check, outcome = CHEATS[name]
    found = {(e.check, e.outcome) for e in read_binding(files).evidence}
    assert (f"binding:{check}", outcome) in found, found


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_folder_is_neither_failed_nor_flagged(name: str) -> None:
    report = read_binding(HONEST[name])
    assert not [e for e in report.evidence if e.outcome in ("failed", "flagged")]
    assert report.kernels


def test_launch_module_and_place_are_reported() -> None:
    report = read_binding(folder(GOOD))
    assert report.modules == ("_op_ext",)
    assert report.kernels == ("op_custom",)
    line = KERNEL[: KERNEL.index("<<<")].count("\n") + 1
    assert [e.where for e in report.evidence if e.check == "binding:launch"] == [f"kernel/op.cpp:{line}"]


def test_a_finding_names_the_line_in_the_users_file() -> None:
    files = folder("/* two\nlines */\nreturn x.softmax(-1);")
    finding = next(e for e in read_binding(files).evidence if e.check == "binding:aten-compute")
    line = files["pybind11.cpp"][: files["pybind11.cpp"].index("x.softmax")].count("\n") + 1
    assert finding.where == f"kernel/pybind11.cpp:{line}"


@pytest.mark.parametrize("text", ["", "{{{{", "\x00", "é中", '"unterminated', "/* open", "<<<", "k<<<" * 300])
def test_hostile_text_never_raises(text: str) -> None:
    assert any(e.outcome == "failed" for e in read_binding({"a.cpp": text}).evidence)


@pytest.mark.parametrize("text", ["at::" * 80_000, "a<" * 40_000, "(" * 100_000, "k<<<" * 400, "a" * 100_000 + "<<<"])
def test_tangled_text_is_read_or_refused_within_seconds(text: str) -> None:
    started = time.process_time()
    read_binding({**folder(GOOD), "tangled.cpp": f"void f() {{ {text} x; }}"})
    assert time.process_time() - started < 15


def test_what_the_parser_would_take_too_long_for_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Effort.__init__, "__defaults__", (3,))
    found = [e for e in read_binding(folder(GOOD + "x.size(0);\n" * 4000)).evidence if e.outcome == "flagged"]
    assert {e.check for e in found} == {"binding:too-complex"}
    verdict, _, settled = judge(static=[*found, *read_binding(folder(GOOD)).evidence], dynamic=[], runs=[])
    assert verdict == "undetermined" and "too-complex" in settled
