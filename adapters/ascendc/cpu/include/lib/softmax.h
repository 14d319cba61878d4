// SoftMax, SimpleSoftMax and Mean over the last axis.
//
// Computed in float and rounded once per output (the device's half path rounds more often, its exp is its own):
// approximate. Row maxima and sums are written as whole blocks of 32 bytes. The shape is that of SoftMaxShapeInfo, else
// that of the tiling. Semantics: vendor's pages "SoftMax", "SimpleSoftMax" and "Mean".
#ifndef OPMEND_LIB_SOFTMAX_H
#define OPMEND_LIB_SOFTMAX_H

#include "lib/reduce.h"

/// Filled by the host's SoftMaxTilingFunc; only the shape is used here.
struct SoftMaxTiling {
    uint32_t srcM = 0;
    uint32_t srcK = 0;
    uint32_t srcSize = 0;
    uint32_t outMaxM = 0;
    uint32_t outMaxK = 0;
    uint32_t outMaxSize = 0;
    uint32_t splitM = 0;
    uint32_t splitK = 0;
    uint32_t splitSize = 0;
    uint32_t reduceM = 0;
    uint32_t reduceK = 0;
    uint32_t reduceSize = 0;
    uint32_t rangeM = 0;
    uint32_t tailM = 0;
    uint32_t tailSplitSize = 0;
    uint32_t tailReduceSize = 0;
};

namespace AscendC {

using ::SoftMaxTiling;

struct SoftMaxShapeInfo {
    uint32_t srcM{0};
    uint32_t srcK{0};
    uint32_t oriSrcM{0};
    uint32_t oriSrcK{0};
};

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };

/// Compile-time options; oriSrcM and oriSrcK repeat SoftMaxShapeInfo's.
struct SoftmaxConfig {
    constexpr SoftmaxConfig(bool isCheckTilingIn, uint32_t oriSrcMIn = 0, uint32_t oriSrcKIn = 0,
                            SoftmaxMode modeIn = SoftmaxMode::SOFTMAX_NORMAL)
        : isCheckTiling(isCheckTilingIn), oriSrcM(oriSrcMIn), oriSrcK(oriSrcKIn), mode(modeIn)
    {}
    bool isCheckTiling;
    uint32_t oriSrcM, oriSrcK;
    SoftmaxMode mode;
};
inline constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true};

struct MeanParams {
    uint32_t outter = 1;
    uint32_t inner;
    uint32_t n;
};

}  // namespace AscendC

namespace opmend {

/// Rows, distance between rows, and the columns that count.
struct RowShape {
    size_t rows, pitch, columns;
};

inline RowShape row_shape(const char *api, const AscendC::SoftMaxTiling &tiling, const AscendC::SoftMaxShapeInfo &info)
{
    const RowShape shape = info.srcM != 0 ? RowShape{info.oriSrcM != 0 ? info.oriSrcM : info.srcM, info.srcK,
                                                     info.oriSrcK != 0 ? info.oriSrcK : info.srcK}
                                          : RowShape{tiling.srcM, tiling.srcK, tiling.srcK};
    if (shape.rows == 0 || shape.columns == 0 || shape.columns > shape.pitch) {
        rt::abort_launch("api-misuse", api,
                         rt::format("no shape: SoftMaxShapeInfo and the tiling name %zu rows of %zu (%zu) columns",
                                    shape.rows, shape.columns, shape.pitch));
    }
    return shape;
}

template <class T, class R>
inline void softmax(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<R> *sums,
                    const AscendC::LocalTensor<R> *maxima, bool given, const AscendC::LocalTensor<T> &src,
                    const RowShape &shape)
{
    if (!g_core->aiv) {
        return;
    }
    const size_t bytes = ((shape.rows - 1) * shape.pitch + shape.columns) * sizeof(T);
    begin(PipeV);
    touch(api, PipeV, src.extent(), src.bytes(), bytes, false, kBlockBytes);
    touch(api, PipeV, dst.extent(), dst.bytes(), bytes, true, kBlockBytes);
    for (const AscendC::LocalTensor<R> *side : {sums, maxima}) {
        if (side != nullptr) {
            touch(api, PipeV, side->extent(), side->bytes(), shape.rows * kBlockBytes, !given, kBlockBytes);
        }
    }
    for (size_t row = 0; row < shape.rows; ++row) {
        const uint8_t *from = element(src, row * shape.pitch);
        uint8_t state = state_of(from, shape.columns * sizeof(T));
        std::vector<float> values(shape.columns);
        float highest = -INFINITY, total = 0;
        for (size_t i = 0; i < shape.columns; ++i) {
            values[i] = static_cast<float>(load<T>(from + i * sizeof(T)));
            highest = MaxOp{}(highest, values[i]);
        }
        if (given) {
            highest = static_cast<float>(load<R>(maxima->bytes() + row * kBlockBytes));
            state = static_cast<uint8_t>(state & state_of(maxima->bytes() + row * kBlockBytes, sizeof(R)));
        }
        for (float &value : values) {
            value = std::exp(value - highest);
        }
        if (given) {
            total = static_cast<float>(load<R>(sums->bytes() + row * kBlockBytes));
            state = static_cast<uint8_t>(state & state_of(sums->bytes() + row * kBlockBytes, sizeof(R)));
        } else {
            total = tree_of_repeats<float>(reinterpret_cast<const uint8_t *>(values.data()), values.size(), false);
        }
        uint8_t *to = element(dst, row * shape.pitch);
        for (size_t i = 0; i < shape.columns; ++i) {
            const T result = narrow<T>(values[i] / total);
            std::memcpy(to + i * sizeof(T), &result, sizeof(T));
        }
        mark(to, shape.columns * sizeof(T), state);
        if (given || sums == nullptr) {
            continue;
        }
        for (size_t i = 0; i < kBlockBytes / sizeof(R); ++i) {
            const R top = narrow<R>(highest), sum = narrow<R>(total);
            std::memcpy(maxima->bytes() + row * kBlockBytes + i * sizeof(R), &top, sizeof(R));
            std::memcpy(sums->bytes() + row * kBlockBytes + i * sizeof(R), &sum, sizeof(R));
        }
        mark(maxima->bytes() + row * kBlockBytes, kBlockBytes, state);
        mark(sums->bytes() + row * kBlockBytes, kBlockBytes, state);
    }
}

}  // namespace opmend

