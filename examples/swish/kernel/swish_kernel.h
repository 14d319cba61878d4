#ifndef SWISH_KERNEL_H
#define SWISH_KERNEL_H

#include <type_traits>

#include "kernel_operator.h"

#include "swish_tiling.h"

template <typename T>
class SwishKernel {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR tiling, AscendC::TPipe *pipe)
    {
        auto *config = reinterpret_cast<__gm__ SwishTiling *>(tiling);
        tileLength_ = config->tileLength;
        beta_ = config->beta;

        const uint32_t totalLength = config->totalLength;
        const uint32_t start = AscendC::GetBlockIdx() * config->coreLength;
        const uint32_t remaining = totalLength > start ? totalLength - start : 0;
        blockLength_ = remaining < config->coreLength ? remaining : config->coreLength;

        xGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x) + start, blockLength_);
        yGm_.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(y) + start, blockLength_);

        pipe->InitBuffer(xQueue_, BUFFER_NUM, tileLength_ * sizeof(T));
        pipe->InitBuffer(yQueue_, BUFFER_NUM, tileLength_ * sizeof(T));
        pipe->InitBuffer(denomBuf_, tileLength_ * sizeof(float));
        if constexpr (!std::is_same_v<T, float>) {
            pipe->InitBuffer(castBuf_, tileLength_ * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        for (uint32_t offset = 0; offset < blockLength_; offset += tileLength_) {
            const uint32_t left = blockLength_ - offset;
            const uint32_t count = left < tileLength_ ? left : tileLength_;
            CopyIn(offset, count);
            Compute(count);
            CopyOut(offset, count);
        }
    }

private:
    static constexpr int32_t BUFFER_NUM = 2;

    __aicore__ inline void CopyIn(uint32_t offset, uint32_t count)
    {
        AscendC::LocalTensor<T> xLocal = xQueue_.AllocTensor<T>();
        AscendC::DataCopyExtParams copyParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
        AscendC::DataCopyPadExtParams<T> padParams{false, 0, 0, static_cast<T>(0)};
        AscendC::DataCopyPad(xLocal, xGm_[offset], copyParams, padParams);
        xQueue_.EnQue(xLocal);
    }

    __aicore__ inline void Compute(uint32_t count)
    {
        AscendC::LocalTensor<T> xLocal = xQueue_.DeQue<T>();
        AscendC::LocalTensor<T> yLocal = yQueue_.AllocTensor<T>();
        if constexpr (std::is_same_v<T, float>) {
            Swish(yLocal, xLocal, count);
        } else {
            AscendC::LocalTensor<float> xFloat = castBuf_.Get<float>();
            AscendC::Cast(xFloat, xLocal, AscendC::RoundMode::CAST_NONE, count);
            Swish(xFloat, xFloat, count);
            AscendC::Cast(yLocal, xFloat, AscendC::RoundMode::CAST_RINT, count);
        }
        yQueue_.EnQue(yLocal);
        xQueue_.FreeTensor(xLocal);
    }

    // y = x / (1 + exp(-beta * x))
    __aicore__ inline void Swish(
        const AscendC::LocalTensor<float> &dst, const AscendC::LocalTensor<float> &src, uint32_t count)
    {
        AscendC::LocalTensor<float> denom = denomBuf_.Get<float>();
        AscendC::Muls(denom, src, -beta_, count);
        AscendC::Exp(denom, denom, count);
        AscendC::Adds(denom, denom, 1.0f, count);
        AscendC::Div(dst, src, denom, count);
    }

    __aicore__ inline void CopyOut(uint32_t offset, uint32_t count)
    {
        AscendC::LocalTensor<T> yLocal = yQueue_.DeQue<T>();
        AscendC::DataCopy(yGm_[offset], yLocal, count);
        yQueue_.FreeTensor(yLocal);
    }

    AscendC::GlobalTensor<T> xGm_;
    AscendC::GlobalTensor<T> yGm_;
    AscendC::TQue<AscendC::TPosition::VECIN, BUFFER_NUM> xQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, BUFFER_NUM> yQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> denomBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> castBuf_;
    uint32_t blockLength_{0};
    uint32_t tileLength_{0};
    float beta_{1.0f};
};

#endif
