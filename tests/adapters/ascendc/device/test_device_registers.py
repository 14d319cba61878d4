"""What a kernel leaves on its core and reads back: the register of the last extreme, the system workspace, buffers that
no Unified Buffer holds, results of comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device


@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("count", [1, 64, 129, 1000])
def test_the_register_holds_value_and_index_over_all_repeats_of_counter_mode(
    device: Device, dtype: type, count: int, maximum: bool
) -> None:
    x: Array = np.random.default_rng(count).permutation(count).astype(dtype)  # distinct, whatever the type's precision
    y = np.zeros(4, np.uint32)
    half = int(dtype == np.float16)
    assert device.kernels("registers").run_extreme(device.register(x), device.register(y), count, half, maximum, 1) == 0
    assert device.report().findings == []
    at = int(np.argmax(x) if maximum else np.argmin(x))
    bits = np.uint16 if half else np.uint32
    assert y[0] == x[at].view(bits) and y[1] == at and y[2] == at
    assert y[3] == x.max().view(bits)  # ReduceMax leaves its value as well


def test_an_extreme_of_bytes_never_written_is_a_finding_when_the_register_is_read(device: Device) -> None:
    x, y = np.zeros(64, np.float32), np.zeros(4, np.uint32)
    assert device.kernels("registers").run_extreme(device.register(x), device.register(y), 64, 0, 1, 0) == 0
    found = {(f.kind, f.api) for f in device.report().findings}
    assert ("ub-uninitialised", "GetReduceRepeatMaxMinSpr") in found


def test_a_sum_of_bytes_never_written_is_a_finding_when_the_register_is_read(device: Device) -> None:
    x, y = np.ones(64, np.float32), np.zeros(8, np.float32)
    run = device.kernels("registers").run_sum
    assert run(device.register(x), device.register(y), 64) == 0
    assert (y[0], device.report().findings) == (64, [])
    device.reset()
    assert run(device.register(x), device.register(y), 56) == 0
    assert [(f.kind, f.api) for f in device.report().findings] == [("ub-uninitialised", "GetAccVal")]


def test_counter_mode_without_a_number_of_elements_ends_the_launch(device: Device) -> None:
    y = np.zeros(64, np.float32)
    run = device.kernels("registers").run_counter
    assert run(device.register(y), 1) == 0
    assert y.tolist() == [2.0] * 40 + [1.0] * 24
    device.reset()
    assert run(device.register(y), 0) == 1
    assert [(f.kind, f.api) for f in device.report().findings] == [("api-misuse", "SetMaskCount")]


def test_a_system_workspace_is_set_once_per_core_and_the_users_part_lies_16_megabytes_behind(
    device: Device,
) -> None:
    y, workspace = np.zeros(32, np.int64), np.zeros(256, np.uint8)
    assert device.kernels("registers").run_workspace(device.register(y), device.register(workspace), 1) == 0
    assert device.report().findings == []
    assert y.reshape(2, 16)[:, :3].tolist() == [[0, 16 << 20, 64]] * 2


def test_asking_for_the_users_workspace_before_one_is_set_is_misuse(device: Device) -> None:
    y, workspace = np.zeros(32, np.int64), np.zeros(256, np.uint8)
    assert device.kernels("registers").run_workspace(device.register(y), device.register(workspace), 0) == 0
    assert [(f.kind, f.api) for f in device.report().findings] == [("api-misuse", "GetUserWorkspace")]
    assert y[0] == -1


@pytest.mark.parametrize("level", [0, 3])
def test_buffers_beyond_the_unified_buffer_do_no_harm_while_nothing_touches_them(device: Device, level: int) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert device.kernels("registers", level).run_beyond(device.register(x), device.register(y), 0) == 0
    np.testing.assert_array_equal(y, 2 * x)
    assert [f.kind for f in device.report().findings] == ["ub-capacity"] * (3 if level else 0)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("touch,offset", [(1, 197632), (2, 201728), (3, 196480)])
def test_touching_bytes_beyond_the_unified_buffer_ends_the_launch(
    device: Device, touch: int, offset: int, level: int
) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert device.kernels("registers", level).run_beyond(device.register(x), device.register(y), touch) == 1
    error = device.report().error
    assert error is not None and f"256 bytes at UB offset {offset} leaves the 196608-byte Unified Buffer" in error


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("loaded", [40, 97, 100, 102, 130])
def test_comparing_whole_repeats_leaves_the_results_of_loaded_elements_known(
    device: Device, dtype: type, loaded: int
) -> None:
    """Of a comparison that goes beyond what was loaded, only the bits beyond are unknown, one by one."""
    x: Array = np.random.default_rng(loaded).standard_normal(loaded).astype(dtype)
    y: Array = np.zeros(200, dtype)
    run = device.kernels("registers").run_positive
    half = int(dtype == np.float16)
    assert run(device.register(x), device.register(y), loaded, loaded, half) == 0
    assert device.report().findings == []
    np.testing.assert_array_equal(y[:loaded], np.maximum(x, 0))
    device.reset()
    assert run(device.register(x), device.register(y), loaded, loaded + 1, half) == 0
    assert device.report().kinds == {"ub-uninitialised"}
