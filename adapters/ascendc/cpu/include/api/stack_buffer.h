// PopStackBuffer: what a memory has left as one temporary tensor, and the two names below the documented API that
// kernels pair with it.
//
// Semantics: vendor's page "PopStackBuffer" (the whole rest of the position's memory; not nested, and not beside
// high-level functions, which use the same bytes there; here those need none, so that overlap is not seen).
// DuplicateImpl and DataCopyUB2GMImpl are not documented: they are the count form of Duplicate and the block form of
// DataCopy over bare addresses.
#ifndef OPMEND_API_STACK_BUFFER_H
#define OPMEND_API_STACK_BUFFER_H

#include "api/fill.h"
#include "api/intrinsics.h"
#include "api/queue.h"

namespace AscendC {

/// Gives the rest of `position`'s memory, whole blocks of 32 bytes; false (and an empty tensor) when nothing is left.
template <class T, TPosition position>
inline bool PopStackBuffer(LocalTensor<T> &popLocal)
{
    constexpr opmend::Memory memory = opmend::memory_of(position);
    constexpr opmend::MemoryRange range = opmend::range_of(memory);
    const uint32_t top = opmend::g_core->tops[static_cast<int>(memory)];
    if (!opmend::present(opmend::g_core->ub + range.base) || top >= range.bytes) {
        popLocal = LocalTensor<T>();
        return false;
    }
    popLocal = LocalTensor<T>(opmend::g_core->ub + range.base + top, static_cast<uint32_t>(range.bytes - top));
    return true;
}

template <class T>
inline void DuplicateImpl(__ubuf__ T *dst, const T &scalarValue, const int32_t &count)
{
    Duplicate(opmend::at_address(dst), scalarValue, count);
}

template <class T>
inline void DataCopyUB2GMImpl(__gm__ T *dst, __ubuf__ T *src, const DataCopyParams &intriParams)
{
    GlobalTensor<T> target;
    target.SetGlobalBuffer(dst);
    DataCopy(target, opmend::at_address(src), intriParams);
}

}  // namespace AscendC

#endif
