// Stands for the torch header of this name.
#ifndef OPMEND_C10_UTIL_OPTIONAL_H
#define OPMEND_C10_UTIL_OPTIONAL_H
#include "../../torch/extension.h"
#endif
