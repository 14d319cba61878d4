#ifndef SCALE_TILING_H
#define SCALE_TILING_H
#include "register/tilingdata_base.h"

namespace optiling {
constexpr uint32_t WIDTHS = 3;
BEGIN_TILING_DATA_DEF(ScaleInner)
TILING_DATA_FIELD_DEF(uint8_t, small);
TILING_DATA_FIELD_DEF(uint64_t, wide);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(ScaleInnerOp, ScaleInner)

BEGIN_TILING_DATA_DEF(ScaleTilingData)
TILING_DATA_FIELD_DEF(uint32_t, length);
TILING_DATA_FIELD_DEF_ARR(uint16_t, WIDTHS, widths);
TILING_DATA_FIELD_DEF_STRUCT(ScaleInner, inner);
TILING_DATA_FIELD_DEF(float, factor);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Scale, ScaleTilingData)
}  // namespace optiling
#endif
