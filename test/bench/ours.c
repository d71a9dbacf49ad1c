/* Walks by this library. The images and, where the code is a JIT's, its 100,000 ranges are registered once. */
#include "ours.h"

#include <snapwalk/cache.h>
#include <snapwalk/image.h>
#include <snapwalk/analysis_cache.h>
#include <snapwalk/self.h>
#include <snapwalk/replay.h>

#include <stdlib.h>

enum { ROOM = 2 /* a replay memory that is full forgets */, ENTRIES = 1 << 17, KEPT_BYTES = 1 << 26 };

static struct sw_scratch scratch;

static struct sw_images *own_images(void)
{
    static struct sw_images *images;
    if (!images)
        must(sw_images_create(NULL, &images) == SW_OK && sw_images_add_self(images) == SW_OK, "registering images");
    return images;
}

static struct sw_codemap *own_ranges(void)
{
    static struct sw_codemap *map;
    if (map)
        return map;
    must(sw_codemap_create(NULL, &map) == SW_OK, "sw_codemap_create");
    for (size_t i = 0; i < 2 * (size_t)FUNCTIONS; i++) {
        const uint8_t *first = codes[i / FUNCTIONS].functions;
        const uint64_t begin = (uint64_t)(uintptr_t)(first + i % FUNCTIONS * SLOT);
        const struct sw_range range = {
            .begin = begin, .end = begin + SLOT, .id = begin, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_ANALYSIS
        };
        must(sw_codemap_add(map, &range) == SW_OK, "sw_codemap_add");
    }
    return map;
}

void ours_open(struct ours *ours, const struct stacks *s)
{
    const enum known known = s->scene.code->known;
    *ours = (struct ours){ 0 };
    ours->cold = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                     .flags = known == BY_CFI ? 0 : SW_WALK_NO_TABLES,
                                     .memory = sw_self_memory(),
                                     .codemap = known == BY_RANGE ? own_ranges() : NULL,
                                     .images = own_images(),
                                     .budget = SW_WALK_BUDGET_UNLIMITED };
    ours->cold.memory.window =
        (struct sw_window){ (uint64_t)(uintptr_t)s->words, (uint64_t)(uintptr_t)s->words + s->bytes,
                            (const uint8_t *)s->words };
    ours->warm = ours->cold;
    must(sw_cache_create(NULL, ENTRIES, &ours->warm.cache) == SW_OK, "sw_cache_create");
    must(sw_analysis_cache_create(NULL, KEPT_BYTES, &ours->warm.analysis_cache) == SW_OK, "sw_analysis_cache_create");
}

void ours_give_replay(struct ours *ours, const struct stacks *s)
{
    ours->replays = s->count;
    ours->replay = get(s->count * sizeof *ours->replay);
    for (unsigned i = 0; i < s->count; i++) {
        ours->replay[i] = ours->warm;
        must(sw_replay_create(NULL, ROOM * s->scene.depth, &ours->replay[i].replay) == SW_OK, "sw_replay_create");
    }
}

void ours_close(struct ours *ours)
{
    for (unsigned i = 0; i < ours->replays; i++)
        sw_replay_destroy(ours->replay[i].replay);
    free(ours->replay);
    sw_cache_destroy(ours->warm.cache);
    sw_analysis_cache_destroy(ours->warm.analysis_cache);
    *ours = (struct ours){ 0 };
}

/* ---- ways ---- */

/* The registers at a stack's leaf, as if a context had been there: most of them are the same for all. */
static const struct sw_regs *registers_of(const struct stacks *s, unsigned stack)
{
    static struct sw_regs regs = { .machine = SW_MACHINE_X64, .known = (1u << SW_X64_COUNT) - 1 };
    regs.r[SW_X64_RSP] = stack_sp(s, stack, 0);
    regs.r[SW_X64_RBP] = regs.r[SW_X64_RSP] + 16;
    regs.r[SW_X64_RIP] = s->ends[stack].leaf;
    return &regs;
}

/* Without tables a walk knows the outermost frame by the stack's base alone; else a return address of 0 tells it. */
static const struct sw_walker *bounded(struct sw_walker *walker, const struct stacks *s, unsigned stack)
{
    if (s->scene.code->known == BY_NOTHING) {
        walker->stack_begin = stack_sp(s, stack, 0);
        walker->stack_end = stack_sp(s, stack, s->scene.depth);
    }
    return walker;
}

static bool is_root(enum sw_stop stop)
{
    return stop == SW_STOP_ROOT_ZERO || stop == SW_STOP_ROOT_BASE;
}

static unsigned walk_addresses(struct sw_walker *walker, const struct stacks *s, unsigned stack, uint64_t *out)
{
    enum sw_stop stop;
    const size_t count =
        sw_walk_addresses(bounded(walker, s, stack), &scratch, registers_of(s, stack), false, out, OUT, &stop);
    return is_root(stop) ? (unsigned)count : 0;
}

static unsigned walk_frames(struct sw_walker *walker, const struct stacks *s, unsigned stack, uint64_t *out)
{
    struct sw_walk walk;
    unsigned count = 0;
    sw_walk_start(&walk, bounded(walker, s, stack), &scratch, registers_of(s, stack), false);
    while (sw_walk_next(&walk))
        out[count++] = sw_regs_pc(&walk.frame.regs);
    return is_root(walk.stop) ? count : 0;
}

unsigned walk_warm(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    return walk_addresses(&((struct ours *)arg)->warm, s, stack, out);
}

unsigned walk_summaries(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    static struct sw_frame_summary frames[OUT];
    const struct sw_walker *walker = bounded(&((struct ours *)arg)->warm, s, stack);
    enum sw_stop stop;
    const size_t count = sw_walk_summaries(walker, &scratch, registers_of(s, stack), false, frames, OUT, &stop);
    for (size_t i = 0; i < count; i++)
        out[i] = frames[i].pc;
    return is_root(stop) ? (unsigned)count : 0;
}

unsigned walk_full(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    return walk_frames(&((struct ours *)arg)->warm, s, stack, out);
}

unsigned walk_cold(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    return walk_frames(&((struct ours *)arg)->cold, s, stack, out);
}

unsigned walk_replay(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    return walk_addresses(&((struct ours *)arg)->replay[stack], s, stack, out);
}
