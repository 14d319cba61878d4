#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "seq_cumsum_tiling.h"

extern "C" void seq_cumsum_do_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);
extern "C" void seq_cumsum_do_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);

namespace {

constexpr uint32_t CORE_NUM = 40;

uint8_t *Address(const at::Tensor &t)
{
    return static_cast<uint8_t *>(const_cast<void *>(t.storage().data()));
}

at::Tensor SeqCumsumForward(const at::Tensor &x)
{
    TORCH_CHECK(x.dim() == 3, "x must be [batch, seq, dim]");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const auto dtype = x.scalar_type();
    TORCH_CHECK(dtype == at::kFloat || dtype == at::kHalf, "x must be float32 or float16");

    at::Tensor y = at::empty_like(x);
    if (x.numel() == 0) {
        return y;
    }

    at::Tensor tilingCpu =
        at::empty({static_cast<int64_t>(sizeof(SeqCumsumTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = reinterpret_cast<SeqCumsumTiling *>(tilingCpu.data_ptr());
    tiling->batch = static_cast<uint32_t>(x.size(0));
    tiling->seq = static_cast<uint32_t>(x.size(1));
    tiling->dim = static_cast<uint32_t>(x.size(2));
    tiling->dimBlocks = (tiling->dim + DIM_TILE - 1) / DIM_TILE;
    tiling->taskNum = tiling->batch * tiling->dimBlocks;
    const uint32_t blockDim = std::min(CORE_NUM, tiling->taskNum);
    at::Tensor tilingNpu = tilingCpu.to(at::kPrivateUse1);

    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    auto launch = dtype == at::kFloat ? seq_cumsum_do_fp32 : seq_cumsum_do_fp16;
    launch(blockDim, stream, Address(x), Address(y), Address(tilingNpu));
    return y;
}

}  // namespace

PYBIND11_MODULE(_seq_cumsum_ext, m)
{
    m.doc() = "running sum along the sequence axis";
    m.def("seq_cumsum", &SeqCumsumForward, "");
}
