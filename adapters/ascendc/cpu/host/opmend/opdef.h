// Host side, part 4: operator definitions (OpDef, OP_ADD) and the registries of tiling functions.
#ifndef OPMEND_HOST_OPDEF_H
#define OPMEND_HOST_OPDEF_H

#include "context.h"
#include "tilingdata.h"

namespace opmend_host {

using TilingFunc = std::function<ge::graphStatus(gert::TilingContext *)>;

/// What IMPL_OP_OPTILING and its relatives registered for one operator type.
class OpImpl {
public:
    template <class F>
    OpImpl &Tiling(F function, size_t = 0)
    {
        tiling = function;
        return *this;
    }
    template <class Info, class F>
    OpImpl &TilingParse(F function)
    {
        parse = [function]() -> std::shared_ptr<void> {
            auto info = std::make_shared<Info>();
            gert::TilingParseContext context;
            context.compiled = info.get();
            return function(&context) == ge::GRAPH_SUCCESS ? info : nullptr;
        };
        return *this;
    }
    template <class F> OpImpl &InferShape(F) { return *this; }
    template <class F> OpImpl &InferDataType(F) { return *this; }
    template <class F> OpImpl &InferShapeRange(F) { return *this; }
    OpImpl &TilingInputsDataDependency(std::initializer_list<int32_t>) { return *this; }
    OpImpl &InputsDataDependency(std::initializer_list<int32_t>) { return *this; }

    TilingFunc tiling;
    std::function<std::shared_ptr<void>()> parse;
};

inline std::map<std::string, OpImpl> &implementations()
{
    static std::map<std::string, OpImpl> all;
    return all;
}

}  // namespace opmend_host

#define OPMEND_HOST_IMPL(op, n) static const ::opmend_host::OpImpl &OPMEND_HOST_JOIN(opmend_impl_##op##_, n) = ::opmend_host::implementations()[#op]
#define IMPL_OP_OPTILING(op) OPMEND_HOST_IMPL(op, __COUNTER__)
#define IMPL_OP_INFERSHAPE(op) OPMEND_HOST_IMPL(op, __COUNTER__)
#define IMPL_OP(op) OPMEND_HOST_IMPL(op, __COUNTER__)

namespace ge {

/// What CheckSupported functions ask; they are compiled and never run.
class TensorDesc {
public:
    Shape GetShape() const { return Shape(); }
    DataType GetDataType() const { return DT_UNDEFINED; }
    Format GetFormat() const { return FORMAT_ND; }
};
class Operator {
public:
    TensorDesc GetInputDescByName(const char *) const { return {}; }
    TensorDesc GetOutputDescByName(const char *) const { return {}; }
    TensorDesc GetInputDesc(int) const { return {}; }
    TensorDesc GetOutputDesc(int) const { return {}; }
    template <class T> graphStatus GetAttr(const char *, T &) const { return GRAPH_FAILED; }
};

}  // namespace ge

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope { ALL, TILING };

class OpParamDef {
public:
    explicit OpParamDef(std::string given = "") : name(std::move(given)) {}
    OpParamDef &ParamType(Option option)
    {
        kind = option;
        return *this;
    }
    OpParamDef &DataType(std::vector<ge::DataType> list)
    {
        types = std::move(list);
        return *this;
    }
    OpParamDef &DataTypeList(std::vector<ge::DataType> list) { return DataType(std::move(list)); }
    OpParamDef &Format(std::vector<ge::Format> list)
    {
        formats = std::move(list);
        return *this;
    }
    OpParamDef &FormatList(std::vector<ge::Format> list) { return Format(std::move(list)); }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef &AutoContiguous() { return *this; }
    OpParamDef &IgnoreContiguous() { return *this; }
    OpParamDef &ValueDepend(Option) { return *this; }
    OpParamDef &ValueDepend(Option, DependScope) { return *this; }
    OpParamDef &Scalar()
    {
        scalar = true;
        return *this;
    }
    OpParamDef &ScalarList() { return Scalar(); }
    OpParamDef &InitValue(uint64_t) { return *this; }
    OpParamDef &OutputShapeDependOnCompute()
    {
        computed_shape = true;
        return *this;
    }
    OpParamDef &Follow(const char *) { return *this; }
    OpParamDef &Comment(const char *) { return *this; }

    std::string name;
    Option kind = REQUIRED;
    std::vector<ge::DataType> types;
    std::vector<ge::Format> formats;
    bool scalar = false;
    bool computed_shape = false;  ///< the kernel reports this output's shape
};

