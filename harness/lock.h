/*
 * A lock that a signal's handler may take, too, and that no stopped thread holds: signals wait while it is held, and
 * threads are stopped by signals.
 */
#ifndef SW_HARNESS_LOCK_H
#define SW_HARNESS_LOCK_H

#include <pthread.h>
#include <signal.h>

static inline void sw_lock_take(pthread_mutex_t *lock, sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, before);
    (void)pthread_mutex_lock(lock);
}

static inline void sw_lock_release(pthread_mutex_t *lock, const sigset_t *before)
{
    (void)pthread_mutex_unlock(lock);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
