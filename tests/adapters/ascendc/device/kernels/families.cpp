// Instructions of several families, one per launch: a and b come in whole, y goes out whole.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Call {
    const char *name;
    const int64_t *p;
    double scalar;
    uint32_t a_bytes, b_bytes, y_bytes;
};

struct Buffers {
    TBuf<> a, b, y, work;
};

template <class T>
bool element_wise(const Call &call, Buffers &u)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    const auto a = u.a.Get<T>(), b = u.b.Get<T>(), y = u.y.Get<T>();
    const auto count = static_cast<int32_t>(p[0]);
    uint64_t bits[2] = {static_cast<uint64_t>(p[2]), static_cast<uint64_t>(p[3])};
    const auto repeat = static_cast<uint8_t>(p[1]);
    const UnaryRepeatParams one(1, 1, 8, 8);
    const BinaryRepeatParams two(1, 1, 1, 8, 8, 8);
#define FORMS(NAME)                                                                                     \
    if (name == #NAME) {                                                                                \
        repeat == 0 ? NAME(y, a, b, count) : NAME(y, a, b, bits, repeat, two);                          \
        return true;                                                                                    \
    }
    if constexpr (opmend::is_any_float<T>) {
        FORMS(FusedMulAdd)
        FORMS(FusedMulAddRelu)
        FORMS(MulAddDst)
        if (name == "AbsBits") {
            Abs(y, a, bits, repeat, one);
            return true;
        }
        if (name == "MulsBits") {
            Muls(y, a, static_cast<T>(call.scalar), bits, repeat, one);
            return true;
        }
        if (name == "DuplicateBits") {
            Duplicate(y, static_cast<T>(call.scalar), bits, repeat, 1, 8);
            return true;
        }
        if (name == "WholeReduceSumBits") {
            WholeReduceSum(y, a, bits, repeat, 1, 1, 8);
            return true;
        }
        if (name == "BlockReduceMaxBits") {
            BlockReduceMax(y, a, repeat, bits, 1, 1, 8);
            return true;
        }
        if (name == "SelectBits") {  // lanes of the mask only; the choice is in b
            Select(y, u.b.Get<uint8_t>(), a, static_cast<T>(call.scalar), SELMODE::VSEL_TENSOR_SCALAR_MODE, bits, repeat,
                   two);
            return true;
        }
        if (name == "ReduceRepeat") {
            const auto mask = static_cast<int32_t>(p[2]);
            p[4] == 0   ? ReduceRepeat<ReduceType::SUM, T, T>(y, a, mask, repeat, 1, 1, 8)
            : p[4] == 1 ? ReduceRepeat<ReduceType::MAX, T, T>(y, a, mask, repeat, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE)
                        : ReduceRepeat<ReduceType::MIN, T, T>(y, a, mask, repeat, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
            return true;
        }
        if (name == "ReduceDataBlock") {
            const auto mask = static_cast<int32_t>(p[2]);
            p[4] == 0   ? ReduceDataBlock<ReduceType::SUM, T, T>(y, a, mask, repeat, 1, 1, 8)
            : p[4] == 1 ? ReduceDataBlock<ReduceType::MAX, T, T>(y, a, mask, repeat, 1, 1, 8)
                        : ReduceDataBlock<ReduceType::MIN, T, T>(y, a, mask, repeat, 1, 1, 8);
            return true;
        }
        if (name == "ReducePairElem") {
            ReducePairElem<ReduceType::SUM, T, T>(y, a, static_cast<int32_t>(p[2]), repeat, 1, 1, 8);
            return true;
        }
    } else if constexpr (sizeof(T) > 1) {
        FORMS(And)
        FORMS(Or)
        if (name == "Not") {
            repeat == 0 ? Not(y, a, count) : Not(y, a, bits, repeat, one);
            return true;
        }
        if (name == "ShiftLeft") {
            repeat == 0 ? ShiftLeft(y, a, static_cast<T>(call.scalar), count)
                        : ShiftLeft(y, a, static_cast<T>(call.scalar), bits, repeat, one);
            return true;
        }
        if (name == "ShiftRight") {
            repeat == 0 ? ShiftRight(y, a, static_cast<T>(call.scalar), count)
                        : ShiftRight(y, a, static_cast<T>(call.scalar), bits, repeat, one);
            return true;
        }
    }
    return false;
}

