// Global memory: the extents of the tensors, what a launch wrote of them, and races between cores.
//
// Seen: every copy between GM and UB, GlobalTensor::GetValue and SetValue. Not seen: loads and stores through a raw
// `__gm__ T *`. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_MEMORY_H
#define OPMEND_RUNTIME_MEMORY_H

#include <map>
#include <vector>

#include "cross_flags.h"
#include "dubious.h"
#include "findings.h"
#include "touch_map.h"
#include "written_bytes.h"

namespace opmend {
namespace {

constexpr uint32_t kManyCores = 0x7fff;

struct Tensor {
    uintptr_t base = 0;
    size_t bytes = 0;
    WrittenBytes written;                // this launch
    TouchMap writers, readers;           // level 3, this launch
    TouchMap scalar_lines;               // by cache line: last core that stored through the scalar cache
    TouchMap line_writers;               // by cache line: last core that wrote it in any way
    DubiousBytes dubious;                // of all launches

    void begin_launch()
    {
        written.clear();
        writers.clear();
        readers.clear();
        scalar_lines.clear();
        line_writers.clear();
    }
};

std::map<uintptr_t, Tensor> tensors;  // by base address, never overlapping
uint32_t epoch = 0;

Tensor *tensor_at(uintptr_t address)
{
    auto next = tensors.upper_bound(address);
    return next == tensors.begin() ? nullptr : &std::prev(next)->second;
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

/// The first of bytes from..to (inside `run`) that storing `data` changes, or `to`. Of a cache line that is all of the
/// run only the beginning is told.
size_t first_change(const uint8_t *data, const uint8_t *memory, size_t from, size_t to, const TouchMap::Span &run)
{
    if (std::memcmp(data, memory + from, to - from) == 0) {
        return to;
    }
    for (size_t at = from; at < to;) {
        const size_t line = at / kCacheLine * kCacheLine;
        const bool whole = line >= run.from && line + kCacheLine <= run.to;
        const size_t stop = whole ? std::min(line + kCacheLine, to) : at + 1;
        if (std::memcmp(data + (at - from), memory + at, stop - at) != 0) {
            return at;
        }
        at = stop;
    }
    return to;
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
        return [&, other_wrote](Touch seen, size_t from, size_t to, const TouchMap::Span &run) {
            if (found || !other_core(seen, now) || (atomic && other_wrote && seen.atomic)) {
                return;
            }
            size_t at = from;
            if (write && !atomic && data != nullptr) {
                at = first_change(data + (from - offset), memory, from, to, run);
                if (at == to) {
                    return;
                }
            }
            found = true;
            const std::string who = seen.core == kManyCores ? "several cores" : "core " + std::to_string(seen.core - 1);
            report_lost("gm-race", api,
                       rt::format("%s of byte %zu of a %zu-byte tensor on core %d conflicts with a %s by %s that no "
                                  "SyncAll separates; the order is not defined on the device",
                                  write ? "write" : "read", at, tensor.bytes, g_core->index,
                                  other_wrote ? "write" : "read", who.c_str()));
        };
    };
    tensor.writers.inspect(offset, bytes, look(true));
    if (write) {
        tensor.readers.inspect(offset, bytes, look(false));
        tensor.writers.assign(offset, bytes, now);
        return;
    }
    tensor.readers.update(offset, bytes, [&](Touch seen) {
        Touch next = now;
        next.core = other_core(seen, now) ? kManyCores : now.core;
        return next;
    });
}

/// A scalar store writes a whole 64-byte line back later: neighbours that another core wrote meanwhile are lost.
void check_lines(Tensor &tensor, size_t offset, size_t bytes, bool scalar, const char *api)
{
    const Touch now = touch_now(false);
    const size_t skew = tensor.base % kCacheLine;
    const size_t first = (offset + skew) / kCacheLine;
    const size_t lines = (offset + skew + bytes - 1) / kCacheLine + 1 - first;
    const TouchMap &rivals = scalar ? tensor.line_writers : tensor.scalar_lines;
    rivals.inspect(first, lines, [&](Touch rival, size_t from, size_t to, const TouchMap::Span &) {
        for (size_t line = from; line < to && other_core(rival, now); ++line) {
            rt::report("cross-granule", api,
                       rt::format("core %d writes bytes %zu..%zu of a tensor in the same 64-byte cache line as core "
                                  "%d; scalar stores (SetValue) write whole lines back, so one core's bytes are lost: "
                                  "give each core its own 64-byte line or copy with DataCopyPad",
                                  g_core->index, offset, offset + bytes - 1, static_cast<int>(rival.core) - 1));
        }
    });
    tensor.line_writers.assign(first, lines, now);
    if (scalar) {
        tensor.scalar_lines.assign(first, lines, now);
    }
}

size_t outside(uintptr_t at, size_t bytes, bool write, const Tensor *nearest, bool follows, const char *api)
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
        (follows && !write ? report_followed : report_lost)(
                   padding ? "gm-padding" : "gm-out-of-bounds", api,
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
    const bool follows = g_core->level >= 2 && access != GmAccess::Read && access != GmAccess::ScalarRead;
    Tensor *tensor = tensor_at(at);
    size_t allowed = bytes;
    if (tensor == nullptr || at + bytes > tensor->base + tensor->bytes) {
        // Farther than one allocation granule past the end: not this tensor's business.
        const bool related = tensor != nullptr && at < tensor->base + tensor->bytes + 4096;
        if (!related && g_core->level < 1) {
            return 0;
        }
        allowed = outside(at, bytes, write, related ? tensor : nullptr, follows, api);
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
        tensor->written.add(offset, allowed, tensor->bytes);
    }
    if (!tensor->dubious.empty()) {
        if (write && g_core->atomic == Atomic::None) {
            tensor->dubious.clear(offset, offset + allowed);
        } else if (!write && !follows) {
            tensor->dubious.inspect(offset, offset + allowed, [](size_t, size_t, uint8_t) { dubious_lost = true; });
        }
    }
    return allowed;
}

void rt::gm_load_marks(const uint8_t *from, const uint8_t *to, size_t bytes)
{
    const Tensor *tensor = tensor_at(reinterpret_cast<uintptr_t>(from));
    if (tensor == nullptr) {
        return;
    }
    const size_t offset = reinterpret_cast<uintptr_t>(from) - tensor->base;
    uint8_t *shadow = g_core->shadow + (to - g_core->ub);
    auto set = [&](size_t begin, size_t end, uint8_t state) {
        begin = std::max(begin, offset);
        end = std::min(end, offset + bytes);
        if (begin < end) {
            std::memset(shadow + (begin - offset), state, end - begin);
        }
    };
    tensor->dubious.inspect(offset, offset + bytes, set);
}

void rt::gm_store_marks(const char *api, const uint8_t *to, const uint8_t *from, size_t bytes, size_t allowed)
{
    Tensor *tensor = tensor_at(reinterpret_cast<uintptr_t>(to));
    const uint8_t *shadow = g_core->shadow + (from - g_core->ub);
    const Unwritten found = unwritten(from, bytes);
    record_here(found.kind, api, found.text, __builtin_return_address(0), tensor != nullptr);
    if (tensor == nullptr) {
        return;
    }
    const size_t offset = reinterpret_cast<uintptr_t>(to) - tensor->base;
    for (size_t i = 0; i < allowed;) {
        const uint8_t state = shadow[i];
        size_t end = i + 1;
        while (end < allowed && shadow[end] == state) {
            ++end;
        }
        if (state != 0xff) {
            tensor->dubious.add(offset + i, offset + end, state);
        }
        i = end;
    }
}

}  // namespace opmend

#endif
