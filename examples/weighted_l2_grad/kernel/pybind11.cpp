#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "weighted_l2_grad_tiling.h"

extern "C" void weighted_l2_grad_do_fp32(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *weight, uint8_t *grad, uint8_t *tiling);
extern "C" void weighted_l2_grad_do_fp16(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *weight, uint8_t *grad, uint8_t *tiling);

namespace weighted_l2_grad_ext {

constexpr int64_t CORE_NUM = 40;
constexpr int64_t MAX_TILE_LENGTH = 4096;
constexpr int64_t LENGTH_ALIGN = 64;

inline int64_t AlignUp(int64_t value, int64_t align)
{
    return (value + align - 1) / align * align;
}

inline uint8_t *RawPointer(const at::Tensor &t)
{
    return static_cast<uint8_t *>(const_cast<void *>(t.storage().data()));
}

at::Tensor weighted_l2_grad(const at::Tensor &x, const at::Tensor &weight)
{
    TORCH_CHECK(x.dim() >= 1, "x must have at least one dimension");
    TORCH_CHECK(x.sizes() == weight.sizes(), "x and weight must have the same shape");
    TORCH_CHECK(x.scalar_type() == weight.scalar_type(), "x and weight must have the same dtype");
    TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kHalf, "dtype must be float32 or float16");
    TORCH_CHECK(x.is_contiguous() && weight.is_contiguous(), "inputs must be contiguous");

    at::Tensor grad = at::empty_like(x);
    const int64_t total = x.numel();
    if (total == 0) {
        return grad;
    }

    const int64_t formerLength = AlignUp((total + CORE_NUM - 1) / CORE_NUM, LENGTH_ALIGN);
    const int64_t formerNum = total / formerLength;
    const int64_t tailLength = total - formerNum * formerLength;
    const uint32_t blockDim = static_cast<uint32_t>(formerNum + (tailLength > 0 ? 1 : 0));

    at::Tensor tilingCpu = at::empty(
        {static_cast<long>(sizeof(WeightedL2GradTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = reinterpret_cast<WeightedL2GradTiling *>(tilingCpu.data_ptr());
    tiling->formerNum = static_cast<uint32_t>(formerNum);
    tiling->formerLength = static_cast<uint32_t>(formerLength);
    tiling->tailLength = static_cast<uint32_t>(tailLength);
    tiling->tileLength = static_cast<uint32_t>(std::min(MAX_TILE_LENGTH, formerLength));
    tiling->totalLength = static_cast<uint32_t>(total);
    tiling->scale = 2.0f / static_cast<float>(x.size(x.dim() - 1));
    auto tilingNpu = tilingCpu.to(at::kPrivateUse1);

    auto aclStream = c10_npu::getCurrentNPUStream().stream(false);
    auto launch = x.scalar_type() == at::kHalf ? weighted_l2_grad_do_fp16 : weighted_l2_grad_do_fp32;
    launch(blockDim, aclStream, RawPointer(x), RawPointer(weight), RawPointer(grad), RawPointer(tilingNpu));
    return grad;
}

}  // namespace weighted_l2_grad_ext

PYBIND11_MODULE(_weighted_l2_grad_ext, m)
{
    m.doc() = "gradient of the weighted mean-square penalty";
    m.def("weighted_l2_grad", &weighted_l2_grad_ext::weighted_l2_grad, "");
}