template <class T>
bool rearranged(const Call &call, Buffers &u)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    const auto a = u.a.Get<T>(), y = u.y.Get<T>();
    if (name == "CopyStrides") {
        Copy(y, a, static_cast<uint64_t>(p[0]), p[1], CopyRepeatParams(p[2], p[3], p[4], p[5]));
        return true;
    }
    if (name == "NchwToNhwc" || name == "NhwcToNchw") {
        const auto type = name == "NchwToNhwc" ? TransposeType::TRANSPOSE_NCHW2NHWC : TransposeType::TRANSPOSE_NHWC2NCHW;
        Transpose(y, a, u.work.Get<uint8_t>(), TransposeParamsExt(p[0], p[1], p[2], p[3], type));
        return true;
    }
    if (name == "To5HD") {  // p = {repeats, dst stride, src stride, high halves}
        const uint32_t block = 32 / sizeof(T);
        uint64_t to[16], from[16];
        LocalTensor<T> to_tensors[16], from_tensors[16];
        for (uint32_t i = 0; i < 16; ++i) {
            to_tensors[i] = y[i * block];
            from_tensors[i] = a[i * block];
            to[i] = (uint64_t)(to_tensors[i].GetPhyAddr());
            from[i] = (uint64_t)(from_tensors[i].GetPhyAddr());
        }
        const TransDataTo5HDParams params(p[3] != 0, p[3] != 0, p[0], p[1], p[2]);
        p[4] == 0 ? TransDataTo5HD<T>(to, from, params) : TransDataTo5HD<T>(to_tensors, from_tensors, params);
        return true;
    }
    if constexpr (sizeof(T) == 2) {
        if (name == "Transpose") {
            Transpose(y, a);
            return true;
        }
    }
    return false;
}

template <class T>
bool rows(const Call &call, Buffers &u)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    const auto a = u.a.Get<T>(), b = u.b.Get<T>(), y = u.y.Get<T>();
    const uint32_t m = p[0], pitch = p[1], columns = p[2];
    const SoftMaxShapeInfo shape{m, pitch, m, columns};
    const SoftMaxTiling tiling;
    const auto temporary = u.work.Get<uint8_t>();
    if (name == "SoftMax") {
        SoftMax<T>(y, a, temporary, tiling, shape);
        return true;
    }
    if (name == "SoftMaxSides") {  // y holds the result, then the sums, then the maxima
        const auto sums = y[m * pitch], maxima = y[m * pitch + m * 32 / sizeof(T)];
        SoftMax<T>(y, sums, maxima, a, tiling, shape);
        return true;
    }
    if (name == "SimpleSoftMax") {  // b holds the sums, then the maxima
        SimpleSoftMax<T>(y, b, b[m * 32 / sizeof(T)], a, tiling, shape);
        return true;
    }
    if (name == "SumRegister") {  // ReduceSum of a count, then vcadd of whole repeats and of a count, then InitOutput
        if constexpr (std::is_same_v<T, float>) {
            ReduceSum(y, a, u.work.Get<float>(), static_cast<int32_t>(m));
            y.SetValue(1, GetReduceRepeatSumSpr<float>());
            AscendCUtils::SetMask<float>(40);
            vcadd(nullptr, (__ubuf__ float *)a.GetPhyAddr(), 2, 1, 1, 8, true);
            int64_t bits = GetAccVal();
            y.SetValue(2, *reinterpret_cast<float *>(&bits));
            set_mask_count();
            set_vector_mask(0, m);
            vcadd(nullptr, (__ubuf__ float *)a.GetPhyAddr(), 1, 1, 1, 8, true);
            y.SetValue(3, GetAccVal<float>());
            set_mask_norm();
            AscendC::ResetMask();
            return true;
        }
    }
    if (name == "Mean") {
        p[3] == 0 ? Mean<T>(y, a, MeanParams{m, pitch, columns}) : Mean<T, float>(y, a, MeanParams{m, pitch, columns});
        return true;
    }
    return false;
}

/// half sources into a float destination.
bool mixed(const Call &call, Buffers &u)
{
    const std::string name = call.name;
    const auto a = u.a.Get<half>(), b = u.b.Get<half>();
    const auto y = u.y.Get<float>();
    const int64_t *p = call.p;
    if (name == "AxpyMixed") {
        p[1] == 0 ? Axpy(y, a, static_cast<half>(call.scalar), static_cast<int32_t>(p[0]))
                  : Axpy(y, a, static_cast<half>(call.scalar), static_cast<uint64_t>(p[2]), p[1], UnaryRepeatParams(1, 1, 8, 4));
        return true;
    }
    if (name == "MulAddDstMixed") {
        p[1] == 0 ? MulAddDst(y, a, b, static_cast<int32_t>(p[0]))
                  : MulAddDst(y, a, b, static_cast<uint64_t>(p[2]), p[1], BinaryRepeatParams(1, 1, 1, 8, 4, 4));
        return true;
    }
    return false;
}

template <class T>
bool dispatch(const Call &call, Buffers &u)
{
    bool known = element_wise<T>(call, u) || rearranged<T>(call, u);
    if constexpr (opmend::is_any_float<T>) {
        known = known || rows<T>(call, u);
    }
    return known;
}

