// Cast: conversion between element types under a rounding mode.
//
// Rounding (vendor's precision rules): NONE is exact where it can be and RINT otherwise; RINT ties to even; ROUND ties
// away from zero; FLOOR, CEIL, TRUNC as named; ODD rounds an inexact value to the neighbour with an odd last bit.
// What does not fit an integer type saturates, NaN becomes 0.
// One repeat at a time: see engine.h for what that means when dst and src share memory.
#ifndef OPMEND_API_CAST_H
#define OPMEND_API_CAST_H

#include "api/engine.h"

namespace opmend {

inline double round_to_integer(double value, AscendC::RoundMode mode)
{
    using AscendC::RoundMode;
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(value);
        case RoundMode::CAST_CEIL: return std::ceil(value);
        case RoundMode::CAST_ROUND: return std::round(value);
        case RoundMode::CAST_TRUNC: return std::trunc(value);
        case RoundMode::CAST_ODD: {
            const double below = std::floor(value);
            return below == value ? value : std::fmod(below, 2.0) != 0.0 ? below : below + 1.0;
        }
        default: return std::nearbyint(value);
    }
}

/// Whether a magnitude between two neighbours goes to the upper one. `twice` is 2 * distance from the lower neighbour
/// compared with the gap: negative below the middle, 0 on it, positive above.
inline bool round_up(AscendC::RoundMode mode, bool negative, bool lower_is_odd, int twice)
{
    using AscendC::RoundMode;
    switch (mode) {
        case RoundMode::CAST_FLOOR: return negative;
        case RoundMode::CAST_CEIL: return !negative;
        case RoundMode::CAST_ROUND: return twice >= 0;
        case RoundMode::CAST_TRUNC: return false;
        case RoundMode::CAST_ODD: return !lower_is_odd;
        default: return twice > 0 || (twice == 0 && lower_is_odd);
    }
}

/// float -> bfloat16 by bits: the lower 16 bits decide.
inline bfloat16_t to_bfloat16(float value, AscendC::RoundMode mode)
{
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    const uint32_t low = word & 0xffffu;
    if ((word & 0x7f800000u) == 0x7f800000u || low == 0) {
        return bfloat16_t(value);
    }
    const auto lower = static_cast<uint16_t>(word >> 16);
    const int twice = low < 0x8000u ? -1 : low > 0x8000u ? 1 : 0;
    const bool up = round_up(mode, (word >> 31) != 0, (lower & 1u) != 0, twice);
    return bfloat16_t::from_bits(static_cast<uint16_t>(lower + (up ? 1 : 0)));
}

/// float (or double) -> half: from the neighbour towards zero, decide by the mode.
inline half to_half(double value, AscendC::RoundMode mode)
{
    const half nearest = static_cast<half>(value);
    if (std::isnan(value) || std::isinf(value) || to_double(nearest) == value) {
        return nearest;
    }
    uint16_t bits;
    std::memcpy(&bits, &nearest, sizeof bits);
    if (std::fabs(to_double(nearest)) > std::fabs(value)) {
        --bits;  // the magnitude is in the lower 15 bits: one less is the neighbour towards zero
    }
    half lower, upper;
    const auto next = static_cast<uint16_t>(bits + 1);
    std::memcpy(&lower, &bits, sizeof lower);
    std::memcpy(&upper, &next, sizeof upper);
    const double gap_end = std::isinf(to_double(upper)) ? 65536.0 : std::fabs(to_double(upper));
    const double distance = 2.0 * (std::fabs(value) - std::fabs(to_double(lower))) -
                            (gap_end - std::fabs(to_double(lower)));
    const int twice = distance < 0 ? -1 : distance > 0 ? 1 : 0;
    return round_up(mode, value < 0, (bits & 1u) != 0, twice) ? upper : lower;
}

