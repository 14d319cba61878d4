#ifndef WEIGHTED_L2_GRAD_KERNEL_H
#define WEIGHTED_L2_GRAD_KERNEL_H

#include "kernel_operator.h"

#include "weighted_l2_grad_tiling.h"

template <typename T>
__aicore__ inline void LoadTile(
    const AscendC::LocalTensor<T> &dst, const AscendC::GlobalTensor<T> &src, uint32_t length)
{
    AscendC::DataCopyParams params;
    params.blockCount = 1;
    params.blockLen = static_cast<uint16_t>(length * sizeof(T));
    params.srcStride = 0;
    params.dstStride = 0;
    AscendC::DataCopyPadParams padParams;
    AscendC::DataCopyPad(dst, src, params, padParams);
}

template <typename T>
__aicore__ inline void StoreTile(
    const AscendC::GlobalTensor<T> &dst, const AscendC::LocalTensor<T> &src, uint32_t length)
{
    AscendC::DataCopyParams params;
    params.blockCount = 1;
    params.blockLen = static_cast<uint16_t>(length * sizeof(T));
    params.srcStride = 0;
    params.dstStride = 0;
    AscendC::DataCopyPad(dst, src, params);
}

template <typename T>
class WeightedL2Grad {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR grad, GM_ADDR tilingGm, AscendC::TPipe *pipeIn)
    {
        pipe = pipeIn;
        auto *tiling = reinterpret_cast<__gm__ WeightedL2GradTiling *>(tilingGm);
        const uint32_t blockIdx = AscendC::GetBlockIdx();
        uint32_t start = blockIdx * tiling->formerLength;
        coreLength = blockIdx < tiling->formerNum ? tiling->formerLength : tiling->tailLength;
        tileLength = tiling->tileLength;
        scale = static_cast<T>(tiling->scale);

        xGm.SetGlobalBuffer((__gm__ T *)x + start, coreLength);
        weightGm.SetGlobalBuffer((__gm__ T *)weight + start, coreLength);
        gradGm.SetGlobalBuffer((__gm__ T *)grad + start, coreLength);

        pipe->InitBuffer(inQueueX, 2, tileLength * sizeof(T));
        pipe->InitBuffer(inQueueWeight, 2, tileLength * sizeof(T));
        pipe->InitBuffer(outQueueGrad, 2, tileLength * sizeof(T));
    }

    __aicore__ inline void Process()
    {
        const uint32_t loopCount = (coreLength + tileLength - 1) / tileLength;
        for (uint32_t i = 0; i < loopCount; i++) {
            uint32_t length = tileLength;
            if (i == loopCount - 1) {
                length = coreLength - i * tileLength;
            }
            CopyIn(i, length);
            Compute(length);
            CopyOut(i, length);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t progress, uint32_t length)
    {
        AscendC::LocalTensor<T> xLocal = inQueueX.template AllocTensor<T>();
        AscendC::LocalTensor<T> weightLocal = inQueueWeight.template AllocTensor<T>();
        LoadTile(xLocal, xGm[progress * tileLength], length);
        LoadTile(weightLocal, weightGm[progress * tileLength], length);
        inQueueX.EnQue(xLocal);
        inQueueWeight.EnQue(weightLocal);
    }

    __aicore__ inline void Compute(uint32_t length)
    {
        AscendC::LocalTensor<T> xLocal = inQueueX.template DeQue<T>();
        AscendC::LocalTensor<T> weightLocal = inQueueWeight.template DeQue<T>();
        AscendC::LocalTensor<T> gradLocal = outQueueGrad.template AllocTensor<T>();

        AscendC::Mul(gradLocal, xLocal, weightLocal, length);
        AscendC::Muls(gradLocal, gradLocal, scale, length);

        outQueueGrad.template EnQue<T>(gradLocal);
        inQueueX.FreeTensor(xLocal);
        inQueueWeight.FreeTensor(weightLocal);
    }

    __aicore__ inline void CopyOut(uint32_t progress, uint32_t length)
    {
        AscendC::LocalTensor<T> gradLocal = outQueueGrad.template DeQue<T>();
        StoreTile(gradGm[progress * tileLength], gradLocal, length);
        outQueueGrad.FreeTensor(gradLocal);
    }

private:
    AscendC::TPipe *pipe = nullptr;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> inQueueX;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> inQueueWeight;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 2> outQueueGrad;
    AscendC::GlobalTensor<T> xGm;
    AscendC::GlobalTensor<T> weightGm;
    AscendC::GlobalTensor<T> gradGm;
    uint32_t coreLength = 0;
    uint32_t tileLength = 0;
    T scale = static_cast<T>(1.0f);
};

#endif
