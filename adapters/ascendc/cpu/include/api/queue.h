// TPipe, TQue, TQueBind and TBuf: who owns which part of the on-chip memories, and the order queues impose.
//
// EnQue and DeQue carry the producer's clock to the consumer; FreeTensor and AllocTensor carry it back. AllocTensor
// fills the buffer with 0xff: what a previous round left there is no input.
#ifndef OPMEND_API_QUEUE_H
#define OPMEND_API_QUEUE_H

#include "api/tensor.h"

namespace opmend {

constexpr bool is_queue_position(AscendC::TPosition position)
{
    using AscendC::TPosition;
    return position == TPosition::VECIN || position == TPosition::VECOUT || position == TPosition::VECCALC ||
           (position >= TPosition::A1 && position <= TPosition::CO1) || position == TPosition::C2PIPE2GM;
}

constexpr const char *position_name(AscendC::TPosition position)
{
    using AscendC::TPosition;
    switch (position) {
        case TPosition::VECIN: return "VECIN";
        case TPosition::VECOUT: return "VECOUT";
        case TPosition::A1: return "A1";
        case TPosition::A2: return "A2";
        case TPosition::B1: return "B1";
        case TPosition::B2: return "B2";
        case TPosition::C1: return "C1";
        case TPosition::C2: return "C2";
        case TPosition::CO1: return "CO1";
        case TPosition::C2PIPE2GM: return "C2PIPE2GM";
        default: return "VECCALC";
    }
}

/// Unit that fills a tensor of a queue from `source` to `target`: copies in for VECIN and L1, MTE1 from L1 on, the cube
/// for CO1, the vector unit otherwise.
constexpr Pipe producer_of(AscendC::TPosition source)
{
    using AscendC::TPosition;
    switch (source) {
        case TPosition::VECIN:
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1: return PipeMte2;
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2: return PipeMte1;
        case TPosition::CO1: return PipeM;
        case TPosition::C2PIPE2GM: return PipeFix;
        default: return PipeV;
    }
}

/// Unit that uses it: copies out for a queue that ends in VECOUT, MTE1 for L1, the cube for L0A, L0B and the bias table,
/// fixpipe for L0C, the vector unit otherwise.
constexpr Pipe consumer_of(AscendC::TPosition target)
{
    using AscendC::TPosition;
    switch (target) {
        case TPosition::VECOUT: return PipeMte3;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1: return PipeMte1;
        case TPosition::A2:
        case TPosition::B2:
        case TPosition::C2: return PipeM;
        case TPosition::CO1:
        case TPosition::C2PIPE2GM: return PipeFix;
        default: return PipeV;
    }
}

}  // namespace opmend

namespace AscendC {

class TPipe;

/// Queue whose tensors are filled at `source` and used at `target`. TQueBind<VECIN, VECOUT> orders copies in against
/// copies out.
template <TPosition source, TPosition target, int32_t depth, auto mask = 0>
class TQueBind {
    static_assert((opmend::is_queue_position(source) || source == TPosition::GM) && opmend::is_queue_position(target),
                  "unsupported: TQue at a position outside UB, L1, L0A, L0B, L0C and the bias table");

public:
    template <class T>
    LocalTensor<T> AllocTensor()
    {
        return tensor<T>(opmend::rt::queue_alloc(queue("AllocTensor")));
    }
    template <class T>
    void AllocTensor(LocalTensor<T> &result)
    {
        result = AllocTensor<T>();
    }

    template <class T>
    bool EnQue(const LocalTensor<T> &value)
    {
        return opmend::rt::queue_enqueue(queue("EnQue"), value.extent().owner);
    }
    template <TPosition from, TPosition to, class T>
    bool EnQue(const LocalTensor<T> &value)
    {
        return EnQue(value);
    }

    uint8_t *DeQue() { return opmend::rt::queue_dequeue(queue("DeQue"))->base; }  // for the order only
    template <class T>
    LocalTensor<T> DeQue()
    {
        return tensor<T>(opmend::rt::queue_dequeue(queue("DeQue")));
    }
    template <class T>
    void DeQue(LocalTensor<T> &result)
    {
        result = DeQue<T>();
    }
    template <TPosition from, TPosition to, class T>
    LocalTensor<T> DeQue()
    {
        return DeQue<T>();
    }

    template <class T>
    void FreeTensor(LocalTensor<T> &value)
    {
        opmend::rt::queue_free(queue("FreeTensor"), value.extent().owner);
    }

    bool HasTensorInQue() { return !queue("HasTensorInQue")->fifo.empty(); }
    int32_t GetTensorCountInQue() { return static_cast<int32_t>(queue("GetTensorCountInQue")->fifo.size()); }
    bool VacantInQue()
    {
        const opmend::Queue *state = queue("VacantInQue");
        return state->fifo.size() < (depth > 0 ? static_cast<size_t>(depth) : state->buffers.size());
    }
    bool HasIdleBuffer()
    {
        for (const opmend::Buffer &buffer : queue("HasIdleBuffer")->buffers) {
            if (buffer.state == opmend::BufferState::Free) {
                return true;
            }
        }
        return false;
    }
    void FreeAllEvent() {}

private:
    friend class TPipe;

