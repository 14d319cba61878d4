// Stands for the torch header of this name.
#ifndef OPMEND_TORCH_LIBRARY_H
#define OPMEND_TORCH_LIBRARY_H
#include "../torch/extension.h"
#endif
