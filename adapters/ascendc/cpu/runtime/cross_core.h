// Scheduling of cross-core flags: which cores a signal reaches, and who waits.
//
// Mode 0 joins all cores of a kind, mode 1 the vector cores of a block, mode 2 the cube core of a block with all of its
// vector cores: the cube core's signal reaches each of them, theirs reaches it once all have sent it. The pipe of the
// signal is not looked at: instructions run in program order here. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_CROSS_CORE_H
#define OPMEND_RUNTIME_CROSS_CORE_H

#include "fibers.h"

namespace opmend {
namespace {

constexpr size_t kMostSignals = 15;

void raise_flag(Fiber &fiber, int flag, const CoreClock &clock)
{
    auto &raised = fiber.cross.raised[flag];
    raised.push_back(clock);
    if (raised.size() > kMostSignals && g_core->level >= 1) {
        rt::report("api-misuse", "CrossCoreSetFlag",
                   rt::format("flag %d of core %d has been set %zu times without a CrossCoreWaitFlag; its counter holds "
                              "%zu",
                              flag, fiber.core.index, raised.size(), kMostSignals));
    }
}

/// Once every member has sent its part: the joint clock, and true.
template <class Member>
bool all_sent(int mode, int flag, Member member, CoreClock &clock)
{
    for (const auto &fiber : grid->fibers) {
        if (member(fiber->core) && fiber->cross.sent[mode][flag].empty()) {
            return false;
        }
    }
    for (const auto &fiber : grid->fibers) {
        if (member(fiber->core)) {
            join(clock, fiber->cross.sent[mode][flag].front());
            fiber->cross.sent[mode][flag].pop_front();
        }
    }
    return true;
}

template <class Member>
void raise_all(int flag, Member member, const CoreClock &clock)
{
    for (const auto &fiber : grid->fibers) {
        if (member(fiber->core)) {
            raise_flag(*fiber, flag, clock);
        }
    }
}

/// Flags left set when all cores have ended: a kernel must wait for what it sets (vendor's rule).
void report_unwaited_cross_flags()
{
    for (const auto &fiber : grid->fibers) {
        for (int flag = 0; flag < kCrossFlags; ++flag) {
            const size_t left = fiber->cross.raised[flag].size();
            if (left != 0 && fiber->core.level >= 1) {
                g_core = &fiber->core;
                record("api-misuse", "CrossCoreSetFlag",
                       rt::format("flag %d of core %d is still set %zu times when the kernel ends: CrossCoreWaitFlag is "
                                  "missing; the next kernel starts with it set",
                                  flag, fiber->core.index, left),
                       {});
                g_core = nullptr;
            }
        }
    }
}

}  // namespace

void rt::cross_set(int mode, int flag)
{
    if (mode < 0 || mode >= kCrossModes) {
        abort_launch("api-misuse", "CrossCoreSetFlag", format("unsupported: mode %d (Atlas A2 has 0, 1 and 2)", mode));
    }
    flag &= kCrossFlags - 1;
    const Core &core = *g_core;
    CrossFlags &mine = core.fiber->cross;
    cross_used = true;
    ++cross_events;
    if (mine.known.size() < grid->fibers.size()) {
        mine.known.resize(grid->fibers.size(), 0);
    }
    mine.known[static_cast<size_t>(core.index)] = mine.tick++;
    const int block = core.block;
    if (mode == 2 && !core.aiv) {
        raise_all(flag, [block](const Core &other) { return other.aiv && other.block == block; }, mine.known);
        return;
    }
    mine.sent[mode][flag].push_back(mine.known);
    CoreClock clock;
    const auto partner = [mode, block, aiv = core.aiv](const Core &other) {
        return mode == 0 ? other.aiv == aiv : other.aiv && other.block == block;
    };
    if (!all_sent(mode, flag, partner, clock)) {
        return;
    }
    if (mode == 2) {
        raise_all(flag, [block](const Core &other) { return !other.aiv && other.block == block; }, clock);
    } else {
        raise_all(flag, partner, clock);
    }
}

void rt::cross_wait(int flag)
{
    flag &= kCrossFlags - 1;
    Fiber &fiber = *g_core->fiber;
    auto &raised = fiber.cross.raised[flag];
    if (raised.empty()) {
        fiber.waiting = Waiting::Flag;
        fiber.waiting_flag = flag;
        fiber.waiting_at = call_stack();
    }
    while (raised.empty()) {
        swapcontext(&fiber.context, &scheduler);
        if (fiber.cancelled) {
            throw Cancelled{};
        }
    }
    fiber.waiting = Waiting::No;
    ++cross_events;
    join(fiber.cross.known, raised.front());
    raised.pop_front();
}

void rt::cube_missing(const char *api)
{
    abort_launch("api-misuse", api,
                 "a cube instruction runs in a launch of vector cores only: name the kernel's type with "
                 "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2) or KERNEL_TYPE_AIC_ONLY");
}

}  // namespace opmend

#endif
