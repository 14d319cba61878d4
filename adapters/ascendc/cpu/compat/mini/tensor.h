// Mini torch, part 3: at::Tensor as a handle on a Python torch.Tensor.
//
// Whenever a pointer leaves a tensor, the exact extent of its storage is registered with the device runtime, which
// can then tell an access past the end. Methods forward to Python, so a torch dispatch mode in the process sees every
// operation, also those called from C++.
#ifndef OPMEND_MINI_TENSOR_H
#define OPMEND_MINI_TENSOR_H

#include "names.h"
#include "options.h"

extern "C" void opmend_gm_register(const void *base, uint64_t nbytes);

namespace at {

class Tensor;
template <typename T>
py::object ToPython(const T &value);

/// Elements of a tensor by index, without bounds checks, as in torch.
template <typename T, size_t N>
class TensorAccessor {
public:
    TensorAccessor(T *data, std::vector<int64_t> sizes, std::vector<int64_t> strides, size_t axis)
        : data_(data), sizes_(std::move(sizes)), strides_(std::move(strides)), axis_(axis)
    {
    }
    int64_t size(int64_t axis) const { return sizes_.at(axis_ + static_cast<size_t>(axis)); }
    decltype(auto) operator[](int64_t index) const
    {
        T *at = data_ + index * strides_.at(axis_);
        if constexpr (N == 1) {
            return *at;
        } else {
            return TensorAccessor<T, N - 1>(at, sizes_, strides_, axis_ + 1);
        }
    }

private:
    T *data_;
    std::vector<int64_t> sizes_, strides_;
    size_t axis_;
};

class Tensor {
public:
    Tensor() = default;
    explicit Tensor(py::object object) : object_(std::move(object)) {}
    const py::object &object() const { return object_; }

    bool defined() const { return object_ && !object_.is_none(); }
    IntArrayRef sizes() const { return Kept(sizes_, Get("shape")); }
    IntArrayRef strides() const { return Kept(strides_, Call("stride")); }
    int64_t size(int64_t axis) const { return Call("size", axis).cast<int64_t>(); }
    int64_t stride(int64_t axis) const { return Call("stride", axis).cast<int64_t>(); }
    int64_t dim() const { return Call("dim").cast<int64_t>(); }
    int64_t ndimension() const { return dim(); }
    int64_t numel() const { return Call("numel").cast<int64_t>(); }
    int64_t element_size() const { return Call("element_size").cast<int64_t>(); }
    int64_t itemsize() const { return element_size(); }
    size_t nbytes() const { return static_cast<size_t>(numel() * element_size()); }
    int64_t storage_offset() const { return Call("storage_offset").cast<int64_t>(); }
    ScalarType scalar_type() const { return FromDtype(Get("dtype")); }
    TypeMeta dtype() const { return scalar_type(); }
    TensorOptions options() const { return {scalar_type()}; }
    Device device() const { return {}; }
    Layout layout() const { return kStrided; }
    DeviceIndex get_device() const { return 0; }
    bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return Call("is_contiguous").cast<bool>(); }
    bool is_cpu() const { return true; }
    bool is_privateuseone() const { return true; }
    bool is_cuda() const { return false; }
    bool is_floating_point() const { return isFloatingType(scalar_type()); }
    bool is_same(const Tensor &other) const { return object_.is(other.object_); }
    bool requires_grad() const { return Get("requires_grad").cast<bool>(); }

    Storage storage() const
    {
        const py::object storage = Call("untyped_storage");
        auto *base = reinterpret_cast<void *>(storage.attr("data_ptr")().cast<uintptr_t>());
        const auto bytes = storage.attr("nbytes")().cast<size_t>();
        if (base != nullptr && bytes != 0) {
            opmend_gm_register(base, bytes);
            // Kept for good: while the device's report may name this address, no other tensor gets it.
            static auto *seen = new std::vector<py::object>;
            seen->push_back(storage);
        }
        return {base, bytes};
    }
    void *data_ptr() const
    {
        storage();
        return reinterpret_cast<void *>(Call("data_ptr").cast<uintptr_t>());
    }
    template <typename T>
    T *data_ptr() const
    {
        const ScalarType wanted = CppTypeToScalarType<std::remove_const_t<T>>::value;
        TORCH_CHECK(scalar_type() == wanted, "expected scalar type ", wanted, " but found ", scalar_type());
        return static_cast<T *>(data_ptr());
    }
    void *mutable_data_ptr() const { return data_ptr(); }
    const void *const_data_ptr() const { return data_ptr(); }
    template <typename T>
    T *mutable_data_ptr() const
    {
        return data_ptr<T>();
    }
    template <typename T>
    const T *const_data_ptr() const
    {
        return data_ptr<T>();
    }
    template <typename T>
    T *data() const  // the old name of data_ptr<T>()
    {
        return data_ptr<T>();
    }
    template <typename T>
    T item() const
    {
        return Call("item").cast<T>();
    }
    Scalar item() const
    {
        const py::object value = Call("item");
        if (py::isinstance<py::bool_>(value)) {
            return value.cast<bool>();
        }
        return py::isinstance<py::int_>(value) ? Scalar(value.cast<int64_t>()) : Scalar(value.cast<double>());
    }
    template <typename T, size_t N>
    TensorAccessor<T, N> accessor() const
    {
        TORCH_CHECK(dim() == static_cast<int64_t>(N), "expected ", N, " dims but tensor has ", dim());
        return {data_ptr<T>(), sizes().vec(), strides().vec(), 0};
    }

