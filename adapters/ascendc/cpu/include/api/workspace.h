// The workspace of a launch: the framework's part comes first, the operator's own part behind it.
//
// Semantics: vendor's "GetSysWorkSpacePtr", "SetSysWorkSpace", "GetUserWorkspace". The framework of msopgen operators
// sets the system workspace before the kernel starts and passes the operator's part as the kernel's `workspace`;
// a directly launched kernel has none until it calls SetSysWorkspace.
#ifndef OPMEND_API_WORKSPACE_H
#define OPMEND_API_WORKSPACE_H

#include "core/launch.h"

/// Where the whole workspace begins; null when nobody set it.
inline uint8_t *GetSysWorkSpacePtr() { return opmend::g_core->sys_workspace; }
inline void SetSysWorkSpacePtr(uint8_t *workspace) { opmend::g_core->sys_workspace = workspace; }

namespace AscendC {

constexpr size_t RESERVED_WORKSPACE = opmend::kSystemWorkspace;

/// Sets the system workspace unless it is set already.
inline void SetSysWorkspace(uint8_t *workspace)
{
    if (opmend::g_core->sys_workspace == nullptr) {
        opmend::g_core->sys_workspace = workspace;
    }
}
inline void SetSysWorkspaceForce(uint8_t *workspace) { opmend::g_core->sys_workspace = workspace; }

/// The operator's own part. As on the device the argument has no say: only what was set before counts.
inline uint8_t *GetUserWorkspace(uint8_t *)
{
    uint8_t *base = opmend::g_core->sys_workspace;
    if (base == nullptr) {
        opmend::rt::report("api-misuse", "GetUserWorkspace",
                           "no system workspace is set: the result is an address in nobody's memory; call "
                           "SetSysWorkspace(workspace) first");
    }
    return reinterpret_cast<uint8_t *>(reinterpret_cast<uintptr_t>(base) + RESERVED_WORKSPACE);
}

}  // namespace AscendC

#endif
