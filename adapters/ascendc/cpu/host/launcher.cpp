// The operator's host library: binds one call's arguments to the OpDef, runs TilingFunc, and launches the kernel.
//
// Plays the part of the generated aclnn function and of the runtime. The argument order is the generated one: inputs,
// attributes, outputs, each in the order of the OpDef; an output named like an input is that input (in place) and is
// not passed. Kernels are libraries beside this one, one per column of the OpDef's data types, built on demand: a
// missing one ends the call with `opmend-needs-kernel:<column>:<tiling key>`, which the toolchain answers by building it.
#include <dlfcn.h>

#include <stdexcept>

#include "opmend/call.h"
#include "opmend/device_memory.h"
#include "opmend/opdef.h"

namespace {

using opmend_call::Argument;
using Kind = gert::AttrValue::Kind;

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error("opmend-host: " + what); }

ops::OpDef &operator_called(const std::string &aclnn)
{
    auto &all = ops::definitions();
    if (all.empty()) {
        fail("op_host adds no operator (OP_ADD)");
    }
    const auto found = all.find(aclnn.rfind("aclnn", 0) == 0 ? aclnn.substr(5) : aclnn);
    return found != all.end() ? *found->second : *all.begin()->second;
}

using opmend_call::Buffer;
using opmend_call::Workspace;
using Buffers = std::vector<std::unique_ptr<Buffer>>;

