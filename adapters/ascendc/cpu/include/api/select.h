// Compare, CompareScalar and Select. A comparison result is one bit per element, lowest bit first, packed from repeat
// to repeat. The count form of Compare covers whole 256-byte repeats only (vendor's rule); a rest is left as it is.
#ifndef OPMEND_API_SELECT_H
#define OPMEND_API_SELECT_H

#include "api/engine.h"

namespace opmend {

template <class W>
inline bool holds(W x, W y, AscendC::CMPMODE mode)
{
    using AscendC::CMPMODE;
    switch (mode) {
        case CMPMODE::LT: return x < y;
        case CMPMODE::GT: return x > y;
        case CMPMODE::EQ: return x == y;
        case CMPMODE::LE: return x <= y;
        case CMPMODE::GE: return x >= y;
        default: return x != y;
    }
}

/// Writes the bits of `lanes` comparisons. `bit(lane)` gives a result, `known(lane)` whether its operands were written.
/// The state of a byte of results has one bit per result, so that a tail of less than a repeat, or of less than eight
/// results, does not make its neighbours look unwritten.
template <class U, class Bit, class Known>
inline void put_bits(const char *api, const AscendC::LocalTensor<U> &dst, size_t first, size_t lanes, Bit bit,
                     Known known)
{
    uint8_t *at = dst.bytes() + first / 8;
    touch(api, PipeV, dst.extent(), at, lanes / 8, true);
    for (size_t byte = 0; byte < lanes / 8; ++byte) {
        unsigned packed = 0, state = 0;
        for (size_t i = 0; i < 8; ++i) {
            packed |= bit(byte * 8 + i) ? 1u << i : 0u;
#if OPMEND_CHECK >= 2
            state |= known(byte * 8 + i) ? 1u << i : 0u;
#endif
        }
        at[byte] = static_cast<uint8_t>(packed);
        // Bits that spell a kind of filler lose one more: results are never taken for bytes of a known value.
        state &= state == kDummy || state == kFiller ? state - 1 : state;
        mark(at + byte, 1, static_cast<uint8_t>(state));
    }
    (void)known;
}

/// The state of one result among the eight of a byte.
inline uint8_t state_of_bit(const uint8_t *byte, size_t bit)
{
    return (state_of(byte, 1) >> bit & 1) != 0 ? kWritten : kUnset;
}

/// Second operand of a comparison or a selection: a tensor or one value.
template <class T>
struct Other {
    const AscendC::LocalTensor<T> *tensor = nullptr;
    T scalar{};
    size_t block_stride = 1, repeat_stride = kBlocksPerRepeat;

    Strided<T> strided() const { return {*tensor, block_stride, repeat_stride}; }
};

template <class T, class U>
inline void compare_repeats(const char *api, const AscendC::LocalTensor<U> &dst, const Strided<T> &src0,
                            const Other<T> &src1, AscendC::CMPMODE mode, size_t repeats)
{
    if (!g_core->aiv) {
        return;
    }
    constexpr size_t lanes = lanes_of<T>();
    begin(PipeV);
    check_start(api, dst.bytes());
    check_start(api, src0.tensor.bytes());
    bool all[lanes];
    std::fill(all, all + lanes, true);
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        touch_lanes(api, src0, repeat, all, lanes, false);
        if (src1.tensor != nullptr) {
            touch_lanes(api, src1.strided(), repeat, all, lanes, false);
        }
        bool result[lanes], known[lanes];  // before a bit is written: dst may lie over an operand
        for (size_t lane = 0; lane < lanes; ++lane) {
            const uint8_t *x = src0.at(repeat, lane), *y = src1.tensor != nullptr ? src1.strided().at(repeat, lane) : nullptr;
            const T right = y != nullptr ? load<T>(y) : src1.scalar;
            result[lane] = holds(static_cast<Wide<T>>(load<T>(x)), static_cast<Wide<T>>(right), mode);
            known[lane] = state_of(x, sizeof(T)) == kWritten && (y == nullptr || state_of(y, sizeof(T)) == kWritten);
        }
        put_bits(api, dst, repeat * lanes, lanes, [&](size_t lane) { return result[lane]; },
                 [&](size_t lane) { return known[lane]; });
    }
}

