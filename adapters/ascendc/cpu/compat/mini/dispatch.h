// Mini torch, part 7: the AT_DISPATCH macros that choose a C++ element type by a run-time dtype.
#ifndef OPMEND_MINI_DISPATCH_H
#define OPMEND_MINI_DISPATCH_H

#include "core.h"

namespace opmend_mini {

template <c10::ScalarType type>
struct CppType;
#define OPMEND_MINI_CPP(name, cpp)                  \
    template <>                                     \
    struct CppType<c10::ScalarType::name> {         \
        using type = cpp;                           \
    };
OPMEND_MINI_CPP(Byte, uint8_t)
OPMEND_MINI_CPP(Char, int8_t)
OPMEND_MINI_CPP(Short, int16_t)
OPMEND_MINI_CPP(Int, int32_t)
OPMEND_MINI_CPP(Long, int64_t)
OPMEND_MINI_CPP(Half, c10::Half)
OPMEND_MINI_CPP(Float, float)
OPMEND_MINI_CPP(Double, double)
OPMEND_MINI_CPP(Bool, bool)
OPMEND_MINI_CPP(BFloat16, c10::BFloat16)
#undef OPMEND_MINI_CPP

}  // namespace opmend_mini

#define AT_DISPATCH_CASE(enum_type, ...)                                    \
    case enum_type: {                                                       \
        using scalar_t [[maybe_unused]] = ::opmend_mini::CppType<enum_type>::type; \
        return __VA_ARGS__();                                               \
    }
#define AT_DISPATCH_SWITCH(TYPE, NAME, ...)                                                         \
    [&] {                                                                                           \
        const ::c10::ScalarType opmend_type = (TYPE);                                               \
        switch (opmend_type) {                                                                      \
            __VA_ARGS__                                                                             \
            default: TORCH_CHECK(false, '"', NAME, "\" not implemented for '", opmend_type, "'"); \
        }                                                                                           \
        throw ::c10::Error("unreachable");                                                          \
    }()
#define OPMEND_MINI_FLOATING(...) \
    AT_DISPATCH_CASE(::c10::ScalarType::Double, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Float, __VA_ARGS__)
#define OPMEND_MINI_INTEGRAL(...)                                                                                        \
    AT_DISPATCH_CASE(::c10::ScalarType::Byte, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Char, __VA_ARGS__)        \
    AT_DISPATCH_CASE(::c10::ScalarType::Int, __VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Long, __VA_ARGS__)         \
    AT_DISPATCH_CASE(::c10::ScalarType::Short, __VA_ARGS__)
#define AT_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND_HALF(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND(T1, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND2(T1, T2, TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))
#define AT_DISPATCH_FLOATING_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                                          \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) AT_DISPATCH_CASE(T1, __VA_ARGS__)       \
        AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_REDUCED_FLOATING_TYPES(TYPE, NAME, ...)                                                   \
    AT_DISPATCH_SWITCH(TYPE, NAME, AT_DISPATCH_CASE(::c10::ScalarType::Half, __VA_ARGS__)                     \
        AT_DISPATCH_CASE(::c10::ScalarType::BFloat16, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND(T1, TYPE, NAME, ...)                                                        \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) OPMEND_MINI_INTEGRAL(__VA_ARGS__)       \
        AT_DISPATCH_CASE(T1, __VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND3(T1, T2, T3, TYPE, NAME, ...)                                               \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) OPMEND_MINI_INTEGRAL(__VA_ARGS__)       \
        AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__) AT_DISPATCH_CASE(T3, __VA_ARGS__))
#define AT_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES(TYPE, NAME, ...) \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) OPMEND_MINI_INTEGRAL(__VA_ARGS__))
#define AT_DISPATCH_ALL_TYPES_AND2(T1, T2, TYPE, NAME, ...)                                                         \
    AT_DISPATCH_SWITCH(TYPE, NAME, OPMEND_MINI_FLOATING(__VA_ARGS__) OPMEND_MINI_INTEGRAL(__VA_ARGS__)             \
        AT_DISPATCH_CASE(T1, __VA_ARGS__) AT_DISPATCH_CASE(T2, __VA_ARGS__))

#endif
