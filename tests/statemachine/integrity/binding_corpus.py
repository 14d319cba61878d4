"""Kernel folders written for the tests: cheats with the finding that must name them, and honest ones."""

from __future__ import annotations

KERNEL = """
#include "kernel_operator.h"
class K {
public:
    __aicore__ inline void Process(GM_ADDR x, GM_ADDR y) { for (int i = 0; i < 4; ++i) { float* p = buf; p[i] *= 2; } }
    float* buf;
};
extern "C" __global__ __aicore__ void op_custom(GM_ADDR x, GM_ADDR y) { K k; k.Process(x, y); }
extern "C" void op_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y)
{
    op_custom<<<blockDim, nullptr, stream>>>(x, y);
}
"""
_HEAD = """
#include <torch/extension.h>
#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"
extern "C" void op_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y);
"""
_TAIL = """
PYBIND11_MODULE(_op_ext, m) { m.def("run", &run); }
"""
LAUNCH = "op_do(8, c10_npu::getCurrentNPUStream().stream(false), (uint8_t*)x.data_ptr(), (uint8_t*)y.data_ptr());"


def folder(body: str, *, head: str = "", kernel: str = KERNEL) -> dict[str, str]:
    """A kernel folder around one binding body `at::Tensor run(const at::Tensor& x) { ... }`."""
    function = f"{head}\nat::Tensor run(const at::Tensor& x)\n{{\n{body}\n}}\n"
    return {"op.cpp": kernel, "pybind11.cpp": _HEAD + function + _TAIL}


GOOD = f"at::Tensor y = at::empty_like(x);\n{LAUNCH}\nreturn y;"

