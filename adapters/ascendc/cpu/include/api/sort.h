// Sorting: Sort32, the merges, and the high-level Sort, Concat and Extract.
//
// On Atlas A2 a sorted element is a structure of 8 bytes: the score in the low bytes (2 of them unused for half) and the
// uint32_t index in the upper 4. Order is descending by score; of equal scores the one that comes first in the input
// (the lower queue, then the lower position) comes first. Semantics: vendor's pages "Sort32", "MrgSort" (both the basic
// and the high-level one), "GetMrgSortResult", "Sort", "Concat", "Extract", "GetSortLen", "GetSortOffset".
#ifndef OPMEND_API_SORT_H
#define OPMEND_API_SORT_H

#include <vector>

#include "api/vector.h"

namespace AscendC {

struct MrgSort4Info {
    MrgSort4Info() {}
    MrgSort4Info(const uint16_t lengths[4], bool suspend, uint16_t valid, uint16_t repeats)
        : elementLengths{lengths[0], lengths[1], lengths[2], lengths[3]}, ifExhaustedSuspension(suspend),
          validBit(valid), repeatTimes(static_cast<uint8_t>(repeats))
    {}
    uint16_t elementLengths[4] = {0, 0, 0, 0};  ///< structures of 8 bytes
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
};

template <class T>
struct MrgSortSrcList {
    MrgSortSrcList() {}
    MrgSortSrcList(const LocalTensor<T> &first, const LocalTensor<T> &second, const LocalTensor<T> &third,
                   const LocalTensor<T> &fourth)
        : src1(first), src2(second), src3(third), src4(fourth)
    {}
    LocalTensor<T> src1, src2, src3, src4;
};

}  // namespace AscendC

namespace opmend {

constexpr size_t kSortBytes = 8;   ///< one (score, index) structure
constexpr size_t kSortLanes = 32;  ///< elements that Sort32 sorts per repeat

struct Ranked {
    double score;
    uint8_t bytes[kSortBytes];
    uint8_t state;
};

/// NaN ranks highest, as its bits do; the documentation does not say. Only here to keep the order total.
inline bool ranks_before(const Ranked &left, const Ranked &right)
{
    if (std::isnan(left.score) || std::isnan(right.score)) {
        return std::isnan(left.score) && !std::isnan(right.score);
    }
    return left.score > right.score;
}

template <class T>
inline Ranked read_ranked(const uint8_t *from)
{
    Ranked item;
    item.score = to_double(load<T>(from));
    std::memcpy(item.bytes, from, kSortBytes);
    item.state = static_cast<uint8_t>(state_of(from, sizeof(T)) & state_of(from + 4, 4));
    return item;
}

inline void write_ranked(uint8_t *to, const Ranked &item)
{
    std::memcpy(to, item.bytes, kSortBytes);
    mark(to, kSortBytes, item.state);
}

template <class T>
inline void sort_32(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &scores,
                    const AscendC::LocalTensor<uint32_t> &indices, int32_t repeats)
{
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "Sort takes half or float");
    if (!g_core->aiv || repeats <= 0) {
        return;
    }
    begin(PipeV);
    const size_t count = static_cast<size_t>(repeats) * kSortLanes;
    touch(api, PipeV, scores.extent(), scores.bytes(), count * sizeof(T), false, kBlockBytes);
    touch(api, PipeV, indices.extent(), indices.bytes(), count * sizeof(uint32_t), false, kBlockBytes);
    touch(api, PipeV, dst.extent(), dst.bytes(), count * kSortBytes, true, kBlockBytes);
    for (size_t first = 0; first < count; first += kSortLanes) {
        std::vector<Ranked> items(kSortLanes);
        for (size_t i = 0; i < kSortLanes; ++i) {
            Ranked &item = items[i];
            const uint8_t *score = element(scores, first + i), *index = element(indices, first + i);
            item.score = to_double(load<T>(score));
            std::memset(item.bytes, 0, kSortBytes);
            std::memcpy(item.bytes, score, sizeof(T));
            std::memcpy(item.bytes + 4, index, sizeof(uint32_t));
            item.state = static_cast<uint8_t>(state_of(score, sizeof(T)) & state_of(index, sizeof(uint32_t)));
        }
        std::stable_sort(items.begin(), items.end(), ranks_before);
        for (size_t i = 0; i < kSortLanes; ++i) {
            write_ranked(dst.bytes() + (first + i) * kSortBytes, items[i]);
        }
    }
}