class OpAttrDef {
public:
    explicit OpAttrDef(std::string given = "") : name(std::move(given)) {}
    OpAttrDef &AttrType(Option option)
    {
        kind = option;
        return *this;
    }
    using Kind = gert::AttrValue::Kind;
    OpAttrDef &Int(int64_t value = 0)
    {
        fallback.integer = value;
        return of(Kind::Int);
    }
    OpAttrDef &Float(float value = 0)
    {
        fallback.real = value;
        return of(Kind::Float);
    }
    OpAttrDef &Bool(bool value = false)
    {
        fallback.truth = value;
        return of(Kind::Bool);
    }
    OpAttrDef &String(const char *value = "")
    {
        fallback.text = value;
        return of(Kind::String);
    }
    OpAttrDef &ListInt(std::vector<int64_t> values = {})
    {
        fallback.integers = gert::TypedContinuousVector<int64_t>(std::move(values));
        return of(Kind::ListInt);
    }
    OpAttrDef &ListFloat(std::vector<float> values = {})
    {
        fallback.reals = gert::TypedContinuousVector<float>(std::move(values));
        return of(Kind::ListFloat);
    }
    OpAttrDef &Comment(const char *) { return *this; }

    std::string name;
    Option kind = REQUIRED;
    gert::AttrValue fallback;

private:
    OpAttrDef &of(Kind which)
    {
        fallback.kind = which;
        return *this;
    }
};

/// Options of the vendor's build; they have no meaning on the CPU. Inputs and outputs declared here (per SoC) stand
/// in for the operator's own.
class OpAICoreConfig {
public:
    OpAICoreConfig() = default;
    explicit OpAICoreConfig(const char *) {}
    OpParamDef &Input(const char *name) { return add(inputs, name); }
    OpParamDef &Output(const char *name) { return add(outputs, name); }
    OpAICoreConfig &DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig &DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig &DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig &DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig &NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig &PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig &ExtendCfgInfo(const char *, const char *) { return *this; }

    static OpParamDef &add(std::vector<std::shared_ptr<OpParamDef>> &list, const char *name)
    {
        for (const auto &known : list) {
            if (known->name == name) {
                return *known;
            }
        }
        list.push_back(std::make_shared<OpParamDef>(name));
        return *list.back();
    }
    std::vector<std::shared_ptr<OpParamDef>> inputs, outputs;
};

class OpAICoreDef {
public:
    OpAICoreDef &SetTiling(ge::graphStatus (*function)(gert::TilingContext *))
    {
        tiling = function;
        return *this;
    }
    template <class F> OpAICoreDef &SetCheckSupport(F) { return *this; }
    template <class F> OpAICoreDef &SetOpSelectFormat(F) { return *this; }
    template <class F> OpAICoreDef &SetTilingParse(F) { return *this; }
    OpAICoreDef &AddConfig(const char *soc) { return AddConfig(soc, OpAICoreConfig()); }
    OpAICoreDef &AddConfig(const char *soc, const OpAICoreConfig &config)
    {
        if (std::string(soc) == "ascend910b" && !config.inputs.empty()) {
            own = config;
        }
        return *this;
    }
    opmend_host::TilingFunc tiling;
    OpAICoreConfig own;
};

class OpMC2Def {
public:
    OpMC2Def &HcclGroup(const char *) { return *this; }
};

class OpDef {
public:
    explicit OpDef(const char *given) : name(given) {}
    OpParamDef &Input(const char *param) { return OpAICoreConfig::add(inputs_, param); }
    OpParamDef &Output(const char *param) { return OpAICoreConfig::add(outputs_, param); }
    OpAttrDef &Attr(const char *attr)
    {
        attrs.push_back(std::make_shared<OpAttrDef>(attr));
        return *attrs.back();
    }
    template <class F> OpDef &SetInferShape(F) { return *this; }
    template <class F> OpDef &SetInferDataType(F) { return *this; }
    template <class F> OpDef &SetInferShapeRange(F) { return *this; }
    OpDef &Comment(const char *) { return *this; }
    OpAICoreDef &AICore() { return core; }

    const auto &inputs() const { return core.own.inputs.empty() ? inputs_ : core.own.inputs; }
    const auto &outputs() const { return core.own.outputs.empty() ? outputs_ : core.own.outputs; }

    std::string name;
    std::vector<std::shared_ptr<OpAttrDef>> attrs;
    OpAICoreDef core;

private:
    std::vector<std::shared_ptr<OpParamDef>> inputs_, outputs_;
};

inline std::map<std::string, std::shared_ptr<OpDef>> &definitions()
{
    static std::map<std::string, std::shared_ptr<OpDef>> all;
    return all;
}

}  // namespace ops

#define OP_ADD(op) static const bool opmend_added_##op = (::ops::definitions()[#op] = std::make_shared<op>(#op), true)

#endif
