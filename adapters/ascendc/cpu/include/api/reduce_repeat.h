// Reductions that give one result per repeat, per block or per pair: WholeReduce*, BlockReduce*, PairReduceSum and
// their newer names ReduceRepeat, ReduceDataBlock, ReducePairElem. The units of dstRepStride are in reduce.h.
#ifndef OPMEND_API_REDUCE_REPEAT_H
#define OPMEND_API_REDUCE_REPEAT_H

#include "api/reduce.h"

namespace opmend {

template <class T>
inline void whole_sum(const AscendC::LocalTensor<T> &dst, const Strided<T> &src, const LaneMask &mask, int32_t repeats,
                      int32_t dst_stride)
{
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    check_start("WholeReduceSum", src.tensor.bytes());
    const auto rounds = static_cast<int32_t>(mask.repeats(static_cast<size_t>(repeats), Lanes<T>::kCount));
    for (int32_t repeat = 0; repeat < rounds; ++repeat) {
        Lanes<T> lanes = read_lanes("WholeReduceSum", src, mask, static_cast<size_t>(repeat));
        if (lanes.any) {
            put("WholeReduceSum", dst, element(dst, static_cast<size_t>(repeat) * dst_stride),
                sum_lanes(lanes, 0, Lanes<T>::kCount), lanes.state);
        }
    }
}

template <bool maximum, class T>
inline void whole_extreme(const char *api, const AscendC::LocalTensor<T> &dst, const Strided<T> &src,
                          const LaneMask &mask, int32_t repeats, int32_t dst_stride, AscendC::ReduceOrder order)
{
    using AscendC::ReduceOrder;
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    check_start(api, src.tensor.bytes());
    const bool pair = order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_INDEX_VALUE;
    const size_t unit = pair ? 2 * sizeof(T) : order == ReduceOrder::ORDER_ONLY_INDEX ? sizeof(uint32_t) : sizeof(T);
    const auto rounds = static_cast<int32_t>(mask.repeats(static_cast<size_t>(repeats), Lanes<T>::kCount));
    Best<T, maximum> overall;
    uint8_t all_lanes = kWritten;
    for (int32_t repeat = 0; repeat < rounds; ++repeat) {
        const Lanes<T> lanes = read_lanes(api, src, mask, static_cast<size_t>(repeat));
        Best<T, maximum> best;
        for (size_t lane = 0; lane < Lanes<T>::kCount; ++lane) {
            if (lanes.active[lane]) {
                best.see(lanes.value[lane], static_cast<uint32_t>(lane));
            }
        }
        if (!best.any) {
            continue;
        }
        overall.see(best.value, static_cast<uint32_t>(static_cast<size_t>(repeat) * Lanes<T>::kCount) + best.index);
        all_lanes = static_cast<uint8_t>(all_lanes & lanes.state);
        keep_extreme(overall.value, overall.index, all_lanes);
        uint8_t *at = dst.bytes() + static_cast<size_t>(repeat) * dst_stride * unit;
        switch (order) {
            case ReduceOrder::ORDER_VALUE_INDEX:
                put(api, dst, at, best.value, lanes.state);
                put(api, dst, at + sizeof(T), index_bits<T>(best.index), lanes.state);
                break;
            case ReduceOrder::ORDER_INDEX_VALUE:
                put(api, dst, at, index_bits<T>(best.index), lanes.state);
                put(api, dst, at + sizeof(T), best.value, lanes.state);
                break;
            case ReduceOrder::ORDER_ONLY_VALUE:
                put(api, dst, at, best.value, lanes.state);
                break;
            case ReduceOrder::ORDER_ONLY_INDEX:
                touch(api, PipeV, dst.extent(), at, sizeof(uint32_t), true, sizeof(uint32_t));
                std::memcpy(at, &best.index, sizeof(uint32_t));
                mark(at, sizeof(uint32_t), lanes.state);
                break;
        }
    }
}

/// One result per block; a block without active lanes keeps what dst holds.
template <AscendC::ReduceType type, class T>
inline void block_reduce(const char *api, const AscendC::LocalTensor<T> &dst, const Strided<T> &src,
                         const LaneMask &mask, int32_t repeats, int32_t dst_stride)
{
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    check_start(api, src.tensor.bytes());
    check_start(api, dst.bytes(), kBlocksPerRepeat * sizeof(T));
    constexpr size_t width = Strided<T>::kPerBlock;
    const auto rounds = static_cast<int32_t>(mask.repeats(static_cast<size_t>(repeats), Lanes<T>::kCount));
    for (int32_t repeat = 0; repeat < rounds; ++repeat) {
        Lanes<T> lanes = read_lanes(api, src, mask, static_cast<size_t>(repeat));
        for (size_t block = 0; block < kBlocksPerRepeat; ++block) {
            Best<T, type == AscendC::ReduceType::MAX> best;
            for (size_t lane = block * width; lane < (block + 1) * width; ++lane) {
                if (lanes.active[lane]) {
                    best.see(lanes.value[lane], static_cast<uint32_t>(lane));
                }
            }
            if (best.any) {
                const T result = type == AscendC::ReduceType::SUM
                                     ? sum_lanes(lanes, block * width, (block + 1) * width) : best.value;
                put(api, dst, element(dst, static_cast<size_t>(repeat) * dst_stride * kBlocksPerRepeat + block), result,
                    lanes.state);
            }
        }
    }
}

/// dst[i] = src[2i] + src[2i+1]; an inactive half counts as 0, a pair with none active keeps what dst holds.
template <class T>
inline void pair_sum(const AscendC::LocalTensor<T> &dst, const Strided<T> &src, const LaneMask &mask, int32_t repeats,
                     int32_t dst_stride)
{
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    check_start("PairReduceSum", src.tensor.bytes());
    check_start("PairReduceSum", dst.bytes());
    const auto rounds = static_cast<int32_t>(mask.repeats(static_cast<size_t>(repeats), Lanes<T>::kCount));
    for (int32_t repeat = 0; repeat < rounds; ++repeat) {
        Lanes<T> lanes = read_lanes("PairReduceSum", src, mask, static_cast<size_t>(repeat));
        for (size_t pair = 0; pair < Lanes<T>::kCount / 2; ++pair) {
            if (lanes.active[2 * pair] || lanes.active[2 * pair + 1]) {
                put("PairReduceSum", dst, dst.bytes() + static_cast<size_t>(repeat) * dst_stride * kRepeatBytes / 2 +
                                              pair * sizeof(T),
                    sum_lanes(lanes, 2 * pair, 2 * pair + 2), lanes.state);
            }
        }
    }
}

/// The register of the last extreme. The scalar unit sees it: what it was found among must have been written.
inline uint64_t read_extreme()
{
    if (g_core->extreme_unwritten && g_core->level >= 2) {
        rt::report("ub-uninitialised", "GetReduceRepeatMaxMinSpr",
                   "the register holds an extreme of bytes never written, or of filler");
    }
    return g_core->extreme_register;
}

/// The register of the last sum, under the same condition.
inline uint64_t read_sum()
{
    if (g_core->sum_unwritten && g_core->level >= 2) {
        rt::report("ub-uninitialised", "GetAccVal", "the register holds a sum of bytes never written, or of filler");
    }
    return g_core->sum_register;
}

template <class T>
inline Strided<T> strided(const AscendC::LocalTensor<T> &src, int32_t block_stride, int32_t repeat_stride)
{
    return {src, static_cast<size_t>(block_stride), static_cast<size_t>(repeat_stride)};
}

}  // namespace opmend

