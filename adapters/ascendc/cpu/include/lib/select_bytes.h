// Select by a mask of whole elements (0 or not) instead of bits: SelectWithBytesMask, and Select with a shape.
//
// Semantics: vendor's page "Select" among the data filters of the high-level API. A row of the mask may be longer than a
// row of the source. The mask's rest and the temporary tensor, which the device may overwrite, are left alone. Like the
// device's function it leaves the mask of the vector unit full and in NORMAL mode.
#ifndef OPMEND_LIB_SELECT_BYTES_H
#define OPMEND_LIB_SELECT_BYTES_H

#include "api/engine.h"
#include "api/sync.h"

namespace AscendC {
struct SelectWithBytesMaskShapeInfo {
    SelectWithBytesMaskShapeInfo() {}
    SelectWithBytesMaskShapeInfo(uint32_t rows, uint32_t columns, uint32_t mask_columns)
        : firstAxis(rows), srcLastAxis(columns), maskLastAxis(mask_columns)
    {}
    uint32_t firstAxis = 0;
    uint32_t srcLastAxis = 0;
    uint32_t maskLastAxis = 0;
};
}  // namespace AscendC

namespace opmend {

/// Where the mask's element is 0: `src` with chosen_by_zero, else the scalar; the other one elsewhere.
template <class T, class U>
inline void select_bytes(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src, T scalar,
                         const AscendC::LocalTensor<U> &mask, const AscendC::SelectWithBytesMaskShapeInfo &shape,
                         bool chosen_by_zero)
{
    constexpr const char *api = "SelectWithBytesMask";
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "SelectWithBytesMask takes half and float");
    static_assert(std::is_integral_v<U> && sizeof(U) <= 4, "SelectWithBytesMask takes masks of integers and bool");
    if (!g_core->aiv) {
        return;
    }
    if (shape.maskLastAxis < shape.srcLastAxis || shape.srcLastAxis * sizeof(T) % kBlockBytes != 0 ||
        shape.maskLastAxis * sizeof(U) % kBlockBytes != 0) {
        misuse(api, "rows of %u elements and %u mask elements: both take whole 32-byte blocks, the mask no fewer elements",
               shape.srcLastAxis, shape.maskLastAxis);
    }
    AscendC::SetMaskNorm();
    AscendC::ResetMask();
    const size_t columns = shape.srcLastAxis, count = shape.firstAxis * columns;
    if (count == 0) {
        return;
    }
    begin(PipeV);
    touch(api, PipeV, src.extent(), src.bytes(), count * sizeof(T), false, kBlockBytes);
    touch(api, PipeV, mask.extent(), mask.bytes(), shape.firstAxis * size_t(shape.maskLastAxis) * sizeof(U), false,
          kBlockBytes);
    touch(api, PipeV, dst.extent(), dst.bytes(), count * sizeof(T), true, kBlockBytes);
    for (size_t i = 0; i < count; ++i) {
        const uint8_t *choice_at = element(mask, i / columns * shape.maskLastAxis + i % columns);
        U choice;
        std::memcpy(&choice, choice_at, sizeof choice);
        const bool from_tensor = (choice == U(0)) == chosen_by_zero;
        const T value = from_tensor ? load<T>(element(src, i)) : scalar;
        uint8_t state = state_of(choice_at, sizeof(U));
        if (from_tensor) {
            state = static_cast<uint8_t>(state & state_of(element(src, i), sizeof(T)));
        }
        std::memcpy(element(dst, i), &value, sizeof value);
        mark(element(dst, i), sizeof value, state);
    }
}

}  // namespace opmend

namespace AscendC {

// One function under an older and a newer name.
#define OPMEND_SELECT_BYTES(NAME)                                                                                  \
    template <class T, class U, bool isReuseMask = true>                                                           \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src0, T src1, const LocalTensor<U> &mask,    \
                     const LocalTensor<uint8_t> &, const SelectWithBytesMaskShapeInfo &info)                       \
    {                                                                                                              \
        opmend::select_bytes(dst, src0, src1, mask, info, true);                                                   \
    }                                                                                                              \
    template <class T, class U, bool isReuseMask = true>                                                           \
    inline void NAME(const LocalTensor<T> &dst, T src0, const LocalTensor<T> &src1, const LocalTensor<U> &mask,    \
                     const LocalTensor<uint8_t> &, const SelectWithBytesMaskShapeInfo &info)                       \
    {                                                                                                              \
        opmend::select_bytes(dst, src1, src0, mask, info, false);                                                  \
    }
OPMEND_SELECT_BYTES(Select)
OPMEND_SELECT_BYTES(SelectWithBytesMask)
#undef OPMEND_SELECT_BYTES

}  // namespace AscendC

#endif
