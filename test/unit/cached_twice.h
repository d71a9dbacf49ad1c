/*
 * The same walk without a rule cache and with one: while it is filled, out of it, out of it with the stack in a window,
 * which is the fast way, and with a replay memory. All must see the same: frames, registers, what is known, sources,
 * and how it ends.
 */
#ifndef TEST_UNIT_WARM_TWICE_H
#define TEST_UNIT_WARM_TWICE_H

#include "walk/batch.h"

#include <snapwalk/cache.h>
#include <snapwalk/summary.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

enum { TWICE_FRAMES = 64, TWICE_BELOW = 8192, TWICE_ABOVE = 32768 };

struct twice {
    unsigned count;
    struct sw_frame frames[TWICE_FRAMES];
    enum sw_stop stop;
    uint32_t depth;
};

static inline void twice_walk(const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                              struct twice *seen)
{
    static struct sw_scratch scratch;
    struct sw_walk walk;
    seen->count = 0;
    sw_walk_start(&walk, walker, &scratch, start, exact);
    while (sw_walk_next(&walk))
        if (seen->count < TWICE_FRAMES)
            seen->frames[seen->count++] = walk.frame;
    seen->stop = walk.stop;
    seen->depth = walk.depth;
}

static inline void twice_same_range(const struct sw_range *a, const struct sw_range *b)
{
    assert_int_equal(a->begin, b->begin);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->image, b->image);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->unwind, b->unwind);
    assert_int_equal(a->flags, b->flags);
}

static inline void twice_same_frame(const struct sw_frame *a, const struct sw_frame *b)
{
    assert_int_equal(a->regs.machine, b->regs.machine);
    assert_int_equal(a->regs.known, b->regs.known);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (sw_regs_has(&a->regs, n))
            assert_int_equal(a->regs.r[n], b->regs.r[n]);
    twice_same_range(&a->code, &b->code);
    assert_int_equal(a->lookup, b->lookup);
    assert_int_equal(a->source, b->source);
    assert_int_equal(a->trust, b->trust);
    assert_int_equal(a->exact, b->exact);
}

static inline void twice_same(const struct twice *a, const struct twice *b)
{
    assert_int_equal(a->stop, b->stop);
    assert_int_equal(a->depth, b->depth);
    assert_int_equal(a->count, b->count);
    for (unsigned i = 0; i < a->count; i++)
        twice_same_frame(&a->frames[i], &b->frames[i]);
}

/* The same by addresses only, in arrays of every size up to a few more than needed. */
static inline void twice_addresses(const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                                   const struct twice *plain)
{
    static struct sw_scratch scratch;
    static uint64_t pcs[TWICE_FRAMES + 2];
    enum sw_stop stop;
    if (plain->count != plain->depth)
        return; /* more than were looked at */
    for (size_t most = 0; most <= plain->count + 2; most++) {
        const size_t count = sw_walk_addresses(walker, &scratch, start, exact, pcs, most, &stop);
        assert_int_equal(count, most < plain->count ? most : plain->count);
        assert_int_equal(stop, most > plain->count ? plain->stop : SW_STOP_NONE);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(pcs[i], sw_regs_pc(&plain->frames[i].regs));
    }
}

/* The same by frames in few words, in arrays of every size up to a few more than needed. */
static inline void twice_summaries(const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                                   const struct twice *plain)
{
    static struct sw_scratch scratch;
    static struct sw_frame_summary frames[TWICE_FRAMES + 2];
    enum sw_stop stop;
    if (plain->count != plain->depth)
        return; /* more than were looked at */
    for (size_t most = 0; most <= plain->count + 2; most++) {
        const size_t count = sw_walk_summaries(walker, &scratch, start, exact, frames, most, &stop);
        assert_int_equal(count, most < plain->count ? most : plain->count);
        assert_int_equal(stop, most > plain->count ? plain->stop : SW_STOP_NONE);
        for (size_t i = 0; i < count; i++) {
            const struct sw_frame *frame = &plain->frames[i];
            assert_int_equal(frames[i].pc, sw_regs_pc(&frame->regs));
            assert_int_equal(frames[i].sp, sw_regs_sp(&frame->regs));
            assert_int_equal(frames[i].source, frame->source);
            assert_int_equal(frames[i].trust, frame->trust);
            assert_int_equal(frames[i].exact, frame->exact);
        }
    }
}

