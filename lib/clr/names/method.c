/*
 * MethodDesc and MethodTable: which row of which module a method is, and its generic arguments. Every pointer is
 * checked where it is used; nothing that does not fit together is believed. Source: clr-names.md section 3.
 */
#include "clr/names/names.h"

enum {
    CLASS = 7,
    CLASS_INSTANTIATED = 5,
    ALIGNMENT = 8,
    TOKEN_BITS = 12,
    TOKEN_MASK = 0xfff,
    ARGUMENTS_MAX = 1024,
    ROW_ELSEWHERE = 0xffff
};
enum { GENERIC = 0x30, MULTIPURPOSE = 0xf, HAS_SLOT = 0x10, SLOTS_AT = 48 };

/* 8: the word that 9 and 10 have the module in is the loader's module; of a generic type the own one is elsewhere. */
static bool old_module(const struct sw_names *names, uint64_t table, uint64_t flags, uint64_t *module)
{
    uint64_t canonical, slots, virtuals;
    const bool plain = (flags & UINT64_C(0x80000000)) != 0 || (flags & GENERIC) == 0;
    if (!sw_names_field(names, table, SW_NAMES_TABLE_CLASS, 8, &canonical))
        return false;
    if (!plain && (canonical & 1))
        table = canonical & ~UINT64_C(1);
    if (plain || !sw_names_field(names, table, SW_NAMES_TABLE_FLAGS2, 2, &slots) || (slots & HAS_SLOT) == 0)
        return sw_names_field(names, table, SW_NAMES_TABLE_MODULE, 8, module);
    if (!sw_names_u(names, table + 12, 2, &virtuals))
        return false;
    unsigned number = 0;
    for (unsigned bits = slots & MULTIPURPOSE; bits; bits &= bits - 1)
        number++;
    const uint64_t behind = number < 2 ? 0 : 8 * ((virtuals + 7) / 8);
    return sw_names_u(names, table + SLOTS_AT + 8 * number + behind, 8, module);
}

bool sw_names_table_module(const struct sw_names *names, uint64_t table, uint64_t *module)
{
    uint64_t flags;
    if (!sw_names_field(names, table, SW_NAMES_TABLE_FLAGS, 4, &flags))
        return false;
    return names->release == 8 ? old_module(names, table, flags, module)
                               : sw_names_field(names, table, SW_NAMES_TABLE_MODULE, 8, module);
}

bool sw_names_table_row(const struct sw_names *names, uint64_t table, uint32_t *row)
{
    uint64_t value;
    if (names->release == 8) {
        if (!sw_names_u(names, table + names->at[SW_NAMES_TABLE_FLAGS2] + 2, 2, &value) || value == ROW_ELSEWHERE)
            return false;
    } else if (!sw_names_field(names, table, SW_NAMES_TABLE_FLAGS2, 4, &value)) {
        return false;
    }
    *row = (uint32_t)(names->release == 8 ? value : value >> 8);
    return *row != 0;
}

bool sw_names_table_arguments(const struct sw_names *names, uint64_t table, struct sw_names_arguments *arguments)
{
    uint64_t flags, dictionaries, count, types;
    *arguments = (struct sw_names_arguments){ 0, 0 };
    if (!sw_names_field(names, table, SW_NAMES_TABLE_FLAGS, 4, &flags))
        return false;
    if ((flags & UINT64_C(0x80000000)) != 0 || (flags & GENERIC) == 0 || (flags & GENERIC) == GENERIC)
        return true;
    uint64_t info;
    if (!sw_names_field(names, table, SW_NAMES_TABLE_ARGUMENTS, 8, &info) || info % 8 != 0 || info < 8 ||
        !sw_names_u(names, info - 4, 2, &dictionaries) || !sw_names_u(names, info - 2, 2, &types) ||
        dictionaries == 0 || types > ARGUMENTS_MAX || !sw_names_u(names, info + 8 * (dictionaries - 1), 8, &count))
        return false;
    *arguments = (struct sw_names_arguments){ count, (uint32_t)types };
    return true;
}

static bool read_dynamic(const struct sw_names *names, struct sw_names_method *m)
{
    uint64_t size;
    if (!sw_names_field(names, m->desc, SW_NAMES_DYNAMIC_SIGNATURE, 8, &m->signature) ||
        !sw_names_field(names, m->desc, SW_NAMES_DYNAMIC_SIZE, 4, &size) ||
        !sw_names_field(names, m->desc, SW_NAMES_DYNAMIC_NAME, 8, &m->name))
        return false;
    m->signature_size = (uint32_t)size;
    return true;
}

static bool read_arguments(const struct sw_names *names, struct sw_names_method *m)
{
    uint64_t count, flags;
    if (!sw_names_field(names, m->desc, SW_NAMES_INSTANCE_ARGUMENTS, 8, &m->arguments.at) ||
        !sw_names_field(names, m->desc, SW_NAMES_INSTANCE_COUNT, 2, &count) ||
        !sw_names_field(names, m->desc, SW_NAMES_INSTANCE_FLAGS, 2, &flags) || count > ARGUMENTS_MAX)
        return false;
    m->arguments.count = (flags & 7) == 1 ? 0 : (uint32_t)count; /* 1: a definition */
    return true;
}

enum sw_status sw_names_read_method(struct sw_names *names, uint64_t desc, struct sw_names_method *m)
{
    uint64_t low, index, flags, high;
    *m = (struct sw_names_method){ .desc = desc };
    if (desc == 0 || desc % 8 != 0)
        return SW_E_ARGUMENT;
    if (!sw_names_field(names, desc, SW_NAMES_METHOD_TOKEN, 2, &low) ||
        !sw_names_field(names, desc, SW_NAMES_METHOD_CHUNK, 1, &index) ||
        !sw_names_field(names, desc, SW_NAMES_METHOD_FLAGS, 2, &flags))
        return SW_E_UNREADABLE;
    const uint64_t chunk = desc - ALIGNMENT * index - names->at[SW_NAMES_CHUNK_SIZE];
    if (!sw_names_field(names, chunk, SW_NAMES_CHUNK_TABLE, 8, &m->table) ||
        !sw_names_field(names, chunk, SW_NAMES_CHUNK_TOKEN, 2, &high) ||
        !sw_names_table_module(names, m->table, &m->module))
        return SW_E_UNREADABLE;
    m->row = (uint32_t)((low & TOKEN_MASK) | (high & TOKEN_MASK) << TOKEN_BITS);
    m->kind = flags & CLASS;
    if (m->kind == SW_NAMES_CLASS_DYNAMIC)
        return read_dynamic(names, m) ? SW_OK : SW_E_UNREADABLE;
    if (!sw_names_table_row(names, m->table, &m->type_row) ||
        !sw_names_table_arguments(names, m->table, &m->type_arguments) ||
        (m->kind == CLASS_INSTANTIATED && !read_arguments(names, m)))
        return SW_E_MALFORMED;
    return SW_OK;
}
