// Mini torch, part 1: the c10 vocabulary (errors, scalar types, devices, array references) without libtorch.
//
// A binding needs a small part of torch's C++ API: metadata, allocation, pointers. These headers give that part by
// forwarding to the Python torch that the process has imported anyway; a binding then compiles in a fraction of the
// time the real headers take. Names and meanings follow PyTorch's public C++ API. There is one device: PrivateUse1
// (the NPU) and the CPU are the same.
#ifndef OPMEND_MINI_CORE_H
#define OPMEND_MINI_CORE_H

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace opmend_mini {

template <typename... T>
inline constexpr bool kNever = false;

template <typename... Parts>
std::string Concatenate(const Parts &...parts)
{
    std::ostringstream stream;
    (void)(stream << ... << parts);
    return stream.str();
}

}  // namespace opmend_mini

namespace c10 {

using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using string_view = std::string_view;

class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    const char *msg() const { return what(); }
};

// Values as in PyTorch's ScalarType, because bindings store and compare them as integers.
enum class ScalarType : int8_t {
    Byte = 0, Char = 1, Short = 2, Int = 3, Long = 4, Half = 5, Float = 6, Double = 7, ComplexHalf = 8, ComplexFloat = 9,
    ComplexDouble = 10, Bool = 11, BFloat16 = 15, UInt16 = 27, UInt32 = 28, UInt64 = 29, Undefined = 45
};

struct ScalarTypeInfo {
    ScalarType type;
    const char *cppName;     // as torch prints it
    const char *pythonName;  // attribute of the torch module
    size_t bytes;
};

inline constexpr ScalarTypeInfo kScalarTypes[] = {
    {ScalarType::Byte, "Byte", "uint8", 1}, {ScalarType::Char, "Char", "int8", 1}, {ScalarType::Short, "Short", "int16", 2},
    {ScalarType::Int, "Int", "int32", 4}, {ScalarType::Long, "Long", "int64", 8}, {ScalarType::Half, "Half", "float16", 2},
    {ScalarType::Float, "Float", "float32", 4}, {ScalarType::Double, "Double", "float64", 8},
    {ScalarType::ComplexHalf, "ComplexHalf", "complex32", 4}, {ScalarType::ComplexFloat, "ComplexFloat", "complex64", 8},
    {ScalarType::ComplexDouble, "ComplexDouble", "complex128", 16}, {ScalarType::Bool, "Bool", "bool", 1},
    {ScalarType::BFloat16, "BFloat16", "bfloat16", 2}, {ScalarType::UInt16, "UInt16", "uint16", 2},
    {ScalarType::UInt32, "UInt32", "uint32", 4}, {ScalarType::UInt64, "UInt64", "uint64", 8},
    {ScalarType::Undefined, "Undefined", "undefined", 0}};

inline const ScalarTypeInfo &InfoOf(ScalarType type)
{
    for (const auto &info : kScalarTypes) {
        if (info.type == type) {
            return info;
        }
    }
    return kScalarTypes[sizeof(kScalarTypes) / sizeof(kScalarTypes[0]) - 1];
}

inline const char *toString(ScalarType type) { return InfoOf(type).cppName; }
inline size_t elementSize(ScalarType type) { return InfoOf(type).bytes; }
inline std::ostream &operator<<(std::ostream &stream, ScalarType type) { return stream << toString(type); }
inline bool isFloatingType(ScalarType type)
{
    return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double || type == ScalarType::BFloat16;
}
inline bool isComplexType(ScalarType type)
{
    return type == ScalarType::ComplexHalf || type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble;
}
inline bool isIntegralType(ScalarType type, bool includeBool = false)
{
    return type == ScalarType::Bool ? includeBool : !isFloatingType(type) && !isComplexType(type) && type != ScalarType::Undefined;
}

inline constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char;
inline constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int;
inline constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half;
inline constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double;
inline constexpr ScalarType kFloat64 = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16;
inline constexpr ScalarType kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;
inline constexpr ScalarType kComplexFloat = ScalarType::ComplexFloat, kComplexDouble = ScalarType::ComplexDouble;

