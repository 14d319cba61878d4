// The operands of one vector instruction, and the loops over their lanes that the compiler turns into host vectors.
//
// A loop reads the operands where they lie and leaves its results in an array of its own: whatever UB ranges share, the
// compiler sees no aliasing, and the caller decides when results go to UB. Values are those of one element at a time:
// no contraction, no reassociation; conversions of half use the host's instructions, which round as the scalar ones do.
#ifndef OPMEND_API_LANES_H
#define OPMEND_API_LANES_H

#include "api/tensor.h"

namespace opmend {

constexpr size_t kPiece = 512;  ///< elements handled between two copies to UB, when no operand forbids it

/// An operand of a repeat form. Strides are in 32-byte blocks.
template <class T>
struct Strided {
    const AscendC::LocalTensor<T> &tensor;
    size_t block_stride, repeat_stride;

    static constexpr size_t kPerBlock = kBlockBytes / sizeof(T);

    uint8_t *at(size_t repeat, size_t lane) const
    {
        return tensor.bytes() + (repeat * repeat_stride + lane / kPerBlock * block_stride) * kBlockBytes +
               lane % kPerBlock * sizeof(T);
    }
};

template <class T>
inline T load(const uint8_t *at)
{
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

/// Lanes an instruction handles per repeat: as many as the widest operand has in 256 bytes.
template <class... T>
constexpr size_t lanes_of()
{
    constexpr size_t widest = std::max({sizeof(T)...});
    return std::min(kRepeatBytes / widest, kMaxLanes);
}

template <class T>
inline void touch_lanes(const char *api, const Strided<T> &operand, size_t repeat, const bool *active, size_t lanes,
                        bool write)
{
    for (size_t block = 0; block < lanes; block += Strided<T>::kPerBlock) {
        const size_t end = std::min(block + Strided<T>::kPerBlock, lanes);
        size_t first = block, last = end;
        while (first < end && !active[first]) {
            ++first;
        }
        while (last > first && !active[last - 1]) {
            --last;
        }
        if (first < last) {
            touch(api, PipeV, operand.tensor.extent(), operand.at(repeat, first), (last - first) * sizeof(T), write);
        }
    }
}

/// Calls visit(address, lane, bytes) for the blocks that the first `count` lanes of a repeat fill, or once for all of
/// them where they lie one after another.
template <class T, class Visit>
inline void for_blocks(const Strided<T> &operand, size_t repeat, size_t count, Visit visit)
{
    if (operand.block_stride == 1 || count <= Strided<T>::kPerBlock) {
        visit(operand.at(repeat, 0), size_t{0}, count * sizeof(T));
        return;
    }
    for (size_t lane = 0; lane < count; lane += Strided<T>::kPerBlock) {
        visit(operand.at(repeat, lane), lane, std::min(count - lane, Strided<T>::kPerBlock) * sizeof(T));
    }
}

/// Whether an access is inside its buffer, so that it makes no difference how many blocks are checked at once.
inline bool quiet(const Extent &extent, const uint8_t *address, size_t bytes)
{
    const uint8_t *ub = g_core->ub;
    return address >= std::max<const uint8_t *>(extent.lo, ub) &&
           address + bytes <= std::min<const uint8_t *>(extent.hi, ub + kUbBytes) &&
           (extent.owner == nullptr || extent.owner->state != BufferState::Free);
}

/// touch_lanes for the first `count` lanes: block by block only where there is something to tell apart.
template <class T>
inline void touch_leading(const char *api, const Strided<T> &operand, size_t repeat, size_t count, bool write)
{
    const Extent &extent = operand.tensor.extent();
    for_blocks(operand, repeat, count, [&](uint8_t *at, size_t, size_t bytes) {
        const size_t step = quiet(extent, at, bytes) ? bytes : kBlockBytes;
        for (size_t done = 0; done < bytes; done += step) {
            touch(api, PipeV, extent, at + done, std::min(step, bytes - done), write);
        }
    });
}

template <class T>
inline uint8_t state_of_leading(const Strided<T> &operand, size_t repeat, size_t count)
{
    uint8_t all = kWritten;
    for_blocks(operand, repeat, count,
               [&](uint8_t *at, size_t, size_t bytes) { all = static_cast<uint8_t>(all & state_of(at, bytes)); });
    return all;
}

/// Consecutive elements of type T.
template <class T>
struct Source {
    const uint8_t *from;
    T operator[](size_t index) const { return load<T>(from + index * sizeof(T)); }
};

/// The first lanes of one repeat, one after another.
template <class T, size_t lanes>
struct Gathered {
    T value[lanes];
    T operator[](size_t index) const { return value[index]; }
};

template <size_t lanes, class T>
inline Gathered<T, lanes> gathered(const Strided<T> &operand, size_t repeat, size_t count)
{
    Gathered<T, lanes> result;
    for_blocks(operand, repeat, count,
               [&](uint8_t *at, size_t lane, size_t bytes) { std::memcpy(result.value + lane, at, bytes); });
    return result;
}

/// Rounds the result of an operation that computed in Wide<T> back to T.
template <class T, class W>
inline T narrow(W value)
{
    return static_cast<T>(value);
}

/// An operation on Wide<T> lifted to T: widen, compute, round once.
template <class T, class Op>
struct Lifted {
    Op op;

    template <class... X>
    T operator()(X... x) const
    {
        return narrow<T>(op(static_cast<Wide<T>>(x)...));
    }
};

#ifdef __F16C__
using Floats8 = float __attribute__((vector_size(32)));
using Halves8 = short __attribute__((vector_size(16)));
#endif

/// float(from[i]) for i < count.
inline void widen(float *to, const half *from, size_t count)
{
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= count; i += 8) {
        Halves8 narrow_values;
        std::memcpy(&narrow_values, from + i, sizeof narrow_values);
        const Floats8 wide_values = __builtin_ia32_vcvtph2ps256(narrow_values);
        std::memcpy(to + i, &wide_values, sizeof wide_values);
    }
#endif
    for (; i < count; ++i) {
        to[i] = static_cast<float>(from[i]);
    }
}

/// half(from[i]) for i < count, to nearest even.
inline void round_to_half(half *to, const float *from, size_t count)
{
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= count; i += 8) {
        Floats8 wide_values;
        std::memcpy(&wide_values, from + i, sizeof wide_values);
        const Halves8 narrow_values = __builtin_ia32_vcvtps2ph256(wide_values, 4);
        std::memcpy(to + i, &narrow_values, sizeof narrow_values);
    }
#endif
    for (; i < count; ++i) {
        to[i] = static_cast<half>(from[i]);
    }
}

