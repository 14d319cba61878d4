"""Canaries: every kind of finding fires on a mutant, at its line, and stays silent on the original.

A checker that cannot fire is worse than none.
"""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import KERNELS, Array, Device, Report

LENGTH = 64 * 5 + 13
(
    ORIGINAL,
    WRITE_PAST_END,
    READ_PAST_END,
    READ_PADDING,
    SMALL_BUFFER,
    MISALIGNED,
    CAPACITY,
    NO_LOAD,
    NO_FREE,
    NO_ENQUE,
    DOUBLE_FREE,
    LEAK,
    USE_AFTER_FREE,
    UNALIGNED,
    OUTSIDE_UB,
) = range(15)


def marked(mark: str) -> int:
    """Line of canaries.cpp that carries `mutant: <mark>`."""
    lines = (KERNELS / "canaries.cpp").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"mutant: {mark}"))


def source_lines(device_report: Report, kind: str) -> set[int]:
    """Lines of canaries.cpp that the frames of the findings of a kind resolve to, inlined callers included."""
    found: set[int] = set()
    for finding in device_report.findings:
        if finding.kind != kind:
            continue
        for module, offset in finding.frames:
            if "canaries" not in module:
                continue
            shown = subprocess.run(["addr2line", "-i", "-e", module, offset], capture_output=True, text=True).stdout
            for line in shown.splitlines():
                path, _, number = line.partition(" ")[0].rpartition(":")
                if path.endswith("canaries.cpp") and number.isdigit():
                    found.add(int(number))
    return found


