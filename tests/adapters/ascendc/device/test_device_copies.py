"""DataCopyPad: units of gaps, left and right padding, and what the filler up to the next block is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

DATA = np.arange(100, 200, dtype=np.int16)


def arrived(device: Device, p: list[int], value: float = 0, clean: bool = True, elements: int = 64) -> Array:
    """What DataCopyPad with {count, bytes, GM gap, UB gap, left, right, isPad, SetPadValue} leaves in UB."""
    return run_operation(device, "Padding", DATA, np.zeros(elements, np.int16), p=p, scalar=value, clean=clean)


def test_gaps_are_bytes_in_global_memory_and_blocks_in_ub(device: Device) -> None:
    got = arrived(device, [2, 32, 10, 0, 0, 0, 0, 0], elements=32)
    np.testing.assert_array_equal(got, np.concatenate([DATA[:16], DATA[21:37]]))
    got = arrived(device, [2, 32, 0, 1, 0, 0, 0, 0], clean=False, elements=48)
    np.testing.assert_array_equal(got[:16], DATA[:16])
    np.testing.assert_array_equal(got[32:], DATA[16:32])


def test_without_padding_the_filler_is_the_first_element_and_its_use_is_told_apart(device: Device) -> None:
    got = arrived(device, [1, 20, 0, 0, 0, 0, 1, 0], value=7, clean=False, elements=16)
    np.testing.assert_array_equal(got, [*DATA[:10], *[DATA[0]] * 6])
    report = device.report()
    assert report.kinds == {"ub-filler"} and "first element" in report.findings[0].message


def test_padding_takes_the_given_value_on_both_sides(device: Device) -> None:
    got = arrived(device, [1, 20, 0, 0, 2, 4, 1, 0], value=7, elements=16)
    np.testing.assert_array_equal(got, [7, 7, *DATA[:10], 7, 7, 7, 7])


def test_with_padding_the_filler_is_its_value_and_may_be_used(device: Device) -> None:
    got = arrived(device, [1, 20, 0, 0, 0, 1, 1, 0], value=7, elements=16)
    np.testing.assert_array_equal(got, [*DATA[:10], *[7] * 6])


def test_padding_without_a_value_is_poison(device: Device) -> None:
    got = arrived(device, [1, 20, 0, 0, 2, 4, 0, 0], clean=False, elements=16)
    np.testing.assert_array_equal(got, [-1, -1, *DATA[:10], -1, -1, -1, -1])
    assert device.report().kinds == {"ub-uninitialised"}


def test_set_pad_value_fills_when_the_call_gives_none(device: Device) -> None:
    got = arrived(device, [1, 20, 0, 0, 0, 6, 0, 9], elements=16)
    np.testing.assert_array_equal(got, [*DATA[:10], *[9] * 6])


@pytest.mark.parametrize("left,right", [(17, 0), (0, 17)])
def test_more_than_a_block_of_padding_is_a_misuse(device: Device, left: int, right: int) -> None:
    arrived(device, [1, 20, 0, 0, left, right, 1, 0], value=1, clean=False, elements=8)
    assert "api-misuse" in device.report().kinds
