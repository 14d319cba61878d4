// Stands for CANN's <lib/matmul_intf.h>: the Matmul object and its registration.
//
// Registration is where the roles part: without ASCENDC_CUBE_ONLY the vector cores drive the object and the cube cores
// leave the kernel (on the device they serve the vector cores there until these have ended); a launch that names no
// kernel type is restarted with one cube core for two vector cores, as the vendor's build infers. With
// ASCENDC_CUBE_ONLY the cube cores drive it. Semantics: vendor's page "REGIST_MATMUL_OBJ".
#ifndef OPMEND_LIB_MATMUL_INTF_H
#define OPMEND_LIB_MATMUL_INTF_H

#include "lib/matmul/matmul.h"

namespace AscendC {

template <class A_TYPE, class B_TYPE, class C_TYPE, class BIAS_TYPE = C_TYPE, const auto &MM_CFG = CFG_NORM,
          class MM_CB = MatmulCallBackFunc<>>
using Matmul = MatmulImpl<A_TYPE, B_TYPE, C_TYPE, BIAS_TYPE, MM_CFG, MM_CB>;

}  // namespace AscendC

namespace matmul = AscendC;

namespace opmend {

inline void init_objects() {}
template <class Object>
inline void init_objects(Object &)
{}
/// Objects, each with its tiling behind it.
template <class Object, class Tiling, class... More>
inline void init_objects(Object &object, Tiling *tiling, More &&...more)
{
    object.Init(tiling);
    init_objects(more...);
}

/// Whether the calling core has nothing more to do in this kernel.
template <class... Objects>
inline bool register_objects(AscendC::TPipe *, const void *, Objects &&...objects)
{
#ifdef ASCENDC_CUBE_ONLY
    constexpr TaskType inferred = TaskType::AicOnly;
    constexpr bool leaves = false;
#else
    constexpr TaskType inferred = TaskType::Mix12;
    const bool leaves = !g_core->aiv;
#endif
    if (g_core->task == TaskType::AivOnly) {
        rt::require_task(inferred);
    }
    init_objects(objects...);
    return leaves;
}

}  // namespace opmend

#define REGIST_MATMUL_OBJ(tpipe, workspace, ...)                                  \
    do {                                                                          \
        if (::opmend::register_objects((tpipe), (workspace), __VA_ARGS__)) {      \
            return;                                                               \
        }                                                                         \
    } while (0)
#define REGIST_CUBE_OBJ REGIST_MATMUL_OBJ

#endif
