/*
 * The same walk out of a rule cache: must be the same frames, the same claims, the same end; and by addresses only,
 * with a replay memory, the same pcs. Knows nothing of what is right; that is the judge's.
 */
#include "beside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CACHE_ENTRIES = 1 << 16, MOST_SHOWN = 5 };

bool beside_open(struct beside *b)
{
    memset(b, 0, sizeof *b);
    for (unsigned m = 0; m < STEP_MODES; m++)
        if (sw_cache_create(NULL, CACHE_ENTRIES, &b->caches[m]) != SW_OK ||
            sw_replay_create(NULL, BESIDE_MOST, &b->replays[m]) != SW_OK)
            return false;
    return true;
}

void beside_close(struct beside *b)
{
    for (unsigned m = 0; m < STEP_MODES; m++) {
        sw_cache_destroy(b->caches[m]);
        sw_replay_destroy(b->replays[m]);
    }
}

void beside_start(struct beside *b, enum step_mode mode, const struct sw_walker *walker, const struct sw_regs *start)
{
    b->walker = *walker;
    b->walker.cache = b->caches[mode];
    b->start = *start;
    b->count = 0;
    sw_walk_start(&b->walk, &b->walker, &b->scratch, start, true);
}

static bool same_registers(const struct sw_regs *a, const struct sw_regs *b)
{
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (sw_regs_has(a, n) && a->r[n] != b->r[n])
            return false;
    return a->known == b->known;
}

static bool same_frame(const struct sw_frame *a, const struct sw_frame *b)
{
    return same_registers(&a->regs, &b->regs) && a->code.begin == b->code.begin && a->code.end == b->code.end &&
           a->code.id == b->code.id && a->code.kind == b->code.kind && a->code.flags == b->code.flags &&
           a->lookup == b->lookup && a->source == b->source && a->trust == b->trust && a->exact == b->exact;
}

static void show(const struct sw_frame *a, const struct sw_frame *b)
{
    printf("#   frame pc %" PRIx64 " sp %" PRIx64 " known %" PRIx64 " %s/%s, out of the cache pc %" PRIx64
           " sp %" PRIx64 " known %" PRIx64 " %s/%s\n",
           sw_regs_pc(&a->regs), sw_regs_sp(&a->regs), a->regs.known, sw_source_name((enum sw_source)a->source),
           sw_trust_name((enum sw_trust)a->trust), sw_regs_pc(&b->regs), sw_regs_sp(&b->regs), b->regs.known,
           sw_source_name((enum sw_source)b->source), sw_trust_name((enum sw_trust)b->trust));
}

void beside_next(struct beside *b, const struct sw_walk *judged, bool more)
{
    const bool also = sw_walk_next(&b->walk);
    b->frames++;
    if (more && b->count < BESIDE_MOST)
        b->pcs[b->count++] = sw_regs_pc(&judged->frame.regs);
    if (also == more && (more ? same_frame(&judged->frame, &b->walk.frame) : judged->stop == b->walk.stop))
        return;
    if (b->otherwise++ < MOST_SHOWN)
        show(&judged->frame, &b->walk.frame);
}

/* A walk that was not judged to its end is compared as far as it went. */
void beside_end(struct beside *b, enum step_mode mode, const struct sw_walk *judged)
{
    static uint64_t pcs[BESIDE_MOST];
    enum sw_stop stop;
    if (b->count == BESIDE_MOST)
        return;
    b->walker.replay = b->replays[mode];
    const size_t count = sw_walk_addresses(&b->walker, &b->scratch, &b->start, true, pcs, BESIDE_MOST, &stop);
    const bool ended = judged->stop != SW_STOP_NONE;
    const bool same = ended ? count == b->count && stop == judged->stop : count >= b->count;
    b->walks++;
    if (same && memcmp(pcs, b->pcs, b->count * sizeof *pcs) == 0)
        return;
    if (b->walks_otherwise++ < MOST_SHOWN)
        printf("#   from %" PRIx64 ": %zu frames, %s; by addresses %zu, %s\n", sw_regs_pc(&b->start), b->count,
               sw_stop_name(judged->stop), count, sw_stop_name(stop));
}
