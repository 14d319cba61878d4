// What a Matmul object reads and writes: matrices in global memory, and the atomics of its copy out.
#ifndef OPMEND_LIB_MATMUL_OPERANDS_H
#define OPMEND_LIB_MATMUL_OPERANDS_H

#include "kernel_operator.h"

namespace opmend {

/// Where a matrix lies: rows `pitch` elements apart; transposed, element (i, j) is stored at (j, i).
template <class T>
struct Matrix {
    T *base = nullptr;
    bool transposed = false;
};

/// Rows [first, first + rows) and columns [left, left + columns) of a matrix, as the accumulator's type.
template <class T, class R>
inline std::vector<R> fetch(const Matrix<T> &matrix, size_t pitch, size_t first, size_t rows, size_t left, size_t columns)
{
    std::vector<R> out(rows * columns);
    const size_t lines = matrix.transposed ? columns : rows, length = matrix.transposed ? rows : columns;
    const size_t line0 = matrix.transposed ? left : first, start = matrix.transposed ? first : left;
    std::vector<T> line(length);
    for (size_t i = 0; i < lines; ++i) {
        const T *from = matrix.base + (line0 + i) * pitch + start;
        const size_t allowed = rt::gm_access(from, length * sizeof(T), GmAccess::Read, nullptr, "Matmul");
        std::memcpy(line.data(), from, allowed);
        std::memset(reinterpret_cast<uint8_t *>(line.data()) + allowed, 0xff, length * sizeof(T) - allowed);
        for (size_t j = 0; j < length; ++j) {
            out[matrix.transposed ? j * columns + i : i * columns + j] = static_cast<R>(line[j]);
        }
    }
    return out;
}

/// Atomics of the copy out: those the call asks for, whatever the calling core has set for its own copies.
class AtomicScope {
public:
    explicit AtomicScope(uint8_t wanted) : before_(g_core->atomic)
    {
        static constexpr Atomic kinds[] = {Atomic::None, Atomic::Add, Atomic::Max, Atomic::Min};
        if (wanted > 3) {
            rt::abort_launch("api-misuse", "Matmul", rt::format("enAtomic is %u: 0 to 3 are defined", wanted));
        }
        if (g_core->aiv || wanted != 0) {
            g_core->atomic = kinds[wanted];
        }
    }
    ~AtomicScope() { g_core->atomic = before_; }

private:
    Atomic before_;
};

inline void no_matmul(const char *what) { unsupported("Matmul", what); }

}  // namespace opmend

#endif
