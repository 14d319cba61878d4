// Transpose and TransDataTo5HD: 16 blocks of 32 bytes whose columns become blocks.
//
// Semantics: vendor's pages "Transpose" (16x16 of 2-byte elements, NCHW to NHWC and back) and "TransDataTo5HD". Element i
// of destination block j is element j of source block i; 4-byte elements fill two destination blocks per column, 1-byte
// elements one half of a block. With one repeat the documented start is the list's address plus one repeat stride.
#ifndef OPMEND_API_TRANSPOSE_H
#define OPMEND_API_TRANSPOSE_H

#include <vector>

#include "api/engine.h"

namespace AscendC {

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW,
};

struct TransposeParamsExt {
    TransposeParamsExt() {}
    TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type)
    {}
    uint16_t nSize = 0;
    uint16_t cSize = 0;
    uint16_t hSize = 0;
    uint16_t wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

struct TransDataTo5HDParams {
    TransDataTo5HDParams() {}
    TransDataTo5HDParams(bool dst_high, bool src_high, uint8_t repeats, uint16_t dst_rep, uint16_t src_rep)
        : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(repeats), dstRepStride(dst_rep),
          srcRepStride(src_rep)
    {}
    bool dstHighHalf = false;
    bool srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0;
    uint16_t srcRepStride = 0;
};

}  // namespace AscendC

namespace opmend {

/// Where one of the 16 blocks starts and how far it may go.
struct BlockList {
    uint8_t *at[16];
    Extent extent[16];
};

/// Permutes whole tensors: dst[i] = src[from(i)] for i < count.
template <class T, class From>
inline void permute(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                    size_t count, From from)
{
    if (!g_core->aiv || count == 0) {
        return;
    }
    begin(PipeV);
    touch(api, PipeV, src.extent(), src.bytes(), count * sizeof(T), false, kBlockBytes);
    touch(api, PipeV, dst.extent(), dst.bytes(), count * sizeof(T), true, kBlockBytes);
    std::vector<T> values(count);
    std::vector<uint8_t> states(count);
    for (size_t i = 0; i < count; ++i) {
        const uint8_t *at = element(src, from(i));
        values[i] = load<T>(at);
        states[i] = state_of(at, sizeof(T));
    }
    for (size_t i = 0; i < count; ++i) {
        std::memcpy(element(dst, i), &values[i], sizeof(T));
        mark(element(dst, i), sizeof(T), states[i]);
    }
}

template <class T>
inline void columns_to_blocks(const BlockList &dst, const BlockList &src, const AscendC::TransDataTo5HDParams &p)
{
    static_assert(sizeof(T) <= 4, "TransDataTo5HD takes elements of 1, 2 and 4 bytes");
    constexpr const char *api = "TransDataTo5HD";
    if (!g_core->aiv) {
        return;
    }
    constexpr size_t width = std::min<size_t>(kBlockBytes / sizeof(T), 16);  // columns that are moved
    const size_t from_half = sizeof(T) == 1 && p.srcHighHalf ? 16 : 0, to_half = sizeof(T) == 1 && p.dstHighHalf ? 16 : 0;
    begin(PipeV);
    for (size_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        const size_t step = (p.repeatTimes == 1 ? 1 : repeat) * kBlockBytes;
        T value[16][width];
        uint8_t state[16][width];
        for (size_t row = 0; row < 16; ++row) {
            const uint8_t *at = src.at[row] + step * p.srcRepStride + from_half * sizeof(T);
            touch(api, PipeV, src.extent[row], at, width * sizeof(T), false, sizeof(T) == 1 ? 16 : kBlockBytes);
            for (size_t column = 0; column < width; ++column) {
                value[row][column] = load<T>(at + column * sizeof(T));
                state[row][column] = state_of(at + column * sizeof(T), sizeof(T));
            }
        }
        constexpr size_t per_block = std::min<size_t>(kBlockBytes / sizeof(T), 16);  // rows that one block takes
        for (size_t column = 0; column < width; ++column) {
            for (size_t row = 0; row < 16; ++row) {
                const size_t block = column * (16 / per_block) + row / per_block;
                uint8_t *at = dst.at[block] + step * p.dstRepStride + (to_half + row % per_block) * sizeof(T);
                touch(api, PipeV, dst.extent[block], at, sizeof(T), true);
                std::memcpy(at, &value[row][column], sizeof(T));
                mark(at, sizeof(T), state[row][column]);
            }
        }
    }
}

inline BlockList list_of(const uint64_t addresses[16])
{
    BlockList list;
    for (size_t i = 0; i < 16; ++i) {
        list.at[i] = reinterpret_cast<uint8_t *>(static_cast<uintptr_t>(addresses[i]));
        list.extent[i] = Extent{g_core->ub, g_core->ub + kUbBytes, nullptr};
    }
    return list;
}

template <class T>
inline BlockList list_of(const AscendC::LocalTensor<T> (&tensors)[16])
{
    BlockList list;
    for (size_t i = 0; i < 16; ++i) {
        list.at[i] = tensors[i].bytes();
        list.extent[i] = tensors[i].extent();
    }
    return list;
}

}  // namespace opmend

