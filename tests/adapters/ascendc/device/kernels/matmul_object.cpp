// The high-level Matmul object: every core computes its share of C = A * B + bias.
#include <stdexcept>
#include <string>

#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

namespace {

/// How the launch calls the object; `tiling` is for one core's share, cores go over M first.
struct Call {
    TCubeTiling tiling;
    int32_t transpose_a, transpose_b, atomic;
    int32_t form;  // 0 IterateAll, 1 Iterate and GetTensorC, 2 tiles one after another, 3 K in two parts, 4 asynchronous
};

template <class A, class C, class Bias>
__global__ __aicore__ void multiply(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, const Call *call)
{
    TPipe pipe;
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, A, true>, MatmulType<TPosition::GM, CubeFormat::ND, A, true>,
           MatmulType<TPosition::GM, CubeFormat::ND, C>, MatmulType<TPosition::GM, CubeFormat::ND, Bias>>
        mm;
    const TCubeTiling &t = call->tiling;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    if (GetBlockIdx() >= t.usedCoreNum) {
        return;
    }
    const int32_t rows = (t.M + t.singleCoreM - 1) / t.singleCoreM;
    const int32_t row = GetBlockIdx() % rows * t.singleCoreM, column = GetBlockIdx() / rows * t.singleCoreN;
    GlobalTensor<A> gm_a, gm_b;
    GlobalTensor<C> gm_c;
    GlobalTensor<Bias> gm_bias;
    gm_a.SetGlobalBuffer((__gm__ A *)a);
    gm_b.SetGlobalBuffer((__gm__ A *)b);
    gm_c.SetGlobalBuffer((__gm__ C *)c);
    gm_bias.SetGlobalBuffer((__gm__ Bias *)bias);
    mm.SetTail(std::min(t.singleCoreM, t.M - row), std::min(t.singleCoreN, t.N - column));
    const auto from_b = gm_b[call->transpose_b ? column * t.Kb : column];
    const auto to = gm_c[row * t.N + column];
    if (t.isBias) {
        mm.SetBias(gm_bias[column]);
    }
    if (call->form == 3) {  // one tile per core, its sum over k in two calls
        const int32_t half_k = t.singleCoreK / 2;
        for (int32_t part = 0; part < 2; ++part) {
            mm.SetSingleShape(std::min(t.singleCoreM, t.M - row), std::min(t.singleCoreN, t.N - column),
                              part == 0 ? half_k : t.singleCoreK - half_k);
            mm.SetTensorA(gm_a[row * t.Ka + part * half_k]);
            mm.SetTensorB(from_b[call->transpose_b ? part * half_k : part * half_k * t.N], call->transpose_b != 0);
            mm.Iterate(part != 0);
        }
        mm.GetTensorC(to);
        return;
    }
    mm.SetTensorA(gm_a[call->transpose_a ? row : row * t.Ka], call->transpose_a != 0);
    mm.SetTensorB(from_b, call->transpose_b != 0);
    if (call->form == 0) {
        mm.IterateAll(to, static_cast<uint8_t>(call->atomic));
    } else if (call->form == 4) {
        mm.template IterateAll<false>(to, 0, false, true);
        mm.WaitIterateAll();
    } else {
        uint32_t tile = 0;
        while (mm.Iterate()) {
            if (call->form == 1) {
                mm.GetTensorC(to);
            } else {
                mm.GetTensorC(gm_c[tile * t.baseM * t.baseN], 0, true);
            }
            ++tile;
        }
    }
    mm.End();
}

template <class... P, class... A>
int launch(uint32_t blocks, void (*kernel)(P...), A... args)
{
    try {
        ::opmend::Launcher("multiply", __FILE__, __LINE__, blocks, nullptr, nullptr)(kernel, args...);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" int run_matmul(const char *types, uint32_t blocks, uint8_t *a, uint8_t *b, uint8_t *bias, uint8_t *c, const Call *call)
{
    const std::string name = types;
    if (name == "f16>f32+f32") return launch(blocks, multiply<half, float, float>, a, b, bias, c, call);
    if (name == "f16>f16+f16") return launch(blocks, multiply<half, half, half>, a, b, bias, c, call);
    if (name == "bf16>bf16+f32") return launch(blocks, multiply<bfloat16_t, bfloat16_t, float>, a, b, bias, c, call);
    if (name == "f32>f32+f32") return launch(blocks, multiply<float, float, float>, a, b, bias, c, call);
    if (name == "i8>i32+i32") return launch(blocks, multiply<int8_t, int32_t, int32_t>, a, b, bias, c, call);
    return 2;
}
