#ifndef SWISH_TILING_H
#define SWISH_TILING_H

#include <cstdint>

constexpr uint32_t SWISH_MAX_CORES = 40;
constexpr uint32_t SWISH_TILE_LENGTH = 4096;
constexpr uint32_t SWISH_CORE_ALIGN = 256;

struct SwishTiling {
    uint32_t totalLength;
    uint32_t coreLength;
    uint32_t tileLength;
    float beta;
};

#endif
