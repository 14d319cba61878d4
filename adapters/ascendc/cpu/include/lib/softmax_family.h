// SoftmaxFlash, SoftmaxFlashV2, SoftmaxGrad, SoftmaxGradFront, LogSoftMax and AdjustSoftMaxRes over the last axis.
//
// As in softmax.h: computed in float and rounded once per output (approximate for half); the values of a row that stand
// for the whole row (sum, maximum, expMax) fill one block of 32 bytes of their own type. NZ tensors and outputs without
// that filling are not modelled. Semantics: vendor's pages of the same names.
#ifndef OPMEND_LIB_SOFTMAX_FAMILY_H
#define OPMEND_LIB_SOFTMAX_FAMILY_H

#include "lib/softmax.h"

struct LogSoftMaxTiling : SoftMaxTiling {};

namespace AscendC {
using ::LogSoftMaxTiling;
}

namespace opmend {

/// One row's values as float, with the state of its bytes.
struct RowValues {
    std::vector<float> value;
    uint8_t state = kWritten;
};

template <class T>
inline RowValues read_row(const AscendC::LocalTensor<T> &src, size_t row, const RowShape &shape)
{
    const uint8_t *from = element(src, row * shape.pitch);
    RowValues out{std::vector<float>(shape.columns), state_of(from, shape.columns * sizeof(T))};
    for (size_t i = 0; i < shape.columns; ++i) {
        out.value[i] = static_cast<float>(load<T>(from + i * sizeof(T)));
    }
    return out;
}

template <class T>
inline void write_row(const AscendC::LocalTensor<T> &dst, size_t row, const RowShape &shape,
                      const std::vector<float> &values, uint8_t state)
{
    uint8_t *to = element(dst, row * shape.pitch);
    for (size_t i = 0; i < values.size(); ++i) {
        const T result = narrow<T>(values[i]);
        std::memcpy(to + i * sizeof(T), &result, sizeof(T));
    }
    mark(to, values.size() * sizeof(T), state);
}

/// Whole tensors of `shape`, or one block per row.
template <class T>
inline void touch_rows(const char *api, const AscendC::LocalTensor<T> &tensor, const RowShape &shape, bool write)
{
    touch(api, PipeV, tensor.extent(), tensor.bytes(), ((shape.rows - 1) * shape.pitch + shape.columns) * sizeof(T), write,
          kBlockBytes);
}
template <class T>
inline void touch_blocks(const char *api, const AscendC::LocalTensor<T> &tensor, const RowShape &shape, bool write)
{
    touch(api, PipeV, tensor.extent(), tensor.bytes(), shape.rows * kBlockBytes, write, kBlockBytes);
}

template <class T>
inline float block_value(const AscendC::LocalTensor<T> &tensor, size_t row, uint8_t &state)
{
    const uint8_t *from = tensor.bytes() + row * kBlockBytes;
    state = static_cast<uint8_t>(state & state_of(from, sizeof(T)));
    return static_cast<float>(load<T>(from));
}
template <class T>
inline void fill_block(const AscendC::LocalTensor<T> &tensor, size_t row, float value, uint8_t state)
{
    uint8_t *to = tensor.bytes() + row * kBlockBytes;
    const T one = narrow<T>(value);
    for (size_t i = 0; i < kBlockBytes / sizeof(T); ++i) {
        std::memcpy(to + i * sizeof(T), &one, sizeof(T));
    }
    mark(to, kBlockBytes, state);
}

inline float row_sum(const std::vector<float> &values)
{
    return tree_of_repeats<float>(reinterpret_cast<const uint8_t *>(values.data()), values.size(), false);
}

/// The operands that stand for whole rows: those of this call and those of the call before it.
template <class T, class R>
struct FlashSides {
    const AscendC::LocalTensor<R> &sum, &max;
    const AscendC::LocalTensor<T> &exp_max;
    const AscendC::LocalTensor<R> &in_sum, &in_max;
};

/// With `divide`, the first version: results and expMax are divided by the new sum.
template <class T, class R>
inline void softmax_flash(const char *api, const AscendC::LocalTensor<T> &dst, const FlashSides<T, R> &side,
                          const AscendC::LocalTensor<T> &src, bool update, bool divide, const RowShape &shape)
{
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    touch_rows(api, src, shape, false);
    if (update) {
        touch_blocks(api, side.in_sum, shape, false);
        touch_blocks(api, side.in_max, shape, false);
        touch_blocks(api, side.exp_max, shape, true);
    }
    touch_rows(api, dst, shape, true);
    touch_blocks(api, side.sum, shape, true);
    touch_blocks(api, side.max, shape, true);
    for (size_t row = 0; row < shape.rows; ++row) {
        RowValues line = read_row(src, row, shape);
        float highest = -INFINITY;
        for (const float value : line.value) {
            highest = MaxOp{}(highest, value);
        }
        const float before = update ? block_value(side.in_max, row, line.state) : highest;
        const float total_before = update ? block_value(side.in_sum, row, line.state) : 0;
        highest = MaxOp{}(highest, before);
        for (float &value : line.value) {
            value = std::exp(value - highest);
        }
        float scale = std::exp(before - highest);
        const float total = row_sum(line.value) + (update ? scale * total_before : 0);
        if (divide) {
            for (float &value : line.value) {
                value /= total;
            }
            scale = scale * total_before / total;
        }
        write_row(dst, row, shape, line.value, line.state);
        fill_block(side.sum, row, total, line.state);
        fill_block(side.max, row, highest, line.state);
        if (update) {
            fill_block(side.exp_max, row, scale, line.state);
        }
    }
}

/// dst = (grad - sum(grad * src)) * src, or with `front` the sums alone, one block per row.
template <class T>
inline void softmax_grad(const char *api, const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &grad,
                         const AscendC::LocalTensor<T> &src, bool front, const RowShape &shape)
{
    if (!g_core->aiv) {
        return;
    }
    begin(PipeV);
    touch_rows(api, grad, shape, false);
    touch_rows(api, src, shape, false);
    front ? touch_blocks(api, dst, shape, true) : touch_rows(api, dst, shape, true);
    for (size_t row = 0; row < shape.rows; ++row) {
        const RowValues x = read_row(grad, row, shape), y = read_row(src, row, shape);
        const auto state = static_cast<uint8_t>(x.state & y.state);
        std::vector<float> line(shape.columns);
        for (size_t i = 0; i < shape.columns; ++i) {
            line[i] = x.value[i] * y.value[i];
        }
        const float sum = row_sum(line);
        if (front) {
            fill_block(dst, row, sum, state);
            continue;
        }
        for (size_t i = 0; i < shape.columns; ++i) {
            line[i] = (x.value[i] - sum) * y.value[i];
        }
        write_row(dst, row, shape, line, state);
    }
}

template <class T>
inline void log_of_rows(const AscendC::LocalTensor<T> &dst, const RowShape &shape)
{
    for (size_t row = 0; g_core->aiv && row < shape.rows; ++row) {
        RowValues line = read_row(dst, row, shape);
        for (float &value : line.value) {
            value = std::log10(value);
        }
        write_row(dst, row, shape, line.value, line.state);
    }
}

}  // namespace opmend

