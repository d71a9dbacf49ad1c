/*
 * Names of managed methods from arbitrary memory: MethodDesc, MethodTables, module, metadata and signature as .NET 8
 * has them; the path of a module; what the JIT noted of code, and a precompiled image; an ELF file that may be a
 * runtime. Holds: every question ends, text stays in its place and ends in a NUL, the same question has the same
 * answer.
 */
#include "clr/names/names.h"

#include <snapwalk/clr_names.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TARGET = 0x10000, SLOTS = 16, PLACE = 256, STEPS = 256 };

struct target {
    const uint8_t *bytes;
    size_t size;
};

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    const struct target *t = arg;
    if (address < TARGET || address - TARGET >= t->size)
        return 0;
    const size_t left = t->size - (size_t)(address - TARGET), part = size < left ? size : left;
    memcpy(to, t->bytes + (address - TARGET), part);
    return part;
}

static void name_at(struct sw_names *names, uint64_t desc, char place[PLACE])
{
    struct sw_names_text text = { place, place, place + PLACE - 1, false };
    char result[PLACE] = "";
    struct sw_names_text back = { result, result, result + PLACE - 1, false };
    struct sw_names_writer w = { names, &text, desc & 8 ? SW_NAMES_RUNTIME : SW_NAMES_READABLE };
    struct sw_names_method method;
    const struct sw_names_metadata *found;
    names->steps = STEPS;
    memset(place, 0, PLACE);
    if (sw_names_read_method(names, desc, &method) != SW_OK)
        return;
    if (sw_names_metadata_of(names, method.module, &found) != SW_OK)
        found = NULL;
    if (found) {
        const struct sw_names_metadata m = *found;
        char name[SW_NAMES_STRING] = "MoveNext";
        uint32_t type = method.type_row;
        (void)sw_names_written(names, &m, &type, name);
        (void)sw_names_write_type(&w, &m, SW_CLR_TYPE_DEF, type, "+", &method.type_arguments);
        if (strnlen(name, sizeof name) == sizeof name)
            abort();
    }
    const uint64_t at = method.signature ? method.signature : desc;
    (void)sw_names_write_handle(&w, method.table, 0);
    const enum sw_status status =
        sw_names_write_signature(&w, NULL, at, 64, &method.type_arguments, &method.arguments, &back);
    if (status != SW_OK && status != SW_E_TRUNCATED && status != SW_E_MALFORMED && status != SW_E_UNREADABLE)
        abort();
    if (strnlen(place, PLACE) == PLACE || strnlen(result, PLACE) == PLACE)
        abort();
}

static void path_at(struct sw_names *names, uint64_t module)
{
    char path[PLACE];
    memset(path, 'x', sizeof path);
    const enum sw_status status = sw_names_path(names, module, path, sizeof path);
    if (strnlen(path, sizeof path) == sizeof path || (status == SW_OK) != (path[0] != 0))
        abort();
}

static void place_at(struct sw_names *names, uint64_t at)
{
    const struct sw_range range = { .begin = at, .kind = SW_KIND_JIT };
    uint32_t il;
    names->steps = STEPS;
    (void)sw_names_bounds_find(names, at, at & 8, (uint32_t)(at & 63), &il);
    (void)(sw_names_place(names, at + 5, &range, &il) == SW_OK);
    (void)sw_names_image_place(names, TARGET, at, &il);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[SLOTS * SW_NAMES_PAGE];
    static struct sw_names_metadata modules[SW_NAMES_MODULES];
    struct sw_page_slot slots[SLOTS] = { 0 };
    struct target target = { data, size };
    const struct sw_memory memory = { read_target, &target, { 0, 0, NULL } };
    struct sw_names names = { .pages = { memory, SW_NAMES_PAGE, SLOTS, slots, bytes }, .modules = modules };
    char place[PLACE], again[PLACE];
    struct sw_clr_names *whole;
    memset(modules, 0, sizeof modules);
    names.memory = sw_pages_memory(&names.pages);
    sw_names_known(&names, 8);
    for (uint64_t at = TARGET; at < TARGET + size && at < TARGET + 512; at += 8) {
        name_at(&names, at, place);
        name_at(&names, at, again);
        if (memcmp(place, again, sizeof place) != 0)
            abort();
        place_at(&names, at);
        path_at(&names, at);
    }
    if (sw_clr_names_create(NULL, &memory, 256 << 10, &whole) == SW_OK)
        (void)(sw_clr_names_attach(whole, TARGET) == SW_OK);
    sw_clr_names_destroy(whole);
    return 0;
}