/// Merges the valid queues once. `taken` says how many structures of each queue went to dst.
template <class T>
inline size_t merge_queues(const uint8_t *const queues[4], const uint16_t lengths[4], uint16_t valid, bool suspend,
                           uint8_t *dst, uint32_t taken[4])
{
    std::vector<Ranked> items;
    std::vector<uint8_t> from;
    size_t at[4] = {0, 0, 0, 0};
    for (;;) {
        int best = -1;
        Ranked next{};
        bool exhausted = false;
        for (int queue = 0; queue < 4; ++queue) {
            if ((valid >> queue & 1) == 0) {
                continue;
            }
            if (at[queue] == lengths[queue]) {
                exhausted = true;
                continue;
            }
            const Ranked item = read_ranked<T>(queues[queue] + at[queue] * kSortBytes);
            if (best < 0 || ranks_before(item, next)) {
                best = queue;
                next = item;
            }
        }
        if (best < 0 || (suspend && exhausted)) {
            break;
        }
        items.push_back(next);
        ++at[best];
    }
    for (size_t i = 0; i < items.size(); ++i) {
        write_ranked(dst + i * kSortBytes, items[i]);
    }
    std::copy(at, at + 4, taken);
    return items.size();
}

template <class T>
inline void merge(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::MrgSortSrcList<T> &src,
                  const uint16_t lengths[4], uint16_t valid, bool suspend, int32_t repeats, uint32_t taken[4])
{
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "MrgSort takes half or float");
    if (!g_core->aiv) {
        return;
    }
    const AscendC::LocalTensor<T> *const queues[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    if (valid != 0b11 && valid != 0b111 && valid != 0b1111) {
        misuse(api, "validBit 0x%x is none of 0b11, 0b111 and 0b1111", valid);
    }
    bool repeatable = valid == 0b1111 && !suspend;
    size_t total = 0;
    for (int queue = 0; queue < 4; ++queue) {
        total += (valid >> queue & 1) != 0 ? lengths[queue] : 0u;
        repeatable = repeatable && lengths[queue] == lengths[0] &&
                     queues[queue]->bytes() == queues[0]->bytes() + queue * size_t{lengths[0]} * kSortBytes;
    }
    if (repeats > 1 && !repeatable) {
        misuse(api, "repeatTimes %d needs four adjacent queues of one length and no suspension; one repeat runs", repeats);
        repeats = 1;
    }
    begin(PipeV);
    for (size_t repeat = 0; repeat < static_cast<size_t>(std::max(repeats, 0)); ++repeat) {
        const uint8_t *from[4];
        for (int queue = 0; queue < 4; ++queue) {
            from[queue] = queues[queue]->bytes() + repeat * total * kSortBytes;
            if ((valid >> queue & 1) != 0 && lengths[queue] != 0) {
                touch(api, PipeV, queues[queue]->extent(), from[queue], lengths[queue] * kSortBytes, false, kSortBytes);
            }
        }
        // How much is written is known only afterwards: the whole is kept inside UB first.
        uint8_t *to = dst.bytes() + repeat * total * kSortBytes;
        touch(api, PipeV, AscendC::LocalTensor<uint8_t>(g_core->ub, kUbBytes).extent(), to, total * kSortBytes, false,
              kBlockBytes);
        const size_t written = merge_queues<T>(from, lengths, valid, suspend, to, taken);
        touch(api, PipeV, dst.extent(), to, written * kSortBytes, true, kBlockBytes);
    }
}

}  // namespace opmend

namespace AscendC {

template <class T>
inline void Sort32(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<uint32_t> &src1,
                   const int32_t repeatTime)
{
    opmend::sort_32("Sort32", dst, src0, src1, repeatTime);
}

template <class T>
inline void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &src, const MrgSort4Info &params)
{
    uint32_t taken[4] = {0, 0, 0, 0};
    opmend::merge("MrgSort", dst, src, params.elementLengths, params.validBit, params.ifExhaustedSuspension,
                  params.repeatTimes, taken);
    std::copy(taken, taken + 4, opmend::g_core->merged);
}
template <class T>
inline void MrgSort4(const LocalTensor<T> &dst, const MrgSortSrcList<T> &src, const MrgSort4Info &params)
{
    MrgSort(dst, src, params);
}

/// How many structures of each queue the last MrgSort took.
inline void GetMrgSortResult(uint16_t &first, uint16_t &second, uint16_t &third, uint16_t &fourth)
{
    const uint32_t *merged = opmend::g_core->merged;
    first = static_cast<uint16_t>(merged[0]);
    second = static_cast<uint16_t>(merged[1]);
    third = static_cast<uint16_t>(merged[2]);
    fourth = static_cast<uint16_t>(merged[3]);
}

