"""A tiny operator task, `y = x + 1` over float32, whose parts a test can replace: the smallest thing that is a task.

Only the kernel's body and the launcher vary between tests, so the binding (the slow part of a build) is compiled once.
"""

from __future__ import annotations

from pathlib import Path

MODEL = """
import json, os
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x + 1.0


def get_input_groups():
    with open(os.path.join(os.path.dirname(__file__), "plus.json")) as lines:
        cases = [json.loads(line) for line in lines if line.strip()]
    return [[torch.randn(c["inputs"][0]["shape"], dtype=getattr(torch, c["inputs"][0]["dtype"]))] for c in cases]


def get_init_inputs():
    return []
"""

WRAPPER = """
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent / "kernel" / "build"))

import _plus_ext as _ext


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return _ext.run_plus(x.contiguous())
"""

BINDING = """
#include <pybind11/pybind11.h>
#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

extern "C" void plus_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint32_t count);

at::Tensor run_plus(const at::Tensor &x)
{
    TORCH_CHECK(x.scalar_type() == at::kFloat, "x must be float32");
    at::Tensor y = at::empty_like(x);
    plus_do(1, c10_npu::getCurrentNPUStream().stream(false), static_cast<uint8_t *>(x.data_ptr()),
            static_cast<uint8_t *>(y.data_ptr()), static_cast<uint32_t>(x.numel()));
    return y;
}

PYBIND11_MODULE(_plus_ext, m) { m.def("run_plus", &run_plus, ""); }
"""

KERNEL = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void plus_custom(GM_ADDR x, GM_ADDR y, uint32_t count)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQueue;
    TQue<TPosition::VECOUT, 1> outQueue;
    GlobalTensor<float> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, count);
    yGm.SetGlobalBuffer((__gm__ float *)y, count);
    pipe.InitBuffer(inQueue, 1, 4096);
    pipe.InitBuffer(outQueue, 1, 4096);
    for (uint32_t done = 0; done < count; done += 1024) {
        uint32_t n = count - done < 1024 ? count - done : 1024;
        DataCopyExtParams params{1, static_cast<uint32_t>(n * sizeof(float)), 0, 0, 0};
        LocalTensor<float> xLocal = inQueue.AllocTensor<float>();
        DataCopyPad(xLocal, xGm[done], params, DataCopyPadExtParams<float>{false, 0, 0, 0});
        inQueue.EnQue(xLocal);
        xLocal = inQueue.DeQue<float>();
        LocalTensor<float> yLocal = outQueue.AllocTensor<float>();
        Adds(yLocal, xLocal, 1.0f, n);
        inQueue.FreeTensor(xLocal);
        outQueue.EnQue(yLocal);
        yLocal = outQueue.DeQue<float>();
        DataCopyPad(yGm[done], yLocal, params);
        outQueue.FreeTensor(yLocal);
    }
}

extern "C" void plus_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint32_t count)
{
    // HOST
    plus_custom<<<blockDim, nullptr, stream>>>(x, y, count);
}
"""

ALIGNED_ONLY = (
    "        DataCopyPad(yGm[done], yLocal, params);",
    "        DataCopy(yGm[done], yLocal, n);",
)


def case(*shape: int, dtype: str = "float32") -> str:
    dims = ", ".join(map(str, shape))
    return f'{{"inputs": [{{"name": "x", "type": "tensor", "dtype": "{dtype}", "shape": [{dims}]}}]}}\n'


COMPACT = "".join(case(n) for n in (8, 64, 1024, 33))
FULL = "".join(case(n) for n in (8, 64, 1024, 33, 7, 1025, 2048, 100))


def write_task(folder: Path, *, kernel: str = KERNEL, **files: str | None) -> Path:
    """Write the task to `folder`. `files` replaces or adds files by path (None: leave it out); returns `folder`."""
    contents: dict[str, str | None] = {
        "model.py": MODEL,
        "model_new_ascendc.py": WRAPPER,
        "plus.json": COMPACT,
        "plus_all_case.json": FULL,
        "kernel/pybind11.cpp": BINDING,
        "kernel/plus.cpp": kernel,
        **files,
    }
    for name, text in contents.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


def host(code: str) -> str:
    """The right kernel, with `code` run in the launcher before the launch."""
    return KERNEL.replace("    // HOST", code)