    opmend::Queue *queue(const char *api) const
    {
        if (queue_ == nullptr) {
            opmend::rt::abort_launch("queue-misuse", api, "the queue is used before TPipe::InitBuffer");
        }
        return queue_;
    }

    template <class T>
    static LocalTensor<T> tensor(opmend::Buffer *buffer)
    {
        return LocalTensor<T>(buffer->base, buffer->bytes, buffer);
    }

    void init(uint8_t count, uint32_t bytes)
    {
        // The buffer is named after where its tensors go, except plain input queues.
        constexpr TPosition home = source == TPosition::GM ? target : source;
        constexpr TPosition shown = source == TPosition::VECIN ? source : target;
        queue_ = opmend::rt::queue_create(opmend::position_name(shown), opmend::producer_of(home),
                                          opmend::consumer_of(target), depth, count, bytes, opmend::memory_of(home));
    }

    opmend::Queue *queue_ = nullptr;
};

/// A queue with one logical position: VECIN is filled by copies in and used by the vector unit, VECOUT the reverse.
template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position == TPosition::VECOUT ? TPosition::VECCALC : position,
                             position == TPosition::VECIN ? TPosition::VECCALC : position, depth, mask> {};

/// One plain buffer: no order, no states.
template <TPosition position = TPosition::LCM>
class TBuf {
    static_assert(opmend::is_queue_position(position) || position == TPosition::TSCM,
                  "unsupported: TBuf at a position outside UB, L1, L0A, L0B, L0C and the bias table");

public:
    template <class T>
    LocalTensor<T> Get()
    {
        return LocalTensor<T>(base_, bytes_);
    }
    template <class T>
    LocalTensor<T> Get(uint32_t elements)
    {
        return GetWithOffset<T>(elements, 0);
    }

    /// `elements` elements that start `offset` bytes into the buffer.
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset)
    {
        const uint64_t wanted = static_cast<uint64_t>(elements) * sizeof(T);
        if (offset + wanted > bytes_) {
            opmend::misuse("TBuf::Get", "%llu bytes from byte %u on are more than the %u-byte buffer holds",
                           static_cast<unsigned long long>(wanted), offset, bytes_);
        }
        return LocalTensor<T>(base_ + offset, static_cast<uint32_t>(wanted),
                              opmend::Extent{base_, base_ + bytes_, nullptr});
    }

    template <class T>
    LocalTensor<T> AllocTensor()
    {
        return Get<T>();
    }
    template <class T>
    void EnQue(const LocalTensor<T> &)
    {}
    template <class T>
    LocalTensor<T> DeQue()
    {
        return Get<T>();
    }
    template <class T>
    void FreeTensor(LocalTensor<T> &)
    {}

private:
    friend class TPipe;
    uint8_t *base_ = nullptr;
    uint32_t bytes_ = 0;
};

/// Hands out the memories of the calling core. Sizes are rounded up to 32 bytes.
class TPipe {
public:
    TPipe() { Init(); }
    ~TPipe() { Destroy(); }
    TPipe(const TPipe &) = delete;
    TPipe &operator=(const TPipe &) = delete;

    void Init()
    {
        opmend::g_core->pipe = this;
        Reset();
    }
    void Reset() { std::fill_n(opmend::g_core->tops, opmend::kMemories, 0u); }
    void Destroy()
    {
        if (opmend::g_core != nullptr && opmend::g_core->pipe == this) {
            opmend::g_core->pipe = nullptr;
        }
    }

    template <TPosition source, TPosition target, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<source, target, depth, mask> &queue, uint8_t count, uint32_t bytes)
    {
        queue.init(count, bytes);
        return true;
    }

    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t bytes)
    {
        buffer.base_ = opmend::rt::reserve(opmend::memory_of(position), bytes, "TBuf");
        buffer.bytes_ = (bytes + ONE_BLK_SIZE - 1) / ONE_BLK_SIZE * ONE_BLK_SIZE;
        return true;
    }

    /// A part of a memory as a pool of its own (buffer_pool.h); with `shared`, over the bytes of another pool.
    template <class Pool>
    bool InitBufPool(Pool &pool, uint32_t bytes);
    template <class Pool, class Shared>
    bool InitBufPool(Pool &pool, uint32_t bytes, Shared &shared);

    template <HardEvent event>
    TEventID AllocEventID()
    {
        return fetch(event, true);
    }
    template <HardEvent event>
    void ReleaseEventID(TEventID id)
    {
        constexpr opmend::EventPipes pipes = opmend::event_pipes(event);
        opmend::rt::event_release(pipes.source, pipes.target, id);
    }
    template <HardEvent event>
    TEventID FetchEventID()
    {
        return fetch(event, false);
    }
    TEventID FetchEventID(HardEvent event) { return fetch(event, false); }

private:
    static TEventID fetch(HardEvent event, bool reserve)
    {
        const opmend::EventPipes pipes = opmend::event_pipes(event);
        return static_cast<TEventID>(opmend::rt::event_fetch(pipes.source, pipes.target, reserve));
    }
};

/// The TPipe made last on this core.
inline TPipe *GetTPipePtr() { return static_cast<TPipe *>(opmend::g_core->pipe); }

}  // namespace AscendC

using AscendC::GetTPipePtr;

#endif
