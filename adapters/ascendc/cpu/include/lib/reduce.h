// High-level reductions and broadcast over a two-dimensional tensor in UB.
//
// The source's rows lie 32-byte aligned: the distance between rows is the row length rounded up (Atlas A2 takes
// srcInnerPad = true only). Sums go by the tree of reduce.h; the device's own order is not public: approximate.
#ifndef OPMEND_LIB_REDUCE_H
#define OPMEND_LIB_REDUCE_H

#include "api/reduce.h"

namespace opmend {

enum class Fold { Sum, Mean, Max, Min };

template <Fold fold, class T>
inline T fold_values(std::vector<T> &values)
{
    if constexpr (fold == Fold::Max || fold == Fold::Min) {
        Best<T, fold == Fold::Max> best;
        for (size_t i = 0; i < values.size(); ++i) {
            best.see(values[i], static_cast<uint32_t>(i));
        }
        return best.value;
    } else {
        const T sum = tree_of_repeats<T>(reinterpret_cast<const uint8_t *>(values.data()), values.size(), false);
        if constexpr (fold == Fold::Mean) {
            return narrow<T>(static_cast<Wide<T>>(sum) / static_cast<Wide<T>>(values.size()));
        }
        return sum;
    }
}

/// AR: one result per row. RA: one per column.
template <Fold fold, class Pattern, class T>
inline void fold_pattern(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                         const uint32_t shape[], bool padded)
{
    constexpr bool by_row = std::is_same_v<Pattern, AscendC::Pattern::Reduce::AR>;
    static_assert(by_row || std::is_same_v<Pattern, AscendC::Pattern::Reduce::RA>,
                  "unsupported: reduction patterns other than AR and RA");
    if (!g_core->aiv || shape[0] == 0 || shape[1] == 0) {
        return;
    }
    constexpr size_t block = kBlockBytes / sizeof(T);
    const size_t rows = shape[0], columns = shape[1];
    const size_t stride = padded ? (columns + block - 1) / block * block : columns;
    if (!padded) {
        misuse(api, "srcInnerPad = false is not taken on Atlas A2");
    }
    begin(PipeV);
    touch(api, PipeV, src.extent(), src.bytes(), ((rows - 1) * stride + columns) * sizeof(T), false, kBlockBytes);
    const size_t results = by_row ? rows : columns;
    const size_t length = by_row ? columns : rows;
    touch(api, PipeV, dst.extent(), dst.bytes(), results * sizeof(T), true, kBlockBytes);
    std::vector<T> out(results);
    std::vector<uint8_t> states(results, kWritten);
    std::vector<T> values(length);
    for (size_t result = 0; result < results; ++result) {
        if (by_row) {
            const uint8_t *row = element(src, result * stride);
            std::memcpy(values.data(), row, length * sizeof(T));
            states[result] = state_of(row, length * sizeof(T));
        }
        for (size_t i = 0; i < length && !by_row; ++i) {
            const uint8_t *at = element(src, i * stride + result);
            values[i] = load<T>(at);
            states[result] = static_cast<uint8_t>(states[result] & state_of(at, sizeof(T)));
        }
        out[result] = fold_values<fold>(values);
    }
    for (size_t result = 0; result < results; ++result) {
        std::memcpy(element(dst, result), &out[result], sizeof(T));
        mark(element(dst, result), sizeof(T), states[result]);
    }
}

template <class T, int32_t dim, int32_t axis>
inline void broadcast(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                      const uint32_t dst_shape[], const uint32_t src_shape[])
{
    static_assert(dim == 1 || dim == 2, "Broadcast takes one or two dimensions");
    static_assert(axis == 0 || axis == 1, "Broadcast goes along axis 0 or 1");
    if (!g_core->aiv) {
        return;
    }
    const size_t rows = dim == 1 ? 1 : dst_shape[0];
    const size_t columns = dst_shape[dim - 1];
    const size_t src_rows = dim == 1 ? 1 : src_shape[0];
    const size_t src_columns = src_shape[dim - 1];
    const bool fits = (src_rows == rows || src_rows == 1) && (src_columns == columns || src_columns == 1);
    if (!fits) {
        rt::abort_launch("api-misuse", "Broadcast",
                         rt::format("cannot broadcast %zux%zu to %zux%zu", src_rows, src_columns, rows, columns));
    }
    begin(PipeV);
    touch("Broadcast", PipeV, src.extent(), src.bytes(), src_rows * src_columns * sizeof(T), false, kBlockBytes);
    touch("Broadcast", PipeV, dst.extent(), dst.bytes(), rows * columns * sizeof(T), true, kBlockBytes);
    for (size_t row = 0; row < rows; ++row) {
        const uint8_t *from = element(src, (src_rows == 1 ? 0 : row) * src_columns);
        uint8_t *to = element(dst, row * columns);
        if (src_columns == columns) {
            std::memmove(to, from, columns * sizeof(T));
#if OPMEND_CHECK >= 2
            std::memmove(shadow_of(to), shadow_of(from), columns * sizeof(T));
#endif
            continue;
        }
        const T value = load<T>(from);
        const uint8_t state = state_of(from, sizeof(T));
        for (size_t column = 0; column < columns; ++column) {
            std::memcpy(to + column * sizeof(T), &value, sizeof(T));
        }
        mark(to, columns * sizeof(T), state);
    }
}

}  // namespace opmend

