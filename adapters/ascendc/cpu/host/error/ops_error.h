// Stands for CANN's <error/ops_error.h>: logging that says nothing and checks that leave the function.
#ifndef OPMEND_HOST_OPS_ERROR_H
#define OPMEND_HOST_OPS_ERROR_H

#include "../opmend/opdef.h"

#define OPS_LOG_D(...) static_cast<void>(0)
#define OPS_LOG_I(...) static_cast<void>(0)
#define OPS_LOG_W(...) static_cast<void>(0)
#define OPS_LOG_E(...) static_cast<void>(0)
#define OPS_LOG_FULL(...) static_cast<void>(0)
#define OPS_LOG_E_IF_NULL(context, pointer, result) \
    if ((pointer) == nullptr) {                     \
        result;                                     \
    }
#define OPS_LOG_E_IF(condition, context, result, ...) \
    if (condition) {                                  \
        result;                                       \
    }
#define OPS_CHECK(condition, log, result) \
    if (condition) {                      \
        log;                              \
        result;                           \
    }
#define OPS_REPORT_VECTOR_INNER_ERR(...) static_cast<void>(0)
#define OPS_REPORT_CUBE_INNER_ERR(...) static_cast<void>(0)
#define VECTOR_INNER_ERR_REPORT_TILIING(...) static_cast<void>(0)

#endif
