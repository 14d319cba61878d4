// The flight recorder: statistics of what each instruction left in the on-chip memories, in the order they ran.
//
// Headers tell which bytes an instruction is going to write; they are read when the next one starts (or the core hands
// over), so that nothing is copied and no instruction knows of the recorder. Kept are the first few instructions of a
// place on each core and, beyond that, the first one of a place that left a NaN or an infinity; the rest is counted.
// Not seen: stores through raw pointers. Part of the one translation unit opmend_rt.cpp.
#ifndef OPMEND_RUNTIME_RECORDER_H
#define OPMEND_RUNTIME_RECORDER_H

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/recorder.h"
#include "findings.h"

namespace opmend {
namespace {

constexpr size_t kFirstValues = 4;
constexpr size_t kOutputs = 4;         // of one instruction
constexpr size_t kMaxRegions = 4096;   // of one output
constexpr size_t kMaxPlaces = 4096;
constexpr size_t kMaxNonFinite = 1000; // beyond the other limits

struct Record {
    size_t launch = 0, order = 0, place = 0;
    int core = 0;
    uint32_t iteration = 0;
    Element element = Element::None;
    size_t count = 0, nans = 0, infinities = 0;
    double least = 0, most = 0, mean = 0;
    bool finite = false;
    std::vector<double> first;
};

struct Place {
    std::string api;
    std::vector<void *> frames;
    std::vector<uint32_t> ran;  // by core, this launch
    bool non_finite = false;    // one was kept, this launch
};

struct Region {
    const uint8_t *from;
    size_t bytes;
};

struct Output {
    const uint8_t *buffer = nullptr;
    Element element = Element::None;
    std::vector<Region> regions;
};

struct Recorder {
    size_t per_place = 0, total = 0;  // total 0: off
    size_t launch = 0, order = 0, dropped = 0, non_finite = 0;
    std::vector<Record> records;
    std::vector<Place> places;
    std::map<std::pair<std::string, std::vector<void *>>, size_t> known;

    // The instruction that runs.
    Output outputs[kOutputs];
    size_t used = 0;
    size_t place = 0;
    uint32_t iteration = 0;
    const Core *core = nullptr;

    bool on() const { return total != 0; }

    void clear()
    {
        launch = order = dropped = non_finite = used = 0;
        records.clear();
        places.clear();
        known.clear();
    }

