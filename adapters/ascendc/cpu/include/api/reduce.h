// Reductions of the vector unit: over one block, a pair, a repeat or a whole tensor.
//
// Sums add adjacent pairs as a binary tree inside a repeat and round to the element type at every step; the count form
// adds the sums of the repeats one after another, the repeat form as a tree again (vendor's description for Atlas A2).
// The exact order in hardware is not public in full: last bits are approximate. Max and Min keep the lowest index on
// ties; the index is stored as bits in the element type. Units of dstRepStride differ: one result for WholeReduce*,
// 8 elements for BlockReduce*, 128 bytes for PairReduceSum.
#ifndef OPMEND_API_REDUCE_H
#define OPMEND_API_REDUCE_H

#include "api/tree_sum.h"

namespace opmend {

/// The active lanes of one repeat.
template <class T>
struct Lanes {
    static constexpr size_t kCount = lanes_of<T>();
    T value[kCount];
    bool active[kCount];
    uint8_t state = kWritten;  ///< and of the states of the active lanes
    bool any = false;
};

template <class T>
inline Lanes<T> read_lanes(const char *api, const Strided<T> &src, const LaneMask &mask, size_t repeat)
{
    Lanes<T> lanes;
    const size_t leading = mask.leading(repeat, Lanes<T>::kCount);
    if (leading != LaneMask::kScattered) {
        std::fill(lanes.active, lanes.active + leading, true);
        std::fill(lanes.active + leading, lanes.active + Lanes<T>::kCount, false);
        lanes.any = leading != 0;
        if (lanes.any) {
            touch_leading(api, src, repeat, leading, false);
            lanes.state = state_of_leading(src, repeat, leading);
            for_blocks(src, repeat, leading, [&](uint8_t *at, size_t lane, size_t bytes) {
                std::memcpy(lanes.value + lane, at, bytes);
            });
        }
        return lanes;
    }
    for (size_t lane = 0; lane < Lanes<T>::kCount; ++lane) {
        lanes.active[lane] = mask.active(repeat, lane, Lanes<T>::kCount);
        lanes.any |= lanes.active[lane];
    }
    touch_lanes(api, src, repeat, lanes.active, Lanes<T>::kCount, false);
    for (size_t lane = 0; lane < Lanes<T>::kCount; ++lane) {
        if (lanes.active[lane]) {
            lanes.value[lane] = load<T>(src.at(repeat, lane));
            lanes.state = static_cast<uint8_t>(lanes.state & state_of(src.at(repeat, lane), sizeof(T)));
        }
    }
    return lanes;
}

template <class T>
inline T sum_lanes(Lanes<T> &lanes, size_t first, size_t end)
{
    for (size_t lane = first; lane < end; ++lane) {
        if (!lanes.active[lane]) {
            lanes.value[lane] = static_cast<T>(0);
        }
    }
    return tree_sum(lanes.value + first, end - first);
}

/// Best value so far and where it is.
template <class T, bool maximum>
struct Best {
    T value{};
    uint32_t index = 0;
    bool any = false;

    void see(T candidate, uint32_t at)
    {
        const auto x = static_cast<Wide<T>>(candidate);
        const auto best = static_cast<Wide<T>>(value);
        if (!any || (!is_nan(best) && (is_nan(x) || (maximum ? x > best : x < best)))) {
            value = candidate;
            index = at;
            any = true;
        }
    }
};

/// Bits of an index in a slot of T's width.
template <class T>
inline T index_bits(uint32_t index)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "reductions with an index take 2- and 4-byte elements");
    T slot;
    std::memcpy(&slot, &index, sizeof(T));  // little endian: the low bytes
    return slot;
}

/// Leaves a sum in the register that GetAccVal reads.
template <class T>
inline void keep_sum(T sum, uint8_t state)
{
    g_core->sum_unwritten = state != kWritten;
    g_core->sum_register = 0;
    std::memcpy(&g_core->sum_register, &sum, sizeof(T));
}

