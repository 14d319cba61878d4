#include "../../extension.h"  // stands for libtorch's header of this name
