/*
 * struct sw_core, for the files that implement it: what a core holds, sorted by address, and the files that supply what
 * it does not hold.
 */
#ifndef SW_TARGET_CORE_H
#define SW_TARGET_CORE_H

#include "core/core.h"

#include <snapwalk/capsule.h>

/*
 * Memory of the process, [begin, end). held: the core's bytes, from begin on. stored: how many bytes the core was meant
 * to have; a truncated core holds fewer.
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
 * info     path lies in the core, or in a file that it had mapped; address is 0 while unknown.
 * bias     Of a file in the dynamic linker's list (is_listed): address in memory - link-time address.
 * dynamic  The address of its dynamic section by that list; 0: not given.
 * constant  Memory in a writable segment that is never written, if there is any.
 * bytes    The file, once found. is_wanted: it may be an image, so it is searched for. drop: releases the bytes.
 * room     How much may be unpacked of them; 0: as much as they are worth.
 */
struct sw_core_mapped {
    struct sw_core_file info;
    uint64_t bias;
    uint64_t dynamic;
    bool is_listed;
    bool is_wanted;
    struct {
        uint64_t begin;
        uint64_t end;
    } constant;
    struct sw_bytes bytes;
    uint64_t room;
    void (*drop)(void *arg, const void *bytes, size_t size);
    void *drop_arg;
};

/* A part of a file in memory. Rows ascend and do not overlap. */
struct sw_core_row {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    size_t file;
    uint32_t flags;
};

/* A code range of a capsule; name lies in its note. */
struct sw_core_named_range {
    struct sw_range range;
    const char *name;
};

/* The size of a growing array. */
struct sw_core_array {
    size_t count;
    size_t capacity;
};

struct sw_core {
    struct sw_alloc alloc;
    struct sw_core_headers headers;
    struct sw_core_process process;
    struct sw_core_segment *segments;
    struct sw_core_array segment_array;
    struct sw_core_task *tasks;
    struct sw_core_array task_array;
    uint64_t crashed;
    struct sw_core_mapped *files;
    struct sw_core_array file_array;
    struct sw_core_row *rows;
    struct sw_core_array row_array;
    struct sw_core_named_range *ranges;
    struct sw_core_array range_array;
    /* Of the core's own bytes: makes a part of them present, which is zeros before; closes them. Null: borrowed. */
    void (*want)(void *arg, uint64_t offset, uint64_t size);
    void (*close)(void *arg);
    void *source;
};

/* The array with room for one more element of that size; it may move. Null: no memory, and nothing has changed. */
void *sw_core_grow(const struct sw_core *core, void *array, struct sw_core_array *size, size_t element);

/*
 * segment_at: the segment around an address, or null. row_at: the part of a file, or null. held_at: what the core
 * itself holds there, up to the segment's end.
 */
const struct sw_core_segment *sw_core_segment_at(const struct sw_core *core, uint64_t address);
const struct sw_core_row *sw_core_row_at(const struct sw_core *core, uint64_t address);
struct sw_bytes sw_core_held_at(const struct sw_core *core, uint64_t address, uint64_t most);

/* What the core or a file has at an address, as far as it is contiguous. Empty: nothing. */
struct sw_bytes sw_core_bytes_at(const struct sw_core *core, uint64_t address, uint64_t most);

/* A NUL-terminated string in target memory that is contiguous; null: there is none. */
const char *sw_core_string_at(const struct sw_core *core, uint64_t address);

/* A reader of what the core itself holds. */
struct sw_memory sw_core_own_memory(struct sw_core *core);

/* Compares a file with what the core holds of it. */
enum sw_core_file_state sw_core_check_file(struct sw_core *core, const struct sw_core_mapped *file,
                                           struct sw_bytes bytes);

/*
 * add_row adds one. add_rows adds the rows of a listed file that has been found. sort_rows, called when all are added,
 * sorts the rows and leaves out those that overlap an earlier one.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_core_add_row(struct sw_core *core, struct sw_core_row row);
enum sw_status sw_core_add_rows(struct sw_core *core, size_t file);
void sw_core_sort_rows(struct sw_core *core);

#endif
