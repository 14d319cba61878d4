// What a Matmul object is made of: MatmulType, MatmulConfig and the ready-made configurations.
//
// The members of MatmulConfig that only steer speed have no effect here; those that change results must keep their
// defaults (Matmul says which). Semantics: vendor's pages "Matmul使用说明", "Matmul模板参数", "MatmulConfig".
#ifndef OPMEND_LIB_MATMUL_CONFIG_H
#define OPMEND_LIB_MATMUL_CONFIG_H

#include "kernel_operator.h"

namespace AscendC {

enum class CubeFormat : uint8_t { ND = 0, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, ROW_MAJOR = ND, COLUMN_MAJOR = 8 };
enum class LayoutMode : uint8_t { NONE = 0, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class IterateOrder : uint8_t { ORDER_M = 0, ORDER_N, UNDEF };
enum class ScheduleType : uint8_t { INNER_PRODUCT = 0, OUTER_PRODUCT, N_BUFFER_33 };
enum class BatchMode : uint8_t { NONE = 0, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };

template <TPosition POSITION, CubeFormat FORMAT, class TYPE, bool ISTRANS = false, LayoutMode LAYOUT = LayoutMode::NONE,
          bool IBSHARE = false, TPosition SRCPOS = TPosition::GM>
struct MatmulType {
    static constexpr TPosition pos = POSITION;
    static constexpr CubeFormat format = FORMAT;
    using T = TYPE;
    static constexpr bool isTrans = ISTRANS;
    static constexpr LayoutMode layout = LAYOUT;
    static constexpr bool ibShare = IBSHARE;
    static constexpr TPosition srcPos = SRCPOS;
};

struct MatmulConfig {
    bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
    uint32_t basicM = 0, basicN = 0, basicK = 0;
    bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0, singleCoreMN = 0;
    bool enUnitFlag = true;
    bool isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false;
    bool enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true;
    bool enableQuantVector = true, enableSetDefineData = true;
    uint8_t iterateMode = 0;
    bool enableReuse = true, enableUBReuse = true, enableL1CacheUB = false, intraBlockPartSum = false;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false;
    bool enableMixDualMaster = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false;
    bool isCO1Shared = false;
    bool enableL1BankConflictOptimise = false, enableRelu = false;
};

/// The first options of the vendor's functions; the later ones are not taken, so that none is silently passed over.
constexpr MatmulConfig GetNormalConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                       const bool isVecND2NZ = false)
{
    MatmulConfig config;
    config.intrinsicsCheck = intrinsicsLimit;
    config.isNBatch = batchLoop;
    config.enVecND2NZ = isVecND2NZ;
    return config;
}
constexpr MatmulConfig GetMDLConfig(const bool intrinsicsLimit = false, const bool batchLoop = false,
                                    const uint32_t doMTE2Preload = 0, const bool isVecND2NZ = false,
                                    const bool isPerTensor = false, const bool hasAntiQuantOffset = false)
{
    MatmulConfig config = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ);
    config.doNorm = false;
    config.doMultiDataLoad = true;
    config.doMTE2Preload = doMTE2Preload;
    config.isPerTensor = isPerTensor;
    config.hasAntiQuantOffset = hasAntiQuantOffset;
    return config;
}

inline constexpr MatmulConfig CFG_NORM = GetNormalConfig();
inline constexpr MatmulConfig CFG_MDL = GetMDLConfig();
inline constexpr MatmulConfig MM_CFG_NORM = CFG_NORM;

template <auto first = nullptr, auto second = nullptr, auto third = nullptr>
struct MatmulCallBackFunc {
    static constexpr bool own = !std::is_same_v<decltype(first), std::nullptr_t> ||
                                !std::is_same_v<decltype(second), std::nullptr_t> ||
                                !std::is_same_v<decltype(third), std::nullptr_t>;
};

}  // namespace AscendC

namespace opmend {

template <class Type>
constexpr bool plain_matrix = Type::pos == AscendC::TPosition::GM && Type::format == AscendC::CubeFormat::ND;

constexpr bool plain_config(const AscendC::MatmulConfig &config)
{
    return !config.isNBatch && !config.isPerTensor && !config.hasAntiQuantOffset && !config.doIBShareNorm &&
           !config.intraBlockPartSum && !config.isPartialOutput && !config.enableMixDualMaster &&
           !config.isEnableChannelSplit && !config.enableRelu &&
           config.scheduleType == AscendC::ScheduleType::INNER_PRODUCT;
}

}  // namespace opmend

#endif
