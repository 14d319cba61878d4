// Everything that realistic bindings do with tensors, one function each; compared with Python torch by test_binding.py.
#include <ATen/ATen.h>
#include <acl/acl.h>
#include <c10/util/Optional.h>
#include <torch/extension.h>
#include <torch_npu/csrc/core/npu/NPUGuard.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>

#include "tiling/platform/platform_ascendc.h"

namespace {

std::string Describe(const at::Tensor &x)
{
    std::ostringstream text;
    text << x.sizes() << x.strides() << x.dim() << ' ' << x.numel() << ' ' << x.element_size() << ' ' << x.nbytes() << ' '
         << x.storage_offset() << ' ' << x.is_contiguous() << ' ' << x.scalar_type() << ' ' << x.dtype() << ' ' << x.size(-1);
    return text.str();
}

std::vector<at::Tensor> Make(const at::Tensor &x, int64_t n)
{
    const int m = 2;
    std::vector<int64_t> shape = {n, 3};
    auto options = torch::TensorOptions().dtype(torch::kInt32).device(x.device());
    return {at::empty({m, n}, x.options()), torch::zeros(shape, options), at::full({n}, 1.5, at::kHalf), at::ones({2}, at::kBFloat16),
            at::zeros_like(x, x.options().dtype(at::kLong)), torch::empty(x.sizes(), at::device(at::kPrivateUse1).dtype(at::kByte)),
            at::empty({0}, x.options()), x.new_zeros({2, 2}), at::full_like(x, 3), torch::arange(n, at::kInt)};
}

std::vector<at::Tensor> Shape(const at::Tensor &x)
{
    return {x.view({-1}), x.reshape({3, 2}).contiguous(), x.transpose(0, 1), x.permute({1, 0}).contiguous(), x.unsqueeze(0).squeeze(0),
            x.flatten(), x.narrow(1, 1, 2), x.slice(1, 1, -1), x[1], x.expand({2, 2, 3}), x.to(at::kHalf), x.to(x.options().dtype(at::kDouble)),
            x.cpu(), x.clone(), at::cat({x, x}, 1), at::stack({x, x}), at::constant_pad_nd(x, {0, 5}, 1)};
}

at::Tensor Scale(const at::Tensor &x, const c10::optional<at::Tensor> &bias, const at::Scalar &factor, c10::optional<double> add,
                 at::IntArrayRef shape, bool inPlace)
{
    auto y = inPlace ? x : x.clone();
    y.mul_(factor);
    if (bias.has_value() && bias->defined()) {
        y.add_(*bias);
    }
    return (add ? at::add(y, *add) : y).view(shape);
}

double First(const at::Tensor &x)
{
    double first = 0;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "first", [&] {
        first = static_cast<double>(*x.const_data_ptr<scalar_t>());
    });
    return first;
}

bool Device(const at::Tensor &x)
{
    c10_npu::NPUGuard guard(x.device());
    uint64_t ub = 0;
    platform_ascendc::PlatformAscendCManager::GetInstance()->GetCoreMemSize(platform_ascendc::CoreMemType::UB, ub);
    void *memory = nullptr;
    TORCH_CHECK(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS, "malloc");
    const bool poisoned = static_cast<uint8_t *>(memory)[99] == 0xFF;
    aclrtFree(memory);
    aclrtStream stream = c10_npu::getCurrentNPUStream();
    return poisoned && ub == 196608 && stream != nullptr && x.device().type() == at::kPrivateUse1 && x.is_privateuseone() &&
           x.device() == at::Device(at::kPrivateUse1) && !x.is_cuda() && aclrtSynchronizeStream(stream) == ACL_SUCCESS;
}

std::vector<at::Tensor> FromHost(const at::Tensor &x)
{
    struct Tiling {
        int32_t rows, columns;
        float eps;
    } tiling{2, 3, 0.5F};
    std::vector<int32_t> shape = {2, 3};
    return {torch::from_blob(&tiling, {static_cast<int64_t>(sizeof(tiling))}, at::kByte).to(at::kPrivateUse1),
            at::from_blob(shape.data(), {1, 2}, torch::kInt32).clone(), at::from_blob(nullptr, {0}, at::kHalf),
            torch::tensor(shape, torch::kInt32), torch::tensor({1.5, 2.5}), torch::tensor(7), at::scalar_tensor(2, x.options()),
            at::full({1}, x[0][1].item()), at::full({1}, x[0][2].item<float>())};
}

void Fail(const at::Tensor &x) { TORCH_CHECK(x.dim() == 7); }

}  // namespace

/// Sizes and strides taken as ranges and as addresses: both belong to the tensor and live as long.
std::vector<int64_t> Spans(const at::Tensor &x)
{
    std::vector<int64_t> out(x.sizes().begin(), x.sizes().end());
    out.insert(out.end(), x.strides().begin(), x.strides().end());
    const int64_t *sizes = x.sizes().data();
    out.insert(out.end(), sizes, sizes + x.dim());
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("describe", &Describe);
    m.def("make", &Make, py::arg("x"), py::arg("n"));
    m.def("shape", &Shape);
    m.def("scale", &Scale, py::arg("x"), py::arg("bias") = py::none(), py::arg("factor") = 1, py::arg("add") = py::none(),
          py::arg("shape") = std::vector<int64_t>{-1}, py::arg("in_place") = false);
    m.def("first", &First);
    m.def("device", &Device);
    m.def("from_host", &FromHost);
    m.def("fail", &Fail);
    m.def("spans", &Spans);
}
