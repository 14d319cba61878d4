// Names below the documented API that public kernels reach for: vcadd, vor and relatives, masks, the sum register.
//
// They take bare UB addresses, so only the whole Unified Buffer bounds them. Semantics follow how the vendor's own
// headers use them (WholeReduceSum, Or, DataCopy, SetMask*, "GetReduceRepeatSumSpr"); they are not documented: approximate.
#ifndef OPMEND_API_INTRINSICS_H
#define OPMEND_API_INTRINSICS_H

#include "api/copy.h"
#include "api/reduce_repeat.h"
#include "api/sync.h"
#include "api/vector_scalar.h"

namespace opmend {

/// A tensor over a bare address: up to the end of the Unified Buffer.
template <class T>
inline AscendC::LocalTensor<T> at_address(T *address)
{
    auto *bytes = reinterpret_cast<uint8_t *>(address);
    const auto left = static_cast<uint32_t>(bytes != nullptr ? g_core->ub + kUbBytes - bytes : 0);
    return AscendC::LocalTensor<T>(bytes, left, Extent{g_core->ub, g_core->ub + kUbBytes, nullptr});
}

/// The sum of all active lanes of all repeats, into the sum register.
template <class T>
inline void accumulate(const Strided<T> &src, size_t repeats)
{
    const LaneMask mask = LaneMask::from_core();
    begin(PipeV);
    check_start("vcadd", src.tensor.bytes());
    T total = static_cast<T>(0);
    uint8_t state = kWritten;
    const size_t count = mask.repeats(repeats, Lanes<T>::kCount);
    for (size_t repeat = 0; repeat < count; ++repeat) {
        Lanes<T> lanes = read_lanes("vcadd", src, mask, repeat);
        state = static_cast<uint8_t>(state & lanes.state);
        const T sum = sum_lanes(lanes, 0, Lanes<T>::kCount);
        total = repeat == 0 ? sum : add_rounded(total, sum);
    }
    keep_sum(total, state);
}

template <class Op, class T>
inline void raw_binary(const char *api, T *dst, T *src0, T *src1, uint8_t repeat, uint16_t dst_blk, uint16_t src0_blk,
                       uint16_t src1_blk, uint16_t dst_rep, uint16_t src0_rep, uint16_t src1_rep)
{
    const auto to = at_address(dst), left = at_address(src0), right = at_address(src1);
    run_repeats(api, LaneMask::from_core(), repeat, lifted<T>(Op{}), Strided<T>{to, dst_blk, dst_rep},
                Strided<T>{left, src0_blk, src0_rep}, Strided<T>{right, src1_blk, src1_rep});
}

template <class F, class T>
inline void raw_unary(const char *api, F op, T *dst, T *src, uint8_t repeat, uint16_t dst_blk, uint16_t src_blk,
                      uint16_t dst_rep, uint16_t src_rep)
{
    const auto to = at_address(dst), from = at_address(src);
    run_repeats(api, LaneMask::from_core(), repeat, op, Strided<T>{to, dst_blk, dst_rep},
                Strided<T>{from, src_blk, src_rep});
}

}  // namespace opmend

/// One sum per repeat to dst, or (mode) the sum of everything to the sum register.
template <class T>
inline void vcadd(T *dst, T *src, uint8_t repeat, uint16_t dst_rep, uint16_t src_blk, uint16_t src_rep, bool mode)
{
    if (!opmend::g_core->aiv) {
        return;
    }
    const auto from = opmend::at_address(src);
    const opmend::Strided<T> strided{from, src_blk, src_rep};
    if (mode) {
        opmend::accumulate(strided, repeat);
        return;
    }
    const auto mask = opmend::LaneMask::from_core();
    const size_t repeats = mask.repeats(repeat, opmend::Lanes<T>::kCount);
    opmend::whole_sum(opmend::at_address(dst), strided, mask, static_cast<int32_t>(repeats), dst_rep);
}
template <class T>
inline void vcadd(std::nullptr_t, T *src, uint8_t repeat, uint16_t dst_rep, uint16_t src_blk, uint16_t src_rep, bool mode)
{
    vcadd(static_cast<T *>(nullptr), src, repeat, dst_rep, src_blk, src_rep, mode);
}

#define OPMEND_RAW_BINARY(NAME, OP)                                                                                  \
    template <class T>                                                                                                \
    inline void NAME(T *dst, T *src0, T *src1, uint8_t repeat, uint16_t dst_blk, uint16_t src0_blk, uint16_t src1_blk, \
                     uint16_t dst_rep, uint16_t src0_rep, uint16_t src1_rep)                                          \
    {                                                                                                                 \
        opmend::raw_binary<opmend::OP>(#NAME, dst, src0, src1, repeat, dst_blk, src0_blk, src1_blk, dst_rep, src0_rep, \
                                       src1_rep);                                                                     \
    }
