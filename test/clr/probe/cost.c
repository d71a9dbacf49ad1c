/* Nanoseconds of the CLR's walk and of ours, of the same stacks, by depth. */
#include "probe.h"
#include "../../../examples/clr-profiler/callbacks.h"

#include <stdlib.h>
#include <time.h>

enum { DEPTHS = 4, ROUNDS = 1001, STACKS_EACH = 20 };

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

static HRESULT walk(bool ours, ULONG32 flags, uint32_t *frames)
{
    *frames = 0;
    return ours ? sw_clr_snapshot(fed, SW_FLAVOUR_CORECLR_UNIX, 0, count_frame, flags, frames, NULL, 0)
                : info->lpVtbl->DoStackSnapshot(info, 0, count_frame, flags, frames, NULL, 0);
}

static double median_of(bool ours, ULONG32 flags, uint32_t *frames)
{
    double times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double begin = now_ns();
        if (walk(ours, flags, frames) != S_OK)
            return 0;
        times[i] = now_ns() - begin;
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
    uint32_t frames;
    if (walk(false, 0, &frames) != S_OK)
        return;
    const int d = depth_of(frames);
    if (d < 0 || stacks[d]++ >= STACKS_EACH)
        return;
    for (ULONG32 flags = 0; flags < 2; flags++) {
        const double clr = median_of(false, flags, &frames), ours = median_of(true, flags, &frames);
        fprintf(report,
                "cost: depth %4u flags %u: CLR %8.0f ns (%5.1f a frame), ours %8.0f ns (%5.1f a frame): %.1fx\n",
                frames, flags, clr, clr / frames, ours, ours / frames, clr / ours);
    }
}
