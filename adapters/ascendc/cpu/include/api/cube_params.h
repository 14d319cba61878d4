// Parameter structures of the cube's copies and instructions. Field order and defaults follow the vendor's documentation
// (kernel_struct_mm, _fixpipe, _data_copy): kernels fill them field by field or initialise them with braces.
#ifndef OPMEND_API_CUBE_PARAMS_H
#define OPMEND_API_CUBE_PARAMS_H

#include "api/enums.h"

enum QuantMode_t {
    NoQuant,
    F322F16,
    F322BF16,
    DEQF16,
    VDEQF16,
    QF322B8_PRE,
    VQF322B8_PRE,
    REQ8,
    VREQ8,
};

namespace AscendC {
using ::QuantMode_t;

/// ND (row-major, in GM) to NZ. The matrix stride and the row pitch are in elements, the C0 and N strides in 32 bytes.
struct Nd2NzParams {
    Nd2NzParams() {}
    Nd2NzParams(uint16_t nds, uint16_t n, uint16_t d, uint16_t src_matrix, uint16_t src_d, uint16_t c0_stride,
                uint16_t n_stride, uint16_t dst_matrix)
        : ndNum(nds), nValue(n), dValue(d), srcNdMatrixStride(src_matrix), srcDValue(src_d), dstNzC0Stride(c0_stride),
          dstNzNStride(n_stride), dstNzMatrixStride(dst_matrix)
    {}
    uint16_t ndNum = 0;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 0;
    uint16_t srcDValue = 0;
    uint16_t dstNzC0Stride = 0;
    uint16_t dstNzNStride = 0;
    uint16_t dstNzMatrixStride = 0;
};

/// NZ (fractals 16 elements wide, in UB) to ND. srcNdMatrixStride in 256 elements, srcNStride in 16, the rest in one.
struct Nz2NdParamsFull {
    Nz2NdParamsFull() {}
    Nz2NdParamsFull(uint16_t nds, uint16_t n, uint16_t d, uint16_t src_matrix, uint16_t src_n, uint16_t dst_d,
                    uint16_t dst_matrix)
        : ndNum(nds), nValue(n), dValue(d), srcNdMatrixStride(src_matrix), srcNStride(src_n), dstDStride(dst_d),
          dstNdMatrixStride(dst_matrix)
    {}
    uint16_t ndNum = 1;
    uint16_t nValue = 0;
    uint16_t dValue = 0;
    uint16_t srcNdMatrixStride = 1;
    uint16_t srcNStride = 0;
    uint16_t dstDStride = 0;
    uint16_t dstNdMatrixStride = 1;
};

/// Whole fractals of 512 bytes; strides and gaps count fractals.
struct LoadData2DParams {
    LoadData2DParams() {}
    LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t src, uint8_t stream, uint16_t gap, bool transpose,
                     uint8_t mode)
        : startIndex(start), dstGap(gap), srcStride(src), ifTranspose(transpose), repeatTimes(repeats), sid(stream),
          addrMode(mode)
    {}
    uint16_t startIndex = 0;
    uint16_t dstGap = 0;
    uint16_t srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0;
    uint8_t sid = 0;
    uint8_t addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

/// Squares (32x32 bytes-wide, 16x16 otherwise) that are transposed; dst gaps count fractals.
struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() {}
    LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t src, uint16_t gap, uint16_t fractal_gap,
                              uint8_t mode = 0)
        : startIndex(start), repeatTimes(repeats), srcStride(src), dstGap(gap), dstFracGap(fractal_gap), addrMode(mode)
    {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0;
    uint16_t dstGap = 0;
    uint16_t dstFracGap = 0;
    uint8_t addrMode = 0;
};

