// Host side of an msopgen operator, part 1: the graph engine's vocabulary (data types, formats, shapes, tensors).
//
// These headers let a real op_host source compile and run on the build machine: what TilingFunc asks its context is
// answered from the tensors of the call. Names follow the vendor's public documentation (op_host, "Tiling" and
// "OpDef"); enumerators have the vendor's values because tiling code stores them as integers.
#ifndef OPMEND_HOST_GE_H
#define OPMEND_HOST_GE_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace optiling {  // the vendor's headers bring these names in, and sources rely on it
using std::map;
using std::string;
using std::vector;
}  // namespace optiling

namespace ge {

using std::map;
using std::string;
using std::vector;

enum DataType : int {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8,
    DT_INT64 = 9, DT_UINT64 = 10, DT_DOUBLE = 11, DT_BOOL = 12, DT_STRING = 13, DT_DUAL_SUB_INT8 = 14,
    DT_DUAL_SUB_UINT8 = 15, DT_COMPLEX64 = 16, DT_COMPLEX128 = 17, DT_QINT8 = 18, DT_QINT16 = 19, DT_QINT32 = 20,
    DT_QUINT8 = 21, DT_QUINT16 = 22, DT_RESOURCE = 23, DT_STRING_REF = 24, DT_DUAL = 25, DT_VARIANT = 26, DT_BF16 = 27,
    DT_UNDEFINED = 28, DT_INT4 = 29, DT_UINT1 = 30, DT_INT2 = 31, DT_UINT2 = 32, DT_COMPLEX32 = 33, DT_MAX = 34
};

enum Format : int {
    FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4, FORMAT_HWCN = 16,
    FORMAT_NDHWC = 27, FORMAT_FRACTAL_NZ = 29, FORMAT_NCDHW = 30, FORMAT_NDC1HWC0 = 32, FORMAT_FRACTAL_Z_3D = 33,
    FORMAT_NCL = 47, FORMAT_RESERVED = 40
};

using graphStatus = uint32_t;
using char_t = char;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr uint32_t SUCCESS = 0;
constexpr uint32_t FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_PARAM_INVALID = 50331649;
constexpr graphStatus GRAPH_NOT_CHANGED = 1343242304;

/// Bytes of one element; -1 for a type without a fixed size.
inline int GetSizeByDataType(DataType type)
{
    switch (type) {
        case DT_INT8: case DT_UINT8: case DT_BOOL: case DT_QINT8: case DT_QUINT8: return 1;
        case DT_FLOAT16: case DT_BF16: case DT_INT16: case DT_UINT16: return 2;
        case DT_FLOAT: case DT_INT32: case DT_UINT32: case DT_COMPLEX32: return 4;
        case DT_INT64: case DT_UINT64: case DT_DOUBLE: case DT_COMPLEX64: return 8;
        case DT_COMPLEX128: return 16;
        default: return -1;
    }
}

class AscendString {
public:
    AscendString() = default;
    AscendString(const char *text) : text_(text) {}
    const char *GetString() const { return text_.c_str(); }

private:
    std::string text_;
};

class TypeUtils {
public:
    static bool GetDataTypeLength(DataType type, uint32_t &length)
    {
        const int size = GetSizeByDataType(type);
        length = size > 0 ? static_cast<uint32_t>(size) : 0;
        return size > 0;
    }
    static std::string DataTypeToSerialString(DataType type) { return "DT_" + std::to_string(static_cast<int>(type)); }
    static std::string FormatToSerialString(Format format) { return "FORMAT_" + std::to_string(static_cast<int>(format)); }
    static AscendString DataTypeToAscendString(DataType type) { return DataTypeToSerialString(type).c_str(); }
};

/// The older shape class of the graph engine, which the vendor's tiling helpers take.
class Shape {
public:
    Shape() = default;
    explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
    size_t GetDimNum() const { return dims_.size(); }
    int64_t GetDim(size_t axis) const { return axis < dims_.size() ? dims_[axis] : 0; }
    std::vector<int64_t> GetDims() const { return dims_; }
    int64_t GetShapeSize() const
    {
        int64_t count = 1;
        for (const int64_t length : dims_) {
            count *= length;
        }
        return count;
    }

private:
    std::vector<int64_t> dims_;
};

inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }
inline uint64_t GetSizeInBytes(int64_t count, DataType type) { return count * static_cast<uint64_t>(GetSizeByDataType(type)); }

}  // namespace ge

