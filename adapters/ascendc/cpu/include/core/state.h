// State of a launch, and the functions of the runtime library that the headers call.
//
// All state lives in libopmend_rt.so: a kernel library may be loaded beside others (or built with hidden
// visibility), and a header-local static would split or merge state between them. The headers only hold templates.
#ifndef OPMEND_CORE_STATE_H
#define OPMEND_CORE_STATE_H

#include <memory>
#include <string>
#include <vector>

#include "core/memories.h"
#include "core/types.h"

#define OPMEND_API __attribute__((visibility("default")))

namespace opmend {

/// Execution units that run concurrently on a core. Instructions of one unit execute in order.
enum Pipe : uint8_t { PipeS, PipeV, PipeM, PipeMte1, PipeMte2, PipeMte3, PipeFix, kPipes };

enum class TaskType : uint8_t { AivOnly, AicOnly, Mix11, Mix12 };
enum class Atomic : uint8_t { None, Add, Max, Min };

/// Vector clock: for each unit, the last of its instructions known to have completed.
struct Clock {
    uint32_t at[kPipes] = {};

    void join(const Clock &other)
    {
        for (int pipe = 0; pipe < kPipes; ++pipe) {
            if (other.at[pipe] > at[pipe]) {
                at[pipe] = other.at[pipe];
            }
        }
    }
};

enum class BufferState : uint8_t { Free, Allocated, Enqueued, Dequeued };

/// One buffer of a queue, in UB.
struct Buffer {
    uint8_t *base = nullptr;
    uint32_t bytes = 0;
    BufferState state = BufferState::Free;
    Clock released;                 ///< consumer's clock when last freed
    Clock enqueued;                 ///< producer's clock when last enqueued
    std::vector<void *> allocated;  ///< call stack of the latest recorded AllocTensor
};

/// First in, first out. Costs nothing until it is used: every launch makes many and uses few.
template <class T>
class Fifo {
public:
    bool empty() const { return items_.empty(); }
    size_t size() const { return items_.size(); }
    T &front() { return items_.front(); }
    void push_back(T item) { items_.push_back(std::move(item)); }
    void pop_front() { items_.erase(items_.begin()); }

private:
    std::vector<T> items_;
};

struct Queue {
    const char *position = "";
    Pipe producer = PipeV;
    Pipe consumer = PipeV;
    int32_t depth = 0;              ///< 0: not limited here
    uint32_t next = 0;              ///< where the search for a free buffer starts
    uint32_t allocations = 0;
    std::vector<Buffer> buffers;
    Fifo<Buffer *> fifo;
};

struct Hazards;  // granule clocks, runtime only
struct Fiber;    // scheduling state, runtime only

/// One AI core of the launch that is running.
struct Core {
    uint8_t *ub = nullptr;      ///< the arena (memories.h): the Unified Buffer comes first
    uint8_t *shadow = nullptr;  ///< one byte per arena byte: its state, see kWritten
    size_t limit = kUbBytes;    ///< arena bytes this core may touch: a vector core has the Unified Buffer only
    uint32_t tops[kMemories] = {};  ///< bytes of each memory handed out by InitBuffer
    size_t ub_dirty = 0;        ///< no byte of the arena from here on was written since the kernel started
    const uint8_t *stack_top = nullptr;  ///< end of the core's stack
    int level = 0;              ///< OPMEND_CHECK of the code that runs
    bool recording = false;     ///< the flight recorder is on
    int index = 0;              ///< position among all cores of the launch
    int block = 0, block_num = 1, sub = 0, sub_num = 1;
    bool aiv = true;
    TaskType task = TaskType::AivOnly;
    Atomic atomic = Atomic::None;
    uint64_t mask[2] = {~0ull, ~0ull};
    bool mask_count = false;
    uint64_t pad_value = 0;     ///< SetPadValue
    bool pad_set = false;
    float deq_scale = 1.0f;     ///< SetDeqScale
    bool deq_set = false;
    uint64_t sum_register = 0;  ///< the last ReduceSum of a count, as bits
    bool sum_unwritten = false;  ///< of bytes never written
    uint64_t addresses[8][8] = {};  ///< the address registers VA0..VA7
    uint64_t extreme_register = 0;  ///< the last reduction to a maximum or minimum: value below, index from bit 32 on
    bool extreme_unwritten = false;  ///< among bytes never written
    uint8_t *sys_workspace = nullptr;  ///< SetSysWorkspace, or the framework
    uint32_t merged[4] = {0, 0, 0, 0};  ///< structures of each queue that the last MrgSort took
    void *pipe = nullptr;       ///< the live TPipe
    std::vector<std::unique_ptr<Queue>> queues;
    Hazards *hazards = nullptr;
    Fiber *fiber = nullptr;
};

/// Ends the launch: thrown through the kernel, turned into std::runtime_error("opmend-device: ...") by launch().
struct Abort {
    std::string why;
};

/// Load: a read that takes the marks of dubious bytes along (gm_load_marks).
enum class GmAccess : uint8_t { Read, Write, ScalarRead, ScalarWrite, Load };

struct LaunchSpec {
    const char *kernel;
    const char *file;
    int line;
    uint64_t block_dim;
    int level;
    std::vector<std::string> args;      ///< JSON literals
    std::vector<const void *> pointers; ///< the pointer arguments
};

extern OPMEND_API bool g_dubious;  ///< global memory has bytes that mean nothing, or may
extern OPMEND_API Core *g_core;  ///< the core whose code runs now; null outside a launch

namespace rt {

// Findings
OPMEND_API void report(const char *kind, const char *api, const std::string &message);
[[noreturn]] OPMEND_API void abort_launch(const char *kind, const char *api, const std::string &message);
OPMEND_API std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

// Global memory. Returns how many bytes from `address` on belong to a registered tensor (all of them when nothing is
// registered). `data` is what a write is about to store, or null.
OPMEND_API size_t gm_access(const void *address, size_t bytes, GmAccess access, const void *data, const char *api);
// After a Load: the shadow of the UB bytes at `to` gets what is known of the memory they came from.
OPMEND_API void gm_load_marks(const uint8_t *from, const uint8_t *to, size_t bytes);
// After a Write from UB bytes of which some were never written: reported, and marked in what was stored (`allowed`).
OPMEND_API void gm_store_marks(const char *api, const uint8_t *to, const uint8_t *from, size_t bytes, size_t allowed);

// Unified Buffer
OPMEND_API uint8_t *reserve(Memory memory, uint32_t bytes, const char *what);
[[noreturn]] OPMEND_API void ub_outside(const char *api, const uint8_t *address, size_t bytes);
OPMEND_API void ub_out_of_bounds(const char *api, bool write, long offset, size_t bytes, size_t capacity);
OPMEND_API void ub_misaligned(const char *api, const uint8_t *address, unsigned alignment);
OPMEND_API void ub_uninitialised(const char *api, const uint8_t *address, size_t bytes);
OPMEND_API void ub_stale(const char *api, const Buffer &buffer);

// Queues
OPMEND_API Queue *queue_create(const char *position, Pipe producer, Pipe consumer, int depth, int count,
                               uint32_t bytes, Memory memory = Memory::Ub);
OPMEND_API Buffer *queue_alloc(Queue *queue);
OPMEND_API bool queue_enqueue(Queue *queue, Buffer *buffer);
OPMEND_API Buffer *queue_dequeue(Queue *queue);
OPMEND_API void queue_free(Queue *queue, Buffer *buffer);

// Ordering (happens-before)
OPMEND_API void hazard_begin(Pipe pipe);
OPMEND_API void hazard_access(const char *api, Pipe pipe, const uint8_t *address, size_t bytes, bool write);
OPMEND_API void flag_set(Pipe source, Pipe target, int id);
OPMEND_API void flag_wait(Pipe source, Pipe target, int id);
OPMEND_API int event_fetch(Pipe source, Pipe target, bool reserve);
OPMEND_API void event_release(Pipe source, Pipe target, int id);
OPMEND_API void barrier_all_pipes();
OPMEND_API void sync_all_cores(bool vector_only);
OPMEND_API void cross_set(int mode, int flag);
OPMEND_API void cross_wait(int flag);

// Matrix multiplication of the cube unit: c[m][n] += a[m][k] * b[k][n], row-major.
OPMEND_API void multiply(const float *a, const float *b, float *c, size_t m, size_t n, size_t k);
OPMEND_API void multiply(const int32_t *a, const int32_t *b, int32_t *c, size_t m, size_t n, size_t k);

// Launching
OPMEND_API void require_task(TaskType task);
[[noreturn]] OPMEND_API void cube_missing(const char *api);
OPMEND_API void launch(const LaunchSpec &spec, void (*body)(void *), void *context);

}  // namespace rt
}  // namespace opmend

#endif
