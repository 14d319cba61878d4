// Stands for the Ascend runtime header of this name.
#ifndef OPMEND_ACL_RT_H
#define OPMEND_ACL_RT_H
#include "acl.h"
#endif
