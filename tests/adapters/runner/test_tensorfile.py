"""Tensor files: everything torch can hold survives the round trip, and a hostile file gets a reason instead of a
crash.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters import tensorfile
from adapters.tensorfile import DType, Sparse, TensorFileError

DTYPES = [np.bool_, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64,
          np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128]  # fmt: skip


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    count = int(np.prod(shape, dtype=np.int64))
    raw = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
    if dtype == np.bool_:
        raw = bytes(byte & 1 for byte in raw)
    return np.frombuffer(raw, dtype).reshape(shape)


sparse = st.builds(Sparse, arrays(), arrays(), st.lists(st.integers(0, 9), max_size=3).map(tuple), st.booleans())
leaves = st.one_of(
    arrays(),
    sparse,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just(DType("float16")),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, Sparse):
        return same([a.indices, a.values, a.shape, a.coalesced], [b.indices, b.values, b.shape, b.coalesced])
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (a != a and b != b)
    return bool(a == b)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(values, max_size=4))
def test_values_survive_the_round_trip_bit_for_bit(tmp_path: Path, items: list[Any]) -> None:
    tensorfile.save(tmp_path / "v", items)
    assert same(tensorfile.load(tmp_path / "v", max_bytes=1 << 20), items)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_gives_values_or_a_reason_never_another_error(tmp_path: Path, data: st.DataObject) -> None:
    tensorfile.save(tmp_path / "v", [np.arange(6, dtype=np.float32), [1, (2.5, "x")], {"a": True}])
    blob = bytearray((tmp_path / "v").read_bytes())
    at = data.draw(st.integers(0, len(blob) - 1))
    if data.draw(st.booleans()):
        blob[at] = data.draw(st.integers(0, 255))
    else:
        del blob[at:]
    (tmp_path / "w").write_bytes(blob)
    try:
        tensorfile.load(tmp_path / "w", max_bytes=1 << 20)
    except TensorFileError as error:
        assert "w: " in str(error)


def test_non_contiguous_arrays_are_written_in_row_major_order(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4).T
    tensorfile.save(tmp_path / "v", [array])
    (back,) = tensorfile.load(tmp_path / "v", max_bytes=1 << 20)
    assert np.array_equal(back, array)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", ["link", "fifo", "directory", "absent", "huge"])
def test_what_is_not_a_modest_regular_file_is_refused(tmp_path: Path, make: str) -> None:
    path = tmp_path / "v"
    if make == "link":
        tensorfile.save(tmp_path / "real", [1])
        path.symlink_to(tmp_path / "real")
    elif make == "fifo":
        os.mkfifo(path)
    elif make == "directory":
        path.mkdir()
    elif make == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    with pytest.raises(TensorFileError, match="v: "):
        tensorfile.load(path, max_bytes=1 << 20)


def test_an_unsupported_value_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TensorFileError, match="type object"):
        tensorfile.save(tmp_path / "v", [object()])  # type: ignore[list-item]
