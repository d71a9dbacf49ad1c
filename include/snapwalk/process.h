/*
 * Another process as a target: stopped, its stacks copied. Linux, by ptrace; Windows on x64, by SuspendThread.
 *
 * What is different on Windows: suspensions belong to the thread, and Windows does not undo them when this program is
 * ended between stop and resume, so prefer sw_process_capture, which stops for as long as copying takes. No system call
 * is interrupted, and a thread in one counts as stopped: none is left out but for want of rights. A debugger is in
 * nobody's way. Images are files where those are the ones that are mapped, else copies of memory. sw_process_walker
 * finds the stack's bounds among the threads that are stopped. sw_process_capture_asleep is SW_E_UNSUPPORTED, and
 * sw_process_mirror_ranges adds nothing. A call may come from any thread; the library starts none.
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
 * Opens a process by its id. Nothing is stopped yet. Close resumes the process and detaches; NULL is allowed.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (also: the process is this one); SW_E_GONE; SW_E_PERMISSION; SW_E_NO_MEMORY; SW_E_OS;
 *          SW_E_UNSUPPORTED (a 32-bit process or a kernel thread).
 * Threads  Any thread; one call on a process at a time. A stop starts a thread of the library, and that a process,
 *          "snapwalk-tracer" in ps, which shares the caller's memory and files and traces. So the caller gets no
 *          SIGCHLD for stops, and waitpid(-1) no reports of them; of the tracer's end neither, but for waits with
 *          __WALL or __WCLONE. Both end with a capture, a resume, or close, and with the caller, however that ends;
 *          a process that outlived it for a moment still holds the target. Where Yama lets an unprivileged caller
 *          trace its children only, the thread traces, and the caller does see stops. A caller that gives up rights
 *          (setuid) does so while nothing is stopped. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_open(const struct sw_alloc *alloc, int pid, struct sw_process **process);
SW_API void sw_process_close(struct sw_process *process);

/*
 * Why a call on a process returned SW_E_PERMISSION or SW_E_UNSUPPORTED, as far as /proc tells, and as a sentence with
 * what to do about it. NONE: nothing is known to be in the way. FILTER: nothing but a seccomp filter of this program.
 *
 * tracer   Receives the process that traces it, 0: none; may be null.
 *
 * Returns  The obstacle; a constant string, "?" out of range. Memory  Static. Threads  Any. Signals  Not safe.
 */
enum sw_process_obstacle {
    SW_OBSTACLE_NONE,
    SW_OBSTACLE_TRACED,
    SW_OBSTACLE_OTHER_USER,
    SW_OBSTACLE_MORE_RIGHTS,
    SW_OBSTACLE_SCOPE,
    SW_OBSTACLE_POLICY,
    SW_OBSTACLE_KERNEL,
    SW_OBSTACLE_FILTER,
};
SW_API enum sw_process_obstacle sw_process_find_obstacle(int pid, int *tracer);
SW_API const char *sw_process_obstacle_text(enum sw_process_obstacle obstacle);

/*
 * What a failure of a call on a process means, and what to do about it, as a sentence; of SW_E_PERMISSION the
 * obstacle's. After SW_E_PERMISSION and SW_E_OS errno is that of the system call that failed; on Windows ask
 * GetLastError.
 *
 * error    That number for SW_E_OS; 0: not known.
 *
 * Returns  A constant string; of statuses that no such call returns the name. Memory  Static. Threads  Any.
 * Signals  Not safe.
 */
SW_API const char *sw_process_advice(int pid, enum sw_status status, int error);

