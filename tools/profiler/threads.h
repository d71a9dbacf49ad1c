/*
 * The threads of this process: their names, and for CPU time a timer each, which runs only while its thread does. A
 * thread that no event announces (native ones, and those from before an attach) is found by looking.
 */
#ifndef PROFILER_THREADS_H
#define PROFILER_THREADS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { THREAD_NAME = 64 };

/* The signal that samples are taken by, and what its siginfo says: others' are left alone. */
enum signal_purpose { SIGNAL_CPU = 1, SIGNAL_ON_CPU, SIGNAL_OFF_CPU, SIGNAL_TICK, SIGNAL_PURPOSES };

/* Takes a free signal for `handler`. 0: there is none. */
int threads_signal(void (*handler)(int, siginfo_t *, void *));

/*
 * Where handlers return to: the C library's code that ends a signal. A frame there is at that code's first byte, which
 * no call has led to; the frame outside of it was interrupted. 0: not known. Signals: safe.
 */
uint64_t threads_handlers_return(void);

/*
 * What one of our signals is for, and how many nanoseconds it stands for; 0: it is not ours, or one of those ticks that
 * are passed over (the others are SIGNAL_CPU). Signals: safe.
 */
enum signal_purpose threads_purpose(const siginfo_t *about, uint64_t *ns);

/*
 * How threads are sampled every so many nanoseconds of their processor time. The kernel looks at such timers when its
 * clock ticks, and a thread has then gone on from where its timer was due: where work begins and ends between ticks,
 * its beginning was found too rarely (36 % of the samples, where it was half of the time). So a timer is due at each
 * tick that finds its thread running, and where that is too often, samples are chosen of these by chance. What a signal
 * stands for is exact: the processor time since the one before.
 *
 * interval_ns  Of the timer: 1 us; where there are no ticks, the period.
 * tick_us, period_us  Of so many microseconds one tick gives a sample; 0: each.
 */
struct thread_rate {
    uint64_t interval_ns, tick_us, period_us;
};
struct thread_rate threads_rate(uint64_t period_ns, uint64_t tick_ns);

/* What the ticks that were passed over stood for, in nanoseconds, since the last call. Threads: any. */
uint64_t threads_passed_over(void);

/* From now on each thread's CPU time is sampled every so many nanoseconds; 0: no more. */
void threads_set_period(uint64_t period_ns);

/* A thread has begun, or ends: it is forgotten, or if it was sampled after the next threads_sweep. Threads: any. */
void threads_begin(pid_t tid);
void threads_end(pid_t tid);

/* Looks for threads that no event announced, and for ended ones. */
void threads_look(void);

/* Forgets those that had ended at the last call: samples of them were read meanwhile. */
void threads_sweep(void);

/* The kernel's id of the calling thread, without a system call. Signals: safe. */
uint64_t threads_self(void);

/* The profiler's own threads are never sampled: the calling one is such. */
void threads_exclude(void);

/* What the runtime calls a thread. */
void threads_name(pid_t tid, const char *name);

/* The name, or where none was ever seen an empty text. */
void threads_get_name(pid_t tid, char name[THREAD_NAME]);

/* A thread to be looked at, and when it was the last time, by the same clock; 0: never. */
struct thread_visit {
    pid_t tid;
    uint64_t last_ns;
};

/* At most `room` threads, from number `*cursor` on, which moves on; how many. They count as looked at now. */
size_t threads_visit(struct thread_visit visits[], size_t room, size_t *cursor, uint64_t now_ns);

/* Sends a thread our signal; it stands for so many nanoseconds. No purpose: nothing. False: the thread is gone. */
bool threads_send(pid_t tid, enum signal_purpose purpose, uint64_t ns);

/* The calling thread's timer is stopped or runs again. */
void threads_pause(bool paused);

#endif
