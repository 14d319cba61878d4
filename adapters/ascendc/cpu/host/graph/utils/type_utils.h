#include "../../opmend/opdef.h"  // stands for CANN's header of this name
