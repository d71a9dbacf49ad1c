/*
 * Stopping threads: the functions by which an engine stops threads of its target, and those for the threads of this
 * process (Linux; Windows on x64).
 */
#ifndef SNAPWALK_SUSPEND_H
#define SNAPWALK_SUSPEND_H

#include <snapwalk/alloc.h>
#include <snapwalk/memory.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Stops threads of a target and reads their registers. Made by sw_self_get_suspender, by sw_process_suspender and, for
 * its engine, by a simulation.
 *
 * suspend   Stops the thread and reads its registers; their pc was being executed. After SW_OK the thread does not run
 *           until resume. Suspends nest: n suspends need n resumes. Returns SW_OK; SW_E_GONE; SW_E_BUSY;
 *           SW_E_PERMISSION; SW_E_OS.
 * resume    Undoes one suspend.
 * current   Returns the OS id of the calling thread, or 0 if the caller is not a thread of the target.
 * capture   Reads the registers of the calling thread, for a walk of itself: somewhere inside the caller of capture.
 *           Returns SW_E_UNSUPPORTED if the caller is not a thread of the target.
 * in_system_call  Whether a thread that it has stopped stands in a system call, or in the kernel's dispatch of an
 *           exception: the flavour coreclr-windows refuses to walk a cooperative thread there. May be null: never.
 * wait      Called repeatedly while a call waits for something; `round` counts from 0. May sleep. May be null: then the
 *           waiting loop spins.
 * arg       Passed to each function. Borrowed.
 */
struct sw_suspender {
    enum sw_status (*suspend)(void *arg, uint64_t os_id, struct sw_regs *regs);
    enum sw_status (*resume)(void *arg, uint64_t os_id);
    uint64_t (*current)(void *arg);
    enum sw_status (*capture)(void *arg, struct sw_regs *regs);
    void (*wait)(void *arg, unsigned round);
    void *arg;
    bool (*in_system_call)(void *arg, uint64_t os_id);
};

/*
 * Suspends other threads of this process. It sends each a signal, whose handler waits until the thread is resumed. On
 * Windows it calls SuspendThread, and GetThreadContext, which waits until the thread stands.
 */
struct sw_self_suspender;

/*
 * Makes a suspender and installs the handler of its signal. Destroy resumes threads that are still suspended and
 * restores the former handler. A process may have any number of suspenders, one per signal.
 *
 * signal   A real-time signal without a handler. 0: the first such signal from SIGRTMIN + 6 on. Windows: 0.
 * capacity How many threads can be suspended at once, 1 to 65536. Windows: how many suspends can be in force at once.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (the signal has a handler already); SW_E_NO_MEMORY; SW_E_OS.
 * Threads  Any. Destroy: no other call may be using the suspender. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                                            struct sw_self_suspender **self);
SW_API void sw_self_suspender_destroy(struct sw_self_suspender *self);

/*
 * The functions of a suspender, to put into an engine. `self` is borrowed.
 *
 * suspend  Returns SW_E_GONE if the thread has ended or is not of this process; SW_E_BUSY if the thread does not answer
 *          within a second (it blocks the signal, for example) or `capacity` threads are suspended already;
 *          SW_E_ARGUMENT for the calling thread.
 * resume   Returns SW_E_NOT_FOUND if the thread is not suspended.
 *
 * A suspended thread runs nothing, not even signal handlers. If it was in a system call to which SA_RESTART does not
 * apply, that call may end with EINTR. Two threads that suspend each other at the same time wait for each other, so let
 * only one thread suspend others.
 *
 * On Windows no handler is involved, and threads that something else suspends as well stay suspended until that
 * resumes them. From suspend to resume the caller is bound as a signal handler is: the thread may hold the lock of
 * the heap, the loader or a stream. The registers of a thread in a system call are those with which it will return
 * from it. in_system_call is what Windows reports with the registers (CONTEXT_SERVICE_ACTIVE, _EXCEPTION_ACTIVE); where
 * it reports nothing, as Wine does, a thread counts as in a system call right behind that instruction in ntdll.
 *
 * Threads  Any. Signals  current, capture, suspend and resume are safe.
 */
SW_API struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *self);

/*
 * Lists the threads of this process, ascending, by their ids as sw_self_thread gives them.
 *
 * ids      Receives the first `capacity`. May be null if that is 0.
 * count    Receives how many there are. One that begins or ends meanwhile may count or not.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_OS.
 * Memory   On Windows the system allocates. Threads  Any. Signals  Safe; on Windows not.
 */
SW_API SW_NODISCARD enum sw_status sw_self_threads(uint64_t *ids, size_t capacity, size_t *count);

/*
 * Finds the bounds of the stack that a thread of this process is on: of its fiber, where it has one. For a walker's
 * stack_begin and stack_end, or a row of the thread table. If the thread runs, it may be on another stack afterwards.
 *
 * os_id    As sw_self_thread gives it.
 * begin    Receives the lowest address that is in use. end: one past the highest address.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_GONE; SW_E_PERMISSION; SW_E_OS; SW_E_MALFORMED (its bounds make no sense);
 *          SW_E_UNSUPPORTED (not on Windows: only the thread itself knows).
 * Memory   None. Threads  Any. Signals  Safe, also while the thread stands suspended.
 */
SW_API SW_NODISCARD enum sw_status sw_self_thread_stack(uint64_t os_id, uint64_t *begin, uint64_t *end);

/*
 * How far the part [from, end) of a stack of this process may be loaded from directly. On Linux all of it is mapped.
 * On Windows up to what is not committed, or a guard page, which a load would take away.
 *
 * arg      Ignored: for struct sw_engine.
 *
 * Returns  The end; from: nothing. Memory  None. Threads  Any. Signals  Safe, also while the thread stands suspended.
 */
SW_API uint64_t sw_self_loadable(void *arg, uint64_t from, uint64_t end);

/*
 * The part of a stack that a walk from these registers may load directly, in this process: from the page of sp as far
 * as sw_self_loadable says. For the window of a walker that walks a suspended thread. What is below sp is no frame's,
 * but a walk by the rule cache is fast only where it may load some words there.
 *
 * begin, end  The bounds of the stack that the thread is on.
 *
 * Returns  The window; empty where sp is not between them. Threads  Any. Signals  Safe.
 */
static inline struct sw_window sw_self_window(const struct sw_regs *regs, uint64_t begin, uint64_t end)
{
    struct sw_window window = { 0, 0, NULL };
    const uint64_t sp = sw_regs_sp(regs), page = sp & ~UINT64_C(4095);
    if (sp < begin || sp >= end)
        return window;
    window.end = sw_self_loadable(NULL, sp, end);
    window.begin = window.end == sp ? sp : page > begin ? page : begin;
    window.bytes = (const uint8_t *)(uintptr_t)window.begin;
    return window;
}

#ifdef __cplusplus
}
#endif

#endif