#define ASCENDC_EXTERN_C extern "C"

namespace gert {

class Shape {
public:
    static constexpr size_t kMaxDimNum = 25;
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
    explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
    size_t GetDimNum() const { return dims_.size(); }
    void SetDimNum(size_t count) { dims_.resize(count, 0); }
    int64_t GetDim(size_t axis) const { return axis < dims_.size() ? dims_[axis] : -1; }
    int64_t &operator[](size_t axis) { return dims_.at(axis); }
    const int64_t &operator[](size_t axis) const { return dims_.at(axis); }
    void SetDim(size_t axis, int64_t length) { dims_.at(axis) = length; }
    Shape &AppendDim(int64_t length)
    {
        dims_.push_back(length);
        return *this;
    }
    void SetScalar() { dims_.clear(); }
    bool IsScalar() const { return dims_.empty(); }
    int64_t GetShapeSize() const
    {
        int64_t count = 1;
        for (const int64_t length : dims_) {
            count *= length;
        }
        return count;
    }
    bool operator==(const Shape &other) const { return dims_ == other.dims_; }
    bool operator!=(const Shape &other) const { return dims_ != other.dims_; }

private:
    std::vector<int64_t> dims_;
};

/// The runtime's two views of a shape; for ND tensors they are the same.
class StorageShape {
public:
    StorageShape() = default;
    explicit StorageShape(Shape shape) : origin_(shape), storage_(std::move(shape)) {}
    const Shape &GetOriginShape() const { return origin_; }
    const Shape &GetStorageShape() const { return storage_; }
    Shape &MutableOriginShape() { return origin_; }
    Shape &MutableStorageShape() { return storage_; }
    bool operator==(const StorageShape &other) const { return origin_ == other.origin_ && storage_ == other.storage_; }
    bool operator!=(const StorageShape &other) const { return !(*this == other); }

private:
    Shape origin_, storage_;
};

class StorageFormat {
public:
    StorageFormat(ge::Format format) : format_(format) {}
    ge::Format GetStorageFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return format_; }
    operator ge::Format() const { return format_; }

private:
    ge::Format format_;
};

class CompileTimeTensorDesc {
public:
    CompileTimeTensorDesc() = default;
    CompileTimeTensorDesc(ge::DataType type, ge::Format format) : type_(type), format_(format) {}
    ge::DataType GetDataType() const { return type_; }
    StorageFormat GetFormat() const { return format_; }
    ge::Format GetStorageFormat() const { return format_; }
    ge::Format GetOriginFormat() const { return format_; }

private:
    ge::DataType type_ = ge::DT_UNDEFINED;
    ge::Format format_ = ge::FORMAT_ND;
};

/// One tensor of the call; its data is host memory, so `ValueDepend` inputs can be read during tiling.
class Tensor {
public:
    Tensor() = default;
    Tensor(Shape shape, ge::DataType type, ge::Format format, void *data)
        : shape_(std::move(shape)), desc_(type, format), data_(data)
    {}
    const StorageShape &GetShape() const { return shape_; }
    StorageShape &GetShape() { return shape_; }
    const Shape &GetStorageShape() const { return shape_.GetStorageShape(); }
    const Shape &GetOriginShape() const { return shape_.GetOriginShape(); }
    ge::DataType GetDataType() const { return desc_.GetDataType(); }
    ge::Format GetStorageFormat() const { return desc_.GetFormat(); }
    ge::Format GetOriginFormat() const { return desc_.GetFormat(); }
    int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
    size_t GetSize() const { return static_cast<size_t>(GetShapeSize() * ge::GetSizeByDataType(GetDataType())); }
    void *GetAddr() const { return data_; }
    template <class T>
    const T *GetData() const
    {
        return static_cast<const T *>(data_);
    }
    const CompileTimeTensorDesc &desc() const { return desc_; }

private:
    StorageShape shape_;
    CompileTimeTensorDesc desc_;
    void *data_ = nullptr;
};

template <class T>
class TypedContinuousVector {
public:
    explicit TypedContinuousVector(std::vector<T> items = {}) : items_(std::move(items)) {}
    size_t GetSize() const { return items_.size(); }
    const T *GetData() const { return items_.data(); }

private:
    std::vector<T> items_;
};
using ContinuousVector = TypedContinuousVector<int64_t>;

}  // namespace gert

#endif
