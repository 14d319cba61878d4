// Who last touched each byte of a tensor, kept once for each run of bytes with one answer.
//
// Cores touch a tensor in long stretches, so the runs are few and the cost of an access does not go with its length.
#ifndef OPMEND_RUNTIME_TOUCH_MAP_H
#define OPMEND_RUNTIME_TOUCH_MAP_H

#include <algorithm>
#include <iterator>
#include <map>

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
    struct Span {
        size_t from, to;
    };
    struct Run {
        size_t end;
        Touch touch;
    };
    using Runs = std::map<size_t, Run>;  // by first byte; never overlapping, neighbours with one answer are one run

    void clear() { runs_.clear(); }
    bool empty() const { return runs_.empty(); }

    /// Calls see(touch, from, to, the whole run) for what of [offset, offset + length) was touched.
    template <class See>
    void inspect(size_t offset, size_t length, See see) const
    {
        const size_t end = offset + length;
        for (auto run = meeting(offset); run != runs_.end() && run->first < end; ++run) {
            see(run->second.touch, std::max(run->first, offset), std::min(run->second.end, end),
                Span{run->first, run->second.end});
        }
    }

    /// Makes [offset, offset + length) one run.
    void assign(size_t offset, size_t length, Touch touch)
    {
        const size_t end = offset + length;
        auto run = meeting(offset);
        if (run != runs_.end() && run->first <= offset && run->second.end >= end && run->second.touch == touch) {
            return;
        }
        if ((run == runs_.end() || run->first >= end) && run != runs_.begin()) {  // the usual case: goes on behind
            const auto before = std::prev(run);
            if (before->second.end == offset && before->second.touch == touch) {
                before->second.end = end;
                join(before);
                return;
            }
        }
        if (run != runs_.end() && run->first < offset) {  // keep what lies before, and behind when it reaches there
            const Run before = run->second;
            run->second.end = offset;
            ++run;
            if (before.end > end) {
                run = runs_.emplace_hint(run, end, before);
            }
        }
        while (run != runs_.end() && run->second.end <= end) {
            run = runs_.erase(run);
        }
        if (run != runs_.end() && run->first < end) {
            const Run behind = run->second;
            run = runs_.erase(run);
            run = runs_.emplace_hint(run, end, behind);
        }
        join(runs_.emplace_hint(run, offset, Run{end, touch}));
    }

    /// Replaces each touch in [offset, offset + length) by change(touch); bytes nobody touched have Touch{}.
    template <class Change>
    void update(size_t offset, size_t length, Change change)
    {
        const size_t end = offset + length;
        for (size_t at = offset; at < end;) {
            const auto run = meeting(at);
            const bool inside = run != runs_.end() && run->first <= at;
            const Touch seen = inside ? run->second.touch : Touch{};
            const size_t until = inside ? run->second.end : run != runs_.end() ? run->first : end;
            const size_t stop = std::min(until, end);
            assign(at, stop - at, change(seen));
            at = stop;
        }
    }

private:
    /// The first run that ends behind `offset`.
    Runs::const_iterator meeting(size_t offset) const { return const_cast<TouchMap *>(this)->meeting(offset); }
    Runs::iterator meeting(size_t offset)
    {
        auto run = runs_.upper_bound(offset);
        if (run != runs_.begin() && std::prev(run)->second.end > offset) {
            --run;
        }
        return run;
    }

    /// Joins a run with neighbours of the same answer.
    void join(Runs::iterator run)
    {
        const auto next = std::next(run);
        if (next != runs_.end() && next->first == run->second.end && next->second.touch == run->second.touch) {
            run->second.end = next->second.end;
            runs_.erase(next);
        }
        if (run != runs_.begin()) {
            const auto before = std::prev(run);
            if (before->second.end == run->first && before->second.touch == run->second.touch) {
                before->second.end = run->second.end;
                runs_.erase(run);
            }
        }
    }

    Runs runs_;
};

}  // namespace opmend

#endif
