"""What the property tests found in the device, one plain example each."""

from __future__ import annotations

import numpy as np

from tests.adapters.ascendc.device.harness import Array, Device
from tests.adapters.ascendc.device.property import (
    COUNT,
    COUNTER_BITS,
    F32,
    I16,
    I32,
    IMAGE,
    MASK_BITS,
    OUTER_COUNTER,
    Call,
    Example,
    code,
    run,
)

RINT, CEIL = 1, 3


def image_of(values: Array) -> Array:
    """The values from byte 8192 on, zeros elsewhere."""
    image = np.zeros(IMAGE, np.uint8)
    image[8192 : 8192 + values.nbytes] = values.view(np.uint8)
    return image


def contiguous(op: int, dtype: np.dtype, source: np.dtype | None = None, **more: object) -> Call:
    call = Call(op=op, dtype=code(dtype), other=code(source or dtype), bytes=IMAGE, at=(0, 8192, 0, 0))
    call.blk[:], call.rep[:] = (1, 1, 1), (8, 8, 8)
    for name, value in more.items():
        setattr(call, name, value)
    return call


def cast(device: Device, values: Array, dtype: np.dtype, mode: int) -> list[float]:
    call = contiguous(0, dtype, values.dtype, form=COUNT, count=len(values))
    call.p[0] = mode
    after = run(device, "property_vector", "property_conversion", Example(call, image_of(values)))
    found: list[float] = after.view(dtype)[: len(values)].tolist()
    return found


def test_narrowing_between_integers_saturates(device: Device) -> None:
    # Vendor's page "precision_conversion": 2^31 - 1 -> 2^15 - 1, and 2^31 -> 2^31 - 1.
    wide = np.array([2**31 - 1, -(2**31), 40000, -5], np.int32)
    assert cast(device, wide, I16, 0) == [32767, -32768, 32767, -5]
    wider = np.array([2**31, -(2**40), 7], np.int64)
    assert cast(device, wider, I32, 0) == [2**31 - 1, -(2**31), 7]


def test_int64_goes_to_float_in_one_rounding(device: Device) -> None:
    # Just above a tie: through double it would become the tie, and round down to even.
    tie = (1 << 60) + (1 << 36)
    above = 2.0**60 + 2.0**37
    assert cast(device, np.array([tie, tie + 1, -(tie + 1)], np.int64), F32, RINT) == [2.0**60, above, -above]
    assert cast(device, np.array([tie + 1, -(tie + 1)], np.int64), F32, CEIL) == [above, -(2.0**60)]


def test_in_counter_mode_the_mask_of_a_call_counts_elements(device: Device) -> None:
    call = contiguous(40, F32, form=COUNTER_BITS, count=70, repeat=1, scalar=1.0, bits=(70, 0))
    after = run(device, "property_vector", "property_element_wise", Example(call, image_of(np.zeros(256, np.float32))))
    assert after.view(np.float32)[:128].tolist() == [1.0] * 70 + [0.0] * 58


def test_in_counter_mode_reductions_take_as_many_repeats_as_the_elements_need(device: Device) -> None:
    call = contiguous(0, F32, form=OUTER_COUNTER, count=70, repeat=1, rep=(1, 8, 8))
    after = run(device, "property_tensors", "property_reduction", Example(call, image_of(np.ones(256, np.float32))))
    assert after.view(np.float32)[:3].tolist() == [64.0, 6.0, 0.0]


def test_a_rounded_shift_adds_the_last_bit_it_loses(device: Device) -> None:
    call = contiguous(48, I16, form=MASK_BITS, repeat=1, scalar=5.0, bits=(0b111, 0))
    values = np.array([17, 15, -17], np.int16)
    after = run(device, "property_vector", "property_element_wise", Example(call, image_of(values)))
    assert after.view(np.int16)[:3].tolist() == [1, 0, -1]


def test_a_block_stride_of_0_means_1_for_brcb(device: Device) -> None:
    call = contiguous(2, F32, repeat=1, blk=(0, 1, 1))
    image = image_of(np.arange(8, dtype=np.float32))
    after = run(device, "property_tensors", "property_rearrangement", Example(call, image))
    assert after.view(np.float32)[:64:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
