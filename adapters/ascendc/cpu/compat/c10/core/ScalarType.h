// Stands for the torch header of this name.
#ifndef OPMEND_C10_CORE_SCALARTYPE_H
#define OPMEND_C10_CORE_SCALARTYPE_H
#include "../../torch/extension.h"
#endif
