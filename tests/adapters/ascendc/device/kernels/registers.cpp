// State that a kernel leaves on its core and reads back: the register of the last extreme, the system workspace.
#include "kernel_operator.h"

#include <stdexcept>

using namespace AscendC;

namespace {

// y: value and index of the largest (smallest) of `count` elements as the register tells them, counter mode over all.
template <class T, bool maximum>
__aicore__ void extreme(GM_ADDR x, GM_ADDR y, int32_t count, bool written)
{
    TPipe pipe;
    TBuf<> in, out, work;
    pipe.InitBuffer(in, 8192);
    pipe.InitBuffer(out, 1024);
    pipe.InitBuffer(work, 8192);
    GlobalTensor<T> from;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x), count);
    GlobalTensor<uint32_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ uint32_t *>(y), 4);
    auto a = in.Get<T>();
    if (written) {
        DataCopyPad(a, from, {1, static_cast<uint16_t>(count * sizeof(T)), 0, 0}, {false, 0, 0, 0});
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    }
    SetMaskCount();
    SetVectorMask<T, MaskMode::COUNTER>(0, count);
    if constexpr (maximum) {
        WholeReduceMax<T, false>(work.Get<T>(), a, MASK_PLACEHOLDER, 1, 1, 1, 8);
    } else {
        WholeReduceMin<T, false>(work.Get<T>(), a, MASK_PLACEHOLDER, 1, 1, 1, 8);
    }
    SetMaskNorm();
    ResetMask();
    T value = 0, index = 0;
    GetReduceMaxMinCount<T>(value, index);
    uint32_t bits = 0, at = 0;
    GetReduceRepeatMaxMinSpr<T>(bits, at);
    uint32_t index_bits = 0;
    memcpy(&index_bits, &index, sizeof(T));
    to.SetValue(0, bits);
    to.SetValue(1, at);
    to.SetValue(2, index_bits);
    ReduceMax(out.Get<T>(), a, work.Get<T>(), count, true);
    GetReduceMaxMinCount<T>(value, index);
    bits = 0;
    memcpy(&bits, &value, sizeof(T));
    to.SetValue(3, bits);
}

__global__ __aicore__ void extreme_kernel(GM_ADDR x, GM_ADDR y, int32_t count, int32_t half_, int32_t maximum,
                                          int32_t written)
{
    if (half_ != 0) {
        maximum != 0 ? extreme<half, true>(x, y, count, written != 0) : extreme<half, false>(x, y, count, written != 0);
    } else {
        maximum != 0 ? extreme<float, true>(x, y, count, written != 0) : extreme<float, false>(x, y, count, written != 0);
    }
}

// y: offsets from `workspace` of the system's and the user's part; the first core's word in the user's part is its index.
__global__ __aicore__ void workspace_kernel(GM_ADDR y, GM_ADDR workspace, int32_t set)
{
    if (set != 0) {
        SetSysWorkspace(workspace);
        SetSysWorkspace(workspace + 64);  // set already: no effect
    }
    GlobalTensor<int64_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t *>(y) + 16 * GetBlockIdx(), 16);
    to.SetValue(0, GetSysWorkSpacePtr() == nullptr ? -1 : GetSysWorkSpacePtr() - workspace);
    to.SetValue(1, reinterpret_cast<int64_t>(GetUserWorkspace(workspace)) - reinterpret_cast<int64_t>(GetSysWorkSpacePtr()));
    SetSysWorkspaceForce(workspace + 64);
    to.SetValue(2, GetSysWorkSpacePtr() - workspace);
}

// y = 2 * x while buffers beyond the Unified Buffer's end lie idle; touch 1: a TBuf there is written, 2: a queue's tensor,
// 3: across the end, in a buffer
// that begins inside.
__global__ __aicore__ void beyond_kernel(GM_ADDR x, GM_ADDR y, int32_t touch)
{
    TPipe pipe;
    TBuf<> work, straddling, idle;
    TQue<TPosition::VECOUT, 1> out, idle_queue;
    pipe.InitBuffer(work, 1024);
    pipe.InitBuffer(out, 1, 1024);
    pipe.InitBuffer(straddling, 192 * 1024 - 1024);
    pipe.InitBuffer(idle, 4096);
    pipe.InitBuffer(idle_queue, 1, 4096);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(x), 64);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(y), 64);
    auto a = work.Get<float>();
    DataCopy(a, from, 64);
    PipeBarrier<PIPE_ALL>();
    auto b = out.AllocTensor<float>();
    Muls(straddling.Get<float>(), a, 2.0f, 64);
    Muls(b, straddling.Get<float>(), 1.0f, 64);
    if (touch == 1) {
        Muls(idle.Get<float>(), a, 2.0f, 64);
    } else if (touch == 2) {
        DataCopy(idle_queue.AllocTensor<float>(), from, 64);
    } else if (touch == 3) {
        Muls(straddling.Get<float>()[(190 * 1024 - 128) / 4], a, 2.0f, 64);
    }
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(to, b, 64);
    out.FreeTensor(b);
}

