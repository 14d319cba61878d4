// Global memory: the extents of the tensors, what a launch wrote of them, and races between cores.
//
// Seen: every copy between GM and UB, GlobalTensor::GetValue and SetValue. Not seen: loads and stores through a raw
// `__gm__ T *`. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_MEMORY_H
#define OPMEND_RUNTIME_MEMORY_H

#include <map>
#include <vector>

#include "cross_flags.h"
#include "findings.h"
#include "touch_map.h"

namespace opmend {
namespace {

constexpr uint32_t kManyCores = 0x7fff;

struct Tensor {
    uintptr_t base = 0;
    size_t bytes = 0;
    std::vector<uint64_t> written;       // one bit per byte, this launch
    TouchMap writers, readers;           // level 3, this launch
    std::vector<Touch> scalar_lines;     // per cache line: last core that stored through the scalar cache
    std::vector<Touch> line_writers;     // per cache line: last core that wrote it in any way

    void begin_launch()
    {
        written.clear();
        writers.clear();
        readers.clear();
        scalar_lines.clear();
        line_writers.clear();
    }

    size_t written_bytes() const
    {
        size_t total = 0;
        for (const uint64_t word : written) {
            total += static_cast<size_t>(__builtin_popcountll(word));
        }
        return total;
    }
};

std::map<uintptr_t, Tensor> tensors;  // by base address, never overlapping
uint32_t epoch = 0;

Tensor *tensor_at(uintptr_t address)
{
    auto next = tensors.upper_bound(address);
    return next == tensors.begin() ? nullptr : &std::prev(next)->second;
}

void mark_written(Tensor &tensor, size_t offset, size_t bytes)
{
    if (tensor.written.empty()) {
        tensor.written.assign((tensor.bytes + 63) / 64, 0);
    }
    size_t at = offset;
    const size_t end = offset + bytes;
    while (at < end) {
        const size_t bit = at % 64;
        const size_t run = std::min<size_t>(64 - bit, end - at);
        const uint64_t ones = run == 64 ? ~0ull : ((1ull << run) - 1);
        tensor.written[at / 64] |= ones << bit;
        at += run;
    }
}

Touch touch_now(bool atomic)
{
    return {static_cast<uint32_t>(g_core->index + 1) & 0x7fffu, atomic, epoch & 0xffffu, current_cross->tick};
}

bool other_core(const Touch &seen, const Touch &now)
{
    if (seen.core == 0 || seen.epoch != now.epoch || seen.core == now.core) {
        return false;
    }
    // Reads by several cores keep no clock: once flags are in use, they are not held against a later write.
    return !cross_used || (seen.core != kManyCores && !flag_orders(seen.core - 1u, seen.tick));
}

/// Two cores must not touch the same byte between two SyncAll unless both only read, both add atomically, or the
/// second stores what is there already (the usual way to let tail tiles overlap).
void check_race(Tensor &tensor, size_t offset, size_t bytes, bool write, const uint8_t *data, const char *api)
{
    const bool atomic = write && g_core->atomic != Atomic::None;
    const Touch now = touch_now(atomic);
    const auto *memory = reinterpret_cast<const uint8_t *>(tensor.base);
    bool found = false;
    auto look = [&](bool other_wrote) {
        return [&, other_wrote](Touch seen, size_t at, size_t run) {
            if (found || !other_core(seen, now) || (atomic && other_wrote && seen.atomic)) {
                return;
            }
            if (write && !atomic && data != nullptr && std::memcmp(data + (at - offset), memory + at, run) == 0) {
                return;
            }
            found = true;
            const std::string who = seen.core == kManyCores ? "several cores" : "core " + std::to_string(seen.core - 1);
            rt::report("gm-race", api,
                       rt::format("%s of byte %zu of a %zu-byte tensor on core %d conflicts with a %s by %s that no "
                                  "SyncAll separates; the order is not defined on the device",
                                  write ? "write" : "read", at, tensor.bytes, g_core->index,
                                  other_wrote ? "write" : "read", who.c_str()));
        };
    };
    tensor.writers.inspect(offset, bytes, look(true));
    if (write) {
        tensor.readers.inspect(offset, bytes, look(false));
        tensor.writers.update(tensor.bytes, offset, bytes, [&](Touch) { return now; });
        return;
    }
    tensor.readers.update(tensor.bytes, offset, bytes, [&](Touch seen) {
        Touch next = now;
        next.core = other_core(seen, now) ? kManyCores : now.core;
        return next;
    });
}

/// A scalar store writes a whole 64-byte line back later: neighbours that another core wrote meanwhile are lost.
void check_lines(Tensor &tensor, size_t offset, size_t bytes, bool scalar, const char *api)
{
    if (tensor.line_writers.empty()) {
        tensor.line_writers.assign(tensor.bytes / kCacheLine + 2, Touch{});
        tensor.scalar_lines.assign(tensor.bytes / kCacheLine + 2, Touch{});
    }
    const Touch now = touch_now(false);
    const size_t skew = tensor.base % kCacheLine;
    const size_t last = (offset + skew + bytes - 1) / kCacheLine;
    for (size_t line = (offset + skew) / kCacheLine; line <= last; ++line) {
        const Touch &rival = scalar ? tensor.line_writers[line] : tensor.scalar_lines[line];
        if (other_core(rival, now)) {
            rt::report("cross-granule", api,
                       rt::format("core %d writes bytes %zu..%zu of a tensor in the same 64-byte cache line as core "
                                  "%d; scalar stores (SetValue) write whole lines back, so one core's bytes are lost: "
                                  "give each core its own 64-byte line or copy with DataCopyPad",
                                  g_core->index, offset, offset + bytes - 1, static_cast<int>(rival.core) - 1));
        }
        tensor.line_writers[line] = now;
        if (scalar) {
            tensor.scalar_lines[line] = now;
        }
    }
}

size_t outside(uintptr_t at, size_t bytes, bool write, const Tensor *nearest, const char *api)
{
    const char *what = write ? "write" : "read";
    const char *after = write ? "the bytes outside are not stored" : "the bytes outside read as 0xff";
    if (nearest == nullptr) {
        rt::report("gm-out-of-bounds", api,
                   rt::format("%s of %zu bytes at 0x%lx, which is in no registered tensor; %s", what, bytes,
                              static_cast<unsigned long>(at), after));
        return 0;
    }
    const size_t offset = at - nearest->base;
    const size_t granule_end = (nearest->base + nearest->bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    const bool padding = !write && at + bytes <= granule_end;
    if (g_core->level >= 1) {
        rt::report(padding ? "gm-padding" : "gm-out-of-bounds", api,
                   rt::format("%s of %zu bytes at byte %zu of a %zu-byte tensor goes %zu bytes past its end; %s%s",
                              what, bytes, offset, nearest->bytes, offset + bytes - nearest->bytes, after,
                              padding ? " (inside the last 32-byte granule: harmless only if never used)" : ""));
    }
    return offset < nearest->bytes ? nearest->bytes - offset : 0;
}

}  // namespace

size_t rt::gm_access(const void *address, size_t bytes, GmAccess access, const void *data, const char *api)
{
    if (tensors.empty() || bytes == 0) {
        return bytes;
    }
    const auto at = reinterpret_cast<uintptr_t>(address);
    const bool write = access == GmAccess::Write || access == GmAccess::ScalarWrite;
    Tensor *tensor = tensor_at(at);
    size_t allowed = bytes;
    if (tensor == nullptr || at + bytes > tensor->base + tensor->bytes) {
        // Farther than one allocation granule past the end: not this tensor's business.
        const bool related = tensor != nullptr && at < tensor->base + tensor->bytes + 4096;
        if (!related && g_core->level < 1) {
            return 0;
        }
        allowed = outside(at, bytes, write, related ? tensor : nullptr, api);
    }
    if (allowed == 0) {
        return 0;
    }
    const size_t offset = at - tensor->base;
    if (g_core->level >= 3) {
        check_race(*tensor, offset, allowed, write, static_cast<const uint8_t *>(data), api);
        if (write) {
            check_lines(*tensor, offset, allowed, access == GmAccess::ScalarWrite, api);
        }
    }
    if (write) {
        mark_written(*tensor, offset, allowed);
    }
    return allowed;
}

}  // namespace opmend

#endif
