// Filling and rearranging inside UB: Duplicate, Copy, Brcb, CreateVecIndex, Gather.
#ifndef OPMEND_API_FILL_H
#define OPMEND_API_FILL_H

#include "api/engine.h"

namespace opmend {

/// dst[i] = src at byte offset base + offsets[i]. An offset that leaves UB ends the launch with a finding.
template <class T>
inline void gather_one(const AscendC::LocalTensor<T> &src, uint32_t base, const uint8_t *offset_at, T &value,
                       uint8_t &state)
{
    require_written("Gather", offset_at, sizeof(uint32_t));
    const uint8_t *from = src.bytes() + base + load<uint32_t>(offset_at);
    touch("Gather", PipeV, src.extent(), from, sizeof(T), false, sizeof(T));
    value = load<T>(from);
    state = state_of(from, sizeof(T));
}

template <class T>
inline void gather_repeats(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                           const AscendC::LocalTensor<uint32_t> &offsets, uint32_t base, const LaneMask &mask,
                           size_t repeat_count, size_t dst_stride)
{
    if (!g_core->aiv) {
        return;
    }
    constexpr size_t lanes = lanes_of<T>();
    begin(PipeV);
    check_start("Gather", dst.bytes());
    const Strided<T> out{dst, 1, dst_stride};
    const size_t repeats = mask.repeats(repeat_count, lanes);
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        for (size_t lane = 0; lane < lanes; ++lane) {
            if (!mask.active(repeat, lane, lanes)) {
                continue;
            }
            const uint8_t *offset_at = element(offsets, repeat * lanes + lane);
            touch("Gather", PipeV, offsets.extent(), offset_at, sizeof(uint32_t), false);
            T value;
            uint8_t state;
            gather_one(src, base, offset_at, value, state);
            touch("Gather", PipeV, dst.extent(), out.at(repeat, lane), sizeof(T), true);
            std::memcpy(out.at(repeat, lane), &value, sizeof(T));
            mark(out.at(repeat, lane), sizeof(T), state);
        }
    }
}

inline void move_block(const char *api, const Extent &dst_extent, uint8_t *dst, const Extent &src_extent,
                       const uint8_t *src)
{
    touch(api, PipeV, src_extent, src, kBlockBytes, false, kBlockBytes);
    touch(api, PipeV, dst_extent, dst, kBlockBytes, true, kBlockBytes);
    std::memmove(dst, src, kBlockBytes);
#if OPMEND_CHECK >= 2
    std::memmove(shadow_of(dst), shadow_of(src), kBlockBytes);
#endif
}

}  // namespace opmend

namespace AscendC {

template <class T>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, const int32_t &count)
{
    const T value = scalarValue;
    opmend::run_count("Duplicate", count, [value] { return value; }, dst);
}
template <class T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, uint64_t mask, const uint8_t repeatTime,
                      const uint16_t dstBlockStride, const uint8_t dstRepeatStride)
{
    const T value = scalarValue;
    opmend::run_repeats("Duplicate", opmend::call_mask<isSetMask>(mask), repeatTime, [value] { return value; },
                        opmend::Strided<T>{dst, dstBlockStride, dstRepeatStride});
}
template <class T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue, uint64_t mask[], const uint8_t repeatTime,
                      const uint16_t dstBlockStride, const uint8_t dstRepeatStride)
{
    const T value = scalarValue;
    opmend::run_repeats("Duplicate", opmend::call_mask<isSetMask>(mask), repeatTime, [value] { return value; },
                        opmend::Strided<T>{dst, dstBlockStride, dstRepeatStride});
}

template <class T, bool isSetMask = true>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count)
{
    opmend::run_count("Copy", count, [](T x) { return x; }, dst, src);
}
template <class T, bool isSetMask = true>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask, const uint8_t repeatTime,
                 const CopyRepeatParams &p)
{
    opmend::run_repeats("Copy", opmend::call_mask<isSetMask>(mask), repeatTime, [](T x) { return x; },
                        opmend::Strided<T>{dst, p.dstStride, p.dstRepeatSize},
                        opmend::Strided<T>{src, p.srcStride, p.srcRepeatSize});
}
template <class T, bool isSetMask = true>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask[], const uint8_t repeatTime,
                 const CopyRepeatParams &p)
{
    opmend::run_repeats("Copy", opmend::call_mask<isSetMask>(mask), repeatTime, [](T x) { return x; },
                        opmend::Strided<T>{dst, p.dstStride, p.dstRepeatSize},
                        opmend::Strided<T>{src, p.srcStride, p.srcRepeatSize});
}

