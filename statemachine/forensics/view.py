"""One failing case prepared for the detectors: flat data, geometry, the bad indices; and how a feature is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from events.types import Feature
from statemachine.forensics.arrays import Flat, Index, as_float, sample

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

GRANULE_BYTES = 32


@dataclass(frozen=True)
class View:
    """One failing case prepared for the detectors: flat data, `rows` x `cols` geometry, indices of the bad elements."""

    actual: Array
    expected: Array
    mask: Mask
    shape: tuple[int, ...]

    @cached_property
    def index(self) -> Index:
        return np.flatnonzero(self.mask).astype(np.int64)

    @cached_property
    def probe(self) -> Index:
        """A bounded, deterministic sample of the bad indices."""
        return sample(self.index)

    @property
    def size(self) -> int:
        return int(self.mask.size)

    @property
    def cols(self) -> int:
        return int(self.shape[-1]) if self.shape else 1

    @property
    def rows(self) -> int:
        return self.size // max(self.cols, 1)

    @property
    def granule(self) -> int:
        """Elements per 32-byte granule."""
        return max(1, GRANULE_BYTES // self.expected.dtype.itemsize)

    @cached_property
    def row_counts(self) -> npt.NDArray[np.int64]:
        """Bad elements in each row."""
        return np.asarray(self.mask.reshape(self.rows, self.cols).sum(axis=1), dtype=np.int64)

    @cached_property
    def special(self) -> Index:
        """Bad indices at which either side is NaN or infinite."""
        finite = np.isfinite(self.actual[self.index]) & np.isfinite(self.expected[self.index])
        return np.asarray(self.index[~finite.astype(bool)])

    def pair(self, where: Index) -> tuple[Flat, Flat]:
        """(actual, expected) at `where` as float64."""
        return as_float(self.actual[where]), as_float(self.expected[where])


def feature(name: str, strength: float, detail: str, **facts: float) -> Feature:
    clean = {key: float(value) for key, value in facts.items() if np.isfinite(value)}
    return Feature(name=name, strength=round(min(1.0, max(0.0, float(strength))), 4), facts=clean, detail=detail)
