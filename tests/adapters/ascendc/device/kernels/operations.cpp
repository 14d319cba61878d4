// One kernel that loads two inputs and the old output into UB, runs the instruction that the test names, and stores the
// output. Everything is separated by full barriers: these kernels test arithmetic, not ordering.
#include "kernel_operator.h"

#include <stdexcept>
#include <string>

using namespace AscendC;

namespace {

struct Call {
    const char *name;
    int dtype;             // 0 float, 1 half, 2 bfloat16, 3 int16, 4 int32
    const int64_t *p;      // integers of the call
    const double *scalar;  // scalars of the call
    uint32_t a_bytes, b_bytes, y_bytes;
};

BinaryRepeatParams binary_params(const int64_t *p)
{
    return BinaryRepeatParams(p[0], p[1], p[2], p[3], p[4], p[5]);
}
UnaryRepeatParams unary_params(const int64_t *p) { return UnaryRepeatParams(p[0], p[1], p[3], p[4]); }

template <class T>
struct Operands {
    LocalTensor<T> a, b, y, work;
};

// p = {dst_blk, a_blk, b_blk, dst_rep, a_rep, b_rep, repeat, form, mask or mask low, mask high, count}
#define BINARY_CASE(NAME)                                                                   \
    if (name == #NAME) {                                                                    \
        uint64_t bits[2] = {static_cast<uint64_t>(p[8]), static_cast<uint64_t>(p[9])};      \
        if (p[7] == 0) NAME(o.y, o.a, o.b, static_cast<int32_t>(p[10]));                    \
        if (p[7] == 1) NAME(o.y, o.a, o.b, bits[0], p[6], binary_params(p));                \
        if (p[7] == 2) NAME(o.y, o.a, o.b, bits, p[6], binary_params(p));                   \
        if (p[7] == 3) NAME<T, false>(o.y, o.a, o.b, MASK_PLACEHOLDER, p[6], binary_params(p)); \
        return true;                                                                        \
    }
#define UNARY_CASE(NAME)                                                                    \
    if (name == #NAME) {                                                                    \
        uint64_t bits[2] = {static_cast<uint64_t>(p[8]), static_cast<uint64_t>(p[9])};      \
        if (p[7] == 0) NAME(o.y, o.a, static_cast<int32_t>(p[10]));                         \
        if (p[7] == 1) NAME(o.y, o.a, bits[0], p[6], unary_params(p));                      \
        if (p[7] == 2) NAME(o.y, o.a, bits, p[6], unary_params(p));                         \
        return true;                                                                        \
    }
#define SCALAR_CASE(NAME)                                                                   \
    if (name == #NAME) {                                                                    \
        const T s = static_cast<T>(call.scalar[0]);                                         \
        uint64_t bits[2] = {static_cast<uint64_t>(p[8]), static_cast<uint64_t>(p[9])};      \
        if (p[7] == 0) NAME(o.y, o.a, s, static_cast<int32_t>(p[10]));                      \
        if (p[7] == 1) NAME(o.y, o.a, s, bits[0], p[6], unary_params(p));                   \
        if (p[7] == 2) NAME(o.y, o.a, s, bits, p[6], unary_params(p));                      \
        return true;                                                                        \
    }
#define MATH_CASE(NAME)                                                                     \
    if (name == #NAME) {                                                                    \
        NAME(o.y, o.a, static_cast<uint32_t>(p[10]));                                       \
        return true;                                                                        \
    }

template <class T>
bool arithmetic(const Call &call, const Operands<T> &o)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    if (p[7] == 3) {
        SetMaskCount();
        SetVectorMask<T, MaskMode::COUNTER>(0, static_cast<uint64_t>(p[10]));
    }
    BINARY_CASE(Add)
    BINARY_CASE(Sub)
    BINARY_CASE(Mul)
    BINARY_CASE(Max)
    BINARY_CASE(Min)
    UNARY_CASE(Abs)
    UNARY_CASE(Relu)
    SCALAR_CASE(Adds)
    SCALAR_CASE(Muls)
    SCALAR_CASE(Maxs)
    SCALAR_CASE(Mins)
    if (name == "Duplicate") {
        Duplicate(o.y, static_cast<T>(call.scalar[0]), static_cast<int32_t>(p[10]));
        return true;
    }
    if (name == "CreateVecIndex") {
        CreateVecIndex(o.y, static_cast<T>(call.scalar[0]), static_cast<uint32_t>(p[10]));
        return true;
    }
    if (name == "Copy") {
        Copy(o.y, o.a, static_cast<uint64_t>(p[8]), p[6], CopyRepeatParams(p[0], p[1], p[3], p[4]));
        return true;
    }
    if (name == "DataCopyUb") {
        DataCopy(o.y, o.a, DataCopyParams(p[0], p[1], p[2], p[3]));
        return true;
    }
    if (name == "Gather") {
        Gather(o.y, o.a, o.b.template ReinterpretCast<uint32_t>(), static_cast<uint32_t>(p[0]),
               static_cast<uint32_t>(p[10]));
        return true;
    }
    if (name == "Gatherb") {
        Gatherb(o.y, o.a, o.b.template ReinterpretCast<uint32_t>(), p[6], GatherRepeatParams(p[0], p[3]));
        return true;
    }
    if (name == "GatherMask" || name == "GatherMaskTensor") {
        uint64_t kept = 0;
        const GatherMaskParams params(1, p[6], p[3], p[4]);
        const auto bits = o.b.template ReinterpretCast<uint16_t>();
        name == "GatherMask" ? GatherMask(o.y, o.a, static_cast<uint8_t>(p[0]), p[9] != 0, p[8], params, kept)
                             : GatherMask(o.y, o.a, bits, p[9] != 0, p[8], params, kept);
        o.y.template ReinterpretCast<int32_t>().SetValue(call.y_bytes / 4 - 1, static_cast<int32_t>(kept));
        return true;
    }
    if (name == "AddOperator") {
        LocalTensor<T> whole = o.y;
        whole.SetSize(static_cast<uint32_t>(p[10]));
        whole = o.a + o.b;
        return true;
    }
    if (name == "Brcb") {
        Brcb(o.y, o.a, p[6], BrcbRepeatParams(p[0], p[3]));
        return true;
    }
    if constexpr (opmend::is_any_float<T>) {
        BINARY_CASE(Div)
        UNARY_CASE(Exp)
        UNARY_CASE(Ln)
        UNARY_CASE(Sqrt)
        UNARY_CASE(Rsqrt)
        UNARY_CASE(Reciprocal)
        SCALAR_CASE(LeakyRelu)
        MATH_CASE(Tanh)
        MATH_CASE(Sigmoid)
        MATH_CASE(Sign)
        MATH_CASE(Floor)
        MATH_CASE(Ceil)
        MATH_CASE(Erf)
        MATH_CASE(Log)
        if (name == "Axpy") {
            Axpy(o.y, o.a, static_cast<T>(call.scalar[0]), static_cast<int32_t>(p[10]));
            return true;
        }
        if (name == "Power") {
            Power(o.y, o.a, o.b, static_cast<uint32_t>(p[10]));
            return true;
        }
    } else {
        BINARY_CASE(And)
        BINARY_CASE(Or)
        UNARY_CASE(Not)
        SCALAR_CASE(ShiftLeft)
        SCALAR_CASE(ShiftRight)
    }
    return false;
}