namespace AscendC {

// Every reduction takes its mask as a count or as bits; MASK is the parameter's declaration.
#define OPMEND_REDUCE_FORMS(MASK)                                                                                     \
    template <class T, bool isSetMask = true>                                                                         \
    inline void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeatTime,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride)    \
    {                                                                                                                 \
        opmend::whole_sum(dst, opmend::strided(src, srcBlkStride, srcRepStride), opmend::call_mask<isSetMask>(mask),  \
                          repeatTime, dstRepStride);                                                                  \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void WholeReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeatTime,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,    \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)                                    \
    {                                                                                                                 \
        opmend::whole_extreme<true>("WholeReduceMax", dst, opmend::strided(src, srcBlkStride, srcRepStride),          \
                                    opmend::call_mask<isSetMask>(mask), repeatTime, dstRepStride, order);             \
    }                                                                                                                 \
    template <class T, bool isSetMask = true>                                                                         \
    inline void WholeReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeatTime,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,    \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)                                    \
    {                                                                                                                 \
        opmend::whole_extreme<false>("WholeReduceMin", dst, opmend::strided(src, srcBlkStride, srcRepStride),         \
                                     opmend::call_mask<isSetMask>(mask), repeatTime, dstRepStride, order);            \
    }                                                                                                                 \
    template <ReduceType type, class T, class U, bool isSetMask = true>                                               \
    inline void ReduceRepeat(const LocalTensor<T> &dst, const LocalTensor<U> &src, MASK, const int32_t repeatTime,    \
                             const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,      \
                             ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)                                      \
    {                                                                                                                 \
        const opmend::Strided<U> from = opmend::strided(src, srcBlkStride, srcRepStride);                             \
        const opmend::LaneMask lanes = opmend::call_mask<isSetMask>(mask);                                            \
        if constexpr (type == ReduceType::SUM) {                                                                      \
            opmend::whole_sum(dst, from, lanes, repeatTime, dstRepStride);                                            \
        } else {                                                                                                      \
            opmend::whole_extreme<type == ReduceType::MAX>("ReduceRepeat", dst, from, lanes, repeatTime,              \
                                                           dstRepStride, order);                                      \
        }                                                                                                             \
    }                                                                                                                 \
    template <ReduceType type, class T, class U, bool isSetMask = true>                                               \
    inline void ReduceDataBlock(const LocalTensor<T> &dst, const LocalTensor<U> &src, MASK, const int32_t repeatTime, \
                                const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride)   \
    {                                                                                                                 \
        opmend::block_reduce<type>("ReduceDataBlock", dst, opmend::strided(src, srcBlkStride, srcRepStride),          \
                                   opmend::call_mask<isSetMask>(mask), repeatTime, dstRepStride);                     \
    }                                                                                                                 \
    template <ReduceType type, class T, class U, bool isSetMask = true>                                               \
    inline void ReducePairElem(const LocalTensor<T> &dst, const LocalTensor<U> &src, MASK, const int32_t repeatTime,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride)    \
    {                                                                                                                 \
        static_assert(type == ReduceType::SUM, "ReducePairElem only sums");                                           \
        opmend::pair_sum(dst, opmend::strided(src, srcBlkStride, srcRepStride), opmend::call_mask<isSetMask>(mask),   \
                         repeatTime, dstRepStride);                                                                   \
    }

