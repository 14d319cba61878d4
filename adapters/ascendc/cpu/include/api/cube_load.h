// Copies that rearrange matrices for the cube: ND to NZ on the way in, fractals from L1 to L0A and L0B.
//
// A fractal is 512 bytes: 16 rows of C0 = 32 bytes. NZ holds columns of fractals one after another; L0A (ZZ) rows of
// fractals; L0B (ZN) rows of fractals whose inside is transposed, so that each of its 16 rows is one column of the
// matrix. Semantics: vendor's pages "DataCopy ND2NZ", "DataCopy NZ2ND", "LoadData_2D", "LoadData_3D" (V2),
// "LoadDataWithTranspose" and "InitConstValue". Lanes past an extension that is no multiple of 16 are left as they are.
#ifndef OPMEND_API_CUBE_LOAD_H
#define OPMEND_API_CUBE_LOAD_H

#include "api/copy.h"
#include "api/cube_params.h"

namespace opmend {

constexpr size_t kFractalRows = 16;
constexpr size_t kFractalBytes = kFractalRows * kBlockBytes;

/// Whether a cube instruction runs here. Ends a launch that has no cube cores at all.
inline bool on_cube(const char *api)
{
    if (g_core->task == TaskType::AivOnly) {
        rt::cube_missing(api);
    }
    return !g_core->aiv;
}

[[noreturn]] inline void unsupported(const char *api, const char *what)
{
    rt::abort_launch("api-misuse", api, rt::format("unsupported: %s (%s)", api, what));
}

inline Pipe load_pipe(const char *api, const uint8_t *dst, const uint8_t *src)
{
    const Memory to = memory_of_address(dst), from = memory_of_address(src);
    if ((to != Memory::L0A && to != Memory::L0B) || from != Memory::L1) {
        unsupported(api, rt::format("%s to %s", range_of(from).name, range_of(to).name).c_str());
    }
    return PipeMte1;
}

inline void copy_bytes(uint8_t *to, const uint8_t *from, size_t bytes)
{
    std::memcpy(to, from, bytes);
#if OPMEND_CHECK >= 2
    std::memcpy(shadow_of(to), shadow_of(from), bytes);
#endif
}

template <class T>
inline void nd_to_nz(const AscendC::LocalTensor<T> &dst, const AscendC::GlobalTensor<T> &src,
                     const AscendC::Nd2NzParams &p)
{
    constexpr const char *api = "DataCopy";
    if (!present(dst.bytes()) || p.ndNum == 0 || p.nValue == 0 || p.dValue == 0) {
        return;
    }
    begin(PipeMte2);
    const size_t row_bytes = p.dValue * sizeof(T);
    const size_t columns = (row_bytes + kBlockBytes - 1) / kBlockBytes;
    for (size_t matrix = 0; matrix < p.ndNum; ++matrix) {
        uint8_t *base = dst.bytes() + matrix * p.dstNzMatrixStride * sizeof(T);
        for (size_t column = 0; column < columns; ++column) {
            uint8_t *at = base + column * p.dstNzC0Stride * kBlockBytes;
            if (p.dstNzNStride == 1) {
                touch(api, PipeMte2, dst.extent(), at, p.nValue * kBlockBytes, true, kBlockBytes);
                continue;
            }
            for (size_t row = 0; row < p.nValue; ++row) {
                touch(api, PipeMte2, dst.extent(), at + row * p.dstNzNStride * kBlockBytes, kBlockBytes, true,
                      kBlockBytes);
            }
        }
        const T *from = src.GetPhyAddr(0) + matrix * p.srcNdMatrixStride;
        for (size_t row = 0; row < p.nValue; ++row) {
            const auto *line = reinterpret_cast<const uint8_t *>(from + row * p.srcDValue);
            const size_t allowed = rt::gm_access(line, row_bytes, GmAccess::Read, nullptr, api);
            for (size_t column = 0; column < columns; ++column) {
                uint8_t *at = base + (column * p.dstNzC0Stride + row * p.dstNzNStride) * kBlockBytes;
                const size_t first = column * kBlockBytes;
                const size_t wanted = std::min(kBlockBytes, row_bytes - first);
                const size_t have = allowed > first ? std::min(wanted, allowed - first) : 0;
                std::memset(at, 0, kBlockBytes);  // what is missing of the last block of a row is 0
                std::memset(at, 0xff, wanted);
                std::memcpy(at, line + first, have);
                mark(at, kBlockBytes, have == wanted ? kWritten : kFiller);
            }
        }
    }
}

/// From UB to GM: fractals of 16 columns to rows.
template <class T>
inline void nz_to_nd(const AscendC::GlobalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                     const AscendC::Nz2NdParamsFull &p)
{
    constexpr const char *api = "DataCopy";
    if (!present(src.bytes())) {
        return;
    }
    if (p.dValue % kFractalRows != 0) {
        misuse(api, "dValue %u of an NZ2ND copy is no multiple of 16", p.dValue);
    }
    begin(PipeMte3);
    for (size_t matrix = 0; matrix < p.ndNum; ++matrix) {
        for (size_t column = 0; column * kFractalRows < p.dValue; ++column) {
            for (size_t row = 0; row < p.nValue; ++row) {
                const uint8_t *from = element(src, matrix * p.srcNdMatrixStride * 256 +
                                                       (column * p.srcNStride + row) * kFractalRows);
                T *to = dst.GetPhyAddr(matrix * p.dstNdMatrixStride + row * p.dstDStride + column * kFractalRows);
                touch(api, PipeMte3, src.extent(), from, kFractalRows * sizeof(T), false);
                store_run<T>(api, reinterpret_cast<uint8_t *>(to), from, kFractalRows * sizeof(T));
            }
        }
    }
}

/// One fractal, transposed as a 16x16 matrix of 2-byte elements.
inline void transpose_fractal(uint8_t *to, const uint8_t *from)
{
    for (size_t row = 0; row < kFractalRows; ++row) {
        for (size_t column = 0; column < kFractalRows; ++column) {
            copy_bytes(to + (row * kFractalRows + column) * 2, from + (column * kFractalRows + row) * 2, 2);
        }
    }
}

template <class T>
inline void load_2d(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                    const AscendC::LoadData2DParams &p)
{
    constexpr const char *api = "LoadData";
    if (!on_cube(api) || p.repeatTimes == 0) {
        return;
    }
    const Pipe pipe = load_pipe(api, dst.bytes(), src.bytes());
    if (p.ifTranspose && sizeof(T) != 2) {
        unsupported(api, "2D with ifTranspose of elements that are not 2 bytes");
    }
    begin(pipe);
    for (int64_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        const int64_t step = (p.addrMode == 0 ? repeat : -repeat) * p.srcStride;
        const uint8_t *from = src.bytes() + (p.startIndex + step) * static_cast<int64_t>(kFractalBytes);
        uint8_t *to = dst.bytes() + static_cast<size_t>(repeat) * (p.dstGap + 1u) * kFractalBytes;
        touch(api, pipe, src.extent(), from, kFractalBytes, false, kBlockBytes);
        touch(api, pipe, dst.extent(), to, kFractalBytes, true, kFractalBytes);
        if (p.ifTranspose) {
            transpose_fractal(to, from);
        } else {
            copy_bytes(to, from, kFractalBytes);
        }
    }
}

/// From GM straight to L0A or L0B (or L1), on MTE2.
template <class T>
inline void load_2d(const AscendC::LocalTensor<T> &dst, const AscendC::GlobalTensor<T> &src,
                    const AscendC::LoadData2DParams &p)
{
    constexpr const char *api = "LoadData";
    if (!on_cube(api)) {
        return;
    }
    if (p.ifTranspose) {
        unsupported(api, "2D from GM with ifTranspose");
    }
    begin(PipeMte2);
    const auto *base = reinterpret_cast<const uint8_t *>(src.GetPhyAddr());
    for (int64_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        const int64_t step = (p.addrMode == 0 ? repeat : -repeat) * p.srcStride;
        uint8_t *to = dst.bytes() + static_cast<size_t>(repeat) * (p.dstGap + 1u) * kFractalBytes;
        touch(api, PipeMte2, dst.extent(), to, kFractalBytes, true, kBlockBytes);
        load_run(api, to, base + (p.startIndex + step) * static_cast<int64_t>(kFractalBytes), kFractalBytes);
    }
}

/// Squares whose transposes become fractals: dst(fractal, row, i) = square(row i of the fractal's part, column row).
template <class T>
inline void load_transposed(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                            const AscendC::LoadData2dTransposeParams &p)
{
    constexpr const char *api = "LoadDataWithTranspose";
    if (!on_cube(api) || p.repeatTimes == 0) {
        return;
    }
    const Pipe pipe = load_pipe(api, dst.bytes(), src.bytes());
    constexpr size_t side = sizeof(T) == 1 ? 32 : 16;
    constexpr size_t width = kBlockBytes / sizeof(T);  // of one fractal row
    constexpr size_t fractals = side * side * sizeof(T) / kFractalBytes;
    begin(pipe);
    for (int64_t repeat = 0; repeat < p.repeatTimes; ++repeat) {
        const int64_t step = (p.addrMode == 0 ? repeat : -repeat) * p.srcStride;
        const uint8_t *square = src.bytes() + (p.startIndex + step) * static_cast<int64_t>(fractals * kFractalBytes);
        touch(api, pipe, src.extent(), square, fractals * kFractalBytes, false, kBlockBytes);
        for (size_t fractal = 0; fractal < fractals; ++fractal) {
            uint8_t *to = dst.bytes() + (static_cast<size_t>(repeat) * (p.dstGap + 1u) + fractal * (p.dstFracGap + 1u)) *
                                            kFractalBytes;
            touch(api, pipe, dst.extent(), to, kFractalBytes, true, kFractalBytes);
            for (size_t row = 0; row < kFractalRows; ++row) {
                for (size_t i = 0; i < width; ++i) {
                    // 4-byte squares are two fractals side by side, all others are rows of `side` elements.
                    const size_t y = sizeof(T) == 4 ? fractal * width + i : i;
                    const size_t x = sizeof(T) == 4 ? row : fractal * kFractalRows + row;
                    const size_t at = sizeof(T) == 4 ? x / width * kFractalRows * width + y * width + x % width
                                                     : y * side + x;
                    copy_bytes(to + (row * width + i) * sizeof(T), square + at * sizeof(T), sizeof(T));
                }
            }
        }
    }
}

/// Where im2col finds one C0 run of the matrix: an L1 address, or null for padding.
template <class T>
inline const uint8_t *image_run(const AscendC::LocalTensor<T> &src, const AscendC::LoadData3DParamsV2<T> &p, size_t row,
                                size_t run)
{
    const size_t filter_w = p.filterW + (p.filterSizeW ? 256u : 0u), filter_h = p.filterH + (p.filterSizeH ? 256u : 0u);
    const size_t wide = p.l1W + p.padList[0] + p.padList[1] - (filter_w - 1) * p.dilationFilterW - 1;
    const size_t out_w = wide / std::max<size_t>(p.strideW, 1) + 1;
    const size_t tap = run % (filter_w * filter_h), channel = run / (filter_w * filter_h);
    const auto y = static_cast<int64_t>(row / out_w * p.strideH + tap / filter_w * p.dilationFilterH) - p.padList[2];
    const auto x = static_cast<int64_t>(row % out_w * p.strideW + tap % filter_w * p.dilationFilterW) - p.padList[0];
    if (x < 0 || x >= p.l1W || y < 0 || y >= p.l1H) {
        return nullptr;
    }
    const size_t pixel = (channel * p.l1H + static_cast<size_t>(y)) * p.l1W + static_cast<size_t>(x);
    return src.bytes() + pixel * kBlockBytes;
}

/// One C0 run of the matrix as it is: a row of a fractal.
template <class T>
inline void put_run(const char *api, Pipe pipe, const AscendC::LocalTensor<T> &dst, uint8_t *to, const uint8_t *from,
                    T pad)
{
    touch(api, pipe, dst.extent(), to, kBlockBytes, true);
    if (from != nullptr) {
        copy_bytes(to, from, kBlockBytes);
        return;
    }
    for (size_t i = 0; i < kBlockBytes / sizeof(T); ++i) {
        std::memcpy(to + i * sizeof(T), &pad, sizeof(T));
    }
    mark(to, kBlockBytes);
}

/// `rows` C0 runs as the columns of a square: to[i][row] = run row, element i.
template <class T>
inline void put_square(const char *api, Pipe pipe, const AscendC::LocalTensor<T> &dst, uint8_t *to,
                       const uint8_t *const *runs, size_t rows, T pad)
{
    constexpr size_t width = kBlockBytes / sizeof(T);
    touch(api, pipe, dst.extent(), to, ((width - 1) * width + rows) * sizeof(T), true);
    bool clean = rows == width;
    for (size_t row = 0; row < rows; ++row) {
        clean = clean && (runs[row] == nullptr || state_of(runs[row], kBlockBytes) == kWritten);
    }
    for (size_t row = 0; row < rows; ++row) {
        for (size_t i = 0; i < width; ++i) {
            uint8_t *at = to + (i * width + row) * sizeof(T);
            const T value = runs[row] == nullptr ? pad : load<T>(runs[row] + i * sizeof(T));
            std::memcpy(at, &value, sizeof(T));
            if (!clean) {
                mark(at, sizeof(T), runs[row] == nullptr ? kWritten : state_of(runs[row] + i * sizeof(T), sizeof(T)));
            }
        }
    }
    if (clean) {
        mark(to, width * width * sizeof(T));
    }
}

template <class T>
inline void load_3d(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<T> &src,
                    const AscendC::LoadData3DParamsV2<T> &p)
{
    constexpr const char *api = "LoadData";
    if (!on_cube(api) || p.l1H == 0 || p.l1W == 0 || p.channelSize == 0 || p.kExtension == 0 || p.mExtension == 0) {
        return;
    }
    const Pipe pipe = load_pipe(api, dst.bytes(), src.bytes());
    const bool right = memory_of_address(dst.bytes()) == Memory::L0B;
    if (right && sizeof(T) == 1) {
        unsupported(api, "3D of 1-byte elements to L0B: use LoadDataWithTranspose");
    }
    if (!right && p.enTranspose && sizeof(T) != 2) {
        unsupported(api, "3D to L0A with enTranspose of elements that are not 2 bytes");
    }
    constexpr size_t width = kBlockBytes / sizeof(T);
    const size_t runs = (p.kExtension + width - 1) / width;
    const size_t bands = (p.mExtension + kFractalRows - 1) / kFractalRows;
    const size_t padded = (p.kExtension + kFractalRows - 1) / kFractalRows * kFractalRows;
    begin(pipe);
    const bool squares = right || p.enTranspose;
    const size_t step = squares ? width : 1;
    for (size_t row = 0; row < p.mExtension; row += step) {
        const size_t here = std::min<size_t>(step, p.mExtension - row);
        for (size_t run = 0; run < runs; ++run) {
            const uint8_t *from[width];
            for (size_t i = 0; i < here; ++i) {
                from[i] = image_run(src, p, row + i + p.mStartPt, run + p.kStartPt / width);
                if (from[i] != nullptr) {
                    touch(api, pipe, src.extent(), from[i], kBlockBytes, false);
                }
            }
            if (!squares) {
                const size_t at = (row / kFractalRows * runs + run) * kFractalBytes + row % kFractalRows * kBlockBytes;
                put_run(api, pipe, dst, dst.bytes() + at, from[0], p.padValue);
                continue;
            }
            // In L0B bands of C0 rows come first, padded to 16 columns; in a transposed L0A, runs do.
            const size_t at = right ? (row / width * padded + run * width) * width
                                    : (run * bands + row / kFractalRows) * kFractalRows * width;
            put_square(api, pipe, dst, element(dst, at), from, here, p.padValue);
        }
    }
}

}  // namespace opmend