struct Half {
    uint16_t x = 0;
    Half() = default;
    Half(float value)
    {
        const _Float16 narrow = static_cast<_Float16>(value);
        std::memcpy(&x, &narrow, sizeof(x));
    }
    operator float() const
    {
        _Float16 narrow;
        std::memcpy(&narrow, &x, sizeof(x));
        return static_cast<float>(narrow);
    }
};

struct BFloat16 {
    uint16_t x = 0;
    BFloat16() = default;
    BFloat16(float value)  // round to nearest, ties to even; NaN stays NaN
    {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof(bits));
        x = value != value ? 0x7FC0 : static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
    }
    operator float() const
    {
        const uint32_t bits = static_cast<uint32_t>(x) << 16;
        float value;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }
};

template <typename T>
struct CppTypeToScalarType {
    static_assert(opmend_mini::kNever<T>, "this C++ type is no tensor element type of the CPU binding");
};
#define OPMEND_MINI_CPP_TYPE(cpp, name)                         \
    template <>                                                 \
    struct CppTypeToScalarType<cpp> {                           \
        static constexpr ScalarType value = ScalarType::name;   \
    };
OPMEND_MINI_CPP_TYPE(uint8_t, Byte)
OPMEND_MINI_CPP_TYPE(int8_t, Char)
OPMEND_MINI_CPP_TYPE(int16_t, Short)
OPMEND_MINI_CPP_TYPE(int32_t, Int)
OPMEND_MINI_CPP_TYPE(int64_t, Long)
OPMEND_MINI_CPP_TYPE(long long, Long)
OPMEND_MINI_CPP_TYPE(uint16_t, UInt16)
OPMEND_MINI_CPP_TYPE(uint32_t, UInt32)
OPMEND_MINI_CPP_TYPE(uint64_t, UInt64)
OPMEND_MINI_CPP_TYPE(Half, Half)
OPMEND_MINI_CPP_TYPE(BFloat16, BFloat16)
OPMEND_MINI_CPP_TYPE(float, Float)
OPMEND_MINI_CPP_TYPE(double, Double)
OPMEND_MINI_CPP_TYPE(bool, Bool)
#undef OPMEND_MINI_CPP_TYPE

enum class DeviceType : int8_t { CPU = 0, PrivateUse1 = 0, CUDA = 1 };
inline constexpr DeviceType kCPU = DeviceType::CPU, kPrivateUse1 = DeviceType::PrivateUse1, kCUDA = DeviceType::CUDA;
using DeviceIndex = int8_t;

struct Device {
    DeviceType kind = DeviceType::CPU;
    DeviceIndex number = 0;
    Device() = default;
    Device(DeviceType type, DeviceIndex index = 0) : kind(type), number(index) {}
    Device(const std::string &) {}
    DeviceType type() const { return kind; }
    DeviceIndex index() const { return number; }
    bool has_index() const { return true; }
    bool is_cpu() const { return kind == DeviceType::CPU; }
    bool is_privateuseone() const { return kind == DeviceType::PrivateUse1; }
    bool is_cuda() const { return kind == DeviceType::CUDA; }
    std::string str() const { return is_cuda() ? "cuda:0" : "npu:0"; }
    bool operator==(const Device &other) const { return kind == other.kind; }
    bool operator!=(const Device &other) const { return kind != other.kind; }
};
inline std::ostream &operator<<(std::ostream &stream, const Device &device) { return stream << device.str(); }
inline std::ostream &operator<<(std::ostream &stream, DeviceType type) { return stream << Device(type); }

enum class Layout : int8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve };

