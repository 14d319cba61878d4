"""Select by a mask of whole elements, and the high-level Exp, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("mask_type", [np.uint8, np.int16, np.int32])
@pytest.mark.parametrize("scalar_first", [0, 1])
def test_a_mask_of_elements_chooses_between_tensor_and_scalar(
    device: Device, dtype: type, mask_type: type, scalar_first: int
) -> None:
    rng = np.random.default_rng(scalar_first)
    rows, columns, pitch = 3, 48, 64
    a: Array = rng.standard_normal((rows, columns)).astype(dtype)
    mask: Array = rng.integers(-1 if mask_type is not np.uint8 else 0, 3, (rows, pitch)).astype(mask_type)
    p = [rows, columns, pitch, mask.itemsize, scalar_first]
    got = run_operation(device, "Choose", a, np.zeros_like(a), mask, p=p, scalar=7, library="select_bytes")
    tensor_where = mask[:, :columns] != 0 if scalar_first else mask[:, :columns] == 0
    np.testing.assert_array_equal(got, np.where(tensor_where, a, dtype(7)))


def test_rows_that_are_not_whole_blocks_are_misuse(device: Device) -> None:
    a, mask = np.ones((2, 20), np.float32), np.zeros((2, 32), np.uint8)
    run_operation(device, "Choose", a, a, mask, p=[2, 20, 32, 1, 0], clean=False, library="select_bytes")
    assert [(f.kind, f.api) for f in device.report().findings] == [("api-misuse", "SelectWithBytesMask")]


def test_the_high_level_exp_takes_its_series_length(device: Device) -> None:
    a = np.linspace(-9, 2, 96, dtype=np.float32)
    got = run_operation(device, "Exp", a, np.zeros_like(a), p=[96], library="select_bytes")
    np.testing.assert_allclose(got, np.exp(a), rtol=1e-6)


@pytest.mark.parametrize("count", [17, 20])
def test_lanes_that_nobody_wrote_spoil_only_their_own_bit_of_a_comparison(device: Device, count: int) -> None:
    a = np.random.default_rng(count).standard_normal(count).astype(np.float32)
    got = run_operation(device, "Tail", a, np.zeros_like(a), p=[count], scalar=7, library="select_bytes")
    np.testing.assert_array_equal(got, np.where(a > 0, a, np.float32(7)))
    one_more = np.zeros(count + 1, np.float32)  # mutant: chosen by the bit of a lane that nobody wrote
    run_operation(device, "Tail", a, one_more, p=[count + 1], scalar=7, clean=False, library="select_bytes")
    assert device.report().kinds == {"ub-uninitialised"}


def test_repeats_that_read_what_earlier_ones_wrote_are_reported(device: Device) -> None:
    a = np.zeros(96, np.float32)
    run_operation(device, "Exp of its neighbour", a, a[:64].copy(), p=[64], library="select_bytes")  # one repeat: clean
    device.reset()
    run_operation(device, "Exp of its neighbour", a, a[:80].copy(), p=[80], clean=False, library="select_bytes")
    assert [(f.kind, f.api) for f in device.report().findings] == [("api-misuse", "Exp")]
    assert "overlap in part" in device.report().findings[0].message
