// A correct kernel and mutants of it, for the checks that the canaries of canaries.cpp do not reach.
#include "kernel_operator.h"

#include <stdexcept>

using namespace AscendC;

namespace {

enum Mutant {
    kRight, kForeignFree, kForeignEnQue, kFreeWhileQueued, kTooDeep, kNoBytes, kFlagTwice, kBeforeInit, kPastTBuf,
    kFillerOut, kScalarUnset, kGatherOutside, kMisalignedCopy, kFailedAssert,
};

// y = 2 * x over 64 floats.
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, int mutant)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in, other;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<> work;
    pipe.InitBuffer(in, 2, 256);
    if (mutant != kBeforeInit) pipe.InitBuffer(other, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    pipe.InitBuffer(work, mutant == kNoBytes ? 0 : 1024);
    GlobalTensor<float> gm_x, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float *)x, 64);
    gm_y.SetGlobalBuffer((__gm__ float *)y, 64);
    if (mutant == kBeforeInit) other.AllocTensor<float>();
    auto a = in.AllocTensor<float>();
    if (mutant == kFillerOut) {
        DataCopyPad(a, gm_x, DataCopyExtParams(1, 63 * 4, 0, 0, 0), DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
    } else if (mutant == kMisalignedCopy) {
        DataCopy(a[4], gm_x, 56);
    } else {
        DataCopy(a, gm_x, 64);
    }
    if (mutant == kForeignEnQue) other.EnQue(a);
    in.EnQue(a);
    if (mutant == kFreeWhileQueued) in.FreeTensor(a);
    if (mutant == kTooDeep) {
        auto second = in.AllocTensor<float>();
        Duplicate(second, 0.0f, 64);
        in.EnQue(second);
        in.DeQue<float>();
        in.FreeTensor(second);
    }
    a = in.DeQue<float>();
    auto b = out.AllocTensor<float>();
    auto scratch = work.Get<float>();
    if (mutant == kPastTBuf) work.Get<float>(512);
    if (mutant == kScalarUnset) scratch.GetValue(3);
    if (mutant == kGatherOutside) {
        auto offsets = work.Get<uint32_t>();
        Duplicate(offsets, 1u << 20, 64);
        Gather(b, a, offsets, 0, 64);
    }
    Muls(b, a, 2.0f, 64);
    if (mutant == kForeignFree) other.FreeTensor(a);
    in.FreeTensor(a);
    if (mutant == kFlagTwice) {
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    }
    ASSERT(mutant != kFailedAssert);
    out.EnQue(b);
    b = out.DeQue<float>();
    DataCopy(gm_y, b, 64);
    out.FreeTensor(b);
}

}  // namespace

extern "C" int run_twice(uint8_t *x, uint8_t *y, int mutant)
{
    try {
        ::opmend::Launcher("twice", __FILE__, __LINE__, 1, nullptr, nullptr)(twice, x, y, mutant);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
