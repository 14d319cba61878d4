// DataCopy and DataCopyPad between global memory and UB, and inside UB.
//
// GM -> UB runs on MTE2, UB -> GM on MTE3, UB -> UB on the vector unit. Lengths and gaps of DataCopy are in 32-byte
// blocks; the count form moves whole blocks only, as the device does. DataCopyPad moves bytes: the gap on the GM side
// is in bytes, the gap on the UB side in blocks. Filler up to the next block: the first element of the block when both
// paddings are 0, paddingValue when isPad, the value of SetPadValue if
// there is one, 0xff (the device: anything) otherwise. A filler is a value nobody may use,
// so its bytes count as never written; explicit left and right padding counts as written when its
// value was given.
#ifndef OPMEND_API_COPY_H
#define OPMEND_API_COPY_H

#include "api/engine.h"

namespace opmend {

/// Combines a stored element with what GM holds, under the core's atomic mode.
template <class T>
inline T combine(T old, T value)
{
    using W = Wide<T>;
    switch (g_core->atomic) {
        case Atomic::Add: return narrow<T>(static_cast<W>(old) + static_cast<W>(value));
        case Atomic::Max: return static_cast<W>(value) > static_cast<W>(old) ? value : old;
        case Atomic::Min: return static_cast<W>(value) < static_cast<W>(old) ? value : old;
        default: return value;
    }
}

/// One run of bytes from GM to UB. What lies outside every tensor arrives as 0xff.
inline void load_run(const char *api, uint8_t *to, const uint8_t *from, size_t bytes)
{
    const size_t allowed = rt::gm_access(from, bytes, GmAccess::Load, nullptr, api);
    std::memcpy(to, from, allowed);
    mark(to, allowed);
#if OPMEND_CHECK >= 2
    if (g_dubious) {
        rt::gm_load_marks(from, to, allowed);
    }
#endif
    if (allowed < bytes) {
        std::memset(to + allowed, 0xff, bytes - allowed);
        mark(to + allowed, bytes - allowed, kFiller);
    }
}

/// One run of bytes from UB to GM. What lies outside every tensor is not stored.
template <class T>
inline void store_run(const char *api, uint8_t *to, const uint8_t *from, size_t bytes)
{
    const size_t allowed = rt::gm_access(to, bytes, GmAccess::Write, from, api);
#if OPMEND_CHECK >= 2
    if (state_of(from, bytes) != kWritten) {
        rt::gm_store_marks(api, to, from, bytes, allowed);
    }
#endif
    if (g_core->atomic == Atomic::None) {
        std::memcpy(to, from, allowed);
        return;
    }
    for (size_t i = 0; i + sizeof(T) <= allowed; i += sizeof(T)) {
        const T sum = combine(load<T>(to + i), load<T>(from + i));
        std::memcpy(to + i, &sum, sizeof(T));
    }
}

/// One run of values that were computed on the way (fixpipe) to GM.
template <class T>
inline void put_line(const char *api, uint8_t *to, const T *values, size_t count)
{
    const size_t allowed =
        rt::gm_access(to, count * sizeof(T), GmAccess::Write, reinterpret_cast<const uint8_t *>(values), api);
    if (g_core->atomic == Atomic::None) {
        std::memcpy(to, values, allowed);
        return;
    }
    for (size_t i = 0; (i + 1) * sizeof(T) <= allowed; ++i) {
        const T sum = combine(load<T>(to + i * sizeof(T)), values[i]);
        std::memcpy(to + i * sizeof(T), &sum, sizeof(T));
    }
}

inline void check_pad_lengths(size_t element, uint32_t length, uint32_t count)
{
    if (length % element != 0) {
        misuse("DataCopyPad", "blockLen of %u bytes is not a multiple of the %zu-byte element", length, element);
    }
    if (count > 4095 || length > 2097151) {
        misuse("DataCopyPad", "blockCount %u or blockLen %u is above the limits 4095 and 2097151", count, length);
    }
}

template <class T>
inline void pad_in(const AscendC::LocalTensor<T> &dst, const AscendC::GlobalTensor<T> &src, uint32_t count,
                   uint32_t length, uint64_t src_gap, uint64_t dst_gap, bool is_pad, uint32_t left, uint32_t right,
                   T value)
{
    constexpr const char *api = "DataCopyPad";
    if (!present(dst.bytes()) || count == 0 || length == 0) {
        return;
    }
    begin(PipeMte2);
    check_pad_lengths(sizeof(T), length, count);
    if (left * sizeof(T) > kBlockBytes || right * sizeof(T) > kBlockBytes) {
        misuse(api, "leftPadding %u or rightPadding %u is more than 32 bytes", left, right);
    }
    const size_t used = length + (left + right) * sizeof(T);
    const size_t rounded = (used + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    const auto *from = reinterpret_cast<const uint8_t *>(src.GetPhyAddr());
    uint8_t *to = dst.bytes();
    for (uint32_t block = 0; block < count; ++block) {
        touch(api, PipeMte2, dst.extent(), to, rounded, true, kBlockBytes);
        load_run(api, to + left * sizeof(T), from, length);
        T filler = is_pad ? value : T{};
        if (left == 0 && right == 0) {
            filler = load<T>(to);
        } else if (!is_pad && g_core->pad_set) {
            std::memcpy(&filler, &g_core->pad_value, sizeof(T));
        } else if (!is_pad) {
            std::memset(&filler, 0xff, sizeof(T));
        }
        for (size_t i = 0; i < left; ++i) {
            std::memcpy(to + i * sizeof(T), &filler, sizeof(T));
        }
        for (size_t at = left * sizeof(T) + length; at < rounded; at += sizeof(T)) {
            std::memcpy(to + at, &filler, std::min(sizeof(T), rounded - at));
        }
        const uint8_t padding = is_pad || g_core->pad_set ? kWritten : kFiller;
        mark(to, left * sizeof(T), padding);
        mark(to + left * sizeof(T) + length, right * sizeof(T), padding);
        mark(to + used, rounded - used, kFiller);
        from += length + src_gap;
        to += rounded + dst_gap * kBlockBytes;
    }
}

template <class T>
inline void pad_out(const AscendC::GlobalTensor<T> &dst, const AscendC::LocalTensor<T> &src, uint32_t count,
                    uint32_t length, uint64_t src_gap, uint64_t dst_gap)
{
    constexpr const char *api = "DataCopyPad";
    if (!present(src.bytes()) || count == 0 || length == 0) {
        return;
    }
    begin(PipeMte3);
    check_pad_lengths(sizeof(T), length, count);
    const size_t rounded = (length + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    auto *to = reinterpret_cast<uint8_t *>(dst.GetPhyAddr(0));
    const uint8_t *from = src.bytes();
    for (uint32_t block = 0; block < count; ++block) {
        touch(api, PipeMte3, src.extent(), from, length, false, kBlockBytes);
        store_run<T>(api, to, from, length);
        from += rounded + src_gap * kBlockBytes;
        to += length + dst_gap;
    }
}

/// Whole blocks that `count` elements fill; the rest is not moved.
template <class T>
inline size_t whole_blocks(uint32_t count)
{
    const size_t bytes = static_cast<size_t>(count) * sizeof(T);
    if (bytes % kBlockBytes != 0) {
        misuse("DataCopy",
               "%u elements are %zu bytes, which is no multiple of 32: the last %zu bytes are not moved; "
               "use DataCopyPad",
               count, bytes, bytes % kBlockBytes);
    }
    return bytes / kBlockBytes;
}

inline Memory memory_of_address(const uint8_t *address)
{
    return memory_at(static_cast<size_t>(address - g_core->ub));
}

/// Bytes of one block of a copy to `address`.
inline size_t copy_unit(const uint8_t *address)
{
    const Memory to = memory_of_address(address);
    return to == Memory::Bias ? 64 : to == Memory::Fix ? 128 : kBlockBytes;
}

/// Inside a core, in blocks: UB to UB on the vector unit, L1 to the bias table on MTE1 (blocks of 64 bytes there), L1 to
/// the fixpipe buffer on FIX (blocks of 128 bytes).
inline void move_blocks(const char *api, const Extent &dst_extent, uint8_t *dst, const Extent &src_extent,
                        const uint8_t *src, size_t count, size_t length, size_t src_gap, size_t dst_gap)
{
    if (dst == nullptr || src == nullptr) {
        if (!g_core->aiv) {
            return;
        }
        rt::abort_launch("api-misuse", api, "the LocalTensor was never allocated");
    }
    const Memory from = memory_of_address(src), to = memory_of_address(dst);
    if (from == Memory::Ub ? to != Memory::Ub : from != Memory::L1 || (to != Memory::Bias && to != Memory::Fix)) {
        rt::abort_launch("api-misuse", api,
                         rt::format("unsupported: DataCopy (%s to %s)", range_of(from).name, range_of(to).name));
    }
    if (!present(dst)) {
        return;
    }
    const Pipe pipe = to == Memory::Ub ? PipeV : to == Memory::Bias ? PipeMte1 : PipeFix;
    const size_t unit = copy_unit(dst);
    begin(pipe);
    for (size_t block = 0; block < count; ++block) {
        const size_t bytes = length * unit;
        touch(api, pipe, src_extent, src, bytes, false, kBlockBytes);
        touch(api, pipe, dst_extent, dst, bytes, true, static_cast<unsigned>(unit));
        std::memmove(dst, src, bytes);
#if OPMEND_CHECK >= 2
        std::memmove(shadow_of(dst), shadow_of(src), bytes);
#endif
        src += bytes + src_gap * kBlockBytes;
        dst += bytes + dst_gap * unit;
    }
}

template <class T>
inline void blocks_in(const AscendC::LocalTensor<T> &dst, const AscendC::GlobalTensor<T> &src, size_t count,
                      size_t length, size_t src_gap, size_t dst_gap)
{
    if (!present(dst.bytes())) {
        return;
    }
    begin(PipeMte2);
    const auto *from = reinterpret_cast<const uint8_t *>(src.GetPhyAddr());
    uint8_t *to = dst.bytes();
    const size_t bytes = length * kBlockBytes;
    for (size_t block = 0; block < count && bytes != 0; ++block) {
        touch("DataCopy", PipeMte2, dst.extent(), to, bytes, true, kBlockBytes);
        load_run("DataCopy", to, from, bytes);
        from += bytes + src_gap * kBlockBytes;
        to += bytes + dst_gap * kBlockBytes;
    }
}

template <class T>
inline void blocks_out(const AscendC::GlobalTensor<T> &dst, const AscendC::LocalTensor<T> &src, size_t count,
                       size_t length, size_t src_gap, size_t dst_gap)
{
    if (!present(src.bytes())) {
        return;
    }
    begin(PipeMte3);
    auto *to = reinterpret_cast<uint8_t *>(dst.GetPhyAddr(0));
    const uint8_t *from = src.bytes();
    const size_t bytes = length * kBlockBytes;
    for (size_t block = 0; block < count && bytes != 0; ++block) {
        touch("DataCopy", PipeMte3, src.extent(), from, bytes, false, kBlockBytes);
        store_run<T>("DataCopy", to, from, bytes);
        from += bytes + src_gap * kBlockBytes;
        to += bytes + dst_gap * kBlockBytes;
    }
}

}  // namespace opmend

namespace AscendC {

/// Padding of later DataCopyPad calls with isPad = false.
template <class T, TPosition position = TPosition::MAX>
inline void SetPadValue(T paddingValue)
{
    opmend::g_core->pad_set = true;
    std::memcpy(&opmend::g_core->pad_value, &paddingValue, sizeof(T));
}

template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &params)
{
    opmend::blocks_in(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride);
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const uint32_t count)
{
    opmend::blocks_in(dst, src, 1, opmend::whole_blocks<T>(count), 0, 0);
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params)
{
    opmend::blocks_out(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride);
}
template <class T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count)
{
    opmend::blocks_out(dst, src, 1, opmend::whole_blocks<T>(count), 0, 0);
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params)
{
    opmend::move_blocks("DataCopy", dst.extent(), dst.bytes(), src.extent(), src.bytes(), params.blockCount,
                        params.blockLen, params.srcStride, params.dstStride);
}
template <class T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count)
{
    // One copy of as many 32-byte blocks as the count fills, whatever the destination's own unit.
    const size_t blocks = opmend::whole_blocks<T>(count);
    const size_t unit = dst.bytes() == nullptr ? ONE_BLK_SIZE : opmend::copy_unit(dst.bytes());
    opmend::move_blocks("DataCopy", dst.extent(), dst.bytes(), src.extent(), src.bytes(), 1,
                        (blocks * ONE_BLK_SIZE + unit - 1) / unit, 0, 0);
}

template <class T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &params,
                        const DataCopyPadParams &pad)
{
    T value;
    std::memcpy(&value, &pad.paddingValue, sizeof(T));
    opmend::pad_in(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride, pad.isPad,
                   pad.leftPadding, pad.rightPadding, value);
}
template <class T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params,
                        const DataCopyPadExtParams<T> &pad)
{
    opmend::pad_in(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride, pad.isPad,
                   pad.leftPadding, pad.rightPadding, pad.paddingValue);
}
template <class T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params)
{
    opmend::pad_out(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride);
}
template <class T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &params)
{
    opmend::pad_out(dst, src, params.blockCount, params.blockLen, params.srcStride, params.dstStride);
}

}  // namespace AscendC

#endif
