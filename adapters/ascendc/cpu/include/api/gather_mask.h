// GatherMask: collects the elements that a bit pattern selects, one after another.
//
// Built-in patterns: 1 even, 2 odd, 3..6 the first to fourth of every four, 7 all. A tensor pattern is consumed bit by
// bit (lowest first) within a repeat; src1RepeatStride blocks lead to the next repeat's bits. Normal mode handles 256
// bytes per repeat; counter mode `mask` elements per repeat (the form that Atlas A2 has).
#ifndef OPMEND_API_GATHER_MASK_H
#define OPMEND_API_GATHER_MASK_H

#include "api/engine.h"

namespace AscendC {

enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };

struct GatherMaskParams {
    GatherMaskParams() {}
    GatherMaskParams(uint8_t block_stride, uint16_t repeats, uint16_t src0_repeat_stride, uint8_t src1_repeat_stride)
        : src0BlockStride(block_stride), repeatTimes(repeats), src0RepeatStride(src0_repeat_stride),
          src1RepeatStride(src1_repeat_stride)
    {}
    uint8_t src0BlockStride = DEFAULT_BLK_STRIDE;
    uint16_t repeatTimes = 0;
    uint16_t src0RepeatStride = DEFAULT_REPEAT_STRIDE;
    uint8_t src1RepeatStride = DEFAULT_REPEAT_STRIDE;
};

}  // namespace AscendC

namespace opmend {

/// `chosen(repeat, i)` tells whether element i of a repeat is kept. Returns how many elements were.
template <class T, class Chosen>
inline uint64_t gather_mask(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, bool counter,
                            uint32_t mask, const AscendC::GatherMaskParams &p, Chosen chosen)
{
    constexpr const char *api = "GatherMask";
    if (!g_core->aiv) {
        return 0;
    }
    begin(PipeV);
    check_start(api, dst.bytes());
    check_start(api, src.bytes());
    constexpr size_t per_block = kBlockBytes / sizeof(T);
    const size_t elements = counter ? mask : kRepeatBytes / sizeof(T);
    uint64_t kept = 0;
    for (size_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        for (size_t first = 0; first < elements; first += per_block) {
            const size_t block = repeat * p.src0RepeatStride + first / per_block * p.src0BlockStride;
            const uint8_t *from = src.bytes() + block * kBlockBytes;
            const size_t here = std::min(per_block, elements - first);
            touch(api, PipeV, src.extent(), from, here * sizeof(T), false);
            for (size_t i = 0; i < here; ++i) {
                if (!chosen(repeat, first + i)) {
                    continue;
                }
                uint8_t *to = element(dst, kept++);
                touch(api, PipeV, dst.extent(), to, sizeof(T), true);
                const uint8_t state = state_of(from + i * sizeof(T), sizeof(T));
                std::memmove(to, from + i * sizeof(T), sizeof(T));
                mark(to, sizeof(T), state);
            }
        }
    }
    return kept;
}

}  // namespace opmend

namespace AscendC {

template <class T, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const uint8_t src1Pattern,
                       const bool reduceMode, const uint32_t mask, const GatherMaskParams &params, uint64_t &rsvdCnt)
{
    if (src1Pattern < 1 || src1Pattern > 7) {
        opmend::rt::abort_launch("api-misuse", "GatherMask",
                                 opmend::rt::format("pattern %u is outside 1..7", src1Pattern));
    }
    rsvdCnt = opmend::gather_mask(dst, src0, reduceMode, mask, params, [src1Pattern](size_t, size_t i) {
        return src1Pattern == 7 || (src1Pattern <= 2 ? i % 2 == src1Pattern - 1u : i % 4 == src1Pattern - 3u);
    });
}

template <class T, class U, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<U> &src1Pattern,
                       const bool reduceMode, const uint32_t mask, const GatherMaskParams &params, uint64_t &rsvdCnt)
{
    rsvdCnt = opmend::gather_mask(dst, src0, reduceMode, mask, params, [&](size_t repeat, size_t i) {
        const uint8_t *byte = src1Pattern.bytes() + repeat * params.src1RepeatStride * ONE_BLK_SIZE + i / 8;
        opmend::touch("GatherMask", opmend::PipeV, src1Pattern.extent(), byte, 1, false);
        opmend::require_written("GatherMask", byte, 1);
        return (*byte >> (i % 8) & 1) != 0;
    });
}

}  // namespace AscendC

#endif
