// Element-wise vector instructions with tensor operands.
//
// 16-bit floats compute in float and round once. Exp, Ln, Rsqrt and Reciprocal use the host's libm: the device's own
// approximations differ in the last bits, so results that depend on them are approximate. NaN propagates through Max,
// Min and Relu. Integer sums wrap.
#ifndef OPMEND_API_VECTOR_H
#define OPMEND_API_VECTOR_H

#include "api/engine.h"

namespace opmend {

/// Integer arithmetic in the unsigned type (wraps), floating arithmetic as it is.
template <class W, class F>
inline W arithmetic(W x, W y, F f)
{
    if constexpr (std::is_integral_v<W>) {
        using U = std::make_unsigned_t<W>;
        return static_cast<W>(f(static_cast<U>(x), static_cast<U>(y)));
    } else {
        return f(x, y);
    }
}

template <class W>
inline bool is_nan(W value)
{
    return value != value;
}

struct AddOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return arithmetic(x, y, [](auto a, auto b) { return a + b; });
    }
};
struct SubOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return arithmetic(x, y, [](auto a, auto b) { return a - b; });
    }
};
struct MulOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return arithmetic(x, y, [](auto a, auto b) { return a * b; });
    }
};
struct DivOp {
    template <class W>
    W operator()(W x, W y) const
    {
        static_assert(std::is_floating_point_v<W>, "unsupported: Div of integers");
        return x / y;
    }
};
struct MaxOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return is_nan(x) || x > y ? x : y;
    }
};
struct MinOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return is_nan(x) || x < y ? x : y;
    }
};
struct AndOp {
    template <class W>
    W operator()(W x, W y) const
    {
        static_assert(std::is_integral_v<W>, "And takes integer tensors");
        return static_cast<W>(x & y);
    }
};
struct OrOp {
    template <class W>
    W operator()(W x, W y) const
    {
        static_assert(std::is_integral_v<W>, "Or takes integer tensors");
        return static_cast<W>(x | y);
    }
};
struct AddReluOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return MaxOp{}(AddOp{}(x, y), W(0));
    }
};
struct SubReluOp {
    template <class W>
    W operator()(W x, W y) const
    {
        return MaxOp{}(SubOp{}(x, y), W(0));
    }
};

struct AbsOp {
    template <class W>
    W operator()(W x) const
    {
        if constexpr (std::is_floating_point_v<W>) {
            return std::fabs(x);
        } else {
            return x < 0 ? SubOp{}(W(0), x) : x;  // the smallest value stays what it is
        }
    }
};
struct ReluOp {
    template <class W>
    W operator()(W x) const
    {
        return MaxOp{}(x, W(0));
    }
};
struct ExpOp {
    float operator()(float x) const { return std::exp(x); }
};
struct LnOp {
    float operator()(float x) const { return std::log(x); }
};
struct SqrtOp {
    float operator()(float x) const { return std::sqrt(x); }
};
struct RsqrtOp {
    float operator()(float x) const { return 1.0f / std::sqrt(x); }
};
struct ReciprocalOp {
    float operator()(float x) const { return 1.0f / x; }
};
struct NotOp {
    template <class W>
    W operator()(W x) const
    {
        static_assert(std::is_integral_v<W>, "Not takes integer tensors");
        return static_cast<W>(~x);
    }
};

/// What an operator on two tensors stands for until it is assigned.
template <class T, class Op>
struct Expression {
    const AscendC::LocalTensor<T> &left, &right;
};

/// Lifts an operation on Wide<T> to T: widen, compute, round once.
template <class T, class Op>
inline Lifted<T, Op> lifted(Op op)
{
    return {op};
}

template <class Op, class T>
inline void binary_count(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src0,
                         const AscendC::LocalTensor<T> &src1, int32_t count)
{
    run_count(api, count, lifted<T>(Op{}), dst, src0, src1);
}

template <class Op, class T>
inline void binary_repeats(const char *api, const LaneMask &mask, const AscendC::LocalTensor<T> &dst,
                           const AscendC::LocalTensor<T> &src0, const AscendC::LocalTensor<T> &src1, uint8_t repeat,
                           const AscendC::BinaryRepeatParams &p)
{
    run_repeats(api, mask, repeat, lifted<T>(Op{}), Strided<T>{dst, p.dstBlkStride, p.dstRepStride},
                Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, Strided<T>{src1, p.src1BlkStride, p.src1RepStride});
}

