// Instructions of the property tests that are not one element to one element: reductions, comparison and selection,
// filling, gathering, sorting, transposing.
#include "property.h"

using namespace property;

namespace {

#define REDUCE_CALL(NAME, ...)                                                                                   \
    {                                                                                                            \
        const ::property::OuterMask<T> outer(c);                                                                 \
        uint64_t bits[2] = {c.bits[0], c.bits[1]};                                                               \
        c.form == kMaskCount ? NAME<T>(__VA_ARGS__(c.count)) : c.form == kMaskBits ? NAME<T>(__VA_ARGS__(bits))   \
                             : NAME<T, false>(__VA_ARGS__(static_cast<int32_t>(MASK_PLACEHOLDER)));              \
        return;                                                                                                  \
    }
#define MASK_FIRST(MASK) y, a, MASK, c.repeat, c.rep[0], c.blk[1], c.rep[1]
#define MASK_ORDER(MASK) MASK_FIRST(MASK), order
#define REPEAT_FIRST(MASK) y, a, c.repeat, MASK, c.rep[0], c.blk[1], c.rep[1]

template <class T>
void reduce(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<T>(0), a = image.tensor<T>(1), work = image.tensor<T>(3);
    const auto order = static_cast<ReduceOrder>(c.p[0]);
    const bool index = c.p[0] != 0;
    uint64_t bits[2] = {c.bits[0], c.bits[1]};
    switch (c.op) {
        case 0: REDUCE_CALL(WholeReduceSum, MASK_FIRST)
        case 1: REDUCE_CALL(WholeReduceMax, MASK_ORDER)
        case 2: REDUCE_CALL(WholeReduceMin, MASK_ORDER)
        case 3: REDUCE_CALL(BlockReduceSum, REPEAT_FIRST)
        case 4: REDUCE_CALL(BlockReduceMax, REPEAT_FIRST)
        case 5: REDUCE_CALL(BlockReduceMin, REPEAT_FIRST)
        case 6: REDUCE_CALL(PairReduceSum, REPEAT_FIRST)
        case 10: c.form == kCount       ? ReduceSum(y, a, work, c.count)
                 : c.form == kMaskCount ? ReduceSum(y, a, work, c.count, c.repeat, c.rep[1])
                                        : ReduceSum(y, a, work, bits, c.repeat, c.rep[1]);
                 return;
        case 11: c.form == kCount       ? ReduceMax(y, a, work, c.count, index)
                 : c.form == kMaskCount ? ReduceMax(y, a, work, c.count, c.repeat, c.rep[1], index)
                                        : ReduceMax(y, a, work, bits, c.repeat, c.rep[1], index);
                 return;
        case 12: c.form == kCount       ? ReduceMin(y, a, work, c.count, index)
                 : c.form == kMaskCount ? ReduceMin(y, a, work, c.count, c.repeat, c.rep[1], index)
                                        : ReduceMin(y, a, work, bits, c.repeat, c.rep[1], index);
                 return;
        default: unknown("reduction");
    }
}

template <class T>
void compare(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<uint8_t>(0);
    const auto a = image.tensor<T>(1), b = image.tensor<T>(2);
    const auto mode = static_cast<CMPMODE>(c.p[0]);
    const auto s = static_cast<T>(c.scalar);
    const auto repeat = static_cast<uint8_t>(c.repeat);
    const uint64_t mask = static_cast<uint64_t>(c.count);
    const BinaryRepeatParams two(1, c.blk[1], c.blk[2], 8, c.rep[1], c.rep[2]);
    const UnaryRepeatParams one(1, c.blk[1], 8, c.rep[1]);
    if (c.op == 0) {
        c.form == kCount ? Compare(y, a, b, mode, c.count) : Compare(y, a, b, mode, mask, repeat, two);
    } else if (c.op == 1) {
        c.form == kCount ? CompareScalar(y, a, s, mode, c.count) : CompareScalar(y, a, s, mode, mask, repeat, one);
    } else {
        c.form == kCount ? Compares(y, a, s, mode, c.count) : Compares(y, a, s, mode, mask, repeat, one);
    }
}

template <class T>
void select(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<T>(0), a = image.tensor<T>(1), b = image.tensor<T>(2);
    const auto chosen = image.tensor<uint8_t>(3);
    const auto mode = static_cast<SELMODE>(c.p[0]);
    const auto s = static_cast<T>(c.scalar);
    const auto repeat = static_cast<uint8_t>(c.repeat);
    uint64_t bits[2] = {c.bits[0], c.bits[1]};
    const uint64_t mask = static_cast<uint64_t>(c.count);
    if (mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) {
        c.form == kCount       ? Select(y, chosen, a, s, mode, c.count)
        : c.form == kMaskCount ? Select(y, chosen, a, s, mode, mask, repeat, binary(c))
                               : Select(y, chosen, a, s, mode, bits, repeat, binary(c));
    } else {
        c.form == kCount       ? Select(y, chosen, a, b, mode, c.count)
        : c.form == kMaskCount ? Select(y, chosen, a, b, mode, mask, repeat, binary(c))
                               : Select(y, chosen, a, b, mode, bits, repeat, binary(c));
    }
}

template <class T>
void duplicate(const Call &c, const LocalTensor<T> &y, T s)
{
    const ::property::OuterMask<T> outer(c);
    uint64_t bits[2] = {c.bits[0], c.bits[1]};
    const auto repeat = static_cast<uint8_t>(c.repeat);
    switch (c.form) {
        case kCount: Duplicate(y, s, c.count); break;
        case kMaskCount: Duplicate(y, s, static_cast<uint64_t>(c.count), repeat, c.blk[0], c.rep[0]); break;
        case kMaskBits: case kCounterBits: Duplicate(y, s, bits, repeat, c.blk[0], c.rep[0]); break;
        default: Duplicate<T, false>(y, s, static_cast<uint64_t>(MASK_PLACEHOLDER), repeat, c.blk[0], c.rep[0]);
    }
}

template <class T>
void copy(const Call &c, const LocalTensor<T> &y, const LocalTensor<T> &a)
{
    PROPERTY_FORMS(Copy, (Copy<T, false>), T, CopyRepeatParams(c.blk[0], c.blk[1], c.rep[0], c.rep[1]), y, a)
}

template <class T>
void rearrange(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<T>(0), a = image.tensor<T>(1);
    const auto offsets = image.tensor<uint32_t>(2);
    const auto repeat = static_cast<uint8_t>(c.repeat);
    uint64_t bits[2] = {c.bits[0], c.bits[1]};
    switch (c.op) {
        case 0: return duplicate(c, y, static_cast<T>(c.scalar));
        case 1: return copy(c, y, a);
        case 2: Brcb(y, a, repeat, BrcbRepeatParams(c.blk[0], c.rep[0])); return;
        case 3:
            c.form == kCount ? Gather(y, a, offsets, static_cast<uint32_t>(c.p[0]), static_cast<uint32_t>(c.count))
            : c.form == kMaskCount ? Gather(y, a, offsets, static_cast<uint32_t>(c.p[0]), static_cast<uint64_t>(c.count),
                                            repeat, static_cast<uint16_t>(c.rep[0]))
                                   : Gather(y, a, offsets, static_cast<uint32_t>(c.p[0]), bits, repeat,
                                            static_cast<uint16_t>(c.rep[0]));
            return;
        case 4: Gatherb(y, a, offsets, repeat, GatherRepeatParams(c.blk[0], c.rep[0])); return;
        case 5: case 6: {
            using Pattern = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
            uint64_t kept = 0;
            const GatherMaskParams params(c.blk[1], c.repeat, c.rep[1], c.rep[2]);
            c.op == 5 ? GatherMask(y, a, static_cast<uint8_t>(c.p[0]), c.p[1] != 0, c.count, params, kept)
                      : GatherMask(y, a, image.tensor<Pattern>(2), c.p[1] != 0, c.count, params, kept);
            image.tensor<int32_t>(3).SetValue(0, static_cast<int32_t>(kept));
            return;
        }
        default: unknown("rearrangement");
    }
}

template <class T>
void to_5hd(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<T>(0), a = image.tensor<T>(1);
    uint64_t to[16], from[16];
    for (uint32_t i = 0; i < 16; ++i) {
        to[i] = reinterpret_cast<uint64_t>(y[i * c.blk[0] * 32 / sizeof(T)].GetPhyAddr());
        from[i] = reinterpret_cast<uint64_t>(a[i * c.blk[1] * 32 / sizeof(T)].GetPhyAddr());
    }
    const auto repeat = static_cast<uint8_t>(c.repeat);
    TransDataTo5HD<T>(to, from, TransDataTo5HDParams(c.p[0] != 0, c.p[1] != 0, repeat, c.rep[0], c.rep[1]));
}

void move(const Image &image)
{
    const Call &c = image.call;
    if (c.op == 8) {
        Transpose(image.tensor<int16_t>(0), image.tensor<int16_t>(1));
    } else if (c.op == 7) {
        with_type<int8_t, int16_t, float>(c.dtype, [&](auto zero) { to_5hd<decltype(zero)>(image); });
    } else if (c.op == 0 || c.op == 1) {
        with_type<float, half, bfloat16_t, int16_t, uint16_t, int32_t, uint32_t>(c.dtype, [&](auto zero) {
            using T = decltype(zero);
            c.op == 0 ? duplicate(c, image.tensor<T>(0), static_cast<T>(c.scalar))
                      : copy(c, image.tensor<T>(0), image.tensor<T>(1));
        });
    } else {
        with_type<float, half, int32_t, uint16_t>(c.dtype, [&](auto zero) { rearrange<decltype(zero)>(image); });
    }
}

template <class T>
void sort(const Image &image)
{
    const Call &c = image.call;
    const auto y = image.tensor<T>(0), a = image.tensor<T>(1);
    const auto index = image.tensor<uint32_t>(2);
    if (c.op == 0) {
        Sort32(y, a, index, c.repeat);
    } else if (c.op == 1) {  // p: queue lengths, valid bits, suspension; queues lie one after another
        const uint16_t lengths[4] = {uint16_t(c.p[0]), uint16_t(c.p[1]), uint16_t(c.p[2]), uint16_t(c.p[3])};
        const uint32_t unit = 8 / sizeof(T);
        uint32_t first[4] = {0, 0, 0, 0};
        for (int queue = 1; queue < 4; ++queue) {
            first[queue] = first[queue - 1] + lengths[queue - 1] * unit;
        }
        const MrgSortSrcList<T> queues(a[first[0]], a[first[1]], a[first[2]], a[first[3]]);
        MrgSort(y, queues, MrgSort4Info(lengths, c.p[5] != 0, c.p[4], c.repeat));
        uint16_t taken[4];
        GetMrgSortResult(taken[0], taken[1], taken[2], taken[3]);
        for (uint32_t queue = 0; queue < 4; ++queue) {
            image.tensor<int32_t>(3).SetValue(queue, taken[queue]);
        }
    } else if (c.op == 2) {
        LocalTensor<T> tmp = image.tensor<T>(3);
        c.p[0] != 0 ? Sort<T, true>(y, a, index, tmp, c.repeat) : Sort<T, false>(y, a, index, tmp, c.repeat);
    } else {
        Extract(y, image.tensor<uint32_t>(2), a, c.repeat);
    }
}

void reductions(const Image &image)
{
    with_type<float, half>(image.call.dtype, [&](auto zero) { reduce<decltype(zero)>(image); });
}
void comparisons(const Image &image)
{
    with_type<float, half>(image.call.other, [&](auto zero) { compare<decltype(zero)>(image); });
}
void selections(const Image &image)
{
    with_type<float, half>(image.call.dtype, [&](auto zero) { select<decltype(zero)>(image); });
}
void sorts(const Image &image)
{
    with_type<float, half>(image.call.dtype, [&](auto zero) { sort<decltype(zero)>(image); });
}

}  // namespace

PROPERTY_FAMILY(property_reduction, reductions)
PROPERTY_FAMILY(property_comparison, comparisons)
PROPERTY_FAMILY(property_selection, selections)
PROPERTY_FAMILY(property_rearrangement, move)
PROPERTY_FAMILY(property_sorting, sorts)
