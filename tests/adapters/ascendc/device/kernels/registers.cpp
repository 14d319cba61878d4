// State that a kernel leaves on its core and reads back: the register of the last extreme, the system workspace.
#include "kernel_operator.h"

using namespace AscendC;

namespace {

// y: value and index of the largest (smallest) of `count` elements as the register tells them, counter mode over all.
template <class T, bool maximum>
__aicore__ void extreme(GM_ADDR x, GM_ADDR y, int32_t count, bool written)
{
    TPipe pipe;
    TBuf<> in, out, work;
    pipe.InitBuffer(in, 8192);
    pipe.InitBuffer(out, 1024);
    pipe.InitBuffer(work, 8192);
    GlobalTensor<T> from;
    from.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(x), count);
    GlobalTensor<uint32_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ uint32_t *>(y), 4);
    auto a = in.Get<T>();
    if (written) {
        DataCopyPad(a, from, {1, static_cast<uint16_t>(count * sizeof(T)), 0, 0}, {false, 0, 0, 0});
        SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    }
    SetMaskCount();
    SetVectorMask<T, MaskMode::COUNTER>(0, count);
    if constexpr (maximum) {
        WholeReduceMax<T, false>(work.Get<T>(), a, MASK_PLACEHOLDER, 1, 1, 1, 8);
    } else {
        WholeReduceMin<T, false>(work.Get<T>(), a, MASK_PLACEHOLDER, 1, 1, 1, 8);
    }
    SetMaskNorm();
    ResetMask();
    T value = 0, index = 0;
    GetReduceMaxMinCount<T>(value, index);
    uint32_t bits = 0, at = 0;
    GetReduceRepeatMaxMinSpr<T>(bits, at);
    uint32_t index_bits = 0;
    memcpy(&index_bits, &index, sizeof(T));
    to.SetValue(0, bits);
    to.SetValue(1, at);
    to.SetValue(2, index_bits);
    ReduceMax(out.Get<T>(), a, work.Get<T>(), count, true);
    GetReduceMaxMinCount<T>(value, index);
    bits = 0;
    memcpy(&bits, &value, sizeof(T));
    to.SetValue(3, bits);
}

__global__ __aicore__ void extreme_kernel(GM_ADDR x, GM_ADDR y, int32_t count, int32_t half_, int32_t maximum,
                                          int32_t written)
{
    if (half_ != 0) {
        maximum != 0 ? extreme<half, true>(x, y, count, written != 0) : extreme<half, false>(x, y, count, written != 0);
    } else {
        maximum != 0 ? extreme<float, true>(x, y, count, written != 0) : extreme<float, false>(x, y, count, written != 0);
    }
}

// y: offsets from `workspace` of the system's and the user's part; the first core's word in the user's part is its index.
__global__ __aicore__ void workspace_kernel(GM_ADDR y, GM_ADDR workspace, int32_t set)
{
    if (set != 0) {
        SetSysWorkspace(workspace);
        SetSysWorkspace(workspace + 64);  // set already: no effect
    }
    GlobalTensor<int64_t> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ int64_t *>(y) + 8 * GetBlockIdx(), 8);
    to.SetValue(0, GetSysWorkSpacePtr() == nullptr ? -1 : GetSysWorkSpacePtr() - workspace);
    to.SetValue(1, reinterpret_cast<int64_t>(GetUserWorkspace(workspace)) - reinterpret_cast<int64_t>(GetSysWorkSpacePtr()));
    SetSysWorkspaceForce(workspace + 64);
    to.SetValue(2, GetSysWorkSpacePtr() - workspace);
}

}  // namespace

extern "C" {

int run_extreme(uint8_t *x, uint8_t *y, int32_t count, int32_t half_, int32_t maximum, int32_t written)
{
    ::opmend::Launcher launch("extreme", __FILE__, __LINE__, 1, nullptr, nullptr);
    launch(extreme_kernel, x, y, count, half_, maximum, written);
    return 0;
}

int run_workspace(uint8_t *y, uint8_t *workspace, int32_t set)
{
    ::opmend::Launcher("workspace", __FILE__, __LINE__, 2, nullptr, nullptr)(workspace_kernel, y, workspace, set);
    return 0;
}
}
