/*
 * Stopping threads: the functions by which an engine stops threads of its target, and those for the threads of this
 * process (Linux; Windows on x64).
 */
#ifndef SNAPWALK_SUSPEND_H
#define SNAPWALK_SUSPEND_H

#include <snapwalk/alloc.h>
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
SW_NODISCARD enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                                     struct sw_self_suspender **self);
void sw_self_suspender_destroy(struct sw_self_suspender *self);

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
 * from it.
 *
 * Threads  Any. Signals  current, capture, suspend and resume are safe.
 */
struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *self);

#ifdef __cplusplus
}
#endif

#endif