__global__ __aicore__ void run(GM_ADDR a, GM_ADDR b, GM_ADDR y, const Call *call, int dtype)
{
    TPipe pipe;
    Buffers u;
    pipe.InitBuffer(u.a, 48 * 1024);
    pipe.InitBuffer(u.b, 48 * 1024);
    pipe.InitBuffer(u.y, 64 * 1024);
    pipe.InitBuffer(u.work, 16 * 1024);
    GlobalTensor<uint8_t> gm_a, gm_b, gm_y;
    gm_a.SetGlobalBuffer(a);
    gm_b.SetGlobalBuffer(b);
    gm_y.SetGlobalBuffer(y);
    const DataCopyPadExtParams<uint8_t> none{false, 0, 0, 0};
    DataCopyPad(u.a.Get<uint8_t>(), gm_a, DataCopyExtParams(1, call->a_bytes, 0, 0, 0), none);
    DataCopyPad(u.b.Get<uint8_t>(), gm_b, DataCopyExtParams(1, call->b_bytes, 0, 0, 0), none);
    DataCopyPad(u.y.Get<uint8_t>(), gm_y, DataCopyExtParams(1, call->y_bytes, 0, 0, 0), none);
    PipeBarrier<PIPE_ALL>();
    bool known = mixed(*call, u);
    switch (dtype) {
        case 0: known = known || dispatch<float>(*call, u); break;
        case 1: known = known || dispatch<half>(*call, u); break;
        case 3: known = known || dispatch<int16_t>(*call, u); break;
        case 5: known = known || dispatch<uint16_t>(*call, u); break;
        case 6: known = known || rearranged<int8_t>(*call, u); break;
        default: break;
    }
    if (!known) {
        throw std::runtime_error(std::string("no such operation: ") + call->name);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm_y, u.y.Get<uint8_t>(), DataCopyExtParams(1, call->y_bytes, 0, 0, 0));
}

/// y = x * 2 + 1 through two pools that share their bytes, then y += x through a LocalMemAllocator-free third one.
__global__ __aicore__ void pools(GM_ADDR x, GM_ADDR y, int32_t pool_bytes)
{
    TPipe pipe;
    TBufPool<TPosition::VECCALC> first, second, inner;
    pipe.InitBufPool(first, pool_bytes);
    pipe.InitBufPool(second, pool_bytes, first);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x);
    to.SetGlobalBuffer((__gm__ float *)y);
    {
        TQue<TPosition::VECIN, 1> in;
        TQue<TPosition::VECOUT, 1> out;
        first.InitBuffer(in, 1, 256);
        first.InitBufPool(inner, 256);
        inner.InitBuffer(out, 1, 256);
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, from, 64);
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Muls(b, a, 2.0f, 64);
        Adds(b, b, 1.0f, 64);
        in.FreeTensor(a);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(to, b, 64);
        out.FreeTensor(b);
    }
    PipeBarrier<PIPE_ALL>();  // the second pool reuses the same bytes
    TBuf<> again;
    second.InitBuffer(again, 256);
    DataCopy(again.Get<float>(), from, 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[64], again.Get<float>(), 64);
}

__global__ __aicore__ void allocator(GM_ADDR x, GM_ADDR y)
{
    LocalMemAllocator<Hardware::UB> memory;
    auto a = memory.Alloc<TPosition::VECIN, float, 64>();
    auto b = memory.Alloc<TPosition::VECOUT, float>(64);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x);
    to.SetGlobalBuffer((__gm__ float *)y);
    DataCopy(a, from, 64);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(b, a, static_cast<float>(memory.GetCurAddr()), 64);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(to, b, 64);
}

template <class... P, class... A>
int launch(void (*kernel)(P...), A... args)
{
    try {
        ::opmend::Launcher("families", __FILE__, __LINE__, 1, nullptr, nullptr)(kernel, args...);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" int run_operation(const char *name, int dtype, uint8_t *a, uint32_t a_bytes, uint8_t *b, uint32_t b_bytes,
                             uint8_t *y, uint32_t y_bytes, const int64_t *p, const double *scalar)
{
    const Call call{name, p, scalar[0], a_bytes, b_bytes, y_bytes};
    return launch(run, a, b, y, &call, dtype);
}

extern "C" int run_init(uint8_t *y, uint32_t count, float value)
{
    auto kernel = +[](GM_ADDR out, uint32_t elements, float filler) {
        GlobalTensor<float> gm;
        gm.SetGlobalBuffer((__gm__ float *)out);
        InitOutput<float>(gm, elements, filler);
    };
    return launch(kernel, y, count, value);
}

extern "C" int run_pools(uint8_t *x, uint8_t *y, int32_t bytes) { return launch(pools, x, y, bytes); }
extern "C" int run_allocator(uint8_t *x, uint8_t *y) { return launch(allocator, x, y); }
