#ifndef ADD_KERNEL_H
#define ADD_KERNEL_H

#include "kernel_operator.h"

constexpr uint32_t ADD_TILE = 256;

template <typename T>
class AddKernel {
public:
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total)
    {
        total_ = total;
        xGm_.SetGlobalBuffer((__gm__ T *)x, total);
        yGm_.SetGlobalBuffer((__gm__ T *)y, total);
        zGm_.SetGlobalBuffer((__gm__ T *)z, total);
        pipe_.InitBuffer(inX_, 2, ADD_TILE * sizeof(T));
        pipe_.InitBuffer(inY_, 2, ADD_TILE * sizeof(T));
        pipe_.InitBuffer(out_, 2, ADD_TILE * sizeof(T));
    }

    __aicore__ inline void Process()
    {
        const uint32_t stride = ADD_TILE * AscendC::GetBlockNum();
        for (uint32_t start = ADD_TILE * AscendC::GetBlockIdx(); start < total_; start += stride) {
            const uint32_t count = total_ - start < ADD_TILE ? total_ - start : ADD_TILE;
            AscendC::DataCopyExtParams bytes{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
            AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, 0};
            AscendC::LocalTensor<T> x = inX_.AllocTensor<T>();
            AscendC::LocalTensor<T> y = inY_.AllocTensor<T>();
            AscendC::DataCopyPad(x, xGm_[start], bytes, pad);
            AscendC::DataCopyPad(y, yGm_[start], bytes, pad);
            inX_.EnQue(x);
            inY_.EnQue(y);
            x = inX_.DeQue<T>();
            y = inY_.DeQue<T>();
            AscendC::LocalTensor<T> z = out_.AllocTensor<T>();
            AscendC::Add(z, x, y, count);
            out_.EnQue(z);
            inX_.FreeTensor(x);
            inY_.FreeTensor(y);
            z = out_.DeQue<T>();
            AscendC::DataCopyPad(zGm_[start], z, bytes);
            out_.FreeTensor(z);
        }
    }

private:
    AscendC::TPipe pipe_;
    AscendC::TQue<AscendC::QuePosition::VECIN, 2> inX_, inY_;
    AscendC::TQue<AscendC::QuePosition::VECOUT, 2> out_;
    AscendC::GlobalTensor<T> xGm_, yGm_, zGm_;
    uint32_t total_ = 0;
};

#endif
