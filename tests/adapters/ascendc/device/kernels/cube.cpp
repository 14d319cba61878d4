// Matrix multiplications through the basic cube path, cross-core flags and sorting, each driven by one small kernel.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Shape {
    int32_t m, n, k;          // whole matrices; tiles are whole matrices too
    int32_t bias, relu, load;  // load: 0 LoadData 3D, 1 LoadData 2D, 2 LoadDataWithTranspose for B
    int32_t quant;            // QuantMode_t
    uint64_t word;            // quantisation word
    int32_t halves;           // a second Mmad accumulates
    int32_t nz;               // Fixpipe keeps columns of fractals
};

uint32_t up(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

template <class T>
void load_left(const LocalTensor<T> &dst, const LocalTensor<T> &src, const Shape &s)
{
    const uint32_t rows = up(s.m, 16), width = 32 / sizeof(T);
    if (s.m == 1) {  // a plain vector
        LoadData(dst, src, LoadData2DParams(0, up(s.k, 16 * width) / (16 * width), 1, 0, 0, false, 0));
        return;
    }
    if (s.load == 0) {
        LoadData3DParamsV2<T> p;
        p.l1H = 1;
        p.l1W = rows;
        p.channelSize = up(s.k, width);
        p.kExtension = up(s.k, width);
        p.mExtension = rows;
        LoadData(dst, src, p);
        return;
    }
    // NZ in L1 (columns of fractals) to ZZ in L0A (rows of fractals).
    for (uint32_t band = 0; band < rows / 16; ++band) {
        LoadData2DParams p;
        p.startIndex = band;
        p.repeatTimes = up(s.k, width) / width;
        p.srcStride = rows / 16;
        LoadData(dst[band * p.repeatTimes * 16 * width], src, p);
    }
}

template <class T>
void load_right(const LocalTensor<T> &dst, const LocalTensor<T> &src, const Shape &s)
{
    const uint32_t width = 32 / sizeof(T), depth = up(s.k, 16), columns = up(s.n, width);
    if constexpr (sizeof(T) == 1) {
        for (uint32_t band = 0; band < up(s.k, 32) / 32; ++band) {
            LoadDataWithTranspose(dst[band * 32 * columns], src[band * 32 * 32],
                                  LoadData2dTransposeParams(0, columns / 32, up(s.k, 32) / 32, 1, 0));
        }
        return;
    }
    if (s.load == 0) {
        LoadData3DParamsV2<T> p;
        p.l1H = 1;
        p.l1W = depth;
        p.channelSize = columns;
        p.kExtension = columns;
        p.mExtension = depth;
        LoadData(dst, src, p);
        return;
    }
    if constexpr (sizeof(T) == 2) {
        for (uint32_t band = 0; band < depth / 16; ++band) {
            const uint8_t repeats = columns / 16;
            if (s.load == 1) {
                LoadData(dst[band * columns * 16], src, LoadData2DParams(band, repeats, depth / 16, 0, 0, true, 0));
            } else {
                LoadDataWithTranspose(dst[band * columns * 16], src,
                                      LoadData2dTransposeParams(band, repeats, depth / 16, 0, 0));
            }
        }
    }
}

template <class T>
void copy_in(const LocalTensor<T> &dst, GM_ADDR from, uint32_t rows, uint32_t columns, uint32_t pitch)
{
    GlobalTensor<T> gm;
    gm.SetGlobalBuffer((__gm__ T *)from);
    DataCopy(dst, gm, Nd2NzParams(1, rows, columns, 0, columns, pitch, 1, 0));
}

template <class T, class A, class D>
__aicore__ void multiply(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, Shape s)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint32_t width = 32 / sizeof(T);
    const uint32_t rows = up(s.m, 16), depth = up(s.k, sizeof(T) == 1 ? 32 : 16), columns = up(s.n, width < 16 ? 16 : width);
    TPipe pipe;
    TQue<TPosition::A1, 1> a1;
    TQue<TPosition::B1, 1> b1;
    TQue<TPosition::C1, 1> c1;
    TQue<TPosition::A2, 1> a2;
    TQue<TPosition::B2, 1> b2;
    TQue<TPosition::C2, 1> c2;
    TQue<TPosition::CO1, 1> out;
    pipe.InitBuffer(a1, 1, rows * depth * sizeof(T));
    pipe.InitBuffer(b1, 1, depth * columns * sizeof(T));
    pipe.InitBuffer(a2, 1, rows * depth * sizeof(T));
    pipe.InitBuffer(b2, 1, depth * columns * sizeof(T));
    pipe.InitBuffer(c1, 1, 1024);
    pipe.InitBuffer(c2, 1, 1024);
    pipe.InitBuffer(out, 1, rows * columns * sizeof(A));

    LocalTensor<A> sum = out.AllocTensor<A>();
    LocalTensor<T> left = a1.AllocTensor<T>(), right = b1.AllocTensor<T>();
    if (rows != static_cast<uint32_t>(s.m) || depth != static_cast<uint32_t>(s.k)) {  // the rest of the fractals is 0
        Fill(left, InitConstValueParams<T>(1, rows * depth * sizeof(T) / 32, 0, T(0)));
        Fill(right, InitConstValueParams<T>(1, depth * columns * sizeof(T) / 32, 0, T(0)));
    }
    if (s.m == 1) {
        GlobalTensor<T> vector;
        vector.SetGlobalBuffer((__gm__ T *)a);
        DataCopy(left, vector, s.k);
    } else {
        copy_in(left, a, s.m, s.k, rows);
    }
    copy_in(right, b, s.k, s.n, depth);
    a1.EnQue(left);
    b1.EnQue(right);
    left = a1.DeQue<T>();
    right = b1.DeQue<T>();
    LocalTensor<T> l0a = a2.AllocTensor<T>(), l0b = b2.AllocTensor<T>();
    load_left(l0a, left, s);
    load_right(l0b, right, s);
    a2.EnQue(l0a);
    b2.EnQue(l0b);
    a1.FreeTensor(left);
    b1.FreeTensor(right);
    l0a = a2.DeQue<T>();
    l0b = b2.DeQue<T>();
    MmadParams p;
    p.m = s.m;
    p.n = s.n;
    p.k = s.k;
    if (s.bias != 0) {
        LocalTensor<A> line = c1.AllocTensor<A>();
        GlobalTensor<A> gm;
        gm.SetGlobalBuffer((__gm__ A *)bias);
        DataCopy(line, gm, up(s.n, 16));
        c1.EnQue(line);
        line = c1.DeQue<A>();
        LocalTensor<A> table = c2.AllocTensor<A>();
        DataCopy(table, line, up(s.n, 16));
        c2.EnQue(table);
        c1.FreeTensor(line);
        table = c2.DeQue<A>();
        Mmad(sum, l0a, l0b, table, p);
        c2.FreeTensor(table);
    } else {
        Mmad(sum, l0a, l0b, p);
    }
    if (s.halves != 0) {  // once more on top of it
        p.cmatrixInitVal = false;
        Mmad(sum, l0a, l0b, p);
    }
    a2.FreeTensor(l0a);
    b2.FreeTensor(l0b);
    out.EnQue(sum);
    sum = out.DeQue<A>();
    GlobalTensor<D> gm;
    gm.SetGlobalBuffer((__gm__ D *)c);
    FixpipeParamsV220 fix;
    fix.nSize = s.n;
    fix.mSize = s.m;
    fix.srcStride = rows;
    fix.dstStride = s.n;
    fix.reluEn = s.relu != 0;
    fix.quantPre = static_cast<QuantMode_t>(s.quant);
    fix.deqScalar = s.word;
    if (s.nz != 0) {
        fix.dstStride = rows * 16 * sizeof(D) / 32;
        Fixpipe<D, A, CFG_NZ>(gm, sum, fix);
    } else if (s.quant == VDEQF16 || s.quant == VQF322B8_PRE) {  // one word per column, in the place of the bias
        LocalTensor<uint64_t> words = c1.AllocTensor<uint64_t>();
        GlobalTensor<uint64_t> gm_words;
        gm_words.SetGlobalBuffer((__gm__ uint64_t *)bias);
        DataCopy(words, gm_words, s.n);
        c1.EnQue(words);
        words = c1.DeQue<uint64_t>();
        Fixpipe(gm, sum, words, fix);
        c1.FreeTensor(words);
    } else {
        Fixpipe(gm, sum, fix);
    }
    out.FreeTensor(sum);
}

