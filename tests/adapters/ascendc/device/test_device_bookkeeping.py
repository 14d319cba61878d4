"""What the runtime keeps in short form must be as exact as the long form: written bytes, and where a leak came from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Device


@pytest.mark.parametrize("count", [1, 3000, 9000])
def test_scattered_stores_are_counted_byte_by_byte(device: Device, count: int) -> None:
    y = np.full(2 * 9000, -1, np.int32)
    assert device.kernels("paths").run_scatter(device.register(y), count) == 0
    report = device.report()
    assert report.findings == [] and report.written(y) == 4 * count
    assert np.array_equal(y[: 2 * count : 2], np.arange(count)) and (y[1::2] == -1).all()


def test_leaks_of_two_call_sites_stay_two_findings_however_many_cores_take_each(device: Device) -> None:
    assert device.kernels("paths").run_leak_on_two_paths(6) == 0
    findings = device.report().findings
    assert [(f.kind, f.count, f.core) for f in findings] == [("queue-leak", 3, 0), ("queue-leak", 3, 1)]
    first, second = (set(f.frames) for f in findings)
    assert first - second and second - first
