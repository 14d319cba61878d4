// TCubeTiling as kernels read it. The order of the members is that of the host's tiling class of the same name.
#ifndef OPMEND_LIB_MATMUL_TILING_DATA_H
#define OPMEND_LIB_MATMUL_TILING_DATA_H

#include <cstdint>

struct TCubeTiling {
    int32_t usedCoreNum, M, N, Ka, Kb, singleCoreM, singleCoreN, singleCoreK, baseM, baseN, baseK;
    int32_t depthA1, depthB1, stepM, stepN, isBias, transLength, iterateOrder;
    int32_t shareMode, shareL1Size, shareL0CSize, shareUbSize, batchM, batchN, singleBatchM, singleBatchN;
    int32_t stepKa, stepKb, depthAL1CacheUB, depthBL1CacheUB, dbL0A, dbL0B, dbL0C;
    int32_t ALayoutInfoB, ALayoutInfoS, ALayoutInfoN, ALayoutInfoG, ALayoutInfoD;
    int32_t BLayoutInfoB, BLayoutInfoS, BLayoutInfoN, BLayoutInfoG, BLayoutInfoD;
    int32_t CLayoutInfoB, CLayoutInfoS1, CLayoutInfoN, CLayoutInfoG, CLayoutInfoS2, BatchNum, mxTypePara;
};

namespace AscendC {
using ::TCubeTiling;
namespace tiling {
using ::TCubeTiling;
}
}  // namespace AscendC

#endif