template <class Op, class T>
inline void unary_repeats(const char *api, const LaneMask &mask, const AscendC::LocalTensor<T> &dst,
                          const AscendC::LocalTensor<T> &src, Op op, uint8_t repeat,
                          const AscendC::UnaryRepeatParams &p)
{
    run_repeats(api, mask, repeat, lifted<T>(op), Strided<T>{dst, p.dstBlkStride, p.dstRepStride},
                Strided<T>{src, p.srcBlkStride, p.srcRepStride});
}

}  // namespace opmend

namespace AscendC {

// The three forms of one instruction, with the vendor's signatures (kernels also pass them as function pointers).
#define OPMEND_BINARY(NAME, OP)                                                                                        \
    template <class T>                                                                                                 \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,                \
                     const int32_t &count)                                                                             \
    {                                                                                                                  \
        opmend::binary_count<opmend::OP>(#NAME, dst, src0, src1, count);                                               \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,                \
                     uint64_t mask[], const uint8_t repeatTime, const BinaryRepeatParams &params)                      \
    {                                                                                                                  \
        opmend::binary_repeats<opmend::OP>(#NAME, opmend::call_mask<isSetMask>(mask), dst, src0, src1, repeatTime,     \
                                           params);                                                                    \
    }                                                                                                                  \
    template <class T, bool isSetMask = true>                                                                          \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, uint64_t mask, \
                     const uint8_t repeatTime, const BinaryRepeatParams &params)                                       \
    {                                                                                                                  \
        opmend::binary_repeats<opmend::OP>(#NAME, opmend::call_mask<isSetMask>(mask), dst, src0, src1, repeatTime,     \
                                           params);                                                                    \
    }

OPMEND_BINARY(Add, AddOp)
OPMEND_BINARY(Sub, SubOp)
OPMEND_BINARY(Mul, MulOp)
OPMEND_BINARY(Div, DivOp)
OPMEND_BINARY(Max, MaxOp)
OPMEND_BINARY(Min, MinOp)
OPMEND_BINARY(And, AndOp)
OPMEND_BINARY(Or, OrOp)
OPMEND_BINARY(AddRelu, AddReluOp)
OPMEND_BINARY(SubRelu, SubReluOp)
#undef OPMEND_BINARY

#define OPMEND_UNARY(NAME, OP)                                                                                        \
    template <class T>                                                                                                \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count)                      \
    {                                                                                                                 \
        opmend::run_count(#NAME, count, opmend::lifted<T>(opmend::OP{}), dst, src);                                   \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask[], const uint8_t repeatTime, \
                     const UnaryRepeatParams &params)                                                                 \
    {                                                                                                                 \
        opmend::unary_repeats(#NAME, opmend::call_mask<isSetMask>(mask), dst, src, opmend::OP{}, repeatTime, params); \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, const uint8_t repeatTime,   \
                     const UnaryRepeatParams &params)                                                                 \
    {                                                                                                                 \
        opmend::unary_repeats(#NAME, opmend::call_mask<isSetMask>(mask), dst, src, opmend::OP{}, repeatTime, params); \
    }

OPMEND_UNARY(Abs, AbsOp)
OPMEND_UNARY(Relu, ReluOp)
OPMEND_UNARY(Exp, ExpOp)
OPMEND_UNARY(Ln, LnOp)
OPMEND_UNARY(Sqrt, SqrtOp)
OPMEND_UNARY(Rsqrt, RsqrtOp)
OPMEND_UNARY(Reciprocal, ReciprocalOp)
OPMEND_UNARY(Not, NotOp)
#undef OPMEND_UNARY

template <class T>
template <class Op>
inline void LocalTensor<T>::operator=(const opmend::Expression<T, Op> &expression)
{
    opmend::binary_count<Op>("operator", *this, expression.left, expression.right, static_cast<int32_t>(GetSize()));
}

#define OPMEND_OPERATOR(SYMBOL, OP)                                                                                   \
    template <class T>                                                                                                \
    inline opmend::Expression<T, opmend::OP> operator SYMBOL(const LocalTensor<T> &left, const LocalTensor<T> &right) \
    {                                                                                                                 \
        return {left, right};                                                                                         \
    }
OPMEND_OPERATOR(+, AddOp)
OPMEND_OPERATOR(-, SubOp)
OPMEND_OPERATOR(*, MulOp)
OPMEND_OPERATOR(/, DivOp)
OPMEND_OPERATOR(&, AndOp)
OPMEND_OPERATOR(|, OrOp)
#undef OPMEND_OPERATOR

}  // namespace AscendC

#endif
