#include "kernel_operator.h"  // stands for the vendor's header of this name
