// Global memory that one call of an operator owns beside its tensors.
#ifndef OPMEND_HOST_DEVICE_MEMORY_H
#define OPMEND_HOST_DEVICE_MEMORY_H

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" void opmend_gm_register(const void *base, uint64_t nbytes);

namespace opmend_call {

/// Memory of one call that the kernel sees: exact extents are registered with the device's runtime while it lives.
class Buffer {
public:
    Buffer(size_t bytes, int fill) : bytes_(bytes), memory_(bytes + 64)
    {
        std::memset(memory_.data(), fill, memory_.size());
        opmend_gm_register(data(), bytes_);
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { opmend_gm_register(data(), 0); }
    void *data() { return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory_.data()) + 31) / 32 * 32); }

private:
    size_t bytes_;
    std::vector<uint8_t> memory_;
};

/// The workspace of a launch. The framework's 16 MB come first and the kernel gets the address behind them, whatever
/// the tiling function asked for (vendor's "GetUserWorkspace"): one that forgets them leaves the kernel without memory.
/// The operator's part is filled with 0xff; the framework's is left as it is, so that it costs nothing.
class Workspace {
public:
    explicit Workspace(size_t bytes)
        : mapped_(std::max(bytes, kSystem) + kSlack),
          base_(static_cast<uint8_t *>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)))
    {
        if (base_ == MAP_FAILED) {
            throw std::runtime_error("opmend-host: no memory for a workspace of " + std::to_string(bytes) + " bytes");
        }
        opmend_gm_register(base_, std::min(bytes, kSystem));
        if (bytes > kSystem) {
            std::memset(user(), 0xff, bytes - kSystem);
            opmend_gm_register(user(), bytes - kSystem);
        }
    }
    Workspace(const Workspace &) = delete;
    ~Workspace()
    {
        opmend_gm_register(base_, 0);
        opmend_gm_register(user(), 0);
        munmap(base_, mapped_);
    }
    uint8_t *user() const { return base_ + kSystem; }

private:
    static constexpr size_t kSystem = 16 << 20, kSlack = 4096;
    size_t mapped_;
    uint8_t *base_;
};

}  // namespace opmend_call

#endif
