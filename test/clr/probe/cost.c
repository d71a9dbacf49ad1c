/*
 * Nanoseconds of the CLR's walk and of ours, of the same stacks, by depth; of ours, where the last one began elsewhere
 * on the stack; and of the floor: as many calls of the same callback in an empty loop, which no walk can do without.
 */
#include "machine.h"
#include "probe.h"
#include "../../../tools/profiler/callbacks.h"

#include <stdlib.h>
#include <time.h>

/* BATCH: walks for one look at the clock, which takes as long as a short walk, and has steps. */
enum { DEPTHS = 4, ROUNDS = 1001, BATCH = 8, STACKS_EACH = 20 };

static const uint32_t depths[DEPTHS] = { 10, 50, 200, 1000 };
static uint32_t stacks[DEPTHS];

static HRESULT STDMETHODCALLTYPE count_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO frame, ULONG32 size,
                                             BYTE context[], void *arg)
{
    (void)function, (void)ip, (void)frame, (void)size, (void)context;
    ++*(uint32_t *)arg;
    return S_OK;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum who { CLR, OURS, MOVED, FLOOR };

/* volatile: called as a walk calls it, through a pointer that is not known. */
static HRESULT call_back(uint32_t count, uint32_t *frames)
{
    static StackSnapshotCallback *volatile callback = count_frame;
    BYTE context[1];
    HRESULT hr = S_OK;
    for (uint32_t i = 0; i < count && hr == S_OK; i++)
        hr = callback(i, i, i, sizeof context, context, frames);
    return hr;
}

static HRESULT walk(enum who who, ULONG32 flags, uint32_t *frames)
{
    const uint32_t count = *frames;
    *frames = 0;
    switch (who) {
    case CLR:
        return info->lpVtbl->DoStackSnapshot(info, 0, count_frame, flags, frames, NULL, 0);
    case OURS:
        return sw_clr_snapshot(fed, FLAVOUR, 0, count_frame, flags, frames, NULL, 0);
    default:
        return call_back(count, frames);
    }
}

/* From another place of the stack than the last time: of what was noted of the answer nothing holds. */
static HRESULT walk_moved(ULONG32 flags, uint32_t *frames)
{
    static unsigned turn;
    volatile char *room = __builtin_alloca(turn++ % 2 ? 512 : 16);
    *room = 0;
    const HRESULT hr = walk(OURS, flags, frames);
    *room = 1;
    return hr;
}

static double median_of(enum who who, ULONG32 flags, uint32_t *frames)
{
    double times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begin = now_ns();
        for (unsigned n = 0; n < BATCH; n++)
            if ((who == MOVED ? walk_moved(flags, frames) : walk(who, flags, frames)) != S_OK)
                return 0;
        times[i] = (now_ns() - begin) / BATCH;
    }
    qsort(times, ROUNDS, sizeof times[0], by_value);
    return times[ROUNDS / 2];
}

static int depth_of(uint32_t frames)
{
    for (int i = 0; i < DEPTHS; i++)
        if (frames >= depths[i] - depths[i] / 4 && frames <= depths[i] + depths[i] / 2)
            return i;
    return -1;
}

void measure_cost(void)
{
    uint32_t frames = 0;
    if (walk(CLR, 0, &frames) != S_OK)
        return;
    const int d = depth_of(frames);
    if (d < 0 || stacks[d]++ >= STACKS_EACH)
        return;
    for (ULONG32 flags = 0; flags < 2; flags++) {
        const double clr = median_of(CLR, flags, &frames), ours = median_of(OURS, flags, &frames);
        const double moved = median_of(MOVED, flags, &frames), least = median_of(FLOOR, flags, &frames);
        fprintf(report,
                "cost: depth %4u flags %u: CLR %8.0f ns (%5.1f a frame), ours %8.0f ns (%5.1f a frame): %.1fx, "
                "floor %8.0f ns, moved %8.0f ns\n",
                frames, flags, clr, clr / frames, ours, ours / frames, clr / ours, least, moved);
    }
}
