// The vector unit: how one instruction walks over its operands.
//
// Two shapes exist. The count form covers `count` consecutive elements. The repeat form runs `repeat` times over 8
// blocks of 32 bytes whose places are given by block and repeat strides, with a mask that picks lanes. Both handle one
// repeat at a time and read all of its inputs before they write: an instruction whose operands overlap partly behaves
// as on the device (a widening Cast onto its own buffer destroys what later repeats read).
#ifndef OPMEND_API_ENGINE_H
#define OPMEND_API_ENGINE_H

#include "api/lanes.h"
#include "api/params.h"

namespace opmend {

/// Lanes of one repeat that take part, for every repeat of an instruction.
class LaneMask {
public:
    /// Lanes 0..count-1 of every repeat.
    static LaneMask first(uint64_t count)
    {
        LaneMask mask;
        mask.bits_[0] = count >= 64 ? ~0ull : (1ull << count) - 1;
        mask.bits_[1] = count >= 128 ? ~0ull : count > 64 ? (1ull << (count - 64)) - 1 : 0;
        return mask;
    }
    static LaneMask bitwise(const uint64_t bits[])
    {
        LaneMask mask;
        mask.bits_[0] = bits[0];
        mask.bits_[1] = bits[1];
        return mask;
    }
    /// What SetVectorMask and SetMaskCount left on the core.
    static LaneMask from_core()
    {
        LaneMask mask;
        mask.bits_[0] = g_core->mask[0];
        mask.bits_[1] = g_core->mask[1];
        if (g_core->mask_count) {
            mask.counted_ = true;
            mask.elements_ = g_core->mask[0];
        }
        return mask;
    }

    bool active(size_t repeat, size_t lane, size_t lanes) const
    {
        return counted_ ? repeat * lanes + lane < elements_ : (bits_[lane / 64] >> (lane % 64) & 1) != 0;
    }
    /// How many lanes from lane 0 on take part in a repeat, or kScattered when others do as well.
    size_t leading(size_t repeat, size_t lanes) const
    {
        if (counted_) {
            const uint64_t before = repeat * lanes;
            return elements_ > before ? std::min<uint64_t>(elements_ - before, lanes) : 0;
        }
        const uint64_t low = lanes < 64 ? bits_[0] & ((1ull << lanes) - 1) : bits_[0];
        const uint64_t high = lanes > 64 ? bits_[1] : 0;
        if ((low & (low + 1)) != 0 || (high & (high + 1)) != 0 || (high != 0 && low != ~0ull)) {
            return kScattered;
        }
        return static_cast<size_t>(__builtin_popcountll(low) + __builtin_popcountll(high));
    }
    static constexpr size_t kScattered = ~size_t{0};

    /// In counter mode the element count, not the repeat argument, says how often to repeat.
    size_t repeats(size_t given, size_t lanes) const
    {
        if (counted_ && elements_ > kUbBytes) {
            rt::abort_launch("api-misuse", "SetMaskCount",
                             rt::format("the mask says %llu elements, more than the Unified Buffer has bytes: in counter mode "
                                        "SetVectorMask gives their number",
                                        static_cast<unsigned long long>(elements_)));
        }
        return counted_ ? (elements_ + lanes - 1) / lanes : given;
    }

