// The on-chip memories of one core, laid out one after another in the core's arena.
//
// A vector core owns the Unified Buffer; a cube core owns L1, the two L0 operand buffers, the L0C accumulator, the bias
// table and the fixpipe buffer. Sizes are those of Atlas A2 (vendor's "L1-L0A-B" and "DataCopy L1ToBiasTable" pages).
// Addresses of all memories share one arena, so one check, one shadow and one set of granules serves them all.
#ifndef OPMEND_CORE_MEMORIES_H
#define OPMEND_CORE_MEMORIES_H

#include "core/types.h"

namespace opmend {

/// Bytes of a workspace that belong to the framework; an operator's own part follows.
constexpr size_t kSystemWorkspace = 16 << 20;

enum class Memory : uint8_t { Ub, L1, L0A, L0B, L0C, Bias, Fix };
constexpr int kMemories = 7;

struct MemoryRange {
    const char *name;
    size_t base, bytes;
};

constexpr size_t kL1Bytes = 512 * 1024, kL0Bytes = 64 * 1024, kL0cBytes = 128 * 1024;
constexpr size_t kBiasBytes = 1024, kFixBytes = 4 * 1024;

constexpr MemoryRange kMemory[kMemories] = {
    {"UB", 0, kUbBytes},
    {"L1", kUbBytes, kL1Bytes},
    {"L0A", kUbBytes + kL1Bytes, kL0Bytes},
    {"L0B", kUbBytes + kL1Bytes + kL0Bytes, kL0Bytes},
    {"L0C", kUbBytes + kL1Bytes + 2 * kL0Bytes, kL0cBytes},
    {"bias table", kUbBytes + kL1Bytes + 2 * kL0Bytes + kL0cBytes, kBiasBytes},
    {"fixpipe buffer", kUbBytes + kL1Bytes + 2 * kL0Bytes + kL0cBytes + kBiasBytes, kFixBytes},
};
constexpr size_t kArenaBytes = kMemory[6].base + kMemory[6].bytes;

constexpr const MemoryRange &range_of(Memory memory) { return kMemory[static_cast<int>(memory)]; }

/// The memory that an arena offset lies in.
constexpr Memory memory_at(size_t offset)
{
    int index = 0;
    while (index + 1 < kMemories && offset >= kMemory[index + 1].base) {
        ++index;
    }
    return static_cast<Memory>(index);
}

}  // namespace opmend

#endif
