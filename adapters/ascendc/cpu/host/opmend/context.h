// Host side, part 2: the contexts handed to TilingFunc, TilingParse and InferShape.
//
// A TilingContext is filled by the launcher (launcher.h) from one call's tensors and attributes. InferShape functions
// are compiled but never run: the caller (aclnn) allocates its outputs.
#ifndef OPMEND_HOST_CONTEXT_H
#define OPMEND_HOST_CONTEXT_H

#include "ge.h"
#include "tiling/platform/platform_ascendc.h"

namespace gert {

/// One attribute in the runtime's representation: integers 64 bits wide, floats 32, text with its terminator.
struct AttrValue {
    int64_t integer = 0;
    float real = 0;
    bool truth = false;
    std::string text;
    TypedContinuousVector<int64_t> integers;
    TypedContinuousVector<float> reals;
    enum class Kind { Int, Float, Bool, String, ListInt, ListFloat } kind = Kind::Int;
    const void *address() const
    {
        switch (kind) {
            case Kind::Float: return &real;
            case Kind::Bool: return &truth;
            case Kind::String: return text.c_str();
            case Kind::ListInt: return &integers;
            case Kind::ListFloat: return &reals;
            default: return &integer;
        }
    }
};

class RuntimeAttrs {
public:
    size_t GetAttrNum() const { return values.size(); }
    template <class T>
    const T *GetAttrPointer(size_t index) const
    {
        return index < values.size() ? static_cast<const T *>(values[index].address()) : nullptr;
    }
    const int64_t *GetInt(size_t index) const { return GetAttrPointer<int64_t>(index); }
    const float *GetFloat(size_t index) const { return GetAttrPointer<float>(index); }
    const bool *GetBool(size_t index) const { return GetAttrPointer<bool>(index); }
    const char *GetStr(size_t index) const { return GetAttrPointer<char>(index); }
    const TypedContinuousVector<int64_t> *GetListInt(size_t index) const
    {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(index);
    }
    const TypedContinuousVector<float> *GetListFloat(size_t index) const
    {
        return GetAttrPointer<TypedContinuousVector<float>>(index);
    }
    std::vector<AttrValue> values;
};

class TilingData {
public:
    explicit TilingData(size_t capacity = 64 << 10) : bytes_(capacity) {}
    void *GetData() { return bytes_.data(); }
    const void *GetData() const { return bytes_.data(); }
    size_t GetCapacity() const { return bytes_.size(); }
    size_t GetDataSize() const { return size_; }
    void SetDataSize(size_t size) { size_ = size; }
    template <class T>
    ge::graphStatus Append(const T &value)
    {
        if (size_ + sizeof value > bytes_.size()) {
            return ge::GRAPH_FAILED;
        }
        std::memcpy(bytes_.data() + size_, &value, sizeof value);
        size_ += sizeof value;
        return ge::GRAPH_SUCCESS;
    }

private:
    std::vector<uint8_t> bytes_;
    size_t size_ = 0;
};

/// What one formal input or output of the operator got: no tensor (optional), one, or a list (dynamic).
using Slot = std::vector<Tensor>;

/// How many tensors a formal input got, and the number of the first.
class AnchorInstanceInfo {
public:
    size_t start = 0, count = 0;
    size_t GetInstanceStart() const { return start; }
    size_t GetInstanceNum() const { return count; }
};

class ComputeNodeInfo {
public:
    size_t inputs = 0, outputs = 0;
    std::vector<AnchorInstanceInfo> input_instances;
    const AnchorInstanceInfo *GetInputInstanceInfo(size_t ir) const
    {
        return ir < input_instances.size() ? &input_instances[ir] : nullptr;
    }
    size_t GetInputsNum() const { return inputs; }
    size_t GetOutputsNum() const { return outputs; }
    size_t GetIrInputsNum() const { return inputs; }
};

/// Inputs, outputs and attributes common to all contexts. Indices without "Dynamic" or "Optional" count tensors, as
/// in the vendor's runtime (an absent optional input takes no number); the others count formal inputs.
class ExtendedKernelContext {
public:
    const char *GetNodeName() const { return name.c_str(); }
    const char *GetNodeType() const { return name.c_str(); }
    const RuntimeAttrs *GetAttrs() const { return &attrs; }
    size_t GetComputeNodeInputNum() const { return flat(inputs).size(); }
    size_t GetComputeNodeOutputNum() const { return flat(outputs).size(); }
    const ComputeNodeInfo *GetComputeNodeInfo() const { return &info; }
    const CompileTimeTensorDesc *GetInputDesc(size_t index) const { return desc(at(inputs, index)); }
    const CompileTimeTensorDesc *GetOutputDesc(size_t index) const { return desc(at(outputs, index)); }
    const CompileTimeTensorDesc *GetOptionalInputDesc(size_t ir) const { return desc(in(inputs, ir, 0)); }
    const CompileTimeTensorDesc *GetDynamicInputDesc(size_t ir, size_t i) const { return desc(in(inputs, ir, i)); }
    const CompileTimeTensorDesc *GetRequiredInputDesc(size_t ir) const { return desc(in(inputs, ir, 0)); }
    ge::DataType GetInputDataType(size_t index) const { return type(at(inputs, index)); }
    ge::DataType GetOptionalInputDataType(size_t ir) const { return type(in(inputs, ir, 0)); }
    ge::DataType GetDynamicInputDataType(size_t ir, size_t i) const { return type(in(inputs, ir, i)); }
    ge::DataType GetOutputDataType(size_t index) const { return type(at(outputs, index)); }

