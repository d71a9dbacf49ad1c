/*
 * A program in the middle of two signals: main has raised one, its handler has made a fault, and the handler of that
 * says so and waits to be looked at. Knows nothing of how it is compiled and linked; with OWN_WALK it walks itself from
 * inside the second handler first, and prints each frame's pc.
 *
 *     nested [alt]     alt: both handlers run on an alternate stack
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef OWN_WALK
#include <snapwalk/image.h>
#include <snapwalk/self.h>
#include <snapwalk/walk.h>

static struct sw_images *images;
static struct sw_scratch scratch;
#endif

#define APART __attribute__((noinline, noclone))
#define STAYS __asm__ volatile("" ::: "memory") /* no tail call: the frame stays */

static volatile int *volatile nowhere;
static char room[1 << 16];

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        abort();
}

static void walk_self(void)
{
#ifdef OWN_WALK
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs here;
    char line[128];
    if (sw_self_walker(&walker, NULL, images) != SW_OK)
        abort();
    walker.budget = SW_WALK_BUDGET_UNLIMITED; /* musl has no tables */
    sw_self_capture(&here);
    sw_walk_start(&walk, &walker, &scratch, &here, false);
    while (sw_walk_next(&walk)) {
        snprintf(line, sizeof line, "own %llx %s %s\n", (unsigned long long)sw_regs_pc(&walk.frame.regs),
                 sw_source_name(walk.frame.source), sw_trust_name(walk.frame.trust));
        say(line);
    }
    snprintf(line, sizeof line, "ended %s\n", sw_stop_name(walk.stop));
    say(line);
#endif
}

APART void report(void)
{
    char line[32];
    walk_self();
    snprintf(line, sizeof line, "ready %d\n", (int)getpid());
    say(line);
    for (;;)
        pause();
}

APART void on_fault(int signal)
{
    (void)signal;
    report();
    STAYS;
}

APART int fault_here(void)
{
    const int value = *nowhere;
    STAYS;
    return value;
}

APART void on_signal(int signal)
{
    (void)signal;
    (void)fault_here();
    STAYS;
}

APART void signal_here(void)
{
    raise(SIGUSR1);
    STAYS;
}

int main(int argc, char **argv)
{
    const int flags = argc > 1 && strcmp(argv[1], "alt") == 0 ? SA_ONSTACK : 0;
    const stack_t other = { .ss_sp = room, .ss_size = sizeof room };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
#ifdef OWN_WALK
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK)
        return 1;
#endif
    prctl(PR_SET_PTRACER, -1, 0, 0, 0); /* whoever looks is no parent */
    alarm(600);
    if (sigaltstack(&other, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    action.sa_handler = on_fault;
    if (sigaction(SIGSEGV, &action, NULL) != 0)
        return 1;
    signal_here();
    return 0;
}