template <class T>
inline size_t whole_repeats(const char *api, uint32_t count)
{
    constexpr size_t lanes = lanes_of<T>();
    if (count % lanes != 0) {
        misuse(api, "%u elements of %zu bytes are no multiple of 256 bytes: the last %zu are not compared", count,
               sizeof(T), count % lanes);
    }
    return count / lanes;
}

/// dst = bit of the selection mask ? src0 : src1. `elements` limits a count form (0: all active lanes).
template <class T, class U>
inline void select(const AscendC::LocalTensor<T> &dst, const AscendC::LocalTensor<U> &bits, const Strided<T> &src0,
                   const Other<T> &src1, AscendC::SELMODE mode, const LaneMask &mask, size_t repeats, size_t elements,
                   size_t dst_block, size_t dst_repeat)
{
    constexpr const char *api = "Select";
    if (!g_core->aiv) {
        return;
    }
    constexpr size_t lanes = lanes_of<T>();
    begin(PipeV);
    check_start(api, dst.bytes());
    check_start(api, src0.tensor.bytes());
    check_start(api, bits.bytes());
    const Strided<T> out{dst, dst_block, dst_repeat};
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        bool active[lanes];
        for (size_t lane = 0; lane < lanes; ++lane) {
            active[lane] = mask.active(repeat, lane, lanes) && (elements == 0 || repeat * lanes + lane < elements);
        }
        touch_lanes(api, src0, repeat, active, lanes, false);
        if (src1.tensor != nullptr) {
            touch_lanes(api, src1.strided(), repeat, active, lanes, false);
        }
        touch_lanes(api, out, repeat, active, lanes, true);
        const size_t first = mode == AscendC::SELMODE::VSEL_CMPMASK_SPR ? 0 : repeat * lanes;
        T result[lanes];
        uint8_t state[lanes];
        for (size_t lane = 0; lane < lanes; ++lane) {
            if (!active[lane]) {
                continue;
            }
            const uint8_t *byte = bits.bytes() + (first + lane) / 8;
            touch(api, PipeV, bits.extent(), byte, 1, false);
            state[lane] = state_of_bit(byte, (first + lane) % 8);
            if ((*byte >> ((first + lane) % 8) & 1) != 0) {
                result[lane] = load<T>(src0.at(repeat, lane));
                state[lane] = static_cast<uint8_t>(state[lane] & state_of(src0.at(repeat, lane), sizeof(T)));
            } else if (src1.tensor != nullptr) {
                result[lane] = load<T>(src1.strided().at(repeat, lane));
                state[lane] = static_cast<uint8_t>(state[lane] & state_of(src1.strided().at(repeat, lane), sizeof(T)));
            } else {
                result[lane] = src1.scalar;
            }
        }
        for (size_t lane = 0; lane < lanes; ++lane) {
            if (active[lane]) {
                std::memcpy(out.at(repeat, lane), &result[lane], sizeof(T));
                mark(out.at(repeat, lane), sizeof(T), state[lane]);
            }
        }
    }
}

template <class T>
inline Strided<T> contiguous(const AscendC::LocalTensor<T> &tensor)
{
    return {tensor, 1, kBlocksPerRepeat};
}

}  // namespace opmend

namespace AscendC {

template <class T, class U>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode,
                    uint32_t count)
{
    const opmend::Other<T> other{&src1};
    opmend::compare_repeats("Compare", dst, opmend::contiguous(src0), other, cmpMode,
                            opmend::whole_repeats<T>("Compare", count));
}

/// The mask has no effect on Atlas A2 (vendor's note): every lane of every repeat is compared.
template <class T, class U, bool isSetMask = true>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode,
                    const uint64_t, uint8_t repeatTime, const BinaryRepeatParams &p)
{
    const opmend::Other<T> other{&src1, T{}, p.src1BlkStride, p.src1RepStride};
    opmend::compare_repeats("Compare", dst, opmend::Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, other, cmpMode,
                            repeatTime);
}
template <class T, class U, bool isSetMask = true>
inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE cmpMode,
                    const uint64_t[], uint8_t repeatTime, const BinaryRepeatParams &p)
{
    Compare<T, U, isSetMask>(dst, src0, src1, cmpMode, uint64_t{0}, repeatTime, p);
}

