// Select by masks of whole elements and of bits, and the high-level Exp: a is the source, b the mask, y the result.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

/// p = {rows, columns, mask columns, bytes of a mask element, scalar first}
template <class T, class M>
void chosen(const LocalTensor<T> &y, const LocalTensor<T> &a, const LocalTensor<M> &mask, const int64_t *p, T scalar)
{
    const SelectWithBytesMaskShapeInfo shape(p[0], p[1], p[2]);
    const LocalTensor<uint8_t> work;
    p[4] ? SelectWithBytesMask(y, scalar, a, mask, work, shape) : Select(y, a, scalar, mask, work, shape);
}

template <class T>
void choose(const std::string &name, TBuf<> &y, TBuf<> &a, TBuf<> &b, const int64_t *p, T scalar)
{
    if (name == "Exp") {
        Exp<T, 10, false>(y.Get<T>(), a.Get<T>(), static_cast<uint32_t>(p[0]));
        return;
    }
    if (name == "Exp of its neighbour") {
        Exp<T, 10, false>(a.Get<T>()[32 / sizeof(T)], a.Get<T>(), static_cast<uint32_t>(p[0]));
        Adds(y.Get<T>(), a.Get<T>(), static_cast<T>(0), static_cast<int32_t>(p[0]));
        return;
    }
    if (name == "Tail") {  // a whole repeat is compared, p[0] elements are chosen
        const auto bits = b.Get<uint8_t>();
        CompareScalar(bits, a.Get<T>(), static_cast<T>(0), CMPMODE::GT, 256 / sizeof(T));
        Select(y.Get<T>(), bits, a.Get<T>(), scalar, SELMODE::VSEL_TENSOR_SCALAR_MODE, static_cast<uint32_t>(p[0]));
        return;
    }
    SetMaskCount();
    SetVectorMask<T, MaskMode::COUNTER>(5);
    switch (p[3]) {
        case 1: chosen(y.Get<T>(), a.Get<T>(), b.Get<uint8_t>(), p, scalar); break;
        case 2: chosen(y.Get<T>(), a.Get<T>(), b.Get<int16_t>(), p, scalar); break;
        default: chosen(y.Get<T>(), a.Get<T>(), b.Get<int32_t>(), p, scalar); break;
    }
    if (opmend::g_core->mask_count || opmend::g_core->mask[0] != ~0ull) {
        throw std::runtime_error("the mask is not full");
    }
}

__global__ __aicore__ void run(GM_ADDR a, uint32_t a_bytes, GM_ADDR b, uint32_t b_bytes, GM_ADDR y, uint32_t y_bytes,
                               const char *name, const int64_t *p, double scalar, int dtype)
{
    TPipe pipe;
    TBuf<> in, second, out;
    pipe.InitBuffer(in, 16 * 1024);
    pipe.InitBuffer(second, 16 * 1024);
    pipe.InitBuffer(out, 16 * 1024);
    GlobalTensor<uint8_t> gm_a, gm_b, gm_y;
    gm_a.SetGlobalBuffer(a);
    gm_b.SetGlobalBuffer(b);
    gm_y.SetGlobalBuffer(y);
    const DataCopyPadExtParams<uint8_t> none{false, 0, 0, 0};
    DataCopyPad(in.Get<uint8_t>(), gm_a, DataCopyExtParams(1, a_bytes, 0, 0, 0), none);
    DataCopyPad(second.Get<uint8_t>(), gm_b, DataCopyExtParams(1, b_bytes, 0, 0, 0), none);
    PipeBarrier<PIPE_ALL>();
    dtype == 0 ? choose<float>(name, out, in, second, p, scalar) : choose<half>(name, out, in, second, p, half(scalar));
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm_y, out.Get<uint8_t>(), DataCopyExtParams(1, y_bytes, 0, 0, 0));
}

}  // namespace

extern "C" int run_operation(const char *name, int dtype, uint8_t *a, uint32_t a_bytes, uint8_t *b, uint32_t b_bytes,
                             uint8_t *y, uint32_t y_bytes, const int64_t *p, const double *scalar)
{
    try {
        ::opmend::Launcher("select_bytes", __FILE__, __LINE__, 1, nullptr, nullptr)(run, a, a_bytes, b, b_bytes, y, y_bytes,
                                                                                    name, p, scalar[0], dtype);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
