// Unified Buffer: allocation, queues, and the reports of accesses that the headers found wrong.
//
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_UNIFIED_BUFFER_H
#define OPMEND_RUNTIME_UNIFIED_BUFFER_H

#include "core/recorder.h"
#include "hazards.h"

namespace opmend {
namespace {

constexpr uint32_t kRecordedAllocations = 4;  // per queue: stack walks are too slow for each one

const char *state_name(BufferState state)
{
    switch (state) {
        case BufferState::Free: return "free";
        case BufferState::Allocated: return "allocated";
        case BufferState::Enqueued: return "enqueued";
        default: return "dequeued";
    }
}

const char *missing_step(BufferState state)
{
    switch (state) {
        case BufferState::Allocated: return "EnQue or FreeTensor";
        case BufferState::Enqueued: return "DeQue and FreeTensor";
        default: return "FreeTensor";
    }
}

void misused(const Queue &queue, const char *api, const std::string &what)
{
    if (g_core->level >= 1) {
        rt::report("queue-misuse", api, std::string(queue.position) + " queue: " + what);
    }
}

bool belongs(const Queue &queue, const Buffer *buffer)
{
    const Buffer *first = queue.buffers.data();
    return buffer != nullptr && buffer >= first && buffer < first + queue.buffers.size();
}

/// At the end of a kernel: every tensor must have gone back to its queue, every flag must have been waited for.
void check_leftovers(const Core &core)
{
    for (const auto &queue : core.queues) {
        for (const Buffer &buffer : queue->buffers) {
            if (buffer.state != BufferState::Free) {
                record("queue-leak", "kernel end",
                       rt::format("a buffer of a %s queue is still %s when the kernel ends: %s is missing",
                                  queue->position, state_name(buffer.state), missing_step(buffer.state)),
                       buffer.allocated);
                break;
            }
        }
    }
    report_unwaited_flags(core);
}

}  // namespace

/// The next `bytes` bytes of a memory. The device does not check InitBuffer (only the vendor's CPU debug build asserts):
/// addresses beyond the Unified Buffer are handed out and do no harm until something touches them. They lie behind the
/// arena here, where every access ends the launch. The other memories have neighbours in the arena: going beyond one of
/// them ends the launch at once.
uint8_t *rt::reserve(Memory memory, uint32_t bytes, const char *what)
{
    Core &core = *g_core;
    const MemoryRange &range = range_of(memory);
    uint32_t &top = core.tops[static_cast<int>(memory)];
    const uint64_t rounded = (static_cast<uint64_t>(bytes) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    if (bytes == 0 && core.level >= 1) {
        report("ub-capacity", what, "InitBuffer with length 0");
    }
    if (top + rounded > range.bytes) {
        const std::string total = format("InitBuffer of %u bytes brings the total to %llu; the %s has %zu", bytes,
                                         static_cast<unsigned long long>(top + rounded),
                                         memory == Memory::Ub ? "Unified Buffer" : range.name, range.bytes);
        if (memory != Memory::Ub) {
            abort_launch("ub-capacity", what, total);
        }
        if (core.level >= 1) {
            report("ub-capacity", what, total + "; right only while nothing touches the bytes beyond");
        }
    }
    uint8_t *base = core.ub + range.base + top + (top >= range.bytes ? kArenaBytes : 0);
    top += static_cast<uint32_t>(rounded);
    return base;
}

void rt::ub_outside(const char *api, const uint8_t *address, size_t bytes)
{
    if (address == nullptr) {
        abort_launch("api-misuse", api, "the LocalTensor was never allocated");
    }
    if (!g_core->aiv) {
        abort_launch("ub-out-of-bounds", api, format("access of %zu bytes leaves the core's memories", bytes));
    }
    const auto offset = static_cast<size_t>(address - g_core->ub);
    abort_launch("ub-out-of-bounds", api,
                 format("access of %zu bytes at UB offset %ld leaves the %zu-byte Unified Buffer", bytes,
                        static_cast<long>(offset >= kArenaBytes ? offset - kArenaBytes : offset), kUbBytes));
}

void rt::ub_out_of_bounds(const char *api, bool write, long offset, size_t bytes, size_t capacity)
{
    record_here("ub-out-of-bounds", api,
                format("%s %zu bytes at byte %ld of a %zu-byte buffer; on the device this touches its neighbour",
                       write ? "writes" : "reads", bytes, offset, capacity),
                __builtin_return_address(0));
}

void rt::ub_misaligned(const char *api, const uint8_t *address, unsigned alignment)
{
    record_here("ub-misaligned", api,
                format("%s is not a multiple of %u bytes", place(static_cast<size_t>(address - g_core->ub)).c_str(),
                       alignment),
                __builtin_return_address(0));
}

void rt::ub_uninitialised(const char *api, const uint8_t *address, size_t bytes)
{
    const Unwritten found = unwritten(address, bytes);
    record_here(found.kind, api, found.text, __builtin_return_address(0));
}

void rt::ub_stale(const char *api, const Buffer &buffer)
{
    record_here("queue-misuse", api,
                format("uses a %u-byte queue buffer that is free: the tensor was given back by FreeTensor",
                       buffer.bytes),
                __builtin_return_address(0));
}

Queue *rt::queue_create(const char *position, Pipe producer, Pipe consumer, int depth, int count, uint32_t bytes,
                        Memory memory)
{
    auto queue = std::make_unique<Queue>();
    queue->position = position;
    queue->producer = producer;
    queue->consumer = consumer;
    queue->depth = depth;
    for (int i = 0; i < count; ++i) {
        Buffer buffer;
        buffer.base = reserve(memory, bytes, position);
        buffer.bytes = static_cast<uint32_t>((bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
        queue->buffers.push_back(std::move(buffer));
    }
    g_core->queues.push_back(std::move(queue));
    return g_core->queues.back().get();
}

Buffer *rt::queue_alloc(Queue *queue)
{
    Core &core = *g_core;
    const size_t count = queue->buffers.size();
    for (size_t step = 0; step < count; ++step) {
        const size_t index = (queue->next + step) % count;
        Buffer &buffer = queue->buffers[index];
        if (buffer.state != BufferState::Free) {
            continue;
        }
        buffer.state = BufferState::Allocated;
        queue->next = static_cast<uint32_t>((index + 1) % count);
        const auto offset = static_cast<size_t>(buffer.base - core.ub);
        if (core.recording) {
            recorder_step();  // what the last instruction wrote may lie here
        }
        if ((offset < kUbBytes) == core.aiv && core.ub_dirty > offset) {
            const size_t dirty = std::min<size_t>(buffer.bytes, core.ub_dirty - offset);
            std::memset(buffer.base, 0xff, dirty);
            if (core.level >= 2) {  // below, nobody marks anything
                std::memset(core.shadow + offset, 0, dirty);
            }
        }
        if (core.level >= 3) {
            core.hazards->pipes[queue->producer].join(buffer.released);
        }
        if (core.level >= 1 && queue->allocations++ < kRecordedAllocations) {
            buffer.allocated = known_call_stack(__builtin_frame_address(0));
        }
        return &buffer;
    }
    abort_launch("queue-misuse", "AllocTensor",
                 format("all %zu buffers of the %s queue are in use (the first is %s): %s is missing; the device hangs "
                        "here",
                        count, queue->position, state_name(queue->buffers[0].state),
                        missing_step(queue->buffers[0].state)));
}

bool rt::queue_enqueue(Queue *queue, Buffer *buffer)
{
    if (!belongs(*queue, buffer)) {
        misused(*queue, "EnQue", "the tensor does not come from this queue's AllocTensor");
        return false;
    }
    if (buffer->state == BufferState::Free || buffer->state == BufferState::Enqueued) {
        misused(*queue, "EnQue", std::string("the tensor is ") + state_name(buffer->state) + " already");
    }
    buffer->state = BufferState::Enqueued;
    if (g_core->level >= 3) {
        buffer->enqueued = hazard_signal(queue->producer);
    }
    queue->fifo.push_back(buffer);
    if (queue->depth > 0 && queue->fifo.size() > static_cast<size_t>(queue->depth)) {
        misused(*queue, "EnQue", format("%zu tensors wait in a queue of depth %d", queue->fifo.size(), queue->depth));
    }
    return true;
}

Buffer *rt::queue_dequeue(Queue *queue)
{
    if (queue->fifo.empty()) {
        abort_launch("queue-misuse", "DeQue",
                     format("the %s queue is empty: EnQue is missing; the device hangs here", queue->position));
    }
    Buffer *buffer = queue->fifo.front();
    queue->fifo.pop_front();
    buffer->state = BufferState::Dequeued;
    if (g_core->level >= 3) {
        g_core->hazards->pipes[queue->consumer].join(buffer->enqueued);
    }
    return buffer;
}

void rt::queue_free(Queue *queue, Buffer *buffer)
{
    if (!belongs(*queue, buffer)) {
        misused(*queue, "FreeTensor", "the tensor does not come from this queue");
        if (buffer == nullptr) {
            return;
        }  // as on the device: the tensor knows its buffer, which is free now
    }
    if (buffer->state == BufferState::Free) {
        misused(*queue, "FreeTensor", "the tensor is free already");
    } else if (buffer->state == BufferState::Enqueued) {
        misused(*queue, "FreeTensor", "the tensor still waits in the queue: DeQue is missing");
    }
    buffer->state = BufferState::Free;
    if (g_core->level >= 3) {
        buffer->released = hazard_signal(queue->consumer);
    }
}

}  // namespace opmend

#endif
