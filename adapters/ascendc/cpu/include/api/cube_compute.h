// Mmad and Fixpipe: multiplication of L0A by L0B into L0C, and the way out with conversion.
//
// Semantics: vendor's pages "Mmad", "GEMV", "K-direction alignment", "Fixpipe (L0C to GM)" and "on-the-way quantisation".
// Sums are taken in float (int32 for bytes) by groups of 16 steps of k; the order inside a group is not public: the last
// bits of floating results are approximate. The multiplier of quantisation keeps 10 mantissa bits as described there; products are
// rounded once, to nearest even (approximate: the hardware's intermediate precision is not public).
#ifndef OPMEND_API_CUBE_COMPUTE_H
#define OPMEND_API_CUBE_COMPUTE_H

#include <vector>

#include "api/cast.h"
#include "api/cube_load.h"

namespace opmend {

template <class U>
using Accumulator = std::conditional_t<std::is_integral_v<U>, int32_t, float>;

/// Byte offset of element (row, column) in rows of fractals whose columns are C0 wide (L0A; L0B with both swapped).
template <class U>
inline size_t zz_offset(size_t row, size_t column, size_t columns)
{
    constexpr size_t width = kBlockBytes / sizeof(U);
    return (row / kFractalRows * columns + column / width) * kFractalBytes + row % kFractalRows * kBlockBytes +
           column % width * sizeof(U);
}

/// Byte offset of element (row, column) in L0C: columns of `pitch` fractal rows, fractals of 16x16 elements of 4 bytes.
inline size_t l0c_offset(size_t row, size_t column, size_t pitch)
{
    return (column / kFractalRows * pitch * kFractalRows + row) * kFractalRows * 4 + column % kFractalRows * 4;
}

/// The operands of one Mmad as plain row-major matrices, and what their bytes were worth.
template <class A>
struct Operands {
    std::vector<A> left, right, sum;
    uint8_t state = kWritten;
};

inline void check_memory(const char *api, const char *operand, const uint8_t *address, Memory wanted)
{
    if (address == nullptr || memory_of_address(address) != wanted) {
        rt::abort_launch("api-misuse", api, rt::format("%s is not in %s", operand, range_of(wanted).name));
    }
}

template <class A, class U, class S>
inline void read_operands(Operands<A> &matrices, const AscendC::LocalTensor<U> &left,
                          const AscendC::LocalTensor<S> &right, const AscendC::MmadParams &p)
{
    constexpr size_t width = kBlockBytes / sizeof(U);
    const size_t depth = p.kDirectionAlign && sizeof(U) == 4 ? (p.k + 15u) / 16 * 2 : (p.k + width - 1) / width;
    const size_t bands = (p.n + kFractalRows - 1) / kFractalRows;
    matrices.left.resize(static_cast<size_t>(p.m) * p.k);
    matrices.right.resize(static_cast<size_t>(p.k) * p.n);
    const size_t left_bytes = p.m == 1 ? p.k * sizeof(U) : (p.m + kFractalRows - 1) / kFractalRows * depth * kFractalBytes;
    const size_t right_bytes = (p.k + width - 1) / width * bands * kFractalBytes;
    touch("Mmad", PipeM, left.extent(), left.bytes(), left_bytes, false, kFractalBytes);
    touch("Mmad", PipeM, right.extent(), right.bytes(), right_bytes, false, kFractalBytes);
    const bool clean = state_of(left.bytes(), left_bytes) == kWritten && state_of(right.bytes(), right_bytes) == kWritten;
    for (size_t row = 0; row < p.m; ++row) {
        for (size_t first = 0; first < p.k; first += width) {
            // With one row the cube takes L0A as a plain vector (GEMV).
            const uint8_t *from = left.bytes() + (p.m == 1 ? first * sizeof(U) : zz_offset<U>(row, first, depth));
            const size_t here = std::min<size_t>(width, p.k - first);
            for (size_t i = 0; i < here; ++i) {
                matrices.left[row * p.k + first + i] = static_cast<A>(load<U>(from + i * sizeof(U)));
            }
            if (!clean) {
                matrices.state = static_cast<uint8_t>(matrices.state & state_of(from, here * sizeof(U)));
            }
        }
    }
    for (size_t first = 0; first < p.k; first += width) {
        const size_t here = std::min<size_t>(width, p.k - first);
        for (size_t column = 0; column < p.n; ++column) {
            const uint8_t *from = right.bytes() + (first / width * bands * kFractalRows + column) * kBlockBytes;
            for (size_t i = 0; i < here; ++i) {
                matrices.right[(first + i) * p.n + column] = static_cast<A>(load<S>(from + i * sizeof(S)));
            }
            if (!clean) {
                matrices.state = static_cast<uint8_t>(matrices.state & state_of(from, here * sizeof(S)));
            }
        }
    }
}

/// c = a * b + (0, what c holds, or the bias of each column).
template <class T, class U, class S>
inline void mmad(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &left,
                 const AscendC::LocalTensor<S> &right, const T *bias, uint8_t bias_state, bool keep,
                 const AscendC::MmadParams &p)
{
    using A = Accumulator<U>;
    static_assert(std::is_same_v<T, A>, "unsupported: Mmad into this type (float, or int32_t for bytes)");
    static_assert(std::is_same_v<U, S>, "unsupported: Mmad of two different types");
    constexpr const char *api = "Mmad";
    if (!on_cube(api) || p.m == 0 || p.n == 0 || p.k == 0) {
        return;
    }
    check_memory(api, "dst", dst.bytes(), Memory::L0C);
    check_memory(api, "fm", left.bytes(), Memory::L0A);
    check_memory(api, "filter", right.bytes(), Memory::L0B);
    if (p.enSsparse || p.enWinogradA || p.enWinogradB) {
        unsupported(api, "sparse or Winograd");
    }
    begin(PipeM);
    Operands<A> matrices;
    read_operands(matrices, left, right, p);
    const size_t pitch = (p.m + kFractalRows - 1) / kFractalRows;
    const size_t bands = (p.n + kFractalRows - 1) / kFractalRows;
    const size_t bytes = bands * pitch * kFractalRows * kFractalRows * 4;
    touch(api, PipeM, dst.extent(), dst.bytes(), bytes, true, 1024);
    const bool clean = keep && state_of(dst.bytes(), bytes) == kWritten;
    matrices.sum.resize(static_cast<size_t>(p.m) * p.n);
    uint8_t state = static_cast<uint8_t>(matrices.state & (bias != nullptr ? bias_state : kWritten));
    for (size_t row = 0; row < p.m; ++row) {
        for (size_t column = 0; column < p.n; ++column) {
            A &sum = matrices.sum[row * p.n + column];
            sum = bias != nullptr ? bias[column] : A(0);
            if (keep) {
                const uint8_t *at = dst.bytes() + l0c_offset(row, column, pitch);
                sum = load<T>(at);
                state = static_cast<uint8_t>(state & (clean ? kWritten : state_of(at, sizeof(T))));
            }
        }
    }
    rt::multiply(matrices.left.data(), matrices.right.data(), matrices.sum.data(), p.m, p.n, p.k);
    for (size_t row = 0; row < p.m; ++row) {
        for (size_t column = 0; column < p.n; column += kFractalRows) {
            uint8_t *at = dst.bytes() + l0c_offset(row, column, pitch);
            const size_t here = std::min<size_t>(kFractalRows, p.n - column);
            std::memcpy(at, &matrices.sum[row * p.n + column], here * sizeof(T));
            mark(at, here * sizeof(T), state);
        }
    }
}

/// The multiplier in the low 32 bits of a quantisation word: a float of which 10 mantissa bits count.
inline float quant_scale(uint64_t word)
{
    const auto bits = static_cast<uint32_t>(word) & 0xffffe000u;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return scale;
}

/// One element on its way from L0C to GM.
template <class D, class T>
inline D fix_element(T value, const AscendC::FixpipeParamsV220 &p, uint64_t word)
{
    if (p.quantPre == NoQuant || p.quantPre == F322F16 || p.quantPre == F322BF16) {
        return static_cast<D>(p.reluEn && value < T(0) ? T(0) : value);
    }
    float scaled = static_cast<float>(value) * quant_scale(word);
    if (p.reluEn && value < T(0)) {
        scaled = 0;
    }
    if constexpr (std::is_integral_v<D> && sizeof(D) == 1) {
        const auto offset = static_cast<int32_t>(word >> 37 & 0x1ff);
        scaled = std::nearbyint(scaled) + static_cast<float>(offset >= 256 ? offset - 512 : offset);
        return (word >> 46 & 1) != 0
                   ? static_cast<D>(to_integer<int8_t>(scaled, AscendC::RoundMode::CAST_RINT))
                   : static_cast<D>(to_integer<uint8_t>(scaled, AscendC::RoundMode::CAST_RINT));
    } else {
        return static_cast<D>(scaled);
    }
}

template <class D, class T>
inline void check_quant(const AscendC::FixpipeParamsV220 &p)
{
    const QuantMode_t mode = p.quantPre;
    const bool bytes = sizeof(D) == 1;
    const bool fits = std::is_same_v<D, T>            ? mode == NoQuant
                      : std::is_same_v<T, int32_t>    ? (bytes ? mode == REQ8 || mode == VREQ8
                                                               : mode == DEQF16 || mode == VDEQF16)
                      : bytes                         ? mode == QF322B8_PRE || mode == VQF322B8_PRE
                      : std::is_same_v<D, bfloat16_t> ? mode == F322BF16
                                                      : mode == F322F16;
    if (!fits) {
        rt::abort_launch("api-misuse", "Fixpipe",
                         rt::format("quantPre %d does not convert %zu-byte elements of L0C to what the destination "
                                    "holds",
                                    static_cast<int>(mode), sizeof(T)));
    }
    if (p.isChannelSplit) {
        unsupported("Fixpipe", "isChannelSplit");
    }
    if ((p.deqScalar >> 36 & 1) != 0 && (mode == REQ8 || mode == DEQF16)) {
        unsupported("Fixpipe", "the shift of a quantisation word (bit 36)");
    }
}

/// L0C to GM. `words` holds one quantisation word per column, or is null for the scalar of the parameters.
template <AscendC::CO2Layout layout, class D, class T>
inline void fixpipe(const AscendC::GlobalTensor<D> &dst, const AscendC::LocalTensor<T> &src,
                    const AscendC::LocalTensor<uint64_t> *words, const AscendC::FixpipeParamsV220 &p)
{
    static_assert(sizeof(T) == 4, "Fixpipe reads float or int32_t from L0C");
    static_assert(layout != AscendC::CO2Layout::COLUMN_MAJOR, "unsupported: Fixpipe COLUMN_MAJOR (not on Atlas A2)");
    constexpr const char *api = "Fixpipe";
    if (!on_cube(api) || p.nSize == 0 || p.mSize == 0 || p.ndNum == 0) {
        return;
    }
    check_memory(api, "src", src.bytes(), Memory::L0C);
    check_quant<D, T>(p);
    begin(PipeFix);
    if (words != nullptr) {
        // Read with the order that a C1 queue gives: the way from L1 to the fixpipe buffer is the API's own.
        touch(api, PipeMte1, words->extent(), words->bytes(), p.nSize * sizeof(uint64_t), false, kBlockBytes);
        require_written(api, words->bytes(), p.nSize * sizeof(uint64_t));
    }
    const bool rows = layout == AscendC::CO2Layout::ROW_MAJOR;
    const size_t c0 = rows || sizeof(D) != 1 ? kFractalRows : 2 * kFractalRows;  // columns of an NZ fractal in GM
    const size_t matrices = rows ? p.ndNum : 1;
    std::vector<D> line(rows ? p.nSize : c0);
    for (size_t matrix = 0; matrix < matrices; ++matrix) {
        const uint8_t *base = src.bytes() + matrix * p.srcNdStride * kFractalRows * kFractalRows * 4;
        for (size_t row = 0; row < p.mSize; ++row) {
            for (size_t column = 0; column < p.nSize; column += kFractalRows) {
                const uint8_t *from = base + (column / kFractalRows * p.srcStride + row) * kFractalRows * 4;
                const size_t here = std::min<size_t>(kFractalRows, p.nSize - column);
                touch(api, PipeFix, src.extent(), from, here * 4, false, 64);
                require_written(api, from, here * 4);
                for (size_t i = 0; i < here; ++i) {
                    const uint64_t word = words != nullptr ? load<uint64_t>(element(*words, column + i)) : p.deqScalar;
                    line[rows ? column + i : column % c0 + i] = fix_element<D>(load<T>(from + i * 4), p, word);
                }
                const bool full = (column + here) % c0 == 0 || column + here == p.nSize;
                if (!rows && full) {
                    const size_t first = column / c0 * c0;
                    uint8_t *to = reinterpret_cast<uint8_t *>(dst.GetPhyAddr(0)) + column / c0 * p.dstStride * kBlockBytes +
                                  row * c0 * sizeof(D);
                    put_line<D>(api, to, line.data(), column + here - first);
                }
            }
            if (rows) {
                D *to = dst.GetPhyAddr(matrix * p.dstNdStride + row * p.dstStride);
                put_line<D>(api, reinterpret_cast<uint8_t *>(to), line.data(), p.nSize);
            }
        }
    }
}

}  // namespace opmend