OPMEND_RAW_BINARY(vadd, AddOp)
OPMEND_RAW_BINARY(vsub, SubOp)
OPMEND_RAW_BINARY(vmul, MulOp)
OPMEND_RAW_BINARY(vor, OrOp)
OPMEND_RAW_BINARY(vand, AndOp)
OPMEND_RAW_BINARY(vdiv, DivOp)
OPMEND_RAW_BINARY(vmax, MaxOp)
OPMEND_RAW_BINARY(vmin, MinOp)
#undef OPMEND_RAW_BINARY

#define OPMEND_RAW_UNARY(NAME, OP)                                                                                    \
    template <class T>                                                                                                \
    inline void NAME(T *dst, T *src, uint8_t repeat, uint16_t dst_blk, uint16_t src_blk, uint16_t dst_rep,            \
                     uint16_t src_rep)                                                                                \
    {                                                                                                                 \
        opmend::raw_unary(#NAME, opmend::lifted<T>(opmend::OP{}), dst, src, repeat, dst_blk, src_blk, dst_rep, src_rep); \
    }
OPMEND_RAW_UNARY(vabs, AbsOp)
OPMEND_RAW_UNARY(vexp, ExpOp)
OPMEND_RAW_UNARY(vln, LnOp)
OPMEND_RAW_UNARY(vnot, NotOp)
OPMEND_RAW_UNARY(vrec, ReciprocalOp)
OPMEND_RAW_UNARY(vrelu, ReluOp)
OPMEND_RAW_UNARY(vrsqrt, RsqrtOp)
OPMEND_RAW_UNARY(vsqrt, SqrtOp)
#undef OPMEND_RAW_UNARY

#define OPMEND_RAW_SCALAR(NAME, OP)                                                                                   \
    template <class T>                                                                                                \
    inline void NAME(T *dst, T *src, T scalar, uint8_t repeat, uint16_t dst_blk, uint16_t src_blk, uint16_t dst_rep,  \
                     uint16_t src_rep)                                                                                \
    {                                                                                                                 \
        opmend::raw_unary(#NAME, opmend::lifted<T>(opmend::with_scalar<opmend::OP>(scalar)), dst, src, repeat, dst_blk, \
                          src_blk, dst_rep, src_rep);                                                                 \
    }
OPMEND_RAW_SCALAR(vadds, AddOp)
OPMEND_RAW_SCALAR(vmuls, MulOp)
OPMEND_RAW_SCALAR(vmaxs, MaxOp)
OPMEND_RAW_SCALAR(vmins, MinOp)
#undef OPMEND_RAW_SCALAR

/// `scalar` to the active lanes; the source strides are taken and mean nothing.
template <class T>
inline void vector_dup(T *dst, T scalar, uint8_t repeat, uint16_t dst_blk, uint16_t, uint16_t dst_rep, uint16_t)
{
    const auto to = opmend::at_address(dst);
    opmend::run_repeats("vector_dup", opmend::LaneMask::from_core(), repeat, [scalar] { return scalar; },
                        opmend::Strided<T>{to, dst_blk, dst_rep});
}

/// Blocks of 32 bytes inside UB.
template <class T>
inline void copy_ubuf_to_ubuf(T *dst, T *src, uint8_t, uint16_t bursts, uint16_t length, uint16_t src_gap,
                              uint16_t dst_gap)
{
    const auto to = opmend::at_address(dst), from = opmend::at_address(src);
    opmend::move_blocks("copy_ubuf_to_ubuf", to.extent(), to.bytes(), from.extent(), from.bytes(), bursts, length, src_gap,
                        dst_gap);
}

inline void set_mask_count() { AscendC::SetMaskCount(); }
inline void set_mask_norm() { AscendC::SetMaskNorm(); }
inline void set_vector_mask(uint64_t high, uint64_t low)
{
    opmend::g_core->mask[0] = low;
    opmend::g_core->mask[1] = high;
}
inline uint64_t get_acc_val() { return opmend::read_sum(); }

namespace AscendC {

/// Bits of the sum register (in the lowest bytes), or its value as T.
inline int64_t GetAccVal() { return static_cast<int64_t>(opmend::read_sum()); }
template <class T>
inline T GetReduceRepeatSumSpr()
{
    const uint64_t bits = opmend::read_sum();
    T sum;
    std::memcpy(&sum, &bits, sizeof(T));
    return sum;
}
template <class T>
inline T GetAccVal()
{
    return GetReduceRepeatSumSpr<T>();
}

/// Stores `value` to `count` elements of global memory, on MTE3.
template <class T>
inline void InitGlobalMemory(GlobalTensor<T> dst, const uint32_t count, T value)
{
    if (!opmend::g_core->aiv) {
        return;
    }
    opmend::begin(opmend::PipeMte3);
    const std::vector<T> line(4096, value);
    for (uint32_t first = 0; first < count; first += 4096) {
        auto *to = reinterpret_cast<uint8_t *>(dst.GetPhyAddr(first));
        opmend::put_line("InitGlobalMemory", to, line.data(), std::min<size_t>(4096, count - first));
    }
}
template <class T>
inline void InitOutput(GlobalTensor<T> dst, uint32_t count, T value = 0)
{
    InitGlobalMemory(dst, count, value);
}

}  // namespace AscendC

#endif
