#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "swish_tiling.h"

extern "C" void launch_swish_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);
extern "C" void launch_swish_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling);

namespace {

uint8_t *DevicePtr(const at::Tensor &tensor)
{
    return static_cast<uint8_t *>(const_cast<void *>(tensor.storage().data()));
}

at::Tensor RunSwish(const at::Tensor &x, double beta)
{
    TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kHalf, "x must be float32 or float16");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");

    at::Tensor y = at::empty_like(x);
    const uint32_t total = static_cast<uint32_t>(x.numel());
    if (total == 0) {
        return y;
    }

    const uint32_t share = (total + SWISH_MAX_CORES - 1) / SWISH_MAX_CORES;
    const uint32_t coreLength = (share + SWISH_CORE_ALIGN - 1) / SWISH_CORE_ALIGN * SWISH_CORE_ALIGN;
    const uint32_t blockDim = (total + coreLength - 1) / coreLength;

    at::Tensor tilingCpu = at::empty({static_cast<int64_t>(sizeof(SwishTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = reinterpret_cast<SwishTiling *>(tilingCpu.data_ptr());
    tiling->totalLength = total;
    tiling->coreLength = coreLength;
    tiling->tileLength = std::min(coreLength, SWISH_TILE_LENGTH);
    tiling->beta = static_cast<float>(beta);
    at::Tensor tilingNpu = tilingCpu.to(at::kPrivateUse1);

    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    if (x.scalar_type() == at::kFloat) {
        launch_swish_fp32(blockDim, stream, DevicePtr(x), DevicePtr(y), DevicePtr(tilingNpu));
    } else {
        launch_swish_fp16(blockDim, stream, DevicePtr(x), DevicePtr(y), DevicePtr(tilingNpu));
    }
    return y;
}

}  // namespace

PYBIND11_MODULE(_swish_ext, m)
{
    m.def("run_swish", &RunSwish, "swish(x, beta)");
}