/* Frames in batches, of which every `each`-th is made whole, and the last; with a replay memory if there is
 * one. */
static inline void twice_batches(const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                                 const struct twice *plain, unsigned each)
{
    static struct sw_scratch scratch;
    struct sw_walk walk;
    struct sw_batch batch;
    unsigned n = 0;
    if (plain->count != plain->depth)
        return; /* more than were looked at */
    sw_walk_start(&walk, walker, &scratch, start, exact);
    struct sw_replay *replay = sw_batch_use_replay(&walk, NULL);
    while (sw_walk_next(&walk)) {
        assert_true(n < plain->count);
        twice_same_frame(&plain->frames[n++], &walk.frame);
        while (sw_batch_take(&walk, &batch))
            for (unsigned i = 0; i < batch.count; i++) {
                assert_true(n < plain->count);
                sw_batch_go(&walk, start->machine, &batch.frames[i]);
                if (n++ % each == 0)
                    sw_batch_settle_one(&walk, start->machine, &batch, i);
                if (n % each != 0 && i + 1 != batch.count)
                    continue;
                sw_batch_arrive(&walk, &batch, i);
                twice_same_frame(&plain->frames[n - 1], &walk.frame);
            }
    }
    sw_trace_close(replay);
    assert_int_equal(walk.stop, plain->stop);
    assert_int_equal(walk.depth, plain->depth);
}

/* In both ways that can be replayed. */
static inline void twice_replayed(const struct sw_walker *walker, const struct sw_regs *start, bool exact,
                                  const struct twice *plain)
{
    twice_addresses(walker, start, exact, plain);
    twice_summaries(walker, start, exact, plain);
    for (unsigned each = 1; each < 6; each++)
        twice_batches(walker, start, exact, plain, each);
}

/* What can be read around sp, with what cannot be read below it as garbage: a window that a walk may take words from.
 */
static inline void twice_window(const struct sw_walker *walker, uint64_t sp, struct sw_window *window)
{
    static uint64_t words[(TWICE_BELOW + TWICE_ABOVE) / 8];
    const uint64_t begin = sp - TWICE_BELOW;
    uint64_t end = sp;
    memset(words, 0x5a, sizeof words);
    for (size_t i = 0; i < sizeof words / 8; i++) {
        const size_t got =
            walker->memory.read ? walker->memory.read(walker->memory.arg, begin + 8 * i, &words[i], 8) : 0;
        if (got == 8)
            end = begin + 8 * i + 8 > end ? begin + 8 * i + 8 : end;
        else if (begin + 8 * i >= sp)
            break;
    }
    *window = (struct sw_window){ begin, end, (const uint8_t *)words };
}

/* The walk in all these ways; the walker's own cache plays no part. Answers how many frames came out of the cache. */
static inline uint64_t walk_twice(const struct sw_walker *walker, const struct sw_regs *start, bool exact)
{
    static const size_t rooms[] = { TWICE_FRAMES, 3, 1 };
    static struct twice plain, cached;
    struct sw_walker with = *walker;
    uint64_t hits = 0;
    with.cache = NULL;
    with.replay = NULL;
    twice_walk(&with, start, exact, &plain);
    if (plain.stop == SW_STOP_BAD_START)
        return 0;
    assert_int_equal(sw_cache_create(NULL, 256, &with.cache), SW_OK);
    for (unsigned turn = 0; turn < 5; turn++) {
        if (turn == 3)
            twice_window(walker, sw_regs_sp(start), &with.memory.window);
        hits = sw_cache_get_counts(with.cache).hits;
        twice_walk(&with, start, exact, &cached);
        hits = sw_cache_get_counts(with.cache).hits - hits;
        twice_same(&plain, &cached);
        twice_replayed(&with, start, exact, &plain);
    }
    for (unsigned i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        assert_int_equal(sw_replay_create(NULL, rooms[i], &with.replay), SW_OK);
        for (unsigned turn = 0; turn < 2; turn++)
            twice_replayed(&with, start, exact, &plain);
        sw_replay_destroy(with.replay);
    }
    sw_cache_destroy(with.cache);
    return hits;
}

#endif
