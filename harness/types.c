/*
 * Types and functions: their names, rows and making. A type is made when something names it, with its outer types.
 * Refuses to know how code is made, and what metadata says of them.
 *
 * Source: ECMA-335 II.22.37 (TypeDef), I.10.7.2 (names of generic types); metadata-abi.md section 8.
 */
#include "tube.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_DEF = 0x02000000, METHOD_DEF = 0x06000000, NAME_MAX_BYTES = 1024 };

#define KNOWN_FLAGS 0xffu

struct sw_tube_type *sw_tube_type_at(const struct sw_tube_module *module, uint32_t row)
{
    const size_t *index = row ? sw_list_at(&module->types, sizeof *index, row - 1) : NULL;
    return index ? sw_list_at(&module->tube->types, sizeof(struct sw_tube_type), *index) : NULL;
}

struct sw_tube_function *sw_tube_function_at(const struct sw_tube_module *module, uint32_t row)
{
    const size_t *index = row ? sw_list_at(&module->functions, sizeof *index, row - 1) : NULL;
    return index ? sw_list_at(&module->tube->functions, sizeof(struct sw_tube_function), *index) : NULL;
}

struct sw_tube_type *sw_tube_type_outer(const struct sw_tube_type *type)
{
    if (type->outer == SIZE_MAX)
        return NULL;
    return sw_list_at(&type->module->tube->types, sizeof(struct sw_tube_type), type->outer);
}

struct sw_tube_type *sw_tube_type_parent(const struct sw_tube_type *type)
{
    const struct sw_tube *tube = type->module->tube;
    if (tube->core_object == 0 || type->index == tube->core_object || type->token == TYPE_DEF + 1)
        return NULL;
    return sw_list_at(&tube->types, sizeof(struct sw_tube_type), tube->core_object);
}

unsigned sw_tube_type_parameters(const struct sw_tube_type *type)
{
    unsigned parameters = 0;
    for (; type; type = sw_tube_type_outer(type))
        parameters += type->arity;
    return parameters;
}

/* "List`1" has one; nothing else is a number of them. */
static unsigned arity_of(const char *name)
{
    const char *mark = strrchr(name, '`');
    char *end = NULL;
    const unsigned long arity = mark ? strtoul(mark + 1, &end, 10) : 0;
    return mark && end != mark + 1 && *end == 0 && arity <= UINT16_MAX ? (unsigned)arity : 0;
}

/* What a name is looked up under: the outer type, or else the module. */
static uint64_t type_key(const struct sw_tube_module *module, size_t outer, const char *full)
{
    return sw_hash_key(outer == SIZE_MAX ? module->index : ~outer, full);
}

static struct sw_tube_type *find_type(const struct sw_tube_module *module, size_t outer, const char *full)
{
    const struct sw_tube *tube = module->tube;
    const uint64_t key = type_key(module, outer, full);
    size_t cursor = 0, index;
    while ((index = sw_hash_next(&tube->types_by_name, key, &cursor)) != SIZE_MAX) {
        struct sw_tube_type *type = sw_list_at(&tube->types, sizeof *type, index);
        if (type->module == module && type->outer == outer && strcmp(type->full, full) == 0)
            return type;
    }
    return NULL;
}

/* Adds a row to a module's list of types or functions, and the element's name to its hash. False: no memory. */
static bool add_row(struct sw_list *rows, size_t index, struct sw_hash *names, uint64_t key)
{
    size_t *row = sw_list_add(rows, sizeof *row);
    if (!row || !sw_hash_add(names, key, index))
        return false;
    *row = index;
    return true;
}

static struct sw_tube_type *add_type(struct sw_tube_module *module, size_t outer, const char *full)
{
    struct sw_tube *tube = module->tube;
    struct sw_tube_type *type = sw_list_add(&tube->types, sizeof *type);
    char *copy = type ? strdup(full) : NULL;
    const size_t index = sw_list_count(&tube->types);
    if (!copy || !add_row(&module->types, index, &tube->types_by_name, type_key(module, outer, full))) {
        free(copy);
        return NULL;
    }
    const char *dot = outer == SIZE_MAX ? strrchr(copy, '.') : NULL;
    *type = (struct sw_tube_type){ .module = module, .index = index, .outer = outer, .full = copy };
    type->name = dot && dot[1] ? copy + (dot + 1 - copy) : copy;
    type->token = TYPE_DEF + 1 + (mdTypeDef)sw_list_count(&module->types);
    type->arity = arity_of(copy);
    sw_list_publish(&tube->types);
    sw_list_publish(&module->types);
    return type;
}

/* Parts of at least a character, with a + between them. */
static bool is_type_name(const char *name)
{
    size_t length = strcspn(name, "+");
    while (length > 0 && length < NAME_MAX_BYTES && name[length] == '+') {
        name += length + 1;
        length = strcspn(name, "+");
    }
    return length > 0 && length < NAME_MAX_BYTES;
}

struct sw_tube_type *sw_tube_type_named_locked(struct sw_tube_module *module, const char *name)
{
    char part[NAME_MAX_BYTES];
    struct sw_tube_type *type = NULL;
    if (!is_type_name(name))
        return NULL;
    do {
        const size_t length = strcspn(name, "+"), outer = type ? type->index : SIZE_MAX;
        memcpy(part, name, length);
        part[length] = 0;
        type = find_type(module, outer, part);
        if (!type)
            type = add_type(module, outer, part);
        name += length + (name[length] == '+');
    } while (type && *name);
    return type;
}

