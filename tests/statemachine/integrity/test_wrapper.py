"""The Python reader: every cheat of the corpus is named, no honest wrapper is failed, hostile text is survived."""

from __future__ import annotations

import pytest

from statemachine.integrity.wrapper import read_wrapper
from tests.statemachine.integrity.wrapper_corpus import CHEATS, HONEST, forward

FILE = "model_new_ascendc.py"


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_named(name: str) -> None:
    source, check, outcome = CHEATS[name]
    report = read_wrapper(source, FILE, helpers={})
    found = {(e.check, e.outcome) for e in report.evidence}
    assert (f"wrapper:{check}", outcome) in found, found


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_wrapper_passes_without_a_flag(name: str) -> None:
    report = read_wrapper(HONEST[name], FILE, helpers={})
    bad = [e for e in report.evidence if e.outcome in ("failed", "flagged")]
    assert not bad
    assert any(e.check == "wrapper:path" and e.outcome == "passed" for e in report.evidence)
    assert report.calls


def test_the_path_names_forward_and_the_extension_call() -> None:
    report = read_wrapper(HONEST["plain"], FILE, helpers={})
    passed = next(e for e in report.evidence if e.outcome == "passed")
    assert report.extension_modules == ("_op_ext",)
    assert [name for _, name in report.calls] == ["_op_ext.run"]
    assert f"line {report.calls[0][0]}" in passed.detail
    assert passed.where is not None and passed.where.startswith(f"{FILE}:")


def test_compute_hidden_in_a_helper_is_found_at_its_place() -> None:
    source = forward("return finish(_ext.run(x))", head="from util import finish")
    report = read_wrapper(source, FILE, helpers={"util.py": "def finish(t):\n    return t.softmax(-1)\n"})
    assert any(e.check == "wrapper:torch-compute" and e.where == "util.py:2" for e in report.evidence)


def test_an_honest_helper_passes() -> None:
    source = forward("return _ext.run(prepare(x, 8))", head="from util import prepare")
    helper = "def prepare(t, n):\n    return t.reshape(-1, t.shape[-1]).contiguous()\n"
    report = read_wrapper(source, FILE, helpers={"util.py": helper})
    assert not [e for e in report.evidence if e.outcome in ("failed", "flagged")]


def test_a_helper_that_cannot_be_parsed_fails_only_when_it_is_imported() -> None:
    broken = {"util.py": "def ("}
    imported = read_wrapper(forward("return _ext.run(x)", head="import util"), FILE, helpers=broken)
    unused = read_wrapper(HONEST["plain"], FILE, helpers=broken)
    assert any(e.check == "wrapper:syntax" and e.outcome == "failed" for e in imported.evidence)
    assert all(e.outcome == "passed" for e in unused.evidence)


def test_only_the_built_module_counts_as_the_extension_when_it_is_known() -> None:
    report = read_wrapper(HONEST["plain"], FILE, helpers={}, extensions=["_other_ext"])
    assert any(e.check == "wrapper:import" and e.outcome == "failed" for e in report.evidence)


def test_ctypes_is_undetermined_and_not_failed() -> None:
    source = forward(
        "y = torch.empty_like(x)\nlib.run(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()))\nreturn y",
        head="import ctypes\nlib = ctypes.CDLL('kernel/build/liblaunch.so')",
    )
    report = read_wrapper(source, FILE, helpers={})
    outcomes = {e.outcome for e in report.evidence}
    assert "failed" not in outcomes
    assert any(e.check == "wrapper:ctypes" and e.outcome == "flagged" for e in report.evidence)


@pytest.mark.parametrize("source", ["", "(" * 5000, "x = 1\x00", "class ModelNew: pass", "é = 1", "s = '\ud800'"])
def test_hostile_text_is_a_finding_and_never_an_exception(source: str) -> None:
    assert any(e.outcome == "failed" for e in read_wrapper(source, FILE, helpers={}).evidence)


def test_exponential_call_trees_stop_at_the_step_limit() -> None:
    body = "\n".join(
        f"def f{i}(x):\n    f{i + 1}(x); f{i + 1}(x); f{i + 1}(x); f{i + 1}(x)\n    return x" for i in range(11)
    )
    source = forward("f0(x)\nreturn _ext.run(x)", head=body + "\ndef f11(x):\n    return x")
    assert any(e.check == "wrapper:too-complex" for e in read_wrapper(source, FILE, helpers={}).evidence)
