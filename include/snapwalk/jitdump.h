/*
 * Jitdump files (jit-PID.dump): what V8, .NET and other runtimes write for Linux perf: names and ranges of JIT code,
 * and its call frame information, by which walks know the frames exactly.
 *
 *     sw_perfmap_create(NULL, SW_PERFMAP_PLAIN, &perfmap);
 *     sw_jitdump_create(NULL, perfmap, &jitdump);
 *     sw_jitdump_read_process(jitdump, 1234, images, codemap);
 *     sw_perfmap_name(perfmap, address, NULL);
 */
#ifndef SNAPWALK_JITDUMP_H
#define SNAPWALK_JITDUMP_H

#include <snapwalk/core.h>
#include <snapwalk/image.h>
#include <snapwalk/perfmap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_jitdump;
struct sw_process;

/*
 * Makes a reader; frees a reader (NULL is allowed). What it has registered stays where it is.
 *
 * perfmap  Borrowed. Receives the names and ranges, as lines of a perf map: what is later wins.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_jitdump_create(const struct sw_alloc *alloc, struct sw_perfmap *perfmap,
                                                     struct sw_jitdump **jitdump);
SW_API void sw_jitdump_destroy(struct sw_jitdump *jitdump);

/*
 * sw_jitdump_read reads what was appended to a file since the last call. sw_jitdump_feed takes the next piece of it
 * from memory. A record that is not complete waits for the next call. One that contradicts itself is counted and
 * skipped, as is one over SW_JITDUMP_RECORD_MAX bytes without the code in it.
 *
 * path     Another file than the last time, or one that has become shorter, is read from its start. Whose it may be:
 *          sw_perfmap_read, sw_perfmap_trust.
 * bytes    The piece. It may begin and end anywhere.
 * images   Borrowed; the same ones in every call. Receives an image for each function that has call frame information,
 *          up to SW_JITDUMP_IMAGES_MAX in all; the rest is analysed, as is code that was moved, or where another image
 *          is. May be null: names and ranges only.
 * codemap  As in sw_perfmap_read.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_MALFORMED (no jitdump, or a record without a size: nothing behind it is read, in
 *          later calls neither); SW_E_UNSUPPORTED (its version or machine: as before); SW_E_NO_MEMORY, SW_E_BUSY: a
 *          function may be missing; all others were taken.
 *          sw_jitdump_read also: SW_E_OS, SW_E_PERMISSION, as sw_perfmap_read.
 * Memory   The reader 128 KiB; a function what sw_perfmap_read and sw_images_add_cfi need: 1.3 KB. All images 21 MB; 64
 *          MiB of frames are taken.
 * Threads  One call at a time; walks go on. Signals  Not safe.
 * Source   jit-interfaces.md section 3; perf, tools/perf/Documentation/jitdump-specification.txt.
 */
enum { SW_JITDUMP_RECORD_MAX = 1 << 16, SW_JITDUMP_IMAGES_MAX = 16384 }; /* jit-interfaces.md section 3 says why */
SW_API SW_NODISCARD enum sw_status sw_jitdump_read(struct sw_jitdump *jitdump, const char *path,
                                                   struct sw_images *images, struct sw_codemap *codemap);
SW_API SW_NODISCARD enum sw_status sw_jitdump_feed(struct sw_jitdump *jitdump, const void *bytes, size_t size,
                                                   struct sw_images *images, struct sw_codemap *codemap);

/*
 * Reads what was appended to the jitdump file that a process has mapped, as writers do so that perf sees it:
 * jit-PID.dump, whatever its folder and the process's pid namespace.
 *
 * pid      The id of the process in the caller's namespace.
 *
 * Returns  As sw_jitdump_read. SW_E_NOT_FOUND: none is mapped. SW_E_OS: also a file that is not there any more.
 *          SW_E_GONE, SW_E_PERMISSION: the process has ended, its memory map may not be read.
 * Threads  As sw_jitdump_read. Signals  Not safe.
 * Source   perf, tools/perf/util/jitdump.c; proc(5), /proc/pid/maps.
 */
SW_API SW_NODISCARD enum sw_status sw_jitdump_read_process(struct sw_jitdump *jitdump, int pid,
                                                           struct sw_images *images, struct sw_codemap *codemap);

/*
 * The same by the memory map that the process had in its last capture, which is not read again for it.
 *
 * process  Captured (sw_process_capture); else its map is read.
 *
 * Returns  As sw_jitdump_read_process. SW_E_GONE: also if it has begun another program since it was captured.
 * Memory   As sw_jitdump_read. Threads  As that; one call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_jitdump_read_captured(struct sw_jitdump *jitdump, struct sw_process *process,
                                                            struct sw_images *images, struct sw_codemap *codemap);

/*
 * Reads the jitdump file that the process of a core or a capsule had mapped, if it is still there, once. Without it
 * such code is analysed, and has no names but those in a capsule.
 *
 * sysroot  In front of the path in the core. May be null.
 *
 * Returns  As sw_jitdump_read. SW_E_NOT_FOUND: none was mapped. Threads  As sw_jitdump_read. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_jitdump_read_core(struct sw_jitdump *jitdump, const struct sw_core *core,
                                                        const char *sysroot, struct sw_images *images,
                                                        struct sw_codemap *codemap);

/*
 * Whether a path is a jitdump file's: jit-NUMBER.dump, in any folder. The number is the process's in a pid namespace
 * that need not be the caller's. Threads  Any. Signals  Safe.
 */
SW_API bool sw_jitdump_is_path(const char *path);

/* How many records were taken, and how many were skipped as broken or too large. Threads  Any. Signals  Safe. */
SW_API uint64_t sw_jitdump_records(const struct sw_jitdump *jitdump);
SW_API uint64_t sw_jitdump_bad_records(const struct sw_jitdump *jitdump);

/* Whether the writer has closed the file. Threads  Any. Signals  Safe. */
SW_API bool sw_jitdump_is_closed(const struct sw_jitdump *jitdump);

#ifdef __cplusplus
}
#endif

#endif
