/*
 * kill COUNT: the tool that looks is killed COUNT times, at random moments, while another process gets queued signals
 * all the time. No signal may be lost, and nothing may stand afterwards.
 */
#include "../support/nap.h"

#include <snapwalk/process.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SIGNALS = 4, BURST = 16, PENDING = 256 };

/* sent: by the flood, per signal. got: by the target. turns: of each of its threads. */
struct shared {
    _Atomic uint64_t sent, got;
    _Atomic uint64_t turns[THREADS];
    _Atomic bool enough;
};

static struct shared *shared;

static void count_signal(int number)
{
    (void)number;
    shared->got++;
}

static void *live(void *turns)
{
    for (;;) {
        ++*(_Atomic uint64_t *)turns;
        nap(50);
    }
    return NULL;
}

static void be_target(void)
{
    struct sigaction action = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(SIGRTMIN + i, &action, NULL);
    for (size_t i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, live, &shared->turns[i]);
    live(&shared->turns[0]);
}

/* Queued signals are not merged: each that could be sent has to come in. */
static void be_flood(pid_t target)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; !shared->enough; i++) {
        if (sigqueue(target, SIGRTMIN + (int)(i % SIGNALS), (union sigval){ 0 }) == 0)
            shared->sent++;
        if (i % BURST == 0)
            nap(100); /* the target is to get on, too */
        while (shared->sent > shared->got + PENDING && !shared->enough)
            nap(100); /* all of a user's processes share the room for pending signals */
    }
    _exit(0);
}

static void be_tool(pid_t target)
{
    struct sw_process *process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sw_process_open(NULL, target, &process) != SW_OK)
        _exit(1);
    while (sw_process_capture(process, 0) <= SW_OK)
        continue;
    _exit(2);
}

static bool moves(size_t thread)
{
    const uint64_t before = shared->turns[thread];
    for (int i = 0; i < 10000 && shared->turns[thread] == before; i++)
        nap(1000);
    return shared->turns[thread] != before;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 300;
    unsigned stand = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    const pid_t target = fork();
    if (target == 0)
        be_target();
    for (size_t i = 0; i < THREADS; i++)
        moves(i);
    const pid_t flood = fork();
    if (flood == 0)
        be_flood(target);
    srand(1);
    for (int i = 0; i < rounds; i++) {
        const pid_t tool = fork();
        if (tool == 0)
            be_tool(target);
        nap(1000 + rand() % 60000);
        kill(tool, SIGKILL);
        waitpid(tool, NULL, 0);
        for (size_t t = 0; t < THREADS; t++)
            stand += !moves(t);
    }
    shared->enough = true;
    waitpid(flood, NULL, 0);
    for (int i = 0; i < 3000 && shared->got < shared->sent; i++)
        nap(1000);
    const long long lost = (long long)(shared->sent - shared->got);
    kill(target, SIGKILL);
    waitpid(target, NULL, 0);
    printf("%d kills, %lld of %llu signals lost, %u threads stood\n", rounds, lost, (unsigned long long)shared->sent,
           stand);
    return lost != 0 || stand != 0;
}
