#ifndef SWIGLU_TILING_H
#define SWIGLU_TILING_H

#include <cstdint>

struct SwigluTiling {
    int32_t rows;
    int32_t hidden;
    int32_t hiddenAligned;
    int32_t rowsPerCore;
    int32_t rowsPerTile;
};

#endif
