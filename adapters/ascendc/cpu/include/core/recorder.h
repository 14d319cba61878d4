// What the flight recorder needs of the headers: the type of the elements an access is about, and two calls.
//
// The recorder keeps statistics of what instructions left in the on-chip memories (runtime/recorder.h). Off, it costs
// one predictable branch per access; the branch is taken by a flag of the core, so a run switches it, not a build.
#ifndef OPMEND_CORE_RECORDER_H
#define OPMEND_CORE_RECORDER_H

#include "core/state.h"

namespace opmend {

/// Type of a tensor's elements, as the recorder names it.
enum class Element : uint8_t {
    None, Half, Bfloat16, Float, Double, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64
};

template <class T>
constexpr Element element_of()
{
    if constexpr (std::is_same_v<T, half>) {
        return Element::Half;
    } else if constexpr (std::is_same_v<T, bfloat16_t>) {
        return Element::Bfloat16;
    } else if constexpr (std::is_same_v<T, float>) {
        return Element::Float;
    } else if constexpr (std::is_same_v<T, double>) {
        return Element::Double;
    } else if constexpr (std::is_integral_v<T>) {
        constexpr Element kSigned[] = {Element::Int8, Element::Int16, Element::Int32, Element::Int64};
        constexpr Element kUnsigned[] = {Element::Uint8, Element::Uint16, Element::Uint32, Element::Uint64};
        constexpr int index = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return std::is_signed_v<T> ? kSigned[index] : kUnsigned[index];
    } else {
        return Element::None;
    }
}

namespace rt {
/// A new instruction starts: what the one before wrote is complete.
OPMEND_API void recorder_step();
/// The instruction that runs writes `bytes` bytes of `element`s at `address`, in the buffer that starts at `buffer`.
OPMEND_API void recorder_write(const char *api, Element element, const uint8_t *buffer, const uint8_t *address,
                               size_t bytes);
/// The buffer it wrote last holds no result (a work tensor).
OPMEND_API void recorder_forget();
}  // namespace rt

}  // namespace opmend

#endif
