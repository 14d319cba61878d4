"""Names below the documented API (vadd and relatives, address registers, AscendCUtils) against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

SCALAR = 3


def run(device: Device, name: str, a: Array, y: Array, b: Array | None = None, *, p: list[int]) -> Array:
    return run_operation(device, name, a, y, b, p=p, scalar=SCALAR, library="bare_names")


EITHER: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vmul": lambda a, b: a * b,
    "vmax": np.maximum,
    "vmin": np.minimum,
    "vadds": lambda a, b: a + a.dtype.type(SCALAR),
    "vmuls": lambda a, b: a * a.dtype.type(SCALAR),
    "vmaxs": lambda a, b: np.maximum(a, a.dtype.type(SCALAR)),
    "vmins": lambda a, b: np.minimum(a, a.dtype.type(SCALAR)),
    "vrelu": lambda a, b: np.maximum(a, 0),
    "vector_dup": lambda a, b: np.full_like(a, SCALAR),
}
FLOAT: dict[str, Callable[[Array, Array], Array]] = {
    "vdiv": lambda a, b: a / b,
    "vabs": lambda a, b: np.abs(a),
    "vexp": lambda a, b: np.exp(a),
    "vln": lambda a, b: np.log(a),
    "vrec": lambda a, b: 1 / a,
    "vrsqrt": lambda a, b: 1 / np.sqrt(a),
    "vsqrt": lambda a, b: np.sqrt(a),
}
INTEGER: dict[str, Callable[[Array, Array], Array]] = {
    "vor": lambda a, b: a | b,
    "vand": lambda a, b: a & b,
    "vnot": lambda a, b: ~a,
}


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
@pytest.mark.parametrize(("length", "block", "repeat"), [(17, 1, 8), (64, 2, 16), (50, 1, 16)])
def test_bare_vector_names_take_masks_and_strides(
    device: Device, dtype: type, length: int, block: int, repeat: int
) -> None:
    rng = np.random.default_rng(length)
    lanes, per_block = 256 // np.dtype(dtype).itemsize, 32 // np.dtype(dtype).itemsize
    a: Array
    b: Array
    a, b = (
        rng.uniform(0.5, 4, 3 * lanes).astype(dtype)
        if dtype is np.float32
        else rng.integers(-30000, 30000, 3 * lanes).astype(dtype)
        for _ in range(2)
    )
    y: Array = rng.integers(-9, 9, 64 * per_block).astype(dtype)
    element = np.arange(lanes)
    at = np.arange(3)[:, None] * repeat * per_block + element // per_block * block * per_block + element % per_block
    for name, model in (EITHER | (FLOAT if dtype is np.float32 else INTEGER)).items():
        want = y.copy()
        result: Array = np.asarray(model(a, b), dtype).reshape(3, lanes)
        want[at[:, :length]] = result[:, :length]
        got = run(device, name, a, y, b, p=[length, 3, block, repeat])
        np.testing.assert_allclose(got, want, rtol=3e-7 if name in FLOAT else 0, err_msg=name)


def test_a_mask_of_a_whole_repeat_of_halves_reaches_all_lanes(device: Device) -> None:
    a = np.arange(128, dtype=np.int16)
    got = run(device, "vadds", a, np.zeros(128, np.int16), p=[128, 1, 1, 8])
    np.testing.assert_array_equal(got, a + SCALAR)


@pytest.mark.parametrize(("dtype", "apart"), [(np.int16, 1), (np.int16, 3), (np.float32, 2)])
@pytest.mark.parametrize("repeats", [1, 2])
def test_scatter_makes_columns_of_the_blocks_in_address_registers(
    device: Device, dtype: type, apart: int, repeats: int
) -> None:
    width = 32 // np.dtype(dtype).itemsize
    a: Array = np.random.default_rng(3).integers(-999, 999, 16 * 3 * width + width).astype(dtype)
    y: Array = np.zeros(16 * 4 * width + 4 * width, dtype)
    want = y.copy().reshape(-1, width)
    rows = a.reshape(-1, width)
    halves = 16 // width
    for repeat in range(repeats):
        block = rows[np.arange(16) * 3 + repeat]
        for column in range(width):
            for half in range(halves):
                values = block[half * width : (half + 1) * width, column]
                want[(column * halves + half) * apart + repeat * halves] = values
    for name in ("scatter", "pointers"):
        got = run(device, name, a, y, p=[repeats, 0, 3, apart])
        np.testing.assert_array_equal(got.reshape(-1, width), want, err_msg=name)


def test_vtranspose_exchanges_rows_and_columns(device: Device) -> None:
    a = np.arange(256, dtype=np.int16)
    got = run(device, "vtranspose", a, np.zeros(256, np.int16), p=[])
    np.testing.assert_array_equal(got.reshape(16, 16), a.reshape(16, 16).T)


def test_the_saturating_overflow_mode_is_refused(device: Device) -> None:
    x = np.zeros(16, np.float32)
    run(device, "SetOverflow", x, x, p=[1])
    with pytest.raises(AssertionError, match=r"unsupported: SetOverflow \(saturated mode\)"):
        run(device, "SetOverflow", x, x, p=[0])
