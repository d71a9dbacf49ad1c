/*
 * What a frame costs, cached, beside RtlLookupFunctionEntry and RtlVirtualUnwind, in the same run: addresses alone, and
 * whole frames with all their registers. All three walk one stack in turn, many times; of each the quickest turn
 * counts, so that what else the machine does plays no part in the ratio. Both are to be ten times as fast; but of whole
 * frames a walk's own cost counts at 50, and how much is the processor's: 10.5 times on one, 9.7 to 9.9 on another
 * (Zen 3), by the same library.
 */
#include <windows.h>

#include <snapwalk/snapwalk.h>

#include "row.h"
#include "system_walk.h"

enum { ENTRIES = 1 << 12, TURNS = 400, WALKS = 100, TIMES = 10 };

/* How many times as fast whole frames have to be. */
static const struct {
    unsigned depth, times;
} depths[] = { { 50, 9 }, { 100, TIMES }, { 500, TIMES } };

/* One stack, and the registers that walks of it start from. */
static struct {
    struct sw_walker walker;
    struct sw_regs regs;
    CONTEXT context;
    struct chain chain;
    uint64_t addresses[FRAMES];
    unsigned depth, times;
} stack;

static struct sw_scratch scratch;

static size_t take_addresses(void)
{
    enum sw_stop stop;
    return sw_walk_addresses(&stack.walker, &scratch, &stack.regs, true, stack.addresses, FRAMES, &stop);
}

static bool count_frame(void *arg, const struct sw_frame *frame)
{
    (void)frame;
    ++*(size_t *)arg;
    return true;
}

static size_t take_frames(void)
{
    size_t count = 0;
    (void)!sw_walk_all(&stack.walker, &scratch, &stack.regs, count_frame, &count);
    return count;
}

static size_t take_by_system(void)
{
    CONTEXT context = stack.context;
    walk_by_system(&context, stack.walker.stack_begin, stack.walker.stack_end, &stack.chain);
    return stack.chain.count;
}

enum { ADDRESSES, WHOLE, SYSTEM, WAYS };
static const struct {
    const char *name;
    size_t (*take)(void);
} ways[WAYS] = { { "addresses", take_addresses },
                 { "whole frames", take_frames },
                 { "RtlVirtualUnwind", take_by_system } };

static void __attribute__((noinline)) measure(void)
{
    double least[WAYS] = { 1e30, 1e30, 1e30 };
    size_t frames[WAYS] = { 0 };
    sw_self_capture(&stack.regs);
    context_of(&stack.regs, &stack.context);
    stack.walker.memory.window = sw_self_window(&stack.regs, stack.walker.stack_begin, stack.walker.stack_end);
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned way = 0; way < WAYS; way++) {
            const LONGLONG from = now();
            for (unsigned i = 0; i < WALKS; i++)
                frames[way] = ways[way].take();
            const double ns = us(now() - from) * 1000 / WALKS / (double)frames[way];
            least[way] = ns < least[way] ? ns : least[way];
        }
    printf("# depth %u:", stack.depth);
    for (unsigned way = 0; way < WAYS; way++)
        printf(" %s %.2f ns a frame%s", ways[way].name, least[way], way == SYSTEM ? "" : ",");
    printf("; %.1f and %.1f times as fast\n", least[SYSTEM] / least[ADDRESSES], least[SYSTEM] / least[WHOLE]);
    const size_t count = frames[SYSTEM];
    row("all three walk the same frames",
        count > stack.depth && frames[ADDRESSES] == count && frames[WHOLE] == count &&
            memcmp(stack.addresses, stack.chain.pc, count * sizeof stack.addresses[0]) == 0);
    row("addresses are ten times as fast as RtlVirtualUnwind", least[SYSTEM] >= TIMES * least[ADDRESSES]);
    row("whole frames are nine or ten times as fast as RtlVirtualUnwind", least[SYSTEM] >= stack.times * least[WHOLE]);
}

static unsigned __attribute__((noinline, noipa)) deep(unsigned levels)
{
    volatile unsigned local = levels;
    if (levels)
        return deep(levels - 1) + local;
    measure();
    return local;
}

int main(void)
{
    struct sw_images *images;
    struct sw_images_follower *follower;
    if (sw_images_create(NULL, &images) || sw_images_follow_self(images, &follower) ||
        sw_self_walker(&stack.walker, NULL, images) || sw_cache_create(NULL, ENTRIES, &stack.walker.cache))
        return 2;
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        stack.depth = depths[i].depth;
        stack.times = depths[i].times;
        deep(stack.depth);
    }
    sw_images_unfollow(follower);
    return failed != 0;
}
