/* struct sw_capsule, for the files that implement it. */
#ifndef SW_TARGET_CAPSULE_H
#define SW_TARGET_CAPSULE_H

#include "target/capsule_store.h"

#include <snapwalk/capsule.h>

/*
 * A row of the memory map.
 *
 * flags    SW_CORE_READ and so on.
 * is_copy  Some of its pages are the process's own, with other contents than the file's: where a loader has relocated.
 * is_clean  It may be written, but nobody has: its pages are the file's.
 * is_more  Of one mapping of a file with the map before it.
 * is_bare  Whoever wrote the core that it is from did not say what may be done with it.
 * path     Null: no file, or none that can be opened later.
 */
struct sw_capsule_map {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    uint32_t flags;
    bool is_copy, is_clean, is_bare, is_more;
    char *path;
    size_t path_room;
};

struct sw_capsule_thread {
    struct sw_core_thread about;
    struct sw_regs regs;
};

struct sw_capsule_range {
    struct sw_range range;
    char *name; /* null: none */
    size_t name_room;
};

/*
 * sources  Whose memory is read: for sw_capsule_memory's readers, and in the walk that is being made.
 * status   Why something was not kept; SW_OK: all was.
 * images   Where images begin whose headers are kept.
 * sp       In the walk that is being made: where it begins.
 */
struct sw_capsule {
    struct sw_alloc alloc;
    enum sw_machine machine;
    struct sw_store store;
    struct sw_capsule_source {
        struct sw_capsule *capsule;
        struct sw_memory memory;
    } other, walk;
    enum sw_status status;
    struct sw_capsule_map *maps;
    size_t map_count, map_room;
    struct sw_capsule_thread *threads;
    size_t thread_count, thread_room;
    struct sw_capsule_range *ranges;
    size_t range_count, range_room;
    uint64_t *images;
    size_t image_count, image_room;
    bool has_process, has_links;
    uint64_t pid, entry, sp;
    char name[17];
    char arguments[81];
    uint8_t *auxv;
    size_t auxv_size;
};

/* Adds a row of the memory map; rows ascend. path: its path, copied; null: none. SW_OK; SW_E_NO_MEMORY. */
enum sw_status sw_capsule_add_map(struct sw_capsule *capsule, const struct sw_capsule_map *map, const char *path);

/* Copies the auxiliary vector, and finds in it where the program starts. SW_OK; SW_E_NO_MEMORY. */
enum sw_status sw_capsule_set_auxv(struct sw_capsule *capsule, const void *bytes, size_t size);

#endif