namespace AscendC {

template <class T, class U, class S>
inline void Mmad(const LocalTensor<T> &dst, const LocalTensor<U> &fm, const LocalTensor<S> &filter,
                 const MmadParams &params)
{
    const bool init = params.cmatrixInitVal && !params.isBias;
    if (!init && params.cmatrixSource) {
        opmend::unsupported("Mmad", "cmatrixSource without a bias tensor");
    }
    opmend::mmad<T, U, S>(dst, fm, filter, nullptr, opmend::kWritten, !init, params);
}

/// With the bias of each column, from the bias table (C2).
template <class T, class U, class S, class V>
inline void Mmad(const LocalTensor<T> &dst, const LocalTensor<U> &fm, const LocalTensor<S> &filter,
                 const LocalTensor<V> &bias, const MmadParams &params)
{
    static_assert(std::is_same_v<T, V>, "unsupported: Mmad with a bias of another type than dst");
    if (!opmend::on_cube("Mmad") || params.n == 0) {
        return;
    }
    opmend::check_memory("Mmad", "bias", bias.bytes(), opmend::Memory::Bias);
    const size_t bytes = params.n * sizeof(V);
    opmend::touch("Mmad", opmend::PipeM, bias.extent(), bias.bytes(), bytes, false, 64);
    const auto *line = reinterpret_cast<const T *>(bias.bytes());
    opmend::mmad<T, U, S>(dst, fm, filter, line, opmend::state_of(bias.bytes(), bytes), false, params);
}

template <class T, class U, const FixpipeConfig &config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T> &dst, const LocalTensor<U> &src, const FixpipeParamsV220 &params)
{
    opmend::fixpipe<config.format>(dst, src, nullptr, params);
}
template <class T, class U, const FixpipeConfig &config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T> &dst, const LocalTensor<U> &src, const LocalTensor<uint64_t> &cbufWorkspace,
                    const FixpipeParamsV220 &params)
{
    opmend::fixpipe<config.format>(dst, src, &cbufWorkspace, params);
}

