// Stands for CANN's <tiling/tiling_api.h>: the vendor's tiling structures and the sizes their helpers report.
//
// Sizes of temporary buffers are this device's own (its functions need none): the smallest value that tiling code can
// work with, one repeat per call. Names without an entry here fail to compile.
#ifndef OPMEND_HOST_TILING_API_H
#define OPMEND_HOST_TILING_API_H

#include "../opmend/opdef.h"
#include "matmul_tiling.h"

namespace optiling {

BEGIN_TILING_DATA_DEF(SoftMaxTiling)
TILING_DATA_FIELD_DEF(uint32_t, srcM);
TILING_DATA_FIELD_DEF(uint32_t, srcK);
TILING_DATA_FIELD_DEF(uint32_t, srcSize);
TILING_DATA_FIELD_DEF(uint32_t, outMaxM);
TILING_DATA_FIELD_DEF(uint32_t, outMaxK);
TILING_DATA_FIELD_DEF(uint32_t, outMaxSize);
TILING_DATA_FIELD_DEF(uint32_t, splitM);
TILING_DATA_FIELD_DEF(uint32_t, splitK);
TILING_DATA_FIELD_DEF(uint32_t, splitSize);
TILING_DATA_FIELD_DEF(uint32_t, reduceM);
TILING_DATA_FIELD_DEF(uint32_t, reduceK);
TILING_DATA_FIELD_DEF(uint32_t, reduceSize);
TILING_DATA_FIELD_DEF(uint32_t, rangeM);
TILING_DATA_FIELD_DEF(uint32_t, tailM);
TILING_DATA_FIELD_DEF(uint32_t, tailSplitSize);
TILING_DATA_FIELD_DEF(uint32_t, tailReduceSize);
END_TILING_DATA_DEF;

}  // namespace optiling

namespace AscendC {

inline uint32_t opmend_tmp_size(const ge::Shape &shape, uint32_t width)
{
    return static_cast<uint32_t>((shape.GetShapeSize() * width + 255) / 256 * 256);
}

/// Buffer sizes of the high-level functions: what one buffer of the input takes, for all of them.
#define OPMEND_HOST_TMP_SIZE(name)                                                                              \
    inline void Get##name##MaxMinTmpSize(const ge::Shape &shape, uint32_t width, bool, uint32_t &most, uint32_t &least) \
    {                                                                                                           \
        most = least = opmend_tmp_size(shape, width);                                                           \
    }
OPMEND_HOST_TMP_SIZE(Sigmoid)
OPMEND_HOST_TMP_SIZE(Tanh)
OPMEND_HOST_TMP_SIZE(Erf)
OPMEND_HOST_TMP_SIZE(Sin)
OPMEND_HOST_TMP_SIZE(Cos)
OPMEND_HOST_TMP_SIZE(Log)
#undef OPMEND_HOST_TMP_SIZE

inline void GetMeanMaxMinTmpSize(uint32_t count, uint32_t width, uint32_t, bool, uint32_t &most, uint32_t &least)
{
    most = least = (count * width + 255) / 256 * 256;
}

inline uint32_t GetSoftMaxMinTmpSize(const ge::Shape &shape, uint32_t width, bool)
{
    return opmend_tmp_size(shape, width);
}
inline uint32_t GetSoftMaxMaxTmpSize(const ge::Shape &shape, uint32_t width, bool) { return opmend_tmp_size(shape, width); }
inline uint32_t GetSoftMaxGradMinTmpSize(const ge::Shape &shape, uint32_t width, bool, bool)
{
    return opmend_tmp_size(shape, width);
}

/// The shape of a softmax over the last axis; how it is split is left to the device.
inline void SoftMaxTilingFunc(const ge::Shape &shape, uint32_t width, uint32_t, optiling::SoftMaxTiling &tiling)
{
    const auto k = static_cast<uint32_t>(shape.GetDim(shape.GetDimNum() - 1));
    const auto m = k ? static_cast<uint32_t>(shape.GetShapeSize() / k) : 0;
    const uint32_t block = 32 / width;
    tiling.set_srcM(m);
    tiling.set_srcK(k);
    tiling.set_srcSize(m * k);
    tiling.set_outMaxM(m);
    tiling.set_outMaxK(block);
    tiling.set_outMaxSize(m * block);
    tiling.set_splitM(m);
    tiling.set_splitK(k);
    tiling.set_splitSize(m * k);
    tiling.set_reduceM(m);
    tiling.set_reduceK(block);
    tiling.set_reduceSize(m * block);
    tiling.set_rangeM(1);
}
inline void SoftMaxGradTilingFunc(const ge::Shape &shape, uint32_t width, uint32_t local, optiling::SoftMaxTiling &tiling, bool = false)
{
    SoftMaxTilingFunc(shape, width, local, tiling);
}

}  // namespace AscendC

#endif
