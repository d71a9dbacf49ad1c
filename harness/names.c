/*
 * Modules, functions and threads by their names, for scripts. What was added to the tube since the last question is
 * read then; the lists only grow. Refuses to know what the names are for.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>

/* element: index in the list + 1; 0: the slot is free. */
struct sw_name_slot {
    uint32_t hash, element;
};

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static size_t count_of(const struct sw_tube *tube, enum sw_names_kind kind)
{
    const struct sw_list *const lists[] = { &tube->modules, &tube->functions, &tube->threads };
    return sw_list_count(lists[kind]);
}

/* An element and its name; `name` is used where it has to be written. */
static void *element_at(const struct sw_tube *tube, enum sw_names_kind kind, size_t index, char *name, size_t size)
{
    if (kind == SW_NAMES_MODULES) {
        struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, index);
        strncat(name, module->name, size - 1);
        return module;
    }
    if (kind == SW_NAMES_FUNCTIONS) {
        struct sw_tube_function *function = sw_list_at(&tube->functions, sizeof *function, index);
        sw_tube_function_name(function, name, size);
        return function;
    }
    struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, index);
    strncat(name, (*thread)->name, size - 1);
    return *thread;
}

static void insert(struct sw_names *names, uint32_t hash, uint32_t element)
{
    size_t at = hash & (names->room - 1);
    while (names->slots[at].element)
        at = (at + 1) & (names->room - 1);
    names->slots[at] = (struct sw_name_slot){ hash, element };
}

/* At least half of the slots stay free. */
static bool make_room(struct sw_names *names, size_t count)
{
    struct sw_names larger = { NULL, names->room ? names->room : 64, names->read };
    while (larger.room < count * 2)
        larger.room *= 2;
    if (larger.room == names->room)
        return true;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->slots[i].element)
            insert(&larger, names->slots[i].hash, names->slots[i].element);
    free(names->slots);
    *names = larger;
    return true;
}

static bool read_new(struct sw_names *names, const struct sw_tube *tube, enum sw_names_kind kind)
{
    const size_t count = count_of(tube, kind);
    if (!make_room(names, count))
        return false;
    for (; names->read < count; names->read++) {
        char name[SW_SCRIPT_LINE] = "";
        (void)element_at(tube, kind, names->read, name, sizeof name);
        insert(names, hash_of(name), (uint32_t)names->read + 1);
    }
    return true;
}

void *sw_names_find(struct sw_names *names, const struct sw_tube *tube, enum sw_names_kind kind, const char *name)
{
    const uint32_t hash = hash_of(name);
    size_t newest = 0;
    void *found = NULL;
    if (!read_new(names, tube, kind))
        return NULL;
    for (size_t at = hash & (names->room - 1); names->slots[at].element; at = (at + 1) & (names->room - 1)) {
        char is[SW_SCRIPT_LINE] = "";
        const size_t element = names->slots[at].element;
        if (names->slots[at].hash != hash || element < newest)
            continue;
        void *one = element_at(tube, kind, element - 1, is, sizeof is);
        if (strcmp(is, name) != 0)
            continue;
        found = one;
        newest = element;
    }
    return found;
}

void sw_names_free(struct sw_names *names)
{
    free(names->slots);
    *names = (struct sw_names){ 0 };
}