namespace AscendC {

template <class T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src)
{
    static_assert(sizeof(T) == 2, "Transpose takes 2-byte elements");
    opmend::permute("Transpose", dst, src, 256, [](size_t i) { return i % 16 * 16 + i / 16; });
}

template <class T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,
                      const TransposeParamsExt &p)
{
    const size_t channels = p.cSize, pixels = static_cast<size_t>(p.hSize) * p.wSize, plane = channels * pixels;
    switch (p.transposeType) {
        case TransposeType::TRANSPOSE_TYPE_NONE: return;
        case TransposeType::TRANSPOSE_ND2ND_B16:
            if constexpr (sizeof(T) == 2) {
                Transpose(dst, src);
                return;
            }
            break;
        case TransposeType::TRANSPOSE_NCHW2NHWC:
            opmend::permute("Transpose", dst, src, p.nSize * plane, [=](size_t i) {
                return i / plane * plane + i % channels * pixels + i % plane / channels;
            });
            return;
        case TransposeType::TRANSPOSE_NHWC2NCHW:
            opmend::permute("Transpose", dst, src, p.nSize * plane, [=](size_t i) {
                return i / plane * plane + i % pixels * channels + i % plane / pixels;
            });
            return;
        default: break;
    }
    opmend::rt::abort_launch("api-misuse", "Transpose",
                             opmend::rt::format("unsupported: Transpose (type %d)", static_cast<int>(p.transposeType)));
}

template <class T>
inline void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
                           const TransDataTo5HDParams &params)
{
    opmend::columns_to_blocks<T>(opmend::list_of(dstList), opmend::list_of(srcList), params);
}
template <class T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
                           const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams &params)
{
    opmend::columns_to_blocks<T>(opmend::list_of(dstList), opmend::list_of(srcList), params);
}
/// The form below the documented one, with bare addresses; sources in the wild call it.
template <class T>
inline void TransDataTo5HDImpl(T *dstList[NCHW_CONV_ADDR_LIST_SIZE], T *srcList[NCHW_CONV_ADDR_LIST_SIZE],
                               const TransDataTo5HDParams &params)
{
    uint64_t to[16], from[16];
    for (size_t i = 0; i < 16; ++i) {
        to[i] = reinterpret_cast<uint64_t>(dstList[i]);
        from[i] = reinterpret_cast<uint64_t>(srcList[i]);
    }
    TransDataTo5HD<T>(to, from, params);
}
/// The addresses lie in UB themselves.
template <class T>
inline void TransDataTo5HD(const LocalTensor<uint64_t> &dst, const LocalTensor<uint64_t> &src,
                           const TransDataTo5HDParams &params)
{
    uint64_t to[16], from[16];
    for (uint32_t i = 0; i < 16; ++i) {
        to[i] = dst.GetValue(i);
        from[i] = src.GetValue(i);
    }
    TransDataTo5HD<T>(to, from, params);
}

}  // namespace AscendC

#endif