/// An integer of 64 bits as a double that rounds to the same float: bits far below a float's last one are one sticky bit.
inline double narrowed(int64_t value)
{
    const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    const int excess = 11 - (magnitude == 0 ? 11 : std::min(__builtin_clzll(magnitude), 11));  // beyond 53 bits
    const uint64_t low = magnitude & ((1ull << excess) - 1);
    const uint64_t kept = (magnitude - low) | (low != 0 ? 1ull << excess : 0);
    return value < 0 ? -static_cast<double>(kept) : static_cast<double>(kept);
}

/// double -> float with directed modes; nearest is what the host does.
inline float to_float(double value, AscendC::RoundMode mode)
{
    const auto nearest = static_cast<float>(value);
    if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value) {
        return nearest;
    }
    const float towards_zero = std::fabs(static_cast<double>(nearest)) > std::fabs(value)
                                   ? std::nextafterf(nearest, 0.0f) : nearest;
    const float away = std::nextafterf(towards_zero, value < 0 ? -INFINITY : INFINITY);
    const double distance = 2.0 * (std::fabs(value) - std::fabs(towards_zero)) - std::fabs(away - towards_zero);
    uint32_t bits;
    std::memcpy(&bits, &towards_zero, sizeof bits);
    const int twice = distance < 0 ? -1 : distance > 0 ? 1 : 0;
    return round_up(mode, value < 0, (bits & 1u) != 0, twice) ? away : towards_zero;
}

template <class I>
inline I to_integer(double value, AscendC::RoundMode mode)
{
    if (std::isnan(value)) {
        return I(0);
    }
    const double rounded = round_to_integer(value, mode);
    // The upper limits of 64-bit types are not doubles: compare with the power of two above them.
    if (rounded <= static_cast<double>(std::numeric_limits<I>::min())) {
        return std::numeric_limits<I>::min();
    }
    if (rounded >= std::ldexp(1.0, std::numeric_limits<I>::digits)) {
        return std::numeric_limits<I>::max();
    }
    return static_cast<I>(rounded);
}

template <class D, class S>
inline D convert(S value, AscendC::RoundMode mode)
{
    if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
        using Limits = std::numeric_limits<D>;
        if constexpr (sizeof(D) < sizeof(S)) {
            return static_cast<D>(std::clamp<S>(value, Limits::min(), Limits::max()));
        } else {
            return static_cast<D>(value);
        }
    } else if constexpr (std::is_same_v<S, int64_t>) {
        return to_float(narrowed(value), mode);
    } else if constexpr (std::is_integral_v<D>) {
        return to_integer<D>(to_double(value), mode);
    } else if constexpr (std::is_same_v<D, S>) {
        return is_narrow_float<D> ? value : static_cast<D>(round_to_integer(to_double(value), mode));
    } else if constexpr (std::is_same_v<D, half>) {
        const bool nearest = mode == AscendC::RoundMode::CAST_NONE || mode == AscendC::RoundMode::CAST_RINT;
        return nearest ? static_cast<half>(static_cast<float>(value)) : to_half(to_double(value), mode);
    } else if constexpr (std::is_same_v<D, bfloat16_t>) {
        return to_bfloat16(static_cast<float>(value), mode);
    } else {
        return to_float(to_double(value), mode);
    }
}

struct HalfToFloat {
    float operator()(half value) const { return static_cast<float>(value); }
};
struct FloatToHalf {
    half operator()(float value) const { return static_cast<half>(value); }
};
struct BfloatToFloat {
    float operator()(bfloat16_t value) const { return static_cast<float>(value); }
};

template <class From>
inline void map_lanes(HalfToFloat &, float *result, size_t count, const From &source)
{
    half piece[kPiece];
    for (size_t i = 0; i < count; ++i) {
        piece[i] = source[i];
    }
    widen(result, piece, count);
}

template <class From>
inline void map_lanes(FloatToHalf &, half *result, size_t count, const From &source)
{
    float piece[kPiece];
    for (size_t i = 0; i < count; ++i) {
        piece[i] = source[i];
    }
    round_to_half(result, piece, count);
}

template <class D, class S>
inline void map_into(HalfToFloat &, uint8_t *to, size_t count, const Source<S> &source)
{
    widen(reinterpret_cast<float *>(to), reinterpret_cast<const half *>(source.from), count);
}

