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
#include <unwind.h>
#include <vector>

#include "core/state.h"

namespace opmend {
namespace {

constexpr int kMaxFrames = 32;
constexpr size_t kMaxFindings = 200;
constexpr long kMaxStacksPerSite = 64;
constexpr size_t kMaxKnownStacks = 64;
constexpr size_t kStackBytes = 512 * 1024;  // of a core

struct Finding {
    std::string kind, api, message;
    long count = 1;
    int core = -1;
    std::vector<void *> frames;
    bool followed = false;  // marks in memory (dubious.h) tell where its data went
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

/// A stack walk that was done, and where on the core's stack it found each return address.
struct KnownStack {
    struct Link {
        size_t below_top;  // distance of the return address from the top of the core's stack
        void *address;
    };
    std::vector<Link> links;  // innermost first
    std::vector<void *> frames;

    bool matches(const uint8_t *top) const
    {
        return std::all_of(links.begin(), links.end(), [top](const Link &link) {
            void *there;
            std::memcpy(&there, top - link.below_top, sizeof there);
            return there == link.address;
        });
    }
};

_Unwind_Reason_Code note_frame(_Unwind_Context *context, void *target)
{
    auto &stack = *static_cast<KnownStack *>(target);
    auto *address = reinterpret_cast<void *>(_Unwind_GetIP(context));
    const auto *slot = reinterpret_cast<const uint8_t *>(_Unwind_GetCFA(context)) - sizeof(void *);
    void *there = nullptr;
    const uint8_t *top = g_core->stack_top;
    if (slot < top && slot > top - kStackBytes) {
        std::memcpy(&there, slot, sizeof there);
    }
    if (address != nullptr && there == address) {
        stack.links.push_back({static_cast<size_t>(top - slot), address});
    }
    stack.frames.push_back(address);
    return stack.frames.size() < kMaxFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/// The call stack below the function of the runtime whose frame is `frame`, without a walk when the same path was
/// walked before: cores of a grid mostly take the same one. A path is the same when every return address lies where it
/// lay; where return addresses are not found on the stack (x86-64 has them there), it is walked each time.
std::vector<void *> known_call_stack(const void *frame)
{
#if defined(__x86_64__)
    static std::map<size_t, std::vector<KnownStack>> known;  // by the distance of the frame from the top
    const auto depth = static_cast<size_t>(g_core->stack_top - static_cast<const uint8_t *>(frame));
    auto &candidates = known[depth];
    for (const KnownStack &stack : candidates) {
        if (stack.matches(g_core->stack_top)) {
            return stack.frames;
        }
    }
    KnownStack walked;
    _Unwind_Backtrace(note_frame, &walked);
    const bool found_all = walked.links.size() + 1 >= walked.frames.size();  // but for where the core's stack begins
    // Return addresses above `frame` belong to the runtime's own frames, which are gone when the next call looks.
    walked.links.erase(std::remove_if(walked.links.begin(), walked.links.end(),
                                      [depth](const KnownStack::Link &link) { return link.below_top > depth; }),
                       walked.links.end());
    if (found_all && candidates.size() < kMaxKnownStacks) {
        candidates.push_back(walked);
    }
    return walked.frames;
#else
    (void)frame;
    return call_stack();
#endif
}

void record(const char *kind, const char *api, const std::string &message, std::vector<void *> frames,
            bool followed = false)
{
    for (Finding &known : findings) {
        if (known.kind == kind && known.frames == frames) {
            ++known.count;
            known.followed &= followed;
            return;
        }
    }
    // The first of its kind is always kept: hundreds of warnings do not hide a kind that fails a candidate.
    const auto first = std::find_if(findings.begin(), findings.end(), [&](const Finding &f) { return f.kind == kind; });
    if (first != findings.end() && findings.size() >= kMaxFindings) {
        first->followed &= followed;
        ++findings_dropped;
        return;
    }
    findings.push_back({kind, api, message, 1, g_core != nullptr ? g_core->index : -1, std::move(frames), followed});
}

void record_here(const char *kind, const char *api, const std::string &message, void *caller, bool followed = false)
{
    auto &site = sites[{kind, caller}];
    if (++site.first > kMaxStacksPerSite && site.second < findings.size()) {
        ++findings[site.second].count;
        findings[site.second].followed &= followed;
        return;
    }
    const size_t before = findings.size();
    record(kind, api, message, call_stack(), followed);
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
        out += ",\"core\":" + std::to_string(finding.core);
        out += std::string(",\"followed\":") + (finding.followed ? "true" : "false") + ",\"frames\":[";
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