    /// Forgets what an earlier try of launch `index` left.
    void begin_launch(size_t index)
    {
        used = order = 0;
        launch = index;
        while (!records.empty() && records.back().launch == index) {
            records.pop_back();
        }
        for (Place &seen : places) {
            seen.ran.clear();
            seen.non_finite = false;
        }
    }
};
Recorder recorder;

const char *element_name(Element element)
{
    static const char *const kNames[] = {"?",     "float16", "bfloat16", "float32", "float64", "int8",  "uint8",
                                         "int16", "uint16",  "int32",    "uint32",  "int64",   "uint64"};
    return kNames[static_cast<int>(element)];
}

/// Adds the elements of one output to a record.
template <class T>
void add_values(Record &record, const Output &output)
{
    double sum = 0;
    size_t finite = 0;
    for (const Region &region : output.regions) {
        for (size_t at = 0; at + sizeof(T) <= region.bytes; at += sizeof(T)) {
            T raw;
            std::memcpy(&raw, region.from + at, sizeof(T));
            const double value = to_double(raw);
            if (record.first.size() < kFirstValues) {
                record.first.push_back(value);
            }
            ++record.count;
            if (std::isnan(value)) {
                ++record.nans;
                continue;
            }
            if (std::isinf(value)) {
                ++record.infinities;
                continue;
            }
            record.least = finite == 0 ? value : std::min(record.least, value);
            record.most = finite == 0 ? value : std::max(record.most, value);
            sum += value;
            ++finite;
        }
    }
    record.finite = finite != 0;
    record.mean = finite != 0 ? sum / static_cast<double>(finite) : 0;
}

void measure(Record &record, const Output &output)
{
    record.element = output.element;
    switch (output.element) {
        case Element::Half: return add_values<half>(record, output);
        case Element::Bfloat16: return add_values<bfloat16_t>(record, output);
        case Element::Float: return add_values<float>(record, output);
        case Element::Double: return add_values<double>(record, output);
        case Element::Int8: return add_values<int8_t>(record, output);
        case Element::Uint8: return add_values<uint8_t>(record, output);
        case Element::Int16: return add_values<int16_t>(record, output);
        case Element::Uint16: return add_values<uint16_t>(record, output);
        case Element::Int32: return add_values<int32_t>(record, output);
        case Element::Uint32: return add_values<uint32_t>(record, output);
        case Element::Int64: return add_values<int64_t>(record, output);
        case Element::Uint64: return add_values<uint64_t>(record, output);
        case Element::None: break;
    }
    for (const Region &region : output.regions) {
        record.count += region.bytes;
    }
}

/// The place of the instruction that runs, counted once more on its core.
void arrive(const char *api, std::vector<void *> frames)
{
    auto [found, fresh] = recorder.known.try_emplace({api, std::move(frames)}, recorder.places.size());
    if (fresh) {
        if (recorder.places.size() == kMaxPlaces) {  // the last one stands for all further ones
            found->second = kMaxPlaces - 1;
        } else {
            recorder.places.push_back({api, found->first.second, {}, false});
        }
    }
    recorder.place = found->second;
    auto &ran = recorder.places[recorder.place].ran;
    const auto core = static_cast<size_t>(g_core->index);
    if (ran.size() <= core) {
        ran.resize(core + 1, 0);
    }
    recorder.iteration = ++ran[core];
    recorder.core = g_core;
}

std::string number_json(double value)
{
    if (std::isnan(value)) {
        return "\"nan\"";
    }
    return std::isinf(value) ? (value > 0 ? "\"inf\"" : "\"-inf\"") : rt::format("%.9g", value);
}

std::string record_json(const Record &record)
{
    std::string out = rt::format("{\"launch\":%zu,\"order\":%zu,\"place\":%zu,\"core\":%d,\"iteration\":%u,"
                                 "\"dtype\":\"%s\",\"count\":%zu,\"nans\":%zu,\"infinities\":%zu",
                                 record.launch, record.order, record.place, record.core, record.iteration,
                                 element_name(record.element), record.count, record.nans, record.infinities);
    const char *const names[] = {"min", "max", "mean"};
    const double values[] = {record.least, record.most, record.mean};
    for (int i = 0; i < 3; ++i) {
        out += std::string(",\"") + names[i] + "\":" + (record.finite ? number_json(values[i]) : "null");
    }
    out += ",\"first\":[";
    for (size_t i = 0; i < record.first.size(); ++i) {
        out += (i != 0 ? "," : "") + number_json(record.first[i]);
    }
    return out + "]}";
}

std::string records_json()
{
    std::string out = "{\"records\":[";
    for (size_t i = 0; i < recorder.records.size(); ++i) {
        out += (i != 0 ? "," : "") + record_json(recorder.records[i]);
    }
    out += "],\"places\":[";
    for (size_t i = 0; i < recorder.places.size(); ++i) {
        const Place &place = recorder.places[i];
        out += (i != 0 ? ",{\"api\":" : "{\"api\":") + json_string(place.api) + ",\"frames\":[";
        for (size_t k = 0; k < place.frames.size(); ++k) {
            out += (k != 0 ? "," : "") + frame_json(place.frames[k]);
        }
        out += "]}";
    }
    return out + "],\"dropped\":" + std::to_string(recorder.dropped) + "}";
}

}  // namespace

void rt::recorder_step()
{
    if (recorder.used == 0) {
        return;
    }
    const size_t used = recorder.used;
    recorder.used = 0;
    Place &place = recorder.places[recorder.place];
    std::vector<Record> made;
    bool non_finite = false;
    for (size_t i = 0; i < used; ++i) {
        Record record;
        record.launch = recorder.launch;
        record.order = recorder.order;
        record.place = recorder.place;
        record.core = recorder.core->index;
        record.iteration = recorder.iteration;
        measure(record, recorder.outputs[i]);
        non_finite |= record.nans + record.infinities != 0;
        if (record.count != 0) {
            made.push_back(std::move(record));
        }
    }
    if (made.empty()) {
        return;
    }
    ++recorder.order;
    const bool room = recorder.iteration <= recorder.per_place && recorder.records.size() < recorder.total;
    const bool first_of_its_kind = non_finite && !place.non_finite && recorder.non_finite < kMaxNonFinite;
    if (!room && !first_of_its_kind) {
        recorder.dropped += made.size();
        return;
    }
    recorder.non_finite += first_of_its_kind ? 1 : 0;
    place.non_finite |= non_finite;
    for (Record &record : made) {
        recorder.records.push_back(std::move(record));
    }
}

void rt::recorder_write(const char *api, Element element, const uint8_t *buffer, const uint8_t *address, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (recorder.used == 0) {
        arrive(api, known_call_stack(__builtin_frame_address(0)));
    }
    size_t index = 0;
    while (index < recorder.used &&
           (recorder.outputs[index].buffer != buffer || recorder.outputs[index].element != element)) {
        ++index;
    }
    if (index == kOutputs) {
        return;
    }
    Output &output = recorder.outputs[index];
    if (index == recorder.used) {
        ++recorder.used;
        output.buffer = buffer;
        output.element = element;
        output.regions.clear();
    }
    if (!output.regions.empty()) {
        Region &last = output.regions.back();
        if (address == last.from + last.bytes) {
            last.bytes += bytes;
            return;
        }
        if (address >= last.from && address + bytes <= last.from + last.bytes) {
            return;
        }
    }
    if (output.regions.size() < kMaxRegions) {
        output.regions.push_back({address, bytes});
    }
}

void rt::recorder_forget()
{
    if (recorder.used > 0) {
        recorder.outputs[recorder.used - 1].regions.clear();
    }
}

}  // namespace opmend

#endif
