"""Kernels that crash, hang, eat memory, throw or flood: compiled for real, each becomes a result."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.ascendc.cpu.build import BuildResult, build
from adapters.runner.client import ForkServer, Limits, Runner
from adapters.runner.materialise import materialise

TASK = Path(__file__).parent.parent / "ascendc" / "build" / "add_task"
MISBEHAVE = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

__aicore__ inline void Misbehave(int how)
{
    volatile int ticks = 0;
    if (how == 1) {
        *reinterpret_cast<volatile int *>(8) = 1;
    } else if (how == 2) {
        while (true) {
            ticks = ticks + 1;
        }
    } else if (how == 3) {
        for (;;) {
            std::memset(new char[64 << 20], 1, 64 << 20);
        }
    } else if (how == 4) {
        throw std::runtime_error("thrown in a kernel");
    } else if (how == 5) {
        for (int i = 0; i < 200000; ++i) {
            std::fputs("twenty bytes of text", stdout);
        }
    } else if (how == 6) {
        std::exit(0);
    }
}
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> BuildResult:
    kernel = tmp_path_factory.mktemp("hostile") / "kernel"
    shutil.copytree(TASK / "kernel", kernel)
    unit = kernel / "add_fp32.cpp"
    text = unit.read_text().replace('#include "add_kernel.h"\n', f'#include "add_kernel.h"\n{MISBEHAVE}')
    call = "    Misbehave(static_cast<int>(*reinterpret_cast<__gm__ float *>(x)));\n"
    text = text.replace("    AddKernel<float> kernel;\n", f"{call}    AddKernel<float> kernel;\n")
    unit.write_text(text)
    result = build(kernel, level=2, cache=cache / "builds")
    assert result.ok, result.log
    return result


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        (1, "crash", "segmentation fault"),
        (2, "timeout", "not finished within"),
        (3, "oom", "bytes needed"),
        (4, "error", "thrown in a kernel"),
        (5, "ok", ""),
        (6, "bad-output", "without writing its outputs"),
    ],
)
def test_a_hostile_kernel_becomes_a_result(
    tmp_path: Path, inputs: Path, hostile: BuildResult, server: ForkServer, how: int, status: str, said: str
) -> None:
    task = tmp_path / "t"
    task.mkdir()
    wrapper = (TASK / "model_new_ascendc.py").read_text().replace("x.contiguous()", f"torch.full_like(x, {how})")
    (task / "model_new_ascendc.py").write_text(wrapper)
    shutil.copyfile(TASK / "model.py", task / "model.py")
    assert hostile.so_path
    folder = materialise(tmp_path / "c", task_dir=task, wrapper="model_new_ascendc.py", module_so=hostile.so_path)
    limits = Limits(wall_seconds=2 if how == 2 else 30, memory_bytes=512 << 20)
    case = Runner(folder, hostile.so_path, limits, server=server).run(inputs, tmp_path / "out")
    assert case.status == status and said in case.detail, case
    assert len(case.printed) < 100_000