/// result[i] = op(source[i]...) for i < count.
template <class Op, class D, class... Sources>
inline void map_lanes(Op &op, D *result, size_t count, const Sources &...source)
{
    for (size_t i = 0; i < count; ++i) {
        result[i] = op(source[i]...);
    }
}

/// D at to[i] = op(source[i]...) for i < count, straight into memory that no source shares except element by element.
template <class D, class Op, class... S>
inline void map_into(Op &op, uint8_t *to, size_t count, const Source<S> &...source)
{
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const D value = op(source[i]...);
        std::memcpy(to + i * sizeof(D), &value, sizeof(D));
    }
}

/// The float values of a piece of halves.
struct Widened {
    float value[kPiece];
    float operator[](size_t index) const { return value[index]; }
};

template <class From>
inline Widened widened(const From &from, size_t count)
{
    Widened wide;
    half piece[kPiece];
    for (size_t i = 0; i < count; ++i) {
        piece[i] = from[i];
    }
    widen(wide.value, piece, count);
    return wide;
}

template <class Op, class... Sources>
inline void map_lanes(Lifted<half, Op> &op, half *result, size_t count, const Sources &...source)
{
    float wide[kPiece];
    map_lanes(op.op, wide, count, widened(source, count)...);
    round_to_half(result, wide, count);
}

template <class D, class Op, class... S>
inline void map_into(Lifted<half, Op> &op, uint8_t *to, size_t count, const Source<S> &...source)
{
    for (size_t first = 0; first < count; first += kPiece) {
        const size_t here = std::min(kPiece, count - first);
        half result[kPiece];
        map_lanes(op, result, here, Source<S>{source.from + first * sizeof(S)}...);
        std::memcpy(to + first * sizeof(half), result, here * sizeof(half));
    }
}

}  // namespace opmend

#endif
