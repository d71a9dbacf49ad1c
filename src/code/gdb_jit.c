/*
 * The list of objects that a JIT compiler keeps for gdb: what was added since the last time is registered, what is gone
 * is removed. Knows the list; lib/jit knows the objects. The target's lists may lie, or run in a circle.
 */
#include <snapwalk/gdb_jit.h>
#include <snapwalk/names.h>

#include "base/memory.h"
#include "common/alloc.h"
#include "common/grow.h"
#include "jit/elf_object.h"

#include <snapwalk/jit.h>

#include <string.h>

enum { OBJECTS_MOST = 1 << 15, OBJECT_MOST = 64 << 20, ALL_MOST = 512 << 20, VERSION = 1 };
enum { FIRST_AT = 16, NEXT_AT = 0, FILE_AT = 16, SIZE_AT = 24 };

/* is_seen: by the read that is being made. begin: of its image; 0: it has none. */
struct object {
    uint64_t address;
    uint8_t *bytes;
    size_t size;
    uint64_t begin;
    bool is_seen;
};

struct sw_gdb_jit {
    struct sw_alloc alloc;
    struct object *objects;
    size_t count, room;
    size_t bad;
    uint64_t bytes;
};

enum sw_status sw_gdb_jit_create(const struct sw_alloc *alloc, struct sw_gdb_jit **jit)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!jit || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    struct sw_gdb_jit *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    *made = (struct sw_gdb_jit){ .alloc = from };
    *jit = made;
    return SW_OK;
}

static void drop(const struct sw_gdb_jit *jit, const struct object *object)
{
    jit->alloc.put(jit->alloc.arg, object->bytes, object->size);
}

void sw_gdb_jit_destroy(struct sw_gdb_jit *jit)
{
    if (!jit)
        return;
    for (size_t i = 0; i < jit->count; i++)
        drop(jit, &jit->objects[i]);
    if (jit->objects)
        jit->alloc.put(jit->alloc.arg, jit->objects, jit->room * sizeof *jit->objects);
    jit->alloc.put(jit->alloc.arg, jit, sizeof *jit);
}

static bool open_object(const struct object *object, struct sw_jit_object *opened)
{
    return sw_jit_object_open((struct sw_bytes){ object->bytes, object->size, object->address }, opened) == SW_OK;
}

/* ---- what is registered ---- */

/* A range that overlaps what is already there is left out. */
static enum sw_status add_functions(const struct sw_jit_object *object, struct sw_codemap *codemap)
{
    struct sw_jit_function function;
    enum sw_status status = SW_OK;
    for (uint64_t at = 0; status == SW_OK && sw_jit_object_function(object, &at, &function);) {
        const struct sw_range range = {
            .begin = function.begin, .end = function.end, .id = function.begin, .kind = SW_KIND_JIT
        };
        status = sw_codemap_add(codemap, &range);
        status = status == SW_E_OVERLAP || status == SW_E_WRAPS ? SW_OK : status;
    }
    return status;
}

static void remove_functions(const struct sw_jit_object *object, struct sw_codemap *codemap)
{
    struct sw_jit_function function;
    for (uint64_t at = 0; sw_jit_object_function(object, &at, &function);)
        (void)!sw_codemap_remove(codemap, function.begin);
}

/* Without call frame information, or where something else is: the code is analysed. */
static enum sw_status add_image(const struct sw_gdb_jit *jit, struct object *object, const struct sw_jit_object *opened,
                                struct sw_images *images)
{
    struct sw_cfi_table table = { .machine = opened->machine };
    uint32_t number;
    const struct sw_bytes frames = sw_jit_object_frames(opened, &number);
    if (frames.size == 0 || !sw_jit_object_code(opened, &table.begin, &table.end))
        return SW_OK;
    uint8_t *copy = jit->alloc.get(jit->alloc.arg, (size_t)frames.size);
    if (!copy)
        return SW_E_NO_MEMORY;
    memcpy(copy, frames.bytes, (size_t)frames.size);
    sw_jit_object_relocate(opened, number, copy, frames.size);
    table.eh_frame = copy;
    table.size = (size_t)frames.size;
    table.address = frames.address;
    const enum sw_status status = sw_images_add_cfi(images, "[jit]", &table);
    jit->alloc.put(jit->alloc.arg, copy, (size_t)frames.size);
    if (status == SW_OK)
        object->begin = table.begin;
    return status == SW_E_NO_MEMORY || status == SW_E_BUSY ? status : SW_OK;
}

static void unregister(const struct object *object, struct sw_images *images, struct sw_codemap *codemap)
{
    struct sw_jit_object opened;
    if (object->begin)
        (void)!sw_images_remove(images, object->begin);
    if (open_object(object, &opened))
        remove_functions(&opened, codemap);
}

/* ---- the list ---- */

static struct object *find_known(const struct sw_gdb_jit *jit, const struct object *object)
{
    for (size_t i = 0; i < jit->count; i++)
        if (jit->objects[i].address == object->address && jit->objects[i].size == object->size &&
            memcmp(jit->objects[i].bytes, object->bytes, object->size) == 0)
            return &jit->objects[i];
    return NULL;
}