/// Each repeat takes 8 elements of src and fills one block of dst with each. A block stride of 0 means 1 (vendor's page).
template <class T>
inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t repeatTime,
                 const BrcbRepeatParams &p)
{
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Brcb takes 2- and 4-byte elements");
    if (!opmend::g_core->aiv) {
        return;
    }
    constexpr size_t width = ONE_BLK_SIZE / sizeof(T);
    const size_t block_stride = std::max<size_t>(p.dstBlkStride, 1);
    opmend::begin(opmend::PipeV);
    opmend::check_start("Brcb", src.bytes());
    for (size_t repeat = 0; repeat < repeatTime; ++repeat) {
        const uint8_t *from = opmend::element(src, repeat * DEFAULT_BLK_NUM);
        opmend::touch("Brcb", opmend::PipeV, src.extent(), from, DEFAULT_BLK_NUM * sizeof(T), false);
        T value[DEFAULT_BLK_NUM];
        uint8_t state[DEFAULT_BLK_NUM];
        for (size_t i = 0; i < DEFAULT_BLK_NUM; ++i) {
            value[i] = opmend::load<T>(from + i * sizeof(T));
            state[i] = opmend::state_of(from + i * sizeof(T), sizeof(T));
        }
        for (size_t i = 0; i < DEFAULT_BLK_NUM; ++i) {
            uint8_t *to = dst.bytes() + (repeat * p.dstRepStride + i * block_stride) * ONE_BLK_SIZE;
            opmend::touch("Brcb", opmend::PipeV, dst.extent(), to, ONE_BLK_SIZE, true, ONE_BLK_SIZE);
            for (size_t k = 0; k < width; ++k) {
                std::memcpy(to + k * sizeof(T), &value[i], sizeof(T));
            }
            opmend::mark(to, ONE_BLK_SIZE, state[i]);
        }
    }
}

/// dst[i] = first + i.
template <class T>
inline void CreateVecIndex(LocalTensor<T> dst, const T &firstValue, uint32_t count)
{
    double next = opmend::to_double(firstValue);
    opmend::run_count("CreateVecIndex", count, [&next] { return static_cast<T>(next++); }, dst);
}

/// dst[i] = first + i * difference, computed in double and rounded once.
template <class T>
inline void ArithProgression(const LocalTensor<T> &dst, const T firstValue, const T diffValue, const int32_t count)
{
    const double first = opmend::to_double(firstValue);
    const double step = opmend::to_double(diffValue);
    int64_t index = 0;
    opmend::run_count("ArithProgression", count,
                      [&] { return static_cast<T>(first + step * static_cast<double>(index++)); }, dst);
}
template <class T>
inline void Arange(const LocalTensor<T> &dst, const T firstValue, const T diffValue, const int32_t count)
{
    ArithProgression(dst, firstValue, diffValue, count);
}

template <class T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset,
                   const uint32_t srcBaseAddr, const uint32_t count)
{
    if (!opmend::g_core->aiv || count == 0) {
        return;
    }
    opmend::begin(opmend::PipeV);
    const size_t offset_bytes = static_cast<size_t>(count) * sizeof(uint32_t);
    opmend::touch("Gather", opmend::PipeV, srcOffset.extent(), srcOffset.bytes(), offset_bytes, false, ONE_BLK_SIZE);
    opmend::touch("Gather", opmend::PipeV, dst.extent(), dst.bytes(), count * sizeof(T), true, ONE_BLK_SIZE);
    for (uint32_t i = 0; i < count; ++i) {
        T value;
        uint8_t state;
        opmend::gather_one(src, srcBaseAddr, opmend::element(srcOffset, i), value, state);
        std::memcpy(opmend::element(dst, i), &value, sizeof(T));
        opmend::mark(opmend::element(dst, i), sizeof(T), state);
    }
}
template <class T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset,
                   const uint32_t srcBaseAddr, const uint64_t mask, const uint8_t repeatTime,
                   const uint16_t dstRepStride)
{
    opmend::gather_repeats(dst, src, srcOffset, srcBaseAddr, opmend::call_mask<true>(mask), repeatTime, dstRepStride);
}
template <class T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset,
                   const uint32_t srcBaseAddr, const uint64_t mask[], const uint8_t repeatTime,
                   const uint16_t dstRepStride)
{
    opmend::gather_repeats(dst, src, srcOffset, srcBaseAddr, opmend::call_mask<true>(mask), repeatTime,
                           dstRepStride);
}

/// Gathers blocks: each repeat takes 8 offsets (bytes, multiples of 32) and moves one 32-byte block for each.
template <class T>
inline void Gatherb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offset,
                    const uint8_t repeatTime, const GatherRepeatParams &p)
{
    if (!opmend::g_core->aiv) {
        return;
    }
    opmend::begin(opmend::PipeV);
    for (size_t i = 0; i < repeatTime * size_t{DEFAULT_BLK_NUM}; ++i) {
        const uint8_t *at = opmend::element(offset, i);
        opmend::touch("Gatherb", opmend::PipeV, offset.extent(), at, sizeof(uint32_t), false);
        opmend::require_written("Gatherb", at, sizeof(uint32_t));
        const uint8_t *from = src.bytes() + opmend::load<uint32_t>(at);
        const size_t block = i / DEFAULT_BLK_NUM * p.dstRepStride + i % DEFAULT_BLK_NUM * p.dstBlkStride;
        opmend::move_block("Gatherb", dst.extent(), dst.bytes() + block * ONE_BLK_SIZE, src.extent(), from);
    }
}

}  // namespace AscendC

#endif
