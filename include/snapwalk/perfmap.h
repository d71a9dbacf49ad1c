/*
 * Perf maps (/tmp/perf-PID.map): the names and ranges of JIT code that runtimes write for Linux perf.
 */
#ifndef SNAPWALK_PERFMAP_H
#define SNAPWALK_PERFMAP_H

#include <snapwalk/codemap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_perfmap;

/* How to read the perf map of a runtime. */
enum sw_perfmap_flavour {
    SW_PERFMAP_PLAIN = 0, /* each line is a JIT range, analysed from its start; calling convention unknown */
    SW_PERFMAP_CLR        /* CoreCLR: "stub ..." lines are stubs; methods have code headers; dynamic ones are hidden */
};

/*
 * Makes an empty reader; frees a reader (NULL is allowed).
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_perfmap_create(const struct sw_alloc *alloc, enum sw_perfmap_flavour flavour,
                                                     struct sw_perfmap **perfmap);
SW_API void sw_perfmap_destroy(struct sw_perfmap *perfmap);

/*
 * sw_perfmap_read reads what was appended to a perf map file since the last call. sw_perfmap_feed takes the next piece
 * of the text from memory. Both add the ranges to a code map. A last line without a newline waits for the next call. A
 * line that is not a perf map line is counted and skipped.
 *
 * Where lines overlap, the later line wins and the earlier range is removed whole: its code was freed, and its place
 * was used again. CoreCLR's stub blocks are an exception, because they only fill the space between methods: a method
 * always wins over a stub, and the smaller of two stubs wins. What is left of a block keeps its name.
 *
 * Text of n bytes takes about n steps, whatever it says, and holes of a sparse file none. So stub blocks that overlap
 * very many methods, or each other in very many places, are cut in the end, and count as skipped lines; ranges of
 * hundreds of kilobytes are skipped where there are thousands of them.
 *
 * path     The file. A file that has become shorter is read again from its start. It has to belong to root, to the
 *          effective user, or to the user that sw_perfmap_trust names, and must not be a symbolic link: anyone can put
 *          a file into /tmp.
 * bytes    The piece of text. It may begin and end anywhere.
 * codemap  Borrowed; the same one in every call. May be null, to get names only. A range that overlaps a range from
 *          another source is not added, but its name is kept.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS (the file cannot be opened or read, or is not regular); SW_E_PERMISSION (a
 *          symbolic link, or another user's file); SW_E_NO_MEMORY, SW_E_BUSY (the code map's answer): lines with that
 *          answer may be missing; all others were taken.
 * Threads  One call at a time. Signals  Not safe.
 * Source   jit-interfaces.md section 1; perf, tools/perf/util/symbol.c (whose files are refused).
 */
SW_API SW_NODISCARD enum sw_status sw_perfmap_read(struct sw_perfmap *perfmap, const char *path,
                                                   struct sw_codemap *codemap);
SW_API SW_NODISCARD enum sw_status sw_perfmap_feed(struct sw_perfmap *perfmap, const char *bytes, size_t size,
                                                   struct sw_codemap *codemap);

/*
 * Reads what was appended to the perf map of a process, where its runtime wrote it: /tmp/perf-PID.map in the root of
 * the process, with the id that it has in its own pid namespace, as in a container. If there is none, or that root may
 * not be entered: /tmp/perf-PID.map here. Numbers of processes come back: a file that was last written before the
 * process began is an earlier one's, and counts as none.
 *
 * pid      The id of the process in the caller's namespace.
 *
 * Returns  As sw_perfmap_read; SW_E_OS with ESTALE in errno: there is an earlier process's. In the process's root the
 *          owner of a file counts as it is seen from here: a process in a user namespace of its own is another user.
 * Threads  As sw_perfmap_read. Signals  Not safe.
 * Source   proc(5), NSpid; perf, tools/perf/util/symbol.c.
 */
SW_API SW_NODISCARD enum sw_status sw_perfmap_read_process(struct sw_perfmap *perfmap, int pid,
                                                           struct sw_codemap *codemap);

/*
 * Also reads files of one more user: of the walked process's owner, for a tool that root runs.
 *
 * user     A user id. Replaces the one named before.
 *
 * Threads  As sw_perfmap_read. Signals  Not safe.
 */
SW_API void sw_perfmap_trust(struct sw_perfmap *perfmap, uint32_t user);

/*
 * Finds the range at an address, and its name.
 *
 * range    Receives the range. May be null.
 *
 * Returns  The name: a NUL-terminated string that lives until the next read or feed. Null if there is no range.
 * Threads  Any number, while no read or feed is going on. Signals  Safe.
 */
SW_API const char *sw_perfmap_name(const struct sw_perfmap *perfmap, uint64_t address, struct sw_range *range);

/* How many lines were taken, and how many were skipped, so far. Threads  Any. Signals  Safe. */
SW_API uint64_t sw_perfmap_lines(const struct sw_perfmap *perfmap);
SW_API uint64_t sw_perfmap_bad_lines(const struct sw_perfmap *perfmap);

#ifdef __cplusplus
}
#endif

#endif