// Shares its elements (torch's only points to them): sizes() is asked of Python each time, and a reference into a
// temporary would dangle. A tensor keeps what it last gave, so that `x.sizes().begin()` and `x.sizes().end()` belong
// together and stay valid, as in torch.
template <typename T>
class ArrayRef {
public:
    using value_type = T;
    using Items = std::vector<T>;
    using const_iterator = typename Items::const_iterator;
    ArrayRef() : ArrayRef(Items{}) {}
    ArrayRef(const T &one) : ArrayRef(Items{one}) {}
    ArrayRef(std::initializer_list<T> items) : ArrayRef(Items(items)) {}
    ArrayRef(const Items &items) : items_(std::make_shared<const Items>(items)) {}
    ArrayRef(std::shared_ptr<const Items> items) : items_(std::move(items)) {}
    ArrayRef(const T *data, size_t length) : ArrayRef(Items(data, data + length)) {}
    template <size_t N>
    ArrayRef(const T (&items)[N]) : ArrayRef(Items(items, items + N)) {}
    size_t size() const { return items_->size(); }
    bool empty() const { return items_->empty(); }
    const T *data() const { return items_->data(); }
    const T &operator[](size_t index) const { return (*items_)[index]; }
    const T &at(size_t index) const { return items_->at(index); }
    const T &front() const { return items_->front(); }
    const T &back() const { return items_->back(); }
    const_iterator begin() const { return items_->begin(); }
    const_iterator end() const { return items_->end(); }
    Items vec() const { return *items_; }
    ArrayRef slice(size_t from, size_t count) const { return {data() + from, count}; }
    ArrayRef slice(size_t from) const { return slice(from, size() - from); }
    bool equals(const ArrayRef &other) const { return *items_ == *other.items_; }
    friend bool operator==(const ArrayRef &a, const ArrayRef &b) { return a.equals(b); }
    friend bool operator!=(const ArrayRef &a, const ArrayRef &b) { return !a.equals(b); }
    friend std::ostream &operator<<(std::ostream &stream, const ArrayRef &list)
    {
        stream << '[';
        for (size_t i = 0; i < list.size(); ++i) {
            stream << (i ? ", " : "") << list[i];
        }
        return stream << ']';
    }

private:
    std::shared_ptr<const Items> items_;
};
using IntArrayRef = ArrayRef<int64_t>;

class Scalar {
public:
    Scalar() : Scalar(int64_t{0}) {}
    Scalar(bool value) : kind_(Kind::Bool), real_(value), whole_(value) {}
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>>
    Scalar(T value)
        : kind_(std::is_floating_point_v<T> ? Kind::Real : Kind::Whole), real_(static_cast<double>(value)), whole_(static_cast<int64_t>(value))
    {
    }
    bool isFloatingPoint() const { return kind_ == Kind::Real; }
    bool isIntegral(bool includeBool) const { return kind_ == Kind::Whole || (includeBool && kind_ == Kind::Bool); }
    bool isBoolean() const { return kind_ == Kind::Bool; }
    template <typename T>
    T to() const
    {
        return isFloatingPoint() ? static_cast<T>(real_) : static_cast<T>(whole_);
    }
    double toDouble() const { return to<double>(); }
    float toFloat() const { return to<float>(); }
    int64_t toLong() const { return to<int64_t>(); }
    int toInt() const { return to<int>(); }
    bool toBool() const { return to<bool>(); }

private:
    enum class Kind { Bool, Whole, Real } kind_;
    double real_;
    int64_t whole_;
};

}  // namespace c10

#define OPMEND_MINI_FAIL(condition, ...)                                                        \
    throw ::c10::Error([&](auto &&...parts) {                                                   \
        return sizeof...(parts) ? ::opmend_mini::Concatenate(parts...)                          \
                                : std::string("Expected " condition " to be true, but got false."); \
    }(__VA_ARGS__))
#define TORCH_CHECK(condition, ...)                     \
    do {                                                \
        if (!(condition)) {                             \
            OPMEND_MINI_FAIL(#condition, ##__VA_ARGS__); \
        }                                               \
    } while (false)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) TORCH_CHECK(false, ##__VA_ARGS__)
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b), "Check failed: " #a " == " #b)
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b), "Check failed: " #a " != " #b)
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b), "Check failed: " #a " <= " #b)
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b), "Check failed: " #a " < " #b)
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b), "Check failed: " #a " >= " #b)
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b), "Check failed: " #a " > " #b)
#define TORCH_WARN(...) static_cast<void>(::opmend_mini::Concatenate(__VA_ARGS__))
#define C10_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), 0))
#define C10_LIKELY(x) (__builtin_expect(static_cast<bool>(x), 1))

#endif
