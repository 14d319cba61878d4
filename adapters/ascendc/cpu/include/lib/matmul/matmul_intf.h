#include "lib/matmul_intf.h"  // the newer name of the same header