template <class T, bool isExhaustedSuspension = false>
inline void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &sortList, const uint16_t elementCountList[4],
                    uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTime)
{
    uint32_t taken[4] = {0, 0, 0, 0};
    opmend::merge("MrgSort", dst, sortList, elementCountList, validBit, isExhaustedSuspension, repeatTime, taken);
    std::copy(taken, taken + 4, opmend::g_core->merged);
    if constexpr (isExhaustedSuspension) {
        std::copy(taken, taken + 4, sortedNum);
    }
}

/// Nothing to prepare on Atlas A2: the scores are sorted where they are.
template <class T>
inline void Concat(LocalTensor<T> &concat, const LocalTensor<T> &src, const LocalTensor<T> &, const int32_t)
{
    concat = src;
}

/// Structures for `elements` elements, in elements of T.
template <class T>
inline uint32_t GetSortLen(const uint32_t elements)
{
    return elements * static_cast<uint32_t>(opmend::kSortBytes / sizeof(T));
}
template <class T>
inline uint32_t GetSortOffset(const uint32_t elements)
{
    return GetSortLen<T>(elements);
}

/// Groups of 32 elements, each sorted by itself or (isFullSort) all together. `tmp` is overwritten by a full sort.
template <class T, bool isFullSort>
inline void Sort(const LocalTensor<T> &dst, const LocalTensor<T> &concat, const LocalTensor<uint32_t> &index,
                 LocalTensor<T> &tmp, const int32_t repeatTime)
{
    if (!opmend::g_core->aiv || repeatTime <= 0) {
        return;
    }
    opmend::sort_32("Sort", dst, concat, index, repeatTime);
    if constexpr (isFullSort) {
        const size_t count = static_cast<size_t>(repeatTime) * opmend::kSortLanes;
        const size_t bytes = count * opmend::kSortBytes;
        opmend::begin(opmend::PipeV);
        if (repeatTime > 1) {
            opmend::touch("Sort", opmend::PipeV, tmp.extent(), tmp.bytes(), bytes, true, ONE_BLK_SIZE);
            if (opmend::g_core->recording) {
                opmend::rt::recorder_forget();
            }
            std::memset(tmp.bytes(), 0xff, bytes);
            opmend::mark(tmp.bytes(), bytes, opmend::kUnset);
        }
        std::vector<opmend::Ranked> items;
        for (size_t i = 0; i < count; ++i) {
            items.push_back(opmend::read_ranked<T>(dst.bytes() + i * opmend::kSortBytes));
        }
        std::stable_sort(items.begin(), items.end(), opmend::ranks_before);
        opmend::touch("Sort", opmend::PipeV, dst.extent(), dst.bytes(), bytes, true);
        for (size_t i = 0; i < count; ++i) {
            opmend::write_ranked(dst.bytes() + i * opmend::kSortBytes, items[i]);
        }
    }
}

/// Values and indices of 32 structures per repeat.
template <class T>
inline void Extract(const LocalTensor<T> &dstValue, const LocalTensor<uint32_t> &dstIndex, const LocalTensor<T> &sorted,
                    const int32_t repeatTime)
{
    constexpr const char *api = "Extract";
    if (!opmend::g_core->aiv || repeatTime <= 0) {
        return;
    }
    opmend::begin(opmend::PipeV);
    const size_t count = static_cast<size_t>(repeatTime) * opmend::kSortLanes;
    opmend::touch(api, opmend::PipeV, sorted.extent(), sorted.bytes(), count * opmend::kSortBytes, false, ONE_BLK_SIZE);
    opmend::touch(api, opmend::PipeV, dstValue.extent(), dstValue.bytes(), count * sizeof(T), true, ONE_BLK_SIZE);
    opmend::touch(api, opmend::PipeV, dstIndex.extent(), dstIndex.bytes(), count * sizeof(uint32_t), true, ONE_BLK_SIZE);
    std::vector<opmend::Ranked> items;
    for (size_t i = 0; i < count; ++i) {
        items.push_back(opmend::read_ranked<T>(sorted.bytes() + i * opmend::kSortBytes));
    }
    for (size_t i = 0; i < count; ++i) {
        std::memcpy(opmend::element(dstValue, i), items[i].bytes, sizeof(T));
        opmend::mark(opmend::element(dstValue, i), sizeof(T), items[i].state);
        std::memcpy(opmend::element(dstIndex, i), items[i].bytes + 4, sizeof(uint32_t));
        opmend::mark(opmend::element(dstIndex, i), sizeof(uint32_t), items[i].state);
    }
}

}  // namespace AscendC

#endif
