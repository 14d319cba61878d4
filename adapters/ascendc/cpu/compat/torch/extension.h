// Stands for libtorch's <torch/extension.h>: the part of it that kernel bindings use (see mini/core.h).
#ifndef OPMEND_TORCH_EXTENSION_H
#define OPMEND_TORCH_EXTENSION_H

#include "../mini/casters.h"
#include "../mini/dispatch.h"
#include "../mini/library.h"

namespace py = pybind11;

#define EXEC_NPU_CMD(...) static_assert(false, "EXEC_NPU_CMD (aclnn) is not supported by the CPU binding yet")

#endif
