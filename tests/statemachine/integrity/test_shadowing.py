"""A function's own name is not the builtin of that name; a builtin stays one wherever it is not shadowed."""

from __future__ import annotations

import pytest

from statemachine.integrity.wrapper import read_wrapper

WRAPPER = """
import torch
import _ext

{before}

class ModelNew(torch.nn.Module):
    def forward(self, {name}):
        {body}
        return _ext.run({name})
"""


def refused(name: str = "x", body: str = "pass", before: str = "") -> bool:
    source = WRAPPER.format(name=name, body=body, before=before)
    found = read_wrapper(source, "w.py", helpers={}, extensions=("_ext",)).evidence
    return any(e.check == "wrapper:refused-name" for e in found)


@pytest.mark.parametrize("name", ["input", "compile", "open", "vars"])
def test_a_parameter_with_the_name_of_a_builtin_is_a_parameter(name: str) -> None:
    assert not refused(name)
    assert not refused(name, body=f"shape = [n for n in {name}.shape]")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "def other(exec): pass",
        "def other():\n    exec = None",
        "class Other:\n    exec = None",
        "names = [exec for exec in ()]",
        "class Other:\n    def exec(self): pass",
        "def other(exec=exec): pass",
    ],
)
def test_a_builtin_shadowed_somewhere_else_is_still_refused(before: str) -> None:
    assert refused(body="exec('1')", before=before)
