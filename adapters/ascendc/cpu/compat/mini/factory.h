// Mini torch, part 4: the functions that make tensors, and the free functions that forward to Python.
#ifndef OPMEND_MINI_FACTORY_H
#define OPMEND_MINI_FACTORY_H

#include "tensor.h"

namespace at {

inline Tensor MakeTensor(const char *name, const py::tuple &arguments, const TensorOptions &options)
{
    return Tensor(TorchAttribute(name)(*arguments, **options.Keywords()));
}
inline Tensor empty(IntArrayRef shape, TensorOptions options = {}) { return MakeTensor("empty", py::make_tuple(ToPython(shape)), options); }
inline Tensor zeros(IntArrayRef shape, TensorOptions options = {}) { return MakeTensor("zeros", py::make_tuple(ToPython(shape)), options); }
inline Tensor ones(IntArrayRef shape, TensorOptions options = {}) { return MakeTensor("ones", py::make_tuple(ToPython(shape)), options); }
inline Tensor full(IntArrayRef shape, Scalar value, TensorOptions options = {})
{
    return MakeTensor("full", py::make_tuple(ToPython(shape), ToPython(value)), options);
}
inline Tensor arange(Scalar end, TensorOptions options = {}) { return MakeTensor("arange", py::make_tuple(ToPython(end)), options); }
inline Tensor empty_like(const Tensor &like, TensorOptions options = {}) { return MakeTensor("empty_like", py::make_tuple(ToPython(like)), options); }
inline Tensor zeros_like(const Tensor &like, TensorOptions options = {}) { return MakeTensor("zeros_like", py::make_tuple(ToPython(like)), options); }
inline Tensor ones_like(const Tensor &like, TensorOptions options = {}) { return MakeTensor("ones_like", py::make_tuple(ToPython(like)), options); }
inline Tensor full_like(const Tensor &like, Scalar value, TensorOptions options = {})
{
    return MakeTensor("full_like", py::make_tuple(ToPython(like), ToPython(value)), options);
}
inline Tensor cat(const std::vector<Tensor> &parts, int64_t axis = 0) { return MakeTensor("cat", py::make_tuple(ToPython(parts), axis), {}); }
inline Tensor stack(const std::vector<Tensor> &parts, int64_t axis = 0) { return MakeTensor("stack", py::make_tuple(ToPython(parts), axis), {}); }
inline Tensor constant_pad_nd(const Tensor &input, IntArrayRef pad, Scalar value = 0)
{
    return MakeTensor("constant_pad_nd", py::make_tuple(ToPython(input), ToPython(pad), ToPython(value)), {});
}

inline Tensor scalar_tensor(Scalar value, TensorOptions options = {})
{
    return MakeTensor("scalar_tensor", py::make_tuple(ToPython(value)), options);
}

// Does not own or copy the memory, as in torch.
inline Tensor from_blob(void *data, IntArrayRef shape, TensorOptions options = {})
{
    int64_t count = 1;
    for (const int64_t size : shape) {
        count *= size;
    }
    const TensorOptions typed = options.dtype(options.dtype().toScalarType());
    if (count == 0) {
        return empty(shape, typed);
    }
    const auto bytes = static_cast<py::ssize_t>(count) * static_cast<py::ssize_t>(options.dtype().itemsize());
    return MakeTensor("frombuffer", py::make_tuple(py::memoryview::from_memory(data, bytes)), typed).reshape(shape);
}

// Without a dtype: float for floating point values, 64-bit integers for integers, as in torch.
template <typename T>
Tensor tensor(const std::vector<T> &values, TensorOptions options = {})
{
    const ScalarType natural = std::is_same_v<T, bool> ? kBool : std::is_floating_point_v<T> ? kFloat : kLong;
    return MakeTensor("tensor", py::make_tuple(ToPython(values)), options.has_dtype() ? options : options.dtype(natural));
}
template <typename T>
Tensor tensor(std::initializer_list<T> values, TensorOptions options = {})
{
    return tensor(std::vector<T>(values), options);
}
template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
Tensor tensor(T value, TensorOptions options = {})
{
    return tensor(std::vector<T>{value}, options).reshape(IntArrayRef{});
}

#define OPMEND_MINI_FUNCTION(name)                                                   \
    template <typename... A>                                                         \
    Tensor name(const Tensor &self, const A &...arguments)                           \
    {                                                                                \
        return Tensor(TorchAttribute(#name)(ToPython(self), ToPython(arguments)...)); \
    }
OPMEND_MINI_FORWARDED_FUNCTIONS(OPMEND_MINI_FUNCTION)
#undef OPMEND_MINI_FUNCTION
#define OPMEND_MINI_FUNCTION(name)                                                                           \
    template <typename... A>                                                                                 \
    Tensor name(const A &...)                                                                                \
    {                                                                                                        \
        static_assert(opmend_mini::kNever<A...>, "at::" #name " is not supported by the CPU binding yet");   \
        return {};                                                                                           \
    }
OPMEND_MINI_UNSUPPORTED_FUNCTIONS(OPMEND_MINI_FUNCTION)
#undef OPMEND_MINI_FUNCTION

}  // namespace at

namespace torch {
using Dtype = at::ScalarType;
using namespace at;
}  // namespace torch

#endif
