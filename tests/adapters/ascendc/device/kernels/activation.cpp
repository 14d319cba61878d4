// The softmax family and PopStackBuffer: a and b come in whole, y goes out whole.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Call {
    const char *name;
    const int64_t *p;
    uint32_t a_bytes, b_bytes, y_bytes;
};

/// y: the result, then blocks of sums, maxima and (updates) expMax; b: sums and maxima of the call before.
template <class T, class R>
bool rows(const Call &call, const LocalTensor<T> &a, const LocalTensor<uint8_t> &before, const LocalTensor<T> &y,
          const LocalTensor<uint8_t> &temporary)
{
    const std::string name = call.name;
    const uint32_t m = call.p[0], pitch = call.p[1], columns = call.p[2];
    const SoftMaxShapeInfo shape{m, pitch, m, columns};
    const SoftMaxTiling tiling;
    const auto bytes = y.template ReinterpretCast<uint8_t>()[m * pitch * sizeof(T)];
    const auto sum = bytes.template ReinterpretCast<R>(), max = bytes[m * 32].template ReinterpretCast<R>();
    const auto exp_max = bytes[m * 64].template ReinterpretCast<T>();
    const auto in_sum = before.ReinterpretCast<R>(), in_max = before[m * 32].ReinterpretCast<R>();
    if (name == "SoftmaxFlash") {
        SoftmaxFlash<T>(y, sum, max, a, exp_max, in_sum, in_max, temporary, tiling, call.p[3] != 0, shape);
        return true;
    }
    if (name == "SoftmaxFlashV2") {
        call.p[3] != 0 ? SoftmaxFlashV2<T, true>(y, sum, max, a, exp_max, in_sum, in_max, tiling, shape)
                       : SoftmaxFlashV2<T>(y, sum, max, a, exp_max, in_sum, in_max, temporary, tiling, shape);
        return true;
    }
    return false;
}

template <class T>
bool gradients(const Call &call, const LocalTensor<T> &a, const LocalTensor<T> &b, const LocalTensor<T> &y,
               const LocalTensor<uint8_t> &temporary)
{
    const std::string name = call.name;
    const uint32_t m = call.p[0], pitch = call.p[1], columns = call.p[2];
    const SoftMaxShapeInfo shape{m, pitch, m, columns};
    const LogSoftMaxTiling tiling;
    if (name == "SoftmaxGrad") {
        call.p[3] != 0 ? SoftmaxGrad<T>(y, a, b, tiling, true, shape) : SoftmaxGrad<T>(y, a, b, temporary, tiling, false, shape);
        return true;
    }
    if (name == "SoftmaxGradFront") {
        SoftmaxGradFront<T>(y, a, b, tiling, shape);
        return true;
    }
    if (name == "LogSoftMax") {
        const auto sides = y[m * pitch];
        LogSoftMax<T>(y, sides, sides[m * 32 / sizeof(T)], a, temporary, tiling, shape);
        return true;
    }
    if (name == "AdjustSoftMaxRes") {
        AdjustSoftMaxRes<T, float>(y, b.template ReinterpretCast<float>(), 0xFF7FFFFF, static_cast<T>(0.5f), shape);
        return true;
    }
    return false;
}

__global__ __aicore__ void run(GM_ADDR a, GM_ADDR b, GM_ADDR y, const Call *call, int dtype)
{
    TPipe pipe;
    TBuf<> first, second, result, work;
    pipe.InitBuffer(first, 32 * 1024);
    pipe.InitBuffer(second, 32 * 1024);
    pipe.InitBuffer(result, 32 * 1024);
    pipe.InitBuffer(work, 8 * 1024);
    GlobalTensor<uint8_t> gm_a, gm_b, gm_y;
    gm_a.SetGlobalBuffer(a);
    gm_b.SetGlobalBuffer(b);
    gm_y.SetGlobalBuffer(y);
    const DataCopyPadExtParams<uint8_t> none{false, 0, 0, 0};
    DataCopyPad(first.Get<uint8_t>(), gm_a, DataCopyExtParams(1, call->a_bytes, 0, 0, 0), none);
    DataCopyPad(second.Get<uint8_t>(), gm_b, DataCopyExtParams(1, call->b_bytes, 0, 0, 0), none);
    DataCopyPad(result.Get<uint8_t>(), gm_y, DataCopyExtParams(1, call->y_bytes, 0, 0, 0), none);
    PipeBarrier<PIPE_ALL>();
    const auto temporary = work.Get<uint8_t>(), before = second.Get<uint8_t>();
    bool known = false;
    if (dtype == 1) {
        known = gradients(*call, first.Get<half>(), second.Get<half>(), result.Get<half>(), temporary) ||
                rows<half, float>(*call, first.Get<half>(), before, result.Get<half>(), temporary);
    } else {
        known = gradients(*call, first.Get<float>(), second.Get<float>(), result.Get<float>(), temporary) ||
                rows<float, float>(*call, first.Get<float>(), before, result.Get<float>(), temporary);
    }
    if (!known) {
        throw std::runtime_error(std::string("no such operation: ") + call->name);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm_y, result.Get<uint8_t>(), DataCopyExtParams(1, call->y_bytes, 0, 0, 0));
}

/// Fills y through what `taken` bytes of buffers leave of the Unified Buffer; y[0] says how many elements that is.
__global__ __aicore__ void fill_from_stack(GM_ADDR y, uint32_t blocks, uint32_t taken)
{
    TPipe pipe;
    TBuf<> used;
    pipe.InitBuffer(used, taken);
    LocalTensor<int16_t> rest;
    const bool popped = PopStackBuffer<int16_t, TPosition::LCM>(rest);
    const auto count = static_cast<int32_t>(blocks * 16);
    if (!popped) {
        return;
    }
    DuplicateImpl<int16_t>((__ubuf__ int16_t *)rest.GetPhyAddr(), 7, count);
    rest.SetValue(0, static_cast<int16_t>(rest.GetSize() / 16));
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    SetFlag<HardEvent::S_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::S_MTE3>(EVENT_ID0);
    DataCopyUB2GMImpl((__gm__ int16_t *)y, (__ubuf__ int16_t *)rest.GetPhyAddr(), {1, static_cast<uint16_t>(blocks), 0, 0});
}

/// Every core writes how many vector cores its block has.
__global__ __aicore__ void typed_for_other_parts(GM_ADDR y)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_VECTOR_CORE);
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer((__gm__ int32_t *)y);
    out.SetValue(GetBlockIdx() * 16, static_cast<int32_t>(GetSubBlockNum()));
}

template <class... P, class... A>
int launch(void (*kernel)(P...), A... args)
{
    try {
        ::opmend::Launcher("activation", __FILE__, __LINE__, 1, nullptr, nullptr)(kernel, args...);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" int run_operation(const char *name, int dtype, uint8_t *a, uint32_t a_bytes, uint8_t *b, uint32_t b_bytes,
                             uint8_t *y, uint32_t y_bytes, const int64_t *p, const double *)
{
    const Call call{name, p, a_bytes, b_bytes, y_bytes};
    return launch(run, a, b, y, &call, dtype);
}

extern "C" int run_stack(uint8_t *y, uint32_t blocks, uint32_t taken) { return launch(fill_from_stack, y, blocks, taken); }
extern "C" int run_typed(uint8_t *y) { return launch(typed_for_other_parts, y); }
