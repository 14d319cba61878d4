// Functions of the device API that are not modelled yet. Calling one fails to compile with "unsupported: <name>", so
// that a kernel never runs with a step left out.
#ifndef OPMEND_API_UNSUPPORTED_H
#define OPMEND_API_UNSUPPORTED_H

#include "core/types.h"

namespace AscendC {

// One overload for each shape of explicit template arguments: types, values, and the mixtures the API has. The ellipsis
// takes whatever the call passes.
#define OPMEND_UNSUPPORTED_FORM(NAME, DEPENDENT)                                                          \
    inline void NAME(...)                                                                                 \
    {                                                                                                     \
        static_assert(DEPENDENT, "unsupported: " #NAME " is not modelled by the CPU device yet");         \
    }
#define OPMEND_UNSUPPORTED(NAME)                                                                          \
    template <class... T>                                                                                 \
    OPMEND_UNSUPPORTED_FORM(NAME, opmend::always_false<T...>)                                             \
    template <auto first, auto... more>                                                                   \
    OPMEND_UNSUPPORTED_FORM(NAME, opmend::always_false_value<first>)                                      \
    template <auto first, class T, class... more>                                                         \
    OPMEND_UNSUPPORTED_FORM(NAME, opmend::always_false<T>)                                                \
    template <class T, auto first, auto... more>                                                          \
    OPMEND_UNSUPPORTED_FORM(NAME, opmend::always_false<T>)                                                \
    template <class T, class U, auto first, auto... more>                                                 \
    OPMEND_UNSUPPORTED_FORM(NAME, opmend::always_false<T>)

// Cube and its data paths
OPMEND_UNSUPPORTED(LoadDataWithSparse)
OPMEND_UNSUPPORTED(SetFixpipeNz2ndFlag)
OPMEND_UNSUPPORTED(SetFixPipeConfig)
OPMEND_UNSUPPORTED(SetFixpipePreQuantFlag)
OPMEND_UNSUPPORTED(Conv2D)
OPMEND_UNSUPPORTED(Gemm)
// Synchronisation between chosen cores
OPMEND_UNSUPPORTED(IBSet)
OPMEND_UNSUPPORTED(IBWait)
OPMEND_UNSUPPORTED(InitDetermineComputeWorkspace)
OPMEND_UNSUPPORTED(WaitPreBlock)
OPMEND_UNSUPPORTED(NotifyNextBlock)
OPMEND_UNSUPPORTED(SetNextTaskStart)
OPMEND_UNSUPPORTED(WaitPreTaskEnd)
// Vector instructions
OPMEND_UNSUPPORTED(Scatter)
OPMEND_UNSUPPORTED(VectorPadding)
OPMEND_UNSUPPORTED(BilinearInterpolation)
OPMEND_UNSUPPORTED(MulCast)
OPMEND_UNSUPPORTED(AddReluCast)
OPMEND_UNSUPPORTED(SubReluCast)
OPMEND_UNSUPPORTED(CastDeq)
OPMEND_UNSUPPORTED(CastDequant)
OPMEND_UNSUPPORTED(AddDeqRelu)
OPMEND_UNSUPPORTED(SetCmpMask)
OPMEND_UNSUPPORTED(GetCmpMask)
// Sorting
OPMEND_UNSUPPORTED(RpSort16)
OPMEND_UNSUPPORTED(TopK)
OPMEND_UNSUPPORTED(ProposalConcat)
OPMEND_UNSUPPORTED(ProposalExtract)
// High-level library
OPMEND_UNSUPPORTED(LayerNorm)
OPMEND_UNSUPPORTED(LayerNormGrad)
OPMEND_UNSUPPORTED(RmsNorm)
OPMEND_UNSUPPORTED(BatchNorm)
OPMEND_UNSUPPORTED(GroupNorm)
OPMEND_UNSUPPORTED(DeepNorm)
OPMEND_UNSUPPORTED(Welford)
OPMEND_UNSUPPORTED(ReduceXorSum)
OPMEND_UNSUPPORTED(Gelu)
OPMEND_UNSUPPORTED(FasterGelu)
OPMEND_UNSUPPORTED(FasterGeluV2)
OPMEND_UNSUPPORTED(GeGLU)
OPMEND_UNSUPPORTED(SwiGLU)
OPMEND_UNSUPPORTED(ReGlu)
OPMEND_UNSUPPORTED(Swish)
OPMEND_UNSUPPORTED(CumSum)
OPMEND_UNSUPPORTED(Round)
OPMEND_UNSUPPORTED(Rint)
OPMEND_UNSUPPORTED(Fmod)
OPMEND_UNSUPPORTED(Xor)
OPMEND_UNSUPPORTED(Lgamma)
OPMEND_UNSUPPORTED(Digamma)
OPMEND_UNSUPPORTED(Pad)
OPMEND_UNSUPPORTED(UnPad)
OPMEND_UNSUPPORTED(AscendQuant)
OPMEND_UNSUPPORTED(AscendDequant)
OPMEND_UNSUPPORTED(AscendAntiQuant)
OPMEND_UNSUPPORTED(ConfusionTranspose)
OPMEND_UNSUPPORTED(DropOut)
OPMEND_UNSUPPORTED(Interleave)
OPMEND_UNSUPPORTED(DeInterleave)
OPMEND_UNSUPPORTED(BitwiseAnd)
OPMEND_UNSUPPORTED(BitwiseOr)
OPMEND_UNSUPPORTED(BitwiseXor)
OPMEND_UNSUPPORTED(LogicalAnd)
OPMEND_UNSUPPORTED(LogicalOr)
OPMEND_UNSUPPORTED(LogicalNot)
OPMEND_UNSUPPORTED(IsNan)
OPMEND_UNSUPPORTED(Where)
OPMEND_UNSUPPORTED(AtomicAdd)
OPMEND_UNSUPPORTED(WriteGmByPassDCache)
OPMEND_UNSUPPORTED(ReadGmByPassDCache)
#undef OPMEND_UNSUPPORTED
#undef OPMEND_UNSUPPORTED_FORM

}  // namespace AscendC

#endif
