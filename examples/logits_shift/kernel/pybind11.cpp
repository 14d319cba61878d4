#include <algorithm>

#include <pybind11/pybind11.h>
#include <torch/extension.h>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

#include "logits_shift_tiling.h"

extern "C" void logits_shift_do(
    uint32_t blockDim, void *stream, bool isHalf, uint8_t *x, uint8_t *y, uint8_t *tiling);

namespace logits_shift_ext {

constexpr uint32_t CORE_NUM = 40;
constexpr uint32_t TILE_BYTES = 32 * 1024;
constexpr uint32_t MAX_TILE_ROWS = 64;
constexpr uint32_t ROW_GROUP = 16;

uint32_t CeilDiv(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

at::Tensor logits_shift(const at::Tensor &x)
{
    TORCH_CHECK(x.dim() == 2, "x must be [rows, cols]");
    TORCH_CHECK(x.is_contiguous(), "x must be contiguous");
    const bool isHalf = x.scalar_type() == at::kHalf;
    TORCH_CHECK(isHalf || x.scalar_type() == at::kFloat, "x must be float32 or float16");
    TORCH_CHECK(x.size(1) > 0, "cols must not be zero");

    at::Tensor y = at::empty_like(x);
    const uint32_t rows = static_cast<uint32_t>(x.size(0));
    const uint32_t cols = static_cast<uint32_t>(x.size(1));
    if (rows == 0) {
        return y;
    }

    const uint32_t itemSize = isHalf ? 2 : 4;
    const uint32_t lanesPerBlock = 32 / itemSize;
    const uint32_t colsAligned = CeilDiv(cols, lanesPerBlock) * lanesPerBlock;
    TORCH_CHECK(colsAligned * itemSize <= TILE_BYTES, "a row does not fit into one tile");
    // Groups of rows keep the start of every core on a 32-byte boundary.
    const uint32_t rowsPerCore = CeilDiv(CeilDiv(rows, CORE_NUM), ROW_GROUP) * ROW_GROUP;
    const uint32_t rowsPerTile = std::min({MAX_TILE_ROWS, rowsPerCore, TILE_BYTES / (colsAligned * itemSize)});

    at::Tensor tilingHost =
        at::empty({static_cast<int64_t>(sizeof(LogitsShiftTiling))}, at::device(at::kCPU).dtype(at::kByte));
    auto *tiling = static_cast<LogitsShiftTiling *>(tilingHost.data_ptr());
    tiling->rows = rows;
    tiling->cols = cols;
    tiling->colsAligned = colsAligned;
    tiling->rowsPerCore = rowsPerCore;
    tiling->rowsPerTile = rowsPerTile;
    at::Tensor tilingDevice = tilingHost.to(at::kPrivateUse1);

    auto aclStream = c10_npu::getCurrentNPUStream().stream(false);
    logits_shift_do(
        CeilDiv(rows, rowsPerCore),
        aclStream,
        isHalf,
        static_cast<uint8_t *>(const_cast<void *>(x.storage().data())),
        static_cast<uint8_t *>(const_cast<void *>(y.storage().data())),
        static_cast<uint8_t *>(const_cast<void *>(tilingDevice.storage().data())));
    return y;
}

}  // namespace logits_shift_ext

PYBIND11_MODULE(_logits_shift_ext, m)
{
    m.doc() = "row shift by the maximum";
    m.def("logits_shift", &logits_shift_ext::logits_shift, "y = x - rowmax(x)");
}
