// A correct kernel and its mutants, one for each kind of finding. The mutant is chosen by number: the test names them.
// Lines that a finding must point at carry a `mutant:` comment.
#include "kernel_operator.h"

#include <stdexcept>

using namespace AscendC;

namespace {

enum Mutant {
    kOriginal, kWritePastEnd, kReadPastEnd, kReadPadding, kSmallBuffer, kMisaligned, kCapacity, kNoLoad, kNoFree,
    kNoEnQue, kDoubleFree, kLeak, kUseAfterFree, kUnalignedCount, kOutsideUb,
};

// y = a + b over `length` floats; every core takes a contiguous share, in tiles of 64 with a ragged tail.
class Add3 {
public:
    __aicore__ inline Add3(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t length, int mutant) : mutant_(mutant)
    {
        const uint32_t cores = GetBlockNum();
        share_ = (length / cores + 7) / 8 * 8;
        start_ = share_ * GetBlockIdx();
        end_ = GetBlockIdx() + 1 == GetBlockNum() ? length : start_ + share_;
        a_.SetGlobalBuffer((__gm__ float *)a, length);
        b_.SetGlobalBuffer((__gm__ float *)b, length);
        y_.SetGlobalBuffer((__gm__ float *)y, length);
        pipe_.InitBuffer(in_, 2, kTile * sizeof(float) / (mutant == kSmallBuffer ? 2 : 1));
        pipe_.InitBuffer(in2_, 2, kTile * sizeof(float));
        pipe_.InitBuffer(out_, 1, mutant == kCapacity ? 200 * 1024 : kTile * sizeof(float));  // mutant: capacity
    }

    __aicore__ inline void Process()
    {
        for (uint32_t at = start_; at < end_; at += kTile) {
            const uint32_t count = end_ - at < kTile ? end_ - at : kTile;
            CopyIn(at, count);
            Compute(count);
            CopyOut(at, count);
        }
    }

private:
    static constexpr uint32_t kTile = 64;

    __aicore__ inline void CopyIn(uint32_t at, uint32_t count)
    {
        auto a = in_.AllocTensor<float>();  // mutant: no free
        auto b = in2_.AllocTensor<float>();
        const bool tail = count < kTile;
        uint32_t wanted = count;
        if (mutant_ == kReadPastEnd && tail) wanted = kTile;
        if (mutant_ == kReadPadding && tail) wanted = (count + 7) / 8 * 8;
        const DataCopyExtParams params(1, wanted * sizeof(float), 0, 0, 0);
        const DataCopyPadExtParams<float> pad(false, 0, 0, 0.0f);
        if (mutant_ != kNoLoad || at == start_) {  // without: only the first tile is loaded
            if (mutant_ == kUnalignedCount) {
                DataCopy(a, a_[at], count);  // mutant: unaligned
            } else {
                DataCopyPad(a, a_[at], params, pad);
            }
        }
        DataCopyPad(b, b_[at], DataCopyExtParams(1, count * sizeof(float), 0, 0, 0), pad);
        if (mutant_ != kNoEnQue) in_.EnQue(a);
        in2_.EnQue(b);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        auto a = in_.DeQue<float>();
        auto b = in2_.DeQue<float>();
        auto y = out_.AllocTensor<float>();
        if (mutant_ == kMisaligned) {
            Add(y, a[1], b, static_cast<int32_t>(count - 1));  // mutant: misaligned
        }
        if (mutant_ == kOutsideUb) {
            Add(y[1 << 20], a, b, static_cast<int32_t>(count));  // mutant: outside
        }
        if (mutant_ == kUseAfterFree) {
            in2_.FreeTensor(b);
        }
        Add(y, a, b, static_cast<int32_t>(count));  // mutant: use after free
        out_.EnQue(y);
        if (mutant_ != kNoFree) in_.FreeTensor(a);
        if (mutant_ == kDoubleFree) in_.FreeTensor(a);
        if (mutant_ != kUseAfterFree) in2_.FreeTensor(b);
    }

    __aicore__ inline void CopyOut(uint32_t at, uint32_t count)
    {
        auto y = out_.DeQue<float>();
        const uint32_t wanted = mutant_ == kWritePastEnd ? kTile : count;
        DataCopyPad(y_[at], y, DataCopyExtParams(1, wanted * sizeof(float), 0, 0, 0));  // mutant: store
        const bool last = at + kTile >= end_;
        if (!(mutant_ == kLeak && last)) out_.FreeTensor(y);
    }

