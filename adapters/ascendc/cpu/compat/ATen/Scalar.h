// Stands for the torch header of this name.
#ifndef OPMEND_ATEN_SCALAR_H
#define OPMEND_ATEN_SCALAR_H
#include "../torch/extension.h"
#endif