uint16_t to_half(double value, ge::DataType type)
{
    if (type == ge::DT_FLOAT16) {
        const _Float16 narrow = static_cast<_Float16>(value);
        uint16_t bits;
        std::memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    const float wide = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &wide, sizeof bits);
    return value != value ? 0x7fc0 : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void store(void *at, size_t index, ge::DataType type, double real, int64_t whole)
{
    switch (type) {
        case ge::DT_FLOAT: static_cast<float *>(at)[index] = static_cast<float>(real); break;
        case ge::DT_DOUBLE: static_cast<double *>(at)[index] = real; break;
        case ge::DT_FLOAT16: case ge::DT_BF16: static_cast<uint16_t *>(at)[index] = to_half(real, type); break;
        case ge::DT_INT8: case ge::DT_UINT8: case ge::DT_BOOL: static_cast<int8_t *>(at)[index] = static_cast<int8_t>(whole); break;
        case ge::DT_INT16: case ge::DT_UINT16: static_cast<int16_t *>(at)[index] = static_cast<int16_t>(whole); break;
        case ge::DT_INT32: case ge::DT_UINT32: static_cast<int32_t *>(at)[index] = static_cast<int32_t>(whole); break;
        case ge::DT_INT64: case ge::DT_UINT64: static_cast<int64_t *>(at)[index] = whole; break;
        default: fail("a scalar input of data type " + std::to_string(type) + " is not modelled");
    }
}

/// One call: formal parameters with what was passed for them.
struct Call {
    ops::OpDef &op;
    gert::TilingContext context;
    std::vector<bool> in_place;     // per output: it is the input of that name
    std::vector<std::pair<size_t, const Argument *>> values;  // inputs that got a number: made tensors by the column
    size_t column = 0;
    Buffers buffers;

    explicit Call(ops::OpDef &given) : op(given) {}
};

gert::Tensor tensor_of(const opmend_call::Tensor &tensor)
{
    return {gert::Shape(tensor.dims), static_cast<ge::DataType>(tensor.type), ge::FORMAT_ND, tensor.data};
}

gert::AttrValue attribute(const ops::OpAttrDef &formal, const Argument &given)
{
    gert::AttrValue value = formal.fallback;
    const bool integral = given.kind == Argument::Kind::Int || given.kind == Argument::Kind::Bool ||
                          (given.kind == Argument::Kind::Scalar && given.whole);
    value.integer = integral ? given.integer : static_cast<int64_t>(given.real);
    value.real = integral ? static_cast<float>(given.integer) : static_cast<float>(given.real);
    value.truth = integral ? given.integer != 0 : given.real != 0;
    value.text = given.text;
    value.integers = gert::TypedContinuousVector<int64_t>(given.integers);
    value.reals = gert::TypedContinuousVector<float>(std::vector<float>(given.reals.begin(), given.reals.end()));
    return value;
}

/// Whether an argument can stand for a formal attribute.
bool fits(const ops::OpAttrDef &formal, const Argument &given)
{
    switch (formal.fallback.kind) {
        case Kind::String: return given.kind == Argument::Kind::Text;
        case Kind::ListInt: return given.kind == Argument::Kind::IntList;
        case Kind::ListFloat: return given.kind == Argument::Kind::RealList;
        default:
            return given.kind == Argument::Kind::Int || given.kind == Argument::Kind::Real ||
                   given.kind == Argument::Kind::Bool || given.kind == Argument::Kind::Scalar;
    }
}

void bind(Call &call, const std::vector<Argument> &given)
{
    const auto &inputs = call.op.inputs();
    const auto &outputs = call.op.outputs();
    size_t next = 0;
    auto take = [&](const std::string &what) -> const Argument & {
        if (next >= given.size()) {
            fail("the call passes " + std::to_string(given.size()) + " arguments, none for " + what);
        }
        return given[next++];
    };
    for (const auto &formal : inputs) {
        const Argument &argument = take("input " + formal->name);
        gert::Slot slot;
        if (argument.is_tensor()) {
            for (const auto &tensor : argument.tensors) {
                if (tensor.defined) {
                    slot.push_back(tensor_of(tensor));
                }
            }
        } else {
            call.values.emplace_back(call.context.inputs.size(), &argument);
        }
        call.context.inputs.push_back(std::move(slot));
    }
    for (const auto &formal : call.op.attrs) {
        const bool given_one = next < given.size() && fits(*formal, given[next]);
        if (!given_one && formal->kind == ops::REQUIRED) {
            fail("argument " + std::to_string(next) + " of the call does not fit attribute " + formal->name);
        }
        call.context.attrs.values.push_back(given_one ? attribute(*formal, given[next++]) : formal->fallback);
    }
    for (const auto &formal : outputs) {
        size_t same = 0;
        while (same < inputs.size() && inputs[same]->name != formal->name) {
            ++same;
        }
        call.in_place.push_back(same < inputs.size());
        gert::Slot slot;
        if (call.in_place.back()) {
            slot = call.context.inputs[same];
        } else if (next < given.size() || formal->kind == ops::REQUIRED) {
            for (const auto &tensor : take("output " + formal->name).tensors) {
                if (tensor.defined) {
                    slot.push_back(tensor_of(tensor));
                }
            }
        }
        call.context.outputs.push_back(std::move(slot));
    }
    if (next != given.size()) {
        fail("the call passes " + std::to_string(given.size()) + " arguments, the operator takes " + std::to_string(next));
    }
}

ge::DataType declared(const ops::OpParamDef &formal, size_t column)
{
    return formal.types.empty() ? ge::DT_UNDEFINED : formal.types[std::min(column, formal.types.size() - 1)];
}

bool column_fits(const Call &call, size_t column, bool with_outputs)
{
    auto agree = [&](const auto &formals, const std::vector<gert::Slot> &slots) {
        for (size_t i = 0; i < formals.size(); ++i) {
            if (!slots[i].empty() && slots[i][0].GetDataType() != declared(*formals[i], column)) {
                return false;
            }
        }
        return true;
    };
    return agree(call.op.inputs(), call.context.inputs) && (!with_outputs || agree(call.op.outputs(), call.context.outputs));
}

void choose_column(Call &call)
{
    size_t columns = 1;
    for (const auto &formal : call.op.inputs()) {
        columns = std::max(columns, formal->types.size());
    }
    for (const auto &formal : call.op.outputs()) {
        columns = std::max(columns, formal->types.size());
    }
    for (const bool with_outputs : {true, false}) {
        for (size_t column = 0; column < columns; ++column) {
            if (column_fits(call, column, with_outputs)) {
                call.column = column;
                return;
            }
        }
    }
    std::string types;
    for (size_t i = 0; i < call.context.inputs.size(); ++i) {
        if (!call.context.inputs[i].empty()) {
            types += (types.empty() ? "" : ", ") + call.op.inputs()[i]->name + "=DT_" +
                     std::to_string(static_cast<int>(call.context.inputs[i][0].GetDataType()));
        }
    }
    fail("the operator's definition has no column of data types for " + types);
}

/// Scalars passed for inputs become tensors of the column's type (aclnn does this with aclScalar).
void make_scalars(Call &call)
{
    for (const auto &[index, argument] : call.values) {
        const ge::DataType type = declared(*call.op.inputs()[index], call.column);
        const bool list = argument->kind == Argument::Kind::IntList || argument->kind == Argument::Kind::RealList ||
                          argument->kind == Argument::Kind::ScalarList;
        const bool whole = argument->kind == Argument::Kind::IntList || argument->kind == Argument::Kind::Int ||
                           argument->kind == Argument::Kind::Bool || (argument->kind == Argument::Kind::Scalar && argument->whole);
        const size_t count = !list ? 1 : whole ? argument->integers.size() : argument->reals.size();
        const int width = ge::GetSizeByDataType(type);
        call.buffers.push_back(std::make_unique<Buffer>(std::max<size_t>(count * std::max(width, 1), 1), 0));
        void *data = call.buffers.back()->data();
        for (size_t i = 0; i < count; ++i) {
            const double real = whole ? static_cast<double>(list ? argument->integers[i] : argument->integer)
                                      : (list ? argument->reals[i] : argument->real);
            store(data, i, type, real, whole ? (list ? argument->integers[i] : argument->integer) : static_cast<int64_t>(real));
        }
        gert::Shape shape = list ? gert::Shape({static_cast<int64_t>(count)}) : gert::Shape({1});
        call.context.inputs[index].push_back(gert::Tensor(shape, type, ge::FORMAT_ND, data));
    }
}

void tile(Call &call, std::shared_ptr<void> &compile_info)
{
    const auto known = opmend_host::implementations().find(call.op.name);
    opmend_host::TilingFunc tiling = call.op.core.tiling;
    if (known != opmend_host::implementations().end()) {
        tiling = known->second.tiling ? known->second.tiling : tiling;
        compile_info = known->second.parse ? known->second.parse() : nullptr;
    }
    if (!tiling) {
        fail("operator " + call.op.name + " has no tiling function");
    }
    call.context.compile_info = compile_info.get();
    const ge::graphStatus status = tiling(&call.context);
    if (status != ge::GRAPH_SUCCESS) {
        fail("the tiling function of " + call.op.name + " failed (status " + std::to_string(status) + ")");
    }
}

/// A list of tensors as kernels read it (ListTensorDesc): the offset of the addresses, per tensor its index and number
/// of dimensions in one word and its dimensions, then the addresses.
void *list_descriptor(Call &call, const gert::Slot &slot)
{
    std::vector<uint64_t> words(1);
    for (size_t i = 0; i < slot.size(); ++i) {
        const gert::Shape &shape = slot[i].GetStorageShape();
        words.push_back((static_cast<uint64_t>(i) << 32) | shape.GetDimNum());
        for (size_t axis = 0; axis < shape.GetDimNum(); ++axis) {
            words.push_back(static_cast<uint64_t>(shape.GetDim(axis)));
        }
    }
    words[0] = words.size() * sizeof(uint64_t);
    for (const gert::Tensor &tensor : slot) {
        words.push_back(reinterpret_cast<uint64_t>(tensor.GetAddr()));
    }
    call.buffers.push_back(std::make_unique<Buffer>(words.size() * sizeof(uint64_t), 0));
    std::memcpy(call.buffers.back()->data(), words.data(), words.size() * sizeof(uint64_t));
    return call.buffers.back()->data();
}

void *kernel_argument(Call &call, const ops::OpParamDef &formal, const gert::Slot &slot)
{
    if (formal.kind == ops::DYNAMIC) {
        return list_descriptor(call, slot);
    }
    return slot.empty() ? nullptr : slot[0].GetAddr();
}

/// One more argument when the kernel computes shapes of outputs: 9 words for each of these (rank, then dimensions).
/// The caller's tensors keep the shape they came with. See vendor's "OutputShapeDependOnCompute".
void add_shape_output(Call &call, std::vector<void *> &pointers)
{
    size_t computed = 0;
    for (const auto &formal : call.op.outputs()) {
        computed += formal->computed_shape ? 1 : 0;
    }
    if (computed != 0) {
        call.buffers.push_back(std::make_unique<Buffer>(computed * 9 * sizeof(uint64_t), 0xff));
        pointers.push_back(call.buffers.back()->data());
    }
}

bool keyed_classes(const std::string &op)
{
    for (const auto &[name, make] : opmend_host::tiling_classes()) {
        if (name.rfind(op + "_", 0) == 0) {
            return true;
        }
    }
    return false;
}

using KernelRun = void (*)(void **, size_t, uint64_t, uint64_t);

KernelRun find_kernel(const Call &call)
{
    Dl_info self;
    if (dladdr(reinterpret_cast<void *>(&find_kernel), &self) == 0) {
        fail("the host library cannot find its own folder");
    }
    const std::string path = self.dli_fname;
    const std::string key = std::to_string(keyed_classes(call.op.name) ? call.context.key : 0);
    const std::string name = "opmend_kernel_" + std::to_string(call.column) + "_" + key + ".so";
    void *library = dlopen((path.substr(0, path.rfind('/') + 1) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const std::string why = dlerror();
        if (why.find("No such file") == std::string::npos && why.find("cannot open") == std::string::npos) {
            fail(why);
        }
        throw std::runtime_error("opmend-needs-kernel:" + std::to_string(call.column) + ":" + key);
    }
    return reinterpret_cast<KernelRun>(dlsym(library, "opmend_kernel_run"));
}

}  // namespace

__attribute__((visibility("default"))) void opmend_host_run(const char *aclnn, const std::vector<Argument> &arguments)
{
    Call call(operator_called(aclnn));
    call.context.name = call.op.name;
    bind(call, arguments);
    choose_column(call);
    make_scalars(call);
    call.context.info.inputs = call.op.inputs().size();
    call.context.info.outputs = call.op.outputs().size();
    size_t start = 0;
    for (const gert::Slot &slot : call.context.inputs) {
        call.context.info.input_instances.push_back({start, slot.size()});
        start += slot.size();
    }
    std::shared_ptr<void> compile_info;
    tile(call, compile_info);
    const KernelRun run = find_kernel(call);
    std::vector<void *> pointers;
    for (size_t i = 0; i < call.op.inputs().size(); ++i) {
        pointers.push_back(kernel_argument(call, *call.op.inputs()[i], call.context.inputs[i]));
    }
    for (size_t i = 0; i < call.op.outputs().size(); ++i) {
        pointers.push_back(kernel_argument(call, *call.op.outputs()[i], call.context.outputs[i]));
    }
    add_shape_output(call, pointers);
    size_t workspace = 0;
    for (const size_t bytes : call.context.workspaces) {
        workspace += (bytes + 511) / 512 * 512;
    }
    const Workspace space(workspace);
    pointers.push_back(space.user());
    const size_t tiling_bytes = std::max<size_t>(call.context.tiling.GetDataSize(), 1);
    call.buffers.push_back(std::make_unique<Buffer>((tiling_bytes + 31) / 32 * 32, 0));
    std::memcpy(call.buffers.back()->data(), call.context.tiling.GetData(), std::min(tiling_bytes, call.context.tiling.GetCapacity()));
    pointers.push_back(call.buffers.back()->data());
    run(pointers.data(), pointers.size(), call.context.block_dim, call.context.key);
}

namespace {

void describe_class(std::ostringstream &out, const opmend_host::TilingDef &def, std::vector<std::string> &seen, bool &first)
{
    if (std::find(seen.begin(), seen.end(), def.type_name()) != seen.end()) {
        return;
    }
    for (const auto &field : def.fields()) {
        if (field.nested) {
            describe_class(out, def.nested(field), seen, first);
        }
    }
    seen.push_back(def.type_name());
    out << (first ? "" : ",") << "{\"name\":\"" << def.type_name() << "\",\"bytes\":" << def.GetDataSize() << ",\"fields\":[";
    first = false;
    bool first_field = true;
    for (const auto &field : def.fields()) {
        const std::string type = field.nested ? def.nested(field).type_name() : field.type;
        out << (first_field ? "" : ",") << "[\"" << type << "\",\"" << field.name << "\"," << field.count << "]";
        first_field = false;
    }
    out << "]}";
}

template <class Params>
void describe_params(std::ostringstream &out, const Params &params)
{
    bool first = true;
    for (const auto &param : params) {
        out << (first ? "" : ",") << "{\"name\":\"" << param->name << "\",\"types\":[";
        for (size_t i = 0; i < param->types.size(); ++i) {
            out << (i ? "," : "") << static_cast<int>(param->types[i]);
        }
        out << "],\"formats\":[";
        for (size_t i = 0; i < param->formats.size(); ++i) {
            out << (i ? "," : "") << static_cast<int>(param->formats[i]);
        }
        out << "]}";
        first = false;
    }
}

}  // namespace

/// Operators and tiling classes as JSON, for the build; valid until the next call.
extern "C" __attribute__((visibility("default"))) const char *opmend_host_describe()
{
    static std::string text;
    std::ostringstream out;
    out << "{\"operators\":[";
    bool first = true;
    for (const auto &[name, op] : ops::definitions()) {
        out << (first ? "" : ",") << "{\"name\":\"" << name << "\",\"inputs\":[";
        describe_params(out, op->inputs());
        out << "],\"outputs\":[";
        describe_params(out, op->outputs());
        out << "]}";
        first = false;
    }
    out << "],\"registered\":{";
    first = true;
    std::ostringstream classes;
    std::vector<std::string> seen;
    bool first_class = true;
    for (const auto &[key, make] : opmend_host::tiling_classes()) {
        const auto made = make();
        out << (first ? "" : ",") << "\"" << key << "\":\"" << made->type_name() << "\"";
        describe_class(classes, *made, seen, first_class);
        first = false;
    }
    out << "},\"classes\":[" << classes.str() << "]}";
    text = out.str();
    return text.c_str();
}