    std::string name;
    RuntimeAttrs attrs;
    std::vector<Slot> inputs, outputs;
    ComputeNodeInfo info;

protected:
    static std::vector<const Tensor *> flat(const std::vector<Slot> &slots)
    {
        std::vector<const Tensor *> all;
        for (const Slot &slot : slots) {
            for (const Tensor &tensor : slot) {
                all.push_back(&tensor);
            }
        }
        return all;
    }
    static const Tensor *at(const std::vector<Slot> &slots, size_t index)
    {
        const auto all = flat(slots);
        return index < all.size() ? all[index] : nullptr;
    }
    static const Tensor *in(const std::vector<Slot> &slots, size_t ir, size_t index)
    {
        return ir < slots.size() && index < slots[ir].size() ? &slots[ir][index] : nullptr;
    }
    static const CompileTimeTensorDesc *desc(const Tensor *tensor) { return tensor ? &tensor->desc() : nullptr; }
    static ge::DataType type(const Tensor *tensor) { return tensor ? tensor->GetDataType() : ge::DT_UNDEFINED; }
    static const StorageShape *shape(const Tensor *tensor) { return tensor ? &tensor->GetShape() : nullptr; }
};
using KernelContext = ExtendedKernelContext;

class TilingContext : public ExtendedKernelContext {
public:
    const StorageShape *GetInputShape(size_t index) const { return shape(at(inputs, index)); }
    const StorageShape *GetOutputShape(size_t index) const { return shape(at(outputs, index)); }
    const StorageShape *GetOptionalInputShape(size_t ir) const { return shape(in(inputs, ir, 0)); }
    const StorageShape *GetRequiredInputShape(size_t ir) const { return shape(in(inputs, ir, 0)); }
    const StorageShape *GetDynamicInputShape(size_t ir, size_t i) const { return shape(in(inputs, ir, i)); }
    const Tensor *GetInputTensor(size_t index) const { return at(inputs, index); }
    const Tensor *GetOptionalInputTensor(size_t ir) const { return in(inputs, ir, 0); }
    const Tensor *GetRequiredInputTensor(size_t ir) const { return in(inputs, ir, 0); }
    const Tensor *GetDynamicInputTensor(size_t ir, size_t i) const { return in(inputs, ir, i); }

    fe::PlatFormInfos *GetPlatformInfo() const { return fe::PlatFormInfos::only(); }
    const void *GetCompileInfo() const { return compile_info; }
    template <class T>
    const T *GetCompileInfo() const
    {
        return static_cast<const T *>(compile_info);
    }
    TilingData *GetRawTilingData() { return &tiling; }
    template <class T>
    T *GetTilingData()
    {
        tiling.SetDataSize(std::max(tiling.GetDataSize(), sizeof(T)));
        return static_cast<T *>(tiling.GetData());
    }
    ge::graphStatus SetTilingKey(uint64_t value)
    {
        key = value;
        return ge::GRAPH_SUCCESS;
    }
    uint64_t GetTilingKey() const { return key; }
    ge::graphStatus SetBlockDim(uint32_t blocks)
    {
        block_dim = blocks;
        return ge::GRAPH_SUCCESS;
    }
    uint32_t GetBlockDim() const { return block_dim; }
    ge::graphStatus SetScheduleMode(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetTilingCond(int32_t) { return ge::GRAPH_SUCCESS; }
    int32_t GetDeterministic() const { return 0; }
    size_t *GetWorkspaceSizes(size_t count)
    {
        workspaces.resize(std::max(workspaces.size(), count), 0);
        return workspaces.data();
    }

    uint64_t key = 0;
    uint32_t block_dim = 0;
    std::vector<size_t> workspaces;
    TilingData tiling;
    const void *compile_info = nullptr;
};

class TilingParseContext : public ExtendedKernelContext {
public:
    fe::PlatFormInfos *GetPlatformInfo() const { return fe::PlatFormInfos::only(); }
    const char *GetCompiledJson() const { return "{}"; }
    template <class T>
    T *GetCompiledInfo()
    {
        return static_cast<T *>(compiled);
    }
    void *compiled = nullptr;
};

class InferShapeContext : public ExtendedKernelContext {
public:
    const Shape *GetInputShape(size_t) const { return nullptr; }
    const Shape *GetOptionalInputShape(size_t) const { return nullptr; }
    const Shape *GetDynamicInputShape(size_t, size_t) const { return nullptr; }
    const Tensor *GetInputTensor(size_t) const { return nullptr; }
    const Tensor *GetOptionalInputTensor(size_t) const { return nullptr; }
    Shape *GetOutputShape(size_t) { return nullptr; }
};

class InferDataTypeContext : public ExtendedKernelContext {
public:
    ge::graphStatus SetOutputDataType(size_t, ge::DataType) { return ge::GRAPH_SUCCESS; }
};

template <class T>
class Range {
public:
    T *GetMin() const { return nullptr; }
    T *GetMax() const { return nullptr; }
    void SetMin(T *) {}
    void SetMax(T *) {}
};

class InferShapeRangeContext : public InferShapeContext {
public:
    const Range<Shape> *GetInputShapeRange(size_t) const { return nullptr; }
    Range<Shape> *GetOutputShapeRange(size_t) { return nullptr; }
};

}  // namespace gert

#endif
