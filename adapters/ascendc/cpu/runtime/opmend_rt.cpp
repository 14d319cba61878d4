// libopmend_rt.so: the one owner of the simulated device's state.
//
// A candidate's kernels and its binding are separate libraries of one process; they share the registry of tensors, the
// findings and the launches through this library and through nothing else. The C interface below is what Python uses.
// Single-threaded by design: one process evaluates one case.

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "core/state.h"
#include "cross_core.h"
#include "fibers.h"
#include "findings.h"
#include "hazards.h"
#include "memory.h"
#include "multiply.h"
#include "recorder.h"
#include "unified_buffer.h"

namespace opmend {

Core *g_core = nullptr;

namespace {

struct Write {
    uintptr_t base;
    size_t bytes, written;
};

struct LaunchRecord {
    std::string kernel, file;
    int line = 0;
    uint64_t block_dim = 0;
    TaskType task = TaskType::AivOnly;
    std::vector<std::string> args;
    std::vector<Write> writes;
    long micros = 0;
};

std::vector<LaunchRecord> launches;
std::string last_error;
bool failed = false;
bool noop = false;
std::string report_text, records_text;

const char *task_name(TaskType task)
{
    switch (task) {
        case TaskType::AivOnly: return "AIV_ONLY";
        case TaskType::AicOnly: return "AIC_ONLY";
        case TaskType::Mix11: return "MIX_AIC_1_1";
        default: return "MIX_AIC_1_2";
    }
}

/// Every tensor the launch stored to or was given a pointer into.
std::vector<Write> collect_writes(const LaunchSpec &spec)
{
    std::vector<Write> writes;
    for (const auto &[base, tensor] : tensors) {
        const size_t written = tensor.written.count();
        bool given = false;
        for (const void *pointer : spec.pointers) {
            const auto at = reinterpret_cast<uintptr_t>(pointer);
            given |= at >= base && at < base + tensor.bytes;
        }
        if (written != 0 || given) {
            writes.push_back({base, tensor.bytes, written});
        }
    }
    return writes;
}

/// Runs the grid; a kernel that asks for another task type starts again with it.
TaskType run(const LaunchSpec &spec, void (*body)(void *), void *context, std::string &error)
{
    TaskType task = TaskType::AivOnly;
    for (int attempt = 0; attempt < 3; ++attempt) {
        Grid current;
        current.body = body;
        current.context = context;
        grid = &current;
        cross_used = false;
        recorder.begin_launch(launches.size() - 1);
        build_grid(task, spec.block_dim, spec.level);
        schedule();
        if (!current.retask && current.error.empty()) {
            report_unwaited_cross_flags();
        }
        grid = nullptr;
        error = current.error;
        if (!current.retask) {
            return task;
        }
        task = current.wanted;
    }
    error = "the kernel names more than one task type";
    return task;
}

std::string launch_json(const LaunchRecord &launch)
{
    std::string out = "{\"kernel\":" + json_string(launch.kernel) + ",\"file\":" + json_string(launch.file);
    out += ",\"line\":" + std::to_string(launch.line) + ",\"block_dim\":" + std::to_string(launch.block_dim);
    out += ",\"task_type\":" + json_string(task_name(launch.task)) + ",\"args\":[";
    for (size_t i = 0; i < launch.args.size(); ++i) {
        out += (i != 0 ? "," : "") + launch.args[i];
    }
    out += "],\"writes\":[";
    for (size_t i = 0; i < launch.writes.size(); ++i) {
        const Write &write = launch.writes[i];
        out += (i != 0 ? "," : "") + rt::format("{\"base\":\"0x%llx\",\"nbytes\":%zu,\"written\":%zu}",
                                                static_cast<unsigned long long>(write.base), write.bytes,
                                                write.written);
    }
    return out + "],\"micros\":" + std::to_string(launch.micros) + "}";
}

}  // namespace

void rt::launch(const LaunchSpec &spec, void (*body)(void *), void *context)
{
    launches.emplace_back();
    LaunchRecord &record_ = launches.back();
    record_.kernel = spec.kernel;
    record_.file = spec.file;
    record_.line = spec.line;
    record_.block_dim = spec.block_dim;
    record_.args = spec.args;
    if (noop) {
        record_.writes = collect_writes(spec);
        return;
    }
    std::string error;
    if (spec.block_dim == 0 || spec.block_dim > 4096) {
        error = format("kernel %s: block_dim %llu is outside 1..4096", spec.kernel,
                       static_cast<unsigned long long>(spec.block_dim));
    } else {
        for (auto &[base, tensor] : tensors) {
            tensor.begin_launch();
        }
        epoch = 0;
        const auto start = std::chrono::steady_clock::now();
        record_.task = run(spec, body, context, error);
        const auto spent = std::chrono::steady_clock::now() - start;
        record_.micros = static_cast<long>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
        record_.writes = collect_writes(spec);
    }
    if (!error.empty()) {
        const std::string message = std::string("opmend-device: ") + spec.kernel + ": " + error;
        if (!failed) {
            failed = true;
            last_error = message;
        }
        throw std::runtime_error(message);
    }
}

}  // namespace opmend

