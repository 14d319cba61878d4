// The header that AscendC kernels include: the CPU model of one Atlas A2 (dav-c220) vector device.
//
// core/ holds types, state, checks and launching; api/ the basic instructions; lib/ the high-level ones. All state is
// in libopmend_rt.so. Include guards, not #pragma once: this header is precompiled.
#ifndef OPMEND_KERNEL_OPERATOR_H
#define OPMEND_KERNEL_OPERATOR_H

#include "core/types.h"

#include "core/check.h"
#include "core/launch.h"
#include "core/state.h"

#include "api/address_registers.h"
#include "api/allocator.h"
#include "api/buffer_pool.h"
#include "api/cast.h"
#include "api/copy.h"
#include "api/core_utilities.h"
#include "api/cube_compute.h"
#include "api/cube_load.h"
#include "api/cube_params.h"
#include "api/enums.h"
#include "api/fill.h"
#include "api/gather_mask.h"
#include "api/intrinsics.h"
#include "api/params.h"
#include "api/queue.h"
#include "api/queue_config.h"
#include "api/reduce.h"
#include "api/reduce_repeat.h"
#include "api/select.h"
#include "api/sort.h"
#include "api/stack_buffer.h"
#include "api/sync.h"
#include "api/tensor.h"
#include "api/transpose.h"
#include "api/vector.h"
#include "api/vector_scalar.h"
#include "api/workspace.h"

#include "lib/exp.h"
#include "lib/math.h"
#include "lib/matmul/tiling_data.h"
#include "lib/reduce.h"
#include "lib/select_bytes.h"
#include "lib/softmax.h"
#include "lib/softmax_family.h"

#include "api/unsupported.h"

#endif