/// Leaves a maximum or minimum in the register that GetReduceRepeatMaxMinSpr reads.
template <class T>
inline void keep_extreme(T value, uint32_t index, uint8_t state)
{
    g_core->extreme_unwritten = state != kWritten && state != kDummy;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    g_core->extreme_register = static_cast<uint64_t>(index) << 32 | bits;
}
/// After ReduceMax and ReduceMin the register's index is not the result's: a value that is none.
constexpr uint32_t kNoIndex = ~0u;

/// Writes one result element and its state.
template <class T>
inline void put(const char *api, const AscendC::LocalTensor<T> &dst, uint8_t *at, T value, uint8_t state)
{
    touch(api, PipeV, dst.extent(), at, sizeof(T), true, sizeof(T));
    std::memcpy(at, &value, sizeof(T));
    mark(at, sizeof(T), state);
}

/// Elements of the work tensor that ReduceMax and ReduceMin need: two per repeat, and with an index every later round
/// beside the first (vendor's formula).
template <class T>
inline size_t work_elements(size_t repeats, bool with_index)
{
    constexpr size_t block = kBlockBytes / sizeof(T);
    size_t round = repeats * 2;
    size_t total = (round + block - 1) / block * block;
    while (with_index && round > 2) {
        round = (round + Lanes<T>::kCount - 1) / Lanes<T>::kCount * 2;
        total += (round + block - 1) / block * block;
    }
    return total;
}

/// The instruction leaves intermediate results in the work tensor: what was there is lost.
template <class T>
inline void clobber(const char *api, const AscendC::LocalTensor<T> &work, size_t elements)
{
    touch(api, PipeV, work.extent(), work.bytes(), elements * sizeof(T), true, kBlockBytes);
    if (g_core->recording) {
        rt::recorder_forget();
    }
    std::memset(work.bytes(), 0xff, elements * sizeof(T));
    mark(work.bytes(), elements * sizeof(T), kFiller);
}

template <bool maximum, class T>
inline void extreme(const char *api, const AscendC::LocalTensor<T> &dst, const Strided<T> &src,
                    const AscendC::LocalTensor<T> &work, const LaneMask &mask, size_t repeats, bool with_index)
{
    if (!g_core->aiv || repeats == 0) {
        return;
    }
    begin(PipeV);
    check_start(api, src.tensor.bytes());
    Best<T, maximum> best;
    uint8_t state = kWritten;
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        const Lanes<T> lanes = read_lanes(api, src, mask, repeat);
        state = static_cast<uint8_t>(state & lanes.state);
        for (size_t lane = 0; lane < Lanes<T>::kCount; ++lane) {
            if (lanes.active[lane]) {
                best.see(lanes.value[lane], static_cast<uint32_t>(repeat * Lanes<T>::kCount + lane));
            }
        }
    }
    if (!best.any) {
        return;
    }
    clobber(api, work, work_elements<T>(repeats, with_index));
    put(api, dst, dst.bytes(), best.value, state);
    keep_extreme(best.value, kNoIndex, state);
    if (with_index) {
        put(api, dst, dst.bytes() + sizeof(T), index_bits<T>(best.index), state);
    }
}

template <bool maximum, class T>
inline void extreme_of_count(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                             const AscendC::LocalTensor<T> &work, int32_t count, bool with_index)
{
    if (!g_core->aiv || count <= 0) {
        return;
    }
    begin(PipeV);
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    touch(api, PipeV, src.extent(), src.bytes(), bytes, false, kBlockBytes);
    const uint8_t state = state_of(src.bytes(), bytes);
    Best<T, maximum> best;
    for (int32_t i = 0; i < count; ++i) {
        best.see(load<T>(element(src, static_cast<size_t>(i))), static_cast<uint32_t>(i));
    }
    const size_t repeats = std::max<size_t>(1, static_cast<size_t>(count) / Lanes<T>::kCount);
    clobber(api, work, work_elements<T>(repeats, with_index));
    put(api, dst, dst.bytes(), best.value, state);
    keep_extreme(best.value, kNoIndex, state);
    if (with_index) {
        put(api, dst, dst.bytes() + sizeof(T), index_bits<T>(best.index), state);
    }
}

}  // namespace opmend