/*
 * Reads the memory map of the process, registers the images in it (ELF files, the vdso, ReadyToRun images), and removes
 * images that are gone. Cheap if nothing changed. A deleted file is found if the caller may open /proc/PID/map_files.
 * Otherwise it is left out (sw_process_get_replaced): no tables are better than those of another file. Files are looked
 * up in the process's root and mounts, not in the caller's. What is no regular file is not opened.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (another writer is changing `images`); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS. A bad image is left out.
 * Memory   From the allocator of `images`. Files stay mapped as long as their image is registered.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_add_images(struct sw_process *process, struct sw_images *images);

/*
 * A file with code that the process has mapped and the last sw_process_add_images left out, by its number from 0: a
 * library that was upgraded or built again meanwhile. At its path is another file (by the kernel's mark or the build
 * ids), or none. Where the caller may open /proc/PID/map_files, the mapped file itself is used and not listed; so is
 * the program's own file always. On Windows there is none.
 *
 * Returns  False past the last file.
 * Memory   path is borrowed until the next sw_process_add_images, or close. Threads  One call on a process at a time.
 * Signals  Not safe.
 */
struct sw_replaced_file {
    const char *path;
    uint64_t address; /* where its first byte is mapped */
    bool is_there;    /* another file is at its path */
};
SW_API bool sw_process_get_replaced(const struct sw_process *process, size_t number, struct sw_replaced_file *file);

/*
 * Adds ranges to a code map for code that the process has mapped twice. V8 maps its built-in functions again near its
 * JIT code and executes them there, but its perf map has their first addresses. The call reads the memory map. Call it
 * again when the perf map has grown. Existing ranges stay.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (another writer is changing `codemap`); SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_mirror_ranges(struct sw_process *process, struct sw_codemap *codemap);

/*
 * Stops every thread of the process; lets them run again. Stop includes threads that are created meanwhile. A thread
 * that sleeps uninterruptibly (a parent in vfork), or runs in the kernel, is waited for up to about 20 ms and then left
 * out of the list (sw_process_left_out); one that has slept since the last stop is not waited for again. The others
 * stand meanwhile. Resume detaches: signals that came meanwhile are delivered, and a process that job control had
 * stopped stays stopped. Threads that a suspender has suspended one by one stay suspended.
 *
 * Nothing stays traced after a resume, a failure or close, and nothing stands or is lost if this program is killed. But
 * a thread that was left out stays traced, running, as long as single threads are suspended.
 *
 * A stop is seen by some system calls that were sleeping: those that signal(7) lists as never restarted after a stop
 * (epoll_wait, semop, sigtimedwait, recv with a timeout) return EINTR. This is the nature of ptrace.
 * sw_process_capture_asleep does without.
 *
 * Others go on by restart_syscall(2) after a stop (nanosleep, poll, a futex with a timeout), which would end a process
 * whose own seccomp filter does not know that call. Where its main thread has a filter, a thread that sleeps in such a
 * call is not stopped, but counts as if it were: it has the registers that sw_process_capture_asleep has. It may wake.
 * sw_process_regs, a capture and the suspender find that out, and stop it then; a walk at that moment may go astray. On
 * ARM64 a thread that begins such a call just when it is stopped goes on by restart_syscall nevertheless.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_BUSY (no thread could be stopped); SW_E_PERMISSION (also: another
 *          process traces it); SW_E_NO_MEMORY; SW_E_OS. After a failure only what was stopped before is stopped.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_stop(struct sw_process *process);
SW_API SW_NODISCARD enum sw_status sw_process_resume(struct sw_process *process);

/*
 * Lists the threads that the last stop or capture has left out, ascending, and says why. They were there, but cannot be
 * walked: without this list nobody would see that they are missing.
 *
 *   SLEEPS  In uninterruptible sleep, "D" in ps: waits for a disk or a network file system, or for the child of its
 *           vfork. sw_process_capture leaves out only those that woke up meanwhile, or of which the kernel does not
 *           tell.
 *   STAYS   Was in the kernel, in a long system call, or had no processor, and did not stop in time.
 *   RUNS    In sw_process_capture_asleep: it ran, or woke up meanwhile.
 *
 * threads  Receives the first `capacity`.
 *
 * Returns  sw_process_left_out: how many there are. After a failure of the stop (SW_E_BUSY: no thread could be stopped)
 *          as far as it came. sw_left_out_text: words for a person; a constant string, "?" out of range.
 * Memory   From the process's allocator. Threads  One call on a process at a time. Signals  Not safe.
 */
