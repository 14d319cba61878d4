// The inner loops of Mmad: the one place where a launch spends seconds, so it is compiled for the host's vector units.
//
// The cube takes 16 steps of k at a time: the products of such a group are added up first, in order, and their sum then
// goes to the accumulator. All in float (int32 wraps); the order inside a group is not public, so the last bits of
// floating results are approximate. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_MULTIPLY_H
#define OPMEND_RUNTIME_MULTIPLY_H

#include "core/state.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OPMEND_VECTORISED __attribute__((optimize("O3"), target_clones("avx512f", "avx2", "default")))
#else
#define OPMEND_VECTORISED
#endif

namespace opmend {
namespace {

constexpr size_t kRows = 8;      // rows of c held at a time
constexpr size_t kColumns = 32;  // columns of c held at a time
constexpr size_t kGroup = 16;    // steps of k that are added up before they reach the accumulator

OPMEND_VECTORISED void multiply_block(const float *a, const float *b, float *c, size_t n, size_t k)
{
    for (size_t first = 0; first < k; first += kGroup) {
        const size_t end = std::min(k, first + kGroup);
        float sum[kRows][kColumns] = {};
        for (size_t p = first; p < end; ++p) {
            for (size_t i = 0; i < kRows; ++i) {
                const float left = a[i * k + p];
                for (size_t j = 0; j < kColumns; ++j) {
                    sum[i][j] += left * b[p * n + j];
                }
            }
        }
        for (size_t i = 0; i < kRows; ++i) {
            for (size_t j = 0; j < kColumns; ++j) {
                c[i * n + j] += sum[i][j];
            }
        }
    }
}

OPMEND_VECTORISED void multiply_block(const int32_t *a, const int32_t *b, int32_t *c, size_t n, size_t k)
{
    uint32_t sum[kRows][kColumns];
    for (size_t i = 0; i < kRows; ++i) {
        for (size_t j = 0; j < kColumns; ++j) {
            sum[i][j] = static_cast<uint32_t>(c[i * n + j]);
        }
    }
    for (size_t p = 0; p < k; ++p) {
        for (size_t i = 0; i < kRows; ++i) {
            const auto left = static_cast<uint32_t>(a[i * k + p]);
            for (size_t j = 0; j < kColumns; ++j) {
                sum[i][j] += left * static_cast<uint32_t>(b[p * n + j]);
            }
        }
    }
    for (size_t i = 0; i < kRows; ++i) {
        for (size_t j = 0; j < kColumns; ++j) {
            c[i * n + j] = static_cast<int32_t>(sum[i][j]);
        }
    }
}

/// Blocks of kRows x kColumns, and what is left element by element in the same order.
template <class T>
void multiply_all(const T *a, const T *b, T *c, size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i += kRows) {
        for (size_t j = 0; j < n; j += kColumns) {
            if (i + kRows <= m && j + kColumns <= n) {
                multiply_block(a + i * k, b + j, c + i * n + j, n, k);
                continue;
            }
            for (size_t row = i; row < std::min(m, i + kRows); ++row) {
                for (size_t column = j; column < std::min(n, j + kColumns); ++column) {
                    using U = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;
                    U total = static_cast<U>(c[row * n + column]);
                    for (size_t first = 0; first < k; first += kGroup) {
                        U sum = U(0);
                        for (size_t p = first; p < std::min(k, first + kGroup); ++p) {
                            sum += static_cast<U>(a[row * k + p]) * static_cast<U>(b[p * n + column]);
                        }
                        total += sum;
                    }
                    c[row * n + column] = static_cast<T>(total);
                }
            }
        }
    }
}

}  // namespace

void rt::multiply(const float *a, const float *b, float *c, size_t m, size_t n, size_t k)
{
    multiply_all(a, b, c, m, n, k);
}
void rt::multiply(const int32_t *a, const int32_t *b, int32_t *c, size_t m, size_t n, size_t k)
{
    multiply_all(a, b, c, m, n, k);
}

}  // namespace opmend

#endif
