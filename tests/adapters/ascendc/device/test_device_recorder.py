"""The flight recorder: what every instruction left, at the user's line, core and iteration; bounded; off by default."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adapters.ascendc.cpu.recording import Recording, read_recording
from adapters.ascendc.cpu.symbolise import Location
from tests.adapters.ascendc.device.harness import KERNELS, Array, Device

TILES, TILE = 4, 64


class Lines:
    """Places of the test's kernels, as the toolchain's `Symboliser` finds those of a candidate."""

    def locate_all(self, stacks: list[list[list[str]]], /) -> list[Location | None]:
        return [next((place for frame in stack if (place := self._line(frame))), None) for stack in stacks]

    def _line(self, frame: list[str]) -> Location | None:
        module, offset = frame
        if "recorder" not in module:
            return None
        said = subprocess.run(["addr2line", "-i", "-e", module, offset], capture_output=True, text=True).stdout
        for line in said.splitlines():
            path, _, number = line.partition(" ")[0].rpartition(":")
            if path.endswith("recorder.cpp") and number.isdigit():
                return Location("recorder.cpp", int(number), "")
        return None


def line_of(mark: str) -> int:
    lines = (KERNELS / "recorder.cpp").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"record: {mark}"))


@pytest.fixture
def recorder(device: Device) -> Iterator[Any]:
    """Switches the recorder on, and off again when the test ends."""
    switch = device.runtime.opmend_set_recorder
    switch.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    device.runtime.opmend_records_json.restype = ctypes.c_char_p
    yield switch
    switch(0, 0)


def recording(device: Device) -> Recording:
    raw = json.loads(device.runtime.opmend_records_json())
    return read_recording(raw, device.report().launches, Lines())


def power(device: Device, x: Array, scale: float = 0.5, blocks: int = 2, level: int = 3) -> Array:
    y = np.zeros_like(x)
    run = device.kernels("recorder", level).run_power
    run.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
    assert run(blocks, device.register(x), device.register(y), scale) == 0
    return y


@pytest.fixture
def x() -> Array:
    values: Array = np.random.default_rng(3).uniform(1, 4, 2 * TILES * TILE).astype(np.float32)
    return values


@pytest.mark.parametrize("level", [0, 3])
def test_a_nan_made_in_the_middle_is_located_by_line_core_and_iteration(
    device: Device, recorder: Any, x: Array, level: int
) -> None:
    x[(TILES + 2) * TILE + 5] = -1.0  # the third tile of core 1
    recorder(8, 1000)
    y = power(device, x, level=level)
    assert np.isnan(y).sum() == 1
    found = recording(device).first_not_finite
    assert found is not None
    assert (found.api, found.file, found.line) == ("Ln", "recorder.cpp", line_of("ln"))
    assert (found.core, found.iteration, found.nans, found.count) == (1, 3, 1, TILE)


def test_statistics_are_those_of_the_values(device: Device, recorder: Any, x: Array) -> None:
    recorder(8, 1000)
    power(device, x)
    rows = recording(device).rows
    assert [row.order for row in rows] == list(range(2 * TILES * 4))
    assert [row.api for row in rows[:4]] == ["DataCopy", "Ln", "Muls", "Exp"]
    loads = [row for row in rows if row.line == line_of("load")]
    assert [(row.core, row.iteration) for row in loads] == [(c, i) for c in (0, 1) for i in (1, 2, 3, 4)]
    for tile, row in zip(x.reshape(-1, TILE), loads, strict=True):
        assert (row.dtype, row.count, row.nans, row.infinities) == ("float32", TILE, 0, 0)
        assert (row.least, row.most, *row.first) == pytest.approx((tile.min(), tile.max(), *tile[:4]), rel=1e-6)
        assert row.mean == pytest.approx(float(tile.astype(np.float64).mean()), rel=1e-6)


def test_the_first_instruction_that_differs_is_named(device: Device, recorder: Any, x: Array) -> None:
    recorder(8, 1000)
    power(device, x, 0.5)
    right = recording(device)
    device.reset()
    power(device, x, 0.25)
    wrong = recording(device)
    difference = wrong.first_difference(right)
    assert difference is not None
    assert [row.line if row else None for row in difference] == [line_of("scale")] * 2
    assert wrong.first_difference(wrong) is None


def test_infinities_are_counted_apart(device: Device, recorder: Any, x: Array) -> None:
    x[3] = 0.0
    recorder(8, 1000)
    power(device, x, -1.0)
    found = recording(device).first_not_finite
    assert found is not None and (found.api, found.nans, found.infinities) == ("Ln", 0, 1)
    assert found.first[3] == -math.inf and found.least is not None and found.least >= 0


def test_what_is_kept_is_bounded_and_a_late_nan_is_kept_all_the_same(device: Device, recorder: Any, x: Array) -> None:
    x[(TILES + 2) * TILE] = -1.0
    recorder(1, 1000)
    power(device, x)
    kept = recording(device)
    ln = [(row.core, row.iteration) for row in kept.rows if row.line == line_of("ln")]
    assert ln == [(0, 1), (1, 1), (1, 3)]
    assert kept.dropped == 2 * TILES * 4 - len(kept.rows) and len(kept.rows) == 2 * 4 + 3
    device.reset()
    recorder(8, 3)
    power(device, np.abs(x))
    assert len(recording(device).rows) == 3 and recording(device).dropped == 2 * TILES * 4 - 3


def test_strides_masks_types_and_work_tensors_are_read_right(device: Device, recorder: Any) -> None:
    x = np.arange(128, dtype=np.float32)
    recorder(8, 1000)
    assert device.kernels("recorder").run_shapes(device.register(x)) == 0
    rows = {row.line: row for row in recording(device).rows}
    strided, narrow = rows[line_of("strided")], rows[line_of("narrow")]
    assert (strided.count, strided.least, strided.most) == (128, 0.5, 127.5)
    assert (narrow.dtype, narrow.count, narrow.most) == ("float16", 128, 127.0)
    assert rows[line_of("scattered")].most == 63 * 3.0
    assert rows[line_of("reduce")].first[0] == 127.0
    assert rows[line_of("freed")].mean == 2.0
    assert all(row.finite for row in recording(device).rows)


def test_switched_off_nothing_is_kept(device: Device, recorder: Any, x: Array) -> None:
    power(device, x)
    assert recording(device).rows == () and recording(device).dropped == 0


def test_results_are_the_same_with_the_recorder_on(device: Device, recorder: Any, x: Array) -> None:
    x[7] = -2.0
    off = power(device, x).tobytes()
    recorder(8, 1000)
    device.reset()
    assert power(device, x).tobytes() == off
