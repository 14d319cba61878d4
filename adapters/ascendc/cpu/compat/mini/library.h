// Mini torch, part 8: operator registration (TORCH_LIBRARY and friends) by way of Python's torch.library.
//
// A registration runs when the module is loaded, as in torch, and hands each function to `opmend_library`, a Python
// module that the candidate's process brings (adapters/runner/library_shim.py). PrivateUse1 is the CPU here; functions
// registered for the CPU itself are the host's fallback, not the candidate's kernel, and are left out.
#ifndef OPMEND_MINI_LIBRARY_H
#define OPMEND_MINI_LIBRARY_H

#include <string>
#include <type_traits>
#include <utility>

#include "casters.h"

namespace opmend_mini {

/// The schema language's word for a C++ type; empty for types it has none for.
template <typename T>
struct SchemaType {
    static_assert(kNever<T>, "this C++ type in an operator without a schema is not supported by the CPU binding yet: write the schema");
};
#define OPMEND_MINI_SCHEMA(cpp, text)                          \
    template <>                                                \
    struct SchemaType<cpp> {                                   \
        static std::string Word() { return text; }             \
    };
OPMEND_MINI_SCHEMA(at::Tensor, "Tensor")
OPMEND_MINI_SCHEMA(int64_t, "int")
OPMEND_MINI_SCHEMA(double, "float")
OPMEND_MINI_SCHEMA(bool, "bool")
OPMEND_MINI_SCHEMA(std::string, "str")
OPMEND_MINI_SCHEMA(c10::string_view, "str")
OPMEND_MINI_SCHEMA(c10::Scalar, "Scalar")
OPMEND_MINI_SCHEMA(c10::ScalarType, "ScalarType")
OPMEND_MINI_SCHEMA(void, "()")
#undef OPMEND_MINI_SCHEMA
template <typename T>
struct SchemaType<std::optional<T>> {
    static std::string Word() { return SchemaType<T>::Word() + "?"; }
};
template <typename T>
struct SchemaType<std::vector<T>> {
    static std::string Word() { return SchemaType<T>::Word() + "[]"; }
};
template <typename T>
struct SchemaType<c10::ArrayRef<T>> {
    static std::string Word() { return SchemaType<T>::Word() + "[]"; }
};
template <typename... T>
struct SchemaType<std::tuple<T...>> {
    static std::string Word()
    {
        std::string words;
        ((words += (words.empty() ? "" : ", ") + SchemaType<std::decay_t<T>>::Word()), ...);
        return "(" + words + ")";
    }
};

template <typename R, typename... A>
std::string SchemaOf(R (*)(A...))
{
    std::string words;
    int number = 0;
    ((words += (words.empty() ? "" : ", ") + SchemaType<std::decay_t<A>>::Word() + " _" + std::to_string(number++)), ...);
    return "(" + words + ") -> " + SchemaType<std::decay_t<R>>::Word();
}

}  // namespace opmend_mini

namespace c10 {

enum class DispatchKey { CPU, PrivateUse1, Meta, CompositeImplicitAutograd, CompositeExplicitAutograd, AutogradPrivateUse1, Autograd, CatchAll };

inline const char *toString(DispatchKey key)
{
    switch (key) {
        case DispatchKey::CPU: return "CPU";
        case DispatchKey::PrivateUse1: return "PrivateUse1";
        case DispatchKey::Meta: return "Meta";
        case DispatchKey::CompositeImplicitAutograd: return "CompositeImplicitAutograd";
        case DispatchKey::CompositeExplicitAutograd: return "CompositeExplicitAutograd";
        case DispatchKey::AutogradPrivateUse1: return "AutogradPrivateUse1";
        case DispatchKey::Autograd: return "Autograd";
        default: return "CatchAll";
    }
}

}  // namespace c10

namespace torch {

template <typename F>
struct Dispatched {
    c10::DispatchKey key;
    F function;
};
template <typename F>
Dispatched<std::decay_t<F>> dispatch(c10::DispatchKey key, F &&function)
{
    return {key, std::forward<F>(function)};
}
inline const char *schema(const char *text) { return text; }

class Library {
public:
    Library(const char *space, const char *key) : space_(space), key_(key) {}
    Library(const Library &) = delete;

    Library &def(const std::string &schema)
    {
        Shim("define")(space_, schema);
        return *this;
    }
    template <typename F>
    Library &def(const std::string &schema, F &&function)
    {
        auto *pointer = +function;
        const bool named = schema.find('(') == std::string::npos;
        Shim("define")(space_, named ? schema + opmend_mini::SchemaOf(pointer) : schema);
        return Register(schema.substr(0, schema.find('(')), "CompositeExplicitAutograd", pointer);
    }
    template <typename F>
    Library &def(const std::string &schema, const Dispatched<F> &dispatched)
    {
        def(schema);
        return Register(schema.substr(0, schema.find('(')), c10::toString(dispatched.key), dispatched.function);
    }
    template <typename F>
    Library &impl(const std::string &name, F &&function)
    {
        return Register(name, key_, +function);
    }
    template <typename F>
    Library &impl(const std::string &name, const Dispatched<F> &dispatched)
    {
        return Register(name, c10::toString(dispatched.key), dispatched.function);
    }

private:
    static pybind11::object Shim(const char *name)
    {
        return pybind11::module_::import("opmend_library").attr(name);
    }
    template <typename F>
    Library &Register(const std::string &name, const char *key, F function)
    {
        Shim("implement")(space_, name, key, pybind11::cpp_function(function));
        return *this;
    }

    const char *space_;
    const char *key_;
};

}  // namespace torch

namespace opmend_mini {

struct Registration {
    Registration(void (*fill)(torch::Library &), const char *space, const char *key)
    {
        pybind11::gil_scoped_acquire held;
        torch::Library library(space, key);
        fill(library);
    }
};

}  // namespace opmend_mini

#define OPMEND_MINI_JOIN_(a, b) a##b
#define OPMEND_MINI_JOIN(a, b) OPMEND_MINI_JOIN_(a, b)
#define OPMEND_MINI_REGISTER(space, key, library, number)                                                        \
    static void OPMEND_MINI_JOIN(opmend_fill_, number)(::torch::Library &);                                      \
    static const ::opmend_mini::Registration OPMEND_MINI_JOIN(opmend_registration_, number)(                     \
        &OPMEND_MINI_JOIN(opmend_fill_, number), #space, key);                                                   \
    static void OPMEND_MINI_JOIN(opmend_fill_, number)(::torch::Library & library)
#define TORCH_LIBRARY(space, library) OPMEND_MINI_REGISTER(space, "CatchAll", library, __COUNTER__)
#define TORCH_LIBRARY_FRAGMENT(space, library) OPMEND_MINI_REGISTER(space, "CatchAll", library, __COUNTER__)
#define TORCH_LIBRARY_IMPL(space, key, library) OPMEND_MINI_REGISTER(space, #key, library, __COUNTER__)
#define TORCH_FN(function) (function)
#define TORCH_SELECTIVE_NAME(name) (name)
#define TORCH_SELECTIVE_SCHEMA(schema) (schema)

#endif
