"""Tensors made from case entries: the stated dtype and shape, and values in the stated range."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from adapters.tasks import generate
from adapters.tasks.cases import DTYPES


def made(dtype: str, shape: list[int], **more: Any) -> torch.Tensor:
    torch.manual_seed(0)
    result = generate.argument({"name": "x", "type": "tensor", "dtype": dtype, "shape": shape, **more})
    assert isinstance(result, torch.Tensor)
    return result


@pytest.mark.parametrize("dtype", sorted(set(DTYPES.values())))
@pytest.mark.parametrize("shape", [[], [0, 4], [3, 5]])
def test_every_dtype_comes_in_the_stated_shape_by_default_and_with_a_range(dtype: str, shape: list[int]) -> None:
    ranges: list[Any] = [None, [-3, 3], 1, "nan", ["-inf", "inf"], {"mean": [0, 9], "std": [1, 2]}, [3, -3]]
    for wanted in ranges:
        tensor = made(dtype, shape, range_values=wanted)
        assert tensor.dtype == getattr(torch, dtype) and list(tensor.shape) == shape and tensor.is_contiguous()


def test_ranges_hold() -> None:
    floats = made("float32", [500], range_values=[2, 4])
    assert 2 <= floats.min() < 2.2 and 3.8 < floats.max() <= 4
    assert sorted(set(made("int8", [500], range_values=[-1, 1]).tolist())) == [-1, 0, 1]
    assert made("uint8", [500], range_values=[-5, 900]).to(torch.int64).max() > 200
    assert made("float16", [4], range_values=["nan"]).isnan().all()
    assert made("float32", [4], range_values="-inf").tolist() == [-float("inf")] * 4
    mixed = made("float32", [500], range_values=["-inf", "inf"])
    assert 10 < int(mixed.isinf().sum()) < 150 and (mixed == float("inf")).any() and (mixed == -float("inf")).any()


def test_defaults_are_small_and_varied() -> None:
    assert 0.8 < float(made("float32", [2000]).std()) < 1.2
    assert set(made("int32", [2000]).tolist()) == set(range(-8, 9))
    assert set(made("uint8", [2000]).tolist()) == set(range(17))
    assert set(made("bool", [100]).tolist()) == {True, False}


def test_a_fixed_value_is_taken_as_it_is() -> None:
    assert made("int64", [2], value=[32, 64]).tolist() == [32, 64]
    assert made("float32", [2, 2], value=7).tolist() == [[7, 7], [7, 7]]


def test_lists_absent_tensors_and_attributes() -> None:
    parts = generate.argument(
        {"name": "l", "type": "tensor_list", "dtypes": ["int8", "float16"], "shapes": [[2], [3, 1]]}
    )
    assert [(part.dtype, list(part.shape)) for part in parts] == [(torch.int8, [2]), (torch.float16, [3, 1])]
    assert generate.argument({"name": "s", "type": "tensor", "dtype": "int8", "shape": None}) is None
    assert generate.argument({"name": "a", "type": "attr", "dtype": "str", "value": "sum"}) == "sum"
    as_float = generate.argument({"name": "a", "type": "attr", "dtype": "float", "value": 3})
    assert as_float == 3.0 and isinstance(as_float, float)


def test_a_range_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"neither a value nor"):
        made("float32", [2], range_values=[1, 2, 3])
