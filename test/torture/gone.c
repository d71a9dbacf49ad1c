/*
 * gone WAY ROUNDS [yielding]: threads that walk are cancelled, leave their walks by longjmp from a signal handler, or
 * stay behind at fork, while code map and images change. What readers held that are gone comes back, and nothing is
 * left over.
 *
 * yielding: walks yield the processor when they read memory. Valgrind lets one thread run at a time, until it blocks,
 * yields, or has run for some ten milliseconds; who changes ranges asks the system often which threads there are, and
 * would wait so long for each thread that walks, each time. And there signals are only seen where a thread's turn ends:
 * like this, inside walks.
 */
#include "../support/inside.h"
#include "../support/nap.h"

#include <snapwalk/fork.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, RANGES = 64, STEP = 64, BASE = 0x100000, TURNS = 64, LITTLE = 1 << 20 };

static _Atomic unsigned long walks, left; /* left: walks that longjmp came out of */
static _Atomic bool stop;
static bool is_yielding;
static _Thread_local volatile bool is_walking;

static void walk_once(struct sw_walker *walker, struct sw_scratch *scratch)
{
    struct sw_regs regs;
    struct sw_walk walk;
    sw_self_capture(&regs);
    is_walking = true;
    sw_walk_start(&walk, walker, scratch, &regs, false);
    while (sw_walk_next(&walk))
        continue;
    (void)!sw_codemap_find(scene.codemap, LASTING_BEGIN, NULL);
    is_walking = false;
    walks++;
}

/* ---- threads that walk until they are gone ---- */

static _Thread_local struct sw_scratch own_scratch;
static _Thread_local struct sw_walker own_walker;

static size_t read_and_yield(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_memory memory = sw_self_memory();
    sched_yield();
    return memory.read(arg, address, to, size);
}

/* What sets up is not to be left half done: only walks are. */
static void set_up(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (sw_self_walker(&own_walker, scene.codemap, scene.images) != SW_OK)
        abort();
    if (is_yielding)
        own_walker.memory = (struct sw_memory){ .read = read_and_yield };
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
}

static void walk_on(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    while (!stop)
        walk_once(&own_walker, &own_scratch);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
}

static void *be_cancelled(void *arg)
{
    set_up();
    walk_on();
    return arg;
}

static _Thread_local sigjmp_buf out;
static _Thread_local volatile int jumps;
static _Atomic int ready;

static void jump(int number)
{
    (void)number;
    left += is_walking;
    siglongjmp(out, 1);
}

static void *be_interrupted(void *arg)
{
    const int rounds = *(const int *)arg;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    jumps = 0;
    set_up();
    if (sigsetjmp(out, 1) == 0)
        ready++;
    if (jumps++ < rounds)
        walk_on();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return arg;
}

/* ---- what changes meanwhile ---- */

static struct sw_range range_at(uint64_t i)
{
    return (struct sw_range){ .begin = BASE + i * STEP, .end = BASE + i * STEP + STEP, .id = 2, .kind = SW_KIND_JIT };
}

static bool change_all(void)
{
    for (uint64_t i = 0; i < RANGES; i++) {
        const struct sw_range range = range_at(i);
        if (sw_codemap_add(scene.codemap, &range) != SW_OK)
            return false;
    }
    for (uint64_t i = 0; i < RANGES; i++)
        if (sw_codemap_remove(scene.codemap, BASE + i * STEP) != SW_OK)
            return false;
    return true;
}

/* How much more there is than when the scene was made. */
static long bytes_over(long bytes)
{
    for (int i = 0; i < TURNS; i++)
        if (!change_all() || sw_images_remove(scene.images, 1) != SW_E_NOT_FOUND)
            abort();
    return scene.account.bytes - bytes;
}

static void start(pthread_t *threads, void *(*run)(void *), void *arg)
{
    stop = false;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, arg) != 0)
            abort();
}

static void join(const pthread_t *threads)
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static bool cancel(int rounds)
{
    for (int round = 0; round < rounds; round += THREADS) {
        pthread_t threads[THREADS];
        const unsigned long before = walks;
        start(threads, be_cancelled, NULL);
        while (walks < before + THREADS)
            nap(50);
        for (int i = 0; i < THREADS; i++)
            pthread_cancel(threads[i]);
        if (!change_all())
            return false;
        join(threads);
    }
    return true;
}

static bool jump_out(int rounds)
{
    const struct sigaction action = { .sa_handler = jump, .sa_flags = SA_NODEFER };
    pthread_t threads[THREADS];
    int each = rounds / THREADS;
    sigaction(SIGUSR1, &action, NULL);
    ready = 0;
    start(threads, be_interrupted, &each);
    while (ready < THREADS)
        nap(50);
    for (int round = 0; round < each - 1; round++) {
        nap(200);
        for (int i = 0; i < THREADS; i++)
            pthread_kill(threads[i], SIGUSR1);
        if (!change_all())
            return false;
    }
    stop = true;
    join(threads);
    return true;
}

/* A change may be under way in the parent: then the child may walk, and no more. */
static int be_child(long bytes)
{
    static struct sw_scratch scratch;
    struct sw_walker walker;
    const enum sw_status status = sw_after_fork(scene.codemap, scene.images);
    if (status != SW_OK && status != SW_E_BUSY)
        return 1;
    if (sw_self_walker(&walker, scene.codemap, scene.images) != SW_OK)
        return 2;
    walk_once(&walker, &scratch);
    return status == SW_E_BUSY || bytes_over(bytes) < LITTLE ? 0 : 3;
}

static bool leave_behind(int rounds)
{
    pthread_t threads[THREADS];
    const long bytes = scene.account.bytes;
    bool good = true;
    start(threads, be_cancelled, NULL);
    for (int round = 0; round < rounds && good; round++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0)
            _exit(be_child(bytes));
        good = waitpid(child, &status, 0) == child && status == 0 && change_all();
    }
    stop = true;
    join(threads);
    return good;
}

static const struct way {
    const char *name;
    bool (*run)(int rounds);
} ways[] = { { "cancel", cancel }, { "longjmp", jump_out }, { "fork", leave_behind } };

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? atoi(argv[2]) : 100;
    const struct way *way = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (argc > 1 && strcmp(argv[1], ways[i].name) == 0)
            way = &ways[i];
    is_yielding = argc > 3 && strcmp(argv[3], "yielding") == 0;
    if (!way || !make_scene(0) || !way->run(rounds / 4))
        return 2;
    const struct holdings before = count_holdings();
    const long bytes = scene.account.bytes;
    const bool good = way->run(rounds);
    const long over = bytes_over(bytes);
    free_scene();
    const bool is_clean = nothing_leaked(&before, &scene.account);
    const bool is_left = way->run != jump_out || left > 0;
    printf("%d rounds, %lu walks, %lu left by longjmp, %ld bytes held at the end\n", rounds, walks, left, over);
    return !good || !is_clean || !is_left || over >= LITTLE;
}