OPMEND_REDUCE_FORMS(const int32_t mask)
OPMEND_REDUCE_FORMS(const uint64_t mask[])
#undef OPMEND_REDUCE_FORMS

// These older names take the repeat count before the mask.
#define OPMEND_BLOCK_FORMS(NAME, TYPE, MASK)                                                                          \
    template <class T, bool isSetMask = true>                                                                         \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTime, MASK,            \
                     const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride)              \
    {                                                                                                                 \
        opmend::block_reduce<ReduceType::TYPE>(#NAME, dst, opmend::strided(src, srcBlkStride, srcRepStride),          \
                                               opmend::call_mask<isSetMask>(mask), repeatTime, dstRepStride);         \
    }

OPMEND_BLOCK_FORMS(BlockReduceSum, SUM, const int32_t mask)
OPMEND_BLOCK_FORMS(BlockReduceSum, SUM, const uint64_t mask[])
OPMEND_BLOCK_FORMS(BlockReduceMax, MAX, const int32_t mask)
OPMEND_BLOCK_FORMS(BlockReduceMax, MAX, const uint64_t mask[])
OPMEND_BLOCK_FORMS(BlockReduceMin, MIN, const int32_t mask)
OPMEND_BLOCK_FORMS(BlockReduceMin, MIN, const uint64_t mask[])
#undef OPMEND_BLOCK_FORMS

template <class T, bool isSetMask = true>
inline void PairReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTime,
                          const int32_t mask, const int32_t dstRepStride, const int32_t srcBlkStride,
                          const int32_t srcRepStride)
{
    opmend::pair_sum(dst, opmend::strided(src, srcBlkStride, srcRepStride), opmend::call_mask<isSetMask>(mask),
                     repeatTime, dstRepStride);
}
template <class T, bool isSetMask = true>
inline void PairReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTime,
                          const uint64_t mask[], const int32_t dstRepStride, const int32_t srcBlkStride,
                          const int32_t srcRepStride)
{
    opmend::pair_sum(dst, opmend::strided(src, srcBlkStride, srcRepStride), opmend::call_mask<isSetMask>(mask),
                     repeatTime, dstRepStride);
}

/// WholeReduceSum with the repeat count first; the block stride of dst has no meaning.
template <class T, bool isSetMask = true>
inline void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTime,
                            const int32_t mask, const int32_t, const int32_t srcBlkStride, const int32_t dstRepStride,
                            const int32_t srcRepStride)
{
    opmend::whole_sum(dst, opmend::strided(src, srcBlkStride, srcRepStride), opmend::call_mask<isSetMask>(mask),
                      repeatTime, dstRepStride);
}

/// Value and index of the extreme that the last WholeReduceMax/Min (ReduceRepeat) found in all its repeats, index as bits
/// in T; after ReduceMax/ReduceMin the value alone counts (vendor's "GetReduceRepeatMaxMinSpr").
template <class T>
inline void GetReduceRepeatMaxMinSpr(T &maxMinValue, T &maxMinIndex)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "GetReduceRepeatMaxMinSpr takes half and float");
    const uint64_t bits = opmend::read_extreme(), index = bits >> 32;
    std::memcpy(&maxMinValue, &bits, sizeof(T));
    std::memcpy(&maxMinIndex, &index, sizeof(T));
}
/// The same as bits in words, for elements of type T.
template <class T>
inline void GetReduceRepeatMaxMinSpr(uint32_t &maxMinValue, uint32_t &maxMinIndex)
{
    const uint64_t bits = opmend::read_extreme();
    maxMinValue = static_cast<uint32_t>(sizeof(T) == 2 ? bits & 0xffff : bits);
    maxMinIndex = static_cast<uint32_t>(bits >> 32);
}
/// The older name.
template <class T>
inline void GetReduceMaxMinCount(T &maxMinValue, T &maxMinIndex)
{
    GetReduceRepeatMaxMinSpr<T>(maxMinValue, maxMinIndex);
}
template <class T>
inline void GetReduceMaxMinCount(uint32_t &maxMinValue, uint32_t &maxMinIndex)
{
    GetReduceRepeatMaxMinSpr<T>(maxMinValue, maxMinIndex);
}

}  // namespace AscendC

#endif
