// LocalMemAllocator: UB tensors one after another, without TPipe and without queues. The kernel orders everything.
#ifndef OPMEND_API_ALLOCATOR_H
#define OPMEND_API_ALLOCATOR_H

#include "api/tensor.h"

namespace AscendC {

template <Hardware hardware = Hardware::UB>
class LocalMemAllocator {
    static_assert(hardware == Hardware::UB, "unsupported: LocalMemAllocator outside UB");

public:
    LocalMemAllocator() { opmend::g_core->tops[0] = 0; }

    uint32_t GetCurAddr() const { return opmend::g_core->tops[0]; }

    template <TPosition position, class T, uint32_t elements>
    LocalTensor<T> Alloc()
    {
        return Alloc<T>(elements);
    }
    template <TPosition position, class T>
    LocalTensor<T> Alloc(uint32_t elements)
    {
        return Alloc<T>(elements);
    }
    template <class T, uint32_t elements>
    LocalTensor<T> Alloc()
    {
        return Alloc<T>(elements);
    }
    template <class T>
    LocalTensor<T> Alloc(uint32_t elements)
    {
        const uint32_t bytes = elements * static_cast<uint32_t>(sizeof(T));
        return LocalTensor<T>(opmend::rt::reserve(opmend::Memory::Ub, bytes, "LocalMemAllocator"), bytes);
    }
};

}  // namespace AscendC

#endif
