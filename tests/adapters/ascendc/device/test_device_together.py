"""Several operators in one process, and one operator several times: nothing of one run shows in another."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.adapters.ascendc.device.harness import Array, Device

# The same names in both: a kernel, a static of an inline function, an inline variable and a template's static.
OPERATOR = """
#include "kernel_operator.h"
using namespace AscendC;

struct Tiling { uint32_t length, tile; float factor; };
inline Tiling kept{};
template <class T> struct Counter { static inline int runs = 0; };
inline float &factor() { static float value = @FACTOR@; return value; }

extern "C" __global__ __aicore__ void operate(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    kept = *reinterpret_cast<Tiling *>(tiling);
    if (GetBlockIdx() == 0) ++Counter<float>::runs;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, kept.tile * sizeof(float));
    pipe.InitBuffer(out, 1, kept.tile * sizeof(float));
    GlobalTensor<float> from, to;
    const uint32_t share = kept.length / GetBlockNum();
    from.SetGlobalBuffer((__gm__ float *)x + share * GetBlockIdx(), share);
    to.SetGlobalBuffer((__gm__ float *)y + share * GetBlockIdx(), share);
    for (uint32_t at = 0; at < share; at += kept.tile) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, from[at], kept.tile);
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Muls(b, a, kept.factor * factor(), kept.tile);
        in.FreeTensor(a);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(to[at], b, kept.tile);
        out.FreeTensor(b);
    }
}

extern "C" int run(uint32_t blocks, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    ::opmend::Launcher("operate", __FILE__, __LINE__, blocks, nullptr, nullptr)(operate, x, y, tiling);
    return Counter<float>::runs;
}
"""


class Tiling(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("tile", ctypes.c_uint32), ("factor", ctypes.c_float))


@pytest.fixture(scope="module")
def operators(device_session: Device, tmp_path_factory: pytest.TempPathFactory) -> list[ctypes.CDLL]:
    """Two operators that differ in one constant."""
    folder = tmp_path_factory.mktemp("together")
    return [build(device_session, folder, factor) for factor in (2, 3)]


def build(device: Device, folder: Path, factor: int) -> ctypes.CDLL:
    source, library = folder / f"operator{factor}.cpp", folder / f"operator{factor}.so"
    source.write_text(OPERATOR.replace("@FACTOR@", f"{factor}.0f"))
    device.compile_library(source, library)
    return ctypes.CDLL(str(library))  # RTLD_LOCAL, as modules and kernel libraries are loaded


def operate(
    device: Device, operator: ctypes.CDLL, blocks: int, length: int, tile: int, factor: float
) -> tuple[Array, int]:
    x, y = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
    tiling = Tiling(length, tile, factor)
    runs = operator.run(blocks, device.register(x), device.register(y), ctypes.byref(tiling))
    report = device.report()
    assert report.error is None and report.findings == [] and report.written(y) == y.nbytes
    return y, runs


def test_two_operators_of_one_process_keep_apart(device: Device, operators: list[ctypes.CDLL]) -> None:
    for _ in range(2):
        for operator, own in zip(operators, (2, 3), strict=True):
            y, _ = operate(device, operator, 4, 1024, 64, 1.0)
            np.testing.assert_array_equal(y, np.arange(1024) * own)
    runs = [operate(device, operator, 1, 64, 64, 1.0)[1] for operator in operators]
    assert runs[0] == runs[1] == 3


def test_an_operator_runs_again_with_another_tiling(device: Device, operators: list[ctypes.CDLL]) -> None:
    for blocks, length, tile, factor in (
        (1, 512, 512, 0.5),
        (8, 4096, 128, -1.0),
        (2, 256, 8, 0.5),
        (1, 512, 512, 0.5),
    ):
        y, _ = operate(device, operators[0], blocks, length, tile, factor)
        np.testing.assert_array_equal(y, np.arange(length, dtype=np.float32) * np.float32(2 * factor))
    assert [launch["block_dim"] for launch in device.report().launches] == [1, 8, 2, 1]
