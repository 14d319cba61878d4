// The high-level Exp, by a Taylor series of `taylorExpandLevel` terms on the device.
//
// Semantics: vendor's page "Exp" of the high-level API. Computed with the host's libm in float and rounded once: what a
// short series loses is not modelled (approximate). The temporary tensor is taken and left alone.
#ifndef OPMEND_LIB_EXP_H
#define OPMEND_LIB_EXP_H

#include "api/vector.h"

namespace AscendC {

template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
inline void Exp(const LocalTensor<T> &dstLocal, const LocalTensor<T> &srcLocal, const uint32_t calCount)
{
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>, "Exp takes half and float");
    opmend::run_count("Exp", calCount, opmend::lifted<T>(opmend::ExpOp{}), dstLocal, srcLocal);
}
template <class T, uint8_t taylorExpandLevel, bool isReuseSource = false>
inline void Exp(const LocalTensor<T> &dstLocal, const LocalTensor<T> &srcLocal, const LocalTensor<uint8_t> &,
                const uint32_t calCount)
{
    Exp<T, taylorExpandLevel, isReuseSource>(dstLocal, srcLocal, calCount);
}

}  // namespace AscendC

#endif
