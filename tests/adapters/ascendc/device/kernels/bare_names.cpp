// Names below the documented API, one per launch: a and b come in whole, y goes out whole.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"

using namespace AscendC;

namespace {

struct Call {
    const char *name;
    const int64_t *p;
    double scalar;
    uint32_t a_bytes, b_bytes, y_bytes;
};

/// p = {mask length, repeats, block stride of y, repeat stride of y}; sources are contiguous.
template <class T>
bool element_wise(const Call &call, T *y, T *a, T *b)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    const auto scalar = static_cast<T>(call.scalar);
    AscendCUtils::SetMask<T>(static_cast<int32_t>(p[0]));
    bool known = true;
#define BINARY(NAME)                                   \
    if (name == #NAME) {                               \
        NAME(y, a, b, p[1], p[2], 1, 1, p[3], 8, 8);   \
    } else
#define UNARY(NAME)                                    \
    if (name == #NAME) {                               \
        NAME(y, a, p[1], p[2], 1, p[3], 8);            \
    } else
#define SCALAR(NAME)                                   \
    if (name == #NAME) {                               \
        NAME(y, a, scalar, p[1], p[2], 1, p[3], 8);    \
    } else
    if (name == "vector_dup") {
        vector_dup(y, scalar, p[1], p[2], 0, p[3], 0);
        return true;
    }
    BINARY(vadd) BINARY(vsub) BINARY(vmul) BINARY(vmax) BINARY(vmin)
    SCALAR(vadds) SCALAR(vmuls) SCALAR(vmaxs) SCALAR(vmins) UNARY(vrelu)
    if constexpr (std::is_floating_point_v<T>) {
        BINARY(vdiv) UNARY(vabs) UNARY(vexp) UNARY(vln) UNARY(vrec) UNARY(vrsqrt) UNARY(vsqrt)
        known = false;
    } else {
        BINARY(vor) BINARY(vand) UNARY(vnot)
        known = false;
    }
    AscendCUtils::ResetMask();
    return known;
}

/// 16 source rows of 32 bytes at p[2] blocks from each other become 16 destination blocks at p[3] blocks.
template <class T>
bool columns(const Call &call, T *y, T *a)
{
    const std::string name = call.name;
    const int64_t *p = call.p;
    if constexpr (sizeof(T) == 2) {
        if (name == "vtranspose") {
            vtranspose((__ubuf__ uint16_t *)y, (__ubuf__ uint16_t *)a);
            return true;
        }
    }
    if (name == "pointers") {
        T *to[16], *from[16];
        for (int64_t i = 0; i < 16; ++i) {
            to[i] = y + i * p[3] * (32 / sizeof(T));
            from[i] = a + i * p[2] * (32 / sizeof(T));
        }
        const uint16_t stride = p[0] == 1 ? 0 : 1;
        TransDataTo5HDImpl(to, from, TransDataTo5HDParams(false, false, p[0], stride * sizeof(T) / 2, stride));
        return true;
    }
    if (name != "scatter") {
        return false;
    }
    uint64_t to[2][8], from[2][8];
    for (int64_t i = 0; i < 16; ++i) {
        to[i / 8][i % 8] = (uint64_t)(y + i * p[3] * (32 / sizeof(T)));
        from[i / 8][i % 8] = (uint64_t)(a + i * p[2] * (32 / sizeof(T)));
    }
    set_va_reg_sb(VA4, to[0]);
    set_va_reg_sb(VA5, to[1]);
    set_va_reg_sb(VA2, from[0]);
    set_va_reg_sb(VA3, from[1]);
    sizeof(T) == 2 ? scatter_vnchwconv_b16(VA4, VA2, p[0], 1, 1) : scatter_vnchwconv_b32(VA4, VA2, p[0], 2, 1);
    return true;
}

template <class T>
bool dispatch(const Call &call, T *y, T *a, T *b)
{
    return columns(call, y, a) || element_wise(call, y, a, b);
}

__global__ __aicore__ void run(GM_ADDR a, GM_ADDR b, GM_ADDR y, const Call *call, int dtype)
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
    DataCopyPad(in.Get<uint8_t>(), gm_a, DataCopyExtParams(1, call->a_bytes, 0, 0, 0), none);
    DataCopyPad(second.Get<uint8_t>(), gm_b, DataCopyExtParams(1, call->b_bytes, 0, 0, 0), none);
    DataCopyPad(out.Get<uint8_t>(), gm_y, DataCopyExtParams(1, call->y_bytes, 0, 0, 0), none);
    PipeBarrier<PIPE_ALL>();
    bool known = false;
    auto *to = reinterpret_cast<uint8_t *>(out.Get<uint8_t>().GetPhyAddr());
    auto *x = reinterpret_cast<uint8_t *>(in.Get<uint8_t>().GetPhyAddr());
    auto *z = reinterpret_cast<uint8_t *>(second.Get<uint8_t>().GetPhyAddr());
    if (std::string(call->name) == "SetOverflow") {
        AscendCUtils::SetOverflow(static_cast<uint64_t>(call->p[0]));
        known = true;
    } else if (unlikely(dtype == 0)) {
        known = dispatch(*call, (float *)to, (float *)x, (float *)z);
    } else if (likely(dtype == 3)) {
        known = dispatch(*call, (int16_t *)to, (int16_t *)x, (int16_t *)z);
    }
    if (!known) {
        throw std::runtime_error(std::string("no such operation: ") + call->name);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gm_y, out.Get<uint8_t>(), DataCopyExtParams(1, call->y_bytes, 0, 0, 0));
}

}  // namespace

extern "C" int run_operation(const char *name, int dtype, uint8_t *a, uint32_t a_bytes, uint8_t *b, uint32_t b_bytes,
                             uint8_t *y, uint32_t y_bytes, const int64_t *p, const double *scalar)
{
    const Call call{name, p, scalar[0], a_bytes, b_bytes, y_bytes};
    try {
        ::opmend::Launcher("bare_names", __FILE__, __LINE__, 1, nullptr, nullptr)(run, a, b, y, &call, dtype);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}
