/*
 * Loaded into any program (LD_PRELOAD): its busiest thread is interrupted every 250 us and walked by its handler, as a
 * profiler does that knows nothing of the program: no perf map, no ranges, the images that the dynamic linker knows.
 * Another thread sends the signals, does the work that walks have left, and after so many samples prints figures to
 * file 3 and ends the program.
 *
 *     SAMPLES=N     as many, and as many before them to warm up
 *     NO_TABLES=1   as if no image had unwind tables
 *     NO_KEEPING=1  without an analysis cache
 *     NO_BUDGET=1   without a limit
 */
#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Not what a program may use itself: php has SIGPROF. */
#define SIGNAL (SIGRTMIN + 5)

enum {
    EVERY_NS = 250000,
    LOOKS_EVERY = 40,
    MOST_TRIES = 100,
    MOST_FRAMES = 1024,
    PAGE = 4096,
    LONGEST_STACK = 1 << 18,
    KEPT = 1 << 24
};

static struct sw_walker walker;
static struct sw_images *images;
static struct sw_scratch scratch, preparing;
static _Atomic int is_walking;
static _Atomic unsigned taken, wanted;

/* What the handler finds out; all of the second half, but the first walks' worst. */
static struct {
    struct sw_cache_counts warmed;
    double ns, worst, first_worst;
    uint64_t work, frames;
    unsigned walks, roots, cut;
    uint64_t stack_begin, stack_end;
} found;

static double thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The end of what can be read from sp on; the system is asked when sp has left what it said last. */
static void find_stack(uint64_t sp)
{
    const uint64_t page = sp & ~(uint64_t)(PAGE - 1);
    const struct sw_memory memory = sw_self_memory();
    uint64_t word;
    if (page < found.stack_begin || sp >= found.stack_end) {
        found.stack_end = page + PAGE;
        while (found.stack_end - page < LONGEST_STACK &&
               memory.read(memory.arg, found.stack_end, &word, sizeof word) == sizeof word)
            found.stack_end += PAGE;
    }
    found.stack_begin = page;
    walker.memory.window = (struct sw_window){ page, found.stack_end, (const uint8_t *)(uintptr_t)page };
}

static void count(const struct sw_walk *walk, double ns)
{
    if (taken < wanted) {
        found.first_worst = ns > found.first_worst ? ns : found.first_worst;
        return;
    }
    found.walks++;
    found.ns += ns;
    found.worst = ns > found.worst ? ns : found.worst;
    found.work = walk->work > found.work ? walk->work : found.work;
    found.frames += walk->depth;
    found.roots += walk->stop == SW_STOP_ROOT || walk->stop == SW_STOP_ROOT_ZERO || walk->stop == SW_STOP_ROOT_BASE;
    found.cut += walk->stop == SW_STOP_BUDGET;
}

static void on_sample(int number, siginfo_t *info, void *context)
{
    struct sw_regs here;
    struct sw_walk walk;
    (void)number, (void)info;
    const double begin = thread_ns();
    if (taken >= 2 * wanted || atomic_exchange(&is_walking, 1))
        return;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, context, sizeof(ucontext_t), &here) == SW_OK) {
        if (taken == wanted)
            found.warmed = sw_cache_get_counts(walker.cache);
        find_stack(sw_regs_sp(&here));
        sw_walk_start(&walk, &walker, &scratch, &here, true);
        while (sw_walk_next(&walk))
            continue;
        count(&walk, thread_ns() - begin);
        taken++;
    }
    is_walking = 0;
}

/* ---- the thread beside it ---- */

/* The thread, but this one, that has used most processor time since it was looked at last. */
static pid_t busiest(pid_t self)
{
    static struct {
        pid_t tid;
        unsigned long long ns;
    } seen[64];
    char path[64];
    unsigned long long most = 0;
    pid_t chosen = getpid();
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        const pid_t tid = (pid_t)strtol(task->d_name, NULL, 10);
        unsigned long long ns = 0;
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)tid);
        FILE *stat = tid && tid != self ? fopen(path, "re") : NULL;
        if (!stat)
            continue;
        const bool is_read = fscanf(stat, "%llu", &ns) == 1;
        (void)fclose(stat);
        const size_t i = (size_t)tid % 64;
        const unsigned long long used = seen[i].tid == tid ? ns - seen[i].ns : ns;
        seen[i].tid = tid;
        seen[i].ns = ns;
        if (is_read && used >= most) {
            most = used;
            chosen = tid;
        }
    }
    if (tasks)
        closedir(tasks);
    return chosen;
}

