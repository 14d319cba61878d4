"""Queues that are given a tensor of another queue: reported, and the tensor's own buffer is free, as on the device."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Device


@pytest.mark.parametrize("swapped", [0, 1])
def test_a_tensor_given_back_to_the_wrong_queue_is_reported_and_free(device: Device, swapped: int) -> None:
    x = np.arange(3 * 64, dtype=np.float32)
    y = np.zeros_like(x)
    failed = device.kernels("swapped_queues").run_twice(device.register(x), device.register(y), 3, swapped)
    report = device.report()
    assert failed == 0, report.error
    np.testing.assert_array_equal(y, x + x)
    assert report.kinds == ({"queue-misuse"} if swapped else set())
