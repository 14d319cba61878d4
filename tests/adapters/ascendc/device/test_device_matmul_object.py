"""The high-level Matmul object against numpy: types, bias, transposed operands, ways to iterate, shares of cores."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device

FIELDS = ["usedCoreNum", "M", "N", "Ka", "Kb", "singleCoreM", "singleCoreN", "singleCoreK", "baseM", "baseN", "baseK"]
FIELDS += ["depthA1", "depthB1", "stepM", "stepN", "isBias", "transLength", "iterateOrder"]
M, N, K = 50, 70, 41


class Call(ctypes.Structure):
    _fields_ = [("tiling", ctypes.c_int32 * 50)] + [
        (name, ctypes.c_int32) for name in ("transpose_a", "transpose_b", "atomic", "form")
    ]


def call(*, ta: bool = False, tb: bool = False, atomic: int = 0, form: int = 0, **given: int) -> Call:
    values = {"usedCoreNum": 4, "M": M, "N": N, "Ka": K, "Kb": K, "baseM": 16, "baseN": 32, "baseK": 16}
    values |= {"singleCoreM": 32, "singleCoreN": 48, "singleCoreK": K} | given
    return Call((ctypes.c_int32 * 50)(*[values.get(name, 0) for name in FIELDS]), ta, tb, atomic, form)


def to_bf16(x: Array) -> Array:
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(x: Array) -> Array:
    return (x.astype(np.uint32) << 16).view(np.float32)


def operands(kind: str) -> tuple[Array, Array, Array, Array]:
    """a, b, bias, and C filled with ones, in the types that `kind` names."""
    rng = np.random.default_rng(41)
    if kind.startswith("i8"):
        a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((M, K), (K, N)))
        return a, b, rng.integers(-999, 999, N).astype(np.int32), np.ones((M, N), np.int32)
    a, b = rng.standard_normal((M, K)).astype(np.float32), rng.standard_normal((K, N)).astype(np.float32)
    bias, c = rng.standard_normal(N).astype(np.float32), np.ones((M, N), np.float32)
    if kind == "bf16>bf16+f32":
        return to_bf16(a), to_bf16(b), bias, to_bf16(c)
    left, right = kind.split(">")
    result, extra = right.split("+")
    types = {"f16": np.float16, "f32": np.float32}
    return a.astype(types[left]), b.astype(types[left]), bias.astype(types[extra]), c.astype(types[result])


def run(device: Device, kind: str, a: Array, b: Array, bias: Array, c: Array, how: Call, blocks: int = 2) -> int:
    addresses = [device.register(x) for x in (a, b, bias, c)]
    return int(device.kernels("matmul_object").run_matmul(kind.encode(), blocks, *addresses, ctypes.byref(how)))


@pytest.mark.parametrize("kind", ["f16>f32+f32", "f16>f16+f16", "bf16>bf16+f32", "f32>f32+f32", "i8>i32+i32"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_product_of_all_cores(device: Device, kind: str, bias: bool, transposed: bool) -> None:
    a, b, row, c = operands(kind)
    wide = [from_bf16(x) if x.dtype == np.uint16 else x for x in (a, b)]
    want = wide[0].astype(np.float64) @ wide[1].astype(np.float64) + (row.astype(np.float64) if bias else 0)
    if transposed:
        a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    assert run(device, kind, a, b, row, c, call(ta=transposed, tb=transposed, isBias=bias)) == 0, device.report().error
    report = device.report()
    assert report.findings == []
    assert report.written(c) == c.nbytes
    got = from_bf16(c) if c.dtype == np.uint16 else c
    bound = {"uint16": 1e-2, "float16": 2e-3, "float32": 2e-5, "int32": 0}[str(c.dtype)]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=bound, atol=bound)


@pytest.mark.parametrize("order", [0, 1])
def test_tiles_one_by_one_give_the_same_bytes_as_all_at_once(device: Device, order: int) -> None:
    a, b, row, c = operands("f32>f32+f32")
    assert run(device, "f32>f32+f32", a, b, row, c, call(isBias=1, iterateOrder=order)) == 0
    for form in (1, 4):
        other = np.zeros_like(c)
        assert run(device, "f32>f32+f32", a, b, row, other, call(isBias=1, iterateOrder=order, form=form)) == 0
        np.testing.assert_array_equal(other, c)


def test_sequential_tiles_follow_the_order_of_iteration(device: Device) -> None:
    a, b, row, _ = operands("f32>f32+f32")
    want = a @ b
    for order in (0, 1):
        c = np.zeros(4 * 32 * 48, np.float32)
        assert (
            run(
                device,
                "f32>f32+f32",
                a,
                b,
                row,
                c,
                call(form=2, iterateOrder=order, usedCoreNum=1, singleCoreM=M, singleCoreN=N, baseM=32, baseN=48),
                blocks=1,
            )
            == 0
        )
        corners = [(0, 0), (32, 0), (0, 48), (32, 48)] if order == 0 else [(0, 0), (0, 48), (32, 0), (32, 48)]
        for index, (top, left) in enumerate(corners):
            tile = want[top : top + 32, left : left + 48]
            start = index * 32 * 48
            np.testing.assert_allclose(c[start : start + tile.size].reshape(tile.shape), tile, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_partial_sums_over_k_add_up_and_take_the_bias_once(device: Device, transposed: bool) -> None:
    a, b, row, c = operands("f32>f32+f32")
    how = call(tb=transposed, form=3, isBias=1, baseM=32, baseN=48)
    second = np.ascontiguousarray(b.T) if transposed else b
    assert run(device, "f32>f32+f32", a, second, row, c, how) == 0, device.report().error
    np.testing.assert_allclose(c, a @ b + row, rtol=1e-4, atol=1e-5)


def test_results_can_be_added_to_what_is_there(device: Device) -> None:
    a, b, row, c = operands("f16>f32+f32")
    assert run(device, "f16>f32+f32", a, b, row, c, call(atomic=1)) == 0
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32) + 1, rtol=1e-4, atol=1e-4)


def test_a_share_past_the_matrix_is_found(device: Device) -> None:
    a, b, row, c = operands("f32>f32+f32")
    assert run(device, "f32>f32+f32", a[:-1].copy(), b, row, c[:-1].copy(), call()) == 0
    assert "gm-out-of-bounds" in device.report().kinds


def test_misuse_of_the_object_ends_the_launch_and_says_why(device: Device) -> None:
    a, b, row, c = operands("f32>f32+f32")
    cases = {"no baseM": call(baseM=0), "the shape is": call(singleCoreK=0), "enPartialSum": call(form=3)}
    for why, how in cases.items():
        device.reset()
        assert run(device, "f32>f32+f32", a, b, row, c, how) == 1
        assert why in (device.report().error or "")


SOURCE = """#include "lib/matmul_intf.h"
template <class T> using In = MatmulType<TPosition::GM, CubeFormat::ND, T>;
constexpr MatmulConfig relu() { MatmulConfig c; c.enableRelu = true; return c; }
inline constexpr MatmulConfig kRelu = relu();
%s mm;"""


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Matmul<MatmulType<TPosition::VECOUT, CubeFormat::ND, half>, In<half>, In<float>>", "outside global memory"),
        ("Matmul<In<half>, MatmulType<TPosition::GM, CubeFormat::NZ, half>, In<float>>", "not ND"),
        ("Matmul<In<int8_t>, In<int8_t>, In<half>>", "no quantisation"),
        ("Matmul<In<half>, In<int8_t>, In<float>>", "types of A and B"),
        ("Matmul<In<half>, In<half>, In<float>, In<float>, kRelu>", "an option of MatmulConfig"),
    ],
)
def test_objects_that_are_not_modelled_do_not_compile(device: Device, kind: str, message: str) -> None:
    error = device.compile_error(SOURCE % kind)
    assert "unsupported: Matmul (" in error and message in error
