// Stands for NPUKernelBench's pytorch_npu_helper.hpp: EXEC_NPU_CMD(aclnnX, args...) becomes a call of the operator's
// host library (host/launcher.cpp), which tiles and launches the kernel on the CPU device.
#ifndef OPMEND_PYTORCH_NPU_HELPER_H
#define OPMEND_PYTORCH_NPU_HELPER_H

#include <algorithm>

#include <torch/extension.h>

#include "../host/opmend/call.h"
#include "acl/acl.h"

#undef EXEC_NPU_CMD
#define EXEC_NPU_CMD(name, ...) ::opmend_npu::Execute(#name, __VA_ARGS__)

/// The handle that ConvertType makes of a list of integers. Bindings never free it; neither does this one.
struct aclIntArray {
    std::vector<int64_t> values;
};
inline aclIntArray *ConvertType(const at::IntArrayRef &values) { return new aclIntArray{values.vec()}; }

/// A tensor of one element as the scalar that aclnn takes.
inline at::Scalar ConvertTensorToAclScaler(const at::Tensor &tensor) { return tensor.item(); }

namespace at {

/// The shape that two shapes broadcast to.
inline std::vector<int64_t> infer_size(const IntArrayRef &a, const IntArrayRef &b)
{
    std::vector<int64_t> shape(std::max(a.size(), b.size()));
    for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1, right = i < b.size() ? b[b.size() - 1 - i] : 1;
        TORCH_CHECK(left == right || left == 1 || right == 1, "shapes ", a, " and ", b, " do not broadcast");
        shape[shape.size() - 1 - i] = left == 1 ? right : left;
    }
    return shape;
}

}  // namespace at

namespace opmend_npu {

using opmend_call::Argument;
using Kind = Argument::Kind;

/// torch's ScalarType as the graph engine's DataType.
inline int DataTypeOf(at::ScalarType type)
{
    switch (type) {
        case at::ScalarType::Float: return 0;
        case at::ScalarType::Half: return 1;
        case at::ScalarType::Char: return 2;
        case at::ScalarType::Int: return 3;
        case at::ScalarType::Byte: return 4;
        case at::ScalarType::Short: return 6;
        case at::ScalarType::UInt16: return 7;
        case at::ScalarType::UInt32: return 8;
        case at::ScalarType::Long: return 9;
        case at::ScalarType::UInt64: return 10;
        case at::ScalarType::Double: return 11;
        case at::ScalarType::Bool: return 12;
        case at::ScalarType::ComplexFloat: return 16;
        case at::ScalarType::ComplexDouble: return 17;
        case at::ScalarType::BFloat16: return 27;
        default: return 28;
    }
}

/// Owns what must live until the call returns: contiguous copies of tensors that are not contiguous.
class Arguments {
public:
    void Add(const at::Tensor &tensor) { Push(Kind::Tensor).tensors.push_back(Describe(tensor)); }
    void Add(const std::optional<at::Tensor> &tensor) { Add(tensor ? *tensor : at::Tensor()); }
    void Add(const at::TensorList &list) { AddList(list); }
    void Add(const std::vector<at::Tensor> &list) { AddList(list); }
    void Add(bool value) { Push(Kind::Bool).integer = value; }
    void Add(const char *value) { Push(Kind::Text).text = value; }
    void Add(char *value) { Push(Kind::Text).text = value; }
    void Add(const std::string &value) { Push(Kind::Text).text = value; }
    void Add(const at::IntArrayRef &values) { Push(Kind::IntList).integers = values.vec(); }
    void Add(const std::vector<int64_t> &values) { Push(Kind::IntList).integers = values; }
    void Add(const aclIntArray *array)
    {
        if (array != nullptr) {
            Push(Kind::IntList).integers = array->values;
        } else {
            Push(Kind::Tensor).tensors.emplace_back();
        }
    }
    void Add(const at::ArrayRef<double> &values) { Push(Kind::RealList).reals = values.vec(); }
    void Add(const std::vector<double> &values) { Push(Kind::RealList).reals = values; }
    void Add(const std::vector<float> &values) { Push(Kind::RealList).reals.assign(values.begin(), values.end()); }
    void Add(const at::ArrayRef<at::Scalar> &values)
    {
        Argument &made = Push(Kind::ScalarList);
        for (const at::Scalar &value : values) {
            made.reals.push_back(value.toDouble());
        }
    }
    void Add(const std::vector<at::Scalar> &values) { Add(at::ArrayRef<at::Scalar>(values)); }
    void Add(const at::Scalar &value)
    {
        Argument &made = Push(Kind::Scalar);
        made.whole = !value.isFloatingPoint();
        made.integer = value.toLong();
        made.real = value.toDouble();
    }
    void Add(at::ScalarType type) { Push(Kind::Int).integer = DataTypeOf(type); }
    void Add(std::nullopt_t) { Push(Kind::Tensor).tensors.emplace_back(); }
    void Add(std::nullptr_t) { Push(Kind::Tensor).tensors.emplace_back(); }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    void Add(T value)
    {
        Argument &made = Push(std::is_floating_point_v<T> ? Kind::Real : Kind::Int);
        made.integer = static_cast<int64_t>(value);
        made.real = static_cast<double>(value);
    }
    template <class T>
    void Add(const std::optional<T> &value)
    {
        if (value) {
            Add(*value);
        } else {
            Push(Kind::Tensor).tensors.emplace_back();
        }
    }
    const std::vector<Argument> &list() const { return arguments_; }

private:
    Argument &Push(Kind kind)
    {
        arguments_.emplace_back();
        arguments_.back().kind = kind;
        return arguments_.back();
    }
    template <class List>
    void AddList(const List &list)
    {
        Argument &made = Push(Kind::TensorList);
        for (const at::Tensor &tensor : list) {
            made.tensors.push_back(Describe(tensor));
        }
    }
    opmend_call::Tensor Describe(const at::Tensor &given)
    {
        opmend_call::Tensor made;
        if (!given.defined()) {
            return made;
        }
        const at::Tensor tensor = given.is_contiguous() ? given : given.contiguous();
        kept_.push_back(tensor);
        made.defined = true;
        made.data = tensor.data_ptr();
        made.type = DataTypeOf(tensor.scalar_type());
        made.dims = tensor.sizes().vec();
        return made;
    }

    std::vector<Argument> arguments_;
    std::vector<at::Tensor> kept_;
};

template <class... Args>
void Execute(const char *name, Args &&...args)
{
    Arguments arguments;
    (arguments.Add(args), ...);
    opmend_host_run(name, arguments.list());
}

}  // namespace opmend_npu

#endif
