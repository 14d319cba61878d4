// Stands for <tiling/tiling_base.h>: the steps of a tiling written as a class.
#ifndef OPMEND_HOST_TILING_BASE_H
#define OPMEND_HOST_TILING_BASE_H

#include <optional>

#include "tiling_api.h"

namespace optiling {

struct AiCoreParams {
    uint64_t ubSize = 0;
    uint64_t blockDim = 0;
    uint64_t aicNum = 0;
    uint64_t l1Size = 0;
    uint64_t l0aSize = 0;
    uint64_t l0bSize = 0;
    uint64_t l0cSize = 0;
};

class TilingBaseClass {
public:
    explicit TilingBaseClass(gert::TilingContext *context) : context_(context) {}
    virtual ~TilingBaseClass() = default;
    /// Runs the steps in order; GRAPH_PARAM_INVALID says that this class does not take the case.
    ge::graphStatus DoTiling()
    {
        for (auto step : {&TilingBaseClass::GetShapeAttrsInfo, &TilingBaseClass::GetPlatformInfo}) {
            const ge::graphStatus status = (this->*step)();
            if (status != ge::GRAPH_SUCCESS) {
                return status;
            }
        }
        if (!IsCapable()) {
            return ge::GRAPH_PARAM_INVALID;
        }
        for (auto step : {&TilingBaseClass::DoOpTiling, &TilingBaseClass::DoLibApiTiling, &TilingBaseClass::GetWorkspaceSize,
                          &TilingBaseClass::PostTiling}) {
            const ge::graphStatus status = (this->*step)();
            if (status != ge::GRAPH_SUCCESS) {
                return status;
            }
        }
        context_->SetTilingKey(GetTilingKey());
        return ge::GRAPH_SUCCESS;
    }
    virtual void Reset(gert::TilingContext *context) { context_ = context; }

protected:
    virtual bool IsCapable() = 0;
    virtual ge::graphStatus GetPlatformInfo() = 0;
    virtual ge::graphStatus GetShapeAttrsInfo() = 0;
    virtual ge::graphStatus DoOpTiling() = 0;
    virtual ge::graphStatus DoLibApiTiling() = 0;
    virtual uint64_t GetTilingKey() const = 0;
    virtual ge::graphStatus GetWorkspaceSize() = 0;
    virtual ge::graphStatus PostTiling() = 0;
    virtual void DumpTilingInfo() {}

    gert::TilingContext *context_ = nullptr;
    uint32_t blockDim_ = 0;
    uint64_t workspaceSize_ = 0;
    uint64_t tilingKey_ = 0;
    AiCoreParams aicoreParams_;
};

/// Tiling classes by operator, tried by rising priority number.
class TilingRegistry {
public:
    using Make = std::function<std::shared_ptr<TilingBaseClass>(gert::TilingContext *)>;
    static TilingRegistry &GetInstance()
    {
        static TilingRegistry registry;
        return registry;
    }
    bool Add(const std::string &op, int priority, Make make)
    {
        classes_[op].emplace(priority, std::move(make));
        return true;
    }
    ge::graphStatus DoTilingImpl(gert::TilingContext *context)
    {
        for (const auto &[priority, make] : classes_[context->GetNodeType()]) {
            const ge::graphStatus status = make(context)->DoTiling();
            if (status != ge::GRAPH_PARAM_INVALID) {
                return status;
            }
        }
        return ge::GRAPH_FAILED;
    }

private:
    std::map<std::string, std::multimap<int, Make>> classes_;
};

}  // namespace optiling

#define OPMEND_HOST_OP_NAME(op) (#op[0] == '"' ? std::string(#op).substr(1, sizeof(#op) - 3) : std::string(#op))
#define REGISTER_TILING_TEMPLATE(op, cls, priority)                                                                       \
    static const bool OPMEND_HOST_JOIN(opmend_template_##cls##_, __COUNTER__) = ::optiling::TilingRegistry::GetInstance().Add( \
        OPMEND_HOST_OP_NAME(op), (priority),                                                                              \
        [](gert::TilingContext *context) -> std::shared_ptr<::optiling::TilingBaseClass> { return std::make_shared<cls>(context); })

#endif