namespace AscendC {

template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const Nd2NzParams &params)
{
    opmend::nd_to_nz(dst, src, params);
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const Nz2NdParamsFull &params)
{
    opmend::nz_to_nd(dst, src, params);
}
template <class T>
inline void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LoadData2DParams &params)
{
    opmend::load_2d(dst, src, params);
}
template <class T>
inline void LoadData(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const LoadData2DParams &params)
{
    opmend::load_2d(dst, src, params);
}
template <class T>
inline void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LoadData3DParamsV2<T> &params)
{
    opmend::load_3d(dst, src, params);
}
template <class T>
inline void LoadDataWithTranspose(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                  const LoadData2dTransposeParams &params)
{
    opmend::load_transposed(dst, src, params);
}

/// Fills runs of blocks (32 bytes in L1, 512 in L0A and L0B) with one value.
template <class T>
inline void Fill(const LocalTensor<T> &dst, const InitConstValueParams<T> &params)
{
    if (!opmend::on_cube("Fill")) {
        return;
    }
    const bool first_level = opmend::memory_of_address(dst.bytes()) == opmend::Memory::L1;
    const size_t unit = first_level ? opmend::kBlockBytes : opmend::kFractalBytes;
    const opmend::Pipe pipe = first_level ? opmend::PipeMte2 : opmend::PipeMte1;
    opmend::begin(pipe);
    uint8_t *at = dst.bytes();
    for (size_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        opmend::touch("Fill", pipe, dst.extent(), at, params.blockNum * unit, true, ONE_BLK_SIZE);
        for (size_t byte = 0; byte < params.blockNum * unit; byte += sizeof(T)) {
            std::memcpy(at + byte, &params.initValue, sizeof(T));
        }
        opmend::mark(at, params.blockNum * unit);
        at += (params.blockNum + params.dstGap) * unit;
    }
}
template <class T>
inline void InitConstValue(const LocalTensor<T> &dst, const InitConstValueParams<T> &params)
{
    Fill(dst, params);
}

}  // namespace AscendC

#endif
