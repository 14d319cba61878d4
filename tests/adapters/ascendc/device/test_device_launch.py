"""What the report says of a launch: grid, arguments, what it wrote; ghost replay and the registry of tensors."""

from __future__ import annotations

import ctypes

import numpy as np

from tests.adapters.ascendc.device.harness import Device


def test_a_launch_records_its_grid_and_arguments(device: Device) -> None:
    sums, y = np.zeros(64, np.float32), np.zeros(4 * 16, np.float32)
    device.kernels("canaries").run_totals(4, device.register(sums), device.register(y), 0)
    (launch,) = device.report().launches
    assert launch["kernel"] == "totals" and launch["block_dim"] == 4 and launch["task_type"] == "AIV_ONLY"
    assert launch["file"].endswith("canaries.cpp") and launch["line"] > 0 and launch["micros"] >= 0
    assert launch["args"] == [hex(sums.ctypes.data), hex(y.ctypes.data), 0]
    assert {w["base"]: (w["nbytes"], w["written"]) for w in launch["writes"]} == {
        hex(sums.ctypes.data): (256, 256),
        hex(y.ctypes.data): (256, 16),
    }


def test_a_mixed_grid_has_two_vector_cores_per_block(device: Device) -> None:
    y = np.zeros(6 * 16, np.int32)
    device.kernels("canaries").run_grid12(3, device.register(y))
    report = device.report()
    assert y[::16].tolist() == [2, 12, 102, 112, 202, 212]
    assert report.launches[0]["task_type"] == "MIX_AIC_1_2" and report.findings == []


def test_ghost_replay_records_launches_and_runs_nothing(device: Device) -> None:
    sums, y = np.zeros(64, np.float32), np.zeros(4 * 16, np.float32)
    device.runtime.opmend_set_noop(1)
    device.kernels("canaries").run_totals(4, device.register(sums), device.register(y), 0)
    report = device.report()
    assert not sums.any() and not y.any() and len(report.launches) == 1 and report.written(y) == 0


def test_a_grid_without_cores_is_an_error(device: Device) -> None:
    y = np.zeros(64, np.float32)
    assert device.kernels("canaries").run_race(0, device.register(y), 0) == 1
    error = device.report().error
    assert error is not None and "block_dim 0" in error


def test_registering_again_replaces_the_extent_and_what_it_overlaps(device: Device) -> None:
    memory = np.zeros(192, np.float32)
    register = device.runtime.opmend_gm_register
    register(memory.ctypes.data, 256)
    register(memory.ctypes.data, 256)
    register(memory.ctypes.data + 512, 256)
    register(memory.ctypes.data + 128, 512)  # the allocator gave the memory out anew
    run = device.kernels("canaries").run_race
    run(1, ctypes.c_void_p(memory.ctypes.data + 128), 1)
    assert device.report().findings == []
    run(1, ctypes.c_void_p(memory.ctypes.data), 1)
    assert device.report().kinds == {"gm-out-of-bounds"}


def test_reset_forgets_launches_findings_and_errors(device: Device) -> None:
    y = np.zeros(64, np.float32)
    device.kernels("canaries").run_race(0, device.register(y), 0)
    device.reset()
    report = device.report()
    assert report.launches == [] and report.findings == [] and report.error is None