#: name -> (files, check expected, outcome expected)
CHEATS: dict[str, tuple[dict[str, str], str, str]] = {
    "no launch": (
        folder(GOOD, kernel="void op_do(unsigned, void*, unsigned char*, unsigned char*) {}"),
        "no-launch",
        "failed",
    ),
    "forgets the device's findings": (
        folder(GOOD, kernel=KERNEL + 'extern "C" void opmend_reset(void);\nvoid f() { opmend_reset(); }\n'),
        "device-internals",
        "failed",
    ),
    "forges a store": (
        folder(GOOD, kernel=KERNEL + "void f(char *y) { ::opmend::rt::gm_access(y, 8, 1); }\n"),
        "device-internals",
        "failed",
    ),
    "right only in the simulator": (
        folder(GOOD, kernel="#ifndef OPMEND_CHECK\n#define EARLY return;\n#endif\n" + KERNEL),
        "device-internals",
        "failed",
    ),
    "launch only in a comment": (folder(GOOD, kernel="// k<<<1, nullptr, s>>>(x);\n"), "no-launch", "failed"),
    "launch only in a string": (
        folder(GOOD, kernel='const char* s = "k<<<1, nullptr, s>>>(x)";'),
        "no-launch",
        "failed",
    ),
    "launch in a dead block": (
        folder(GOOD, kernel="#if 0\nvoid f() { k<<<1, 0, s>>>(x); }\n#endif\n"),
        "no-launch",
        "failed",
    ),
    "zero blocks": (folder(GOOD, kernel=KERNEL.replace("blockDim, nullptr", "0, nullptr")), "dead-launch", "failed"),
    "constant branch": (
        folder("if (false) { " + LAUNCH.replace("y.", "x.") + " }\nreturn x;"),
        "dead-branch",
        "flagged",
    ),
    "aten function": (folder("return at::softmax(x, -1);"), "aten-compute", "failed"),
    "torch function": (folder("return torch::exp(x);"), "aten-compute", "failed"),
    "spaced name": (folder("return at :: softmax(x, -1);"), "aten-compute", "failed"),
    "global qualifier": (folder("return ::at::relu(x);"), "aten-compute", "failed"),
    "functional": (folder("return torch::nn::functional::gelu(x);"), "aten-compute", "failed"),
    "in a macro": (folder("return CALC(x);", head="#define CALC(v) at::sigmoid(v)"), "aten-compute", "failed"),
    "method": (folder("return x.softmax(-1);"), "aten-compute", "failed"),
    "method chain": (folder("return x.to(at::kFloat).contiguous().sum(-1);"), "aten-compute", "failed"),
    "unlisted method": (folder("auto y = at::empty_like(x);\nreturn y.bernoulli_();"), "aten-compute", "failed"),
    "overwrite": (
        folder(f"auto y = at::empty_like(x);\n{LAUNCH}\ny.copy_(x.exp());\nreturn y;"),
        "aten-compute",
        "failed",
    ),
    "tensor operator": (folder("return x * x + 1;"), "tensor-operator", "failed"),
    "compound operator": (folder("auto y = at::empty_like(x);\ny += x;\nreturn y;"), "tensor-operator", "failed"),
    "python import": (
        folder('return pybind11::module_::import("torch").attr("exp")(x).cast<at::Tensor>();'),
        "python",
        "failed",
    ),
    "python exec": (folder('py::exec("import torch");\nreturn x;'), "python", "failed"),
    "python C API": (folder('PyRun_SimpleString("x");\nreturn x;'), "python", "failed"),
    "vendor macro": (folder("EXEC_NPU_CMD(aclnnSoftmax, x, -1, x);\nreturn x;"), "vendor-operator", "failed"),
    "vendor call": (folder("aclnnSoftmax(nullptr, 0, nullptr, nullptr);\nreturn x;"), "vendor-operator", "failed"),
    "OpCommand": (
        folder('at_npu::native::OpCommand cmd; cmd.Name("Softmax");\nreturn x;'),
        "vendor-operator",
        "failed",
    ),
    "reads a file": (folder('fopen("golden.bin", "rb");\n' + GOOD), "file", "failed"),
    "streams a file": (folder('std::ifstream f("golden.bin");\n' + GOOD), "file", "failed"),
    "starts a program": (folder('system("true");\n' + GOOD), "process", "failed"),
    "loads a library": (folder('dlopen("libtorch.so", 2);\n' + GOOD), "loader", "failed"),
    "memory protection": (folder("mprotect(nullptr, 4096, 7);\n" + GOOD), "file", "failed"),
    "load-time code": (folder(GOOD, head="__attribute__((constructor)) static void f() {}"), "constructor", "failed"),
    "dispatcher": (
        folder('c10::Dispatcher::singleton().findSchemaOrThrow("aten::exp", "");\nreturn x;'),
        "dispatcher",
        "failed",
    ),
    "result cache": (folder("static std::map<void*, at::Tensor> cache;\n" + GOOD), "static-tensor", "flagged"),
    "host loop": (
        folder(
            "auto y = at::empty_like(x);\nfloat* p = y.data_ptr<float>();\nconst float* q = x.data_ptr<float>();\n"
            "for (int64_t i = 0; i < x.numel(); ++i) { p[i] = q[i] * 2; }\nreturn y;"
        ),
        "host-loop",
        "flagged",
    ),
    "standard algorithm": (
        folder(
            "auto y = at::empty_like(x);\nfloat* p = y.data_ptr<float>();\n"
            "std::transform(p, p + x.numel(), p, [](float v) { return v; });\nreturn y;"
        ),
        "host-compute",
        "flagged",
    ),
    "environment": (folder('if (getenv("CASE")) { return x; }\n' + GOOD), "environment", "flagged"),
    "own stream": (folder("aclrtStream s; aclrtCreateStream(&s);\n" + GOOD), "side-stream", "flagged"),
    "namespace alias": (folder("return a::softmax(x, -1);", head="namespace a = at;"), "namespace", "failed"),
    "spliced name": (folder('sys\\\ntem("true");\n' + GOOD), "spelling", "failed"),
    "member pointer": (folder("auto f = &at::Tensor::exp;\nreturn (x.*f)();"), "aten-compute", "failed"),
    "hidden namespace": (folder("return softmax(x, -1);", head="using namespace at;"), "namespace", "flagged"),
    "unknown kernel": (
        folder(GOOD, kernel="void op_do() { vendor_kernel<<<1, nullptr, s>>>(x); }"),
        "foreign-kernel",
        "flagged",
    ),
}

