// AscendQuant and AscendDequant, the forms of Atlas A2.
//
// AscendQuant works in half: source, scale and offset are rounded to half, then the product, then the sum; the result
// goes to int8_t half-to-even and saturates. AscendDequant works in float and rounds once; a uint64_t scale is a float
// in its lower 32 bits. Scales for tokens and groups belong to later parts. Semantics: vendor's pages of the same names.
#ifndef OPMEND_LIB_QUANTISE_H
#define OPMEND_LIB_QUANTISE_H

#include "api/cast.h"
#include "lib/reduce.h"

namespace AscendC {

/// Compile-time repetition of the call's counts: no effect.
struct AscendQuantConfig {
    uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0;
};
inline constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG{};

enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };

/// Rows, row length (whole blocks of 32 bytes), and how many of each row count.
struct DequantParams {
    uint32_t m, n, calCount;
};

}  // namespace AscendC

namespace opmend {

/// A scale or offset: one number for all elements, or a tensor that repeats every `count` of them.
template <class T>
struct Coefficient {
    const AscendC::LocalTensor<T> *tensor = nullptr;
    size_t count = 1;
    T value{};

    void touch_all(const char *api) const
    {
        if (tensor != nullptr) {
            touch(api, PipeV, tensor->extent(), tensor->bytes(), count * sizeof(T), false, kBlockBytes);
        }
    }
    T at(size_t index, uint8_t &state) const
    {
        if (tensor == nullptr) {
            return value;
        }
        const uint8_t *from = element(*tensor, index % count);
        state = static_cast<uint8_t>(state & state_of(from, sizeof(T)));
        return load<T>(from);
    }
};

template <class T>
inline void quantise(const AscendC::LocalTensor<int8_t> &dst, const AscendC::LocalTensor<T> &src,
                     const Coefficient<T> &scale, const Coefficient<T> &offset, size_t count)
{
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "AscendQuant takes half and float");
    constexpr const char *api = "AscendQuant";
    if (!g_core->aiv || count == 0) {
        return;
    }
    if (scale.count == 0 || offset.count == 0) {
        rt::abort_launch("api-misuse", api, "no scale or no offset: scaleCount or offsetCount is 0");
    }
    begin(PipeV);
    touch(api, PipeV, src.extent(), src.bytes(), count * sizeof(T), false, kBlockBytes);
    scale.touch_all(api);
    offset.touch_all(api);
    touch(api, PipeV, dst.extent(), dst.bytes(), count, true, kBlockBytes);
    const auto rounded = [](T value) { return static_cast<float>(narrow<half>(static_cast<float>(value))); };
    for (size_t i = 0; i < count; ++i) {
        const uint8_t *from = element(src, i);
        uint8_t state = state_of(from, sizeof(T));
        const float product = rounded(load<T>(from)) * rounded(scale.at(i, state));
        const half sum = narrow<half>(static_cast<float>(narrow<half>(product)) + rounded(offset.at(i, state)));
        const auto result = to_integer<int8_t>(to_double(sum), AscendC::RoundMode::CAST_RINT);
        uint8_t *to = element(dst, i);
        std::memcpy(to, &result, 1);
        mark(to, 1, state);
    }
}

template <class S>
inline float scale_value(S scale)
{
    if constexpr (std::is_same_v<S, uint64_t>) {
        const auto word = static_cast<uint32_t>(scale);
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    } else {
        return static_cast<float>(scale);
    }
}