__aicore__ void gather_blocks(GM_ADDR x, GM_ADDR y, int32_t flags)
{
    // The cube core copies nothing; each vector core adds 1 to its half once the cube core has set the flag, and the cube
    // core waits for both before it sets the next one. flags: 0 both waits, 1 the first is missing, 2 the set is.
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x);
    to.SetGlobalBuffer((__gm__ float *)y);
    if ASCEND_IS_AIC {
        for (int step = 0; step < 3; ++step) {
            if (flags != 2) {
                CrossCoreSetFlag<2, PIPE_FIX>(3);
            }
            CrossCoreWaitFlag<2>(4);
        }
        return;
    }
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    const uint32_t mine = GetSubBlockIdx() * 64, other = 64 - mine;
    auto local = buffer.Get<float>();
    for (int step = 0; step < 3; ++step) {
        if (flags != 1) {
            CrossCoreWaitFlag<2>(3);
        }
        // Each step reads what the other core wrote in the step before.
        DataCopy(local, step == 0 ? from[mine] : to[(step - 1) * 128 + other], 64);
        PipeBarrier<PIPE_ALL>();
        Adds(local, local, 1.0f, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to[step * 128 + mine], local, 64);
        PipeBarrier<PIPE_ALL>();
        CrossCoreSetFlag<2, PIPE_MTE3>(4);
    }
}