template <class T>
bool reductions(const Call &call, const Operands<T> &o)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    const auto count = static_cast<int32_t>(p[10]);
    const auto mask = static_cast<int32_t>(p[8]);
    const auto repeat = static_cast<int32_t>(p[6]);
    const bool index = p[9] != 0;
    const uint32_t shape[2] = {static_cast<uint32_t>(p[0]), static_cast<uint32_t>(p[1])};
    if (name == "ReduceSum") {
        p[7] == 0 ? ReduceSum(o.y, o.a, o.work, count) : ReduceSum(o.y, o.a, o.work, mask, repeat, 8);
    } else if (name == "ReduceMax") {
        p[7] == 0 ? ReduceMax(o.y, o.a, o.work, count, index) : ReduceMax(o.y, o.a, o.work, mask, repeat, 8, index);
    } else if (name == "ReduceMin") {
        p[7] == 0 ? ReduceMin(o.y, o.a, o.work, count, index) : ReduceMin(o.y, o.a, o.work, mask, repeat, 8, index);
    } else if (name == "WholeReduceSum") {
        WholeReduceSum(o.y, o.a, mask, repeat, 1, 1, 8);
    } else if (name == "WholeReduceMax") {
        WholeReduceMax(o.y, o.a, mask, repeat, 1, 1, 8, static_cast<ReduceOrder>(p[9]));
    } else if (name == "WholeReduceMin") {
        WholeReduceMin(o.y, o.a, mask, repeat, 1, 1, 8, static_cast<ReduceOrder>(p[9]));
    } else if (name == "BlockReduceSum") {
        BlockReduceSum(o.y, o.a, repeat, mask, 1, 1, 8);
    } else if (name == "BlockReduceMax") {
        BlockReduceMax(o.y, o.a, repeat, mask, 1, 1, 8);
    } else if (name == "BlockReduceMin") {
        BlockReduceMin(o.y, o.a, repeat, mask, 1, 1, 8);
    } else if (name == "PairReduceSum") {
        PairReduceSum(o.y, o.a, repeat, mask, 1, 1, 8);
    } else if (name == "ReduceSumAR") {
        ReduceSum<T, Pattern::Reduce::AR>(o.y, o.a, o.work.template ReinterpretCast<uint8_t>(), shape, true);
    } else if (name == "ReduceSumRA") {
        ReduceSum<T, Pattern::Reduce::RA>(o.y, o.a, o.work.template ReinterpretCast<uint8_t>(), shape, true);
    } else if (name == "ReduceMaxAR") {
        ReduceMax<T, Pattern::Reduce::AR>(o.y, o.a, o.work.template ReinterpretCast<uint8_t>(), shape, true);
    } else if (name == "ReduceMinRA") {
        ReduceMin<T, Pattern::Reduce::RA>(o.y, o.a, o.work.template ReinterpretCast<uint8_t>(), shape, true);
    } else if (name == "Sum") {
        Sum(o.y, o.a, SumParams{shape[0], static_cast<uint32_t>(p[2]), shape[1]});
    } else if (name == "Broadcast0") {
        const uint32_t from[2] = {1, shape[1]};
        Broadcast<T, 2, 0>(o.y, o.a, shape, from);
    } else if (name == "Broadcast1") {
        const uint32_t from[2] = {shape[0], 1};
        Broadcast<T, 2, 1>(o.y, o.a, shape, from);
    } else if (name == "Compare") {
        Compare(o.y.template ReinterpretCast<uint8_t>(), o.a, o.b, static_cast<CMPMODE>(p[0]),
                static_cast<uint32_t>(count));
    } else if (name == "CompareScalar") {
        CompareScalar(o.y.template ReinterpretCast<uint8_t>(), o.a, static_cast<T>(call.scalar[0]),
                      static_cast<CMPMODE>(p[0]), static_cast<uint32_t>(count));
    } else if (name == "Select") {
        Select(o.y, o.b.template ReinterpretCast<uint8_t>(), o.a, static_cast<T>(call.scalar[0]),
               SELMODE::VSEL_TENSOR_SCALAR_MODE, static_cast<uint32_t>(count));
    } else if (name == "SelectTensor") {
        Select(o.y, o.b.template ReinterpretCast<uint8_t>(), o.a, o.a[p[0]], SELMODE::VSEL_TENSOR_TENSOR_MODE,
               static_cast<uint32_t>(count));
    } else {
        return false;
    }
    return true;
}