namespace AscendC {

template <class T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &, const int32_t count)
{
    if (!opmend::g_core->aiv || count <= 0) {
        return;
    }
    opmend::begin(opmend::PipeV);
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    opmend::touch("ReduceSum", opmend::PipeV, src.extent(), src.bytes(), bytes, false, ONE_BLK_SIZE);
    const uint8_t state = opmend::state_of(src.bytes(), bytes);
    const T sum = opmend::tree_of_repeats<T>(src.bytes(), static_cast<size_t>(count), true);
    opmend::put("ReduceSum", dst, dst.bytes(), sum, state);
    opmend::keep_sum(sum, state);
}

namespace internal {

template <class T>
inline void reduce_sum_repeats(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                               const opmend::LaneMask &mask, int32_t repeats, int32_t stride)
{
    if (!opmend::g_core->aiv || repeats <= 0) {
        return;
    }
    opmend::begin(opmend::PipeV);
    opmend::check_start("ReduceSum", src.bytes());
    const opmend::Strided<T> from{src, 1, static_cast<size_t>(stride)};
    std::vector<T> sums;
    uint8_t state = opmend::kWritten;
    for (int32_t repeat = 0; repeat < repeats; ++repeat) {
        opmend::Lanes<T> lanes = opmend::read_lanes("ReduceSum", from, mask, static_cast<size_t>(repeat));
        state = static_cast<uint8_t>(state & lanes.state);
        sums.push_back(opmend::sum_lanes(lanes, 0, opmend::Lanes<T>::kCount));
    }
    constexpr size_t block = ONE_BLK_SIZE / sizeof(T);
    opmend::clobber("ReduceSum", work, (sums.size() + block - 1) / block * block);
    const T sum = opmend::tree_of_repeats<T>(reinterpret_cast<const uint8_t *>(sums.data()), sums.size(), false);
    opmend::put("ReduceSum", dst, dst.bytes(), sum, state);
}

}  // namespace internal

template <class T>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                      const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride)
{
    internal::reduce_sum_repeats(dst, src, work, opmend::LaneMask::first(mask), repeatTime, srcRepStride);
}
template <class T>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                      const uint64_t mask[], const int32_t repeatTime, const int32_t srcRepStride)
{
    internal::reduce_sum_repeats(dst, src, work, opmend::LaneMask::bitwise(mask), repeatTime, srcRepStride);
}

#define OPMEND_EXTREME(NAME, MAXIMUM)                                                                                 \
    template <class T>                                                                                                \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,                \
                     const int32_t count, bool calIndex = false)                                                      \
    {                                                                                                                 \
        opmend::extreme_of_count<MAXIMUM>(#NAME, dst, src, work, count, calIndex);                                    \
    }                                                                                                                 \
    template <class T>                                                                                                \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,                \
                     const int32_t mask, const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = false) \
    {                                                                                                                 \
        const opmend::Strided<T> from{src, 1, static_cast<size_t>(srcRepStride)};                                     \
        opmend::extreme<MAXIMUM>(#NAME, dst, from, work, opmend::LaneMask::first(mask), repeatTime, calIndex);        \
    }                                                                                                                 \
    template <class T>                                                                                                \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,                \
                     const uint64_t mask[], const int32_t repeatTime, const int32_t srcRepStride,                     \
                     bool calIndex = false)                                                                           \
    {                                                                                                                 \
        const opmend::Strided<T> from{src, 1, static_cast<size_t>(srcRepStride)};                                     \
        opmend::extreme<MAXIMUM>(#NAME, dst, from, work, opmend::LaneMask::bitwise(mask), repeatTime, calIndex);      \
    }

OPMEND_EXTREME(ReduceMax, true)
OPMEND_EXTREME(ReduceMin, false)
#undef OPMEND_EXTREME

}  // namespace AscendC

#endif
