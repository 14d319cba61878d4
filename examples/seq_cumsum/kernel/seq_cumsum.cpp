#include "seq_cumsum_kernel.h"

extern "C" __global__ __aicore__ void seq_cumsum_fp32(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    SeqCumsum<float> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" __global__ __aicore__ void seq_cumsum_fp16(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    SeqCumsum<half> op;
    op.Init(x, y, tiling, &pipe);
    op.Process();
}

extern "C" void seq_cumsum_do_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    seq_cumsum_fp32<<<blockDim, nullptr, stream>>>(x, y, tiling);
}

extern "C" void seq_cumsum_do_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    seq_cumsum_fp16<<<blockDim, nullptr, stream>>>(x, y, tiling);
}
