#include "swiglu_kernel.h"

extern "C" __global__ __aicore__ void swiglu_custom_fp32(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    SwigluKernel<float> kernel;
    kernel.Init(x, y, tiling, &pipe);
    kernel.Process();
}

extern "C" __global__ __aicore__ void swiglu_custom_fp16(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    SwigluKernel<half> kernel;
    kernel.Init(x, y, tiling, &pipe);
    kernel.Process();
}

extern "C" void swiglu_do_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    swiglu_custom_fp32<<<blockDim, nullptr, stream>>>(x, y, tiling);
}

extern "C" void swiglu_do_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    swiglu_custom_fp16<<<blockDim, nullptr, stream>>>(x, y, tiling);
}
