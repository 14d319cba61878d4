#ifndef HEAD_RMS_NORM_TILING_H
#define HEAD_RMS_NORM_TILING_H

#include <cstdint>

struct HeadRmsNormTiling {
    uint32_t rows;
    uint32_t hidden;
    uint32_t rowsPerCore;
    uint32_t rowsPerTile;
    float invHidden;
    float eps;
};

#endif
