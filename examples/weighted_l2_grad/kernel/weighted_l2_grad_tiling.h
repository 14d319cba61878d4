#ifndef WEIGHTED_L2_GRAD_TILING_H
#define WEIGHTED_L2_GRAD_TILING_H

#include <cstdint>

struct WeightedL2GradTiling {
    uint32_t formerNum;
    uint32_t formerLength;
    uint32_t tailLength;
    uint32_t tileLength;
    uint32_t totalLength;
    float scale;
};

#endif
