/*
 * Samples the other threads of its process, as a profiler on Windows does: each is suspended wherever it is, walked,
 * and resumed. Everything that allocates is done before: between suspend and resume the heap, the loader and the
 * streams are not to be used, because the thread may hold their locks.
 */
#include <windows.h>

#include <snapwalk/follow.h>
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 2, ROUNDS = 500, THREADS_MAX = 256, ENTRIES = 4096 };

static struct sw_scratch scratch;
static volatile LONG running = 1;

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static DWORD WINAPI work(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    while (running) {
        int *numbers = malloc(1000 * sizeof *numbers);
        for (int i = 0; numbers && i < 1000; i++)
            numbers[i] = (int)(seed = seed * 1664525u + 1013904223u);
        if (numbers)
            qsort(numbers, 1000, sizeof *numbers, compare);
        free(numbers);
    }
    return 0;
}

/* Frames of a thread that stands; 0 where the walk was cut. */
static uint32_t walk_stopped(const struct sw_walker *base, uint64_t id, const struct sw_regs *regs)
{
    struct sw_walker walker = *base;
    struct sw_walk walk;
    if (sw_self_thread_stack(id, &walker.stack_begin, &walker.stack_end) != SW_OK)
        return 0;
    walker.memory.window = sw_self_window(regs, walker.stack_begin, walker.stack_end);
    sw_walk_start(&walk, &walker, &scratch, regs, true);
    while (sw_walk_next(&walk))
        ;
    return walk.stop >= SW_STOP_ROOT && walk.stop <= SW_STOP_ROOT_BASE ? walk.depth : 0;
}

struct sums {
    unsigned long long samples, complete, frames;
};

static void sample(const struct sw_suspender *s, const struct sw_walker *walker, uint64_t id, struct sums *sums)
{
    struct sw_regs regs;
    if (id == GetCurrentThreadId() || s->suspend(s->arg, id, &regs) != SW_OK)
        return;
    const uint32_t frames = walk_stopped(walker, id, &regs);
    (void)!s->resume(s->arg, id);
    sums->samples++;
    sums->complete += frames != 0;
    sums->frames += frames;
}

static void sample_all(const struct sw_suspender *s, const struct sw_walker *walker, struct sums *sums)
{
    uint64_t ids[THREADS_MAX];
    size_t count;
    if (sw_self_threads(ids, THREADS_MAX, &count) != SW_OK)
        return;
    for (size_t i = 0; i < count && i < THREADS_MAX; i++)
        sample(s, walker, ids[i], sums);
}

int main(void)
{
    struct sw_images_follower *follower;
    struct sw_self_suspender *self;
    struct sw_images *images;
    struct sw_walker walker;
    struct sums sums = { 0 };
    HANDLE threads[WORKERS];
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&walker, NULL, images) || sw_cache_create(NULL, ENTRIES, &walker.cache) ||
        sw_self_suspender_create(NULL, 0, 1, &self))
        return 1;
    const struct sw_suspender suspender = sw_self_get_suspender(self);
    for (int i = 0; i < WORKERS; i++)
        threads[i] = CreateThread(NULL, 0, work, (void *)(uintptr_t)(i + 1), 0, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        sample_all(&suspender, &walker, &sums);
        Sleep((DWORD)(round % 10 == 0));
    }
    running = 0;
    WaitForMultipleObjects(WORKERS, threads, TRUE, INFINITE);
    printf("%llu samples, %llu complete, %llu frames\n", sums.samples, sums.complete, sums.frames);
    sw_self_suspender_destroy(self);
    sw_cache_destroy(walker.cache);
    sw_images_unfollow(follower);
    sw_images_destroy(images);
    return sums.complete == sums.samples && sums.samples >= ROUNDS ? 0 : 1;
}