/// L1 to the bias table with a conversion (half to float).
template <class T, class U>
inline std::enable_if_t<!std::is_same_v<T, U>> DataCopy(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                                                        const DataCopyParams &params)
{
    if (!opmend::on_cube("DataCopy")) {
        return;
    }
    opmend::check_memory("DataCopy", "dst", dst.bytes(), opmend::Memory::Bias);
    opmend::check_memory("DataCopy", "src", src.bytes(), opmend::Memory::L1);
    opmend::begin(opmend::PipeMte1);
    const size_t count = params.blockLen * size_t{64} / sizeof(T);
    for (size_t block = 0; block < params.blockCount; ++block) {
        const uint8_t *from = src.bytes() + block * (count * sizeof(U) + params.srcStride * ONE_BLK_SIZE);
        uint8_t *to = dst.bytes() + block * (count * sizeof(T) + params.dstStride * size_t{64});
        opmend::touch("DataCopy", opmend::PipeMte1, src.extent(), from, count * sizeof(U), false, ONE_BLK_SIZE);
        opmend::touch("DataCopy", opmend::PipeMte1, dst.extent(), to, count * sizeof(T), true, 64);
        for (size_t i = 0; i < count; ++i) {
            const T value = static_cast<T>(opmend::load<U>(from + i * sizeof(U)));
            std::memcpy(to + i * sizeof(T), &value, sizeof(T));
        }
        opmend::mark(to, count * sizeof(T), opmend::state_of(from, count * sizeof(U)));
    }
}

}  // namespace AscendC

#endif
