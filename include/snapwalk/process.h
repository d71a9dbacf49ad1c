/*
 * Another process as a target: stopped by ptrace, read in bulk. Linux.
 */
#ifndef SNAPWALK_PROCESS_H
#define SNAPWALK_PROCESS_H

#include <snapwalk/suspend.h>
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
 * The thread ids of a stopped process, ascending; the registers and the name of one thread. A name can be had of a
 * thread that was captured, too.
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
 * Takes down the registers and the stack of every thread as they are at one moment, and lets the process run on: it
 * stands for as long as copying takes, and walks are made afterwards. Replaces what was taken down before, and ends
 * the use of walkers over that. The memory map is read before the stop; sw_process_add_images is best called behind
 * the capture, for code that has come since.
 *
 * stack_bytes  How much of a stack is copied at most, from sp and the red zone below it up; 0: 256 KiB. At most 8 MiB.
 *
 * Returns  As sw_process_stop, and SW_E_BUSY while the process is stopped or a thread suspended. After a failure
 *          nothing is taken down and nothing stopped; after SW_E_GONE from the resume the threads are there.
 * Memory   From the process's allocator, in proportion to the stacks; kept for the next capture.
 * Threads  The one that opened the process. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_process_capture(struct sw_process *process, size_t stack_bytes);

/*
 * The threads taken down, ascending; and a walker for one, over its copied stack, with the registers to start from.
 * Frames are those of the process when it stood. What is not on the stack (code, tables, data) is read from the process
 * as it is when the walk wants it, also when that is gone; what may be another moment's is not readable and cuts a
 * walk: a stack beyond what was copied and, for a thread that is not on its own stack (that of the main thread; else
 * the mapping its thread pointer lies in), all memory of no file. A thread on an alternate signal stack is walked to
 * its own where that is less than stack_bytes deep; one on a stack of a user's making (a coroutine) is walked on that.
 * sw_process_stop has no such limits.
 *
 * regs     Receives the thread's registers.
 * walker   Valid until the next capture, or close.
 *
 * Returns  The number of threads. / SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (not taken down).
 * Threads  The one that opened the process. Signals  Not safe.
 */
size_t sw_process_captured(const struct sw_process *process, uint64_t *tids, size_t capacity);
SW_NODISCARD enum sw_status sw_process_captured_walker(struct sw_process *process, uint64_t tid,
                                                       const struct sw_codemap *codemap,
                                                       const struct sw_images *images, struct sw_regs *regs,
                                                       struct sw_walker *walker);

/*
 * How long the process stood, from before its first thread was stopped until the last one ran: in the last capture or
 * between the last stop of all threads and its end. Suspends of single threads are not counted.
 *
 * Returns  Nanoseconds of a clock that only goes forward; 0: it was not stopped yet.
 * Threads  The one that opened the process. Signals  Not safe.
 */
uint64_t sw_process_stopped_ns(const struct sw_process *process);

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
