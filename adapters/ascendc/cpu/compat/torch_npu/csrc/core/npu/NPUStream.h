// Stands for torch_npu's <NPUStream.h>: one stream, the current one. Its handle is an opaque non-null address.
#ifndef OPMEND_NPU_STREAM_H
#define OPMEND_NPU_STREAM_H

#include "../../../../acl/acl.h"
#ifdef OPMEND_REAL_TORCH
#include <torch/extension.h>
#else
#include "../../../../mini/core.h"
#endif

namespace c10_npu {

class NPUStream {
public:
    aclrtStream stream(bool = true) const
    {
        static char handle;
        return &handle;
    }
    operator aclrtStream() const { return stream(); }
    c10::DeviceIndex device_index() const { return 0; }
    void synchronize() const {}
};

inline NPUStream getCurrentNPUStream(c10::DeviceIndex = -1) { return {}; }
inline NPUStream getDefaultNPUStream(c10::DeviceIndex = -1) { return {}; }
inline c10::DeviceIndex current_device() { return 0; }

class NPUGuard {
public:
    explicit NPUGuard(c10::Device) {}
    explicit NPUGuard(c10::DeviceIndex) {}
};

class OptionalNPUGuard {
public:
    OptionalNPUGuard() = default;
    explicit OptionalNPUGuard(std::optional<c10::Device>) {}
};

}  // namespace c10_npu

#endif