namespace AscendC {

#define OPMEND_FLASH(TYPE, SIDE, TEMPORARY)                                                                           \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false>                                         \
    inline void SoftmaxFlash(const LocalTensor<TYPE> &dst, const LocalTensor<SIDE> &sum, const LocalTensor<SIDE> &max, \
                             const LocalTensor<TYPE> &src, const LocalTensor<TYPE> &expMax,                           \
                             const LocalTensor<SIDE> &inSum, const LocalTensor<SIDE> &inMax,                          \
                             TEMPORARY const SoftMaxTiling &tiling, bool isUpdate = false,                            \
                             const SoftMaxShapeInfo &info = {})                                                       \
    {                                                                                                                 \
        opmend::softmax_flash<TYPE, SIDE>("SoftmaxFlash", dst, {sum, max, expMax, inSum, inMax}, src, isUpdate, true,  \
                                          opmend::row_shape("SoftmaxFlash", tiling, info));                           \
    }                                                                                                                 \
    template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,                  \
              bool isDataFormatNZ = false, const SoftmaxConfig &config = SOFTMAX_DEFAULT_CFG>                         \
    inline void SoftmaxFlashV2(const LocalTensor<TYPE> &dst, const LocalTensor<SIDE> &expSum,                         \
                               const LocalTensor<SIDE> &max, const LocalTensor<TYPE> &src,                            \
                               const LocalTensor<TYPE> &expMax, const LocalTensor<SIDE> &inExpSum,                    \
                               const LocalTensor<SIDE> &inMax, TEMPORARY const SoftMaxTiling &tiling,                 \
                               const SoftMaxShapeInfo &info = {})                                                     \
    {                                                                                                                 \
        static_assert(!isDataFormatNZ, "unsupported: SoftmaxFlashV2 (NZ tensors)");                                   \
        static_assert(config.mode == SoftmaxMode::SOFTMAX_NORMAL, "unsupported: SoftmaxFlashV2 (outputs of one value)"); \
        opmend::softmax_flash<TYPE, SIDE>("SoftmaxFlashV2", dst, {expSum, max, expMax, inExpSum, inMax}, src,          \
                                          isUpdate, false, opmend::row_shape("SoftmaxFlashV2", tiling, info));        \
    }
#define OPMEND_GRAD(TEMPORARY)                                                                                        \
    template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>                                       \
    inline void SoftmaxGrad(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,         \
                            TEMPORARY const SoftMaxTiling &tiling, bool isFront = false,                              \
                            const SoftMaxShapeInfo &info = {})                                                        \
    {                                                                                                                 \
        static_assert(!isDataFormatNZ, "unsupported: SoftmaxGrad (NZ tensors)");                                      \
        opmend::softmax_grad("SoftmaxGrad", dst, grad, src, isFront, opmend::row_shape("SoftmaxGrad", tiling, info)); \
    }                                                                                                                 \
    template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>                                        \
    inline void SoftmaxGradFront(const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src,    \
                                 TEMPORARY const SoftMaxTiling &tiling, const SoftMaxShapeInfo &info = {})            \
    {                                                                                                                 \
        static_assert(!isDataFormatNZ, "unsupported: SoftmaxGradFront (NZ tensors)");                                 \
        opmend::softmax_grad("SoftmaxGradFront", dst, grad, src, true,                                                \
                             opmend::row_shape("SoftmaxGradFront", tiling, info));                                    \
    }
#define OPMEND_TEMPORARY const LocalTensor<uint8_t> &,
OPMEND_FLASH(T, T, )
OPMEND_FLASH(T, T, OPMEND_TEMPORARY)
OPMEND_FLASH(half, float, )
OPMEND_FLASH(half, float, OPMEND_TEMPORARY)
OPMEND_GRAD()
OPMEND_GRAD(OPMEND_TEMPORARY)
#undef OPMEND_FLASH
#undef OPMEND_GRAD
#undef OPMEND_TEMPORARY

/// The logarithm is that to base 10, as the vendor's page says.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
inline void LogSoftMax(const LocalTensor<T> &dst, const LocalTensor<T> &sum, const LocalTensor<T> &max,
                       const LocalTensor<T> &src, const LocalTensor<uint8_t> &, const LogSoftMaxTiling &tiling,
                       const SoftMaxShapeInfo &info = {})
{
    static_assert(!isDataFormatNZ, "unsupported: LogSoftMax (NZ tensors)");
    const opmend::RowShape shape = opmend::row_shape("LogSoftMax", tiling, info);
    opmend::softmax("LogSoftMax", dst, &sum, &max, false, src, shape);
    opmend::log_of_rows(dst, shape);
}

/// Rows whose maximum has the bits `from` become `to`; says whether there was one.
template <class T1, class T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
inline bool AdjustSoftMaxRes(const LocalTensor<T1> &softMaxRes, const LocalTensor<T2> &maxTensor, const uint32_t from,
                             const T1 to, const SoftMaxShapeInfo &info)
{
    static_assert(!isDataFormatNZ && stepSizeMode == 0, "unsupported: AdjustSoftMaxRes (NZ tensors, steps)");
    if (!opmend::g_core->aiv) {
        return false;
    }
    const opmend::RowShape shape = opmend::row_shape("AdjustSoftMaxRes", {}, info);
    bool found = false;
    opmend::begin(opmend::PipeV);
    opmend::touch_blocks("AdjustSoftMaxRes", maxTensor, shape, false);
    opmend::touch_rows("AdjustSoftMaxRes", softMaxRes, shape, true);
    for (size_t row = 0; row < shape.rows; ++row) {
        uint32_t bits = 0;
        std::memcpy(&bits, maxTensor.bytes() + row * ONE_BLK_SIZE, sizeof(T2));
        opmend::require_written("AdjustSoftMaxRes", maxTensor.bytes() + row * ONE_BLK_SIZE, sizeof(T2));
        if (bits == from) {
            found = true;
            const std::vector<float> values(shape.columns, static_cast<float>(to));
            opmend::write_row(softMaxRes, row, shape, values, opmend::kWritten);
        }
    }
    return found;
}

}  // namespace AscendC

#endif
