"""Whether a task is any good as a test: signs that a candidate could pass it without computing anything.

Pure over made cases: the same case under two seeds is looked at side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adapters import tensorfile
from adapters.tasks.cases import Case, tensors
from statemachine.ports import Array

_MAX_BYTES = 1 << 40
_SAME_OUTPUT = 1e-6


@dataclass(frozen=True)
class Made:
    """A case on disk, as `reference_main` writes it."""

    inputs: Path
    expected: Path

    def input_arrays(self) -> list[Array]:
        return tensorfile.arrays_of(tensorfile.load(self.inputs, max_bytes=_MAX_BYTES))

    def expected_arrays(self) -> list[Array]:
        """The reference's outputs, flattened in order."""
        return tensorfile.arrays_of(tensorfile.load(self.expected, max_bytes=_MAX_BYTES))

    def parameters(self) -> int:
        """How many parameter tensors the reference's Model has."""
        count = tensorfile.load(self.expected, max_bytes=_MAX_BYTES)[1]
        assert isinstance(count, int)
        return count


def telling_case(cases: Sequence[Case]) -> int:
    """The first case with a tensor of 16 elements or more (few numbers may well repeat by chance), else the first."""
    for index, case in enumerate(cases):
        if any(math.prod(shape) >= 16 for entry in case.inputs for _, shape in tensors(entry)):
            return index
    return 0


def warnings(first: Made, second: Made, name: str) -> tuple[str, ...]:
    """Warnings from one case (called `name`) made under two seeds."""
    found = []
    inputs = first.input_arrays()
    if inputs and _alike(inputs, second.input_arrays(), 0.0):
        found.append(
            "the inputs do not change with the seed (model.py seeds its own generators): a candidate could hold "
            "precomputed answers; draw inputs from torch's global generator"
        )
    elif _alike(first.expected_arrays(), second.expected_arrays(), _SAME_OUTPUT):
        found.append(
            f"the reference's output on {name} is (nearly) the same for different inputs: "
            "a candidate that computes nothing could pass"
        )
    parameters = first.parameters()
    if parameters:
        found.append(
            f"the reference has {parameters} parameter tensors; the candidate has the same ones only if its "
            "constructor draws them in the same order from torch's global generator"
        )
    return tuple(found)


def _alike(first: Sequence[Array], second: Sequence[Array], tolerance: float) -> bool:
    """Whether two lists of arrays are equal within `tolerance` (relative to the larger of 1 and the value)."""
    if [a.shape for a in first] != [b.shape for b in second]:
        return False
    for a, b in zip(first, second, strict=True):
        kind = np.complex128 if a.dtype.kind == "c" else np.float64
        if not np.allclose(a.astype(kind), b.astype(kind), rtol=tolerance, atol=tolerance, equal_nan=True):
            return False
    return True