namespace AscendC {

// With row sums and maxima, of the tensors' own type or (half tensors) of float, with and without a temporary.
#define OPMEND_SOFTMAX(TYPE, SIDE, TEMPORARY)                                                                        \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,            \
              const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>                                                      \
    inline void SoftMax(const LocalTensor<TYPE> &dst, const LocalTensor<SIDE> &sum, const LocalTensor<SIDE> &max,     \
                        const LocalTensor<TYPE> &src, TEMPORARY const SoftMaxTiling &tiling,                          \
                        const SoftMaxShapeInfo &info = {})                                                            \
    {                                                                                                                 \
        static_assert(!isDataFormatNZ, "unsupported: SoftMax (NZ tensors)");                                          \
        static_assert(config.mode == SoftmaxMode::SOFTMAX_NORMAL, "unsupported: SoftMax (outputs of one value)");      \
        opmend::softmax("SoftMax", dst, &sum, &max, false, src, opmend::row_shape("SoftMax", tiling, info));          \
    }                                                                                                                 \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,            \
              const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>                                                      \
    inline void SimpleSoftMax(const LocalTensor<TYPE> &dst, const LocalTensor<SIDE> &sum,                             \
                              const LocalTensor<SIDE> &max, const LocalTensor<TYPE> &src,                             \
                              TEMPORARY const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {})               \
    {                                                                                                                 \
        static_assert(!isDataFormatNZ, "unsupported: SimpleSoftMax (NZ tensors)");                                    \
        static_assert(config.mode == SoftmaxMode::SOFTMAX_NORMAL, "unsupported: SimpleSoftMax (outputs of one value)"); \
        opmend::softmax("SimpleSoftMax", dst, &sum, &max, true, src,                                                  \
                        opmend::row_shape("SimpleSoftMax", tiling, info));                                            \
    }
#define OPMEND_TEMPORARY const LocalTensor<uint8_t> &,
OPMEND_SOFTMAX(T, T, )
OPMEND_SOFTMAX(T, T, OPMEND_TEMPORARY)
OPMEND_SOFTMAX(half, float, )
OPMEND_SOFTMAX(half, float, OPMEND_TEMPORARY)
#undef OPMEND_SOFTMAX
#undef OPMEND_TEMPORARY

template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const SoftMaxTiling &tiling,
                    const SoftMaxShapeInfo &info = {})
{
    opmend::softmax<T, T>("SoftMax", dst, nullptr, nullptr, false, src, opmend::row_shape("SoftMax", tiling, info));
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false,
          const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>
inline void SoftMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,
                    const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {})
{
    opmend::softmax<T, T>("SoftMax", dst, nullptr, nullptr, false, src, opmend::row_shape("SoftMax", tiling, info));
}

/// Mean of each of `outter` rows: n elements that start `inner` elements apart, summed in accType.
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T> &dst, const LocalTensor<T> &src, const MeanParams &params)
{
    if (!opmend::g_core->aiv || params.outter == 0 || params.n == 0) {
        return;
    }
    if (params.inner * sizeof(T) % ONE_BLK_SIZE != 0 || params.n > params.inner) {
        opmend::misuse("Mean", "inner (%u) must be a multiple of 32 bytes and at least n (%u)", params.inner, params.n);
    }
    opmend::begin(opmend::PipeV);
    const size_t bytes = (static_cast<size_t>(params.outter - 1) * params.inner + params.n) * sizeof(T);
    opmend::touch("Mean", opmend::PipeV, src.extent(), src.bytes(), bytes, false, ONE_BLK_SIZE);
    for (uint32_t row = 0; row < params.outter; ++row) {
        const uint8_t *from = opmend::element(src, static_cast<size_t>(row) * params.inner);
        std::vector<accType> values(params.n);
        for (uint32_t i = 0; i < params.n; ++i) {
            values[i] = static_cast<accType>(opmend::load<T>(from + i * sizeof(T)));
        }
        const auto sum = opmend::tree_of_repeats<accType>(reinterpret_cast<const uint8_t *>(values.data()), params.n, false);
        const float mean = static_cast<float>(sum) / static_cast<float>(params.n);
        opmend::put("Mean", dst, opmend::element(dst, row), opmend::narrow<T>(mean),
                    opmend::state_of(from, params.n * sizeof(T)));
    }
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
inline void Mean(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,
                 const MeanParams &params)
{
    Mean<T, accType, isReuseSource, isBasicBlock, reduceDim>(dst, src, params);
}

}  // namespace AscendC

#endif
