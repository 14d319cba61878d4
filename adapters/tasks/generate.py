"""Tensors from case entries, for tasks whose model.py does not make its own inputs. Runs in the reference's process.

All randomness comes from torch's global generator, which the caller seeds. Defaults: floats standard normal, integers
-8..8 (unsigned 0..16), bools fair coins. `range_values` changes that: `[low, high]` is uniform (both ends included for
integers), a number or "nan" / "inf" / "-inf" (alone or in a list) a constant, a pair with an infinite end standard
normal with some infinities, `{"mean": [a, b], "std": [c, d]}` normal, its mean and deviation drawn from the intervals.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import torch


def argument(entry: Mapping[str, Any]) -> Any:
    """The argument one canonical case entry asks for (see `cases`)."""
    if entry["type"] == "tensor":
        return None if entry["shape"] is None else tensor(entry["dtype"], entry["shape"], entry)
    if entry["type"] == "tensor_list":
        return [tensor(d, s, entry) for d, s in zip(entry["dtypes"], entry["shapes"], strict=True)]
    return _attribute(entry)


def tensor(dtype_name: str, shape: Sequence[int], entry: Mapping[str, Any]) -> torch.Tensor:
    """A tensor of `dtype_name` and `shape`, filled as `entry` says (`value`, `range_values`, or the default)."""
    dtype: torch.dtype = getattr(torch, dtype_name)
    if entry.get("value") is not None:
        fixed = torch.tensor(_numbers(entry["value"]), dtype=dtype)
        return fixed.expand(shape).contiguous() if fixed.dim() == 0 else fixed.reshape(shape)
    wanted = entry.get("range_values")
    if dtype.is_complex:
        return torch.complex(_real(shape, wanted), _real(shape, wanted)).to(dtype)
    if dtype.is_floating_point:
        return _real(shape, wanted).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, tuple(shape)).to(dtype)
    return _integers(dtype, shape, wanted)


def _real(shape: Sequence[int], wanted: Any) -> torch.Tensor:
    """float64 values; the caller rounds them once to the dtype asked for."""
    size = tuple(shape)
    if isinstance(wanted, Mapping):
        mean, deviation = (random.uniform(*_pair(wanted.get(key, 0.0))) for key in ("mean", "std"))
        return torch.randn(size, dtype=torch.float64) * deviation + mean
    if wanted is None:
        return torch.randn(size, dtype=torch.float64)
    low, high = _pair(wanted)
    if low == high or math.isnan(low) or math.isnan(high):
        return torch.full(size, low, dtype=torch.float64)
    if math.isinf(low) or math.isinf(high):
        values = torch.randn(size, dtype=torch.float64)
        ends = [end for end in (low, high) if math.isinf(end)]
        chosen = torch.tensor(ends, dtype=torch.float64)[torch.randint(0, len(ends), size)]
        return torch.where(torch.rand(size) < 0.1, chosen, values.clamp(low, high))
    return torch.rand(size, dtype=torch.float64) * (high - low) + low


def _integers(dtype: torch.dtype, shape: Sequence[int], wanted: Any) -> torch.Tensor:
    info = torch.iinfo(dtype)
    low, high = (-8.0, 8.0) if info.min < 0 else (0.0, 16.0)
    if isinstance(wanted, Mapping):
        drawn = _real(shape, wanted).round().clamp(float(info.min), float(min(info.max, 2**53)))
        return drawn.to(torch.int64).to(dtype)
    if wanted is not None:
        low, high = (0.0 if math.isnan(end) else end for end in _pair(wanted))
    bottom = int(max(low, info.min)) if not math.isinf(low) else info.min
    top = int(min(high, info.max, 2**62)) if not math.isinf(high) else min(info.max, 2**62)
    bottom, top = max(bottom, -(2**62)), max(bottom, top)
    return torch.randint(bottom, top + 1, tuple(shape), dtype=torch.int64).to(dtype)


def _attribute(entry: Mapping[str, Any]) -> Any:
    value = entry.get("value")
    if isinstance(value, str) and value in ("nan", "inf", "-inf"):
        return float(value)
    if entry.get("dtype") in ("float", "float32", "float64", "double") and isinstance(value, int):
        return float(value)
    return value


def _pair(wanted: Any) -> tuple[float, float]:
    """(low, high) of a range: a pair, one value alone or in a list; the strings nan, inf and -inf are numbers."""
    ends = wanted if isinstance(wanted, list) else [wanted]
    if not 1 <= len(ends) <= 2:
        raise ValueError(f"range_values {wanted!r} is neither a value nor [low, high]")
    numbers = sorted(float(end) for end in ends)
    return numbers[0], numbers[-1]


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return float(value) if isinstance(value, str) else value