/// Modes 0 and 1: every vector core writes a number, waits for the others, then reads its neighbour's.
template <int kind, uint8_t mode>
__aicore__ void exchange(GM_ADDR, GM_ADDR y, int32_t signal)
{
    KERNEL_TASK_TYPE_DEFAULT(static_cast<KernelMetaType>(kind));
    if ASCEND_IS_AIC {
        return;
    }
    const int64_t cores = GetBlockNum() * GetSubBlockNum(), mine = GetBlockIdx();
    const int64_t group = mode == 0 ? cores : GetSubBlockNum(), first = mine / group * group;
    const int64_t other = first + (mine - first + 1) % group;
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 256);
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float *)y);
    auto local = buffer.Get<float>();
    Duplicate(local, static_cast<float>(mine + 1), 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[mine * 64], local, 64);
    if (signal != 0) {
        CrossCoreSetFlag<mode, PIPE_MTE3>(5);
        CrossCoreWaitFlag<mode>(5);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(local, to[other * 64], 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[(cores + mine) * 64], local, 64);
}

template <class T>
__aicore__ void sorting(GM_ADDR scores, GM_ADDR indices, GM_ADDR values, GM_ADDR order, int32_t count, int32_t form)
{
    TPipe pipe;
    TBuf<> in, index, sorted, merged, out;
    pipe.InitBuffer(in, count * sizeof(T));
    pipe.InitBuffer(index, count * 4);
    pipe.InitBuffer(sorted, count * 8);
    pipe.InitBuffer(merged, count * 8);
    pipe.InitBuffer(out, count * 4);
    GlobalTensor<T> gm_scores, gm_values;
    GlobalTensor<uint32_t> gm_indices, gm_order;
    gm_scores.SetGlobalBuffer((__gm__ T *)scores);
    gm_values.SetGlobalBuffer((__gm__ T *)values);
    gm_indices.SetGlobalBuffer((__gm__ uint32_t *)indices);
    gm_order.SetGlobalBuffer((__gm__ uint32_t *)order);
    auto x = in.Get<T>();
    auto i = index.Get<uint32_t>();
    auto s = sorted.Get<T>();
    auto m = merged.Get<T>();
    DataCopy(x, gm_scores, count);
    DataCopy(i, gm_indices, count);
    PipeBarrier<PIPE_ALL>();
    LocalTensor<T> result = s;
    if (form == 0) {  // groups of 32
        Sort32(s, x, i, count / 32);
    } else if (form == 1) {  // everything
        LocalTensor<T> concat;
        Concat(concat, x, m, count / 16);
        Sort<T, true>(s, concat, i, m, count / 32);
    } else {  // four queues merged, with the basic (2) or the high-level (3, 4) function
        Sort32(s, x, i, count / 32);
        const uint16_t each = count / 4;
        const uint32_t step = GetSortOffset<T>(each);
        const MrgSortSrcList<T> queues(s[0], s[step], s[2 * step], s[3 * step]);
        const uint16_t lengths[4] = {each, each, each, each};
        uint32_t taken[4] = {0, 0, 0, 0};
        if (form == 2) {
            MrgSort(m, queues, MrgSort4Info(lengths, false, 0b1111, 1));
        } else if (form == 3) {
            MrgSort<T, false>(m, queues, lengths, taken, 0b1111, 1);
        } else {  // stops when a queue is empty: the counts go out instead of the indices
            MrgSort<T, true>(m, queues, lengths, taken, 0b1111, 1);
            for (int queue = 0; queue < 4; ++queue) {
                gm_order.SetValue(queue, taken[queue]);
            }
            return;
        }
        result = m;
    }
    Extract(x, out.Get<uint32_t>(), result, count / 32);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm_values, x, count);
    DataCopy(gm_order, out.Get<uint32_t>(), count);
}

