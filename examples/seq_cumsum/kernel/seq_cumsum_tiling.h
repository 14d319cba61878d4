#ifndef SEQ_CUMSUM_TILING_H
#define SEQ_CUMSUM_TILING_H

#include <cstdint>

constexpr uint32_t SEQ_TILE = 32;
constexpr uint32_t DIM_TILE = 128;

struct SeqCumsumTiling {
    uint32_t batch;
    uint32_t seq;
    uint32_t dim;
    uint32_t dimBlocks;
    uint32_t taskNum;
};

#endif
