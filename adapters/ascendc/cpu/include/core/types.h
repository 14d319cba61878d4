// Scalar types, device qualifiers and hardware constants.
//
// AscendC source is ordinary C++ once its address-space qualifiers are gone, so they are empty macros here.
// `half` is the compiler's _Float16. `bfloat16_t` is a class of our own: the bf16 type of g++ 12 has no arithmetic.
#ifndef OPMEND_CORE_TYPES_H
#define OPMEND_CORE_TYPES_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>

#ifndef OPMEND_CHECK
#define OPMEND_CHECK 2  // 0 nothing reported, 1 + bounds/queues, 2 + uninitialised bytes, 3 + hazards and races
#endif

#define __aicore__
#define __global__
#define __vector__  // AIV_ONLY, which is the default; __cube__ and __mix__ are not modelled
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __local_mem__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#define __sync_alias__
#define __sync_noalias__
#define GM_ADDR uint8_t *
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201  // Atlas A2 (dav-c220): the part that is modelled
#endif
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220  // the same, in the name that device code of older releases asks for
#endif

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

using half = _Float16;
using float16_t = _Float16;
using float32_t = float;

/// Brain float: the upper 16 bits of an IEEE float. Arithmetic happens in float; conversion rounds half to even.
struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;

    template <class U, class = std::enable_if_t<std::is_arithmetic_v<U> || std::is_same_v<U, half>>>
    bfloat16_t(U value) : bits(round_to_nearest_even(static_cast<float>(value)))
    {}

    operator float() const
    {
        const uint32_t word = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }

    static bfloat16_t from_bits(uint16_t raw)
    {
        bfloat16_t value;
        value.bits = raw;
        return value;
    }

    /// NaN keeps its sign and is made quiet; everything else rounds to nearest, ties to even.
    static uint16_t round_to_nearest_even(float value)
    {
        uint32_t word;
        std::memcpy(&word, &value, sizeof word);
        if ((word & 0x7fffffffu) > 0x7f800000u) {
            return static_cast<uint16_t>((word >> 16) | 0x40u);
        }
        return static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
};

namespace opmend {

constexpr size_t kUbBytes = 192 * 1024;   ///< Unified Buffer of one vector core
constexpr size_t kBlockBytes = 32;        ///< one data block
constexpr size_t kRepeatBytes = 256;      ///< what one vector instruction handles per repeat
constexpr size_t kBlocksPerRepeat = 8;
constexpr size_t kMaxLanes = 128;         ///< most lanes one mask can address

/// True for the two 16-bit floating types, whose operations compute in float and round once.
template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;

template <class T>
constexpr bool is_any_float = is_narrow_float<T> || std::is_floating_point_v<T>;

/// The type an operation on T computes in: float for 16-bit floats, T itself otherwise.
template <class T>
using Wide = std::conditional_t<is_narrow_float<T>, float, T>;

template <class T>
inline double to_double(T value)
{
    if constexpr (is_narrow_float<T>) {
        return static_cast<double>(static_cast<float>(value));
    } else {
        return static_cast<double>(value);
    }
}

template <class...>
constexpr bool always_false = false;
template <auto...>
constexpr bool always_false_value = false;

// What the shadow says of a byte of the Unified Buffer; states combine by AND. A byte of comparison results has one bit
// per result instead: neither kind of filler looks like a run of them.
constexpr uint8_t kWritten = 0xff;
constexpr uint8_t kFiller = 0x24;  ///< padding of no given value, and GM padding: a value exists but means nothing
constexpr uint8_t kDummy = 0xa5;   ///< DataCopyPad without paddings fills up with the block's first element: a known value
constexpr uint8_t kUnset = 0x00;

}  // namespace opmend

namespace AscendC {
using ::bfloat16_t;
using ::half;

constexpr uint32_t ONE_BLK_SIZE = 32;
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;
constexpr uint32_t DEFAULT_BLK_NUM = 8;
constexpr uint32_t DEFAULT_BLK_STRIDE = 1;
constexpr uint32_t DEFAULT_REPEAT_STRIDE = 8;
constexpr uint32_t DEFAULT_C0_SIZE = 32;
constexpr uint32_t ONE_BLK_FLOAT_NUM = 8;
constexpr uint32_t ONE_BLK_HALF_NUM = 16;
constexpr uint32_t BRCB_BROADCAST_NUMBER = 8;
constexpr int32_t BYTE_PER_FRACTAL = 512;
constexpr uint32_t VECTOR_REG_WIDTH = 256;
constexpr uint32_t MAX_REPEAT_TIMES = 255;
constexpr uint32_t TOTAL_UB_SIZE = opmend::kUbBytes;
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

template <class A, class B>
constexpr auto DivCeil(A value, B unit)
{
    return (value + unit - 1) / unit;
}
template <class A, class B>
constexpr auto AlignUp(A value, B unit)
{
    return (value + unit - 1) / unit * unit;
}

template <class A, class B>
struct IsSameType {
    static constexpr bool value = std::is_same_v<A, B>;
};
template <class T>
using PrimT = T;
}  // namespace AscendC

#endif
