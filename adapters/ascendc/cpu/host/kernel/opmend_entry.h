// Kernel side of an msopgen operator: what a generated unit needs to call the kernel function with its arguments.
#ifndef OPMEND_HOST_KERNEL_ENTRY_H
#define OPMEND_HOST_KERNEL_ENTRY_H

#include <stdexcept>
#include <utility>

#include "kernel_operator.h"

#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

namespace opmend_entry {

template <class... Params, size_t... I>
void call(::opmend::Launcher &launch, void (*kernel)(Params...), void **arguments, std::index_sequence<I...>)
{
    launch(kernel, static_cast<Params>(static_cast<uint8_t *>(arguments[I]))...);
}

/// Launches `kernel` with inputs, outputs, workspace and tiling, in this order. Throws when it takes another number.
template <class... Params>
void run(const char *name, const char *file, int line, void (*kernel)(Params...), void **arguments, size_t count, uint64_t blocks)
{
    if (sizeof...(Params) != count) {
        throw std::runtime_error("opmend-host: kernel " + std::string(name) + " takes " + std::to_string(sizeof...(Params)) +
                                 " arguments, its definition gives " + std::to_string(count));
    }
    ::opmend::Launcher launch(name, file, line, blocks, nullptr, nullptr);
    launch.system_workspace = static_cast<uint8_t *>(arguments[count - 2]) - ::opmend::kSystemWorkspace;
    call(launch, kernel, arguments, std::index_sequence_for<Params...>());
}

template <class T>
inline void read_tiling(T &target, const void *tiling)
{
    std::memcpy(static_cast<void *>(&target), tiling, sizeof target);
}

}  // namespace opmend_entry

#endif
