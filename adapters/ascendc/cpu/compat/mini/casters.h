// Mini torch, part 6: what crosses between Python and C++ (tensors, dtypes, scalars, integer lists, devices).
#ifndef OPMEND_MINI_CASTERS_H
#define OPMEND_MINI_CASTERS_H

#include "factory.h"

namespace pybind11::detail {

template <>
struct type_caster<at::Tensor> {
    PYBIND11_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"));
    bool load(handle source, bool)
    {
        if (!isinstance(source, at::TorchAttribute("Tensor"))) {
            return false;
        }
        value = at::Tensor(reinterpret_borrow<object>(source));
        return true;
    }
    static handle cast(const at::Tensor &tensor, return_value_policy, handle) { return at::ToPython(tensor).release(); }
};

template <>
struct type_caster<c10::ScalarType> {
    PYBIND11_TYPE_CASTER(c10::ScalarType, const_name("torch.dtype"));
    bool load(handle source, bool)
    {
        if (!isinstance(source, at::TorchAttribute("dtype"))) {
            return false;
        }
        value = at::FromDtype(source);
        return true;
    }
    static handle cast(c10::ScalarType type, return_value_policy, handle) { return at::ToDtype(type).release(); }
};

template <>
struct type_caster<c10::Scalar> {
    PYBIND11_TYPE_CASTER(c10::Scalar, const_name("Number"));
    bool load(handle source, bool)
    {
        if (isinstance<bool_>(source)) {
            value = c10::Scalar(source.cast<bool>());
        } else if (isinstance<int_>(source)) {
            value = c10::Scalar(source.cast<int64_t>());
        } else if (isinstance<float_>(source)) {
            value = c10::Scalar(source.cast<double>());
        } else {
            return false;
        }
        return true;
    }
    static handle cast(const c10::Scalar &scalar, return_value_policy, handle) { return at::ToPython(scalar).release(); }
};

template <typename T>
struct type_caster<c10::ArrayRef<T>> {
    PYBIND11_TYPE_CASTER(c10::ArrayRef<T>, const_name("list[") + make_caster<T>::name + const_name("]"));
    bool load(handle source, bool convert)
    {
        make_caster<std::vector<T>> items;
        if (!items.load(source, convert)) {
            return false;
        }
        value = c10::ArrayRef<T>(cast_op<std::vector<T> &>(items));
        return true;
    }
    static handle cast(const c10::ArrayRef<T> &items, return_value_policy, handle) { return at::ToPython(items).release(); }
};

template <>
struct type_caster<c10::Device> {
    PYBIND11_TYPE_CASTER(c10::Device, const_name("torch.device"));
    bool load(handle source, bool) { return isinstance(source, at::TorchAttribute("device")); }
    static handle cast(const c10::Device &, return_value_policy, handle) { return at::TorchAttribute("device")("cpu").release(); }
};

}  // namespace pybind11::detail

#endif
