"""What a kernel computes depends on nothing but its inputs: not on the check level, not on the order of the cores.

One or more kernels of every family, right and wrong ones. Findings may depend on the level (that is what it is for)
but not on the order. The number of workers is in direct/test_independence.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation
from tests.adapters.ascendc.device.test_device_cube import Shape

Subject = Callable[[Device, int], Array]
ALL, ENDS = (0, 1, 2, 3), (0, 3)
RNG = np.random.default_rng(11)
F32 = RNG.standard_normal(512).astype(np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.4e38, -1.5] * 16, np.float32)


def operation(
    name: str, a: Array, y: Array, b: Array | None = None, *, library: str = "operations", **more: object
) -> Subject:
    def run(device: Device, level: int) -> Array:
        return run_operation(device, name, a, y, b, level=level, clean=False, library=library, **more)  # type: ignore[arg-type]

    return run


def count(n: int) -> list[int]:
    return [1, 1, 1, 8, 8, 8, 1, 0, 0, 0, n]


def strided(n: int) -> list[int]:
    """Two repeats with lanes picked by bits, block stride 2."""
    return [2, 1, 1, 16, 8, 8, 2, 2, 0x0F0F_1234_5678_9ABC, 0, n]


def add3(mutant: int, cores: int) -> Subject:
    def run(device: Device, level: int) -> Array:
        length = 64 * 5 + 13
        a, b = (np.random.default_rng(seed).standard_normal(length + 64).astype(np.float32) for seed in (1, 2))
        y = np.full(length + 64, -1, np.float32)
        given = (device.register(x, length * 4) for x in (a, b, y))
        device.kernels("canaries", level).run_add3(cores, *given, length, mutant)
        return y

    return run


def totals(device: Device, level: int) -> Array:
    """SyncAll of 40 cores between atomic additions and scalar stores."""
    sums, y = np.zeros(64, np.float32), np.zeros(40 * 16, np.float32)
    assert device.kernels("canaries", level).run_totals(40, device.register(sums), device.register(y), 0) == 0
    return np.concatenate([sums, y])


def multiply(device: Device, level: int) -> Array:
    a, b = (RNG_CUBE[i] for i in (0, 1))
    bias, out = np.linspace(-1, 1, 64).astype(np.float32), np.zeros((48, 64), ml_dtypes.bfloat16)
    shape = Shape(m=48, n=64, k=96, bias=1, relu=1, quant=2)
    given = (device.register(x) for x in (a, b, bias, out))
    assert device.kernels("cube", level).run_multiply(b"bf16>bf16", *given, ctypes.byref(shape)) == 0
    return out.view(np.uint16)


RNG_CUBE = [
    np.random.default_rng(i).standard_normal(s).astype(ml_dtypes.bfloat16) for i, s in ((1, (48, 96)), (2, (96, 64)))
]


def mixed(device: Device, level: int) -> Array:
    """A cube core and two vector cores of a block that wait for each other's flags."""
    x, y = np.arange(128, dtype=np.float32), np.zeros((3, 128), np.float32)
    assert device.kernels("cube", level).run_cross(device.register(x), device.register(y), 0) == 0
    return y


def sorting(device: Device, level: int) -> Array:
    scores, indices = F32[:128].copy(), np.arange(128, dtype=np.uint32)
    values, order = np.zeros(128, np.float32), np.zeros(128, np.uint32)
    given = (device.register(x) for x in (scores, indices, values, order))
    assert device.kernels("cube", level).run_sort(0, *given, 128, 1) == 0
    return np.concatenate([values.view(np.uint32), order])


HALF = F32.astype(np.float16)
SUBJECTS: dict[str, tuple[tuple[int, ...], Subject]] = {
    "add of three cores with a tail": (ALL, add3(0, 3)),
    "add that reads what it never loaded": (ALL, add3(7, 3)),
    "add of misaligned operands": (ALL, add3(5, 2)),
    "add that stores past the end": (ALL, add3(1, 1)),
    "SyncAll, atomics, scalar stores": (ALL, totals),
    "cube: bfloat16 with bias": (ALL, multiply),
    "MIX: cube and vector cores with flags": (ALL, mixed),
    "sort": (ALL, sorting),
    "vector, whole": (ENDS, operation("Div", SPECIAL, np.zeros_like(SPECIAL), SPECIAL[::-1].copy(), p=count(120))),
    "vector, strides and masks": (ENDS, operation("Add", F32[:256], F32.copy(), F32[256:].copy(), p=strided(0))),
    "16-bit floats": (ENDS, operation("Exp", HALF, np.zeros_like(HALF), p=count(500))),
    "casts": (ENDS, operation("f32>f16", F32, np.zeros(512, np.float16), p=[1] + [0] * 9 + [512])),
    "gather": (
        ENDS,
        operation("Gather", F32, np.zeros(77, np.float32), np.arange(77, dtype=np.uint32) * 8, p=[0] * 10 + [77]),
    ),
    "softmax": (
        ENDS,
        operation("SoftMax", F32[:320], np.zeros(320, np.float32), library="families", p=[5, 64, 50]),
    ),
    "transpose": (ENDS, operation("Transpose", HALF[:256], np.zeros(256, np.float16), library="families", p=[])),
}


def outcome(device: Device, subject: Subject, level: int, reverse: int) -> tuple[bytes, list[tuple[str, str]]]:
    device.reset()
    device.runtime.opmend_set_core_order(reverse)
    written = subject(device, level).tobytes()
    return written, sorted({(f.kind, f.api) for f in device.report().findings})


@pytest.mark.parametrize("name", SUBJECTS)
def test_results_depend_neither_on_the_level_nor_on_the_order_of_cores(device: Device, name: str) -> None:
    levels, subject = SUBJECTS[name]
    written = set()
    for level in levels:
        forward, backward = (outcome(device, subject, level, reverse) for reverse in (0, 1))
        assert forward == backward, f"level {level}"
        assert level > 0 or not forward[1]
        written.add(forward[0])
    assert len(written) == 1


@pytest.mark.parametrize("reverse", [0, 1])
def test_a_race_is_found_whichever_core_comes_first(device: Device, reverse: int) -> None:
    device.runtime.opmend_set_core_order(reverse)
    y = np.zeros(64, np.float32)
    device.kernels("canaries").run_race(2, device.register(y), 0)
    assert device.report().kinds == {"gm-race"}