template <class D, class S>
void cast(const Call &call, TBuf<> &y, TBuf<> &a)
{
    const auto mode = static_cast<RoundMode>(call.p[0]);
    const auto count = static_cast<uint32_t>(call.p[10]);
    if (call.p[7] == 0) {
        Cast(y.Get<D>(), a.Get<S>(), mode, count);
    } else if (call.p[7] == 4) {  // onto its own buffer
        Cast(a.Get<D>(), a.Get<S>(), mode, count);
        DataCopy(y.Get<uint8_t>(), a.Get<uint8_t>(), (call.y_bytes + 31) / 32 * 32);
    } else {
        const int64_t *p = call.p;
        const UnaryRepeatParams params(p[1], p[2], p[3], p[4]);
        Cast(y.Get<D>(), a.Get<S>(), mode, static_cast<uint64_t>(p[8]), p[6], params);
    }
}

bool casts(const Call &call, TBuf<> &y, TBuf<> &a)
{
    const std::string name = call.name;
    if (name == "i32>f16" && call.scalar[0] != 0) {
        SetDeqScale(static_cast<half>(call.scalar[0]));
    }
#define CAST_CASE(LABEL, D, S)     \
    if (name == LABEL) {           \
        cast<D, S>(call, y, a);    \
        return true;               \
    }
    CAST_CASE("f32>f16", half, float)
    CAST_CASE("f32>bf16", bfloat16_t, float)
    CAST_CASE("f32>f32", float, float)
    CAST_CASE("f32>i32", int32_t, float)
    CAST_CASE("f32>i16", int16_t, float)
    CAST_CASE("f32>i64", int64_t, float)
    CAST_CASE("f16>f32", float, half)
    CAST_CASE("f16>i8", int8_t, half)
    CAST_CASE("f16>u8", uint8_t, half)
    CAST_CASE("f16>i16", int16_t, half)
    CAST_CASE("f16>i32", int32_t, half)
    CAST_CASE("bf16>f32", float, bfloat16_t)
    CAST_CASE("bf16>i32", int32_t, bfloat16_t)
    CAST_CASE("i32>f32", float, int32_t)
    CAST_CASE("i32>f16", half, int32_t)
    CAST_CASE("i32>i16", int16_t, int32_t)
    CAST_CASE("i16>f16", half, int16_t)
    CAST_CASE("i16>f32", float, int16_t)
    CAST_CASE("i8>f16", half, int8_t)
    CAST_CASE("u8>f16", half, uint8_t)
#undef CAST_CASE
    return false;
}

