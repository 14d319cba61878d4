// Stands for the Ascend runtime's <acl/acl.h>: device memory is host memory, streams run at once.
//
// Memory from aclrtMalloc is registered with its exact extent (and forgotten when freed) and filled with 0xFF (NaN in
// every float format).
#ifndef OPMEND_ACL_H
#define OPMEND_ACL_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" void opmend_gm_register(const void *base, uint64_t nbytes);
extern "C" void opmend_gm_taken(const void *from, uint64_t nbytes);  // by the host: the device follows them no further

typedef int aclError;
typedef void *aclrtStream;
typedef void *aclrtContext;
typedef void *aclrtEvent;

enum { ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, ACL_ERROR_INVALID_PARAM = 100000, ACL_ERROR_RT_MEMORY_ALLOCATION = 207001 };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };

inline aclError aclInit(const char *) { return ACL_SUCCESS; }
inline aclError aclFinalize() { return ACL_SUCCESS; }
inline aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
inline aclError aclrtGetDevice(int32_t *device) { *device = 0; return ACL_SUCCESS; }
inline aclError aclrtResetDevice(int32_t) { return ACL_SUCCESS; }
inline const char *aclrtGetSocName() { return "Ascend910B"; }
inline aclError aclrtCreateStream(aclrtStream *stream)
{
    *stream = std::malloc(1);
    return *stream ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION;
}
inline aclError aclrtDestroyStream(aclrtStream stream) { std::free(stream); return ACL_SUCCESS; }
inline aclError aclrtSynchronizeStream(aclrtStream) { return ACL_SUCCESS; }
inline aclError aclrtSynchronizeDevice() { return ACL_SUCCESS; }
inline aclError aclrtMalloc(void **pointer, size_t bytes, aclrtMemMallocPolicy)
{
    *pointer = bytes ? std::aligned_alloc(512, (bytes + 32 + 511) / 512 * 512) : nullptr;
    if (*pointer == nullptr) {
        return bytes ? ACL_ERROR_RT_MEMORY_ALLOCATION : ACL_ERROR_INVALID_PARAM;
    }
    std::memset(*pointer, 0xFF, bytes);
    opmend_gm_register(*pointer, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtFree(void *pointer)
{
    if (pointer != nullptr) {
        opmend_gm_register(pointer, 0);
    }
    std::free(pointer);
    return ACL_SUCCESS;
}
inline aclError aclrtMallocHost(void **pointer, size_t bytes)
{
    *pointer = std::malloc(bytes);
    return *pointer ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION;
}
inline aclError aclrtFreeHost(void *pointer) { std::free(pointer); return ACL_SUCCESS; }
inline aclError aclrtMemcpy(void *target, size_t capacity, const void *source, size_t bytes, aclrtMemcpyKind)
{
    if (bytes > capacity) {
        return ACL_ERROR_INVALID_PARAM;
    }
    opmend_gm_taken(source, bytes);
    std::memcpy(target, source, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemcpyAsync(void *target, size_t capacity, const void *source, size_t bytes, aclrtMemcpyKind kind, aclrtStream)
{
    return aclrtMemcpy(target, capacity, source, bytes, kind);
}
inline aclError aclrtMemset(void *target, size_t capacity, int32_t value, size_t bytes)
{
    if (bytes > capacity) {
        return ACL_ERROR_INVALID_PARAM;
    }
    std::memset(target, value, bytes);
    return ACL_SUCCESS;
}
inline aclError aclrtMemsetAsync(void *target, size_t capacity, int32_t value, size_t bytes, aclrtStream)
{
    return aclrtMemset(target, capacity, value, bytes);
}

#endif
