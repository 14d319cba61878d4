#ifndef HEAD_RMS_NORM_KERNEL_H
#define HEAD_RMS_NORM_KERNEL_H

#include <type_traits>

#include "kernel_operator.h"

#include "head_rms_norm_tiling.h"

using AscendC::GlobalTensor;
using AscendC::LocalTensor;
using AscendC::TPosition;

constexpr uint32_t LANES = 64;

template <typename T>
class HeadRmsNormKernel {
public:
    __aicore__ inline HeadRmsNormKernel(AscendC::TPipe *pipe) : pipe_(pipe) {}

    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR y, GM_ADDR tilingAddr)
    {
        auto *tiling = reinterpret_cast<__gm__ HeadRmsNormTiling *>(tilingAddr);
        hidden_ = tiling->hidden;
        rowsPerTile_ = tiling->rowsPerTile;
        invHidden_ = tiling->invHidden;
        eps_ = tiling->eps;
        rowBegin_ = AscendC::GetBlockIdx() * tiling->rowsPerCore;
        rowEnd_ = rowBegin_ + tiling->rowsPerCore;
        rowEnd_ = rowEnd_ < tiling->rows ? rowEnd_ : tiling->rows;

        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x), tiling->rows * hidden_);
        gammaGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(gamma), hidden_);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(y), tiling->rows * hidden_);

        const uint32_t tileElems = rowsPerTile_ * hidden_;
        pipe_->InitBuffer(xQueue_, 2, AlignUp(tileElems * sizeof(T), 32));
        pipe_->InitBuffer(yQueue_, 2, AlignUp(tileElems * sizeof(T), 32));
        pipe_->InitBuffer(gammaQueue_, 1, AlignUp(hidden_ * sizeof(T), 32));
        pipe_->InitBuffer(workBuf_, tileElems * sizeof(float));
        pipe_->InitBuffer(partialBuf_, rowsPerTile_ * LANES * sizeof(float));
        pipe_->InitBuffer(rmsBuf_, AlignUp(rowsPerTile_ * sizeof(float), 32));
        if constexpr (!std::is_same_v<T, float>) {
            pipe_->InitBuffer(xFp32Buf_, tileElems * sizeof(float));
            pipe_->InitBuffer(gammaFp32Buf_, hidden_ * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        if (rowBegin_ >= rowEnd_) {
            return;
        }
        CopyInGamma();
        LocalTensor<T> gammaLocal = gammaQueue_.template DeQue<T>();
        LocalTensor<float> gamma = ToFloat(gammaLocal, gammaFp32Buf_, hidden_);
        for (uint32_t row = rowBegin_; row < rowEnd_; row += rowsPerTile_) {
            const uint32_t left = rowEnd_ - row;
            const uint32_t rows = left < rowsPerTile_ ? left : rowsPerTile_;
            CopyIn(row, rows);
            Compute(gamma, rows);
            CopyOut(row, rows);
        }
        gammaQueue_.FreeTensor(gammaLocal);
    }

private:
    __aicore__ inline uint32_t AlignUp(uint32_t value, uint32_t align) const
    {
        return (value + align - 1) / align * align;
    }

    __aicore__ inline LocalTensor<float> ToFloat(
        LocalTensor<T> &src, AscendC::TBuf<TPosition::VECCALC> &buf, uint32_t count)
    {
        if constexpr (std::is_same_v<T, float>) {
            return src;
        } else {
            LocalTensor<float> dst = buf.template Get<float>();
            AscendC::Cast(dst, src, AscendC::RoundMode::CAST_NONE, count);
            AscendC::PipeBarrier<PIPE_V>();
            return dst;
        }
    }

    __aicore__ inline void CopyInGamma()
    {
        LocalTensor<T> gammaLocal = gammaQueue_.template AllocTensor<T>();
        AscendC::DataCopyExtParams params{1, static_cast<uint32_t>(hidden_ * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(gammaLocal, gammaGm_, params, {false, 0, 0, static_cast<T>(0.0f)});
        gammaQueue_.EnQue(gammaLocal);
    }

    __aicore__ inline void CopyIn(uint32_t row, uint32_t rows)
    {
        LocalTensor<T> xLocal = xQueue_.template AllocTensor<T>();
        AscendC::DataCopyExtParams params{1, static_cast<uint32_t>(rows * hidden_ * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(xLocal, xGm_[row * hidden_], params, {false, 0, 0, static_cast<T>(0.0f)});
        xQueue_.EnQue(xLocal);
    }

    // Sum of squares of every row: 64 lanes wide first, then one reduction per row.
    __aicore__ inline void SumSquares(
        const LocalTensor<float> &sums, const LocalTensor<float> &x, const LocalTensor<float> &square, uint32_t rows)
    {
        LocalTensor<float> partial = partialBuf_.template Get<float>();
        AscendC::Mul(square, x, x, rows * hidden_);
        AscendC::Duplicate(partial, 0.0f, rows * LANES);
        AscendC::PipeBarrier<PIPE_V>();

        const uint8_t rowStride = static_cast<uint8_t>(hidden_ / 64 * 8);
        AscendC::BinaryRepeatParams repeatParams(1, 1, 1, 8, 8, rowStride);
        for (uint32_t begin = 0; begin < hidden_; begin += LANES) {
            const uint64_t mask = hidden_ - begin < LANES ? hidden_ - begin : LANES;
            AscendC::Add(partial, partial, square[begin], mask, static_cast<uint8_t>(rows), repeatParams);
            AscendC::PipeBarrier<PIPE_V>();
        }
        AscendC::WholeReduceSum<float>(sums, partial, LANES, rows, 1, 1, 8);
        AscendC::PipeBarrier<PIPE_V>();
    }

    __aicore__ inline void Compute(LocalTensor<float> &gamma, uint32_t rows)
    {
        LocalTensor<T> xLocal = xQueue_.template DeQue<T>();
        LocalTensor<T> yLocal = yQueue_.template AllocTensor<T>();
        LocalTensor<float> x = ToFloat(xLocal, xFp32Buf_, rows * hidden_);
        LocalTensor<float> work = workBuf_.template Get<float>();
        LocalTensor<float> rms = rmsBuf_.template Get<float>();

        SumSquares(rms, x, work, rows);
        AscendC::Muls(rms, rms, invHidden_, rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Sqrt(rms, rms, rows);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(rms, rms, eps_, rows);
        AscendC::PipeBarrier<PIPE_V>();

        for (uint32_t i = 0; i < rows; ++i) {
            const float invRms = 1.0f / rms.GetValue(i);
            AscendC::Muls(work[i * hidden_], x[i * hidden_], invRms, hidden_);
            AscendC::PipeBarrier<PIPE_V>();
            AscendC::Mul(work[i * hidden_], work[i * hidden_], gamma, hidden_);
        }
        AscendC::PipeBarrier<PIPE_V>();

        if constexpr (std::is_same_v<T, float>) {
            AscendC::Adds(yLocal, work, 0.0f, rows * hidden_);
        } else {
            AscendC::Cast(yLocal, work, AscendC::RoundMode::CAST_RINT, rows * hidden_);
        }
        yQueue_.EnQue(yLocal);
        xQueue_.FreeTensor(xLocal);
    }

    __aicore__ inline void CopyOut(uint32_t row, uint32_t rows)
    {
        LocalTensor<T> yLocal = yQueue_.template DeQue<T>();
        AscendC::DataCopyExtParams params{1, static_cast<uint32_t>(rows * hidden_ * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPad(yGm_[row * hidden_], yLocal, params);
        yQueue_.FreeTensor(yLocal);
    }

    AscendC::TPipe *pipe_;
    AscendC::TQue<TPosition::VECIN, 2> xQueue_;
    AscendC::TQue<TPosition::VECIN, 1> gammaQueue_;
    AscendC::TQue<TPosition::VECOUT, 2> yQueue_;
    AscendC::TBuf<TPosition::VECCALC> workBuf_;
    AscendC::TBuf<TPosition::VECCALC> partialBuf_;
    AscendC::TBuf<TPosition::VECCALC> rmsBuf_;
    AscendC::TBuf<TPosition::VECCALC> xFp32Buf_;
    AscendC::TBuf<TPosition::VECCALC> gammaFp32Buf_;
    GlobalTensor<T> xGm_;
    GlobalTensor<T> gammaGm_;
    GlobalTensor<T> yGm_;
    uint32_t hidden_{0};
    uint32_t rowsPerTile_{0};
    uint32_t rowBegin_{0};
    uint32_t rowEnd_{0};
    float invHidden_{0.0f};
    float eps_{0.0f};
};

#endif