struct sw_tube_type *sw_tube_type_named(struct sw_tube_module *module, const char *name)
{
    pthread_mutex_lock(&module->tube->lock);
    struct sw_tube_type *type = sw_tube_type_named_locked(module, name);
    pthread_mutex_unlock(&module->tube->lock);
    return type;
}

void sw_tube_type_announce(struct sw_tube_type *type)
{
    struct sw_tube *tube = type->module->tube;
    const ClassID id = sw_tube_id(SW_ID_CLASS, type->index);
    if (atomic_exchange(&type->announced, true))
        return;
    SW_RAISE(tube, ClassLoadStarted, id, id);
    SW_RAISE(tube, ClassLoadFinished, id, id, S_OK);
}

/* ---- functions ---- */

static bool is_there(const struct sw_tube_type *type, const char *method)
{
    const struct sw_tube *tube = type->module->tube;
    const uint64_t key = sw_hash_key(type->index, method);
    size_t cursor = 0, index;
    while ((index = sw_hash_next(&tube->functions_by_name, key, &cursor)) != SIZE_MAX) {
        const struct sw_tube_function *function = sw_list_at(&tube->functions, sizeof *function, index);
        if (function->type == type && strcmp(function->name, method) == 0)
            return true;
    }
    return false;
}

/* Dynamic methods and stubs have a type here, but no row and so a nil token (metadata-abi.md row 6.10). */
static struct sw_tube_function *add_function(struct sw_tube_type *type, const char *method, uint32_t flags)
{
    struct sw_tube_module *module = type->module;
    struct sw_tube *tube = module->tube;
    const bool hidden = (flags & SW_TUBE_HIDDEN) != 0;
    struct sw_list none = { 0 }, *rows = hidden ? &none : &module->functions;
    struct sw_tube_function *function = sw_list_add(&tube->functions, sizeof *function);
    char *copy = function ? strdup(method) : NULL;
    const size_t index = sw_list_count(&tube->functions);
    if (!copy || !add_row(rows, index, &tube->functions_by_name, sw_hash_key(type->index, method))) {
        free(copy);
        return NULL;
    }
    *function = (struct sw_tube_function){ .tube = tube, .type = type, .index = index, .name = copy, .flags = flags };
    function->token = hidden ? METHOD_DEF : METHOD_DEF + 1 + (mdMethodDef)sw_list_count(&module->functions);
    function->client = sw_tube_id(SW_ID_FUNCTION, index);
    sw_list_publish(&tube->functions);
    sw_list_publish(rows);
    sw_list_free(&none);
    return function;
}

static enum sw_status make_function(struct sw_tube_module *module, const char *type_name, const char *method,
                                    uint32_t flags, struct sw_tube_function **function)
{
    struct sw_tube_type *type = sw_tube_type_named_locked(module, type_name);
    if (!type)
        return SW_E_ARGUMENT;
    if (is_there(type, method))
        return SW_E_EXISTS;
    *function = add_function(type, method, flags);
    return *function ? SW_OK : SW_E_NO_MEMORY;
}

struct sw_tube_function *sw_tube_function_add(struct sw_tube_module *module, const char *type, const char *method,
                                              uint32_t flags)
{
    struct sw_tube_function *function = NULL;
    if (!module)
        return NULL;
    struct sw_tube *tube = module->tube;
    if (!type || !method || !*method || (flags & ~KNOWN_FLAGS) || atomic_load(&module->unloaded)) {
        sw_tube_problem_set(tube, SW_E_ARGUMENT, "function: %s.%s: no name, unknown flags, or its module is gone",
                            type ? type : "?", method ? method : "?");
        return NULL;
    }
    pthread_mutex_lock(&tube->lock);
    const enum sw_status status = make_function(module, type, method, flags, &function);
    pthread_mutex_unlock(&tube->lock);
    if (status != SW_OK)
        sw_tube_problem_set(tube, status, "function: %s.%s: %s", type, method,
                            status == SW_E_EXISTS     ? "it exists"
                            : status == SW_E_ARGUMENT ? "that is no name of a type"
                                                      : "no memory");
    return function;
}

FunctionID sw_tube_function_id(const struct sw_tube_function *function)
{
    return function ? sw_tube_id(SW_ID_FUNCTION, function->index) : 0;
}

COR_PRF_CODE_INFO sw_tube_function_code(const struct sw_tube_function *function)
{
    const unsigned versions = function ? atomic_load(&function->versions) : 0;
    if (versions == 0)
        return (COR_PRF_CODE_INFO){ 0, 0 };
    const struct sw_tube_code *code = &function->code[versions - 1];
    return (COR_PRF_CODE_INFO){ (UINT_PTR)code->begin, (SIZE_T)(code->end - code->begin) };
}

/* Appends what fits. */
static void append(char *text, size_t size, size_t *used, const char *more)
{
    const int length = snprintf(text + *used, size - *used, "%s", more);
    *used = length < 0 || (size_t)length >= size - *used ? size - 1 : *used + (size_t)length;
}

static void append_type(char *text, size_t size, size_t *used, const struct sw_tube_type *type)
{
    const struct sw_tube_type *chain[64];
    size_t depth = 0;
    for (; type && depth < sizeof chain / sizeof chain[0]; type = sw_tube_type_outer(type))
        chain[depth++] = type;
    while (depth-- > 0) {
        append(text, size, used, chain[depth]->full);
        append(text, size, used, depth ? "+" : ".");
    }
}

void sw_tube_function_name(const struct sw_tube_function *function, char *text, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return;
    text[0] = 0;
    append_type(text, size, &used, function->type);
    append(text, size, &used, function->name);
}