enum sw_left_out_why { SW_LEFT_OUT_SLEEPS, SW_LEFT_OUT_STAYS, SW_LEFT_OUT_RUNS };
struct sw_left_out {
    uint64_t tid;
    enum sw_left_out_why why;
};
SW_API size_t sw_process_left_out(const struct sw_process *process, struct sw_left_out *threads, size_t capacity);
SW_API const char *sw_left_out_text(enum sw_left_out_why why);

/*
 * sw_process_threads lists the thread ids of a stopped process, ascending. The others read the registers and the name
 * of one of its threads. The name of a captured thread, as it was then, or of one that was left out, can be read too.
 *
 * tids     Receives the first `capacity` ids.
 * name     Receives a NUL-terminated string, cut to size - 1 bytes.
 *
 * Returns  sw_process_threads: the number of threads. The others: SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND; SW_E_GONE;
 *          SW_E_OS.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API size_t sw_process_threads(const struct sw_process *process, uint64_t *tids, size_t capacity);
SW_API SW_NODISCARD enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs);
SW_API SW_NODISCARD enum sw_status sw_process_thread_name(struct sw_process *process, uint64_t tid, char *name,
                                                          size_t size);

/*
 * For a debugger that has stopped the whole process itself and holds its threads: from now on the process counts as
 * stopped, as after sw_process_stop. The library attaches to nothing, stops nothing and resumes nothing; the caller has
 * the registers. At each stop:
 *
 *     sw_process_adopt_stop(process, 0);
 *     ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &record);                        // of each thread
 *     sw_context_load(SW_CONTEXT_USER_REGS, machine, record.iov_base, record.iov_len, &regs);
 *     sw_process_walker(process, &regs, codemap, images, &walker);
 *     sw_process_resume(process);                                                 // before the caller resumes it
 *
 * Until then a second call begins the stop anew: for when the caller has let threads run, or has written to memory.
 *
 * stack_bytes  How much of a stack sw_process_walker copies, as for sw_process_capture. 0: 256 KiB. At most 8 MiB.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (the library has stopped threads of it itself); SW_E_GONE; SW_E_PERMISSION;
 *          SW_E_NO_MEMORY; SW_E_OS; SW_E_UNSUPPORTED (on Windows). sw_process_stop, captures and the suspender are
 *          SW_E_BUSY meanwhile, sw_process_threads lists none.
 * Threads  One call on a process at a time; on ARM64 from the thread that traces, which alone can ask the kernel for
 *          the mask of signed addresses. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_adopt_stop(struct sw_process *process, size_t stack_bytes);

/*
 * Makes a walker for one stopped thread. From sp on its stack is copied, up to 256 KiB or what sw_process_adopt_stop
 * was told, and is the walker's window. Memory map, stacks and pages are read once in a stop of the whole process: what
 * a caller writes to its memory meanwhile, walks may not see. The next call may move the copy. On ARM64 the walker has
 * the pac_mask that the kernel reports. Its budget is SW_WALK_BUDGET_UNLIMITED.
 *
 * regs     The registers of the thread.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY; SW_E_GONE.
 * Memory   The copies belong to `process`, at most 64 MiB, and 2 MiB for pages. Reused in the next stop.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_walker(struct sw_process *process, const struct sw_regs *regs,
                                                     const struct sw_codemap *codemap, const struct sw_images *images,
                                                     struct sw_walker *walker);

/*
 * Captures the registers and the stack of every thread at one moment, and lets the process run on. Threads that do not
 * stop are left out, as by sw_process_stop, and listed (sw_process_left_out). One in uninterruptible sleep does not
 * stop, and its stack does not change: it is captured as by sw_process_capture_asleep. The process stands only while
 * its stacks are copied; walks are made afterwards. A capture replaces the previous one, whose walkers must not be used
 * any more. The memory map is read before the stop. So call sw_process_add_images after the capture, for code that was
 * loaded since. If the process begins another program after the capture (execve), calls that read its memory map return
 * SW_E_GONE until it is captured again, or stopped.
 *
 * stack_bytes  How much of each stack is copied at most, from the red zone below sp upwards. 0: 256 KiB. At most 8 MiB.
 *
 * Returns  As sw_process_stop; also SW_E_BUSY if the process is stopped or a thread is suspended. After a failure
 *          nothing is captured and nothing is stopped, except that the threads are captured if the resume returned
 *          SW_E_GONE.
 * Memory   From the process's allocator, in proportion to the stacks. Reused by the next capture.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_capture(struct sw_process *process, size_t stack_bytes);

/*
 * Captures the threads that sleep in the kernel, without stopping the process: no system call of theirs is interrupted,
 * and nothing of it stands. Threads that run are left out, and so are those that woke up meanwhile
 * (sw_process_left_out); each captured one is of a moment of its own. A thread in uninterruptible sleep is captured,
 * too.
 *
 * Only pc, sp and, on x64, the arguments of the system call are known. A caller that is found by another register ends
 * the walk, unless a callee has saved it. A thread other than the main one, of a C library that gives threads no list
 * of robust mutexes (musl), counts as not on its own stack (sw_process_captured).
 *
 * stack_bytes  As for sw_process_capture.
 *
 * Returns  SW_OK, also if no thread sleeps; SW_E_ARGUMENT; SW_E_BUSY (the process is stopped, or a thread suspended);
 *          SW_E_GONE; SW_E_PERMISSION; SW_E_NO_MEMORY; SW_E_OS; SW_E_UNSUPPORTED (a kernel without /proc/PID/syscall or
 *          schedstat). After a failure nothing is captured.
 * Memory   As sw_process_capture.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_capture_asleep(struct sw_process *process, size_t stack_bytes);

/*
 * sw_process_captured lists the captured threads, ascending. sw_process_captured_walker makes a walker for one of them,
 * over its copied stack, and gives the registers to start from. The walker's budget is SW_WALK_BUDGET_UNLIMITED.
 *
 * The frames are those of the moment of the capture. Code, tables and data are not copied: the walk reads them from the
 * process as it is then; it may even have ended. Memory that may have changed since is unreadable, and cuts a walk: a
 * stack beyond the copied part; and, for a thread that is not on its own stack, all memory without a file. (Its own
 * stack is the main stack for the main thread; otherwise the mapping that its thread pointer is in.) A thread on an
 * alternate signal stack is walked on to its own stack if that is less than stack_bytes deep. A thread on a stack that
 * the program made (a coroutine) is walked on that stack. sw_process_stop has no such limits.
 *
 * tids     Receives the first `capacity` ids.
 * regs     Receives the thread's registers.
 * walker   Valid until the next capture or close.
 *
 * Returns  sw_process_captured: the number of threads. The other: SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (not captured).
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API size_t sw_process_captured(const struct sw_process *process, uint64_t *tids, size_t capacity);
SW_API SW_NODISCARD enum sw_status sw_process_captured_walker(struct sw_process *process, uint64_t tid,
                                                              const struct sw_codemap *codemap,
                                                              const struct sw_images *images, struct sw_regs *regs,
                                                              struct sw_walker *walker);

/*
 * As sw_process_add_images, for walks of the last capture only: of the images that are not registered yet it opens
 * those that a captured thread's pc, link register or a word of its copied stacks leads into. That is all that return
 * addresses lead to, so that walks are the same; and it is a few of the hundred files that a program has mapped. Where
 * a walk still meets code in no image, and where images are asked for symbols, call sw_process_add_images.
 *
 * Their files stay open, up to 256 of them, and are read where a walk or a name needs them, which takes a third of the
 * time. So of a file that is cut short before that walk, tables are missing: a walk by it ends or guesses.
 *
 * sw_process_get_replaced lists files among those only. On Windows all images are registered.
 *
 * Returns  As sw_process_add_images.
 * Memory   As that. Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_add_captured_images(struct sw_process *process, struct sw_images *images);

/*
 * A reader of the process's memory as the walkers of the last capture read what is not copied: a page is read from the
 * process once, and kept until the next capture. sw_process_add_images forgets the pages if the memory map has changed,
 * on Windows always. Names of captured frames are read faster by it than by sw_process_memory, which always asks the
 * process. `process` is borrowed.
 *
 * Returns  A reader without a window. Before the first capture it keeps nothing.
 * Memory   2 MiB for the pages, from the process's allocator, at the first capture; without it, nothing is kept.
 * Threads  Reads, and walks of captured threads: any number at once. Not beside another call on the process.
 * Signals  Not safe.
 */
