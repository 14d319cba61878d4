#include "add_kernel.h"

extern "C" __global__ __aicore__ void add_custom_fp16(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AddKernel<half> kernel;
    kernel.Init(x, y, z, total);
    kernel.Process();
}

extern "C" void add_do_fp16(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z, uint32_t total)
{
    add_custom_fp16<<<blockDim, nullptr, stream>>>(x, y, z, total);
}