static void print_figures(size_t left)
{
    const struct sw_cache_counts now = sw_cache_get_counts(walker.cache), *then = &found.warmed;
    const double hits = (double)(now.hits - then->hits);
    const double misses = (double)(now.absent + now.outdated + now.busy - then->absent - then->outdated - then->busy);
    const double mean = found.ns / found.walks;
    const double kept = 100 * (1 - mean / EVERY_NS);
    FILE *to = fdopen(3, "w");
    if (!to)
        return;
    fprintf(to, "%u %g %g %g %g %g %g %g %g %g %zu\n", found.walks,
            hits + misses > 0 ? 100 * hits / (hits + misses) : 0, kept > 0 ? kept : 0, mean / 1000, found.worst / 1000,
            found.first_worst / 1000, (double)found.work, (double)found.frames / found.walks,
            100.0 * found.roots / found.walks, 100.0 * found.cut / found.walks, left);
    (void)fclose(to);
}

static void sleep_ns(long ns)
{
    const struct timespec some = { 0, ns };
    (void)nanosleep(&some, NULL);
}

/* One sample, and until its walk is over; what does not come in some time is lost. */
static void sample(pid_t process, pid_t tid)
{
    const unsigned before = taken;
    (void)syscall(SYS_tgkill, process, tid, SIGNAL);
    for (unsigned tries = 0; taken == before && tries < MOST_TRIES; tries++)
        sleep_ns(EVERY_NS / 4);
}

/* The program has 250 us between two walks, or it would stand still where they take longer, and all samples be one. */
static void *beside(void *arg)
{
    const pid_t self = (pid_t)syscall(SYS_gettid), process = getpid();
    pid_t chosen = process;
    size_t left = 0;
    (void)arg;
    for (unsigned n = 0; taken < 2 * wanted; n++) {
        if (n % LOOKS_EVERY == 0) {
            chosen = busiest(self);
            left = sw_walk_prepare(&walker, &preparing, SW_WALK_BUDGET_UNLIMITED);
            if (n % (100 * LOOKS_EVERY) == 0 && sw_images_add_self(images) != SW_OK)
                _exit(1);
        }
        sample(process, chosen);
        sleep_ns(EVERY_NS);
    }
    print_figures(left);
    _exit(0);
}

__attribute__((constructor)) static void begin(void)
{
    const struct sigaction action = { .sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    const char *samples = getenv("SAMPLES");
    struct sw_analysis_cache *kept = NULL;
    pthread_t thread;
    sigset_t all, old;
    wanted = samples ? (unsigned)strtoul(samples, NULL, 10) : 0;
    if (!wanted)
        return;
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK ||
        sw_self_walker(&walker, NULL, images) != SW_OK || sw_cache_create(NULL, 1 << 16, &walker.cache) != SW_OK ||
        (!getenv("NO_KEEPING") && sw_analysis_cache_create(NULL, KEPT, &kept) != SW_OK))
        _exit(1);
    walker.analysis_cache = kept;
    walker.max_frames = MOST_FRAMES;
    walker.stack_begin = walker.stack_end = 0;
    walker.flags = getenv("NO_TABLES") ? SW_WALK_NO_TABLES : 0;
    walker.budget = getenv("NO_BUDGET") ? SW_WALK_BUDGET_UNLIMITED : SW_WALK_BUDGET_DEFAULT;
    sigfillset(&all);
    if (sigaction(SIGNAL, &action, NULL) != 0 || pthread_sigmask(SIG_SETMASK, &all, &old) != 0 ||
        pthread_create(&thread, NULL, beside, NULL) != 0 || pthread_sigmask(SIG_SETMASK, &old, NULL) != 0)
        _exit(1);
}