SW_API struct sw_memory sw_process_captured_memory(struct sw_process *process);

/*
 * A reader of the process's memory while it stands, stopped as a whole or adopted: as the walkers of the stop read what
 * is not copied, a page is read from the process once, and kept until the stop ends or is adopted anew. Of a process
 * that runs, and on Windows, it always asks the process, as sw_process_memory does. `process` is borrowed.
 *
 * Returns  A reader without a window.
 * Memory   The 2 MiB for pages that sw_process_walker has.
 * Threads  One call on a process at a time, or one read. Signals  Not safe.
 */
SW_API struct sw_memory sw_process_stopped_memory(struct sw_process *process);

/*
 * Whether the process still executes the program that it was captured in: false after an execve, for one that has
 * ended, and without a capture. For a caller that stops a process after a capture, to look at more of the same. On
 * Windows a process has one program only.
 *
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API bool sw_process_executes_captured(const struct sw_process *process);

/*
 * The name of what is mapped at an address, by the memory map that captured walks go by, as /proc/PID/maps has it: the
 * path of a file, which may end in " (deleted)"; "/memfd:NAME (deleted)" for memory that was given a name; "[stack]".
 *
 * name, size   Receives at most size - 1 characters and a 0. Empty: the memory has no name.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (nothing is mapped there); SW_E_LIMIT (the name is longer); otherwise
 *          as sw_process_add_captured_images. On Windows SW_E_UNSUPPORTED.
 * Memory   As sw_process_add_images, where the map has to be read. Threads  One call on a process at a time.
 * Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_process_mapped_name(struct sw_process *process, uint64_t address, char *name,
                                                          size_t size);

/*
 * How long the process stood, from before its first thread was stopped until the last one ran again: in the last
 * capture, or between the last sw_process_stop and its resume. Suspends of single threads do not count.
 *
 * Returns  Nanoseconds of a monotonic clock; 0: the process was not stopped yet.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API uint64_t sw_process_stopped_ns(const struct sw_process *process);

/*
 * Whether a process had begun at a time. What it wrote is no older: an older file is of an earlier process with its
 * number.
 *
 * pid          The id of the process in the caller's namespace; 0: the caller's own.
 * seconds      Of CLOCK_REALTIME, since 1970, and nanoseconds of that second, below 1,000,000,000: a file's st_mtim.
 *
 * Returns      True also where it began up to 20 ms later, which the kernel's clock does not tell. False also: there is
 *              no such process.
 * Threads      Any.  Signals  Not safe.  Memory  700 bytes of stack.
 * Source       proc(5), /proc/pid/stat, starttime, in ticks since the system was started; GetProcessTimes, Microsoft
 *              Learn.
 */
SW_API bool sw_process_began_by(int pid, int64_t seconds, uint32_t nanoseconds);

/*
 * A reader of the process's memory, for other uses. `process` is borrowed.
 *
 * Returns  A reader without a window.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API struct sw_memory sw_process_memory(struct sw_process *process);

/*
 * A suspender for single threads of the process, for an engine. `process` is borrowed.
 *
 * Returns  The suspender. Its current returns 0, because the caller is not a thread of the target.
 * Threads  One call on a process at a time. Signals  Not safe.
 */
SW_API struct sw_suspender sw_process_suspender(struct sw_process *process);

#ifdef __cplusplus
}
#endif

#endif
