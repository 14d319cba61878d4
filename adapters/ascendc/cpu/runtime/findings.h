// Findings: what the device saw a kernel do wrong, de-duplicated by (kind, call stack).
//
// Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_FINDINGS_H
#define OPMEND_RUNTIME_FINDINGS_H

#include <algorithm>
#include <cstdarg>
#include <dlfcn.h>
#include <execinfo.h>
#include <map>
#include <string>
#include <vector>

#include "core/state.h"

namespace opmend {
namespace {

constexpr int kMaxFrames = 32;
constexpr size_t kMaxFindings = 200;
constexpr long kMaxStacksPerSite = 64;

struct Finding {
    std::string kind, api, message;
    long count = 1;
    int core = -1;
    std::vector<void *> frames;
};

std::vector<Finding> findings;
long findings_dropped = 0;
// (kind, innermost caller) -> stacks taken so far: a finding in a hot loop must not cost a stack walk for ever.
std::map<std::pair<std::string, void *>, std::pair<long, size_t>> sites;

std::vector<void *> call_stack()
{
    void *frames[kMaxFrames];
    const int depth = backtrace(frames, kMaxFrames);
    return std::vector<void *>(frames, frames + depth);
}

void record(const char *kind, const char *api, const std::string &message, std::vector<void *> frames)
{
    for (Finding &known : findings) {
        if (known.kind == kind && known.frames == frames) {
            ++known.count;
            return;
        }
    }
    if (findings.size() >= kMaxFindings) {
        ++findings_dropped;
        return;
    }
    findings.push_back({kind, api, message, 1, g_core != nullptr ? g_core->index : -1, std::move(frames)});
}

void record_here(const char *kind, const char *api, const std::string &message, void *caller)
{
    auto &site = sites[{kind, caller}];
    if (++site.first > kMaxStacksPerSite && site.second < findings.size()) {
        ++findings[site.second].count;
        return;
    }
    const size_t before = findings.size();
    record(kind, api, message, call_stack());
    if (findings.size() > before) {
        site.second = before;
    }
}

std::string json_string(const std::string &text)
{
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte >= 0x7f) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
            out += escaped;
        } else {
            out += c;
        }
    }
    return out + '"';
}

/// Module path and offset of a frame. The offset points into the call (return address minus one), for addr2line.
std::string frame_json(void *frame)
{
    Dl_info info;
    const auto address = reinterpret_cast<uintptr_t>(frame) - 1;
    if (dladdr(frame, &info) == 0 || info.dli_fname == nullptr) {
        return "[\"\",\"" + rt::format("0x%lx", static_cast<unsigned long>(address)) + "\"]";
    }
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
    return "[" + json_string(info.dli_fname) + ",\"" + rt::format("0x%lx", static_cast<unsigned long>(offset)) + "\"]";
}

std::string findings_json()
{
    std::string out = "[";
    for (const Finding &finding : findings) {
        if (out.size() > 1) {
            out += ',';
        }
        out += "{\"kind\":" + json_string(finding.kind) + ",\"api\":" + json_string(finding.api);
        out += ",\"message\":" + json_string(finding.message) + ",\"count\":" + std::to_string(finding.count);
        out += ",\"core\":" + std::to_string(finding.core) + ",\"frames\":[";
        for (size_t i = 0; i < finding.frames.size(); ++i) {
            out += (i != 0 ? "," : "") + frame_json(finding.frames[i]);
        }
        out += "]}";
    }
    return out + "]";
}

}  // namespace

std::string rt::format(const char *pattern, ...)
{
    char text[512];
    va_list args;
    va_start(args, pattern);
    std::vsnprintf(text, sizeof text, pattern, args);
    va_end(args);
    return text;
}

void rt::report(const char *kind, const char *api, const std::string &message)
{
    record_here(kind, api, message, __builtin_return_address(0));
}

void rt::abort_launch(const char *kind, const char *api, const std::string &message)
{
    record(kind, api, message, call_stack());
    throw Abort{std::string(api) + ": " + message};
}

}  // namespace opmend

#endif
