// Ordering between the units of a core and between cores; atomics, masks and caches as core state.
#ifndef OPMEND_API_SYNC_H
#define OPMEND_API_SYNC_H

#include <cstdio>
#include <cstdlib>

#include "api/tensor.h"

namespace AscendC {

template <HardEvent event>
inline void SetFlag(int32_t id)
{
    constexpr opmend::EventPipes pipes = opmend::event_pipes(event);
    opmend::rt::flag_set(pipes.source, pipes.target, id);
}

/// Ends the launch when no SetFlag came before: the device would hang.
template <HardEvent event>
inline void WaitFlag(int32_t id)
{
    constexpr opmend::EventPipes pipes = opmend::event_pipes(event);
    opmend::rt::flag_wait(pipes.source, pipes.target, id);
}

/// PIPE_ALL waits for every unit. For one unit it changes nothing here: each unit runs its own instructions in order.
template <pipe_t pipe>
inline void PipeBarrier()
{
    if constexpr (pipe == PIPE_ALL) {
        opmend::rt::barrier_all_pipes();
    }
}

template <MemDsbT kind>
inline void DataSyncBarrier()
{
    opmend::rt::barrier_all_pipes();
}

/// Waits until every vector core (every core with isAIVOnly = false) of the launch is here.
template <bool isAIVOnly = true>
inline void SyncAll()
{
    opmend::rt::sync_all_cores(isAIVOnly);
}

/// The software form: its workspaces are taken but not needed. With `cores` set, fewer cores than the launch has would
/// take part, which is not modelled.
template <bool isAIVOnly = true>
inline void SyncAll(const GlobalTensor<int32_t> &, const LocalTensor<int32_t> &, const int32_t cores = 0)
{
    const int64_t all = opmend::g_core->block_num * static_cast<int64_t>(opmend::g_core->sub_num);
    if (cores != 0 && cores != all) {
        opmend::rt::abort_launch("api-misuse", "SyncAll",
                                 opmend::rt::format("unsupported: SyncAll of %d of %lld cores", cores,
                                                    static_cast<long long>(all)));
    }
    opmend::rt::sync_all_cores(isAIVOnly);
}

/// Tells the cores of `mode` that this one is here (0: all of its kind, 1: the vector cores of the block, 2: between the
/// block's cube core and its vector cores). Everything this core did before is done then, whatever the pipe.
template <uint8_t mode, pipe_t pipe>
inline void CrossCoreSetFlag(uint16_t flagId)
{
    static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "CrossCoreSetFlag takes one of V, M, MTE1, MTE2, MTE3 and FIX");
    opmend::rt::cross_set(mode, flagId);
}
/// Waits until all partners have set the flag, and counts it down by one.
template <uint8_t mode = 0, pipe_t pipe = PIPE_S>
inline void CrossCoreWaitFlag(uint16_t flagId)
{
    opmend::rt::cross_wait(flagId);
}

/// Copies from UB to GM combine with what is there until DisableDmaAtomic / SetAtomicNone.
template <class T>
inline void SetAtomicAdd()
{
    opmend::g_core->atomic = opmend::Atomic::Add;
}
template <class T>
inline void SetAtomicMax()
{
    opmend::g_core->atomic = opmend::Atomic::Max;
}
template <class T>
inline void SetAtomicMin()
{
    opmend::g_core->atomic = opmend::Atomic::Min;
}
inline void SetAtomicNone() { opmend::g_core->atomic = opmend::Atomic::None; }
inline void DisableDmaAtomic() { SetAtomicNone(); }

inline void SetMaskCount() { opmend::g_core->mask_count = true; }
inline void SetMaskNorm() { opmend::g_core->mask_count = false; }
inline void ResetMask()
{
    opmend::g_core->mask[0] = ~0ull;
    opmend::g_core->mask[1] = ~0ull;
}
template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t high, const uint64_t low)
{
    opmend::g_core->mask[0] = low;
    opmend::g_core->mask[1] = high;
}
/// Elements per repeat in NORMAL mode, elements in all in COUNTER mode.
template <class T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int32_t count)
{
    if constexpr (mode == MaskMode::COUNTER) {
        SetVectorMask<T, mode>(0, static_cast<uint64_t>(count));
    } else {
        const uint64_t low = count >= 64 ? ~0ull : (1ull << count) - 1;
        const uint64_t high = count >= 128 ? ~0ull : count > 64 ? (1ull << (count - 64)) - 1 : 0;
        SetVectorMask<T, mode>(high, low);
    }
}

/// Caches are not modelled: scalar stores reach global memory at once. See the cross-granule finding.
template <class T, CacheLine line, DcciDst destination>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &)
{}
template <class T, CacheLine line>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &)
{}
inline void InitSocState() { SetAtomicNone(); ResetMask(); SetMaskNorm(); }

/// Device prints go nowhere unless OPMEND_DEVICE_PRINT is set; then to stderr.
template <class... Args>
inline void printf(const char *pattern, Args... args)
{
    if (std::getenv("OPMEND_DEVICE_PRINT") != nullptr) {
        if constexpr (sizeof...(Args) == 0) {
            std::fputs(pattern, stderr);
        } else {
            std::fprintf(stderr, pattern, args...);
        }
    }
}
template <class... Args>
inline void PRINTF(const char *pattern, Args... args)
{
    printf(pattern, args...);
}
template <class Tensor, class... Args>
inline void DumpTensor(const Tensor &, Args...)
{}

}  // namespace AscendC

inline void set_flag(pipe_t source, pipe_t target, event_t id)
{
    opmend::rt::flag_set(static_cast<opmend::Pipe>(source), static_cast<opmend::Pipe>(target), id);
}
inline void wait_flag(pipe_t source, pipe_t target, event_t id)
{
    opmend::rt::flag_wait(static_cast<opmend::Pipe>(source), static_cast<opmend::Pipe>(target), id);
}
inline void pipe_barrier(pipe_t pipe)
{
    if (pipe == PIPE_ALL) {
        opmend::rt::barrier_all_pipes();
    }
}

#ifndef ASSERT
#define ASSERT(condition)                                                        \
    do {                                                                         \
        if (!(condition)) {                                                      \
            ::opmend::misuse("ASSERT", "the kernel's own check failed: %s", #condition); \
        }                                                                        \
    } while (0)
#endif
#define ASCENDC_ASSERT(condition, behaviour) ASSERT(condition)
#define ascendc_assert(condition, ...) ASSERT(condition)

#endif
