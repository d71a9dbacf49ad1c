/*
 * A sample stands for the time since its thread was looked at before, so sums are right however many threads there are.
 * Whether it ran is asked of the kernel before the signal, which would make it run. Source: proc(5), stat.
 */
#include "wall.h"
#include "clock.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { VISITS_MAX = 1024 };

static pthread_t thread;
static _Atomic bool ending;
static uint64_t period_ns;
static size_t visits_a_tick;

/* The state stands behind the name, which may hold anything, ")" too. */
static enum signal_purpose state_of(pid_t tid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'R' ? SIGNAL_ON_CPU : SIGNAL_OFF_CPU;
}

static void tick(size_t *cursor)
{
    static struct thread_visit visits[VISITS_MAX];
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const size_t count = threads_visit(visits, visits_a_tick, cursor, now);
    for (size_t i = 0; i < count; i++)
        if (visits[i].last_ns)
            (void)threads_send(visits[i].tid, state_of(visits[i].tid), now - visits[i].last_ns);
}

/* When it is late it does not catch up. */
static void *run(void *arg)
{
    size_t cursor = 0;
    (void)arg;
    threads_exclude();
    (void)pthread_setname_np(pthread_self(), "snapwalk wall");
    for (uint64_t next = clock_ns(CLOCK_MONOTONIC) + period_ns; !atomic_load(&ending); next += period_ns) {
        const struct timespec until = { (time_t)(next / 1000000000), (long)(next % 1000000000) };
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
        tick(&cursor);
        const uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (now > next + period_ns)
            next = now;
    }
    return NULL;
}

bool wall_start(unsigned long hz, unsigned long threads)
{
    period_ns = 1000000000 / hz;
    visits_a_tick = threads < VISITS_MAX ? threads : VISITS_MAX;
    atomic_store(&ending, false);
    return pthread_create(&thread, NULL, run, NULL) == 0;
}

void wall_stop(void)
{
    atomic_store(&ending, true);
    pthread_join(thread, NULL);
}
