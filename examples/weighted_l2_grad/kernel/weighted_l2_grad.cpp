#include "weighted_l2_grad_kernel.h"

extern "C" __global__ __aicore__ void weighted_l2_grad_kernel_fp32(
    GM_ADDR x, GM_ADDR weight, GM_ADDR grad, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    WeightedL2Grad<float> op;
    op.Init(x, weight, grad, tiling, &pipe);
    op.Process();
}

extern "C" void weighted_l2_grad_do_fp32(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *weight, uint8_t *grad, uint8_t *tiling)
{
    weighted_l2_grad_kernel_fp32<<<blockDim, nullptr, stream>>>(x, weight, grad, tiling);
}
