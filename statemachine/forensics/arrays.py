"""Array helpers of forensics: exact float64 views, distances in units in the last place, samples. Pure numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Flat = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

#: The most elements looked at where a sample says as much as the whole.
SAMPLE = 4096


def as_float(values: npt.NDArray[Any]) -> Flat:
    """`values` as float64 (bfloat16 of ml_dtypes included; integers above 2^53 are rounded)."""
    return np.asarray(values.astype(np.float64))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is a real floating type, bfloat16 of ml_dtypes included (its kind is `V` in numpy's eyes)."""
    return dtype.kind == "f" or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def ulp_distance(actual: npt.NDArray[Any], expected: npt.NDArray[Any]) -> Flat:
    """Distance in representable values of the common dtype (integers: the plain difference). Only for finite data."""
    if not is_float(expected.dtype):
        return np.abs(as_float(actual) - as_float(expected))
    bits = np.dtype(f"i{expected.dtype.itemsize}")
    low = np.int64(np.iinfo(bits).min)

    def ordered(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        raw = np.ascontiguousarray(values).view(bits).astype(np.int64)
        return np.where(raw < 0, low - raw, raw)

    return np.abs(ordered(actual).astype(np.float64) - ordered(expected).astype(np.float64))


def sample(indices: Index, limit: int = SAMPLE) -> Index:
    """At most `limit` of `indices`, evenly spread and always the same ones."""
    if indices.size <= limit:
        return indices
    return np.asarray(indices[np.linspace(0, indices.size - 1, limit).astype(np.int64)])


def agree(left: Flat, right: Flat, relative: float = 1e-3) -> npt.NDArray[np.bool_]:
    """Element-wise closeness for telling addresses apart: equal NaN agree, infinities by sign."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.isclose(left, right, rtol=relative, atol=1e-12, equal_nan=True))
