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

/// x -> x >> bits, plus the last bit that was shifted out.
template <class T>
inline auto rounded_shift(T bits)
{
    return [bits](T x) {
        const T lost = bits > 0 ? static_cast<T>(ShiftRightOp{}(x, static_cast<T>(bits - 1)) & 1) : T(0);
        return AddOp{}(ShiftRightOp{}(x, bits), lost);
    };
}

/// dst = src * scalar + dst, rounded once to T. U may be narrower than T.
template <class T, class U>
inline auto axpy(U scalar)
{
    const auto a = static_cast<float>(scalar);
    return [a](U x, T y) { return narrow<T>(static_cast<float>(x) * a + static_cast<float>(y)); };
}

/// dst = src0 * src1 + dst. The sources may be narrower than dst.
struct MulAddDstOp {
    float operator()(float x, float y, float dst) const { return x * y + dst; }
};
/// dst = src0 * dst + src1, and the same cut off at 0.
struct FusedMulAddOp {
    float operator()(float x, float y, float dst) const { return x * dst + y; }
};
struct FusedMulAddReluOp {
    float operator()(float x, float y, float dst) const { return MaxOp{}(x * dst + y, 0.0f); }
};

/// Computes in float and rounds once to T.
template <class T, class U, class Op>
inline T fused(U x, U y, T dst)
{
    return narrow<T>(Op{}(static_cast<float>(x), static_cast<float>(y), static_cast<float>(dst)));
}

template <class T, class U, class Op>
inline void fused_repeats(const char *api, const LaneMask &mask, const AscendC::LocalTensor<T> &dst,
                          const AscendC::LocalTensor<U> &src0, const AscendC::LocalTensor<U> &src1, uint8_t repeat,
                          const AscendC::BinaryRepeatParams &p)
{
    const Strided<T> out{dst, p.dstBlkStride, p.dstRepStride};
    run_repeats(api, mask, repeat, fused<T, U, Op>, out, Strided<U>{src0, p.src0BlkStride, p.src0RepStride},
                Strided<U>{src1, p.src1BlkStride, p.src1RepStride}, out);
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
#undef OPMEND_SCALAR

template <class T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, const int32_t &count)
{
    opmend::run_count("ShiftRight", count, opmend::with_scalar<opmend::ShiftRightOp>(scalarValue), dst, src);
}
// roundEn adds the last bit that a signed value loses.
#define OPMEND_SHIFT_RIGHT(MASK)                                                                                      \
    template <class T, bool isSetMask = true>                                                                         \
    inline void ShiftRight(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalarValue, MASK,          \
                           const uint8_t repeatTime, const UnaryRepeatParams &params, bool roundEn = false)           \
    {                                                                                                                 \
        const opmend::LaneMask lanes = opmend::call_mask<isSetMask>(mask);                                            \
        if (roundEn && std::is_signed_v<T>) {                                                                         \
            opmend::unary_repeats("ShiftRight", lanes, dst, src, opmend::rounded_shift(scalarValue), repeatTime,      \
                                  params);                                                                            \
        } else {                                                                                                      \
            opmend::unary_repeats("ShiftRight", lanes, dst, src,                                                      \
                                  opmend::with_scalar<opmend::ShiftRightOp>(scalarValue), repeatTime, params);        \
        }                                                                                                             \
    }
OPMEND_SHIFT_RIGHT(uint64_t mask)
OPMEND_SHIFT_RIGHT(uint64_t mask[])
#undef OPMEND_SHIFT_RIGHT

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

// Two sources and the destination as a third operand: the count form and the two masked ones.
#define OPMEND_FUSED(NAME, TYPES, SOURCE, OP)                                                               \
    template <TYPES>                                                                                                  \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<SOURCE> &src0, const LocalTensor<SOURCE> &src1,     \
                     const int32_t &count)                                                                            \
    {                                                                                                                 \
        opmend::run_count(#NAME, count, opmend::fused<T, SOURCE, opmend::OP>, dst, src0, src1, dst);                  \
    }                                                                                                                 \
    template <TYPES, bool isSetMask = true>                                                                           \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<SOURCE> &src0, const LocalTensor<SOURCE> &src1,     \
                     uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams &p)                          \
    {                                                                                                                 \
        opmend::fused_repeats<T, SOURCE, opmend::OP>(#NAME, opmend::call_mask<isSetMask>(mask), dst, src0, src1,      \
                                                     repeatTime, p);                                                  \
    }                                                                                                                 \
    template <TYPES, bool isSetMask = true>                                                                           \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<SOURCE> &src0, const LocalTensor<SOURCE> &src1,     \
                     uint64_t mask, const uint8_t repeatTime, const BinaryRepeatParams &p)                            \
    {                                                                                                                 \
        opmend::fused_repeats<T, SOURCE, opmend::OP>(#NAME, opmend::call_mask<isSetMask>(mask), dst, src0, src1,      \
                                                     repeatTime, p);                                                  \
    }
#define OPMEND_TWO_TYPES class T, class U
OPMEND_FUSED(MulAddDst, OPMEND_TWO_TYPES, U, MulAddDstOp)
OPMEND_FUSED(FusedMulAdd, class T, T, FusedMulAddOp)
OPMEND_FUSED(MulAddRelu, class T, T, FusedMulAddReluOp)
OPMEND_FUSED(FusedMulAddRelu, class T, T, FusedMulAddReluOp)
#undef OPMEND_TWO_TYPES
#undef OPMEND_FUSED

}  // namespace AscendC

#endif
