"""From torch objects to the values of a tensor file, and to descriptions of them. Imported in the reference's process
only: this module imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch

from adapters.tensorfile import DType, Value

_SUPPORTED = {
    torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64,
    torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
}  # fmt: skip


def dtype_name(dtype: torch.dtype) -> str:
    """`float32` for `torch.float32`."""
    return str(dtype).removeprefix("torch.")


def to_array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """The tensor's elements in row-major order, shape and dtype kept (bfloat16 as ml_dtypes.bfloat16).

    Raises TypeError for a dtype, layout or device that a tensor file does not carry.
    """
    if tensor.dtype not in _SUPPORTED or tensor.layout != torch.strided or tensor.device.type != "cpu":
        kind = f"{dtype_name(tensor.dtype)}, layout {tensor.layout}, device {tensor.device}"
        raise TypeError(f"a tensor of {kind} is not supported; use a dense CPU tensor of a plain dtype")
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    array: npt.NDArray[Any] = plain.numpy()
    return array


def to_tensor(array: npt.NDArray[Any]) -> torch.Tensor:
    """The inverse of `to_array`."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def to_value(item: Any) -> Value:
    """Any argument a model may take: tensors, plain values, dtypes, lists, tuples and dicts of them."""
    if isinstance(item, torch.Tensor):
        return to_array(item)
    if item is None or isinstance(item, bool | int | float | complex | str):
        return item
    if isinstance(item, np.generic | np.ndarray):
        return np.asarray(item)
    if isinstance(item, torch.dtype):
        return DType(dtype_name(item))
    if isinstance(item, list):
        return [to_value(part) for part in item]
    if isinstance(item, tuple):
        return tuple(to_value(part) for part in item)
    if isinstance(item, Mapping):
        return {str(key): to_value(part) for key, part in item.items()}
    raise TypeError(f"an argument of type {type(item).__name__} cannot be handed to the candidate")


def outputs(result: Any) -> list[npt.NDArray[Any]]:
    """The tensors of a model's result, flattened in order.

    Raises TypeError naming the element that is no tensor.
    """
    flat: list[npt.NDArray[Any]] = []
    _flatten(result, "output", flat)
    if not flat:
        raise TypeError("the reference returned no tensor at all")
    return flat


def _flatten(item: Any, where: str, flat: list[npt.NDArray[Any]]) -> None:
    if isinstance(item, torch.Tensor):
        flat.append(to_array(item))
    elif isinstance(item, list | tuple):
        for index, part in enumerate(item):
            _flatten(part, f"{where}[{index}]", flat)
    else:
        raise TypeError(f"the reference's {where} is not a tensor but {type(item).__name__}")


def describe(name: str, item: Any) -> dict[str, Any]:
    """A case entry (see `cases`) for one argument: dtype and shape of tensors, values of everything else."""
    if isinstance(item, torch.Tensor):
        return {"name": name, "type": "tensor", "dtype": dtype_name(item.dtype), "shape": list(item.shape)}
    if isinstance(item, list | tuple) and any(isinstance(part, torch.Tensor | list | tuple) for part in item):
        if all(isinstance(part, torch.Tensor) for part in item):
            return {
                "name": name,
                "type": "tensor_list",
                "dtypes": [dtype_name(part.dtype) for part in item],
                "shapes": [list(part.shape) for part in item],
            }
        return {"name": name, "type": "list", "items": [describe(str(i), part) for i, part in enumerate(item)]}
    return {"name": name, "type": "attr", "dtype": type(item).__name__, "value": _plain(item)}


def _plain(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return [_plain(part) for part in item]
    return item if item is None or isinstance(item, bool | int | float | str) else str(item)
