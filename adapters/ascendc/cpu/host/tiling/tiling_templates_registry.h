#include "tiling_base.h"  // stands for CANN's header of this name
