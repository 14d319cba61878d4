// Element-wise vector instructions with a scalar operand, and the fused ones that also read their destination.
#ifndef OPMEND_API_VECTOR_SCALAR_H
#define OPMEND_API_VECTOR_SCALAR_H

#include "api/vector.h"

namespace opmend {

/// x -> Op(x, scalar), computed in Wide<T>. The scalar is rounded to T first: the instruction takes it in that type.
template <class Op, class T>
inline auto with_scalar(T scalar)
{
    const auto y = static_cast<Wide<T>>(scalar);
    return [y](Wide<T> x) { return Op{}(x, y); };
}

struct LeakyReluOp {
    template <class W>
    W operator()(W x, W slope) const
    {
        return x > 0 || is_nan(x) ? x : x * slope;
    }
};
struct ShiftLeftOp {
    template <class W>
    W operator()(W x, W bits) const
    {
        static_assert(std::is_integral_v<W>, "ShiftLeft takes integer tensors");
        using U = std::make_unsigned_t<W>;
        return static_cast<size_t>(bits) >= sizeof(W) * 8 ? W(0) : static_cast<W>(static_cast<U>(x) << bits);
    }
};
struct ShiftRightOp {
    template <class W>
    W operator()(W x, W bits) const
    {
        static_assert(std::is_integral_v<W>, "ShiftRight takes integer tensors");
        const bool all = static_cast<size_t>(bits) >= sizeof(W) * 8;
        return all ? (x < 0 ? static_cast<W>(-1) : W(0)) : static_cast<W>(x >> bits);
    }
};

/// dst = src * scalar + dst, rounded once to T. U may be narrower than T.
template <class T, class U>
inline auto axpy(U scalar)
{
    const auto a = static_cast<float>(scalar);
    return [a](U x, T y) { return narrow<T>(static_cast<float>(x) * a + static_cast<float>(y)); };
}

}  // namespace opmend

namespace AscendC {

#define OPMEND_SCALAR(NAME, OP)                                                                                       \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, const int32_t &count) \
    {                                                                                                                 \
        opmend::run_count(#NAME, count, opmend::lifted<T>(opmend::with_scalar<opmend::OP>(scalarValue)), dst, src);   \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, uint64_t mask[],     \
                     const uint8_t repeatTime, const UnaryRepeatParams &params)                                       \
    {                                                                                                                 \
        opmend::unary_repeats(#NAME, opmend::call_mask<isSetMask>(mask), dst, src,                                    \
                              opmend::with_scalar<opmend::OP>(scalarValue), repeatTime, params);                      \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, uint64_t mask,       \
                     const uint8_t repeatTime, const UnaryRepeatParams &params)                                       \
    {                                                                                                                 \
        opmend::unary_repeats(#NAME, opmend::call_mask<isSetMask>(mask), dst, src,                                    \
                              opmend::with_scalar<opmend::OP>(scalarValue), repeatTime, params);                      \
    }

OPMEND_SCALAR(Adds, AddOp)
OPMEND_SCALAR(Muls, MulOp)
OPMEND_SCALAR(Maxs, MaxOp)
OPMEND_SCALAR(Mins, MinOp)
OPMEND_SCALAR(LeakyRelu, LeakyReluOp)
OPMEND_SCALAR(ShiftLeft, ShiftLeftOp)
OPMEND_SCALAR(ShiftRight, ShiftRightOp)
#undef OPMEND_SCALAR

template <class T, class U>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, const int32_t &count)
{
    opmend::run_count("Axpy", count, opmend::axpy<T, U>(scalarValue), dst, src, dst);
}
template <class T, class U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, uint64_t mask,
                 const uint8_t repeatTime, const UnaryRepeatParams &p)
{
    const opmend::Strided<T> out{dst, p.dstBlkStride, p.dstRepStride};
    opmend::run_repeats("Axpy", opmend::call_mask<isSetMask>(mask), repeatTime, opmend::axpy<T, U>(scalarValue), out,
                        opmend::Strided<U>{src, p.srcBlkStride, p.srcRepStride}, out);
}
template <class T, class U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U &scalarValue, uint64_t mask[],
                 const uint8_t repeatTime, const UnaryRepeatParams &p)
{
    const opmend::Strided<T> out{dst, p.dstBlkStride, p.dstRepStride};
    opmend::run_repeats("Axpy", opmend::call_mask<isSetMask>(mask), repeatTime, opmend::axpy<T, U>(scalarValue), out,
                        opmend::Strided<U>{src, p.srcBlkStride, p.srcRepStride}, out);
}

/// dst = src0 * src1 + dst, rounded once to T.
template <class T, class U>
inline void MulAddDst(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1,
                      const int32_t &count)
{
    auto op = [](U x, U y, T sum) {
        return opmend::narrow<T>(static_cast<float>(x) * static_cast<float>(y) + static_cast<float>(sum));
    };
    opmend::run_count("MulAddDst", count, op, dst, src0, src1, dst);
}

/// dst = src0 * dst + src1, rounded once to T.
template <class T>
inline void FusedMulAdd(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
                        const int32_t &count)
{
    auto op = [](T x, T y, T factor) {
        return opmend::narrow<T>(static_cast<float>(x) * static_cast<float>(factor) + static_cast<float>(y));
    };
    opmend::run_count("FusedMulAdd", count, op, dst, src0, src1, dst);
}

}  // namespace AscendC

#endif
