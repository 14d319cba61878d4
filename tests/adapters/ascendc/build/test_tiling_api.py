"""The tiling functions of the host's stand-ins: what they fill in is legal by the vendor's tables of constraints."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from adapters.ascendc.cpu.compiler import COMPAT, find_compiler
from adapters.ascendc.cpu.hostbuild import HOST

PROGRAM = """
#include "tiling/tiling_api.h"
using namespace matmul_tiling;
/// The whole family takes the rows and columns of a shape of any rank.
bool softmax_shapes() {
    const ge::Shape shape(std::vector<int64_t>{4, 6, 32});
    optiling::SoftMaxTiling plain, flash, grad;
    optiling::LogSoftMaxTiling log;
    AscendC::SoftMaxTilingFunc(shape, 4, AscendC::GetSoftMaxMinTmpSize(shape, 4, false), plain);
    AscendC::SoftMaxFlashV2TilingFunc(shape, 2, 4, AscendC::GetSoftMaxFlashV2MaxTmpSize(shape, 2, 4, true), flash,
                                      true);
    AscendC::SoftMaxGradTilingFunc(shape, 4, AscendC::GetSoftMaxGradMinTmpSize(shape, 4, true, false), grad, true);
    AscendC::LogSoftMaxTilingFunc(shape, 4, AscendC::GetLogSoftMaxMaxTmpSize(shape, 4, false), log);
    for (const auto *t : {&plain, &flash, &grad}) {
        if (t->get_srcM() != 24 || t->get_srcK() != 32 || t->GetDataSize() != 64) return false;
    }
    return log.get_srcM() == 24 && log.get_srcSize() == 768 && log.GetDataSize() == 64;
}
int main() {
    if (!softmax_shapes()) return 2;
    const int shapes[][4] = {{1, 1, 1, 20}, {1000, 700, 320, 20}, {16, 30000, 128, 40}, {4096, 4096, 4096, 24},
                             {33, 17, 5, 3}};
    for (const auto &s : shapes) {
        for (DataType type : {DataType::DT_FLOAT, DataType::DT_FLOAT16, DataType::DT_INT8}) {
            MultiCoreMatmulTiling many(platform_ascendc::PlatformAscendC{});
            many.SetAType(TPosition::GM, CubeFormat::ND, type);
            many.SetBType(TPosition::GM, CubeFormat::ND, type, true);
            many.SetBias(true);
            many.SetOrgShape(s[0], s[1], s[2]);
            many.SetShape(s[0], s[1], -1);
            many.SetDim(s[3]);
            optiling::TCubeTiling t;
            if (many.GetTiling(t) != 0 || t.GetDataSize() != 200) return 1;
            for (int v : {s[0], s[1], s[2], s[3], bytes_of(type), t.get_usedCoreNum(), t.get_singleCoreM(),
                          t.get_singleCoreN(), t.get_singleCoreK(), t.get_baseM(), t.get_baseN(), t.get_baseK(),
                          t.get_isBias()}) {
                printf("%d ", v);
            }
            puts("");
        }
    }
    MatmulApiTiling nothing;
    optiling::TCubeTiling t;
    return nothing.GetTiling(t) == -1 ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def tilings(tmp_path_factory: pytest.TempPathFactory) -> list[list[int]]:
    folder: Path = tmp_path_factory.mktemp("tiling")
    (folder / "program.cpp").write_text(PROGRAM)
    command = [
        find_compiler().program,
        "-std=c++17",
        f"-I{HOST}",
        f"-idirafter{COMPAT}",
        str(folder / "program.cpp"),
        "-o",
        str(folder / "program"),
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([str(folder / "program")], check=True, capture_output=True, text=True)
    return [[int(v) for v in line.split()] for line in done.stdout.splitlines()]


def test_every_tiling_meets_the_documented_constraints(tilings: list[list[int]]) -> None:
    assert len(tilings) == 15
    for m, n, k, dim, width, used, single_m, single_n, single_k, base_m, base_n, base_k, bias in tilings:
        assert bias == 1 and single_k == k
        assert 1 <= used <= dim
        assert used == -(-m // single_m) * -(-n // single_n)
        assert base_m % 16 == base_n % 16 == base_k % 16 == 0
        assert base_m * base_k * width * 2 <= 64 << 10 and base_n * base_k * width * 2 <= 64 << 10
        assert base_m * base_n * 4 <= 128 << 10
        assert base_n * 4 <= 1024


def test_large_products_use_nearly_all_cores(tilings: list[list[int]]) -> None:
    assert all(used >= 0.8 * dim for m, n, _, dim, _, used, *_ in tilings if m * n >= 16 * 30000)
