// Who touched each 32-byte granule of a core's memories last, kept once for each run of granules with one answer.
//
// An instruction touches long ranges, and the next one mostly the same range again: the cost of an access goes with the
// number of runs it meets (usually one), not with its length. A run's state lies with its first granule; a bitmap says
// where runs begin, so that cutting and joining runs moves nothing. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_GRANULE_RUNS_H
#define OPMEND_RUNTIME_GRANULE_RUNS_H

#include <cstdlib>
#include <memory>

#include "core/state.h"

namespace opmend {

struct Granule {
    uint32_t wrote = 0;          // clock of the last write, 0: none
    uint32_t read[kPipes] = {};  // clock of the last read since then, per unit
    Pipe writer = PipeS;
};

class GranuleRuns {
public:
    static constexpr size_t kGranules = (kArenaBytes / kBlockBytes + 63) / 64 * 64;

    /// One run: nobody touched anything.
    void reset()
    {
        std::fill(std::begin(heads_), std::end(heads_), 0);
        heads_[0] = 1;
        states_[0] = Granule{};
    }

    /// Calls visit(first granule, state) for the runs of granules first..last, cut to that range.
    template <class Visit>
    void for_runs(size_t first, size_t last, Visit visit)
    {
        cut(first);
        cut(last + 1);
        for (size_t index = first; index <= last; index = next_head(index + 1)) {
            visit(index, states_[index]);
        }
    }

    /// Makes granules first..last, which for_runs has cut out, one run.
    void assign(size_t first, size_t last, const Granule &state)
    {
        states_[first] = state;
        for (size_t at = first + 1; at <= last;) {
            const size_t bit = at % 64;
            const size_t run = std::min<size_t>(64 - bit, last + 1 - at);
            const uint64_t ones = run == 64 ? ~0ull : (1ull << run) - 1;
            heads_[at / 64] &= ~(ones << bit);
            at += run;
        }
    }

private:
    /// Lets a run begin at `index`.
    void cut(size_t index)
    {
        uint64_t word = heads_[index / 64];
        const uint64_t bit = 1ull << index % 64;
        if (index >= kGranules || (word & bit) != 0) {
            return;
        }
        heads_[index / 64] = word | bit;
        size_t at = index / 64;
        word &= bit - 1;
        while (word == 0) {
            word = heads_[--at];
        }
        states_[index] = states_[at * 64 + 63 - static_cast<size_t>(__builtin_clzll(word))];
    }

    /// The first run that begins at `index` or later; kGranules when there is none.
    size_t next_head(size_t index) const
    {
        size_t at = index / 64;
        uint64_t word = heads_[at] & (~0ull << index % 64);
        while (word == 0) {
            if (++at >= kGranules / 64) {
                return kGranules;
            }
            word = heads_[at];
        }
        return at * 64 + static_cast<size_t>(__builtin_ctzll(word));
    }

    uint64_t heads_[kGranules / 64 + 1] = {1};
    // All zero is a Granule nobody touched; pages of memories that a core does not use are never there.
    struct Release {
        void operator()(Granule *states) const { std::free(states); }
    };
    std::unique_ptr<Granule[], Release> states_{static_cast<Granule *>(std::calloc(kGranules, sizeof(Granule)))};
};

}  // namespace opmend

#endif
