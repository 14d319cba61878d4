// Stands for the torch header of this name.
#ifndef OPMEND_ATEN_TENSOR_H
#define OPMEND_ATEN_TENSOR_H
#include "../torch/extension.h"
#endif
