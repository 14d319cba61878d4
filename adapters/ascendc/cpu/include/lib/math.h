// High-level element-wise mathematics: Tanh, Sigmoid, Power and their like.
//
// Computed with the host's libm in float and rounded once; the device uses polynomial approximations, so every one of
// these is approximate in the last bits. The temporary tensor is taken and left alone.
#ifndef OPMEND_LIB_MATH_H
#define OPMEND_LIB_MATH_H

#include "api/vector_scalar.h"

namespace AscendC {

// The four forms every one of these functions has: with and without a temporary, with and without a count.
#define OPMEND_MATH(NAME, EXPRESSION)                                                                                 \
    template <class T, bool isReuseSource = false>                                                                    \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t calCount)                   \
    {                                                                                                                 \
        static_assert(opmend::is_any_float<T>, #NAME " takes floating-point tensors");                                \
        opmend::run_count(#NAME, calCount, opmend::lifted<T>([](float x) -> float { return EXPRESSION; }), dst, src); \
    }                                                                                                                 \
    template <class T, bool isReuseSource = false>                                                                    \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src)                                            \
    {                                                                                                                 \
        NAME<T, isReuseSource>(dst, src, src.GetSize());                                                              \
    }                                                                                                                 \
    template <class T, bool isReuseSource = false>                                                                    \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,              \
                     const uint32_t calCount)                                                                         \
    {                                                                                                                 \
        NAME<T, isReuseSource>(dst, src, calCount);                                                                   \
    }                                                                                                                 \
    template <class T, bool isReuseSource = false>                                                                    \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &)              \
    {                                                                                                                 \
        NAME<T, isReuseSource>(dst, src, src.GetSize());                                                              \
    }

OPMEND_MATH(Tanh, std::tanh(x))
OPMEND_MATH(Sigmoid, 1.0f / (1.0f + std::exp(-x)))
OPMEND_MATH(Silu, x / (1.0f + std::exp(-x)))
OPMEND_MATH(Sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
OPMEND_MATH(Floor, std::floor(x))
OPMEND_MATH(Ceil, std::ceil(x))
OPMEND_MATH(Trunc, std::trunc(x))
OPMEND_MATH(Frac, x - std::trunc(x))
OPMEND_MATH(Erf, std::erf(x))
OPMEND_MATH(Erfc, std::erfc(x))
OPMEND_MATH(Log, std::log(x))
OPMEND_MATH(Log2, std::log2(x))
OPMEND_MATH(Log10, std::log10(x))
OPMEND_MATH(Sin, std::sin(x))
OPMEND_MATH(Cos, std::cos(x))
OPMEND_MATH(Tan, std::tan(x))
OPMEND_MATH(Sinh, std::sinh(x))
OPMEND_MATH(Cosh, std::cosh(x))
OPMEND_MATH(Asin, std::asin(x))
OPMEND_MATH(Acos, std::acos(x))
OPMEND_MATH(Atan, std::atan(x))
#undef OPMEND_MATH

/// min(src, scalar) and max(src, scalar).
template <class T, bool isReuseSource = false>
inline void ClampMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &, const T scalar,
                     const uint32_t calCount)
{
    opmend::run_count("ClampMax", calCount, opmend::lifted<T>(opmend::with_scalar<opmend::MinOp>(scalar)), dst, src);
}
template <class T, bool isReuseSource = false>
inline void ClampMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &, const T scalar,
                     const uint32_t calCount)
{
    opmend::run_count("ClampMin", calCount, opmend::lifted<T>(opmend::with_scalar<opmend::MaxOp>(scalar)), dst, src);
}

namespace internal {
template <class T>
inline T power(T base, T exponent)
{
    return opmend::narrow<T>(std::pow(opmend::to_double(base), opmend::to_double(exponent)));
}
}  // namespace internal

template <class T, bool isReuseSource = false>
inline void Power(const LocalTensor<T> &dst, const LocalTensor<T> &base, const LocalTensor<T> &exponent,
                  uint32_t calCount)
{
    opmend::run_count("Power", calCount, internal::power<T>, dst, base, exponent);
}
template <class T, bool isReuseSource = false>
inline void Power(const LocalTensor<T> &dst, const LocalTensor<T> &base, const T &exponent, uint32_t calCount)
{
    const T y = exponent;
    opmend::run_count("Power", calCount, [y](T x) { return internal::power<T>(x, y); }, dst, base);
}
template <class T, bool isReuseSource = false>
inline void Power(const LocalTensor<T> &dst, const T &base, const LocalTensor<T> &exponent, uint32_t calCount)
{
    const T x = base;
    opmend::run_count("Power", calCount, [x](T y) { return internal::power<T>(x, y); }, dst, exponent);
}
template <class T, bool isReuseSource = false, class Base, class Exponent>
inline void Power(const LocalTensor<T> &dst, const Base &base, const Exponent &exponent, const LocalTensor<uint8_t> &,
                  uint32_t calCount)
{
    Power<T, isReuseSource>(dst, base, exponent, calCount);
}

}  // namespace AscendC

#endif
