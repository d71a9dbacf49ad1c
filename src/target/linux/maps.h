/* The rows of /proc/PID/maps. Works on text alone, so any text can be given. */
#ifndef SW_TARGET_LINUX_MAPS_H
#define SW_TARGET_LINUX_MAPS_H

#include <snapwalk/status.h>

/*
 * One mapping, [begin, end), begin < end. `path` points into the text: it is not NUL-terminated, and escapes are not
 * undone.
 */
struct sw_map {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;
    uint64_t inode;
    uint32_t major;
    uint32_t minor;
    bool readable;
    bool writable;
    bool executable;
    bool shared;
    const char *path;
    size_t path_size;
};

/* The progress of reading a text. bad: lines that were not valid rows and were skipped. */
struct sw_maps_text {
    const char *at;
    const char *end;
    uint64_t bad;
};

/* The next row. False at the end. A last line without newline counts. */
bool sw_maps_next(struct sw_maps_text *text, struct sw_map *map);

/*
 * The rows of a whole text that ascend and do not overlap; others are left out.
 *
 * maps     Receives the first `capacity`; may be null if that is 0.
 *
 * Returns  How many there are.
 */
size_t sw_maps_parse(const char *text, size_t size, struct sw_map *maps, size_t capacity);

/* The row around an address, by binary search in ascending rows; null: there is none. */
const struct sw_map *sw_maps_find(const struct sw_map *maps, size_t count, uint64_t address);

/* Whether both rows map the same file. */
bool sw_maps_same_file(const struct sw_map *a, const struct sw_map *b);

/*
 * Whether code of the file at row `at` is mapped there or closely behind, up to the next file, for this process alone.
 * anonymous: code without a file counts, too.
 */
bool sw_maps_have_code(const struct sw_map *maps, size_t count, size_t at, bool anonymous);

/*
 * A path with its newlines instead of the kernel's escapes, NUL-terminated; gdb's cores have them, too. Returns how
 * long it is; `size`, if it does not fit.
 */
size_t sw_maps_unescape(const char *path, size_t length, char *to, size_t size);

/*
 * The path of a row as a NUL-terminated string, with escapes undone and " (deleted)" removed.
 *
 * deleted  Receives whether " (deleted)" was there; may be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file: anonymous, or a name in brackets); SW_E_LIMIT (it does not fit).
 */
enum sw_status sw_maps_path(const struct sw_map *map, char *path, size_t size, bool *deleted);

#endif
