// The address registers VA0..VA7 and the bare names that use them: set_va_reg_sb, scatter_vnchwconv_b8/b16/b32, and
// vtranspose.
//
// Semantics: as the vendor's headers build TransDataTo5HD and Transpose from them (pages "TransDataTo5HD", "Transpose").
// A register holds eight addresses; the instructions take the list of 16 that a register and its successor make.
#ifndef OPMEND_API_ADDRESS_REGISTERS_H
#define OPMEND_API_ADDRESS_REGISTERS_H

#include "api/intrinsics.h"
#include "api/transpose.h"

enum ub_addr8_t { VA0, VA1, VA2, VA3, VA4, VA5, VA6, VA7 };

namespace opmend {

inline BlockList registers_from(const char *api, ub_addr8_t first)
{
    if (first % 2 != 0 || first > VA6) {
        rt::abort_launch("api-misuse", api, rt::format("takes VA0, VA2, VA4 or VA6, got VA%d", static_cast<int>(first)));
    }
    uint64_t list[16];
    std::memcpy(list, g_core->addresses[first], sizeof list);
    return list_of(list);
}

template <class T>
inline void scatter_columns(const char *api, ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dst_stride,
                            uint16_t src_stride, bool dst_high = false, bool src_high = false)
{
    if (!g_core->aiv) {
        return;
    }
    // One repeat starts at the listed addresses themselves: the step of a single repeat is the API's, not the instruction's.
    const AscendC::TransDataTo5HDParams params(dst_high, src_high, repeat, repeat == 1 ? 0 : dst_stride,
                                               repeat == 1 ? 0 : src_stride);
    columns_to_blocks<T>(registers_from(api, dst), registers_from(api, src), params);
}

}  // namespace opmend

inline void set_va_reg_sb(ub_addr8_t target, uint64_t *addresses)
{
    std::memcpy(opmend::g_core->addresses[target], addresses, sizeof opmend::g_core->addresses[target]);
}
inline void scatter_vnchwconv_b8(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dstStride, uint16_t srcStride,
                                 bool dstHighHalf, bool srcHighHalf)
{
    opmend::scatter_columns<uint8_t>("scatter_vnchwconv_b8", dst, src, repeat, dstStride, srcStride, dstHighHalf,
                                     srcHighHalf);
}
inline void scatter_vnchwconv_b16(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dstStride, uint16_t srcStride)
{
    opmend::scatter_columns<uint16_t>("scatter_vnchwconv_b16", dst, src, repeat, dstStride, srcStride);
}
inline void scatter_vnchwconv_b32(ub_addr8_t dst, ub_addr8_t src, uint8_t repeat, uint16_t dstStride, uint16_t srcStride)
{
    opmend::scatter_columns<uint32_t>("scatter_vnchwconv_b32", dst, src, repeat, dstStride, srcStride);
}

/// 16 rows of 16 two-byte elements, exchanged with its columns.
template <class T>
inline void vtranspose(T *dst, T *src)
{
    AscendC::Transpose(opmend::at_address(dst), opmend::at_address(src));
}

#endif