#: name -> files; nothing may be failed or flagged.
HONEST: dict[str, dict[str, str]] = {
    "plain": folder(GOOD),
    "tiling on the host": folder(
        "at::Tensor t = at::empty({16}, at::device(at::kCPU).dtype(at::kByte));\n"
        "auto* tiling = reinterpret_cast<Tiling*>(t.data_ptr());\ntiling->n = x.numel();\n"
        "int32_t m[4] = {0}; for (int i = 0; i < 4; ++i) { m[i] = static_cast<int32_t>(x.size(0)); }\n"
        "auto tilingNpu = t.to(at::kPrivateUse1);\n" + GOOD,
    ),
    "checks and casts": folder('TORCH_CHECK(x.dim() == 2, "x");\nauto h = x.to(at::kHalf).contiguous();\n' + GOOD),
    "comments and strings": folder('// at::softmax(x)\n/* system("x") */ const char* s = "at::exp popen(";\n' + GOOD),
    "empty tensor": folder("if (x.numel() == 0) { return at::empty_like(x); }\n" + GOOD),
    "vector of tensors": folder("std::vector<at::Tensor> ys; ys.push_back(x);\n" + GOOD),
    "template kernel": folder(
        GOOD,
        kernel="template <typename T> __global__ __aicore__ void op_t(GM_ADDR x) {}\n"
        "void op_do(void* s, uint8_t* x) { op_t<half><<<8, nullptr, s>>>(x); }",
    ),
    "launch over several lines": folder(
        GOOD, kernel=KERNEL.replace("<<<blockDim, nullptr, stream>>>", "<<<\n  blockDim,\n  nullptr, stream>>>")
    ),
    "kernels made by a macro": folder(
        GOOD,
        kernel='#define MAKE(suffix, T) \\\n    extern "C" __global__ __aicore__ void op_##suffix(GM_ADDR x) {}\n'
        "MAKE(fp16, half)\nMAKE(fp32, float)\n"
        "void op_do(uint32_t b, void* s, uint8_t* x)\n"
        "{ op_fp16<<<b, nullptr, s>>>(x); op_fp32<<<b, nullptr, s>>>(x); }",
    ),
    "launchers made by a macro": folder(
        GOOD,
        kernel="__global__ __aicore__ void op_fp16(GM_ADDR x) {}\n#define LAUNCH(suffix) \\\n"
        "    void op_##suffix##_do(uint32_t b, void* s, uint8_t* x) { op_##suffix<<<b, nullptr, s>>>(x); }\n"
        "LAUNCH(fp16)\n",
    ),
    "device maths": folder(
        GOOD, kernel=KERNEL.replace("K k;", "K k; AscendC::Exp(a, b, 8); AscendC::Add(c, a, b, 8); q.sum();")
    ),
    "kernel in a header": {**folder(GOOD, kernel='#include "op_kernel.h"\n'), "op_kernel.h": KERNEL},
    "asc file": {"op.asc": KERNEL, "pybind11.cpp": folder(GOOD)["pybind11.cpp"]},
    "generated launcher": folder(
        GOOD,
        kernel='__global__ __aicore__ void op_custom(GM_ADDR x) {}\n#include "aclrtlaunch_op_custom.h"\n'
        "void op_do(uint32_t b, void* s, void* x) { ACLRT_LAUNCH_KERNEL(op_custom)(b, s, x); }",
    ),
    "registered": {
        "op.cpp": KERNEL,
        "reg.cpp": _HEAD + f"at::Tensor run(const at::Tensor& x) {{ {GOOD} }}\n"
        'TORCH_LIBRARY(my_op, m) { m.def("run(Tensor x) -> Tensor"); }\n',
    },
    "registered in several files": {
        "op.cpp": KERNEL,
        "function.cpp": _HEAD + f"at::Tensor run(const at::Tensor& x) {{ {GOOD} }}\n",
        "define.cpp": '#include <torch/library.h>\nTORCH_LIBRARY(my_op, m) { m.def("run(Tensor x) -> Tensor"); }\n',
        "register.cpp": "#include <torch/library.h>\nat::Tensor run(const at::Tensor& x);\n"
        'TORCH_LIBRARY_IMPL(my_op, PrivateUse1, m) { m.impl("run", TORCH_FN(run)); }\n',
    },
    "C launchers for ctypes": {"op.cpp": 'extern "C" ' + KERNEL},
}
