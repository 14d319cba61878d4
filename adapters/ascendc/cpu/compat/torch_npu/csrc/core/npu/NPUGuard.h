// Stands for the torch_npu header of this name.
#include "NPUStream.h"