/// The first calCount elements of each of m rows; with `single_row`, one row in whole parts of calCount counts as rows.
template <class D, class S>
inline void dequantise(const AscendC::LocalTensor<D> &dst, const AscendC::LocalTensor<int32_t> &src,
                       const Coefficient<S> &scale, AscendC::DequantParams shape, bool single_row)
{
    static_assert(is_any_float<D>, "AscendDequant gives half, bfloat16_t and float");
    constexpr const char *api = "AscendDequant";
    if (!g_core->aiv) {
        return;
    }
    if (single_row && shape.m == 1 && shape.calCount != 0 && shape.calCount * sizeof(D) % kBlockBytes == 0 &&
        shape.n % shape.calCount == 0) {
        shape = {shape.n / shape.calCount, shape.calCount, shape.calCount};
    }
    const size_t pitch = (shape.n * sizeof(D) + kBlockBytes - 1) / kBlockBytes * kBlockBytes / sizeof(D);
    if (shape.m == 0 || shape.calCount == 0 || shape.calCount > shape.n || shape.n * sizeof(int32_t) % kBlockBytes != 0 ||
        (scale.tensor != nullptr && shape.calCount > scale.count)) {
        rt::abort_launch("api-misuse", api,
                         rt::format("DequantParams {%u, %u, %u} with %zu scales", shape.m, shape.n, shape.calCount, scale.count));
    }
    begin(PipeV);
    const size_t before = static_cast<size_t>(shape.m - 1);
    touch(api, PipeV, src.extent(), src.bytes(), (before * shape.n + shape.calCount) * sizeof(int32_t), false, kBlockBytes);
    scale.touch_all(api);
    touch(api, PipeV, dst.extent(), dst.bytes(), (before * pitch + shape.calCount) * sizeof(D), true, kBlockBytes);
    for (size_t row = 0; row < shape.m; ++row) {
        for (size_t i = 0; i < shape.calCount; ++i) {
            const uint8_t *from = element(src, row * shape.n + i);
            uint8_t state = state_of(from, sizeof(int32_t));
            const float value = static_cast<float>(load<int32_t>(from)) * scale_value(scale.at(i, state));
            const D result = narrow<D>(value);
            uint8_t *to = element(dst, row * pitch + i);
            std::memcpy(to, &result, sizeof(D));
            mark(to, sizeof(D), state);
        }
    }
}

}  // namespace opmend

namespace AscendC {

// Each form with and without a temporary; without counts, all of the source and of the scales.
#define OPMEND_QUANT(TEMPORARY)                                                                                        \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, TEMPORARY const float scale,    \
                            const float offset, const uint32_t calCount)                                               \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {nullptr, 1, static_cast<T>(scale)}, {nullptr, 1, static_cast<T>(offset)},       \
                            calCount);                                                                                 \
    }                                                                                                                  \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, TEMPORARY const float scale,    \
                            const float offset)                                                                        \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {nullptr, 1, static_cast<T>(scale)}, {nullptr, 1, static_cast<T>(offset)},       \
                            src.GetSize());                                                                            \
    }                                                                                                                  \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src,                                 \
                            TEMPORARY const LocalTensor<T> &scale, const T offset, const uint32_t scaleCount,          \
                            const uint32_t calCount)                                                                   \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {&scale, scaleCount}, {nullptr, 1, offset}, calCount);                           \
    }                                                                                                                  \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src,                                 \
                            TEMPORARY const LocalTensor<T> &scale, const T offset)                                     \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {&scale, scale.GetSize()}, {nullptr, 1, offset}, src.GetSize());                 \
    }                                                                                                                  \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src,                                 \
                            TEMPORARY const LocalTensor<T> &scale, const LocalTensor<T> &offset,                       \
                            const uint32_t scaleCount, const uint32_t offsetCount, const uint32_t calCount)            \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {&scale, scaleCount}, {&offset, offsetCount}, calCount);                         \
    }                                                                                                                  \
    template <class T, bool isReuseSource = false, const AscendQuantConfig &config = ASCEND_QUANT_DEFAULT_CFG>         \
    inline void AscendQuant(const LocalTensor<int8_t> &dst, const LocalTensor<T> &src,                                 \
                            TEMPORARY const LocalTensor<T> &scale, const LocalTensor<T> &offset)                       \
    {                                                                                                                  \
        opmend::quantise<T>(dst, src, {&scale, scale.GetSize()}, {&offset, offset.GetSize()}, src.GetSize());          \
    }
#define OPMEND_DEQUANT(TEMPORARY)                                                                                      \
    template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                               \
    inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src,                              \
                              const LocalTensor<S> &deqScale, TEMPORARY DequantParams params)                          \
    {                                                                                                                  \
        opmend::dequantise<D, S>(dst, src, {&deqScale, deqScale.GetSize()}, params,                                    \
                                 mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW);                                        \
    }                                                                                                                  \
    template <class D, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>                               \
    inline void AscendDequant(const LocalTensor<D> &dst, const LocalTensor<int32_t> &src, const S deqScale,            \
                              TEMPORARY DequantParams params)                                                          \
    {                                                                                                                  \
        opmend::dequantise<D, S>(dst, src, {nullptr, 1, deqScale}, params,                                             \
                                 mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW);                                        \
    }
#define OPMEND_TEMPORARY const LocalTensor<uint8_t> &,
OPMEND_QUANT()
OPMEND_QUANT(OPMEND_TEMPORARY)
OPMEND_DEQUANT()
OPMEND_DEQUANT(OPMEND_TEMPORARY)
#undef OPMEND_QUANT
#undef OPMEND_DEQUANT
#undef OPMEND_TEMPORARY

}  // namespace AscendC

#endif
