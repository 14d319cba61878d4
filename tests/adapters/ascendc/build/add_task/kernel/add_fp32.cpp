#include "add_kernel.h"

extern "C" __global__ __aicore__ void add_custom_fp32(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AddKernel<float> kernel;
    kernel.Init(x, y, z, total);
    kernel.Process();
}

extern "C" void add_do_fp32(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z, uint32_t total)
{
    add_custom_fp32<<<blockDim, nullptr, stream>>>(x, y, z, total);
}
