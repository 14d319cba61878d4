// Kernels for the flight recorder. Lines that a record must point at carry a `record:` comment.
#include "kernel_operator.h"

#include <stdexcept>

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 64;

// y = exp(ln(x) * scale) over tiles of 64 floats, four of them on every core.
extern "C" __global__ __aicore__ void power(GM_ADDR x, GM_ADDR y, float scale)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, kTile * sizeof(float));
    pipe.InitBuffer(out, 1, kTile * sizeof(float));
    GlobalTensor<float> gm_x, gm_y;
    gm_x.SetGlobalBuffer((__gm__ float *)x + GetBlockIdx() * 4 * kTile, 4 * kTile);
    gm_y.SetGlobalBuffer((__gm__ float *)y + GetBlockIdx() * 4 * kTile, 4 * kTile);
    for (uint32_t tile = 0; tile < 4; ++tile) {
        auto a = in.AllocTensor<float>();
        DataCopy(a, gm_x[tile * kTile], kTile);  // record: load
        in.EnQue(a);
        a = in.DeQue<float>();
        auto b = out.AllocTensor<float>();
        Ln(b, a, kTile);  // record: ln
        Muls(b, b, scale, kTile);  // record: scale
        in.FreeTensor(a);
        Exp(b, b, kTile);  // record: exp
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(gm_y[tile * kTile], b, kTile);
        out.FreeTensor(b);
    }
}

// One instruction of each shape: strided, scattered, narrow, with a work tensor, into a buffer that is poisoned next.
extern "C" __global__ __aicore__ void shapes(GM_ADDR x)
{
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(in, 1, 1024);
    pipe.InitBuffer(buffer, 4096);
    GlobalTensor<float> gm_x;
    gm_x.SetGlobalBuffer((__gm__ float *)x, 128);
    auto work = buffer.Get<float>();
    Duplicate(work, 1.0f, 256);  // record: fill
    auto a = in.AllocTensor<float>();
    DataCopy(a, gm_x, 128);
    in.EnQue(a);
    a = in.DeQue<float>();
    Adds(work[512], a, 0.5f, 64, 2, UnaryRepeatParams{2, 1, 16, 8});  // record: strided
    uint64_t odd[2] = {0xaaaaaaaaaaaaaaaaull, 0};
    Muls(work, a, 3.0f, odd, 1, UnaryRepeatParams{1, 1, 8, 8});  // record: scattered
    auto narrow = work[256].ReinterpretCast<half>();
    Cast(narrow, a, RoundMode::CAST_RINT, 128);  // record: narrow
    ReduceMax(work[128], a, work[192], 128, true);  // record: reduce
    Duplicate(a, 2.0f, 128);  // record: freed
    in.FreeTensor(a);
    a = in.AllocTensor<float>();
    in.FreeTensor(a);
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

extern "C" {
int run_power(uint32_t blocks, uint8_t *x, uint8_t *y, double scale)
{
    return guarded([&] {
        ::opmend::Launcher("power", __FILE__, __LINE__, blocks, nullptr, nullptr)(power, x, y,
                                                                                static_cast<float>(scale));
    });
}
int run_shapes(uint8_t *x)
{
    return guarded([&] { ::opmend::Launcher("shapes", __FILE__, __LINE__, 1, nullptr, nullptr)(shapes, x); });
}
}