extern "C" {

/// Forgets launches, findings and the registry of tensors.
OPMEND_API void opmend_reset(void)
{
    using namespace opmend;
    launches.clear();
    findings.clear();
    findings_dropped = 0;
    sites.clear();
    recorder.clear();
    tensors.clear();
    g_dubious = dubious_lost = false;
    failed = false;
    last_error.clear();
}

/// The host copies bytes that a kernel may have marked: from here on nobody can tell where they go.
OPMEND_API void opmend_gm_taken(const void *from, uint64_t nbytes)
{
    using namespace opmend;
    const auto at = reinterpret_cast<uintptr_t>(from);
    if (const Tensor *tensor = tensor_at(at)) {
        const size_t offset = at - tensor->base;
        tensor->dubious.inspect(offset, offset + nbytes, [](size_t, size_t, uint8_t) { dubious_lost = true; });
    }
}

/// Names the exact extent of one tensor. A later call for overlapping memory replaces the earlier one (the allocator
/// has reused it). A size of 0 only forgets.
OPMEND_API void opmend_gm_register(const void *base, uint64_t nbytes)
{
    using namespace opmend;
    const auto at = reinterpret_cast<uintptr_t>(base);
    const auto known = tensors.find(at);
    if (known != tensors.end() && known->second.bytes == nbytes) {
        return;
    }
    auto next = tensors.lower_bound(at);
    if (next != tensors.begin() && std::prev(next)->second.base + std::prev(next)->second.bytes > at) {
        --next;
    }
    while (next != tensors.end() && next->first < at + (nbytes != 0 ? nbytes : 1)) {
        next = tensors.erase(next);
    }
    if (nbytes != 0) {
        Tensor &tensor = tensors[at];
        tensor.base = at;
        tensor.bytes = nbytes;
    }
}

/// Launches, findings and the first error as JSON; valid until the next call.
OPMEND_API const char *opmend_report_json(void)
{
    using namespace opmend;
    report_text = "{\"launches\":[";
    for (size_t i = 0; i < launches.size(); ++i) {
        report_text += (i != 0 ? "," : "") + launch_json(launches[i]);
    }
    report_text += "],\"findings\":" + findings_json();
    report_text += ",\"findings_dropped\":" + std::to_string(findings_dropped);
    report_text += "," + dubious_json(tensors);
    report_text += ",\"error\":" + (failed ? json_string(last_error) : std::string("null")) + "}";
    return report_text.c_str();
}

/// Keeps statistics of what the instructions of later launches write: of the first `per_place` at each place of the source
/// on each core, at most `total` in all. A total of 0 switches it off.
OPMEND_API void opmend_set_recorder(uint64_t per_place, uint64_t total)
{
    opmend::recorder.per_place = per_place;
    opmend::recorder.total = total;
}

/// What the recorder kept since the last reset, as JSON; valid until the next call.
OPMEND_API const char *opmend_records_json(void)
{
    opmend::records_text = opmend::records_json();
    return opmend::records_text.c_str();
}

/// Runs the cores of later launches in the opposite order: results must not change.
OPMEND_API void opmend_set_core_order(int reversed) { opmend::reversed_order = reversed != 0; }

/// Records later launches without running the kernel.
OPMEND_API void opmend_set_noop(int on) { opmend::noop = on != 0; }
}
