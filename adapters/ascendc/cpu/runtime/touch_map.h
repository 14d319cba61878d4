// Who last touched each byte of a tensor, kept per 64-byte line while the line has one answer.
//
// Most accesses cover whole lines; only lines that several accesses share in parts get one entry per byte.
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_TOUCH_MAP_H
#define OPMEND_RUNTIME_TOUCH_MAP_H

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "core/types.h"

namespace opmend {

constexpr size_t kCacheLine = 64;

/// core + 1 (0: nobody), whether by an atomic, and in which epoch (SyncAll starts a new one).
struct Touch {
    uint32_t core : 15;
    uint32_t atomic : 1;
    uint32_t epoch : 16;
    uint32_t tick;  ///< the core's own time, counted in the cross-core flags it has set

    bool operator==(const Touch &other) const
    {
        return core == other.core && atomic == other.atomic && epoch == other.epoch && tick == other.tick;
    }
};

class TouchMap {
public:
    void clear()
    {
        lines_.clear();
        bytes_.clear();
    }

    /// Calls see(touch, offset, length) for runs of [offset, offset + length) with one answer.
    template <class See>
    void inspect(size_t offset, size_t length, See see) const
    {
        if (lines_.empty()) {
            return;
        }
        for_lines(offset, length, [&](size_t line, size_t from, size_t run) {
            const auto split = bytes_.find(line);
            if (split == bytes_.end()) {
                see(lines_[line], line * kCacheLine + from, run);
                return;
            }
            for (size_t i = from; i < from + run; ++i) {
                see(split->second[i], line * kCacheLine + i, size_t{1});
            }
        });
    }

    /// Replaces each touch in [offset, offset + length) by change(touch). `extent` is the size of the tensor.
    template <class Change>
    void update(size_t extent, size_t offset, size_t length, Change change)
    {
        if (lines_.empty()) {
            lines_.assign((extent + kCacheLine - 1) / kCacheLine, Touch{});
        }
        for_lines(offset, length, [&](size_t line, size_t from, size_t run) {
            auto split = bytes_.find(line);
            if (split == bytes_.end()) {
                const Touch next = change(lines_[line]);
                if (run == kCacheLine || next == lines_[line]) {
                    lines_[line] = next;
                    return;
                }
                split = bytes_.emplace(line, std::array<Touch, kCacheLine>()).first;
                split->second.fill(lines_[line]);
            }
            auto &touches = split->second;
            std::transform(touches.begin() + from, touches.begin() + from + run, touches.begin() + from, change);
            if (std::all_of(touches.begin(), touches.end(), [&](const Touch &t) { return t == touches[0]; })) {
                lines_[line] = touches[0];
                bytes_.erase(split);
            }
        });
    }

private:
    template <class Visit>
    static void for_lines(size_t offset, size_t length, Visit visit)
    {
        const size_t end = offset + length;
        for (size_t at = offset; at < end;) {
            const size_t from = at % kCacheLine;
            const size_t run = std::min(kCacheLine - from, end - at);
            visit(at / kCacheLine, from, run);
            at += run;
        }
    }

    std::vector<Touch> lines_;
    std::unordered_map<size_t, std::array<Touch, kCacheLine>> bytes_;
};

}  // namespace opmend

#endif
