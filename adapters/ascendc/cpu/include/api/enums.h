// Enumerations of the device API, with the values kernels pass.
#ifndef OPMEND_API_ENUMS_H
#define OPMEND_API_ENUMS_H

#include "core/state.h"

enum pipe_t {
    PIPE_S = opmend::PipeS,
    PIPE_V = opmend::PipeV,
    PIPE_M = opmend::PipeM,
    PIPE_MTE1 = opmend::PipeMte1,
    PIPE_MTE2 = opmend::PipeMte2,
    PIPE_MTE3 = opmend::PipeMte3,
    PIPE_FIX = opmend::PipeFix,
    PIPE_ALL = opmend::kPipes,
};

using event_t = int32_t;
using TEventID = int8_t;
constexpr event_t EVENT_ID0 = 0, EVENT_ID1 = 1, EVENT_ID2 = 2, EVENT_ID3 = 3;
constexpr event_t EVENT_ID4 = 4, EVENT_ID5 = 5, EVENT_ID6 = 6, EVENT_ID7 = 7;

namespace AscendC {

using ::TEventID;

enum class TPosition : uint8_t {
    GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, LCM = VECCALC, SPM, SHM = SPM, TSCM, C2PIPE2GM,
    MAX,
};
using QuePosition = TPosition;

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

enum class HardEvent : uint8_t {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3,
    MTE1_V, MTE2_M, M_MTE2, V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S,
    MTE2_FIX, FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX, FIX_MTE1, FIX_FIX, MAX,
};

enum class RoundMode : uint8_t {
    CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD,
};
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder : uint8_t { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class ReduceType : uint8_t { SUM, MAX, MIN };
enum class MaskMode : uint8_t { NORMAL, COUNTER };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL };
enum class CacheRwMode : uint8_t { READ = 1, WRITE = 2, RW = 3 };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };

namespace Pattern {
namespace Reduce {
struct AR {};
struct RA {};
}  // namespace Reduce
}  // namespace Pattern

}  // namespace AscendC

namespace opmend {

/// The memory that holds the tensors of a position.
constexpr Memory memory_of(AscendC::TPosition position)
{
    using AscendC::TPosition;
    switch (position) {
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::C1:
        case TPosition::TSCM: return Memory::L1;
        case TPosition::A2: return Memory::L0A;
        case TPosition::B2: return Memory::L0B;
        case TPosition::CO1: return Memory::L0C;
        case TPosition::C2: return Memory::Bias;
        case TPosition::C2PIPE2GM: return Memory::Fix;
        default: return Memory::Ub;
    }
}

/// Units that a hard event goes from and to.
struct EventPipes {
    Pipe source, target;
};

constexpr EventPipes event_pipes(AscendC::HardEvent event)
{
    using AscendC::HardEvent;
    switch (event) {
        case HardEvent::MTE2_MTE1: return {PipeMte2, PipeMte1};
        case HardEvent::MTE1_MTE2: return {PipeMte1, PipeMte2};
        case HardEvent::MTE1_M: return {PipeMte1, PipeM};
        case HardEvent::M_MTE1: return {PipeM, PipeMte1};
        case HardEvent::MTE2_V: return {PipeMte2, PipeV};
        case HardEvent::V_MTE2: return {PipeV, PipeMte2};
        case HardEvent::MTE3_V: return {PipeMte3, PipeV};
        case HardEvent::V_MTE3: return {PipeV, PipeMte3};
        case HardEvent::M_V: return {PipeM, PipeV};
        case HardEvent::V_M: return {PipeV, PipeM};
        case HardEvent::V_V: return {PipeV, PipeV};
        case HardEvent::MTE3_MTE1: return {PipeMte3, PipeMte1};
        case HardEvent::MTE1_MTE3: return {PipeMte1, PipeMte3};
        case HardEvent::MTE1_V: return {PipeMte1, PipeV};
        case HardEvent::MTE2_M: return {PipeMte2, PipeM};
        case HardEvent::M_MTE2: return {PipeM, PipeMte2};
        case HardEvent::V_MTE1: return {PipeV, PipeMte1};
        case HardEvent::M_FIX: return {PipeM, PipeFix};
        case HardEvent::FIX_M: return {PipeFix, PipeM};
        case HardEvent::MTE3_MTE2: return {PipeMte3, PipeMte2};
        case HardEvent::MTE2_MTE3: return {PipeMte2, PipeMte3};
        case HardEvent::S_V: return {PipeS, PipeV};
        case HardEvent::V_S: return {PipeV, PipeS};
        case HardEvent::S_MTE2: return {PipeS, PipeMte2};
        case HardEvent::MTE2_S: return {PipeMte2, PipeS};
        case HardEvent::S_MTE3: return {PipeS, PipeMte3};
        case HardEvent::MTE3_S: return {PipeMte3, PipeS};
        case HardEvent::MTE2_FIX: return {PipeMte2, PipeFix};
        case HardEvent::FIX_MTE2: return {PipeFix, PipeMte2};
        case HardEvent::FIX_S: return {PipeFix, PipeS};
        case HardEvent::M_S: return {PipeM, PipeS};
        case HardEvent::FIX_MTE3: return {PipeFix, PipeMte3};
        case HardEvent::MTE1_FIX: return {PipeMte1, PipeFix};
        case HardEvent::FIX_MTE1: return {PipeFix, PipeMte1};
        default: return {PipeFix, PipeFix};
    }
}

}  // namespace opmend

#endif
