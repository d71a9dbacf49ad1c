/* See inside.h. */
#include "inside.h"

#include <snapwalk/context.h>
#include <snapwalk/image.h>

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { MAPS_MAY_VARY = 64, CACHE_ENTRIES = 4096, ANALYSIS_BYTES = 1 << 20 };

struct sampled sampled;
struct scene scene;

/* One thread's; a handler that interrupts another one has scratch of its own. */
static _Thread_local struct {
    struct sw_walker walker;
    struct sw_scratch scratch[2];
    volatile int depth;
    timer_t timer;
} own;

static void *account_get(void *arg, size_t size)
{
    struct account *account = arg;
    const long call = ++account->calls;
    void *block = call == account->fail_at ? NULL : malloc(size);
    if (block) {
        account->blocks++;
        account->bytes += (long)size;
    }
    return block;
}

static void account_put(void *arg, void *block, size_t size)
{
    struct account *account = arg;
    account->blocks--;
    account->bytes -= (long)size;
    free(block);
}

struct sw_alloc account_alloc(struct account *account)
{
    return (struct sw_alloc){ account_get, account_put, account };
}

static unsigned count_lines(const char *path)
{
    unsigned lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = getc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

struct holdings count_holdings(void)
{
    struct holdings held = { 0, count_lines("/proc/self/maps") };
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        held.files++;
    if (folder)
        closedir(folder);
    return held;
}

bool nothing_leaked(const struct holdings *before, const struct account *account)
{
    const struct holdings now = count_holdings();
    if (now.files == before->files && now.maps <= before->maps + MAPS_MAY_VARY && account->blocks == 0 &&
        account->bytes == 0)
        return true;
    printf("%u files (%u before), %u maps (%u), %ld blocks, %ld bytes\n", now.files, before->files, now.maps,
           before->maps, (long)account->blocks, (long)account->bytes);
    return false;
}

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void note_end(const struct sw_walk *walk)
{
    const bool is_whole = walk->stop >= SW_STOP_ROOT && walk->stop <= SW_STOP_ROOT_BASE;
    sampled.samples++;
    sampled.frames += walk->depth;
    sampled.whole += is_whole;
    sampled.cut += !is_whole;
    if (!is_whole && sampled.first_cut == 0)
        sampled.first_cut = (int)walk->stop;
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    const int depth = own.depth++;
    struct sw_regs regs;
    struct sw_walk walk;
    (void)number;
    (void)info;
    if (depth < 2 &&
        sw_context_load(SW_CONTEXT_UCONTEXT, own.walker.machine, context, sizeof(ucontext_t), &regs) == SW_OK) {
        sw_walk_start(&walk, &own.walker, &own.scratch[depth], &regs, true);
        while (sw_walk_next(&walk))
            continue;
        note_end(&walk);
        sampled.nested += depth > 0;
    }
    sampled.lost += scene.codemap && sw_codemap_find(scene.codemap, LASTING_BEGIN, NULL) != SW_OK;
    own.depth = depth;
}

void begin_sampling(bool any_stack)
{
    const struct sigaction action = { .sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF };
    const struct itimerspec tick = { { 0, scene.period_us * 1000 }, { 0, scene.period_us * 1000 } };
    own.depth = 0;
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    sigaction(SIGPROF, &action, NULL);
    if (sw_self_walker(&own.walker, scene.codemap, scene.images) != SW_OK)
        abort();
    own.walker.cache = scene.cache;
    own.walker.analysis_cache = scene.analysis;
    if (any_stack) {
        own.walker.stack_begin = own.walker.stack_end = 0;
        own.walker.memory.window = (struct sw_window){ 0 };
    }
    if (timer_create(CLOCK_MONOTONIC, &event, &own.timer) != 0 || timer_settime(own.timer, 0, &tick, NULL) != 0)
        abort();
}

/* A signal of a timer that is gone may still be pending: it comes in before the thread goes on. */
void end_sampling(void)
{
    sigset_t tick, before;
    const struct timespec none = { 0 };
    sigemptyset(&tick);
    sigaddset(&tick, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &tick, &before);
    timer_delete(own.timer);
    while (sigtimedwait(&tick, NULL, &none) > 0)
        continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool make_scene(long period_us)
{
    const struct sw_alloc alloc = account_alloc(&scene.account);
    const struct sw_range lasting = { .begin = LASTING_BEGIN, .end = LASTING_END, .id = 1, .kind = SW_KIND_JIT };
    scene.period_us = period_us;
    return sw_codemap_create(&alloc, &scene.codemap) == SW_OK && sw_images_create(&alloc, &scene.images) == SW_OK &&
           sw_cache_create(&alloc, CACHE_ENTRIES, &scene.cache) == SW_OK &&
           sw_analysis_cache_create(&alloc, ANALYSIS_BYTES, &scene.analysis) == SW_OK &&
           sw_codemap_add(scene.codemap, &lasting) == SW_OK && sw_images_add_self(scene.images) == SW_OK;
}

void free_scene(void)
{
    sw_cache_destroy(scene.cache);
    sw_analysis_cache_destroy(scene.analysis);
    sw_codemap_destroy(scene.codemap);
    sw_images_destroy(scene.images);
    scene.cache = NULL;
    scene.analysis = NULL;
    scene.codemap = NULL;
    scene.images = NULL;
}
