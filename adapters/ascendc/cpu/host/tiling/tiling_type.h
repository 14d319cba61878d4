#include "tiling_api.h"  // stands for CANN's header of this name
