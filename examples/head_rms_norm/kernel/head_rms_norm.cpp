#include "head_rms_norm_kernel.h"

#define DEFINE_HEAD_RMS_NORM(suffix, dtype)                                                                     \
    extern "C" __global__ __aicore__ void head_rms_norm_##suffix(                                              \
        GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR tiling)                                                   \
    {                                                                                                          \
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);                                                        \
        AscendC::TPipe pipe;                                                                                   \
        HeadRmsNormKernel<dtype> kernel(&pipe);                                                                \
        kernel.Init(x, gamma, y, tiling);                                                                      \
        kernel.Process();                                                                                      \
    }

DEFINE_HEAD_RMS_NORM(fp32, float)
DEFINE_HEAD_RMS_NORM(fp16, half)
DEFINE_HEAD_RMS_NORM(bf16, bfloat16_t)

extern "C" void head_rms_norm_do_fp32(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *gamma, uint8_t *y, uint8_t *tiling)
{
    head_rms_norm_fp32<<<blockDim, nullptr, stream>>>(x, gamma, y, tiling);
}

extern "C" void head_rms_norm_do_fp16(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *gamma, uint8_t *y, uint8_t *tiling)
{
    head_rms_norm_fp16<<<blockDim, nullptr, stream>>>(x, gamma, y, tiling);
}

extern "C" void head_rms_norm_do_bf16(
    uint32_t blockDim, void *stream, uint8_t *x, uint8_t *gamma, uint8_t *y, uint8_t *tiling)
{
    head_rms_norm_bf16<<<blockDim, nullptr, stream>>>(x, gamma, y, tiling);
}