def add3(device: Device, mutant: int, level: int = 3, cores: int = 1) -> tuple[int, Array, Array, Report]:
    """Runs add3; returns its status, the output with 64 guard elements behind, the expected sum and the report."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, LENGTH + 64)).astype(np.float32)
    y = np.full(LENGTH + 64, -1, np.float32)
    a, b = a.copy(), b.copy()
    status = device.kernels("canaries", level).run_add3(
        cores,
        device.register(a, LENGTH * 4),
        device.register(b, LENGTH * 4),
        device.register(y, LENGTH * 4),
        LENGTH,
        mutant,
    )
    return status, y, (a + b)[:LENGTH], device.report()


@pytest.mark.parametrize("cores", [1, 3])
def test_the_original_is_right_and_silent(device: Device, cores: int) -> None:
    status, y, want, report = add3(device, ORIGINAL, cores=cores)
    assert status == 0 and report.findings == [] and report.error is None
    np.testing.assert_array_equal(y[:LENGTH], want)
    assert report.written(y) == LENGTH * 4


@pytest.mark.parametrize(
    "mutant,kind,mark,status",
    [
        (WRITE_PAST_END, "gm-out-of-bounds", "store", 0),
        (READ_PAST_END, "gm-out-of-bounds", None, 0),
        (READ_PADDING, "gm-padding", None, 0),
        (SMALL_BUFFER, "ub-out-of-bounds", None, 0),
        (OUTSIDE_UB, "ub-out-of-bounds", "outside", 1),
        (MISALIGNED, "ub-misaligned", "misaligned", 0),
        (CAPACITY, "ub-capacity", "capacity", 0),
        (NO_LOAD, "ub-uninitialised", "store", 0),
        (NO_FREE, "queue-misuse", "no free", 1),
        (NO_ENQUE, "queue-misuse", None, 1),
        (DOUBLE_FREE, "queue-misuse", None, 0),
        (USE_AFTER_FREE, "queue-misuse", "use after free", 0),
        (LEAK, "queue-leak", None, 0),
        (UNALIGNED, "api-misuse", "unaligned", 0),
    ],
)
def test_each_mutant_of_add_is_found(device: Device, mutant: int, kind: str, mark: str | None, status: int) -> None:
    got, _, _, report = add3(device, mutant)
    assert kind in report.kinds
    assert got == status and (report.error is None) == (status == 0)
    if mark is not None:
        assert marked(mark) in source_lines(report, kind)


def test_stores_past_the_end_do_not_reach_host_memory(device: Device) -> None:
    _, y, want, report = add3(device, WRITE_PAST_END)
    assert (y[LENGTH:] == -1).all() and report.written(y) == LENGTH * 4
    np.testing.assert_array_equal(y[:LENGTH], want)


def test_loads_past_the_end_do_not_see_host_memory(device: Device) -> None:
    _, y, want, _ = add3(device, READ_PADDING)
    np.testing.assert_array_equal(y[:LENGTH], want)


def test_a_missing_load_computes_on_poison_not_on_old_data(device: Device) -> None:
    _, y, want, _ = add3(device, NO_LOAD)  # loads only the first tile; the third reuses its buffer
    np.testing.assert_array_equal(y[:64], want[:64])
    assert np.isnan(y[64:LENGTH]).all()


@pytest.mark.parametrize("level,silent", [(0, {UNALIGNED, MISALIGNED, NO_LOAD, LEAK}), (1, {NO_LOAD})])
def test_lower_levels_report_less(device: Device, level: int, silent: set[int]) -> None:
    for mutant in silent:
        device.reset()
        assert add3(device, mutant, level)[3].findings == []
    device.reset()
    assert ("ub-misaligned" in add3(device, MISALIGNED, level)[3].kinds) == (level >= 1)


def test_results_are_the_same_at_every_level_even_of_wrong_kernels(device: Device) -> None:
    for mutant in [ORIGINAL, READ_PADDING, READ_PAST_END, WRITE_PAST_END, SMALL_BUFFER, MISALIGNED, NO_LOAD, UNALIGNED]:
        outputs = []
        for level in range(4):
            device.reset()
            outputs.append(add3(device, mutant, level, cores=2)[1])
        for other in outputs[1:]:
            np.testing.assert_array_equal(outputs[0], other)


@pytest.mark.parametrize("mutant,mark", [(1, "input"), (2, "output"), (3, "reuse")])
def test_a_missing_flag_is_a_hazard_although_the_result_is_right(device: Device, mutant: int, mark: str) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    kernels = device.kernels("canaries")
    assert kernels.run_flags(device.register(x), device.register(y), 0) == 0
    assert device.report().findings == []
    assert kernels.run_flags(device.register(x), device.register(y), mutant) == 0
    report = device.report()
    np.testing.assert_array_equal(y, 2 * x)
    assert report.kinds == {"pipe-hazard"} and marked(mark) in source_lines(report, "pipe-hazard")


def test_hazards_need_level_three(device: Device) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    device.kernels("canaries", 2).run_flags(device.register(x), device.register(y), 1)
    assert device.report().findings == []


def test_waiting_for_a_flag_nobody_sets_is_a_deadlock(device: Device) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    assert device.kernels("canaries").run_flags(device.register(x), device.register(y), 4) == 1
    report = device.report()
    assert report.kinds == {"deadlock"} and marked("wait") in source_lines(report, "deadlock")
    assert report.error is not None and report.error.startswith("opmend-device: ")


def test_a_flag_left_set_is_a_misuse(device: Device) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    device.kernels("canaries").run_flags(device.register(x), device.register(y), 5)
    assert device.report().kinds == {"api-misuse"}


def test_bound_queues_scalar_accesses_and_fetched_flags_order(device: Device) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    assert device.kernels("canaries").run_ordered(device.register(x), device.register(y)) == 0
    assert device.report().findings == []
    np.testing.assert_array_equal(y[64:], x[64:])
    np.testing.assert_array_equal(y[:5], [2, 2, 2, 3, 2])


def totals(device: Device, mutant: int, cores: int = 40, reverse: bool = False) -> tuple[int, Array, Report]:
    sums, y = np.zeros(64, np.float32), np.zeros(cores * 16, np.float32)
    device.runtime.opmend_set_core_order(int(reverse))
    status = device.kernels("canaries").run_totals(cores, device.register(sums), device.register(y), mutant)
    return status, y, device.report()


@pytest.mark.parametrize("reverse", [False, True])
def test_sync_all_joins_forty_cores_in_any_order(device: Device, reverse: bool) -> None:
    status, y, report = totals(device, 0, reverse=reverse)
    assert status == 0 and report.findings == []
    assert (y[::16] == sum(range(40))).all() and report.written(y) == 40 * 4


def test_a_core_that_skips_sync_all_is_a_named_deadlock(device: Device) -> None:
    status, _, report = totals(device, 1)
    assert status == 1 and "deadlock" in report.kinds
    assert report.error is not None and "39 cores wait in SyncAll" in report.error and "core 3" in report.error


def test_the_device_works_after_an_aborted_launch(device: Device) -> None:
    totals(device, 1)
    device.reset()
    status, y, report = totals(device, 0)
    assert status == 0 and report.findings == [] and (y[::16] == sum(range(40))).all()


def test_reading_what_another_core_writes_needs_sync_all(device: Device) -> None:
    assert "gm-race" in totals(device, 2)[2].kinds


def test_scalar_stores_of_two_cores_in_one_line_are_cross_granule(device: Device) -> None:
    assert totals(device, 3)[2].kinds == {"cross-granule"}


def test_two_cores_storing_different_values_race_but_equal_values_do_not(device: Device) -> None:
    y = np.zeros(64, np.float32)
    kernels = device.kernels("canaries")
    kernels.run_race(2, device.register(y), 1)
    assert device.report().findings == []
    kernels.run_race(2, device.register(y), 0)
    assert device.report().kinds == {"gm-race"}


def test_overwriting_what_several_cores_read_is_a_race(device: Device) -> None:
    x, y = np.ones(64, np.float32), np.zeros(3 * 64, np.float32)
    kernels = device.kernels("canaries")
    kernels.run_overwrite(1, device.register(x), device.register(y))
    assert device.report().findings == []
    device.reset()
    x[:] = 1  # storing what is there already would be no race
    kernels.run_overwrite(3, device.register(x), device.register(y))
    assert device.report().kinds == {"gm-race"}


def test_unregistered_memory_is_a_finding_only_when_something_is_registered(device: Device) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    kernels = device.kernels("canaries")
    kernels.run_flags(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data), 0)
    assert device.report().findings == [] and y[1] == 2
    y[:] = 0
    kernels.run_flags(device.register(x), ctypes.c_void_p(y.ctypes.data), 0)
    assert device.report().kinds == {"gm-out-of-bounds"} and not y.any()


def test_findings_of_one_place_are_one_finding_with_a_count(device: Device) -> None:
    _, _, _, report = add3(device, MISALIGNED)
    found = [f for f in report.findings if f.kind == "ub-misaligned"]
    assert len(found) == 1 and found[0].count == 6


@pytest.mark.parametrize(
    "call,name",
    [
        ("void k() { LocalTensor<int8_t> a; LoadDataWithSparse(a, a, a, 1); }", "LoadDataWithSparse"),
        ("void k() { LocalTensor<float> a; SoftmaxFlash<float, true, false>(a, a, a); }", "SoftmaxFlash"),
        ("void k() { IBSet<true>(1); }", "IBSet"),
        ("void k() { LocalTensor<half> a; RpSort16(a, a, 1); }", "RpSort16"),
        ("void k() { TQue<TPosition::CO2, 1> q; }", "TQue"),
    ],
)
def test_what_is_not_modelled_does_not_compile_and_says_so(device: Device, call: str, name: str) -> None:
    assert f"unsupported: {name}" in device.compile_error(call)
