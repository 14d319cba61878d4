// Sums as the vector unit makes them: adjacent pairs as a binary tree inside a repeat, rounded to T at every step.
#ifndef OPMEND_API_TREE_SUM_H
#define OPMEND_API_TREE_SUM_H

#include "api/vector.h"

namespace opmend {

template <class T>
inline T add_rounded(T x, T y)
{
    return narrow<T>(AddOp{}(static_cast<Wide<T>>(x), static_cast<Wide<T>>(y)));
}

/// tree_sum of a power of two.
template <size_t count, class T>
inline T tree_sum_of(const T *value)
{
    if constexpr (count == 1) {
        return value[0];
    } else {
        T next[count / 2];
        for (size_t i = 0; i < count / 2; ++i) {
            next[i] = add_rounded(value[2 * i], value[2 * i + 1]);
        }
        return tree_sum_of<count / 2>(next);
    }
}

#ifdef __AVX__
/// tree_sum_of<64> with the host's additions of adjacent pairs: the same sums, in the same order.
inline float tree_sum_of_repeat(const uint8_t *from)
{
    using Floats4 = float __attribute__((vector_size(16)));
    using Floats8 = float __attribute__((vector_size(32)));
    Floats8 row[8];
    std::memcpy(row, from, sizeof row);
    for (int rows = 8; rows > 2; rows /= 2) {
        for (int i = 0; i < rows / 2; ++i) {
            row[i] = __builtin_ia32_haddps256(row[2 * i], row[2 * i + 1]);
        }
    }
    Floats4 half[4];  // lower and upper fours of rows 0 and 1: sums of four, of eight when they are added
    std::memcpy(half, row, sizeof half);
    const Floats4 eights = __builtin_ia32_haddps(half[0] + half[1], half[2] + half[3]);
    const Floats4 sums = __builtin_ia32_haddps(eights, eights);
    return sums[0] + sums[1];
}
#else
inline float tree_sum_of_repeat(const uint8_t *from)
{
    float value[lanes_of<float>()];
    std::memcpy(value, from, sizeof value);
    return tree_sum_of<lanes_of<float>()>(value);
}
#endif

/// Sum of `count` values (at most one repeat) by adjacent pairs. Destroys `value`.
template <class T>
inline T tree_sum(T *value, size_t count)
{
    if (count == lanes_of<T>()) {
        if constexpr (std::is_same_v<T, float>) {
            return tree_sum_of_repeat(reinterpret_cast<const uint8_t *>(value));
        } else {
            return tree_sum_of<lanes_of<T>()>(value);
        }
    }
    while (count > 1) {
        const size_t pairs = count / 2;
        for (size_t i = 0; i < pairs; ++i) {
            value[i] = add_rounded(value[2 * i], value[2 * i + 1]);
        }
        if (count % 2 != 0) {
            value[pairs] = value[count - 1];
        }
        count = pairs + count % 2;
    }
    return count == 1 ? value[0] : static_cast<T>(0);
}

template <class T>
inline T tree_of_repeats(const uint8_t *from, size_t count, bool in_order)
{
    constexpr size_t width = lanes_of<T>();
    T total = static_cast<T>(0);
    std::vector<T> sums;
    for (size_t first = 0; first < count; first += width) {
        T value[width];
        const size_t here = std::min(width, count - first);
        std::memcpy(value, from + first * sizeof(T), here * sizeof(T));
        const T sum = tree_sum(value, here);
        if (in_order) {
            total = first == 0 ? sum : add_rounded(total, sum);
        } else {
            sums.push_back(sum);
        }
    }
    if (in_order) {
        return total;
    }
    while (sums.size() > 1) {
        std::vector<T> next;
        for (size_t first = 0; first < sums.size(); first += width) {
            next.push_back(tree_sum(&sums[first], std::min(width, sums.size() - first)));
        }
        sums.swap(next);
    }
    return sums.empty() ? static_cast<T>(0) : sums[0];
}

}  // namespace opmend

#endif