    TPipe pipe_;
    TQue<TPosition::VECIN, 1> in_, in2_;
    TQue<TPosition::VECOUT, 1> out_;
    GlobalTensor<float> a_, b_, y_;
    uint32_t share_, start_, end_;
    int mutant_;
};

extern "C" __global__ __aicore__ void add3(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t length, int mutant)
{
    Add3 kernel(a, b, y, length, mutant);
    kernel.Process();
}

enum FlagMutant { kFlagsRight, kNoInputFlag, kNoOutputFlag, kNoReuseFlag, kWaitWithoutSet, kSetWithoutWait };

// y = 2 * x over two tiles in one plain buffer, ordered by flags alone.
extern "C" __global__ __aicore__ void flags(GM_ADDR x, GM_ADDR y, int mutant)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    GlobalTensor<float> gm_x, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float *)x, 128);
    gm_y.SetGlobalBuffer((__gm__ float *)y, 128);
    auto tile = buffer.Get<float>();
    for (int i = 0; i < 2; ++i) {
        if (i > 0 && mutant != kNoReuseFlag) WaitFlag<HardEvent::MTE3_MTE2>(EVENT_ID2);
        DataCopy(tile, gm_x[i * 64], 64);  // mutant: reuse
        if (mutant != kNoInputFlag) {
            if (mutant != kWaitWithoutSet) SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
            WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);  // mutant: wait
        }
        Muls(tile, tile, 2.0f, 64);  // mutant: input
        if (mutant != kNoOutputFlag) {
            SetFlag<HardEvent::V_MTE3>(EVENT_ID1);
            WaitFlag<HardEvent::V_MTE3>(EVENT_ID1);
        }
        DataCopy(gm_y[i * 64], tile, 64);  // mutant: output
        if (i == 0 && mutant != kNoReuseFlag) SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID2);
        if (i == 1 && mutant == kSetWithoutWait) SetFlag<HardEvent::MTE3_MTE2>(EVENT_ID3);
    }
}

// TQueBind orders copies in against copies out; scalar reads and writes are ordered by the compiler: no findings.
extern "C" __global__ __aicore__ void ordered(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> bind;
    TBuf<> buffer;
    pipe.InitBuffer(bind, 2, 256);
    pipe.InitBuffer(buffer, 256);
    GlobalTensor<float> gm_x, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float *)x, 256);
    gm_y.SetGlobalBuffer((__gm__ float *)y, 256);
    for (int i = 0; i < 4; ++i) {
        auto tile = bind.AllocTensor<float>();
        DataCopy(tile, gm_x[i * 64], 64);
        bind.EnQue(tile);
        tile = bind.DeQue<float>();
        DataCopy(gm_y[i * 64], tile, 64);
        bind.FreeTensor(tile);
    }
    auto scratch = buffer.Get<float>();
    Duplicate(scratch, 1.0f, 64);
    scratch.SetValue(3, scratch.GetValue(2) + 1.0f);
    Adds(scratch, scratch, 1.0f, 64);
    const auto id = GetTPipePtr()->FetchEventID(HardEvent::V_MTE3);
    SetFlag<HardEvent::V_MTE3>(id);
    WaitFlag<HardEvent::V_MTE3>(id);
    DataCopy(gm_y, scratch, 64);
}

enum GridMutant { kGridRight, kSkipSync, kNoSync, kSameLine };

// Every core adds its index to 64 shared sums and, after SyncAll, stores the total in a place of its own.
extern "C" __global__ __aicore__ void totals(GM_ADDR sums, GM_ADDR y, int mutant)
{
    TPipe pipe;
    TQue<TPosition::VECOUT, 1> out;
    TQue<TPosition::VECIN, 1> in;
    pipe.InitBuffer(out, 1, 256);
    pipe.InitBuffer(in, 1, 256);
    GlobalTensor<float> gm_sums, gm_y;
    gm_sums.SetGlobalBuffer((__gm__ float *)sums, 64);
    gm_y.SetGlobalBuffer((__gm__ float *)y);
    auto mine = out.AllocTensor<float>();
    Duplicate(mine, static_cast<float>(GetBlockIdx()), 64);
    out.EnQue(mine);
    mine = out.DeQue<float>();
    SetAtomicAdd<float>();
    DataCopy(gm_sums, mine, 64);
    SetAtomicNone();
    out.FreeTensor(mine);
    if (!(mutant == kSkipSync && GetBlockIdx() == 3) && mutant != kNoSync) {
        SyncAll();
    }
    auto total = in.AllocTensor<float>();
    DataCopy(total, gm_sums, 64);
    in.EnQue(total);
    total = in.DeQue<float>();
    const float value = total.GetValue(0);
    in.FreeTensor(total);
    const int64_t stride = mutant == kSameLine ? 1 : 16;  // floats: one 64-byte line for each core
    gm_y.SetValue(GetBlockIdx() * stride, value);
}

