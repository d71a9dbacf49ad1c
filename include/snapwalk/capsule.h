/*
 * Capsules: a walk saved for later, as an ELF core file that holds only what the walk needs. gdb, eu-stack and sw_core
 * open it. A stack of 50 frames takes some tens of kilobytes.
 *
 *     sw_capsule_create(NULL, SW_MACHINE_X64, 0, &capsule);
 *     sw_capsule_add_process(capsule, process);               // after sw_process_capture; or sw_capsule_add_core
 *     sw_process_captured_walker(process, tid, codemap, images, &regs, &walker);
 *     sw_capsule_add_thread(capsule, &(struct sw_core_thread){ .tid = tid }, &regs, &walker, &scratch);
 *     sw_capsule_write(capsule, &(struct sw_capsule_sink){ write, file });
 *
 * What is in it: registers of the threads; what walks read of the target's memory; the used part of their stacks, up to
 * 16 KiB each; the list of mapped files, and of each that is on a stack its ELF headers with the build id; the dynamic
 * linker's list; code ranges that frames are in. What is in files is not: a reader needs the same files, as for other
 * cores (sw_core_files, build ids are compared).
 *
 * A walk that failed is in it as one that did not: made again, it fails in the same way at the same place. Nothing
 * here may be called in a signal handler, and a process cannot make a capsule of itself. A handler has one written by
 * another process while its thread waits: vfork, execve of "snapstacks --save FILE PID", and waitpid may all be called
 * there.
 */
#ifndef SNAPWALK_CAPSULE_H
#define SNAPWALK_CAPSULE_H

#include <snapwalk/core.h>
#include <snapwalk/process.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_capsule;

/*
 * Makes an empty capsule; frees one (NULL is allowed).
 *
 * most     The most bytes of target memory that it keeps; 0: 64 MiB. What is read first is kept first: where it is used
 *          up, walks of later threads end early when they are made again. Other parts (threads, files, headers) come on
 *          top: some 350 bytes a thread, 100 a mapping.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   In proportion to what it keeps, at most 2.5 times `most`. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_capsule_create(const struct sw_alloc *alloc, enum sw_machine machine, size_t most,
                                                     struct sw_capsule **capsule);
SW_API void sw_capsule_destroy(struct sw_capsule *capsule);

/*
 * Takes over what is known of a process or of a core: its memory map, name and auxiliary vector. Once, before threads
 * are added. The process may run; call it after sw_process_capture.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (also: a core of another machine); SW_E_EXISTS (there is one already); SW_E_GONE;
 *          SW_E_NO_MEMORY; SW_E_OS; SW_E_UNSUPPORTED (a process on Windows).
 * Threads  One call on a capsule at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_capsule_add_process(struct sw_capsule *capsule, struct sw_process *process);
SW_API SW_NODISCARD enum sw_status sw_capsule_add_core(struct sw_capsule *capsule, struct sw_core *core);

/*
 * A reader that keeps what is read through it: for what else a reader of the capsule will need, as names of managed
 * methods (sw_clr_names_create). Memory that a file on disk stands for is not kept.
 *
 * source   The target's: copied; its arg is borrowed. The next call replaces it in all readers of this capsule.
 *
 * Returns  A reader without a window. Threads  One read at a time. Signals  Not safe (allocates).
 */
SW_API struct sw_memory sw_capsule_memory(struct sw_capsule *capsule, const struct sw_memory *source);

/*
 * Adds a thread, and walks it once, to keep what the walk reads, whatever its end.
 *
 * thread   Its id, and what it died of, where it did. That one is to be added first: readers take the first thread for
 *          the one that crashed. pac_mask 0: the walker's.
 * regs     Unknown registers are 0 for a reader.
 * walker   Borrowed for the call. Its caches are not used, so that everything is read.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_LIMIT (`most` is used up: the thread is in the capsule, and a walk of it may end
 *          early); SW_E_NO_MEMORY.
 * Threads  One call on a capsule at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_capsule_add_thread(struct sw_capsule *capsule,
                                                         const struct sw_core_thread *thread,
                                                         const struct sw_regs *regs, const struct sw_walker *walker,
                                                         struct sw_scratch *scratch);

/*
 * Names the code range around an address, for readers: code of a JIT compiler has no file that would. Ranges
 * are known once a frame was in them.
 *
 * name     Copied, up to 1,023 bytes.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (no frame of an added thread is in such a range); SW_E_NO_MEMORY.
 * Threads  One call on a capsule at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_capsule_set_name(struct sw_capsule *capsule, uint64_t address, const char *name);

/*
 * Writes the capsule. More threads may be added afterwards, and the whole be written again.
 *
 * sink     Called with one piece after the other; if it returns false, the call ends.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_OS (the sink returned false); SW_E_LIMIT (over 60,000 pieces).
 * Threads  One call on a capsule at a time. Signals  Not safe.
 */
struct sw_capsule_sink {
    bool (*write)(void *arg, const void *bytes, size_t size);
    void *arg;
};
SW_API SW_NODISCARD enum sw_status sw_capsule_write(struct sw_capsule *capsule, const struct sw_capsule_sink *sink);

/*
 * A code range in a capsule that was opened as a core, by its number from 0, for sw_codemap_add.
 *
 * name     Receives the range's name, empty if it has none; borrowed until the core is closed. May be null.
 *
 * Returns  False past the last, and for cores that are no capsules. Threads  Any. Signals  Safe.
 */
SW_API bool sw_core_get_range(const struct sw_core *core, size_t number, struct sw_range *range, const char **name);

#ifdef __cplusplus
}
#endif

#endif
