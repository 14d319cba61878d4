"""Arguments and results as one file that is safe to read when a hostile process wrote it.

The engine hands a case's inputs to the candidate's process and takes its outputs back through files. Pickle would run
the candidate's code in the engine, so the file is a safetensors file: raw bytes, dtype and shape, checked by the
safetensors parser. What tensors alone cannot say (plain arguments, nested lists and tuples) is a small JSON tree in
the file's metadata, under the key ``opmend``. Arrays are numpy arrays; bfloat16 is ``ml_dtypes.bfloat16``, so that
this module never imports torch.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import orjson
import safetensors

__all__ = ["DType", "Sparse", "TensorFileError", "Value", "arrays_of", "load", "save"]

_METADATA_KEY = "opmend"
_MAX_HEADER_BYTES = 8 << 20
_MAX_DEPTH = 16
_MAX_NODES = 65_536

_ST_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}  # fmt: skip
_NUMPY_BY_ST: dict[str, np.dtype[Any]] = {
    st: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name, st in _ST_NAMES.items()
}
_COMPLEX_PART = {"complex64": "float32", "complex128": "float64"}


class TensorFileError(ValueError):
    """The file is not a well-formed tensor file, or a value cannot be written to one. The message says why."""


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype passed as a plain argument, by its torch name (``DType("float16")`` stands for ``torch.float16``)."""

    name: str


@dataclass(frozen=True, slots=True)
class Sparse:
    """A ``torch.sparse_coo`` tensor: ``indices`` [sparse dimensions, entries], ``values`` [entries, ...]."""

    indices: np.ndarray[Any, Any]
    values: np.ndarray[Any, Any]
    shape: tuple[int, ...]
    coalesced: bool


Value: TypeAlias = (
    "np.ndarray[Any, Any] | bool | int | float | complex | str | DType | Sparse"
    " | list[Value] | tuple[Value, ...] | dict[str, Value] | None"
)


def save(path: Path, values: Sequence[Value]) -> None:
    """Write ``values`` to ``path``, replacing it atomically.

    Arrays may have any of the dtypes torch has (bool, 8-64 bit integers signed and unsigned, float16, bfloat16,
    float32, float64, complex64, complex128) and any shape; they are written in row-major order. Numpy scalars are
    written as 0-d arrays.

    Raises:
        TensorFileError: a value has a type that the format does not carry.
        OSError: the file cannot be written.
    """
    arrays: list[np.ndarray[Any, Any]] = []
    tree = [_encode(value, arrays, 0) for value in values]
    header: dict[str, Any] = {"__metadata__": {_METADATA_KEY: orjson.dumps(tree).decode()}}
    end = 0
    for index, array in enumerate(arrays):
        shape, start, end = list(array.shape), end, end + array.nbytes
        header[f"t{index}"] = {"dtype": _ST_NAMES[array.dtype.name], "shape": shape, "data_offsets": [start, end]}
    head = orjson.dumps(header)
    head += b" " * (-len(head) % 8)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with scratch.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays:
            file.write(array.reshape(-1).view(np.uint8).data)
    scratch.replace(path)


def load(path: Path, *, max_bytes: int) -> list[Value]:
    """Read the values back; arrays are fresh, writable and row-major.

    A link, a device, a file above ``max_bytes`` or anything malformed is refused.

    Raises:
        TensorFileError: with the reason, naming the file.
    """
    blob = _read_regular(path, max_bytes)
    try:
        tree = orjson.loads(_metadata(blob))
        arrays = {name: _decode_array(spec) for name, spec in safetensors.deserialize(blob)}  # type: ignore[no-untyped-call]
        if not isinstance(tree, list):
            raise TensorFileError("the value tree is not a list")
        budget = [_MAX_NODES]
        return [_decode(node, arrays, 0, budget) for node in tree]
    except TensorFileError as error:
        raise TensorFileError(f"{path.name}: {error}") from None
    except (
        safetensors.SafetensorError,
        orjson.JSONDecodeError,
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
    ) as error:
        raise TensorFileError(f"{path.name}: not a tensor file: {error}") from None


def arrays_of(values: Value) -> list[np.ndarray[Any, Any]]:
    """The arrays among `values`, flattened in order through lists, tuples and dictionaries; the rest is left out."""
    if isinstance(values, np.ndarray):
        return [values]
    if isinstance(values, dict):
        return arrays_of(list(values.values()))
    if isinstance(values, Sparse):
        return [values.indices, values.values]
    return [array for item in values for array in arrays_of(item)] if isinstance(values, list | tuple) else []


