// Bytes of global memory that hold nothing a kernel may rely on: stored from UB bytes that were never written. They go
// with the data: a copy into UB takes the mark along, a proper store ends it.
//
// What is still marked when the candidate is done is held against the tensors it returned: a finding whose data ended
// in scratch memory only is worth a warning, not a rejection. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_DUBIOUS_H
#define OPMEND_RUNTIME_DUBIOUS_H

#include <iterator>
#include <map>
#include <string>

#include "core/types.h"
#include "findings.h"

namespace opmend {

bool g_dubious = false;

namespace {

/// Set once marked bytes went where marks cannot follow (the scalar unit, the cube's copies).
bool dubious_lost = false;

class DubiousBytes {
public:
    bool empty() const { return runs_.empty(); }
    const std::map<size_t, std::pair<size_t, uint8_t>> &runs() const { return runs_; }

    void add(size_t from, size_t to, uint8_t state)
    {
        if (from >= to) {
            return;
        }
        clear(from, to);
        auto next = runs_.lower_bound(from);
        if (next != runs_.begin()) {
            const auto before = std::prev(next);
            if (before->second.first == from && before->second.second == state) {
                before->second.first = to;
                g_dubious = true;
                return;
            }
        }
        runs_[from] = {to, state};
        g_dubious = true;
        if (runs_.size() > kMaxRuns) {  // too scattered to tell apart: all of it
            const size_t first = runs_.begin()->first, last = runs_.rbegin()->second.first;
            runs_ = {{first, {last, 0}}};
        }
    }

    void clear(size_t from, size_t to)
    {
        auto run = runs_.upper_bound(from);
        if (run != runs_.begin()) {
            --run;
        }
        while (run != runs_.end() && run->first < to) {
            const auto [begin, rest] = *run;
            if (rest.first <= from) {
                ++run;
                continue;
            }
            run = runs_.erase(run);
            if (begin < from) {
                runs_[begin] = {from, rest.second};
            }
            if (rest.first > to) {
                run = runs_.insert({to, rest}).first;
            }
        }
    }

    /// Calls see(from, to, state) for what is marked of [from, to).
    template <class See>
    void inspect(size_t from, size_t to, See see) const
    {
        auto run = runs_.upper_bound(from);
        if (run != runs_.begin()) {
            --run;
        }
        for (; run != runs_.end() && run->first < to; ++run) {
            if (run->second.first > from) {
                see(std::max(from, run->first), std::min(to, run->second.first), run->second.second);
            }
        }
    }

    std::string json() const
    {
        std::string out = "[";
        size_t shown = 0;
        for (const auto &[from, rest] : runs_) {
            const bool last = ++shown == kMaxShown;
            const size_t to = last ? runs_.rbegin()->second.first : rest.first;
            out += (shown > 1 ? "," : "") + rt::format("[%zu,%zu]", from, to);
            if (last) {
                break;
            }
        }
        return out + "]";
    }

private:
    static constexpr size_t kMaxRuns = 4096, kMaxShown = 256;
    std::map<size_t, std::pair<size_t, uint8_t>> runs_;  // first byte -> end and state
};

/// Records a finding whose data the marks follow from here on.
[[gnu::noinline]] void report_followed(const char *kind, const char *api, const std::string &message)
{
    record_here(kind, api, message, __builtin_return_address(0), true);
}

[[gnu::noinline]] void report_lost(const char *kind, const char *api, const std::string &message)
{
    record_here(kind, api, message, __builtin_return_address(0), false);
}

/// What is wrong with bytes of UB that are about to be used, as the kind and the words of a finding.
struct Unwritten {
    const char *kind;
    std::string text;
};

/// Of `bytes` bytes of UB at least one was never written. Filler of a known value is a kind of its own.
Unwritten unwritten(const uint8_t *address, size_t bytes)
{
    const uint8_t *state = g_core->shadow + (address - g_core->ub);
    size_t first = 0;
    while (first + 1 < bytes && state[first] == kWritten) {
        ++first;
    }
    uint8_t all = 0xff;
    for (size_t at = first; at < bytes; ++at) {
        all = static_cast<uint8_t>(all & state[at]);
    }
    const std::string which = rt::format("byte %zu of the %zu used ", first, bytes);
    if (all == kDummy) {
        return {"ub-filler",
                which + "is DataCopyPad's filler, the first element of its block once more, or computed from it"};
    }
    const bool filler = (state[first] & kFiller) == kFiller;
    return {"ub-uninitialised",
            which + (filler ? "is only filler (DataCopyPad's padding or memory past a tensor), or computed from it"
                            : "was never written, or computed from such a byte")};
}

/// Where the marks are when all is done: `"dubious":[...],"lost":...`.
template <class Tensors>
std::string dubious_json(const Tensors &tensors)
{
    std::string out = "\"dubious\":[";
    bool first = true;
    for (const auto &[base, tensor] : tensors) {
        if (!tensor.dubious.empty()) {
            out += (first ? "" : ",") + rt::format("{\"base\":\"0x%llx\",\"ranges\":",
                                                   static_cast<unsigned long long>(base));
            out += tensor.dubious.json() + "}";
            first = false;
        }
    }
    return out + "],\"lost\":" + (dubious_lost ? "true" : "false");
}

}  // namespace
}  // namespace opmend

#endif