template <class D, class S>
inline void map_into(FloatToHalf &, uint8_t *to, size_t count, const Source<S> &source)
{
    round_to_half(reinterpret_cast<half *>(to), reinterpret_cast<const float *>(source.from), count);
}

/// Calls run with the conversion of one element: without a switch inside for the modes that kernels use most. int32_t
/// to half multiplies by the scale of SetDeqScale and ignores the mode.
template <class D, class S, class Run>
inline void with_conversion(AscendC::RoundMode mode, Run run)
{
    using AscendC::RoundMode;
    if (std::is_same_v<S, float> && std::is_same_v<D, bfloat16_t> && mode == RoundMode::CAST_NONE) {
        misuse("Cast", "float to bfloat16_t does not take CAST_NONE: use CAST_RINT or CAST_ROUND");
    }
    if constexpr (std::is_same_v<D, half> && std::is_same_v<S, int32_t>) {
        if (!g_core->deq_set) {
            misuse("Cast", "int32_t to half needs SetDeqScale before it; 1 is used here");
        }
        const float scale = g_core->deq_scale;
        run([scale](S value) { return static_cast<half>(static_cast<float>(value) * scale); });
    } else if constexpr (std::is_same_v<D, float> && std::is_same_v<S, half>) {
        run(HalfToFloat{});
    } else if constexpr (std::is_same_v<D, float> && std::is_same_v<S, bfloat16_t>) {
        run(BfloatToFloat{});
    } else if (mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT) {
        if constexpr (std::is_same_v<D, half> && std::is_same_v<S, float>) {
            run(FloatToHalf{});
        } else {
            run([](S value) { return convert<D>(value, RoundMode::CAST_RINT); });
        }
    } else if (std::is_same_v<D, bfloat16_t> && mode == RoundMode::CAST_ROUND) {
        run([](S value) { return convert<D>(value, RoundMode::CAST_ROUND); });
    } else {
        run([mode](S value) { return convert<D>(value, mode); });
    }
}

template <class D, class S>
inline void cast_repeats(const LaneMask &mask, const AscendC::LocalTensor<D> &dst, const AscendC::LocalTensor<S> &src,
                         AscendC::RoundMode mode, uint8_t repeats, const AscendC::UnaryRepeatParams &p)
{
    with_conversion<D, S>(mode, [&](auto op) {
        run_repeats("Cast", mask, repeats, op, Strided<D>{dst, p.dstBlkStride, p.dstRepStride},
                    Strided<S>{src, p.srcBlkStride, p.srcRepStride});
    });
}

}  // namespace opmend

namespace AscendC {

inline void SetDeqScale(half scale)
{
    opmend::g_core->deq_set = true;
    opmend::g_core->deq_scale = static_cast<float>(scale);
}

template <class T, class U>
inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &roundMode,
                 const uint32_t count)
{
    opmend::with_conversion<T, U>(roundMode, [&](auto op) { opmend::run_count("Cast", count, op, dst, src); });
}

template <class T, class U, bool isSetMask = true>
inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &roundMode,
                 const uint64_t mask[], const uint8_t repeatTime, const UnaryRepeatParams &p)
{
    opmend::cast_repeats(opmend::call_mask<isSetMask>(mask), dst, src, roundMode, repeatTime, p);
}

template <class T, class U, bool isSetMask = true>
inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &roundMode, const uint64_t mask,
                 const uint8_t repeatTime, const UnaryRepeatParams &p)
{
    opmend::cast_repeats(opmend::call_mask<isSetMask>(mask), dst, src, roundMode, repeatTime, p);
}

/// Scalar conversions of the device language.
inline float ToFloat(const bfloat16_t &value) { return static_cast<float>(value); }
inline bfloat16_t ToBfloat16(const float &value) { return bfloat16_t(value); }
template <class S, class D, RoundMode mode>
inline D ScalarCast(S value)
{
    return opmend::convert<D>(value, mode);
}

}  // namespace AscendC

#endif