namespace AscendC {

#define OPMEND_FOLD(NAME, FOLD)                                                                                       \
    template <class T, class Pattern, bool isReuseSource = false>                                                     \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,              \
                     const uint32_t srcShape[], bool srcInnerPad)                                                     \
    {                                                                                                                 \
        opmend::fold_pattern<opmend::Fold::FOLD, Pattern>(#NAME, dst, src, srcShape, srcInnerPad);                    \
    }                                                                                                                 \
    template <class T, class Pattern, bool isReuseSource = false>                                                     \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t srcShape[],                 \
                     bool srcInnerPad)                                                                                \
    {                                                                                                                 \
        opmend::fold_pattern<opmend::Fold::FOLD, Pattern>(#NAME, dst, src, srcShape, srcInnerPad);                    \
    }
OPMEND_FOLD(ReduceSum, Sum)
OPMEND_FOLD(ReduceMean, Mean)
OPMEND_FOLD(ReduceMax, Max)
OPMEND_FOLD(ReduceMin, Min)
#undef OPMEND_FOLD

/// Sum of each of `outter` rows: n elements that start `inner` elements apart.
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
inline void Sum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const SumParams &params)
{
    if (!opmend::g_core->aiv) {
        return;
    }
    if (params.inner * sizeof(T) % ONE_BLK_SIZE != 0 || params.n > params.inner) {
        opmend::misuse("Sum", "inner (%u) must be a multiple of 32 bytes and at least n (%u)", params.inner, params.n);
    }
    opmend::begin(opmend::PipeV);
    const size_t extent = (static_cast<size_t>(params.outter - 1) * params.inner + params.n) * sizeof(T);
    opmend::touch("Sum", opmend::PipeV, src.extent(), src.bytes(), extent, false, ONE_BLK_SIZE);
    for (uint32_t row = 0; row < params.outter; ++row) {
        const uint8_t *from = opmend::element(src, static_cast<size_t>(row) * params.inner);
        const T sum = opmend::tree_of_repeats<T>(from, params.n, false);
        opmend::put("Sum", dst, opmend::element(dst, row), sum, opmend::state_of(from, params.n * sizeof(T)));
    }
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
inline void Sum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,
                const SumParams &params)
{
    Sum<T, reduceDim, isReuseSource, isBasicBlock>(dst, src, params);
}

template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim])
{
    opmend::broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], LocalTensor<uint8_t> &)
{
    opmend::broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim])
{
    opmend::broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], LocalTensor<uint8_t> &)
{
    opmend::broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}

}  // namespace AscendC

#endif
