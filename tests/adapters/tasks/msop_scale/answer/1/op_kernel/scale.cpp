#include "kernel_operator.h"

#if ORIG_DTYPE_X == DT_FLOAT
constexpr bool SINGLE = true;
#else
constexpr bool SINGLE = false;
#endif

extern "C" __global__ __aicore__ void scale(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(data, tiling);
    if (data.inner.wide != (1ULL << 40) || data.widths[2] != 3 || TILING_KEY_IS(1) != SINGLE) {
        return;
    }
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::QuePosition::VECIN, 1> in;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 1> out;
    AscendC::GlobalTensor<DTYPE_X> from;
    AscendC::GlobalTensor<DTYPE_Y> to;
    from.SetGlobalBuffer((__gm__ DTYPE_X *)x + AscendC::GetBlockIdx() * data.length, data.length);
    to.SetGlobalBuffer((__gm__ DTYPE_Y *)y + AscendC::GetBlockIdx() * data.length, data.length);
    pipe.InitBuffer(in, 1, data.length * sizeof(DTYPE_X));
    pipe.InitBuffer(out, 1, data.length * sizeof(DTYPE_Y));
    auto given = in.AllocTensor<DTYPE_X>();
    AscendC::DataCopy(given, from, data.length);
    in.EnQue(given);
    given = in.DeQue<DTYPE_X>();
    auto made = out.AllocTensor<DTYPE_Y>();
    AscendC::Muls(made, given, static_cast<DTYPE_X>(data.factor + 1), data.length);
    out.EnQue(made);
    in.FreeTensor(given);
    made = out.DeQue<DTYPE_Y>();
    AscendC::DataCopy(to, made, data.length);
    out.FreeTensor(made);
}
