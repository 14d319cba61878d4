// What the kernels of the property tests share: the call that a test describes in global memory, and how one launch
// executes it. A launch loads a whole image into UB, runs one instruction on tensors that lie anywhere in it, and stores
// the whole image, so that a test sees every byte that the instruction wrote and every byte that it must not have.
#ifndef OPMEND_TESTS_PROPERTY_H
#define OPMEND_TESTS_PROPERTY_H

#include <stdexcept>

#include "kernel_operator.h"

namespace property {

using namespace AscendC;

/// Mirrored by `Call` in property.py.
struct Call {
    int32_t op, dtype, other;     // instruction of the family; element types of the destination and of the sources
    int32_t form, count, repeat;  // count: elements, or lanes of a mask
    int32_t blk[3], rep[3];       // strides in blocks: destination, first and second source
    uint32_t at[4];               // byte offsets in the image: destination, sources, one more operand
    int32_t p[8];                 // what an instruction takes besides
    uint32_t bytes;               // of the image
    uint64_t bits[2];             // the mask by bits
    double scalar;
};

enum Form { kCount, kMaskCount, kMaskBits, kOuterBits, kOuterCounter, kCounterBits };

struct Image {
    const Call &call;
    TBuf<> &ub;

    /// The tensor from operand `index` to the end of the image.
    template <class T>
    LocalTensor<T> tensor(int index) const
    {
        return ub.Get<uint8_t>()[call.at[index]].template ReinterpretCast<T>();
    }
};

[[noreturn]] inline void unknown(const char *what) { throw std::runtime_error(std::string("no such ") + what); }

/// Calls run(T{}) with the listed type that `code` names; codes as in property.py.
template <class... Types, class Run>
void with_type(int32_t code, Run run)
{
    constexpr auto code_of = [](auto value) -> int32_t {
        using T = decltype(value);
        return std::is_same_v<T, float> ? 0 : std::is_same_v<T, half> ? 1 : std::is_same_v<T, bfloat16_t> ? 2
             : std::is_same_v<T, int16_t> ? 3 : std::is_same_v<T, uint16_t> ? 4 : std::is_same_v<T, int32_t> ? 5
             : std::is_same_v<T, uint32_t> ? 6 : std::is_same_v<T, int8_t> ? 7 : std::is_same_v<T, uint8_t> ? 8 : 9;
    };
    bool found = false;
    ((code == code_of(Types{}) ? (found = true, run(Types{})) : void()), ...);
    if (!found) {
        unknown("element type for this instruction");
    }
}

/// Sets the mask that a call with isSetMask = false (or one in counter mode) finds, and leaves the default afterwards.
template <class T>
struct OuterMask {
    explicit OuterMask(const Call &call)
    {
        if (call.form == kOuterBits) {
            SetVectorMask<T, MaskMode::NORMAL>(call.bits[1], call.bits[0]);
        } else if (call.form == kOuterCounter) {
            SetMaskCount();
            SetVectorMask<T, MaskMode::COUNTER>(0, static_cast<uint64_t>(call.count));
        } else if (call.form == kCounterBits) {
            SetMaskCount();
        }
    }
    ~OuterMask()
    {
        SetMaskNorm();
        ResetMask();
    }
};

// Calls an instruction in the form that the call asks for. OUTER is NAME with its template arguments for
// isSetMask = false, in parentheses; PARAMS the repeat parameters; then the operands.
#define PROPERTY_FORMS(NAME, OUTER, T, PARAMS, ...)                                                  \
    {                                                                                                \
        const ::property::OuterMask<T> outer(c);                                                     \
        uint64_t bits[2] = {c.bits[0], c.bits[1]};                                                   \
        const auto repeat = static_cast<uint8_t>(c.repeat);                                          \
        switch (c.form) {                                                                            \
            case kCount: NAME(__VA_ARGS__, c.count); break;                                          \
            case kMaskCount: NAME(__VA_ARGS__, static_cast<uint64_t>(c.count), repeat, PARAMS); break; \
            case kMaskBits: case kCounterBits: NAME(__VA_ARGS__, bits, repeat, PARAMS); break;       \
            default: OUTER(__VA_ARGS__, MASK_PLACEHOLDER, repeat, PARAMS);                           \
        }                                                                                            \
        return;                                                                                      \
    }

inline UnaryRepeatParams unary(const Call &c) { return UnaryRepeatParams(c.blk[0], c.blk[1], c.rep[0], c.rep[1]); }
inline BinaryRepeatParams binary(const Call &c)
{
    return BinaryRepeatParams(c.blk[0], c.blk[1], c.blk[2], c.rep[0], c.rep[1], c.rep[2]);
}

using Body = void (*)(const Image &);

inline __global__ __aicore__ void execute(GM_ADDR image, const Call *call, Body body)
{
    TPipe pipe;
    TBuf<> ub;
    pipe.InitBuffer(ub, call->bytes);
    GlobalTensor<uint8_t> gm;
    gm.SetGlobalBuffer(image);
    DataCopy(ub.Get<uint8_t>(), gm, call->bytes);
    PipeBarrier<PIPE_ALL>();
    body(Image{*call, ub});
    PipeBarrier<PIPE_ALL>();
    DataCopy(gm, ub.Get<uint8_t>(), call->bytes);
}

inline int run(uint8_t *image, const Call *call, Body body)
{
    try {
        ::opmend::Launcher("execute", __FILE__, __LINE__, 1, nullptr, nullptr)(execute, image, call, body);
    } catch (const std::runtime_error &) {
        return 1;
    }
    return 0;
}

}  // namespace property

#define PROPERTY_FAMILY(NAME, BODY)                                                    \
    extern "C" int NAME(uint8_t *image, const ::property::Call *call)                 \
    {                                                                                 \
        return ::property::run(image, call, BODY);                                    \
    }

#endif
