// What `kernel<<<blocks, l2ctrl, stream>>>(args)` becomes, and the macros that pick the grid.
#ifndef OPMEND_CORE_LAUNCH_H
#define OPMEND_CORE_LAUNCH_H

#include <tuple>

#include "core/state.h"

/// The kernel's name as text, macros expanded first: what a launch in a macro's body calls itself.
#define OPMEND_KERNEL_NAME(...) OPMEND_KERNEL_NAME_TEXT(__VA_ARGS__)
#define OPMEND_KERNEL_NAME_TEXT(...) #__VA_ARGS__

namespace opmend {

/// JSON literal of one launch argument: "0x.." for pointers, a number for arithmetic types, null for structures.
template <class T>
inline std::string argument_json(const T &value)
{
    if constexpr (std::is_null_pointer_v<T>) {
        return "\"0x0\"";
    } else if constexpr (std::is_pointer_v<T>) {
        return rt::format("\"0x%llx\"", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(value)));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return rt::format("%lld", static_cast<long long>(value));
    } else if constexpr (is_any_float<T>) {
        const double number = to_double(value);
        return std::isfinite(number) ? rt::format("%.17g", number) : std::string("null");
    } else {
        return "null";
    }
}

/// Runs a kernel function on every core of a grid. Throws std::runtime_error("opmend-device: ...") when the launch
/// had to be given up.
class Launcher {
public:
    template <class L2, class Stream>
    Launcher(const char *kernel, const char *file, int line, uint64_t block_dim, L2 &&, Stream &&)
        : spec_{kernel, file, line, block_dim, OPMEND_CHECK, {}, {}}
    {}

    template <class... Params, class... Args>
    void operator()(void (*kernel)(Params...), Args &&...args)
    {
        static_assert(sizeof...(Params) == sizeof...(Args), "a launch must pass as many arguments as the kernel takes");
        std::tuple<std::decay_t<Params>...> values(static_cast<Params>(args)...);
        std::apply([this](const auto &...value) { (record(value), ...); }, values);
        auto body = [&] {
            g_core->sys_workspace = system_workspace;
            std::apply(kernel, values);
        };
        rt::launch(spec_, [](void *context) { (*static_cast<decltype(body) *>(context))(); }, &body);
    }

    uint8_t *system_workspace = nullptr;  ///< what the framework sets before the kernel starts

private:
    template <class T>
    void record(const T &value)
    {
        spec_.args.push_back(argument_json(value));
        if constexpr (std::is_pointer_v<T>) {
            spec_.pointers.push_back(reinterpret_cast<const void *>(value));
        }
    }

    LaunchSpec spec_;
};

}  // namespace opmend

enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY = static_cast<int>(opmend::TaskType::AivOnly),
    KERNEL_TYPE_AIC_ONLY = static_cast<int>(opmend::TaskType::AicOnly),
    KERNEL_TYPE_MIX_AIC_1_1 = static_cast<int>(opmend::TaskType::Mix11),
    KERNEL_TYPE_MIX_AIC_1_2 = static_cast<int>(opmend::TaskType::Mix12),
    KERNEL_TYPE_MIX_AIV_1_0 = KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_MIX_AIC_1_0 = KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_AICORE = 100,  // this and the following: types of other parts, which Atlas A2's build passes over
    KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE,
    KERNEL_TYPE_MIX_VECTOR_CORE,
};

namespace opmend {
inline void name_task(KernelMetaType type)
{
    if (type < KERNEL_TYPE_AICORE) {
        rt::require_task(static_cast<TaskType>(type));
    }
}
}  // namespace opmend

#define KERNEL_TASK_TYPE_DEFAULT(type) ::opmend::name_task(type)
#define KERNEL_TASK_TYPE(key, type) ::opmend::name_task(type)
#define ASCEND_IS_AIV (::opmend::g_core->aiv)
#define ASCEND_IS_AIC (!::opmend::g_core->aiv)
#define g_coreType (::opmend::g_core->aiv ? ::AscendC::AIV : ::AscendC::AIC)

namespace AscendC {
constexpr int AIC = 1;
constexpr int AIV = 2;

/// Index of the calling core: block*subblocks+subblock on a vector core, the block on a cube core.
inline int64_t GetBlockIdx()
{
    const opmend::Core &core = *opmend::g_core;
    return core.aiv ? static_cast<int64_t>(core.block) * core.sub_num + core.sub : core.block;
}
inline int64_t GetBlockNum() { return opmend::g_core->block_num; }
inline int64_t GetSubBlockIdx() { return opmend::g_core->sub; }
inline int64_t GetSubBlockNum() { return opmend::g_core->aiv ? opmend::g_core->sub_num : 1; }
inline int64_t GetTaskRation() { return opmend::g_core->sub_num; }
inline int64_t GetTaskRatio() { return opmend::g_core->sub_num; }
inline int64_t GetSystemCycle() { return 0; }  ///< time is not modelled
inline constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
inline constexpr uint32_t GetUBSizeInBytes() { return TOTAL_UB_SIZE; }
}  // namespace AscendC

inline int64_t get_block_idx() { return opmend::g_core->block; }
/// The same as a name: the device compiler's built-in value. An object, so that a variable of that name hides it.
struct BlockIndexName {
    operator int64_t() const { return get_block_idx(); }
};
inline constexpr BlockIndexName block_idx{};
inline int64_t get_block_num() { return opmend::g_core->block_num; }
inline int64_t get_subblockid() { return opmend::g_core->sub; }

#endif
