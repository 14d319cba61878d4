// Cores as fibers: every core of a grid runs on its own stack, one at a time, until it ends or waits for the others.
//
// One thread and a fixed order make a launch reproducible; the order can be reversed to show that a kernel does not
// depend on it. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_FIBERS_H
#define OPMEND_RUNTIME_FIBERS_H

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>

#include "cross_flags.h"
#include "memory.h"
#include "recorder.h"
#include "unified_buffer.h"

namespace opmend {

constexpr size_t kGuardBytes = 4096;

/// Memory of one core, recycled between cores and launches.
struct Arena {
    uint8_t *memory = nullptr;  // kArenaBytes of memories and as many of shadow, untouched pages cost nothing
    uint8_t *shadow = nullptr;
    Hazards hazards;
    uint8_t *stack = nullptr;  // kGuardBytes inaccessible, then kStackBytes

    Arena()
        : memory(static_cast<uint8_t *>(std::calloc(1, kArenaBytes + kRepeatBytes))),
          shadow(static_cast<uint8_t *>(std::calloc(1, kArenaBytes + kRepeatBytes)))
    {
        if (memory == nullptr || shadow == nullptr) {
            throw std::runtime_error("opmend-device: no memory for the buffers of a core");
        }
        std::memset(aligned_ub(), 0xff, kUbBytes);
        void *mapped = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (mapped == MAP_FAILED) {
            throw std::runtime_error("opmend-device: no memory for the stack of a core");
        }
        mprotect(mapped, kGuardBytes, PROT_NONE);
        stack = static_cast<uint8_t *>(mapped);
    }
    ~Arena()
    {
        munmap(stack, kStackBytes + kGuardBytes);
        std::free(memory);
        std::free(shadow);
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    /// Poisons the first `dirty` bytes of UB again, the only ones that the core wrote (and marked, where it marks).
    void clean(size_t dirty, bool marked)
    {
        dirty = std::min(dirty, kUbBytes);
        std::memset(aligned_ub(), 0xff, dirty);
        if (marked) {
            std::memset(shadow, 0, dirty);
        }
    }

    uint8_t *aligned_ub()
    {
        const auto at = reinterpret_cast<uintptr_t>(memory);
        return memory + (kRepeatBytes - at % kRepeatBytes) % kRepeatBytes;
    }
};

enum class Waiting : uint8_t { No, VectorCores, AllCores, Flag };

struct Fiber {
    Core core;
    std::unique_ptr<Arena> arena;
    ucontext_t context;
    bool started = false, finished = false, cancelled = false;
    Waiting waiting = Waiting::No;
    std::vector<void *> waiting_at;
    int waiting_flag = -1;
    CrossFlags cross;
};

struct Retask {
    TaskType task;
};
struct Cancelled {};

namespace {

std::vector<std::unique_ptr<Arena>> idle_arenas;
ucontext_t scheduler;
bool reversed_order = false;

struct Barrier {
    int parties = 0, arrived = 0;
    uint64_t generation = 0;
};

/// The grid that runs now.
struct Grid {
    std::vector<std::unique_ptr<Fiber>> fibers;
    Barrier vector_barrier, all_barrier;
    void (*body)(void *) = nullptr;
    void *context = nullptr;
    std::string error;        // first reason to give up
    bool retask = false;
    TaskType wanted = TaskType::AivOnly;
};
Grid *grid = nullptr;

void fiber_main()
{
    Fiber &fiber = *g_core->fiber;
    try {
        grid->body(grid->context);
        if (fiber.core.level >= 1) {
            check_leftovers(fiber.core);
        }
    } catch (const Retask &change) {
        grid->retask = true;
        grid->wanted = change.task;
    } catch (const Cancelled &) {
    } catch (const Abort &abort) {
        if (grid->error.empty()) {
            grid->error = rt::format("core %d: ", fiber.core.index) + abort.why;
        }
    } catch (const std::exception &failure) {
        if (grid->error.empty()) {
            grid->error = rt::format("core %d: uncaught C++ exception: ", fiber.core.index) + failure.what();
        }
    }
    fiber.finished = true;
    swapcontext(&fiber.context, &scheduler);
}

void start(Fiber &fiber)
{
    if (idle_arenas.empty()) {
        idle_arenas.push_back(std::make_unique<Arena>());
    }
    fiber.arena = std::move(idle_arenas.back());
    idle_arenas.pop_back();
    Core &core = fiber.core;
    core.ub = fiber.arena->aligned_ub();
    core.shadow = fiber.arena->shadow;
    core.limit = core.aiv ? kUbBytes : kArenaBytes;
    core.hazards = &fiber.arena->hazards;
    core.stack_top = fiber.arena->stack + kGuardBytes + kStackBytes;
    if (!core.aiv) {  // vector cores find the Unified Buffer poisoned; cube cores never touch it
        std::memset(core.ub + kUbBytes, 0xff, kArenaBytes - kUbBytes);
        std::memset(core.shadow + kUbBytes, 0, kArenaBytes - kUbBytes);
    }
    core.hazards->reset(core.level >= 3);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.arena->stack + kGuardBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
    fiber.started = true;
}

/// Runs a fiber until it ends or waits.
void resume(Fiber &fiber)
{
    g_core = &fiber.core;
    current_cross = &fiber.cross;
    swapcontext(&scheduler, &fiber.context);
    if (fiber.core.recording) {
        rt::recorder_step();
    }
    g_core = nullptr;
    if (fiber.finished) {
        fiber.core.queues.clear();
        fiber.arena->clean(fiber.core.ub_dirty, fiber.core.level >= 2);
        idle_arenas.push_back(std::move(fiber.arena));
    }
}

/// Unwinds the fibers that are still waiting, so that the kernel's own objects are destroyed.
void cancel_waiting()
{
    for (auto &fiber : grid->fibers) {
        if (fiber->started && !fiber->finished) {
            fiber->cancelled = true;
            resume(*fiber);
        }
    }
}

void report_deadlock()
{
    int waiting = 0, finished = 0;
    const Fiber *first = nullptr;
    const Fiber *absent = nullptr;
    for (const auto &fiber : grid->fibers) {
        if (fiber->finished) {
            ++finished;
            absent = absent != nullptr ? absent : fiber.get();
        } else {
            ++waiting;
            first = first != nullptr ? first : fiber.get();
        }
    }
    const std::string message =
        rt::format("%d cores wait in SyncAll for ever: %d cores ended without reaching it (the first is core %d)",
                   waiting, finished, absent != nullptr ? absent->core.index : -1);
    g_core = const_cast<Core *>(&first->core);
    if (first->waiting == Waiting::Flag) {
        const std::string flag = rt::format("core %d waits in CrossCoreWaitFlag for ever: nobody sets flag %d; %d cores "
                                            "wait, %d have ended",
                                            first->core.index, first->waiting_flag, waiting, finished);
        record("deadlock", "CrossCoreWaitFlag", flag, first->waiting_at);
        g_core = nullptr;
        grid->error = flag;
        return;
    }
    record("deadlock", "SyncAll", message, first->waiting_at);
    g_core = nullptr;
    grid->error = message;
}

void schedule()
{
    size_t left = grid->fibers.size();
    while (left > 0) {
        bool progress = false;
        for (size_t step = 0; step < grid->fibers.size(); ++step) {
            Fiber &fiber = *grid->fibers[reversed_order ? grid->fibers.size() - 1 - step : step];
            if (fiber.finished) {
                continue;
            }
            const Waiting before = fiber.waiting;
            const uint64_t passed = grid->vector_barrier.generation + grid->all_barrier.generation + cross_events;
            if (!fiber.started) {
                start(fiber);
            }
            resume(fiber);
            progress |= fiber.finished || fiber.waiting != before ||
                        grid->vector_barrier.generation + grid->all_barrier.generation + cross_events != passed;
            left -= fiber.finished ? 1 : 0;
            if (grid->retask || !grid->error.empty()) {
                cancel_waiting();
                return;
            }
        }
        if (!progress) {
            report_deadlock();
            cancel_waiting();
            return;
        }
    }
}

void build_grid(TaskType task, uint64_t block_dim, int level)
{
    const bool mixed = task == TaskType::Mix11 || task == TaskType::Mix12;
    const int vectors = task == TaskType::Mix12 ? 2 : 1;
    const int per_block = mixed ? vectors + 1 : 1;
    for (uint64_t block = 0; block < block_dim; ++block) {
        for (int unit = 0; unit < per_block; ++unit) {
            auto fiber = std::make_unique<Fiber>();
            Core &core = fiber->core;
            core.fiber = fiber.get();
            core.level = level;
            core.recording = recorder.on();
            core.index = static_cast<int>(grid->fibers.size());
            core.block = static_cast<int>(block);
            core.block_num = static_cast<int>(block_dim);
            core.sub_num = mixed ? vectors : 1;
            core.aiv = mixed ? unit > 0 : task == TaskType::AivOnly;
            core.sub = mixed && unit > 0 ? unit - 1 : 0;
            core.task = task;
            grid->vector_barrier.parties += core.aiv ? 1 : 0;
            ++grid->all_barrier.parties;
            grid->fibers.push_back(std::move(fiber));
        }
    }
}

}  // namespace

void rt::require_task(TaskType task)
{
    if (g_core->task != task) {
        throw Retask{task};
    }
}

void rt::sync_all_cores(bool vector_only)
{
    if (vector_only && !g_core->aiv) {
        return;
    }
    barrier_all_pipes();
    Fiber &fiber = *g_core->fiber;
    Barrier &barrier = vector_only ? grid->vector_barrier : grid->all_barrier;
    const uint64_t generation = barrier.generation;
    if (++barrier.arrived == barrier.parties) {
        barrier.arrived = 0;
        ++barrier.generation;
        ++epoch;
        return;
    }
    fiber.waiting = vector_only ? Waiting::VectorCores : Waiting::AllCores;
    fiber.waiting_at = known_call_stack(__builtin_frame_address(0));
    while (barrier.generation == generation) {
        swapcontext(&fiber.context, &scheduler);
        if (fiber.cancelled) {
            throw Cancelled{};
        }
    }
    fiber.waiting = Waiting::No;
}

}  // namespace opmend

#endif