/// A window of the im2col matrix of an NC1HWC0 image.
template <class T>
struct LoadData3DParamsV2 {
    LoadData3DParamsV2() {}
    LoadData3DParamsV2(const uint8_t pads[4], uint16_t height, uint16_t width, uint16_t channels, uint16_t k_extension,
                       uint16_t m_extension, uint16_t k_start, uint16_t m_start, uint8_t stride_w, uint8_t stride_h,
                       uint8_t filter_w, uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool transpose,
                       bool small_k, T pad, bool wide_w = false, bool wide_h = false, bool matrix_control = false)
        : padList{pads[0], pads[1], pads[2], pads[3]}, l1H(height), l1W(width), channelSize(channels),
          kExtension(k_extension), mExtension(m_extension), kStartPt(k_start), mStartPt(m_start), strideW(stride_w),
          strideH(stride_h), filterW(filter_w), filterH(filter_h), dilationFilterW(dilation_w),
          dilationFilterH(dilation_h), enTranspose(transpose), enSmallK(small_k), padValue(pad), filterSizeW(wide_w),
          filterSizeH(wide_h), fMatrixCtrl(matrix_control)
    {}
    uint8_t padList[4] = {0, 0, 0, 0};  ///< left, right, top, bottom
    uint16_t l1H = 0;
    uint16_t l1W = 0;
    uint16_t channelSize = 0;
    uint16_t kExtension = 0;
    uint16_t mExtension = 0;
    uint16_t kStartPt = 0;
    uint16_t mStartPt = 0;
    uint8_t strideW = 1;
    uint8_t strideH = 1;
    uint8_t filterW = 1;
    uint8_t filterH = 1;
    uint8_t dilationFilterW = 1;
    uint8_t dilationFilterH = 1;
    bool enTranspose = false;
    bool enSmallK = false;
    T padValue{};
    bool filterSizeW = false;
    bool filterSizeH = false;
    bool fMatrixCtrl = false;
};

struct MmadParams {
    MmadParams() {}
    MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, bool bias, int32_t offset, bool sparse, bool winograd_a,
               bool winograd_b)
        : m(rows), n(columns), k(depth), isBias(bias), fmOffset(offset), enSsparse(sparse), enWinogradA(winograd_a),
          enWinogradB(winograd_b)
    {}
    MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, uint8_t unit_flag, bool source, bool init)
        : m(rows), n(columns), k(depth), unitFlag(unit_flag), cmatrixSource(source), cmatrixInitVal(init)
    {}
    uint16_t m = 0;
    uint16_t n = 0;
    uint16_t k = 0;
    bool isBias = false;  ///< true: add to what L0C holds
    int32_t fmOffset = 0;
    bool enSsparse = false;
    bool enWinogradA = false;
    bool enWinogradB = false;
    uint8_t unitFlag = 0;
    bool kDirectionAlign = false;
    bool cmatrixSource = false;
    bool cmatrixInitVal = true;
};

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
    constexpr FixpipeConfig(CO2Layout layout) : format(layout) {}
};
constexpr FixpipeConfig CFG_NZ = CO2Layout::NZ;
constexpr FixpipeConfig CFG_ROW_MAJOR = CO2Layout::ROW_MAJOR;

struct FixpipeParamsV220 {
    FixpipeParamsV220() {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst), reluEn(relu)
    {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t src, uint32_t dst, bool relu, QuantMode_t quant, int64_t scalar,
                      uint16_t nds, uint16_t src_nd, uint16_t dst_nd, uint8_t unit_flag, bool split = false)
        : nSize(n), mSize(m), srcStride(src), dstStride(dst), quantPre(quant), deqScalar(static_cast<uint64_t>(scalar)),
          ndNum(nds), srcNdStride(src_nd), dstNdStride(dst_nd), reluEn(relu), unitFlag(unit_flag), isChannelSplit(split)
    {}
    uint16_t nSize = 0;
    uint16_t mSize = 0;
    uint16_t srcStride = 0;  ///< between columns of fractals, in 16 elements
    uint32_t dstStride = 0;  ///< ROW_MAJOR: elements of a row; NZ: 32-byte blocks between columns of fractals
    QuantMode_t quantPre = QuantMode_t::NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1;
    uint16_t srcNdStride = 0;
    uint16_t dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};

template <class T>
struct InitConstValueParams {
    InitConstValueParams() {}
    InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value)
    {}
    uint16_t repeatTimes = 0;
    uint16_t blockNum = 0;
    uint16_t dstGap = 0;
    T initValue{};
};

}  // namespace AscendC

#endif