// Every core stores its own value to the same 64 floats.
extern "C" __global__ __aicore__ void race(GM_ADDR y, int same_value)
{
    TPipe pipe;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(out, 1, 256);
    GlobalTensor<float> gm_y;
    gm_y.SetGlobalBuffer((__gm__ float *)y, 64);
    auto mine = out.AllocTensor<float>();
    Duplicate(mine, same_value != 0 ? 1.0f : static_cast<float>(GetBlockIdx()), 64);
    out.EnQue(mine);
    mine = out.DeQue<float>();
    DataCopy(gm_y, mine, 64);
    out.FreeTensor(mine);
}

// Every core reads the same 64 floats, then the last core stores to them.
extern "C" __global__ __aicore__ void overwrite(GM_ADDR x, GM_ADDR y)
{
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> bind;
    pipe.InitBuffer(bind, 1, 256);
    GlobalTensor<float> gm_x, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float *)x, 64);
    gm_y.SetGlobalBuffer((__gm__ float *)y + GetBlockIdx() * 64, 64);
    auto tile = bind.AllocTensor<float>();
    DataCopy(tile, gm_x, 64);
    bind.EnQue(tile);
    tile = bind.DeQue<float>();
    DataCopy(gm_y, tile, 64);
    if (GetBlockIdx() + 1 == GetBlockNum()) {
        tile.SetValue(0, -1.0f);
        DataCopy(gm_x, tile, 64);
    }
    bind.FreeTensor(tile);
}

// Where each vector core of a MIX grid finds itself: y[index] = block * 100 + sub * 10 + subs.
extern "C" __global__ __aicore__ void grid12(GM_ADDR y)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    GlobalTensor<int32_t> gm_y;
    gm_y.SetGlobalBuffer((__gm__ int32_t *)y);
    if ASCEND_IS_AIV {
        const int32_t index = GetBlockIdx();
        gm_y.SetValue(index * 16, (index / 2) * 100 + GetSubBlockIdx() * 10 + GetSubBlockNum());
        SyncAll();
    }
}

template <class F>
int guarded(F run)
{
    try {
        run();
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace

#define LAUNCH(KERNEL, BLOCKS) ::opmend::Launcher(#KERNEL, __FILE__, __LINE__, (BLOCKS), nullptr, nullptr)

extern "C" {
int run_add3(uint32_t blocks, uint8_t *a, uint8_t *b, uint8_t *y, uint32_t length, int mutant)
{
    return guarded([&] { LAUNCH(add3, blocks)(add3, a, b, y, length, mutant); });
}
int run_flags(uint8_t *x, uint8_t *y, int mutant)
{
    return guarded([&] { LAUNCH(flags, 1)(flags, x, y, mutant); });
}
int run_ordered(uint8_t *x, uint8_t *y)
{
    return guarded([&] { LAUNCH(ordered, 1)(ordered, x, y); });
}
int run_totals(uint32_t blocks, uint8_t *sums, uint8_t *y, int mutant)
{
    return guarded([&] { LAUNCH(totals, blocks)(totals, sums, y, mutant); });
}
int run_race(uint32_t blocks, uint8_t *y, int same_value)
{
    return guarded([&] { LAUNCH(race, blocks)(race, y, same_value); });
}
int run_overwrite(uint32_t blocks, uint8_t *x, uint8_t *y)
{
    return guarded([&] { LAUNCH(overwrite, blocks)(overwrite, x, y); });
}
int run_grid12(uint32_t blocks, uint8_t *y)
{
    return guarded([&] { LAUNCH(grid12, blocks)(grid12, y); });
}
}
