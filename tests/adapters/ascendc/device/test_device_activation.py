"""The softmax family and PopStackBuffer against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device, run_operation

FLOATS = [np.float32, np.float16]
ROWS, PITCH = 5, 64


def run(device: Device, name: str, a: Array, y: Array, b: Array | None = None, *, p: list[int]) -> Array:
    return run_operation(device, name, a, y, b, p=p, library="activation")


def normal(dtype: type, count: int, seed: int) -> Array:
    return (np.random.default_rng(seed).standard_normal(count) * 2).astype(np.float32).astype(dtype)


def close(got: Array, want: Array, dtype: type, *, half: float = 2e-3, single: float = 3e-6) -> None:
    bound = half if dtype == np.float16 else single
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=bound, atol=bound / 2)


def flash(x: Array, in_sum: Array, in_max: Array, *, update: bool, divide: bool) -> tuple[Array, Array, Array, Array]:
    """The vendor's own account of the two versions: result, sum, maximum, expMax."""
    top = np.maximum(x.max(1, keepdims=True), in_max) if update else x.max(1, keepdims=True)
    result = np.exp(x - top)
    scale = np.exp(in_max - top)
    total = result.sum(1, keepdims=True) + (scale * in_sum if update else 0)
    if divide:
        return result / total, total, top, scale * in_sum / total
    return result, total, top, scale


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("name", ["SoftmaxFlash", "SoftmaxFlashV2"])
def test_flash_softmax_continues_from_the_call_before(device: Device, dtype: type, update: bool, name: str) -> None:
    columns = 50
    a = normal(dtype, ROWS * PITCH, 31)
    in_sum, in_max = np.full((ROWS, 8), 3.5, np.float32), np.tile(np.linspace(-4, 9, ROWS)[:, None], (1, 8))
    before = np.concatenate([in_sum, in_max.astype(np.float32)]).ravel()
    size = np.dtype(dtype).itemsize
    raw = run(
        device, name, a, np.zeros(ROWS * (PITCH * size + 96) // size, dtype), before, p=[ROWS, PITCH, columns, update]
    )
    got = raw[: ROWS * PITCH].reshape(ROWS, PITCH)
    sides = raw[ROWS * PITCH :].view(np.uint8)
    sums, maxima = sides[: ROWS * 64].view(np.float32).reshape(2, ROWS, 8)
    exp_max: Array = sides[ROWS * 64 :].view(dtype).reshape(ROWS, -1)
    x = a.reshape(ROWS, PITCH)[:, :columns].astype(np.float64)
    want = flash(x, in_sum[:, :1], in_max[:, :1], update=update, divide=name == "SoftmaxFlash")
    close(got[:, :columns], want[0], dtype)
    assert not got[:, columns:].any()
    np.testing.assert_allclose(sums, np.broadcast_to(want[1], sums.shape), rtol=3e-6)
    np.testing.assert_allclose(maxima, np.broadcast_to(want[2], maxima.shape), rtol=1e-6)
    shown = np.broadcast_to(want[3], exp_max.shape) if update else np.zeros_like(exp_max)
    close(exp_max, shown, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_gradients(device: Device, dtype: type) -> None:
    columns, side = 60, 32 // np.dtype(dtype).itemsize
    a, b = normal(dtype, ROWS * PITCH, 32), normal(dtype, ROWS * PITCH, 33)
    x, y = (v.reshape(ROWS, PITCH)[:, :columns].astype(np.float64) for v in (a, b))
    sums = (x * y).sum(1, keepdims=True)
    got = run(device, "SoftmaxGrad", a, np.zeros_like(a), b, p=[ROWS, PITCH, columns, 0]).reshape(ROWS, PITCH)
    close(got[:, :columns], (x - sums) * y, dtype, half=2e-2, single=4e-5)
    for name in ("SoftmaxGrad", "SoftmaxGradFront"):
        front = run(device, name, a, np.zeros(ROWS * side, dtype), b, p=[ROWS, PITCH, columns, 1]).reshape(ROWS, side)
        close(front, np.broadcast_to(sums, front.shape), dtype, half=2e-2, single=4e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_log_softmax_is_to_base_ten(device: Device, dtype: type) -> None:
    a, side = normal(dtype, ROWS * PITCH, 34), 32 // np.dtype(dtype).itemsize
    got = run(device, "LogSoftMax", a, np.zeros(ROWS * (PITCH + 2 * side), dtype), p=[ROWS, PITCH, PITCH])
    x = a.reshape(ROWS, PITCH).astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    want = np.log10(e / e.sum(1, keepdims=True))
    np.testing.assert_allclose(
        got[: ROWS * PITCH].reshape(ROWS, PITCH), want, rtol=4e-3 if dtype == np.float16 else 1e-5
    )


def test_rows_with_the_named_maximum_are_replaced(device: Device) -> None:
    y = normal(np.float32, ROWS * PITCH, 35)
    maxima = np.zeros((ROWS, 8), np.float32)
    maxima[[1, 4]] = np.array(0xFF7FFFFF, np.uint32).view(np.float32)
    got = run(device, "AdjustSoftMaxRes", y, y, maxima.ravel(), p=[ROWS, PITCH, 40]).reshape(ROWS, PITCH)
    want = y.reshape(ROWS, PITCH).copy()
    want[[1, 4], :40] = 0.5
    np.testing.assert_array_equal(got, want)


def test_the_rest_of_a_memory_is_one_temporary_tensor(device: Device) -> None:
    y = np.zeros(16 * 40, np.int16)
    kernels = device.kernels("activation")
    assert kernels.run_stack(device.register(y), 40, 64 * 1024) == 0
    assert device.report().findings == []
    assert y[0] == 128 * 1024 // 32 and (y[1:] == 7).all()
    nothing = np.zeros(16, np.int16)
    assert kernels.run_stack(device.register(nothing), 1, 192 * 1024) == 0
    assert not nothing.any()


def test_using_more_than_the_rest_is_found(device: Device) -> None:
    y = np.zeros(16 * 40, np.int16)
    assert device.kernels("activation").run_stack(device.register(y), 40, 191 * 1024) == 1
    assert "ub-out-of-bounds" in device.report().kinds


def test_kernel_types_of_other_parts_leave_the_grid_as_it_is(device: Device) -> None:
    y = np.zeros(32, np.int32)
    assert device.kernels("activation").run_typed(device.register(y)) == 0
    assert y.nonzero()[0].tolist() == [0] and y[0] == 1


def test_softmax_forms_that_are_not_modelled_do_not_compile(device: Device) -> None:
    source = """void f(const LocalTensor<float> &x, const SoftMaxTiling &t) { %s }"""
    forms = {
        "SoftmaxGrad (NZ tensors)": "SoftmaxGrad<float, false, true>(x, x, x, t);",
        "SoftmaxFlashV2 (NZ tensors)": "SoftmaxFlashV2<float, false, false, false, true>(x, x, x, x, x, x, x, t);",
    }
    for message, call in forms.items():
        assert f"unsupported: {message}" in device.compile_error(source % call)
