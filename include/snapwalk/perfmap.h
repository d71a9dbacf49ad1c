/*
 * Perf maps (/tmp/perf-PID.map): names and ranges of JIT code, as runtimes write them for Linux perf.
 */
#ifndef SNAPWALK_PERFMAP_H
#define SNAPWALK_PERFMAP_H

#include <snapwalk/codemap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_perfmap;

/* How a runtime's perf map is to be understood. */
enum sw_perfmap_flavour {
    SW_PERFMAP_PLAIN = 0, /* every line is a JIT range, analysed from its start, its calling convention not known */
    SW_PERFMAP_CLR        /* CoreCLR: "stub ..." lines are stubs, methods carry the JIT's code header, dynamic methods hidden */
};

/*
 * Makes an empty reader; gives it back (NULL is allowed).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_perfmap_create(const struct sw_alloc *alloc, enum sw_perfmap_flavour flavour,
                                              struct sw_perfmap **perfmap);
void sw_perfmap_destroy(struct sw_perfmap *perfmap);

/*
 * Reads what has been appended to a perf map file since the last call, and puts its ranges into a code map. A last line
 * without newline is left for the next call; a line that is no perf map line is counted and passed over.
 *
 * Where lines overlap the later one wins and the earlier is removed as a whole (its code was freed and the place used
 * again), except for CoreCLR's stub blocks, which only fill the room between methods: a method always wins over a stub,
 * and of two stubs the smaller; what is left of a block keeps its name.
 *
 * path     The file. A file that has become shorter is read from its beginning.
 * bytes    sw_perfmap_feed: the next piece of the text, cut anywhere.
 * codemap  Borrowed; may be null to get names only. The same one in every call. A range that overlaps one which somebody
 *          else put there is not added (its name is kept).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS (cannot be opened or read, not a regular file); SW_E_NO_MEMORY, SW_E_BUSY (the
 *          code map's answer): the lines it struck may be missing, all others were taken.
 * Threads  One at a time. Signals  Not safe.
 * Source   jit-interfaces.md section 1.
 */
SW_NODISCARD enum sw_status sw_perfmap_read(struct sw_perfmap *perfmap, const char *path, struct sw_codemap *codemap);
SW_NODISCARD enum sw_status sw_perfmap_feed(struct sw_perfmap *perfmap, const char *bytes, size_t size,
                                            struct sw_codemap *codemap);

/*
 * The name of the range around an address.
 *
 * Returns  A NUL-terminated string that lives until the next read or feed; null when there is none.
 * Threads  Any beside no writer. Signals  Safe.
 */
const char *sw_perfmap_name(const struct sw_perfmap *perfmap, uint64_t address, struct sw_range *range);

/* Lines understood and lines passed over, so far. Threads  Any. Signals  Safe. */
uint64_t sw_perfmap_lines(const struct sw_perfmap *perfmap);
uint64_t sw_perfmap_bad_lines(const struct sw_perfmap *perfmap);

#ifdef __cplusplus
}
#endif

#endif
