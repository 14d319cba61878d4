// Kernels for what the runtime keeps by runs and by known call paths: scattered stores, leaks from two call sites.
#include "kernel_operator.h"

#include <stdexcept>

using namespace AscendC;

namespace {

// Stores every second of 2 * count elements, one by one.
__global__ __aicore__ void scatter(GM_ADDR y, int32_t count)
{
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t *>(y));
    for (int32_t i = 0; i < count; ++i) {
        out.SetValue(2 * i, i);
    }
}

using Queue = TQue<TPosition::VECCALC, 1>;

__attribute__((noinline)) void take(Queue &queue) { queue.AllocTensor<float>(); }

// Odd and even cores leak a tensor that they took at different lines, from frames of one size.
__global__ __aicore__ void leak_on_two_paths()
{
    TPipe pipe;
    Queue queue;
    pipe.InitBuffer(queue, 1, 256);
    if (GetBlockIdx() % 2 == 0) {
        take(queue);
    } else {
        take(queue);
    }
}

}  // namespace

extern "C" {

int run_scatter(uint8_t *y, int32_t count)
{
    ::opmend::Launcher("scatter", __FILE__, __LINE__, 1, nullptr, nullptr)(scatter, y, count);
    return 0;
}

int run_leak_on_two_paths(uint32_t blocks)
{
    ::opmend::Launcher("leak_on_two_paths", __FILE__, __LINE__, blocks, nullptr, nullptr)(leak_on_two_paths);
    return 0;
}
}
