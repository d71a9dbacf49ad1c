/*
 * Modules, functions and threads by their names, for scripts. What was added to the tube since the last question is
 * read then; the lists only grow. Refuses to know what the names are for.
 */
#include "script.h"

#include <string.h>

static size_t count_of(const struct sw_tube *tube, enum sw_names_kind kind)
{
    const struct sw_list *const lists[] = { &tube->modules, &tube->functions, &tube->threads };
    return sw_list_count(lists[kind]);
}

/* An element, and its name in `name`, cut to size. */
static void *element_at(const struct sw_tube *tube, enum sw_names_kind kind, size_t index, char *name, size_t size)
{
    name[0] = 0;
    if (kind == SW_NAMES_FUNCTIONS) {
        struct sw_tube_function *function = sw_list_at(&tube->functions, sizeof *function, index);
        sw_tube_function_name(function, name, size);
        return function;
    }
    if (kind == SW_NAMES_MODULES) {
        struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, index);
        strncat(name, module->name, size - 1);
        return module;
    }
    struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, index);
    strncat(name, (*thread)->name, size - 1);
    return *thread;
}

static bool read_new(struct sw_names *names, const struct sw_tube *tube, enum sw_names_kind kind)
{
    const size_t count = count_of(tube, kind);
    for (; names->read < count; names->read++) {
        char name[SW_SCRIPT_LINE];
        (void)element_at(tube, kind, names->read, name, sizeof name);
        if (!sw_hash_add(&names->hash, sw_hash_key(kind, name), names->read))
            return false;
    }
    return true;
}

void *sw_names_find(struct sw_names *names, const struct sw_tube *tube, enum sw_names_kind kind, const char *name)
{
    const uint64_t key = sw_hash_key(kind, name);
    size_t cursor = 0, newest = 0;
    void *found = NULL;
    if (!read_new(names, tube, kind))
        return NULL;
    for (size_t index; (index = sw_hash_next(&names->hash, key, &cursor)) != SIZE_MAX;) {
        char is[SW_SCRIPT_LINE];
        void *one = element_at(tube, kind, index, is, sizeof is);
        if (strcmp(is, name) != 0 || (found && index < newest))
            continue;
        found = one;
        newest = index;
    }
    return found;
}

void sw_names_free(struct sw_names *names)
{
    sw_hash_free(&names->hash);
    names->read = 0;
}