template <class T>
bool dispatch(const Call &call, TBuf<> &y, TBuf<> &a, TBuf<> &b, TBuf<> &work)
{
    Operands<T> o{a.Get<T>(), b.Get<T>(), y.Get<T>(), work.Get<T>()};
    if (arithmetic(call, o)) {
        return true;
    }
    if constexpr (opmend::is_any_float<T>) {
        return reductions(call, o);
    }
    return false;
}

__global__ __aicore__ void run(GM_ADDR a, GM_ADDR b, GM_ADDR y, const Call *call)
{
    TPipe pipe;
    TBuf<> buffer_a, buffer_b, buffer_y, work;
    pipe.InitBuffer(buffer_a, 48 * 1024);
    pipe.InitBuffer(buffer_b, 48 * 1024);
    pipe.InitBuffer(buffer_y, 64 * 1024);
    pipe.InitBuffer(work, 16 * 1024);
    GlobalTensor<uint8_t> gm_a, gm_b, gm_y;
    gm_a.SetGlobalBuffer(a);
    gm_b.SetGlobalBuffer(b);
    gm_y.SetGlobalBuffer(y);
    const DataCopyPadExtParams<uint8_t> none{false, 0, 0, 0};
    if (std::string(call->name) == "Padding") {
        // p = {block count, block bytes, GM gap, UB gap, left, right, isPad, SetPadValue}: what arrives in UB.
        const int64_t *p = call->p;
        auto to = buffer_y.Get<int16_t>();
        GlobalTensor<int16_t> from;
        from.SetGlobalBuffer((__gm__ int16_t *)a);
        if (p[7] != 0) SetPadValue(static_cast<int16_t>(p[7]));
        const DataCopyPadExtParams<int16_t> pad(p[6] != 0, p[4], p[5], static_cast<int16_t>(call->scalar[0]));
        DataCopyPad(to, from, DataCopyExtParams(p[0], p[1], p[2], p[3], 0), pad);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(gm_y, buffer_y.Get<uint8_t>(), DataCopyExtParams(1, call->y_bytes, 0, 0, 0));
        return;
    }
    DataCopyPad(buffer_a.Get<uint8_t>(), gm_a, DataCopyExtParams(1, call->a_bytes, 0, 0, 0), none);
    DataCopyPad(buffer_b.Get<uint8_t>(), gm_b, DataCopyExtParams(1, call->b_bytes, 0, 0, 0), none);
    DataCopyPad(buffer_y.Get<uint8_t>(), gm_y, DataCopyExtParams(1, call->y_bytes, 0, 0, 0), none);
    PipeBarrier<PIPE_ALL>();
    bool known = casts(*call, buffer_y, buffer_a);
    switch (call->dtype) {
        case 0: known = known || dispatch<float>(*call, buffer_y, buffer_a, buffer_b, work); break;
        case 1: known = known || dispatch<half>(*call, buffer_y, buffer_a, buffer_b, work); break;
        case 2: known = known || dispatch<bfloat16_t>(*call, buffer_y, buffer_a, buffer_b, work); break;
        case 3: known = known || dispatch<int16_t>(*call, buffer_y, buffer_a, buffer_b, work); break;
        default: known = known || dispatch<int32_t>(*call, buffer_y, buffer_a, buffer_b, work); break;
    }
    if (!known) {
        throw std::runtime_error(std::string("no such operation: ") + call->name);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm_y, buffer_y.Get<uint8_t>(), DataCopyExtParams(1, call->y_bytes, 0, 0, 0));
}

}  // namespace

extern "C" int run_operation(const char *name, int dtype, uint8_t *a, uint32_t a_bytes, uint8_t *b, uint32_t b_bytes,
                             uint8_t *y, uint32_t y_bytes, const int64_t *p, const double *scalar)
{
    const Call call{name, dtype, p, scalar, a_bytes, b_bytes, y_bytes};
    try {
        ::opmend::Launcher("run", __FILE__, __LINE__, 1, nullptr, nullptr)(run, a, b, y, &call);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
