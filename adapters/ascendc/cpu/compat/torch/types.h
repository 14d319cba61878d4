// Stands for the torch header of this name.
#ifndef OPMEND_TORCH_TYPES_H
#define OPMEND_TORCH_TYPES_H
#include "../torch/extension.h"
#endif
