// Copies of the property tests: between global memory and UB, and inside UB.
#include "property.h"

using namespace property;

namespace {


DataCopyParams blocks(const Call &c) { return DataCopyParams(c.p[0], c.p[1], c.p[2], c.p[3]); }
DataCopyExtParams bytes(const Call &c) { return DataCopyExtParams(c.p[0], c.p[1], c.p[2], c.p[3], 0); }

template <class T>
void copy(const Call &c, const LocalTensor<T> &inside, const GlobalTensor<T> &outside, const LocalTensor<T> &other)
{
    const T value = static_cast<T>(c.scalar);
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    switch (c.op) {
        case 0: DataCopy(inside, outside, static_cast<uint32_t>(c.count)); return;
        case 1: DataCopy(outside, inside, static_cast<uint32_t>(c.count)); return;
        case 2: DataCopy(inside, outside, blocks(c)); return;
        case 3: DataCopy(outside, inside, blocks(c)); return;
        case 4: DataCopy(inside, other, static_cast<uint32_t>(c.count)); return;
        case 5: DataCopy(inside, other, blocks(c)); return;
        case 6: DataCopyPad(inside, outside, bytes(c), DataCopyPadExtParams<T>(c.p[6] != 0, c.p[4], c.p[5], value)); return;
        case 7: DataCopyPad(outside, inside, bytes(c)); return;
        case 8: DataCopyPad(inside, outside, blocks(c), DataCopyPadParams(c.p[6] != 0, c.p[4], c.p[5], raw)); return;
        case 9: DataCopyPad(outside, inside, blocks(c)); return;
        default: unknown("copy");
    }
}

__global__ __aicore__ void run_copy(GM_ADDR image, GM_ADDR outside, const Call *call)
{
    const Call &c = *call;
    TPipe pipe;
    TBuf<> ub;
    pipe.InitBuffer(ub, c.bytes);
    GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer(image);
    DataCopy(ub.Get<uint8_t>(), gm, c.bytes);
    PipeBarrier<PIPE_ALL>();
    const Image inside{c, ub};
    with_type<float, half, int8_t, int16_t, int32_t>(c.dtype, [&](auto zero) {
        using T = decltype(zero);
        GlobalTensor<T> beyond;
        beyond.SetGlobalBuffer((__gm__ T *)(outside + c.at[3]));
        if (c.p[7] != 0) {
            SetPadValue(static_cast<T>(c.p[7]));
        }
        copy(c, inside.tensor<T>(0), beyond, inside.tensor<T>(1));
    });
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm, ub.Get<uint8_t>(), c.bytes);
}

}  // namespace

extern "C" int property_copy(uint8_t *image, uint8_t *outside, const Call *call)
{
    try {
        ::opmend::Launcher("run_copy", __FILE__, __LINE__, 1, nullptr, nullptr)(run_copy, image, outside, call);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
