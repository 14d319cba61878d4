// Stands for libtorch's <torch/extension.h>: the part of it that kernel bindings use (see mini/core.h).
#ifndef OPMEND_TORCH_EXTENSION_H
#define OPMEND_TORCH_EXTENSION_H

#include "../mini/casters.h"
#include "../mini/dispatch.h"

namespace py = pybind11;

#define TORCH_LIBRARY(...) static_assert(false, "TORCH_LIBRARY is not supported by the CPU binding yet: bind with PYBIND11_MODULE")
#define TORCH_LIBRARY_FRAGMENT TORCH_LIBRARY
#define TORCH_LIBRARY_IMPL TORCH_LIBRARY
#define EXEC_NPU_CMD(...) static_assert(false, "EXEC_NPU_CMD (aclnn) is not supported by the CPU binding yet")

#endif
