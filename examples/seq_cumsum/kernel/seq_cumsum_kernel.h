#ifndef SEQ_CUMSUM_KERNEL_H
#define SEQ_CUMSUM_KERNEL_H

#include <type_traits>

#include "kernel_operator.h"

#include "seq_cumsum_tiling.h"

// One task is one block of columns of one batch; a core takes every GetBlockNum()-th task.
template <typename T>
class SeqCumsum {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR tilingGm, AscendC::TPipe *pipe)
    {
        auto *tiling = reinterpret_cast<__gm__ SeqCumsumTiling *>(tilingGm);
        seq_ = tiling->seq;
        dim_ = tiling->dim;
        dimBlocks_ = tiling->dimBlocks;
        taskNum_ = tiling->taskNum;

        const uint64_t total = static_cast<uint64_t>(tiling->batch) * seq_ * dim_;
        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x), total);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(y), total);

        pipe->InitBuffer(xQueue_, 2, SEQ_TILE * DIM_TILE * sizeof(T));
        pipe->InitBuffer(yQueue_, 2, SEQ_TILE * DIM_TILE * sizeof(T));
        if constexpr (!std::is_same_v<T, float>) {
            pipe->InitBuffer(sumBuf_, SEQ_TILE * DIM_TILE * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        for (uint32_t task = AscendC::GetBlockIdx(); task < taskNum_; task += AscendC::GetBlockNum()) {
            const uint32_t dimStart = task % dimBlocks_ * DIM_TILE;
            width_ = dim_ - dimStart < DIM_TILE ? dim_ - dimStart : DIM_TILE;
            pitch_ = (width_ + BLOCK_ELEMS - 1) / BLOCK_ELEMS * BLOCK_ELEMS;
            const uint64_t base = static_cast<uint64_t>(task / dimBlocks_) * seq_ * dim_ + dimStart;
            ProcessTask(base);
        }
    }

private:
    static constexpr uint32_t BLOCK_ELEMS = 32 / sizeof(T);

    __aicore__ inline void ProcessTask(uint64_t base)
    {
        for (uint32_t s = 0; s < seq_; s += SEQ_TILE) {
            const uint32_t rows = seq_ - s < SEQ_TILE ? seq_ - s : SEQ_TILE;
            const uint64_t offset = base + static_cast<uint64_t>(s) * dim_;
            CopyIn(offset, rows);
            Compute(rows);
            CopyOut(offset, rows);
        }
    }

    __aicore__ inline void CopyIn(uint64_t offset, uint32_t rows)
    {
        AscendC::LocalTensor<T> xLocal = xQueue_.template AllocTensor<T>();
        AscendC::DataCopyExtParams copyParams{
            static_cast<uint16_t>(rows),
            static_cast<uint32_t>(width_ * sizeof(T)),
            static_cast<uint32_t>((dim_ - width_) * sizeof(T)),
            0,
            0};
        AscendC::DataCopyPadExtParams<T> padParams{
            true, 0, static_cast<uint8_t>(pitch_ - width_), static_cast<T>(0)};
        AscendC::DataCopyPad(xLocal, xGm_[offset], copyParams, padParams);
        xQueue_.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t rows)
    {
        AscendC::LocalTensor<T> xLocal = xQueue_.template DeQue<T>();
        AscendC::LocalTensor<T> yLocal = yQueue_.template AllocTensor<T>();
        if constexpr (std::is_same_v<T, float>) {
            AscendC::Adds(yLocal, xLocal, 0.0f, rows * pitch_);
            RunningSum(yLocal, rows);
        } else {
            AscendC::LocalTensor<float> sum = sumBuf_.template Get<float>();
            AscendC::Cast(sum, xLocal, AscendC::RoundMode::CAST_NONE, rows * pitch_);
            RunningSum(sum, rows);
            AscendC::Cast(yLocal, sum, AscendC::RoundMode::CAST_RINT, rows * pitch_);
        }
        yQueue_.EnQue(yLocal);
        xQueue_.FreeTensor(xLocal);
    }

    __aicore__ inline void RunningSum(const AscendC::LocalTensor<float> &sum, uint32_t rows)
    {
        for (uint32_t i = 1; i < rows; ++i) {
            AscendC::Add(sum[i * pitch_], sum[i * pitch_], sum[(i - 1) * pitch_], pitch_);
        }
    }

    __aicore__ inline void CopyOut(uint64_t offset, uint32_t rows)
    {
        AscendC::LocalTensor<T> yLocal = yQueue_.template DeQue<T>();
        AscendC::DataCopyExtParams copyParams{
            static_cast<uint16_t>(rows),
            static_cast<uint32_t>(width_ * sizeof(T)),
            0,
            static_cast<uint32_t>((dim_ - width_) * sizeof(T)),
            0};
        AscendC::DataCopyPad(yGm_[offset], yLocal, copyParams);
        yQueue_.FreeTensor(yLocal);
    }

    AscendC::GlobalTensor<T> xGm_;
    AscendC::GlobalTensor<T> yGm_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> xQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 2> yQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sumBuf_;
    uint32_t seq_{0};
    uint32_t dim_{0};
    uint32_t dimBlocks_{0};
    uint32_t taskNum_{0};
    uint32_t width_{0};
    uint32_t pitch_{0};
};

#endif
