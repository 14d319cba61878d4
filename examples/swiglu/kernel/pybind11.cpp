#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "swiglu_tiling.h"

extern "C" void swiglu_do_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);
extern "C" void swiglu_do_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);

namespace {

constexpr int32_t NUM_CORES = 40;
constexpr int32_t MAX_TILE_ELEMS = 4096;
constexpr int32_t ROW_ALIGN = 16;

int32_t RoundUp(int32_t value, int32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

at::Tensor Swiglu(const at::Tensor &x)
{
    TORCH_CHECK(x.dim() == 2, "x must be [rows, 2 * hidden]");
    TORCH_CHECK(x.size(1) % 2 == 0 && x.size(1) > 0, "the last dimension must be even and positive");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kHalf, "x must be float32 or float16");

    const int32_t rows = static_cast<int32_t>(x.size(0));
    const int32_t hidden = static_cast<int32_t>(x.size(1) / 2);
    at::Tensor y = at::empty({rows, hidden}, x.options());
    if (rows == 0) {
        return y;
    }

    const int32_t lanes = 32 / static_cast<int32_t>(x.element_size());
    const int32_t hiddenAligned = RoundUp(hidden, lanes);
    TORCH_CHECK(hiddenAligned <= MAX_TILE_ELEMS, "hidden is too large for one tile");
    const int32_t rowsPerCore = RoundUp((rows + NUM_CORES - 1) / NUM_CORES, ROW_ALIGN);
    const int32_t blockDim = (rows + rowsPerCore - 1) / rowsPerCore;

    at::Tensor tilingCpu =
        at::empty({static_cast<int64_t>(sizeof(SwigluTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = reinterpret_cast<SwigluTiling *>(tilingCpu.data_ptr());
    tiling->rows = rows;
    tiling->hidden = hidden;
    tiling->hiddenAligned = hiddenAligned;
    tiling->rowsPerCore = rowsPerCore;
    tiling->rowsPerTile = std::min(rowsPerCore, MAX_TILE_ELEMS / hiddenAligned);
    auto tilingNpu = tilingCpu.to(at::kPrivateUse1);

    auto aclStream = c10_npu::getCurrentNPUStream().stream(false);
    auto *xPtr = static_cast<uint8_t *>(const_cast<void *>(x.storage().data()));
    auto *yPtr = static_cast<uint8_t *>(const_cast<void *>(y.storage().data()));
    auto *tilingPtr = static_cast<uint8_t *>(const_cast<void *>(tilingNpu.storage().data()));
    if (x.scalar_type() == at::kHalf) {
        swiglu_do_fp16(static_cast<uint32_t>(blockDim), aclStream, xPtr, yPtr, tilingPtr);
    } else {
        swiglu_do_fp32(static_cast<uint32_t>(blockDim), aclStream, xPtr, yPtr, tilingPtr);
    }
    return y;
}

}  // namespace

PYBIND11_MODULE(_swiglu_ext, m)
{
    m.doc() = "SwiGLU";
    m.def("swiglu", &Swiglu, "silu(gate) * value");
}
