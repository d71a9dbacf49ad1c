/*
 * How threads of a target are stopped and looked at; and a suspender for the threads of this process. Linux.
 */
#ifndef SNAPWALK_SUSPEND_H
#define SNAPWALK_SUSPEND_H

#include <snapwalk/alloc.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How threads of a target are stopped and looked at. Implementations: sw_self_suspender, sw_process_suspender,
 * sw_sim_suspender.
 *
 * suspend   Stops the thread and gives its registers (pc executing). SW_OK, SW_E_GONE, SW_E_BUSY, SW_E_PERMISSION,
 *           SW_E_OS. After SW_OK it does not run until resume. Nests: n suspends need n resumes.
 * resume    Undoes one suspend.
 * current   The OS id of the calling thread, or 0 when the caller is no thread of the target.
 * capture   Registers of the calling thread, to walk itself: somewhere inside the caller of this call.
 *           SW_E_UNSUPPORTED when the caller is no thread of the target.
 * wait      Called again and again while something is waited for; `round` counts from 0. May sleep; may be null
 *           (then the waiting loop spins).
 * arg       Borrowed; handed to each.
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
 * A suspender for other threads of this process, by a signal whose handler parks the thread. At most `capacity`
 * threads suspended at once.
 */
struct sw_self_suspender;

/*
 * Installs the signal's handler; destroy puts back what was there. One suspender per signal, any number per process.
 *
 * signal   A real-time signal that nothing handles; 0 for the first such one from SIGRTMIN + 6 on.
 * capacity 1 to 65536: threads suspended at once.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_BUSY (the signal has a handler already); SW_E_NO_MEMORY; SW_E_OS.
 * Threads  Any; destroy: nobody may be inside, threads that are still suspended are resumed. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_self_suspender_create(const struct sw_alloc *alloc, int signal, size_t capacity,
                                                     struct sw_self_suspender **self);
void sw_self_suspender_destroy(struct sw_self_suspender *self);

/*
 * The suspender's functions, to put into an engine. `self` is borrowed.
 *
 * suspend answers SW_E_GONE for a thread that has ended or is none of this process, SW_E_BUSY when the thread does not
 * answer within a second (it blocks the signal, say) or all slots are taken, SW_E_ARGUMENT for the calling thread
 * itself; resume SW_E_NOT_FOUND for a thread that is not suspended. A suspended thread runs nothing, signal handlers
 * neither; a system call that it was in may end with EINTR where SA_RESTART does not apply. Two threads that suspend
 * each other at once wait for each other: let one thread do it.
 *
 * Threads  Any. Signals  current, capture, suspend and resume are safe.
 */
struct sw_suspender sw_self_get_suspender(struct sw_self_suspender *self);

#ifdef __cplusplus
}
#endif

#endif