template <class... P, class... A>
int launch(const char *name, uint32_t blocks, void (*kernel)(P...), A... args)
{
    try {
        ::opmend::Launcher(name, __FILE__, __LINE__, blocks, nullptr, nullptr)(kernel, args...);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" int run_multiply(const char *types, uint8_t *a, uint8_t *b, uint8_t *bias, uint8_t *c, const Shape *shape)
{
    const std::string name = types;
    if (name == "f16>f32") return launch("multiply", 1, multiply<half, float, float>, a, b, bias, c, *shape);
    if (name == "f16>f16") return launch("multiply", 1, multiply<half, float, half>, a, b, bias, c, *shape);
    if (name == "bf16>bf16") return launch("multiply", 1, multiply<bfloat16_t, float, bfloat16_t>, a, b, bias, c, *shape);
    if (name == "f32>f32") return launch("multiply", 1, multiply<float, float, float>, a, b, bias, c, *shape);
    if (name == "f16>i8") return launch("multiply", 1, multiply<half, float, int8_t>, a, b, bias, c, *shape);
    if (name == "i8>i32") return launch("multiply", 1, multiply<int8_t, int32_t, int32_t>, a, b, bias, c, *shape);
    if (name == "i8>f16") return launch("multiply", 1, multiply<int8_t, int32_t, half>, a, b, bias, c, *shape);
    return 2;
}

extern "C" int run_cross(uint8_t *x, uint8_t *y, int32_t flags)
{
    return launch("gather_blocks", 1, gather_blocks, x, y, flags);
}

extern "C" int run_exchange(uint8_t *y, uint32_t blocks, int32_t mode, int32_t two, int32_t signal)
{
    constexpr int one_to_one = KERNEL_TYPE_MIX_AIC_1_1, one_to_two = KERNEL_TYPE_MIX_AIC_1_2;
    const auto kernel = mode == 0 ? (two != 0 ? exchange<one_to_two, 0> : exchange<one_to_one, 0>)
                                  : (two != 0 ? exchange<one_to_two, 1> : exchange<one_to_one, 1>);
    return launch("exchange", blocks, kernel, y, y, signal);
}

extern "C" int run_sort(int is_half, uint8_t *scores, uint8_t *indices, uint8_t *values, uint8_t *order, int32_t count,
                        int32_t form)
{
    return is_half != 0 ? launch("sorting", 1, sorting<half>, scores, indices, values, order, count, form)
                        : launch("sorting", 1, sorting<float>, scores, indices, values, order, count, form);
}
