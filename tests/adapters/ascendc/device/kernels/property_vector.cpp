// Element-wise instructions of the property tests: two tensors, one tensor, a tensor and a scalar, conversions.
#include "property.h"

using namespace property;

namespace {

#define BINARY(CODE, NAME) \
    case CODE: PROPERTY_FORMS(NAME, (NAME<T, false>), T, binary(c), y, a, b)
#define UNARY(CODE, NAME) \
    case CODE: PROPERTY_FORMS(NAME, (NAME<T, false>), T, unary(c), y, a)
#define SCALAR(CODE, NAME) \
    case CODE: PROPERTY_FORMS(NAME, (NAME<T, false>), T, unary(c), y, a, s)

template <class T>
void numbers(const Call &c, const LocalTensor<T> &y, const LocalTensor<T> &a, const LocalTensor<T> &b, T s)
{
    switch (c.op) {
        BINARY(0, Add)
        BINARY(1, Sub)
        BINARY(2, Mul)
        BINARY(3, Max)
        BINARY(4, Min)
        SCALAR(40, Adds)
        SCALAR(41, Muls)
        SCALAR(42, Maxs)
        SCALAR(43, Mins)
        default: unknown("instruction for numbers");
    }
}

template <class T>
void floats(const Call &c, const LocalTensor<T> &y, const LocalTensor<T> &a, const LocalTensor<T> &b, T s)
{
    switch (c.op) {
        BINARY(5, Div)
        BINARY(6, FusedMulAdd)
        BINARY(7, FusedMulAddRelu)
        case 8: PROPERTY_FORMS(MulAddDst, (MulAddDst<T, T, false>), T, binary(c), y, a, b)
        UNARY(20, Abs)
        UNARY(21, Relu)
        UNARY(22, Exp)
        UNARY(23, Ln)
        UNARY(24, Sqrt)
        UNARY(25, Rsqrt)
        UNARY(26, Reciprocal)
        SCALAR(44, LeakyRelu)
        case 45: PROPERTY_FORMS(Axpy, (Axpy<T, T, false>), T, unary(c), y, a, s)
        default: numbers(c, y, a, b, s);
    }
}

template <class T>
void words(const Call &c, const LocalTensor<T> &y, const LocalTensor<T> &a, const LocalTensor<T> &b)
{
    switch (c.op) {
        BINARY(10, And)
        BINARY(11, Or)
        UNARY(27, Not)
        default: unknown("instruction for words");
    }
}

template <class T>
void shifts(const Call &c, const LocalTensor<T> &y, const LocalTensor<T> &a, T s)
{
    switch (c.op) {
        SCALAR(46, ShiftLeft)
        SCALAR(47, ShiftRight)
        case 48: {  // rounded: the last bit that is shifted out is added
            uint64_t bits[2] = {c.bits[0], c.bits[1]};
            ShiftRight(y, a, s, bits, static_cast<uint8_t>(c.repeat), unary(c), true);
            return;
        }
        default: unknown("shift");
    }
}

void element_wise(const Image &image)
{
    const Call &c = image.call;
    const auto operands = [&](auto zero, auto family) {
        using T = decltype(zero);
        family(image.tensor<T>(0), image.tensor<T>(1), image.tensor<T>(2), static_cast<T>(c.scalar));
    };
    if (c.op == 60) {  // what an instruction of a count leaves for the next one
        const auto y = image.tensor<float>(0), a = image.tensor<float>(1);
        SetMaskCount();
        SetVectorMask<float, MaskMode::COUNTER>(0, 3);
        Adds(a, a, 1.0f, c.count);
        Adds<float, false>(y, a, 1.0f, MASK_PLACEHOLDER, 2, unary(c));
    } else if (c.op == 12 || c.op == 13) {  // saturated at 0
        with_type<float, half, int16_t>(c.dtype, [&](auto zero) {
            operands(zero, [&](auto y, auto a, auto b, auto s) {
                using T = decltype(s);
                if (c.op == 12) PROPERTY_FORMS(AddRelu, (AddRelu<T, false>), T, binary(c), y, a, b)
                PROPERTY_FORMS(SubRelu, (SubRelu<T, false>), T, binary(c), y, a, b)
            });
        });
    } else if (c.op == 14) {  // sources of half into a destination of float
        const auto y = image.tensor<float>(0);
        const auto a = image.tensor<half>(1), b = image.tensor<half>(2);
        PROPERTY_FORMS(MulAddDst, (MulAddDst<float, half, false>), float, binary(c), y, a, b)
    } else if (c.op == 49) {
        const auto y = image.tensor<float>(0);
        const auto a = image.tensor<half>(1);
        const auto s = static_cast<half>(c.scalar);
        PROPERTY_FORMS(Axpy, (Axpy<float, half, false>), float, unary(c), y, a, s)
    } else if (c.op == 10 || c.op == 11 || c.op == 27) {
        with_type<int16_t, uint16_t>(c.dtype, [&](auto zero) {
            operands(zero, [&](auto y, auto a, auto b, auto) { words(c, y, a, b); });
        });
    } else if (c.op >= 46 && c.op <= 48) {
        with_type<int16_t, uint16_t, int32_t, uint32_t>(c.dtype, [&](auto zero) {
            operands(zero, [&](auto y, auto a, auto, auto s) { shifts(c, y, a, s); });
        });
    } else if (c.dtype <= 1) {
        with_type<float, half>(c.dtype, [&](auto zero) {
            operands(zero, [&](auto y, auto a, auto b, auto s) { floats(c, y, a, b, s); });
        });
    } else if (c.op == 21) {
        const auto y = image.tensor<int32_t>(0), a = image.tensor<int32_t>(1);
        using T = int32_t;
        PROPERTY_FORMS(Relu, (Relu<T, false>), T, unary(c), y, a)
    } else {
        with_type<int16_t, int32_t>(c.dtype, [&](auto zero) {
            operands(zero, [&](auto y, auto a, auto b, auto s) { numbers(c, y, a, b, s); });
        });
    }
}

template <class D, class S>
void cast(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<D>(0);
    const auto a = image.tensor<S>(1);
    const auto mode = static_cast<RoundMode>(c.p[0]);
    using Wider = std::conditional_t<(sizeof(D) > sizeof(S)), D, S>;
    PROPERTY_FORMS(Cast, (Cast<D, S, false>), Wider, unary(c), y, a, mode)
}

void conversion(const Image &image)
{
    const Call &c = image.call;
    if (c.p[1] != 0) {
        SetDeqScale(static_cast<half>(c.scalar));
    }
    const auto to = [&](auto source, auto... targets) {
        with_type<decltype(targets)...>(c.dtype, [&](auto target) { cast<decltype(target), decltype(source)>(image); });
    };
    switch (c.other) {
        case 0: return to(float{}, float{}, half{}, bfloat16_t{}, int16_t{}, int32_t{}, int64_t{});
        case 1: return to(half{}, float{}, int8_t{}, uint8_t{}, int16_t{}, int32_t{});
        case 2: return to(bfloat16_t{}, float{}, int32_t{});
        case 3: return to(int16_t{}, half{}, float{});
        case 5: return to(int32_t{}, half{}, float{}, int16_t{}, int64_t{});
        case 7: return to(int8_t{}, half{});
        case 8: return to(uint8_t{}, half{});
        case 9: return to(int64_t{}, float{}, int32_t{});
        default: unknown("conversion");
    }
}

}  // namespace

PROPERTY_FAMILY(property_element_wise, element_wise)
PROPERTY_FAMILY(property_conversion, conversion)
