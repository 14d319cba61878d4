// Which bytes of a tensor a launch stored: runs while they are few, one bit per byte when they are not.
//
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_WRITTEN_BYTES_H
#define OPMEND_RUNTIME_WRITTEN_BYTES_H

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "core/types.h"

namespace opmend {

class WrittenBytes {
public:
    void clear()
    {
        runs_.clear();
        bits_.clear();
    }

    /// [offset, offset + bytes) of a tensor of `extent` bytes was stored.
    void add(size_t offset, size_t bytes, size_t extent)
    {
        if (!bits_.empty()) {
            set(offset, offset + bytes);
            return;
        }
        join(offset, offset + bytes);
        if (runs_.size() > kMaxRuns) {
            bits_.assign((extent + 63) / 64, 0);
            for (const auto &[from, to] : runs_) {
                set(from, to);
            }
            runs_.clear();
        }
    }

    size_t count() const
    {
        size_t total = 0;
        for (const auto &[from, to] : runs_) {
            total += to - from;
        }
        for (const uint64_t word : bits_) {
            total += static_cast<size_t>(__builtin_popcountll(word));
        }
        return total;
    }

private:
    static constexpr size_t kMaxRuns = 4096;

    /// Adds a run, joined with those it meets.
    void join(size_t from, size_t to)
    {
        auto next = runs_.upper_bound(from);
        if (next != runs_.begin() && std::prev(next)->second >= from) {
            --next;
            next->second = std::max(next->second, to);
        } else {
            next = runs_.emplace_hint(next, from, to);
        }
        const auto grown = next++;
        while (next != runs_.end() && next->first <= grown->second) {
            grown->second = std::max(grown->second, next->second);
            next = runs_.erase(next);
        }
    }

    void set(size_t from, size_t to)
    {
        while (from < to) {
            const size_t bit = from % 64;
            const size_t run = std::min<size_t>(64 - bit, to - from);
            const uint64_t ones = run == 64 ? ~0ull : (1ull << run) - 1;
            bits_[from / 64] |= ones << bit;
            from += run;
        }
    }

    std::map<size_t, size_t> runs_;  // first byte and end; never touching each other
    std::vector<uint64_t> bits_;
};

}  // namespace opmend

#endif