/* Takes over the bytes, or frees them. */
static enum sw_status take(struct sw_gdb_jit *jit, struct object object, struct sw_images *images,
                           struct sw_codemap *codemap)
{
    struct sw_jit_object opened;
    uint64_t begin, end;
    struct object *known = find_known(jit, &object);
    if (known || !open_object(&object, &opened) || !sw_jit_object_code(&opened, &begin, &end)) {
        drop(jit, &object);
        jit->bad += !known;
        if (known)
            known->is_seen = true;
        return SW_OK;
    }
    struct object *objects =
        sw_grow(&jit->alloc, jit->objects, sizeof *objects, jit->count, &jit->room, jit->count + 1);
    if (!objects) {
        drop(jit, &object);
        return SW_E_NO_MEMORY;
    }
    jit->objects = objects;
    object.is_seen = true;
    const enum sw_status status = add_image(jit, &object, &opened, images);
    jit->objects[jit->count++] = object;
    return status == SW_OK ? add_functions(&opened, codemap) : status;
}

static enum sw_status take_entry(struct sw_gdb_jit *jit, const struct sw_memory *memory, uint64_t entry,
                                 struct sw_images *images, struct sw_codemap *codemap)
{
    struct object object = { 0 };
    uint64_t size;
    if (!sw_memory_word(memory, entry + FILE_AT, &object.address) || !sw_memory_word(memory, entry + SIZE_AT, &size) ||
        size == 0) {
        jit->bad++;
        return SW_OK;
    }
    if (size > OBJECT_MOST || jit->bytes + size > ALL_MOST)
        return SW_E_LIMIT;
    jit->bytes += size;
    object.size = (size_t)size;
    object.bytes = jit->alloc.get(jit->alloc.arg, object.size);
    if (!object.bytes)
        return SW_E_NO_MEMORY;
    if (sw_memory_read(memory, object.address, object.bytes, object.size) == object.size)
        return take(jit, object, images, codemap);
    drop(jit, &object);
    jit->bad++;
    return SW_OK;
}

/* In front of what is added: new code may be where old code was. */
static void remove_unseen(struct sw_gdb_jit *jit, struct sw_images *images, struct sw_codemap *codemap)
{
    size_t left = 0;
    for (size_t i = 0; i < jit->count; i++) {
        if (jit->objects[i].is_seen) {
            jit->objects[left++] = jit->objects[i];
            continue;
        }
        unregister(&jit->objects[i], images, codemap);
        drop(jit, &jit->objects[i]);
    }
    jit->count = left;
}

/* Marks the known objects that are in the list, by where they are. */
static void mark_seen(struct sw_gdb_jit *jit, const struct sw_memory *memory, uint64_t entry)
{
    uint64_t address, size;
    for (size_t i = 0; i < jit->count; i++)
        jit->objects[i].is_seen = false;
    for (size_t n = 0; entry && n < OBJECTS_MOST && jit->count; n++) {
        if (!sw_memory_word(memory, entry + FILE_AT, &address) || !sw_memory_word(memory, entry + SIZE_AT, &size))
            break;
        for (size_t i = 0; i < jit->count; i++)
            jit->objects[i].is_seen |= jit->objects[i].address == address && jit->objects[i].size == size;
        if (!sw_memory_word(memory, entry + NEXT_AT, &entry))
            break;
    }
}

enum sw_status sw_gdb_jit_find(struct sw_images *images, uint64_t *descriptor)
{
    return sw_images_symbol(images, "__jit_debug_descriptor", descriptor);
}

enum sw_status sw_gdb_jit_read(struct sw_gdb_jit *jit, const struct sw_memory *memory, uint64_t descriptor,
                               struct sw_images *images, struct sw_codemap *codemap)
{
    uint64_t version, entry;
    if (!jit || !memory || !images || !codemap)
        return SW_E_ARGUMENT;
    if (!sw_memory_word(memory, descriptor, &version) || !sw_memory_word(memory, descriptor + FIRST_AT, &entry))
        return SW_E_UNREADABLE;
    if ((uint32_t)version != VERSION)
        return SW_E_UNSUPPORTED;
    mark_seen(jit, memory, entry);
    remove_unseen(jit, images, codemap);
    jit->bad = 0;
    jit->bytes = 0;
    enum sw_status status = SW_OK;
    for (size_t n = 0; entry && status == SW_OK; n++) {
        if (n == OBJECTS_MOST)
            return SW_E_LIMIT;
        status = take_entry(jit, memory, entry, images, codemap);
        if (!sw_memory_word(memory, entry + NEXT_AT, &entry))
            break;
    }
    return status;
}

/* ---- names ---- */

size_t sw_gdb_jit_objects(const struct sw_gdb_jit *jit, size_t *bad)
{
    if (bad)
        *bad = jit ? jit->bad : 0;
    return jit ? jit->count : 0;
}

const char *sw_gdb_jit_name(const struct sw_gdb_jit *jit, uint64_t address, uint64_t *start)
{
    for (size_t i = 0; jit && i < jit->count; i++) {
        struct sw_jit_object opened;
        struct sw_jit_function function;
        uint64_t begin, end, at = 0;
        if (!open_object(&jit->objects[i], &opened) || !sw_jit_object_code(&opened, &begin, &end) || address < begin ||
            address >= end)
            continue;
        while (sw_jit_object_function(&opened, &at, &function))
            if (address >= function.begin && address < function.end) {
                if (start)
                    *start = function.begin;
                return function.name;
            }
    }
    return NULL;
}