// y = x where x > 0, else 0, for the first `stored` elements: compared by whole repeats, of which `loaded` were loaded.
template <class T>
__aicore__ void positive(GM_ADDR x, GM_ADDR y, int32_t loaded, int32_t stored)
{
    TPipe pipe;
    TBuf<> in, bits, out;
    pipe.InitBuffer(in, 1024);
    pipe.InitBuffer(bits, 256);
    pipe.InitBuffer(out, 1024);
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x), loaded);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(y), stored);
    auto a = in.Get<T>(), b = out.Get<T>();
    auto mask = bits.Get<uint8_t>();
    const int32_t whole = (loaded * sizeof(T) + 255) / 256 * 256 / sizeof(T);
    DataCopyPad(a, from, {1, static_cast<uint16_t>(loaded * sizeof(T)), 0, 0}, {false, 0, 0, 0});
    PipeBarrier<PIPE_ALL>();
    Duplicate(b, static_cast<T>(0), whole);
    Compare(mask, a, b, CMPMODE::GT, whole);
    Select(b, mask, a, static_cast<T>(0), SELMODE::VSEL_TENSOR_SCALAR_MODE, whole);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(to, b, {1, static_cast<uint16_t>(stored * sizeof(T)), 0, 0});
}

__global__ __aicore__ void positive_kernel(GM_ADDR x, GM_ADDR y, int32_t loaded, int32_t stored, int32_t half_)
{
    half_ != 0 ? positive<half>(x, y, loaded, stored) : positive<float>(x, y, loaded, stored);
}

// y[0] = the register's sum of 64 floats, of which `loaded` were loaded.
__global__ __aicore__ void sum_kernel(GM_ADDR x, GM_ADDR y, int32_t loaded)
{
    TPipe pipe;
    TBuf<> in, work, out;
    pipe.InitBuffer(in, 256);
    pipe.InitBuffer(work, 256);
    pipe.InitBuffer(out, 32);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(x), 64);
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(y), 8);
    DataCopy(in.Get<float>(), from, loaded);
    PipeBarrier<PIPE_ALL>();
    ReduceSum(out.Get<float>(), in.Get<float>(), work.Get<float>(), 64);
    to.SetValue(0, GetAccVal<float>());
}

// An addition in counter mode; without `counted` nobody says of how many elements.
__global__ __aicore__ void counter_kernel(GM_ADDR y, int32_t counted)
{
    TPipe pipe;
    TBuf<> in;
    pipe.InitBuffer(in, 256);
    GlobalTensor<float> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(y), 64);
    auto a = in.Get<float>();
    Duplicate(a, 1.0f, 64);
    SetMaskCount();
    if (counted != 0) {
        SetVectorMask<float, MaskMode::COUNTER>(0, 40);
    }
    Adds<float, false>(a, a, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    SetMaskNorm();
    ResetMask();
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, 64);
}

}  // namespace

extern "C" {

int run_counter(uint8_t *y, int32_t counted)
{
    try {
        ::opmend::Launcher("counter", __FILE__, __LINE__, 1, nullptr, nullptr)(counter_kernel, y, counted);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

int run_sum(uint8_t *x, uint8_t *y, int32_t loaded)
{
    ::opmend::Launcher("sum", __FILE__, __LINE__, 1, nullptr, nullptr)(sum_kernel, x, y, loaded);
    return 0;
}

int run_positive(uint8_t *x, uint8_t *y, int32_t loaded, int32_t stored, int32_t half_)
{
    ::opmend::Launcher launch("positive", __FILE__, __LINE__, 1, nullptr, nullptr);
    launch(positive_kernel, x, y, loaded, stored, half_);
    return 0;
}

int run_beyond(uint8_t *x, uint8_t *y, int32_t touch)
{
    try {
        ::opmend::Launcher("beyond", __FILE__, __LINE__, 1, nullptr, nullptr)(beyond_kernel, x, y, touch);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

int run_extreme(uint8_t *x, uint8_t *y, int32_t count, int32_t half_, int32_t maximum, int32_t written)
{
    ::opmend::Launcher launch("extreme", __FILE__, __LINE__, 1, nullptr, nullptr);
    launch(extreme_kernel, x, y, count, half_, maximum, written);
    return 0;
}

int run_workspace(uint8_t *y, uint8_t *workspace, int32_t set)
{
    ::opmend::Launcher("workspace", __FILE__, __LINE__, 2, nullptr, nullptr)(workspace_kernel, y, workspace, set);
    return 0;
}
}
