/*
 * The inside of struct sw_core, for the files that implement it: what a core holds, sorted by address, and the files
 * that stand in for what it does not hold.
 */
#ifndef SW_CORE_H
#define SW_CORE_H

#include "core/core.h"

#include <snapwalk/core.h>

/*
 * Memory of the process, [begin, end). held: what the core has of it, from begin on. stored: how many bytes it was
 * meant to have; in a core that was cut short there are fewer.
 */
struct sw_core_segment {
    uint64_t begin;
    uint64_t end;
    struct sw_bytes held;
    uint64_t stored;
    uint32_t flags; /* SW_CORE_READ and so on */
};

/*
 * A file that was mapped.
 *
 * info     path lies in the core, or in a file that it had mapped; address is 0 while it is not known.
 * bias     Of a file from the dynamic linker's list, is_listed: address in memory - link-time address.
 * dynamic  Where that list says that its dynamic section is; 0: it does not say.
 * bytes    Once it was found; is_wanted: it may be an image, and is looked for. drop: gives them back.
 */
struct sw_core_mapped {
    struct sw_core_file info;
    uint64_t bias;
    uint64_t dynamic;
    bool is_listed;
    bool is_wanted;
    struct sw_bytes bytes;
    void (*drop)(void *arg, const void *bytes, size_t size);
    void *drop_arg;
};

/* A piece of a file in memory. Rows ascend, and do not overlap. */
struct sw_core_row {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    size_t file;
    uint32_t flags;
};

/* An array that grows. */
struct sw_core_room {
    size_t count;
    size_t room;
};

struct sw_core {
    struct sw_alloc alloc;
    struct sw_core_headers headers;
    struct sw_core_process process;
    struct sw_core_segment *segments;
    struct sw_core_room segments_room;
    struct sw_core_task *tasks;
    struct sw_core_room tasks_room;
    uint64_t crashed;
    struct sw_core_mapped *files;
    struct sw_core_room files_room;
    struct sw_core_row *rows;
    struct sw_core_room rows_room;
    void (*unmap)(const void *bytes, size_t size); /* of the core itself; null: borrowed */
};

/* The array with room for one more element of that size, moved perhaps; null without memory, and it is as it was. */
void *sw_core_grow(const struct sw_core *core, void *array, struct sw_core_room *room, size_t element);

/* The segment around an address, or null; what the core itself holds there, up to the segment's end. */
const struct sw_core_segment *sw_core_segment_at(const struct sw_core *core, uint64_t address);
struct sw_bytes sw_core_held_at(const struct sw_core *core, uint64_t address);

/* What the core or a file has at an address, as far as it lies in one piece. Empty when there is nothing. */
struct sw_bytes sw_core_bytes_at(const struct sw_core *core, uint64_t address);

/* A terminated string in target memory that lies in one piece; null when there is none. */
const char *sw_core_string_at(const struct sw_core *core, uint64_t address);

/* A reader of what the core itself holds. */
struct sw_memory sw_core_own_memory(struct sw_core *core);

/* Compares a file with what the core holds of it. */
enum sw_core_file_state sw_core_check_file(struct sw_core *core, const struct sw_core_mapped *file,
                                           struct sw_bytes bytes);

/*
 * Adds the rows of a listed file that has been found. When all are there, sort: puts them in order, and leaves out what
 * overlaps.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_core_add_rows(struct sw_core *core, size_t file);
void sw_core_sort_rows(struct sw_core *core);

#endif
