"""The add kernel in every form in which direct-launch tasks reach a kernel, as files of one task."""

from __future__ import annotations

from pathlib import Path

_BUILD = Path(__file__).parents[1] / "build" / "add_task" / "kernel"
KERNEL_H = (_BUILD / "add_kernel.h").read_text()

_BODY = """    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AddKernel<float> kernel;
    kernel.Init(x, y, z, total);
    kernel.Process();
"""
KERNEL = f"""#include "add_kernel.h"

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
{{
{_BODY}}}
"""
_TORCH = """#include <torch/extension.h>
#include <torch/library.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
"""
_ASK = "    auto stream = c10_npu::getCurrentNPUStream().stream(false);\n"


def _function(launch: str, name: str = "run_add") -> str:
    return (
        f"at::Tensor {name}(const at::Tensor &x, const at::Tensor &y)\n{{\n    at::Tensor z = at::empty_like(x);\n"
        f"{_ASK}    uint32_t total = static_cast<uint32_t>(x.numel());\n    {launch}\n    return z;\n}}\n"
    )


_POINTERS = "(uint8_t *)x.data_ptr(), (uint8_t *)y.data_ptr(), (uint8_t *)z.data_ptr(), total"
_MODEL = """from pathlib import Path
import sys
import torch

BUILD = Path(__file__).resolve().parent / "kernel" / "build"
"""
PYBIND_WRAPPER = (
    _MODEL
    + """sys.path.insert(0, str(BUILD))
import _add_ext as _ext


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return _ext.run_add(x.contiguous(), y.contiguous())
"""
)
LIBRARY_WRAPPER = (
    _MODEL
    + """torch.ops.load_library(str(BUILD / "libadd_ops.so"))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return torch.ops.add_ops.add(x.contiguous(), y.contiguous())
"""
)
CTYPES_WRAPPER = (
    _MODEL
    + """import ctypes
_lib = ctypes.CDLL(str(BUILD / "libadd.so"))


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        z = torch.empty_like(x)
        _lib.add_do(
            ctypes.c_uint32(4), ctypes.c_void_p(0), ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()),
            ctypes.c_void_p(z.data_ptr()), ctypes.c_uint32(x.numel()),
        )
        return z
"""
)
_PYBIND = '\nPYBIND11_MODULE(_add_ext, m) { m.def("run_add", &run_add); }\n'
_LAUNCHER = """
extern "C" void add_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z, uint32_t total)
{
    add_custom<<<blockDim, nullptr, stream>>>(x, y, z, total);
}
"""
_DECLARED = 'extern "C" void add_do(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint32_t);\n'

#: name -> (wrapper, kernel folder, names of the kernels that forward launches)
FORMS: dict[str, tuple[str, dict[str, str], tuple[str, ...]]] = {
    "asc-file": (
        PYBIND_WRAPPER,
        {"add.asc": _TORCH + KERNEL + _function(f"add_custom<<<4, nullptr, stream>>>({_POINTERS});") + _PYBIND},
        ("add_custom",),
    ),
    "generated-launcher": (
        PYBIND_WRAPPER,
        {
            "add.cpp": KERNEL,
            "pybind11.cpp": _TORCH
            + '#include "aclrtlaunch_add_custom.h"\n'
            + _function(f"ACLRT_LAUNCH_KERNEL(add_custom)(4, stream, {_POINTERS});")
            + _PYBIND,
        },
        ("add_custom",),
    ),
    "torch-library": (
        LIBRARY_WRAPPER,
        {
            "add.cpp": KERNEL + _LAUNCHER,
            "functions.cpp": _TORCH + _DECLARED + _function(f"add_do(4, stream, {_POINTERS});"),
            "define.cpp": _TORCH
            + 'TORCH_LIBRARY(add_ops, m) { m.def("add(Tensor x, Tensor y, float scale=1.0) -> Tensor"); }\n',
            "register.cpp": _TORCH
            + "at::Tensor run_add(const at::Tensor &x, const at::Tensor &y);\n"
            + "static at::Tensor Npu(const at::Tensor &x, const at::Tensor &y, double scale)\n"
            + '{\n    TORCH_CHECK(scale == 1.0, "scale");\n    return run_add(x, y);\n}\n'
            + 'TORCH_LIBRARY_IMPL(add_ops, PrivateUse1, m) { m.impl("add", TORCH_FN(Npu)); }\n',
        },
        ("add_custom",),
    ),
    "torch-library-without-schema": (
        LIBRARY_WRAPPER,
        {
            "add.asc": _TORCH
            + KERNEL
            + _function(f"add_custom<<<4, nullptr, stream>>>({_POINTERS});")
            + 'TORCH_LIBRARY_FRAGMENT(add_ops, m) { m.def("add", &run_add); }\n'
        },
        ("add_custom",),
    ),
    "ctypes": (CTYPES_WRAPPER, {"add.cpp": KERNEL + _LAUNCHER}, ("add_custom",)),
    "macro-launchers": (
        PYBIND_WRAPPER,
        {
            "add.cpp": '#include "add_kernel.h"\n#define MAKE(suffix, T) \\\n'
            '    extern "C" __global__ __aicore__ void add_##suffix(GM_ADDR x, GM_ADDR y, GM_ADDR z, int total)\\\n'
            "    { AddKernel<T> kernel; kernel.Init(x, y, z, total); kernel.Process(); } \\\n"
            '    extern "C" void do_##suffix(uint32_t b, void *s, uint8_t *x, uint8_t *y, uint8_t *z, uint32_t n) \\\n'
            "    { add_ ## suffix<<<b, nullptr, s>>>(x, y, z, n); }\nMAKE(fp32, float)\nMAKE(fp16, half)\n",
            "pybind11.cpp": _TORCH
            + 'extern "C" void do_fp32(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint32_t);\n'
            + _function(f"do_fp32(4, stream, {_POINTERS});")
            + _PYBIND,
        },
        ("add_fp32",),
    ),
    "dispatch-macro-and-two-kernels": (
        PYBIND_WRAPPER,
        {
            "add.asc": _TORCH
            + KERNEL
            + "template <class T>\n__global__ __aicore__ void add_typed(GM_ADDR x, GM_ADDR y, GM_ADDR z, int total)\n"
            + "{\n    AddKernel<T> kernel;\n    kernel.Init(x, y, z, total);\n    kernel.Process();\n}\n"
            + _function(
                "at::Tensor first = at::empty_like(x);\n"
                "    add_custom<<<4, nullptr, stream>>>((uint8_t *)x.data_ptr(), (uint8_t *)y.data_ptr(),\n"
                "                                       (uint8_t *)first.data_ptr(), total);\n"
                '    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "add", [&] {\n'
                "        if constexpr (std::is_same_v<scalar_t, float>) {\n"
                f"            add_typed<scalar_t><<<4, nullptr, stream>>>({_POINTERS});\n        }}\n    }});"
            )
            + _PYBIND
        },
        ("add_custom", "add_typed<scalar_t>"),
    ),
}

MODEL = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, y):\n        return x + y\n"


def write(folder: Path, name: str) -> Path:
    """Write the form as a task folder (model, wrapper, kernel) and return it."""
    wrapper, files, _ = FORMS[name]
    (folder / "kernel").mkdir(parents=True)
    for path, text in {"model.py": MODEL, "model_new_ascendc.py": wrapper}.items():
        (folder / path).write_text(text)
    for path, text in {"add_kernel.h": KERNEL_H, **files}.items():
        (folder / "kernel" / path).write_text(text)
    return folder