def _encode(value: Value, arrays: list[np.ndarray[Any, Any]], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise TensorFileError(f"values are nested more than {_MAX_DEPTH} deep")
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(np.asarray(value), arrays)
    if value is None:
        return {"k": "none"}
    if isinstance(value, bool):
        return {"k": "bool", "v": value}
    if isinstance(value, int):
        return {"k": "int", "v": str(value)}
    if isinstance(value, float):
        return {"k": "float", "v": value.hex()}
    if isinstance(value, complex):
        return {"k": "complex", "v": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, str):
        return {"k": "str", "v": value}
    if isinstance(value, DType):
        return {"k": "dtype", "v": value.name}
    if isinstance(value, Sparse):
        parts: list[Value] = [value.indices, value.values, list(value.shape), value.coalesced]
        return {"k": "sparse", "v": [_encode(part, arrays, depth + 1) for part in parts]}
    if isinstance(value, list | tuple):
        return {
            "k": "tuple" if isinstance(value, tuple) else "list",
            "v": [_encode(v, arrays, depth + 1) for v in value],
        }
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"k": "dict", "v": [[key, _encode(v, arrays, depth + 1)] for key, v in value.items()]}
    raise TensorFileError(f"a value of type {type(value).__name__} cannot be written to a tensor file")


def _encode_array(array: np.ndarray[Any, Any], arrays: list[np.ndarray[Any, Any]]) -> dict[str, Any]:
    name = array.dtype.name
    flat = np.array(array, order="C", copy=True)
    if name in _COMPLEX_PART:
        flat = flat.reshape(-1).view(_COMPLEX_PART[name])
    elif name not in _ST_NAMES or array.dtype.byteorder == ">":
        raise TensorFileError(f"an array of dtype {array.dtype} cannot be written to a tensor file")
    arrays.append(flat)
    node: dict[str, Any] = {"k": "tensor", "v": f"t{len(arrays) - 1}"}
    if name in _COMPLEX_PART:
        node.update(complex=name, shape=list(array.shape))
    return node


def _decode(node: Any, arrays: dict[str, np.ndarray[Any, Any]], depth: int, budget: list[int]) -> Value:
    budget[0] -= 1
    if depth > _MAX_DEPTH or budget[0] < 0:
        raise TensorFileError("the value tree is too deep or too large")
    if not isinstance(node, dict) or not isinstance(node.get("k"), str):
        raise TensorFileError("a node of the value tree has no kind")
    kind, raw = node["k"], node.get("v")
    if kind == "tensor" and isinstance(raw, str) and raw in arrays:
        array = arrays[raw]
        return array.view(node["complex"]).reshape(node["shape"]) if node.get("complex") in _COMPLEX_PART else array
    if kind == "none":
        return None
    if kind == "bool" and isinstance(raw, bool):
        return raw
    if isinstance(raw, str):
        if kind == "int":
            return int(raw)
        if kind == "float":
            return float.fromhex(raw)
        if kind == "str":
            return raw
        if kind == "dtype":
            return DType(raw)
    if isinstance(raw, list):
        if kind == "complex" and len(raw) == 2:
            return complex(float.fromhex(raw[0]), float.fromhex(raw[1]))
        if kind == "sparse":
            return _sparse([_decode(child, arrays, depth + 1, budget) for child in raw])
        if kind == "list":
            return [_decode(child, arrays, depth + 1, budget) for child in raw]
        if kind == "tuple":
            return tuple(_decode(child, arrays, depth + 1, budget) for child in raw)
        if kind == "dict" and all(
            isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in raw
        ):
            return {pair[0]: _decode(pair[1], arrays, depth + 1, budget) for pair in raw}
    raise TensorFileError(f"a node of kind {kind[:40]!r} does not hold what that kind needs")


def _sparse(parts: list[Value]) -> Sparse:
    match parts:
        case [np.ndarray() as indices, np.ndarray() as values, list() as shape, bool() as coalesced]:
            sizes = tuple(size for size in shape if isinstance(size, int))
            if len(sizes) == len(shape):
                return Sparse(indices, values, sizes, coalesced)
    raise TensorFileError("a sparse tensor does not hold indices, values, shape and whether it is coalesced")


def _decode_array(spec: Any) -> np.ndarray[Any, Any]:
    dtype = _NUMPY_BY_ST.get(str(spec["dtype"]))
    if dtype is None:
        raise TensorFileError(f"a tensor has dtype {spec['dtype']}, which is not supported")
    raw = bytearray(spec["data"])
    if dtype == np.bool_ and raw.translate(None, b"\x00\x01"):
        raise TensorFileError("a bool tensor holds bytes other than 0 and 1")
    return np.frombuffer(raw, dtype=dtype).reshape([int(size) for size in spec["shape"]])


def _metadata(blob: bytes) -> str:
    length = int.from_bytes(blob[:8], "little")
    if len(blob) < 8 or length > min(len(blob) - 8, _MAX_HEADER_BYTES):
        raise TensorFileError("the header is truncated or too long")
    header = orjson.loads(blob[8 : 8 + length])
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    tree = metadata.get(_METADATA_KEY) if isinstance(metadata, dict) else None
    if not isinstance(tree, str):
        raise TensorFileError("the header has no value tree")
    return tree


def _read_regular(path: Path, max_bytes: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise TensorFileError(f"{path.name}: cannot be opened: {error.strerror}") from None
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise TensorFileError(f"{path.name}: not a regular file")
        if info.st_size > max_bytes:
            raise TensorFileError(f"{path.name}: {info.st_size} bytes, more than the {max_bytes} allowed")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(info.st_size)
    finally:
        os.close(descriptor)
