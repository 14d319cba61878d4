// LocalTensor and GlobalTensor: typed views of the Unified Buffer and of global memory.
//
// A LocalTensor remembers the whole buffer it was cut from, so that an access past the buffer is seen even when it
// stays inside the Unified Buffer. Scalar accesses run on the scalar unit (PIPE_S).
#ifndef OPMEND_API_TENSOR_H
#define OPMEND_API_TENSOR_H

#include "api/enums.h"
#include "core/check.h"

namespace opmend {
template <class T, class Op>
struct Expression;
}

namespace AscendC {

template <class T>
class LocalTensor {
public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(uint8_t *base, uint32_t bytes, opmend::Buffer *owner = nullptr)
        : base_(base), bytes_(bytes), extent_{base, base + bytes, owner, opmend::element_of<T>()}
    {}
    LocalTensor(uint8_t *base, uint32_t bytes, const opmend::Extent &extent)
        : base_(base), bytes_(bytes), extent_{extent.lo, extent.hi, extent.owner, opmend::element_of<T>()}
    {}

    /// `c = a + b` and the like: over the whole of this tensor. Defined with the operators, in vector.h.
    template <class Op>
    void operator=(const opmend::Expression<T, Op> &expression);

    /// A tensor at an address of the kernel's own choice in the position's memory, without TPipe.
    LocalTensor(TPosition position, uint32_t address, uint32_t elements)
        : LocalTensor(opmend::g_core->ub + opmend::range_of(opmend::memory_of(position)).base + address,
                      elements * static_cast<uint32_t>(sizeof(T)))
    {}

    /// Element `index`. On a cube core the value is 0: it has no Unified Buffer.
    T GetValue(const uint32_t index) const
    {
        if (!opmend::g_core->aiv) {
            return T{};
        }
        T value;
        const uint8_t *at = scalar_access("GetValue", index, false);
        opmend::require_written("GetValue", at, sizeof(T));
        std::memcpy(&value, at, sizeof(T));
        return value;
    }

    template <class U>
    void SetValue(const uint32_t index, const U value) const
    {
        if (!opmend::g_core->aiv) {
            return;
        }
        uint8_t *at = scalar_access("SetValue", index, true);
        const T stored = static_cast<T>(value);
        std::memcpy(at, &stored, sizeof(T));
        opmend::mark(at, sizeof(T));
    }

    /// Reference to an element. It may be read or written later, so it counts as written here.
    T &operator()(const uint32_t index) const
    {
        uint8_t *at = scalar_access("operator()", index, true);
        opmend::mark(at, sizeof(T));
        return *reinterpret_cast<T *>(at);
    }

    LocalTensor operator[](const uint32_t offset) const
    {
        const uint64_t skip = static_cast<uint64_t>(offset) * sizeof(T);
        return LocalTensor(base_ + skip, skip < bytes_ ? static_cast<uint32_t>(bytes_ - skip) : 0, extent_);
    }

    template <class U>
    LocalTensor<U> ReinterpretCast() const
    {
        return LocalTensor<U>(base_, bytes_, extent_);
    }

    uint32_t GetSize() const { return bytes_ / sizeof(T); }
    uint32_t GetLength() const { return bytes_; }
    void SetSize(const uint32_t elements) { bytes_ = elements * static_cast<uint32_t>(sizeof(T)); }
    void SetBufferLen(uint32_t bytes) { bytes_ = bytes; }
    T *GetPhyAddr() const { return GetPhyAddr(0); }
    T *GetPhyAddr(const uint32_t offset) const
    {
        opmend::expose();
        return reinterpret_cast<T *>(base_) + offset;
    }
    void SetUserTag(int32_t tag) { tag_ = tag; }
    int32_t GetUserTag() const { return tag_; }

    template <class S>
    void SetAddrWithOffset(LocalTensor<S> &source, uint32_t offset)
    {
        *this = source[offset].template ReinterpretCast<T>();
    }

    uint8_t *bytes() const { return base_; }
    const opmend::Extent &extent() const { return extent_; }

private:
    uint8_t *scalar_access(const char *api, uint32_t index, bool write) const
    {
        uint8_t *at = base_ == nullptr ? nullptr : base_ + static_cast<size_t>(index) * sizeof(T);
        opmend::begin(opmend::PipeS);
        opmend::touch(api, opmend::PipeS, extent_, at, sizeof(T), write);
        return at;
    }

    uint8_t *base_ = nullptr;
    uint32_t bytes_ = 0;
    int32_t tag_ = 0;
    opmend::Extent extent_;
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T *buffer, uint64_t elements)
    {
        base_ = buffer;
        elements_ = elements;
    }
    void SetGlobalBuffer(__gm__ T *buffer) { SetGlobalBuffer(buffer, 0); }

    /// Element `index`; bytes outside every tensor read as 0xff.
    T GetValue(const uint64_t index) const
    {
        T value;
        std::memset(&value, 0xff, sizeof(T));
        const size_t allowed =
            opmend::rt::gm_access(base_ + index, sizeof(T), opmend::GmAccess::ScalarRead, nullptr, "GetValue");
        std::memcpy(&value, base_ + index, allowed);
        return value;
    }

    void SetValue(const uint64_t index, T value) const
    {
        const size_t allowed =
            opmend::rt::gm_access(base_ + index, sizeof(T), opmend::GmAccess::ScalarWrite, &value, "SetValue");
        std::memcpy(const_cast<std::remove_const_t<T> *>(base_ + index), &value, allowed);
    }

    /// Reference to an element: read through it, write with SetValue (a store through the reference is not seen).
    T &operator()(const uint64_t index) const
    {
        static thread_local T poison;
        const size_t allowed =
            opmend::rt::gm_access(base_ + index, sizeof(T), opmend::GmAccess::ScalarRead, nullptr, "operator()");
        if (allowed < sizeof(T)) {
            std::memset(&poison, 0xff, sizeof(T));
            return poison;
        }
        return base_[index];
    }

    GlobalTensor operator[](const uint64_t offset) const
    {
        GlobalTensor view = *this;
        view.base_ = base_ + offset;
        view.elements_ = elements_ > offset ? elements_ - offset : 0;
        return view;
    }

    template <class U>
    GlobalTensor<U> ReinterpretCast() const
    {
        GlobalTensor<U> view;
        view.SetGlobalBuffer(reinterpret_cast<U *>(base_), elements_ * sizeof(T) / sizeof(U));
        return view;
    }

    uint64_t GetSize() const { return elements_; }
    const __gm__ T *GetPhyAddr() const { return base_; }
    __gm__ T *GetPhyAddr(const uint64_t offset) const { return base_ + offset; }
    template <CacheRwMode mode = CacheRwMode::RW>
    void SetL2CacheHint(CacheMode)
    {}

private:
    T *base_ = nullptr;
    uint64_t elements_ = 0;
};

}  // namespace AscendC

#endif
