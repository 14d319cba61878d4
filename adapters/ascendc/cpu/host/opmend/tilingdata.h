// Host side, part 3: tiling data classes as TILING_DATA_FIELD_DEF and its relatives declare them.
//
// Each field knows its name, type and place, so that the launcher can lay the data out and describe it to the build,
// which generates the plain structure that the kernel reads. Layout: natural alignment, fields in order.
#ifndef OPMEND_HOST_TILINGDATA_H
#define OPMEND_HOST_TILINGDATA_H

#include "ge.h"

namespace opmend_host {

class TilingDef;

struct Field {
    std::string type, name;
    ptrdiff_t place;     // of the value, from the start of the TilingDef
    size_t size, align;  // of one element
    size_t count;        // 0: not an array
    bool nested;
};

class TilingDef {
public:
    TilingDef() = default;
    virtual ~TilingDef() = default;
    virtual const char *type_name() const = 0;
    const std::vector<Field> &fields() const { return fields_; }
    const TilingDef &nested(const Field &field) const
    {
        return *reinterpret_cast<const TilingDef *>(reinterpret_cast<const char *>(this) + field.place);
    }
    size_t alignment() const
    {
        size_t most = 1;
        for (const Field &field : fields_) {
            most = std::max(most, field.nested ? nested(field).alignment() : field.align);
        }
        return most;
    }
    size_t GetDataSize() const { return write(nullptr); }
    void SaveToBuffer(void *target, size_t capacity) const
    {
        if (GetDataSize() <= capacity) {
            write(static_cast<char *>(target));
        }
    }
    const char *GetTilingClassName() const { return type_name(); }

protected:
    friend struct Registrar;
    std::vector<Field> fields_;

private:
    size_t write(char *target) const
    {
        size_t at = 0;
        for (const Field &field : fields_) {
            const TilingDef *inner = field.nested ? &nested(field) : nullptr;
            const size_t align = inner ? inner->alignment() : field.align;
            const size_t bytes = inner ? inner->GetDataSize() : field.size * std::max<size_t>(field.count, 1);
            at = (at + align - 1) / align * align;
            if (target && inner) {
                inner->write(target + at);
            } else if (target) {
                std::memcpy(target + at, reinterpret_cast<const char *>(this) + field.place, bytes);
            }
            at += bytes;
        }
        const size_t align = alignment();
        return std::max<size_t>((at + align - 1) / align * align, 1);
    }
};

struct Registrar {
    Registrar(TilingDef *owner, const char *type, const char *name, const void *place, size_t size, size_t align,
              size_t count, bool nested)
    {
        owner->fields_.push_back({type, name, static_cast<const char *>(place) - reinterpret_cast<const char *>(owner),
                                  size, align, count, nested});
    }
};

/// Tiling classes by the key they were registered under: the operator's name, or `<operator>_<tiling key>`.
inline std::map<std::string, std::function<std::shared_ptr<TilingDef>()>> &tiling_classes()
{
    static std::map<std::string, std::function<std::shared_ptr<TilingDef>()>> classes;
    return classes;
}

}  // namespace opmend_host

#define BEGIN_TILING_DATA_DEF(cls)                                \
    class cls : public ::opmend_host::TilingDef {                 \
    public:                                                       \
        const char *type_name() const override { return #cls; }

#define END_TILING_DATA_DEF };

#define TILING_DATA_FIELD_DEF(type, name)                                                                    \
public:                                                                                                      \
    void set_##name(type value) { opmend_##name = value; }                                                   \
    type get_##name() const { return opmend_##name; }                                                        \
                                                                                                             \
private:                                                                                                     \
    type opmend_##name = {};                                                                                 \
    ::opmend_host::Registrar opmend_reg_##name{this, #type, #name, &opmend_##name, sizeof(type), alignof(type), 0, false}; \
                                                                                                             \
public:

#define TILING_DATA_FIELD_DEF_ARR(type, length, name)                                                        \
public:                                                                                                      \
    void set_##name(const type *values) { std::memcpy(opmend_##name, values, sizeof opmend_##name); }         \
    type *get_##name() { return opmend_##name; }                                                             \
    const type *get_##name() const { return opmend_##name; }                                                 \
                                                                                                             \
private:                                                                                                     \
    type opmend_##name[length] = {};                                                                         \
    ::opmend_host::Registrar opmend_reg_##name{this,          #type,         #name,    opmend_##name,         \
                                               sizeof(type), alignof(type), (length), false};                \
                                                                                                             \
public:

#define TILING_DATA_FIELD_DEF_STRUCT(type, name)                                                             \
public:                                                                                                      \
    type name;                                                                                               \
                                                                                                             \
private:                                                                                                     \
    ::opmend_host::Registrar opmend_reg_##name{this, #type, #name, static_cast<::opmend_host::TilingDef *>(&name), 0, 1, 0, true}; \
                                                                                                             \
public:

#define OPMEND_HOST_JOIN2(a, b) a##b
#define OPMEND_HOST_JOIN(a, b) OPMEND_HOST_JOIN2(a, b)
#define REGISTER_TILING_DATA_CLASS(op, cls)                                                                  \
    static const bool OPMEND_HOST_JOIN(opmend_class_##op##_, __COUNTER__) = [] {                             \
        ::opmend_host::tiling_classes()[#op] = [] { return std::make_shared<cls>(); };                        \
        return true;                                                                                         \
    }();

#endif
