"""The stand-in for model.py: constants survive, everything that computes does not, and asking for the rest fails
loudly.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from adapters.runner.constants import constants_stub


def execute(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(constants_stub(source), namespace)
    return namespace


def test_literals_tables_comprehensions_and_dtypes_are_kept() -> None:
    source = (
        "import torch as t\nA = [{'shape': (1, 2), 'dtype': t.float16}]\nB = {a['shape']: a for a in A}\n"
        "C: int = -3 * 2\n(D, E) = (1, 2)\n"
        "F = G = 'x'\n"
    )
    found = execute(source)
    assert found["B"] == {(1, 2): {"shape": (1, 2), "dtype": torch.float16}}
    assert (found["C"], found["D"], found["E"], found["F"], found["G"]) == (-6, 1, 2, "x", "x")


@pytest.mark.parametrize(
    "line",
    [
        "X = f()",
        "X = torch.randn(2)",
        "X = torch.nn",
        "X = lambda: 1",
        "def X(*a): pass",
        "def X(a=1): pass",
        "@f\ndef X(): pass",
        "class X: pass",
        "X = Y",
        "X = ().__class__",
        "X = [f() for i in (1,)]",
        "X = __import__",
        "if True: X = 1",
        "x.X = 1",
        "X = (y := 2)",
    ],
)
def test_what_computes_or_reaches_out_is_left_out(line: str) -> None:
    found = execute(f"import torch\n{line}\n")
    assert "X" not in found


NORMALIZE = """
LIMIT = 8
def normalize_dim(dim: int, rank: int) -> int:
    normalized = int(dim)
    if normalized < 0:
        normalized += rank
    if normalized < 0 or normalized >= LIMIT:
        raise ValueError(f"Invalid dim={dim} for rank={rank}")
    return normalized
"""


def test_a_function_of_plain_numbers_is_kept_and_lets_no_tensor_in() -> None:
    normalize = execute(NORMALIZE)["normalize_dim"]
    assert normalize(-1, 4) == 3
    with pytest.raises(ValueError, match="Invalid dim=9"):
        normalize(9, 4)
    with pytest.raises(ImportError, match="functions of plain numbers"):
        normalize(torch.ones(2), 4)
    with pytest.raises(ImportError, match="functions of plain numbers"):
        normalize(1, rank=[torch.ones(2)])


@pytest.mark.parametrize(
    "body",
    ["return x.sum()", "return torch.exp(x)", "for i in x: pass", "return [v for v in x]", "return open(x)",
     "return (lambda: x)()", "return f(x)", "import os", "global y"],
)  # fmt: skip
def test_a_function_that_could_do_more_is_left_out(body: str) -> None:
    assert "X" not in execute(f"import torch\ndef X(x):\n    {body}\n")


def test_a_name_rebound_to_something_else_is_no_longer_a_constant() -> None:
    assert "Y" not in execute("X = 1\nX = f()\nY = X\n")


def test_asking_for_the_reference_fails_loudly() -> None:
    with pytest.raises(ImportError, match="Model: the reference"):
        execute("class Model: pass\n")["__getattr__"]("Model")
