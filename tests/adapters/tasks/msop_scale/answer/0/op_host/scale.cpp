#include "scale_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext *context)
{
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    const uint32_t total = context->GetInputShape(0)->GetStorageShape().GetShapeSize();
    const uint32_t blocks = total % 64 == 0 && platform.GetCoreNumAiv() >= 4 ? 4 : 1;
    uint16_t widths[WIDTHS] = {1, 2, 3};
    ScaleTilingData tiling;
    tiling.set_length(total / blocks);
    tiling.set_widths(widths);
    tiling.inner.set_wide(1ULL << 40);
    tiling.set_factor(*context->GetAttrs()->GetFloat(0));
    context->SetTilingKey(context->GetInputDesc(0)->GetDataType() == ge::DT_FLOAT ? 1 : 2);
    context->SetBlockDim(blocks);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->GetWorkspaceSizes(1)[0] = 0;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ops {
class Scale : public OpDef {
public:
    explicit Scale(const char *name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Attr("factor").AttrType(REQUIRED).Float();
        this->AICore().SetTiling(optiling::TilingFunc).AddConfig("ascend910b");
    }
};
OP_ADD(Scale);
}  // namespace ops
