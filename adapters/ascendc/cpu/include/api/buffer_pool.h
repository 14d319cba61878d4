// TBufPool: a part of one memory that is divided again, possibly shared with another pool.
//
// Pools that share (the third argument of InitBufPool) start at the same address, so their buffers overlap: that is what
// they are for, and the hazard checks follow the bytes, not the pools. Semantics: vendor's "TBufPool" pages.
#ifndef OPMEND_API_BUFFER_POOL_H
#define OPMEND_API_BUFFER_POOL_H

#include "api/queue.h"

namespace AscendC {

template <TPosition position, uint32_t bufIDSize = 4>
class TBufPool {
public:
    TBufPool() = default;

    template <TPosition source, TPosition target, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<source, target, depth, mask> &queue, uint8_t count, uint32_t bytes)
    {
        return inside([&] { return pipe_->InitBuffer(queue, count, bytes); });
    }
    template <TPosition target>
    bool InitBuffer(TBuf<target> &buffer, uint32_t bytes)
    {
        return inside([&] { return pipe_->InitBuffer(buffer, bytes); });
    }

    template <class Pool>
    bool InitBufPool(Pool &pool, uint32_t bytes)
    {
        return inside([&] { return pipe_->InitBufPool(pool, bytes); });
    }
    template <class Pool, class Shared>
    bool InitBufPool(Pool &pool, uint32_t bytes, Shared &shared)
    {
        return pipe_->InitBufPool(pool, bytes, shared);
    }
    void Reset() { used_ = 0; }

    uint32_t start() const { return start_; }
    uint32_t size() const { return bytes_; }
    static constexpr opmend::Memory memory() { return opmend::memory_of(position); }
    void bind(TPipe &pipe, uint32_t start, uint32_t bytes)
    {
        pipe_ = &pipe;
        start_ = start;
        bytes_ = bytes;
        used_ = 0;
    }

private:
    /// Lets the pipe hand out this pool's bytes.
    template <class Allocate>
    bool inside(Allocate allocate)
    {
        if (pipe_ == nullptr) {
            opmend::rt::abort_launch("api-misuse", "TBufPool", "the pool is used before InitBufPool");
        }
        uint32_t &top = opmend::g_core->tops[static_cast<int>(memory())];
        const uint32_t outside = top;
        top = start_ + used_;
        const bool done = allocate();
        used_ = top - start_;
        top = outside;
        if (used_ > bytes_) {
            opmend::rt::abort_launch("ub-capacity", "TBufPool",
                                     opmend::rt::format("buffers of %u bytes in a pool of %u", used_, bytes_));
        }
        return done;
    }

    TPipe *pipe_ = nullptr;
    uint32_t start_ = 0, bytes_ = 0, used_ = 0;
};

template <class Pool>
inline bool TPipe::InitBufPool(Pool &pool, uint32_t bytes)
{
    const uint32_t start = opmend::g_core->tops[static_cast<int>(Pool::memory())];
    opmend::rt::reserve(Pool::memory(), bytes, "TBufPool");
    pool.bind(*this, start, (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE);
    return true;
}

template <class Pool, class Shared>
inline bool TPipe::InitBufPool(Pool &pool, uint32_t bytes, Shared &shared)
{
    if (Pool::memory() != Shared::memory() || bytes > shared.size()) {
        opmend::rt::abort_launch("api-misuse", "InitBufPool",
                                 opmend::rt::format("a pool of %u bytes does not fit the shared one of %u in the same "
                                                    "memory",
                                                    bytes, shared.size()));
    }
    pool.bind(*this, shared.start(), shared.size());
    return true;
}

}  // namespace AscendC

#endif