    /// Leaves the mask on the core, as the instruction does when the API sets it.
    void store() const
    {
        g_core->mask[0] = bits_[0];
        g_core->mask[1] = bits_[1];
    }

private:
    uint64_t bits_[2] = {0, 0};
    uint64_t elements_ = 0;
    bool counted_ = false;
};

/// The mask of a call: its arguments go to the core first unless the call says that it was set before. In counter mode
/// the low word of what lies there is the number of elements, however it got there (vendor's page "掩码").
template <bool set_mask>
inline LaneMask call_mask(uint64_t count)
{
    if constexpr (set_mask) {
        LaneMask::first(count).store();
    }
    return LaneMask::from_core();
}
template <bool set_mask>
inline LaneMask call_mask(const uint64_t bits[])
{
    if constexpr (set_mask) {
        LaneMask::bitwise(bits).store();
    }
    return LaneMask::from_core();
}

inline void check_start(const char *api, const uint8_t *address, unsigned alignment = kBlockBytes)
{
#if OPMEND_CHECK >= 1
    if (address != nullptr && static_cast<size_t>(address - g_core->ub) % alignment != 0) {
        rt::ub_misaligned(api, address, alignment);
    }
#else
    (void)api, (void)address, (void)alignment;
#endif
}

template <class T>
inline uint8_t *element(const AscendC::LocalTensor<T> &tensor, size_t index)
{
    return tensor.bytes() + index * sizeof(T);
}

/// One repeat whose active lanes are scattered.
template <class Op, class D, class... S>
inline void run_scattered(const char *api, const LaneMask &mask, size_t repeat, Op &op, const Strided<D> &dst,
                          const Strided<S> &...src)
{
    constexpr size_t lanes = lanes_of<D, S...>();
    bool active[lanes];
    for (size_t lane = 0; lane < lanes; ++lane) {
        active[lane] = mask.active(repeat, lane, lanes);
    }
    (touch_lanes(api, src, repeat, active, lanes, false), ...);
    touch_lanes(api, dst, repeat, active, lanes, true);
    D result[lanes];
    uint8_t state[lanes];
    for (size_t lane = 0; lane < lanes; ++lane) {
        if (active[lane]) {
            result[lane] = op(load<S>(src.at(repeat, lane))...);
            state[lane] = kWritten;
            ((state[lane] = static_cast<uint8_t>(state[lane] & state_of(src.at(repeat, lane), sizeof(S)))), ...);
        }
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
        if (active[lane]) {
            std::memcpy(dst.at(repeat, lane), &result[lane], sizeof(D));
            mark(dst.at(repeat, lane), sizeof(D), state[lane]);
        }
    }
}

/// One repeat whose active lanes are the first `count`.
template <class Op, class D, class... S>
inline void run_leading(const char *api, size_t repeat, size_t count, Op &op, const Strided<D> &dst,
                        const Strided<S> &...src)
{
    constexpr size_t lanes = lanes_of<D, S...>();
    (touch_leading(api, src, repeat, count, false), ...);
    touch_leading(api, dst, repeat, count, true);
    D result[lanes];
    map_lanes(op, result, count, gathered<lanes>(src, repeat, count)...);
#if OPMEND_CHECK >= 2
    if (!(true && ... && (state_of_leading(src, repeat, count) == kWritten))) {
        uint8_t state[lanes];
        for (size_t lane = 0; lane < count; ++lane) {
            state[lane] = kWritten;
            ((state[lane] = static_cast<uint8_t>(state[lane] & state_of(src.at(repeat, lane), sizeof(S)))), ...);
        }
        for (size_t lane = 0; lane < count; ++lane) {
            std::memcpy(dst.at(repeat, lane), &result[lane], sizeof(D));
            mark(dst.at(repeat, lane), sizeof(D), state[lane]);
        }
        return;
    }
#endif
    for_blocks(dst, repeat, count, [&](uint8_t *at, size_t lane, size_t bytes) {
        std::memcpy(at, result + lane, bytes);
        mark(at, bytes);
    });
}

/// Repeat form: dst[lane] = op(src[lane]...) for the active lanes of each repeat.
template <class Op, class D, class... S>
inline void run_repeats(const char *api, const LaneMask &mask, size_t repeat_count, Op op, const Strided<D> &dst,
                        const Strided<S> &...src)
{
    if (!g_core->aiv) {
        return;
    }
    constexpr size_t lanes = lanes_of<D, S...>();
    begin(PipeV);
    check_start(api, dst.tensor.bytes());
    (check_start(api, src.tensor.bytes()), ...);
    const size_t repeats = mask.repeats(repeat_count, lanes);
    for (size_t repeat = 0; repeat < repeats; ++repeat) {
        const size_t leading = mask.leading(repeat, lanes);
        if (leading == LaneMask::kScattered) {
            run_scattered(api, mask, repeat, op, dst, src...);
        } else if (leading != 0) {
            run_leading(api, repeat, leading, op, dst, src...);
        }
    }
}

/// Whether dst and src share no bytes, or lie on each other element by element: then no element that is written is read
/// later, and the instruction can be done in pieces of any length.
template <class D, class S>
inline bool apart(const AscendC::LocalTensor<D> &dst, const AscendC::LocalTensor<S> &src, size_t count)
{
    const uint8_t *to = dst.bytes(), *from = src.bytes();
    return (to == from && sizeof(D) == sizeof(S)) || to + count * sizeof(D) <= from || from + count * sizeof(S) <= to;
}

/// Whether a repeat reads bytes that an earlier one wrote (not supported: vendor's page of general constraints).
template <class D, class S>
inline bool feeds_itself(const AscendC::LocalTensor<D> &dst, const AscendC::LocalTensor<S> &src, size_t count, size_t lanes)
{
    const uint8_t *to = dst.bytes(), *from = src.bytes();
    for (size_t first = lanes; first < count && !apart(dst, src, count); first += lanes) {
        if (from + first * sizeof(S) < to + first * sizeof(D) && to < from + std::min(first + lanes, count) * sizeof(S)) {
            return true;
        }
    }
    return false;
}

/// Result states of a count form: written where all inputs were.
template <class D, class... S>
inline void spread_state(size_t first, size_t count, const AscendC::LocalTensor<D> &dst,
                         const AscendC::LocalTensor<S> &...src)
{
#if OPMEND_CHECK >= 2
    uint8_t state[kMaxLanes];
    for (size_t i = 0; i < count; ++i) {
        state[i] = kWritten;
        ((state[i] = static_cast<uint8_t>(state[i] & state_of(element(src, first + i), sizeof(S)))), ...);
    }
    for (size_t i = 0; i < count; ++i) {
        mark(element(dst, first + i), sizeof(D), state[i]);
    }
#else
    (void)first, (void)count, (void)dst, ((void)src, ...);
#endif
}

/// What an instruction of a count leaves on the core: the normal mode and a full mask.
inline void default_mask()
{
    g_core->mask_count = false;
    g_core->mask[0] = g_core->mask[1] = ~0ull;
}

/// Count form: dst[i] = op(src[i]...) for i < count.
template <class Op, class D, class... S>
inline void run_count(const char *api, int64_t count, Op op, const AscendC::LocalTensor<D> &dst,
                      const AscendC::LocalTensor<S> &...src)
{
    if (!g_core->aiv) {
        return;
    }
    default_mask();
    if (count <= 0) {
        return;
    }
    constexpr size_t lanes = lanes_of<D, S...>();
    const auto total = static_cast<size_t>(count);
    begin(PipeV);
    (touch(api, PipeV, src.extent(), src.bytes(), total * sizeof(S), false, kBlockBytes), ...);
    touch(api, PipeV, dst.extent(), dst.bytes(), total * sizeof(D), true, kBlockBytes);
    const bool clean = (true && ... && (state_of(src.bytes(), total * sizeof(S)) == kWritten));
    const bool whole = (true && ... && apart(dst, src, total));
    if (clean) {
        mark(dst.bytes(), total * sizeof(D));
        if (whole) {
            map_into<D>(op, dst.bytes(), total, Source<S>{src.bytes()}...);
            return;
        }
    }
    if (!whole && (false || ... || feeds_itself(dst, src, total, lanes))) {
        misuse(api, "source and destination overlap in part: repeats read what earlier ones of the same instruction wrote");
    }
    for (size_t first = 0; first < total; first += lanes) {
        const size_t here = std::min(lanes, total - first);
        D result[lanes];
        map_lanes(op, result, here, Source<S>{element(src, first)}...);
        if (!clean) {
            spread_state(first, here, dst, src...);
        }
        std::memcpy(element(dst, first), result, here * sizeof(D));
    }
}

}  // namespace opmend

#endif
