#ifndef SWIGLU_KERNEL_H
#define SWIGLU_KERNEL_H

#include <type_traits>

#include "kernel_operator.h"

#include "swiglu_tiling.h"

template <typename dataType>
class SwigluKernel {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR tilingGM, AscendC::TPipe *pipe)
    {
        auto *tiling = reinterpret_cast<__gm__ SwigluTiling *>(tilingGM);
        rows_ = tiling->rows;
        hidden_ = tiling->hidden;
        hiddenAligned_ = tiling->hiddenAligned;
        rowsPerCore_ = tiling->rowsPerCore;
        rowsPerTile_ = tiling->rowsPerTile;

        xGM_.SetGlobalBuffer(reinterpret_cast<__gm__ dataType *>(x), rows_ * hidden_ * 2);
        yGM_.SetGlobalBuffer(reinterpret_cast<__gm__ dataType *>(y), rows_ * hidden_);

        const int32_t tileElems = rowsPerTile_ * hiddenAligned_;
        pipe->InitBuffer(gateQueue_, 2, tileElems * sizeof(dataType));
        pipe->InitBuffer(valueQueue_, 2, tileElems * sizeof(dataType));
        pipe->InitBuffer(outQueue_, 2, tileElems * sizeof(dataType));
        pipe->InitBuffer(sigmoidBuf_, tileElems * sizeof(float));
        if constexpr (!std::is_same_v<dataType, float>) {
            pipe->InitBuffer(gateCastBuf_, tileElems * sizeof(float));
            pipe->InitBuffer(valueCastBuf_, tileElems * sizeof(float));
        }
    }

    __aicore__ inline void Process()
    {
        const int32_t rowStart = static_cast<int32_t>(AscendC::GetBlockIdx()) * rowsPerCore_;
        const int32_t rowEnd = rowStart + rowsPerCore_ < rows_ ? rowStart + rowsPerCore_ : rows_;
        for (int32_t row = rowStart; row < rowEnd; row += rowsPerTile_) {
            const int32_t left = rowEnd - row;
            const uint16_t tileRows = static_cast<uint16_t>(left < rowsPerTile_ ? left : rowsPerTile_);
            CopyIn(row, tileRows);
            Compute(tileRows * hiddenAligned_);
            CopyOut(row, tileRows);
        }
    }

private:
    __aicore__ inline void CopyIn(int32_t row, uint16_t tileRows)
    {
        const uint16_t gateOffset = row * hidden_ * 2;
        const uint32_t rowBytes = hidden_ * sizeof(dataType);
        AscendC::DataCopyExtParams copyParams{tileRows, rowBytes, rowBytes, 0, 0};
        AscendC::DataCopyPadExtParams<dataType> padParams{
            true, 0, static_cast<uint8_t>(hiddenAligned_ - hidden_), static_cast<dataType>(0)};

        AscendC::LocalTensor<dataType> gateLocal = gateQueue_.template AllocTensor<dataType>();
        AscendC::DataCopyPad(gateLocal, xGM_[gateOffset], copyParams, padParams);
        gateQueue_.EnQue(gateLocal);

        AscendC::LocalTensor<dataType> valueLocal = valueQueue_.template AllocTensor<dataType>();
        AscendC::DataCopyPad(valueLocal, xGM_[gateOffset + hidden_], copyParams, padParams);
        valueQueue_.EnQue(valueLocal);
    }

    __aicore__ inline void Compute(int32_t count)
    {
        AscendC::LocalTensor<dataType> gateLocal = gateQueue_.template DeQue<dataType>();
        AscendC::LocalTensor<dataType> valueLocal = valueQueue_.template DeQue<dataType>();
        AscendC::LocalTensor<dataType> outLocal = outQueue_.template AllocTensor<dataType>();

        if constexpr (std::is_same_v<dataType, float>) {
            GateAndMultiply(outLocal, gateLocal, valueLocal, count);
        } else {
            AscendC::LocalTensor<float> gateFp32 = gateCastBuf_.Get<float>();
            AscendC::LocalTensor<float> valueFp32 = valueCastBuf_.Get<float>();
            AscendC::Cast(gateFp32, gateLocal, AscendC::RoundMode::CAST_NONE, count);
            AscendC::Cast(valueFp32, valueLocal, AscendC::RoundMode::CAST_NONE, count);
            GateAndMultiply(gateFp32, gateFp32, valueFp32, count);
            AscendC::Cast(outLocal, gateFp32, AscendC::RoundMode::CAST_RINT, count);
        }

        outQueue_.EnQue(outLocal);
        gateQueue_.FreeTensor(gateLocal);
        valueQueue_.FreeTensor(valueLocal);
    }

    __aicore__ inline void GateAndMultiply(
        const AscendC::LocalTensor<float> &out,
        const AscendC::LocalTensor<float> &gate,
        const AscendC::LocalTensor<float> &value,
        int32_t count)
    {
        AscendC::LocalTensor<float> sigmoid = sigmoidBuf_.Get<float>();
        AscendC::Muls(sigmoid, gate, -1.0f, count);
        AscendC::Exp(sigmoid, sigmoid, count);
        AscendC::Adds(sigmoid, sigmoid, 1.0f, count);
        AscendC::Div(sigmoid, gate, sigmoid, count);
        AscendC::Mul(out, sigmoid, value, count);
    }

    __aicore__ inline void CopyOut(int32_t row, uint16_t tileRows)
    {
        AscendC::LocalTensor<dataType> outLocal = outQueue_.template DeQue<dataType>();
        AscendC::DataCopyExtParams copyParams{tileRows, static_cast<uint32_t>(hidden_ * sizeof(dataType)), 0, 0, 0};
        AscendC::DataCopyPad(yGM_[row * hidden_], outLocal, copyParams);
        outQueue_.FreeTensor(outLocal);
    }

    AscendC::GlobalTensor<dataType> xGM_;
    AscendC::GlobalTensor<dataType> yGM_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> gateQueue_;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> valueQueue_;
    AscendC::TQue<AscendC::TPosition::VECOUT, 2> outQueue_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> sigmoidBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> gateCastBuf_;
    AscendC::TBuf<AscendC::TPosition::VECCALC> valueCastBuf_;
    int32_t rows_{0};
    int32_t hidden_{0};
    int32_t hiddenAligned_{0};
    int32_t rowsPerCore_{0};
    int32_t rowsPerTile_{0};
};

#endif
