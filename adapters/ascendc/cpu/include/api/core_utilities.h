// AscendCUtils: the class below the documented API whose masks and sizes public kernels reach for.
//
// Semantics: the vendor's header basic_api/kernel_utils_base.h (Atlas A2 branches) and the pages "SetVectorMask",
// "SetMaskCount", "SetMaskNorm" and "ResetMask".
#ifndef OPMEND_API_CORE_UTILITIES_H
#define OPMEND_API_CORE_UTILITIES_H

#include "api/intrinsics.h"

namespace AscendC {

class AscendCUtils {
public:
    static int32_t GetBitSize(int32_t byteSize) { return byteSize * 8; }
    static int32_t GetC0Size() { return DEFAULT_C0_SIZE; }
    static int32_t GetC0Count(const int32_t dtypeSize)
    {
        if (dtypeSize <= 0) {
            opmend::misuse("AscendCUtils::GetC0Count", "a type of %d bytes", dtypeSize);
            return 0;
        }
        return GetC0Size() / dtypeSize;
    }
    static int32_t GetDefaultBlockNum() { return DEFAULT_BLK_NUM; }

    /// The lanes of one repeat, as bits; the mask mode stays as it is.
    template <class T, bool isSetMask = true>
    static void SetMask(const uint64_t &maskHigh, const uint64_t &maskLow)
    {
        if constexpr (isSetMask) {
            set_vector_mask(maskHigh, maskLow);
        }
    }
    /// The first `len` lanes of one repeat, as bits in either mask mode; 128 lanes for len = all elements of a repeat.
    template <class T, bool isSetMask = true>
    static void SetMask(int32_t len)
    {
        constexpr auto lanes = static_cast<int32_t>(opmend::kRepeatBytes / sizeof(T));
        if constexpr (isSetMask) {
            if (len == 64) {
                set_vector_mask(0, ~0ull);
            } else if (len == lanes || len >= 128) {
                set_vector_mask(~0ull, ~0ull);
            } else {
                const auto ones = [](int32_t bits) { return (1ull << (bits & 63)) - 1; };
                set_vector_mask(len > 64 ? ones(len - 64) : 0, len > 64 ? ~0ull : ones(len));
            }
        }
    }
    template <class T>
    static void SetMaskCount()
    {
        set_mask_count();
    }
    template <class T>
    static void SetMaskNorm()
    {
        set_mask_norm();
    }
    template <bool isSetMask = true>
    static void ResetMask()
    {
        if constexpr (isSetMask) {
            set_vector_mask(~0ull, ~0ull);
        }
    }
    /// 1: results beyond a 16-bit float's range become infinities, as here always. The saturating mode is not modelled.
    static void SetOverflow(uint64_t ctrlValue)
    {
        if (ctrlValue != 1) {
            opmend::rt::abort_launch("api-misuse", "AscendCUtils::SetOverflow", "unsupported: SetOverflow (saturated mode)");
        }
    }
};

}  // namespace AscendC

#endif