    // Between devices torch copies; here both are host memory, so a move is a copy that later writes do not reach.
    Tensor to(Device, bool = false, bool = false) const { return Tensor(Call("clone")); }
    Tensor to(DeviceType, bool = false, bool = false) const { return Tensor(Call("clone")); }
    Tensor to(ScalarType type, bool = false, bool = false) const { return Tensor(Call("to", type)); }
    Tensor to(TypeMeta type, bool = false, bool = false) const { return to(type.toScalarType()); }
    Tensor to(Device, ScalarType type, bool = false, bool = false) const { return Tensor(Call("clone")).to(type); }
    Tensor to(const TensorOptions &options, bool = false, bool = false) const
    {
        return options.has_dtype() ? Tensor(Call("clone")).to(options.dtype()) : Tensor(Call("clone"));
    }
    Tensor cpu() const { return Tensor(Call("clone")); }
    Tensor toType(ScalarType type) const { return to(type); }
    Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const { return Tensor(Call("contiguous")); }
    Tensor view(IntArrayRef shape) const { return Tensor(Call("view", shape)); }
    Tensor view(ScalarType type) const { return Tensor(Call("view", type)); }
    Tensor reshape(IntArrayRef shape) const { return Tensor(Call("reshape", shape)); }
    Tensor permute(IntArrayRef axes) const { return Tensor(Call("permute", axes)); }
    Tensor expand(IntArrayRef shape) const { return Tensor(Call("expand", shape)); }
    Tensor repeat(IntArrayRef counts) const { return Tensor(Call("repeat", counts)); }
    Tensor new_empty(IntArrayRef shape, TensorOptions options = {}) const { return New("new_empty", shape, options); }
    Tensor new_zeros(IntArrayRef shape, TensorOptions options = {}) const { return New("new_zeros", shape, options); }
    Tensor slice(int64_t axis, std::optional<int64_t> start, std::optional<int64_t> end = std::nullopt, int64_t step = 1) const
    {
        TORCH_CHECK(step == 1, "Tensor::slice with a step is not supported by the CPU binding yet");
        const int64_t length = size(axis), from = Wrap(start.value_or(0), length), upto = Wrap(end.value_or(length), length);
        return Tensor(Call("narrow", axis, from, upto > from ? upto - from : 0));
    }
    Tensor operator[](int64_t index) const { return Tensor(Call("select", 0, index)); }

#define OPMEND_MINI_METHOD(name)                                    \
    template <typename... A>                                        \
    Tensor name(const A &...arguments) const                        \
    {                                                               \
        return Tensor(Call(#name, arguments...));                   \
    }
    OPMEND_MINI_FORWARDED_METHODS(OPMEND_MINI_METHOD)
#undef OPMEND_MINI_METHOD
#define OPMEND_MINI_METHOD(name)                                                                                     \
    template <typename... A>                                                                                         \
    Tensor name(const A &...) const                                                                                  \
    {                                                                                                                \
        static_assert(opmend_mini::kNever<A...>, "at::Tensor::" #name " is not supported by the CPU binding yet");   \
        return {};                                                                                                   \
    }
    OPMEND_MINI_UNSUPPORTED_METHODS(OPMEND_MINI_METHOD)
#undef OPMEND_MINI_METHOD

    template <typename... A>
    py::object Call(const char *name, const A &...arguments) const
    {
        return Get(name)(ToPython(arguments)...);
    }

private:
    py::object Get(const char *name) const
    {
        TORCH_CHECK(defined(), "Tensor::", name, " was called on an undefined tensor");
        return object_.attr(name);
    }
    Tensor New(const char *name, const IntArrayRef &shape, const TensorOptions &options) const
    {
        return Tensor(Get(name)(ToPython(shape), **options.Keywords()));
    }
    static int64_t Wrap(int64_t index, int64_t length)
    {
        const int64_t shifted = index < 0 ? index + length : index;
        return shifted < 0 ? 0 : shifted > length ? length : shifted;
    }

    using Numbers = std::shared_ptr<const std::vector<int64_t>>;
    /// What Python says now; the list given before where it says the same.
    static IntArrayRef Kept(Numbers &kept, const py::object &now)
    {
        auto numbers = now.cast<std::vector<int64_t>>();
        if (kept == nullptr || *kept != numbers) {
            kept = std::make_shared<const std::vector<int64_t>>(std::move(numbers));
        }
        return kept;
    }

    py::object object_;
    mutable Numbers sizes_, strides_;
};
using TensorList = ArrayRef<Tensor>;

template <typename T>
struct PythonValue {
    static py::object From(const T &value) { return py::cast(value); }
};
template <>
struct PythonValue<Tensor> {
    static py::object From(const Tensor &value) { return value.defined() ? value.object() : py::none(); }
};
template <>
struct PythonValue<ScalarType> {
    static py::object From(ScalarType value) { return ToDtype(value); }
};
template <>
struct PythonValue<Scalar> {
    static py::object From(const Scalar &value)
    {
        if (value.isBoolean()) {
            return py::bool_(value.toBool());
        }
        return value.isFloatingPoint() ? py::object(py::float_(value.toDouble())) : py::object(py::int_(value.toLong()));
    }
};
template <typename T>
struct PythonList {
    static py::object From(const T &items)
    {
        py::list list;
        for (const auto &item : items) {
            list.append(ToPython(item));
        }
        return list;
    }
};
template <typename T>
struct PythonValue<ArrayRef<T>> : PythonList<ArrayRef<T>> {};
template <typename T>
struct PythonValue<std::vector<T>> : PythonList<std::vector<T>> {};
template <typename T>
struct PythonValue<std::optional<T>> {
    static py::object From(const std::optional<T> &value) { return value ? ToPython(*value) : py::none(); }
};
template <typename T>
py::object ToPython(const T &value)
{
    return PythonValue<T>::From(value);
}

}  // namespace at

#endif
