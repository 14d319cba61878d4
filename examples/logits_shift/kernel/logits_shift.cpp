#include "kernel_operator.h"

#include "logits_shift_tiling.h"

using namespace AscendC;

constexpr int32_t QUEUE_DEPTH = 2;

template <typename T>
class KernelLogitsShift {
public:
    __aicore__ inline KernelLogitsShift() {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR tilingAddr)
    {
        auto *tiling = reinterpret_cast<__gm__ LogitsShiftTiling *>(tilingAddr);
        this->cols = tiling->cols;
        this->colsAligned = tiling->colsAligned;
        this->rowsPerTile = tiling->rowsPerTile;
        this->rowBegin = GetBlockIdx() * tiling->rowsPerCore;
        this->rowEnd = this->rowBegin + tiling->rowsPerCore;
        if (this->rowEnd > tiling->rows) {
            this->rowEnd = tiling->rows;
        }

        xGm.SetGlobalBuffer((__gm__ T *)x, static_cast<uint64_t>(tiling->rows) * this->cols);
        yGm.SetGlobalBuffer((__gm__ T *)y, static_cast<uint64_t>(tiling->rows) * this->cols);

        const uint32_t tileBytes = this->rowsPerTile * this->colsAligned * sizeof(T);
        pipe.InitBuffer(inQueueX, QUEUE_DEPTH, tileBytes);
        pipe.InitBuffer(outQueueY, QUEUE_DEPTH, tileBytes);
        pipe.InitBuffer(workBuf, this->colsAligned * sizeof(T));
        pipe.InitBuffer(maxBuf, 32);
    }

    __aicore__ inline void Process()
    {
        for (uint32_t row = this->rowBegin; row < this->rowEnd; row += this->rowsPerTile) {
            uint32_t rowCount = this->rowEnd - row;
            if (rowCount > this->rowsPerTile) {
                rowCount = this->rowsPerTile;
            }
            CopyIn(row, rowCount);
            Compute(rowCount);
            CopyOut(row, rowCount);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t row, uint32_t rowCount)
    {
        LocalTensor<T> xLocal = inQueueX.AllocTensor<T>();
        DataCopyExtParams copyParams;
        copyParams.blockCount = static_cast<uint16_t>(rowCount);
        copyParams.blockLen = this->cols * sizeof(T);
        copyParams.srcStride = 0;
        copyParams.dstStride = 0;
        copyParams.rsv = 0;
        DataCopyPadExtParams<T> padParams;
        padParams.isPad = true;
        padParams.leftPadding = 0;
        padParams.rightPadding = static_cast<uint8_t>(this->colsAligned - this->cols);
        padParams.paddingValue = static_cast<T>(0);
        DataCopyPad(xLocal, xGm[static_cast<uint64_t>(row) * this->cols], copyParams, padParams);
        inQueueX.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t rowCount)
    {
        LocalTensor<T> xLocal = inQueueX.DeQue<T>();
        LocalTensor<T> yLocal = outQueueY.AllocTensor<T>();
        LocalTensor<T> workLocal = workBuf.Get<T>();
        LocalTensor<T> maxLocal = maxBuf.Get<T>();
        for (uint32_t i = 0; i < rowCount; ++i) {
            const uint32_t rowOffset = i * this->colsAligned;
            ReduceMax(maxLocal, xLocal[rowOffset], workLocal, static_cast<int32_t>(this->colsAligned), false);
            const T rowMax = maxLocal.GetValue(0);
            const T shift = static_cast<T>(-static_cast<float>(rowMax));
            Adds(yLocal[rowOffset], xLocal[rowOffset], shift, static_cast<int32_t>(this->colsAligned));
        }
        outQueueY.EnQue(yLocal);
        inQueueX.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t rowCount)
    {
        LocalTensor<T> yLocal = outQueueY.DeQue<T>();
        DataCopyExtParams copyParams{
            static_cast<uint16_t>(rowCount), static_cast<uint32_t>(this->cols * sizeof(T)), 0, 0, 0};
        DataCopyPad(yGm[static_cast<uint64_t>(row) * this->cols], yLocal, copyParams);
        outQueueY.FreeTensor(yLocal);
    }

private:
    TPipe pipe;
    TQue<TPosition::VECIN, QUEUE_DEPTH> inQueueX;
    TQue<TPosition::VECOUT, QUEUE_DEPTH> outQueueY;
    TBuf<TPosition::VECCALC> workBuf;
    TBuf<TPosition::VECCALC> maxBuf;
    GlobalTensor<T> xGm;
    GlobalTensor<T> yGm;
    uint32_t cols = 0;
    uint32_t colsAligned = 0;
    uint32_t rowsPerTile = 0;
    uint32_t rowBegin = 0;
    uint32_t rowEnd = 0;
};

template <typename T>
__aicore__ inline void RunLogitsShift(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KernelLogitsShift<T> op;
    op.Init(x, y, tiling);
    op.Process();
}

extern "C" __global__ __aicore__ void logits_shift_float(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    RunLogitsShift<float>(x, y, tiling);
}

extern "C" __global__ __aicore__ void logits_shift_half(GM_ADDR x, GM_ADDR y, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    RunLogitsShift<half>(x, y, tiling);
}

extern "C" void logits_shift_do(
    uint32_t blockDim, void *stream, bool isHalf, uint8_t *x, uint8_t *y, uint8_t *tiling)
{
    if (isHalf) {
        logits_shift_half<<<blockDim, nullptr, stream>>>(x, y, tiling);
    } else {
        logits_shift_float<<<blockDim, nullptr, stream>>>(x, y, tiling);
    }
}