// Compares and CompareScalar are one instruction under a newer and an older name.
#define OPMEND_COMPARE_SCALAR(NAME)                                                                                   \
    template <class T, class U>                                                                                       \
    inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode,      \
                     uint32_t count)                                                                                  \
    {                                                                                                                 \
        const opmend::Other<T> other{nullptr, src1Scalar};                                                            \
        opmend::compare_repeats(#NAME, dst, opmend::contiguous(src0), other, cmpMode,                                 \
                                opmend::whole_repeats<T>(#NAME, count));                                              \
    }                                                                                                                 \
    template <class T, class U, bool isSetMask = true>                                                                \
    inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode,      \
                     const uint64_t, uint8_t repeatTime, const UnaryRepeatParams &p)                                  \
    {                                                                                                                 \
        const opmend::Other<T> other{nullptr, src1Scalar};                                                            \
        opmend::compare_repeats(#NAME, dst, opmend::Strided<T>{src0, p.srcBlkStride, p.srcRepStride}, other, cmpMode, \
                                repeatTime);                                                                          \
    }                                                                                                                 \
    template <class T, class U, bool isSetMask = true>                                                                \
    inline void NAME(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const T src1Scalar, CMPMODE cmpMode,      \
                     const uint64_t[], uint8_t repeatTime, const UnaryRepeatParams &p)                                \
    {                                                                                                                 \
        NAME<T, U, isSetMask>(dst, src0, src1Scalar, cmpMode, uint64_t{0}, repeatTime, p);                            \
    }
OPMEND_COMPARE_SCALAR(CompareScalar)
OPMEND_COMPARE_SCALAR(Compares)
#undef OPMEND_COMPARE_SCALAR

template <class T, class U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,
                   const LocalTensor<T> &src1, SELMODE selMode, uint32_t count)
{
    constexpr size_t lanes = opmend::lanes_of<T>();
    opmend::select(dst, selMask, opmend::contiguous(src0), opmend::Other<T>{&src1}, selMode,
                   opmend::LaneMask::first(lanes), (count + lanes - 1) / lanes, count, 1, DEFAULT_BLK_NUM);
}
template <class T, class U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, T src1,
                   SELMODE selMode, uint32_t count)
{
    constexpr size_t lanes = opmend::lanes_of<T>();
    opmend::select(dst, selMask, opmend::contiguous(src0), opmend::Other<T>{nullptr, src1}, selMode,
                   opmend::LaneMask::first(lanes), (count + lanes - 1) / lanes, count, 1, DEFAULT_BLK_NUM);
}

#define OPMEND_SELECT_FORMS(MASK)                                                                                     \
    template <class T, class U, bool isSetMask = true>                                                                \
    inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,          \
                       const LocalTensor<T> &src1, SELMODE selMode, MASK, uint8_t repeatTime,                         \
                       const BinaryRepeatParams &p)                                                                   \
    {                                                                                                                 \
        const opmend::Other<T> other{&src1, T{}, p.src1BlkStride, p.src1RepStride};                                   \
        opmend::select(dst, selMask, opmend::Strided<T>{src0, p.src0BlkStride, p.src0RepStride}, other, selMode,      \
                       opmend::call_mask<isSetMask>(mask), repeatTime, 0, p.dstBlkStride, p.dstRepStride);            \
    }                                                                                                                 \
    template <class T, class U, bool isSetMask = true>                                                                \
    inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0, T src1,  \
                       SELMODE selMode, MASK, uint8_t repeatTime, const BinaryRepeatParams &p)                        \
    {                                                                                                                 \
        opmend::select(dst, selMask, opmend::Strided<T>{src0, p.src0BlkStride, p.src0RepStride},                      \
                       opmend::Other<T>{nullptr, src1}, selMode, opmend::call_mask<isSetMask>(mask), repeatTime, 0,   \
                       p.dstBlkStride, p.dstRepStride);                                                               \
    }
OPMEND_SELECT_FORMS(uint64_t mask)
OPMEND_SELECT_FORMS(uint64_t mask[])
#undef OPMEND_SELECT_FORMS

}  // namespace AscendC

#endif
