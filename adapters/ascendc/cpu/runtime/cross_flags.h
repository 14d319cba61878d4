// CrossCoreSetFlag / CrossCoreWaitFlag: what each core has signalled, received and therefore knows of the others.
//
// Every core has 16 counters (vendor's "CrossCoreSetFlag" page). A signal carries the sender's clock over cores, so that
// accesses of global memory which a flag orders are not reported as races. The scheduling is in cross_core.h.
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_CROSS_FLAGS_H
#define OPMEND_RUNTIME_CROSS_FLAGS_H

#include <vector>

#include "core/state.h"

namespace opmend {

constexpr int kCrossFlags = 16;
constexpr int kCrossModes = 3;

/// For each core, the last of its ticks known to have happened before.
using CoreClock = std::vector<uint32_t>;

struct CrossFlags {
    Fifo<CoreClock> raised[kCrossFlags];             ///< the counters: signals not waited for yet
    Fifo<CoreClock> sent[kCrossModes][kCrossFlags];  ///< this core's part of signals that need others too
    CoreClock known;
    uint32_t tick = 1;  ///< accesses up to the next signal carry this number
};

namespace {

CrossFlags *current_cross = nullptr;  ///< of the core that runs
bool cross_used = false;              ///< whether this launch has set any flag
uint64_t cross_events = 0;            ///< flags set and waited for: progress, for the scheduler

void join(CoreClock &into, const CoreClock &other)
{
    if (into.size() < other.size()) {
        into.resize(other.size(), 0);
    }
    for (size_t core = 0; core < other.size(); ++core) {
        into[core] = std::max(into[core], other[core]);
    }
}

bool flag_orders(uint32_t core, uint32_t tick)
{
    const CoreClock &known = current_cross->known;
    return core < known.size() && known[core] >= tick;
}

}  // namespace
}  // namespace opmend

#endif
