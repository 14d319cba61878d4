// Happens-before between the execution units of a core, per 32-byte granule of UB, by vector clocks.
//
// Ordered by itself: instructions of one unit; everything issued after a scalar instruction that waited (the scalar
// unit issues in order); scalar accesses against any unit and vector against vector, which the compiler synchronises.
// Not ordered: copies in (MTE2), vector (V) and copies out (MTE3) against each other. Only a queue (EnQue/DeQue,
// FreeTensor/AllocTensor), SetFlag/WaitFlag, PipeBarrier<PIPE_ALL> or SyncAll orders those.
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_HAZARDS_H
#define OPMEND_RUNTIME_HAZARDS_H

#include "findings.h"
#include "granule_runs.h"

namespace opmend {

constexpr int kEventIds = 8;

struct Event {
    std::vector<Clock> set;  // one clock for each SetFlag not yet waited for, oldest first
    bool reserved = false;
};

struct Hazards {
    Clock pipes[kPipes];
    Event events[kPipes][kPipes][kEventIds];
    GranuleRuns granules;

    void reset(bool track)
    {
        for (int pipe = 0; pipe < kPipes; ++pipe) {
            pipes[pipe] = Clock{};
            pipes[pipe].at[pipe] = 1;
            for (auto &row : events[pipe]) {
                for (Event &event : row) {
                    event.set.clear();
                    event.reserved = false;
                }
            }
        }
        if (track) {
            granules.reset();
        }
    }
};

namespace {

const char *const kPipeNames[kPipes] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};

/// An arena offset as kernel authors know it: "UB offset 64", "L1 offset 0".
std::string place(size_t offset)
{
    const MemoryRange &range = range_of(memory_at(offset));
    return rt::format("%s offset %zu", range.name, offset - range.base);
}

/// Clock that a signal sent by `pipe` carries: everything the unit was given so far.
Clock hazard_signal(Pipe pipe)
{
    Hazards &hazards = *g_core->hazards;
    hazards.pipes[pipe].join(hazards.pipes[PipeS]);
    const Clock sent = hazards.pipes[pipe];
    ++hazards.pipes[pipe].at[pipe];
    return sent;
}

void unordered(const char *api, Pipe pipe, bool write, size_t offset, Pipe other, bool other_write)
{
    record_here("pipe-hazard", api,
                rt::format("%s %s %s while an earlier %s of it by %s may still run: needs a queue "
                           "(EnQue/DeQue), SetFlag/WaitFlag<HardEvent::%s_%s> or PipeBarrier<PIPE_ALL>",
                           kPipeNames[pipe], write ? "writes" : "reads", place(offset).c_str(), other_write ? "write" : "read",
                           kPipeNames[other], kPipeNames[other], kPipeNames[pipe]),
                __builtin_return_address(0));
}

Event &event_of(Pipe source, Pipe target, int id, const char *api)
{
    if (id < 0 || id >= kEventIds) {
        rt::report("api-misuse", api, rt::format("event id %d is outside 0..%d", id, kEventIds - 1));
        id &= kEventIds - 1;
    }
    return g_core->hazards->events[source][target][id];
}

void report_unwaited_flags(const Core &core)
{
    for (int source = 0; source < kPipes; ++source) {
        for (int target = 0; target < kPipes; ++target) {
            for (int id = 0; id < kEventIds; ++id) {
                if (!core.hazards->events[source][target][id].set.empty()) {
                    record("api-misuse", "SetFlag",
                           rt::format("flag %s_%s id %d is still set when the kernel ends: WaitFlag is missing; the "
                                      "next kernel starts with it set",
                                      kPipeNames[source], kPipeNames[target], id),
                           {});
                }
            }
        }
    }
}

}  // namespace

void rt::hazard_begin(Pipe pipe)
{
    Hazards &hazards = *g_core->hazards;
    hazards.pipes[pipe].join(hazards.pipes[PipeS]);
    ++hazards.pipes[pipe].at[pipe];
}

void rt::hazard_access(const char *api, Pipe pipe, const uint8_t *address, size_t bytes, bool write)
{
    Core &core = *g_core;
    Hazards &hazards = *core.hazards;
    Clock &known = hazards.pipes[pipe];
    const size_t first = static_cast<size_t>(address - core.ub) / kBlockBytes;
    const size_t last = (static_cast<size_t>(address - core.ub) + bytes - 1) / kBlockBytes;
    hazards.granules.for_runs(first, last, [&](size_t index, Granule &granule) {
        if (granule.wrote != 0 && granule.writer != pipe && known.at[granule.writer] < granule.wrote) {
            if (pipe != PipeS) {
                unordered(api, pipe, write, index * kBlockBytes, granule.writer, true);
            }
            known.at[granule.writer] = granule.wrote;  // reported once, or synchronised by the compiler
        }
        if (!write) {
            granule.read[pipe] = known.at[pipe];
            return;
        }
        for (int other = 0; other < kPipes; ++other) {
            if (other != pipe && granule.read[other] != 0 && known.at[other] < granule.read[other]) {
                if (pipe != PipeS) {
                    unordered(api, pipe, true, index * kBlockBytes, static_cast<Pipe>(other), false);
                }
                known.at[other] = granule.read[other];
            }
        }
    });
    if (write) {
        Granule written;
        written.wrote = known.at[pipe];
        written.writer = pipe;
        hazards.granules.assign(first, last, written);
    }
}

void rt::flag_set(Pipe source, Pipe target, int id)
{
    Event &event = event_of(source, target, id, "SetFlag");
    if (!event.set.empty() && g_core->level >= 1) {
        report("api-misuse", "SetFlag",
               format("flag %s_%s id %d is set again before it was waited for", kPipeNames[source], kPipeNames[target],
                      id));
    }
    event.set.push_back(hazard_signal(source));
}

void rt::flag_wait(Pipe source, Pipe target, int id)
{
    Event &event = event_of(source, target, id, "WaitFlag");
    if (event.set.empty()) {
        abort_launch("deadlock", "WaitFlag",
                     format("waits for flag %s_%s id %d, which no SetFlag before it sets; the device hangs here",
                            kPipeNames[source], kPipeNames[target], id));
    }
    g_core->hazards->pipes[target].join(event.set.front());
    event.set.erase(event.set.begin());
}

int rt::event_fetch(Pipe source, Pipe target, bool reserve)
{
    auto &row = g_core->hazards->events[source][target];
    for (int id = 0; id < kEventIds; ++id) {
        if (!row[id].reserved && row[id].set.empty()) {
            row[id].reserved = reserve;
            return id;
        }
    }
    abort_launch("api-misuse", "AllocEventID",
                 format("all %d event ids of %s_%s are in use: ReleaseEventID is missing", kEventIds,
                        kPipeNames[source], kPipeNames[target]));
}

void rt::event_release(Pipe source, Pipe target, int id)
{
    event_of(source, target, id, "ReleaseEventID").reserved = false;
}

void rt::barrier_all_pipes()
{
    Hazards &hazards = *g_core->hazards;
    Clock all;
    for (const Clock &pipe : hazards.pipes) {
        all.join(pipe);
    }
    for (int pipe = 0; pipe < kPipes; ++pipe) {
        hazards.pipes[pipe] = all;
        ++hazards.pipes[pipe].at[pipe];
    }
}

}  // namespace opmend

#endif
