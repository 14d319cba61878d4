// Checks of accesses to the Unified Buffer, as cheap as the level allows.
//
// Staying inside the 192 KB arena is enforced at every level (host memory must survive a wrong kernel); everything
// else is compiled in by OPMEND_CHECK. The functions never change a value that a kernel computes.
#ifndef OPMEND_CORE_CHECK_H
#define OPMEND_CORE_CHECK_H

#include "core/recorder.h"

namespace opmend {

/// Where a tensor may look: the whole buffer it was cut from.
struct Extent {
    uint8_t *lo = nullptr;
    uint8_t *hi = nullptr;
    Buffer *owner = nullptr;  ///< set for queue buffers
    Element element = Element::None;  ///< type of the tensor's elements
};

constexpr uint8_t kWritten = 0xff;
constexpr uint8_t kFiller = 0x0f;  ///< DataCopyPad's filler and GM padding: a value exists but means nothing
constexpr uint8_t kUnset = 0x00;

/// Starts one instruction on `pipe`.
inline void begin(Pipe pipe)
{
    if (__builtin_expect(g_core->recording, false)) {
        rt::recorder_step();
    }
#if OPMEND_CHECK >= 3
    rt::hazard_begin(pipe);
#else
    (void)pipe;
#endif
}

/// Checks one contiguous access of `bytes` bytes at `address`. Throws Abort when it leaves the UB.
inline void touch(const char *api, Pipe pipe, const Extent &extent, const uint8_t *address, size_t bytes, bool write,
                  unsigned alignment = 1)
{
    const uint8_t *ub = g_core->ub;
    if (address < ub || address + bytes > ub + g_core->limit) {
        rt::ub_outside(api, address, bytes);
    }
    if (write) {
        g_core->ub_dirty = std::max(g_core->ub_dirty, static_cast<size_t>(address + bytes - ub));
        if (__builtin_expect(g_core->recording, false)) {
            rt::recorder_write(api, extent.element, extent.lo, address, bytes);
        }
    }
#if OPMEND_CHECK >= 1
    if (address < extent.lo || address + bytes > extent.hi) {
        rt::ub_out_of_bounds(api, write, static_cast<long>(address - extent.lo), bytes,
                             static_cast<size_t>(extent.hi - extent.lo));
    }
    if (alignment > 1 && static_cast<size_t>(address - ub) % alignment != 0) {
        rt::ub_misaligned(api, address, alignment);
    }
    if (extent.owner != nullptr && extent.owner->state == BufferState::Free) {
        rt::ub_stale(api, *extent.owner);
    }
#else
    (void)extent, (void)alignment;
#endif
#if OPMEND_CHECK >= 3
    if (bytes != 0) {
        rt::hazard_access(api, pipe, address, bytes, write);
    }
#else
    (void)pipe;
#endif
}

/// Whether this core has the memory `address` lies in (behind the arena: a buffer beyond the Unified Buffer's end). Instructions on another core's memories do nothing here, as in
/// the vendor's sources, where cube cores skip vector instructions and the reverse.
inline bool present(const uint8_t *address)
{
    return address == nullptr || (address < g_core->ub + kUbBytes || address >= g_core->ub + kArenaBytes) == g_core->aiv;
}

/// Raw pointers into UB are given out: anything may be written from now on.
inline void expose()
{
    if (g_core != nullptr) {
        g_core->ub_dirty = g_core->limit;
    }
}

inline uint8_t *shadow_of(const uint8_t *address) { return g_core->shadow + (address - g_core->ub); }

inline void mark(const uint8_t *address, size_t bytes, uint8_t state = kWritten)
{
#if OPMEND_CHECK >= 2
    std::memset(shadow_of(address), state, bytes);
#else
    (void)address, (void)bytes, (void)state;
#endif
}

/// The state all of the bytes share at least (bitwise and of their states).
inline uint8_t state_of(const uint8_t *address, size_t bytes)
{
#if OPMEND_CHECK >= 2
    const uint8_t *state = shadow_of(address);
    uint8_t all = kWritten;
    size_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
        uint64_t words[8];
        std::memcpy(words, state + i, sizeof words);
        if ((words[0] & words[1] & words[2] & words[3] & words[4] & words[5] & words[6] & words[7]) != ~0ull) {
            break;
        }
    }
    for (; i < bytes && all != kUnset; ++i) {
        all = static_cast<uint8_t>(all & state[i]);
    }
    return all;
#else
    (void)address, (void)bytes;
    return kWritten;
#endif
}

/// Reports when a value that leaves the UB (or steers the program) was never written.
inline void require_written(const char *api, const uint8_t *address, size_t bytes)
{
#if OPMEND_CHECK >= 2
    if (state_of(address, bytes) != kWritten) {
        rt::ub_uninitialised(api, address, bytes);
    }
#else
    (void)api, (void)address, (void)bytes;
#endif
}

/// A use of the API that the device accepts but does not do what the code seems to want.
template <class... Args>
inline void misuse(const char *api, const char *pattern, Args... args)
{
#if OPMEND_CHECK >= 1
    rt::report("api-misuse", api, rt::format(pattern, args...));
#else
    (void)api, (void)pattern, ((void)args, ...);
#endif
}

}  // namespace opmend

#endif
