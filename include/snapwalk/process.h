/*
 * Another process as a target: stopped by ptrace, read in bulk. Linux.
 */
#ifndef SNAPWALK_PROCESS_H
#define SNAPWALK_PROCESS_H

#include <snapwalk/thread.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_process;

/*
 * Opens a process by its id. Nothing is stopped yet.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_PERMISSION; SW_E_NO_MEMORY; SW_E_OS; SW_E_UNSUPPORTED (32-bit,
 *          or a kernel thread). A process cannot open itself: SW_E_ARGUMENT.
 * Threads  All calls on one process from one thread: ptrace belongs to a thread. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_open(const struct sw_alloc *alloc, int pid, struct sw_process **process);
void sw_process_close(struct sw_process *process); /* resumes and detaches; NULL is allowed */

/*
 * Reads the process's memory map and registers the images in it (ELF files, the vdso, ReadyToRun images), forgetting
 * those that are gone. Cheap when nothing changed. A deleted file is found where the caller may open
 * /proc/PID/map_files, and left out elsewhere: better no tables than those of another file.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (another writer is inside `images`); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS. A bad image is left out.
 * Memory   From the allocator of `images`; files are mapped for the life of their image.
 * Threads  The one that opened the process. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_add_images(struct sw_process *process, struct sw_images *images);

/*
 * Adds to a code map the ranges of code that the process has mapped a second time: V8 executes its built-in functions
 * where it maps them near its JIT code, and its perf map names them where they were loaded. Reads the memory map; to
 * be called again when the perf map has grown. Ranges that are there stay.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (another writer is inside `codemap`); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS.
 * Threads  The one that opened the process. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_mirror_ranges(struct sw_process *process, struct sw_codemap *codemap);

/*
 * Stops every thread; lets them run again. New threads are caught too; one that sleeps uninterruptibly for longer than
 * 0.2 s (a parent in vfork) is left out of the list. Resuming detaches: signals that came meanwhile are delivered, and
 * a process that was stopped by job control stays so. Suspends of single threads hold beyond a resume.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (no thread could be stopped); SW_E_PERMISSION (also: somebody
 *          else traces it); SW_E_NO_MEMORY; SW_E_OS. After a failure nothing is stopped that was not before.
 * Threads  The one that opened the process. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_stop(struct sw_process *process);
SW_NODISCARD enum sw_status sw_process_resume(struct sw_process *process);

/*
 * The thread ids of a stopped process, ascending; the registers and the name of one thread.
 *
 * Returns  The number of threads. / SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_GONE; SW_E_OS.
 * Threads  The one that opened the process. Signals  Not safe.
 */
size_t sw_process_threads(const struct sw_process *process, uint64_t *tids, size_t capacity);
SW_NODISCARD enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs);
SW_NODISCARD enum sw_status sw_process_thread_name(struct sw_process *process, uint64_t tid, char *name, size_t size);

/*
 * A walker for one stopped thread: its stack from sp to the end of its mapping is copied in one read and served as the
 * window; the copy is replaced by the next call. On ARM64 its pac_mask is what the kernel says of the process.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_GONE.
 * Memory   The copy belongs to the process and grows to the largest stack seen, at most 8 MiB.
 * Threads  The one that opened the process. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_walker(struct sw_process *process, const struct sw_regs *regs,
                                              const struct sw_codemap *codemap, const struct sw_images *images,
                                              struct sw_walker *walker);

/*
 * The process's memory, for anything else. `process` is borrowed.
 *
 * Returns  A reader without a window.
 * Threads  The one that opened the process. Signals  Not safe.
 */
struct sw_memory sw_process_memory(struct sw_process *process);

/*
 * Stops single threads for an engine. `process` is borrowed.
 *
 * Returns  The suspender; current answers 0: the caller is no thread of the target.
 * Threads  The one that opened the process. Signals  Not safe.
 */
struct sw_suspender sw_process_suspender(struct sw_process *process);

#ifdef __cplusplus
}
#endif

#endif
