#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "head_rms_norm_tiling.h"

using LaunchFn = void (*)(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint8_t *);

extern "C" void head_rms_norm_do_fp32(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint8_t *);
extern "C" void head_rms_norm_do_fp16(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint8_t *);
extern "C" void head_rms_norm_do_bf16(uint32_t, void *, uint8_t *, uint8_t *, uint8_t *, uint8_t *);

namespace head_rms_norm_ext {

constexpr uint32_t MAX_CORES = 40;
constexpr uint32_t MAX_HIDDEN = 1024;
constexpr uint32_t TILE_ELEMS = 4096;
constexpr uint32_t TILE_ROWS = 64;

LaunchFn SelectLaunch(at::ScalarType dtype)
{
    if (dtype == at::kFloat) {
        return head_rms_norm_do_fp32;
    }
    if (dtype == at::kHalf) {
        return head_rms_norm_do_fp16;
    }
    TORCH_CHECK(dtype == at::kBFloat16, "x must be float32, float16 or bfloat16");
    return head_rms_norm_do_bf16;
}

at::Tensor run_head_rms_norm(const at::Tensor &x, const at::Tensor &gamma, double eps)
{
    TORCH_CHECK(x.dim() == 2, "x must be [rows, hidden]");
    TORCH_CHECK(gamma.dim() == 1 && gamma.size(0) == x.size(1), "gamma must be [hidden]");
    TORCH_CHECK(gamma.scalar_type() == x.scalar_type(), "x and gamma must have the same dtype");
    TORCH_CHECK(x.is_contiguous() && gamma.is_contiguous(), "inputs must be contiguous");
    TORCH_CHECK(x.size(1) % 8 == 0, "hidden must be a multiple of 8");
    TORCH_CHECK(x.size(1) > 0 && x.size(1) <= MAX_HIDDEN, "hidden must be in (0, 1024]");
    LaunchFn launch = SelectLaunch(x.scalar_type());

    at::Tensor y = at::empty_like(x);
    const uint32_t rows = static_cast<uint32_t>(x.size(0));
    const uint32_t hidden = static_cast<uint32_t>(x.size(1));
    if (rows == 0) {
        return y;
    }

    const uint32_t rowsPerCore = ((rows + MAX_CORES - 1) / MAX_CORES + 7) / 8 * 8;
    const uint32_t blockDim = (rows + rowsPerCore - 1) / rowsPerCore;

    at::Tensor tilingCpu = at::empty(
        {static_cast<int64_t>(sizeof(HeadRmsNormTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = reinterpret_cast<HeadRmsNormTiling *>(tilingCpu.data_ptr());
    tiling->rows = rows;
    tiling->hidden = hidden;
    tiling->rowsPerCore = rowsPerCore;
    tiling->rowsPerTile = std::min({rowsPerCore, TILE_ROWS, TILE_ELEMS / hidden});
    tiling->invHidden = 1.0f / static_cast<float>(hidden);
    tiling->eps = static_cast<float>(eps);
    at::Tensor tilingNpu = tilingCpu.to(at::kPrivateUse1);

    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    launch(
        blockDim,
        stream,
        static_cast<uint8_t *>(const_cast<void *>(x.storage().data())),
        static_cast<uint8_t *>(const_cast<void *>(gamma.storage().data())),
        static_cast<uint8_t *>(const_cast<void *>(y.storage().data())),
        static_cast<uint8_t *>(const_cast<void *>(tilingNpu.storage().data())));
    return y;
}

}  // namespace head_rms_norm_ext

PYBIND11_MODULE(_head_rms_norm_ext, m)
{
    m.doc() = "RMS norm over the head dimension";
    m.def("run_head_rms_norm", &head_rms_norm_ext::run_head_rms_norm, "");
}
