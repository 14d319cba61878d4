// Mini torch, part 2: dtypes in Python's words, tensor options, storages.
#ifndef OPMEND_MINI_OPTIONS_H
#define OPMEND_MINI_OPTIONS_H

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "core.h"

namespace at {

using namespace c10;
namespace py = pybind11;

inline py::object TorchAttribute(const char *name) { return py::module_::import("torch").attr(name); }
inline py::object ToDtype(ScalarType type) { return TorchAttribute(InfoOf(type).pythonName); }
inline ScalarType FromDtype(py::handle dtype)
{
    const std::string text = py::str(dtype);
    for (const auto &info : kScalarTypes) {
        if (text == std::string("torch.") + info.pythonName) {
            return info.type;
        }
    }
    throw Error("dtype " + text + " is not supported by the CPU binding yet");
}

// What Tensor::dtype() returns: compares with a ScalarType.
class TypeMeta {
public:
    TypeMeta(ScalarType type) : type_(type) {}
    operator ScalarType() const { return type_; }
    ScalarType toScalarType() const { return type_; }
    size_t itemsize() const { return elementSize(type_); }
    std::string name() const { return toString(type_); }
    friend std::ostream &operator<<(std::ostream &stream, const TypeMeta &meta) { return stream << meta.name(); }

private:
    ScalarType type_;
};

class TensorOptions {
public:
    TensorOptions() = default;
    TensorOptions(ScalarType type) : type_(type) {}
    TensorOptions(TypeMeta type) : type_(type) {}
    TensorOptions(DeviceType) {}
    TensorOptions(Device) {}
    TensorOptions dtype(std::optional<ScalarType> type) const
    {
        TensorOptions changed = *this;
        changed.type_ = type ? type : type_;
        return changed;
    }
    TensorOptions device(std::optional<Device>) const { return *this; }
    TensorOptions device(DeviceType, int = 0) const { return *this; }
    TensorOptions layout(Layout) const { return *this; }
    TensorOptions requires_grad(bool) const { return *this; }
    TensorOptions pinned_memory(bool) const { return *this; }
    TensorOptions memory_format(MemoryFormat) const { return *this; }
    TypeMeta dtype() const { return type_.value_or(kFloat); }
    Device device() const { return {}; }
    bool has_dtype() const { return type_.has_value(); }
    py::dict Keywords() const
    {
        py::dict keywords;
        if (type_) {
            keywords["dtype"] = ToDtype(*type_);
        }
        return keywords;
    }

private:
    std::optional<ScalarType> type_;
};
inline TensorOptions device(Device) { return {}; }
inline TensorOptions dtype(ScalarType type) { return {type}; }

class DataPtr {
public:
    explicit DataPtr(void *pointer) : pointer_(pointer) {}
    void *get() const { return pointer_; }
    operator bool() const { return pointer_ != nullptr; }

private:
    void *pointer_;
};

class Storage {
public:
    Storage(void *pointer, size_t bytes) : pointer_(pointer), bytes_(bytes) {}
    const void *data() const { return pointer_; }
    void *mutable_data() const { return pointer_; }
    template <typename T>
    T *data() const
    {
        return static_cast<T *>(pointer_);
    }
    DataPtr data_ptr() const { return DataPtr(pointer_); }
    size_t nbytes() const { return bytes_; }

private:
    void *pointer_;
    size_t bytes_;
};

}  // namespace at

#endif
