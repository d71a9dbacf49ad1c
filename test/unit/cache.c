/*
 * The rule cache: that it changes no answer when code is freed and its addresses reused, ranges come and go elsewhere,
 * images change, lines are few, or are being written; and that it counts. What a walk sees is always compared with the
 * same walk without it (warm_twice.h).
 */
#include "rows.h"
#include "cached_twice.h"

#include "budget.h"
#include "code/images.h"
#include "fast/lane.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>
#include <snapwalk/sim.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { A = 0x10000, B = 0x20000, C = 0x30000, FAR = 0x5000000, STACK = 0x700000, BEHIND_CALL = 9, IN_FRAME = 4 };
enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RBX = SW_X64_RBX, RIP = SW_X64_RIP };

/* push rbp; mov rbp,rsp; call +0x10000; pop rbp; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xff, 0x00, 0x00, 0x5d, 0xc3 };
/* push rbx; nop; nop; nop; call +0x10000; pop rbx; ret: the same call with another frame */
static const uint8_t plain[] = { 0x53, 0x90, 0x90, 0x90, 0xe8, 0xf7, 0xff, 0x00, 0x00, 0x5b, 0xc3 };
/* push rbp; mov rbp,rsp; nop; nop; nop; call rax; pop rbp; ret */
static const uint8_t by_register[] = { 0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x5d, 0xc3 };
enum { SIZE = sizeof framed };

static struct twice with, without;

static void put(uint64_t at, const uint8_t *code, enum sw_unwind unwind)
{
    const struct sw_range range = {
        .begin = at, .end = at + SIZE, .id = at, .kind = SW_KIND_JIT, .unwind = (uint8_t)unwind
    };
    assert_int_equal(sw_sim_bytes(sim, at, code, SIZE), SW_OK);
    if (code)
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
}

static void take_away(uint64_t at)
{
    assert_int_equal(sw_codemap_remove(sw_sim_codemap(sim), at), SW_OK);
}

/* C, in its frame, called by B, called by A, which returns to 0; each frame two words. */
static struct sw_regs three_frames(void)
{
    const uint64_t words[] = { STACK + 0x10, B + BEHIND_CALL, STACK + 0x20, A + BEHIND_CALL, 0, 0, 0, 0 };
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, RIP, C + IN_FRAME);
    sw_regs_set(&regs, RSP, STACK);
    sw_regs_set(&regs, RBP, STACK);
    return regs;
}

static struct sw_regs three_framed(void)
{
    put(A, framed, SW_UNWIND_AUTO);
    put(B, framed, SW_UNWIND_AUTO);
    put(C, framed, SW_UNWIND_AUTO);
    return three_frames();
}

/*
 * Walks with the test's cache, over a window, and without; the same must come out, by addresses only, too. Answers the
 * hits of the first.
 */
static uint64_t walk_as_without(const struct sw_regs *regs, bool exact)
{
    struct sw_walker bare = *sw_sim_walker(sim), quick = bare;
    const uint64_t before = sw_cache_get_counts(cache).hits;
    bare.cache = NULL;
    twice_window(&bare, sw_regs_sp(regs), &quick.memory.window);
    twice_walk(&bare, regs, exact, &without);
    twice_walk(&quick, regs, exact, &with);
    const uint64_t hits = sw_cache_get_counts(cache).hits - before;
    twice_same(&without, &with);
    twice_addresses(&quick, regs, exact, &without);
    twice_summaries(&quick, regs, exact, &without);
    return hits;
}

static void a_second_walk_finds_every_frame(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    assert_int_equal(walk_as_without(&regs, true), 0);
    assert_int_equal(sw_cache_get_counts(cache).absent, 3);
    assert_int_equal(sw_cache_get_counts(cache).stored, 3);
    assert_int_equal(walk_as_without(&regs, true), 3);
    assert_int_equal(sw_cache_get_counts(cache).absent, 3);
    assert_int_equal(with.stop, SW_STOP_ROOT_ZERO);
    assert_int_equal(with.frames[1].trust, SW_TRUST_CONFIRMED);
    assert_int_equal(walk_twice(sw_sim_walker(sim), &regs, true), 3); /* over the window, too */
}

static void freed_code_whose_addresses_are_reused_is_seen_anew(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    assert_int_equal(walk_as_without(&regs, true), 3);
    take_away(B);
    put(B, plain, SW_UNWIND_AUTO); /* rbp is not in its frame any more, rbx is */
    assert_int_equal(walk_as_without(&regs, true), 2);
    assert_int_equal(sw_cache_get_counts(cache).outdated, 1);
    assert_int_equal(with.frames[2].regs.r[RBX], STACK + 0x20);
    assert_int_equal(walk_as_without(&regs, true), 3);
}

enum { FRAMES = 6, APART = B - A };

static uint64_t begin_of(unsigned frame)
{
    return A + frame * (uint64_t)APART;
}

/* As many frames of functions with that code, which saves one register and calls 9 bytes further. */
static struct sw_regs six_frames(const uint8_t *code)
{
    uint64_t words[2 * FRAMES + 2] = { 0 };
    struct sw_regs regs = three_frames();
    for (unsigned i = 0; i < FRAMES; i++) {
        put(begin_of(i), code, SW_UNWIND_AUTO);
        words[2 * i] = STACK + 16 * (i + 1);
        words[2 * i + 1] = i + 1 < FRAMES ? begin_of(i + 1) + BEHIND_CALL : 0;
    }
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, RIP, A + IN_FRAME);
    return regs;
}

/* At every depth, so by every way that a walk out of the cache has. */
static void ranges_that_are_replaced_are_seen_anew_wherever_they_are(void **state)
{
    const struct sw_regs regs = six_frames(by_register);
    (void)state;
    for (unsigned i = 0; i < FRAMES; i++) {
        const struct sw_range next = {
            .begin = begin_of(i), .end = begin_of(i) + SIZE, .id = 77 + i, .kind = SW_KIND_JIT
        };
        (void)walk_as_without(&regs, true);
        assert_int_equal(walk_as_without(&regs, true), FRAMES);
        take_away(next.begin);
        (void)walk_as_without(&regs, true);
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &next), SW_OK);
        (void)walk_as_without(&regs, true);
        assert_int_equal(with.frames[i].code.id, 77 + i);
    }
}

static void replace(unsigned frame, const uint8_t *code)
{
    take_away(begin_of(frame));
    put(begin_of(frame), code, SW_UNWIND_AUTO);
}

/* From a start that knows little: what a frame has saved becomes known behind it, whichever it is. */
static void registers_become_known_where_they_are_found(void **state)
{
    struct sw_regs regs = six_frames(framed);
    const uint64_t known = UINT64_C(1) << RSP | UINT64_C(1) << RBP | UINT64_C(1) << RIP;
    (void)state;
    regs.known = known;
    for (unsigned i = 0; i + 1 < FRAMES; i++) {
        replace(i, plain);       /* saves rbx */
        sw_cache_destroy(cache); /* what is older than a removal takes a longer way */
        assert_int_equal(sw_cache_create(NULL, 64, &cache), SW_OK);
        sw_sim_walker(sim)->cache = cache;
        for (unsigned turn = 0; turn < 3; turn++)
            (void)walk_as_without(&regs, true);
        assert_int_equal(with.frames[i].regs.known, known);
        assert_int_equal(with.frames[i + 1].regs.known, known | UINT64_C(1) << RBX);
        replace(i, framed);
    }
}

/* Code of no range that ends with its call, and a function that is made right behind it. */
static void what_comes_to_lie_at_a_return_address_counts(void **state)
{
    const struct sw_regs regs = three_frames();
    (void)state;
    put(A, framed, SW_UNWIND_AUTO);
    put(C, framed, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_bytes(sim, B, framed, BEHIND_CALL), SW_OK);
    for (unsigned turn = 0; turn < 3; turn++)
        (void)walk_as_without(&regs, true);
    assert_false(with.frames[1].exact);
    put(B + BEHIND_CALL, plain, SW_UNWIND_AUTO);
    (void)walk_as_without(&regs, true);
    assert_true(with.frames[1].exact);
}

static void freed_code_is_in_no_range_any_more(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    take_away(B);
    (void)walk_as_without(&regs, true);
    assert_int_equal(with.frames[1].code.id, 0);
}

/* Ranges added and removed elsewhere: what was found stays. */
static void changes_elsewhere_leave_what_was_found(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    put(B + 0x100, framed, SW_UNWIND_AUTO); /* nearby, but an addition */
    put(FAR, framed, SW_UNWIND_AUTO);
    assert_int_equal(walk_as_without(&regs, true), 3);
    take_away(FAR);
    assert_int_equal(walk_as_without(&regs, true), 3);
    assert_int_equal(sw_cache_get_counts(cache).outdated, 0);
}

/* The same callee, and a caller that calls it by name or through a register: what the trust rests on. */
static void trust_goes_by_the_call_of_the_caller_at_hand(void **state)
{
    const struct sw_regs regs = three_framed();
    const uint64_t other = FAR + BEHIND_CALL;
    (void)state;
    (void)walk_as_without(&regs, true);
    put(FAR, by_register, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_words(sim, STACK + 8, &other, 1), SW_OK);
    for (unsigned turn = 0; turn < 3; turn++)
        (void)walk_as_without(&regs, true);
    assert_int_equal(with.frames[1].trust, SW_TRUST_LIKELY);
    assert_int_equal(walk_twice(sw_sim_walker(sim), &regs, true), 3);
}

static void what_other_sources_say_is_kept_apart(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    (void)walk_as_without(&regs, true);
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS;
    assert_int_equal(walk_as_without(&regs, true), 0);
    sw_sim_walker(sim)->flags = SW_WALK_NO_TABLES;
    (void)walk_as_without(&regs, true);
    assert_int_equal(with.frames[1].source, SW_SOURCE_ANALYSIS);
}

/* A pc as a return address and as an executing instruction: in different ranges where one ends with the call. */
static void exact_pcs_are_others(void **state)
{
    struct sw_regs regs = three_framed();
    (void)state;
    put(C + SIZE, plain, SW_UNWIND_AUTO);
    sw_regs_set(&regs, RIP, C + SIZE);
    for (unsigned turn = 0; turn < 3; turn++) {
        (void)walk_as_without(&regs, true);
        assert_int_equal(with.frames[0].code.begin, C + SIZE);
        (void)walk_as_without(&regs, false);
        assert_int_equal(with.frames[0].code.begin, C);
    }
}

/* A walk may be told to start behind what is no call; managed code met there on the way is an interrupted one. */
static void an_interrupted_frame_is_met_as_one_though_it_was_started_from(void **state)
{
    struct sw_regs regs = three_framed();
    const uint64_t interrupted = B + IN_FRAME;
    (void)state;
    sw_regs_set(&regs, RIP, interrupted);
    for (unsigned turn = 0; turn < 2; turn++)
        (void)walk_as_without(&regs, false);
    sw_regs_set(&regs, RIP, C + IN_FRAME);
    assert_int_equal(sw_sim_words(sim, STACK + 8, &interrupted, 1), SW_OK);
    for (unsigned turn = 0; turn < 2; turn++)
        (void)walk_as_without(&regs, true);
    assert_true(with.frames[1].exact);
}

/* LLVM ends functions with calls that do not return. CoreCLR's code has nothing right in front of a method. */
static void a_call_that_ends_its_function_returns_behind_it(void **state)
{
    const struct sw_regs regs = three_framed();
    const struct sw_range in_front = { .begin = B, .end = B + BEHIND_CALL, .id = B, .kind = SW_KIND_JIT };
    (void)state;
    take_away(B);
    put(B + BEHIND_CALL, plain, SW_UNWIND_AUTO);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &in_front), SW_OK);
    for (unsigned turn = 0; turn < 3; turn++) {
        (void)walk_as_without(&regs, true);
        assert_false(with.frames[1].exact);
        assert_int_equal(with.frames[1].code.begin, B);
        assert_int_equal(with.stop, SW_STOP_ROOT_ZERO);
    }
    take_away(B);
    (void)walk_as_without(&regs, true);
    assert_true(with.frames[1].exact);
    assert_int_equal(with.frames[1].code.begin, B + BEHIND_CALL);
}

/* Changes are noted for pieces of 64 KiB: such a call's return address may lie in the next one. */
static void a_call_that_ends_its_piece_goes_with_its_function(void **state)
{
    enum { LATE = 0x10000 - BEHIND_CALL };
    const struct sw_range range = { .begin = B + LATE, .end = C, .id = B, .kind = SW_KIND_JIT };
    const uint64_t words[] = { STACK + 0x10, C, STACK + 0x20, A + LATE + BEHIND_CALL, 0, 0, 0, 0 };
    struct sw_regs regs = three_frames();
    (void)state;
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, RIP, C + LATE + IN_FRAME);
    put(A + LATE, framed, SW_UNWIND_AUTO);
    put(C + LATE, framed, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_bytes(sim, B + LATE, framed, SIZE), SW_OK);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
    for (unsigned turn = 0; turn < 3; turn++) {
        (void)walk_as_without(&regs, true);
        assert_int_equal(with.frames[1].code.begin, B + LATE);
        assert_int_equal(with.stop, SW_STOP_ROOT_ZERO);
    }
    take_away(B + LATE);
    (void)walk_as_without(&regs, true);
    assert_int_not_equal(with.frames[1].code.begin, B + LATE);
}

/* Bits above the addresses are not mistaken for what a key has there, such as that a pc is exact. */
static void a_return_address_beyond_the_address_space_is_none(void **state)
{
    const struct sw_regs regs = six_frames(by_register);
    (void)state;
    for (unsigned i = 1; i < FRAMES; i++) {
        struct sw_regs inside = regs;
        sw_regs_set(&inside, RIP, begin_of(i) + BEHIND_CALL);
        (void)walk_as_without(&inside, true);
        (void)walk_as_without(&regs, true);
        for (unsigned bit = 48; bit < 64; bit++) {
            const uint64_t good = begin_of(i) + BEHIND_CALL, odd = good | UINT64_C(1) << bit;
            assert_int_equal(sw_sim_words(sim, STACK + 16 * i - 8, &odd, 1), SW_OK);
            (void)walk_as_without(&regs, true);
            assert_int_equal(sw_sim_words(sim, STACK + 16 * i - 8, &good, 1), SW_OK);
        }
    }
}

/* ---- few lines ---- */

/*
 * The sum of a register and a frame's size may be any number, also the one that bounds are marked with where none are.
 */
static void registers_at_the_very_top_are_no_addresses(void **state)
{
    struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    for (unsigned least = 0; least <= 16; least++) {
        static struct sw_scratch scratch;
        uint64_t pcs[4];
        struct sw_walk walk;
        sw_regs_set(&regs, RBP, UINT64_MAX - least);
        sw_regs_set(&regs, RSP, UINT64_MAX - least);
        sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
        assert_true(sw_walk_next(&walk));
        assert_false(sw_walk_next(&walk));
        assert_int_equal(sw_walk_addresses(sw_sim_walker(sim), &scratch, &regs, true, pcs, COUNT_OF(pcs), NULL), 1);
    }
}

static void caches_of_any_size_give_the_same(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    for (size_t entries = 1; entries <= 16; entries++) {
        sw_cache_destroy(cache);
        assert_int_equal(sw_cache_create(NULL, entries, &cache), SW_OK);
        sw_sim_walker(sim)->cache = cache;
        for (unsigned turn = 0; turn < 3; turn++)
            (void)walk_as_without(&regs, true);
        assert_true(sw_cache_get_counts(cache).entries >= entries);
        assert_true(sw_cache_get_counts(cache).entries < 2 * entries);
        if (entries < 3)
            assert_true(sw_cache_get_counts(cache).evicted > 0);
    }
}

static void wrong_sizes_and_failing_allocations_are_refused(void **state)
{
    struct budget budget = { .left = 0 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_cache *made = NULL;
    (void)state;
    assert_int_equal(sw_cache_create(NULL, 0, &made), SW_E_ARGUMENT);
    assert_int_equal(sw_cache_create(NULL, SW_CACHE_MAX_ENTRIES + 1, &made), SW_E_ARGUMENT);
    assert_int_equal(sw_cache_create(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_cache_create(&alloc, 1, &made), SW_E_NO_MEMORY);
    assert_null(made);
    budget.left = 1;
    assert_int_equal(sw_cache_create(&alloc, 100, &made), SW_OK);
    assert_int_equal(sw_cache_get_counts(made).entries, 128);
    assert_int_equal(sw_cache_get_counts(made).bytes, budget.bytes);
    assert_in_range(budget.bytes, 128 * 104, 128 * 104 + 1024);
    sw_cache_destroy(made);
    assert_int_equal(budget.bytes, 0);
    sw_cache_destroy(NULL);
    assert_int_equal(sw_cache_get_counts(NULL).bytes, 0);
}

/* ---- entries that are being written ---- */

/*
 * As a handler sees it that has interrupted a writer in the middle of an entry: nobody waits, nobody believes what is
 * there.
 */
static void an_entry_in_the_middle_of_being_written_is_a_miss(void **state)
{
    const struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    assert_int_equal(atomic_exchange(&cache->is_writing, 1), 0);
    for (size_t n = 1; n <= cache->room; n++) {
        atomic_store(&cache->hot[n].key, SW_KEY_NONE);
        atomic_store(&cache->hot[n].step, 0);
        atomic_fetch_add(&cache->generation, 1);
        atomic_store(&cache->cold[n].slots, UINT64_C(0x0404040404));
    }
    assert_int_equal(walk_as_without(&regs, true), 0);
    assert_int_equal(sw_cache_get_counts(cache).stored, 3);
    assert_true(sw_cache_get_counts(cache).uncacheable >= 3);
}

/* And one that has only begun: what is there is good, but nothing new is stored. */
static void a_writer_that_never_goes_on_leaves_what_is_there(void **state)
{
    struct sw_regs regs = three_framed();
    (void)state;
    (void)walk_as_without(&regs, true);
    assert_int_equal(atomic_exchange(&cache->is_writing, 1), 0);
    assert_int_equal(walk_as_without(&regs, true), 3);
    put(C + SIZE, plain, SW_UNWIND_AUTO);
    sw_regs_set(&regs, RIP, C + SIZE);
    (void)walk_as_without(&regs, true);
    (void)walk_as_without(&regs, true);
    assert_int_equal(sw_cache_get_counts(cache).stored, 3);
}

/* What a changed code map leaves is checked a part at a time; until all was, each entry is asked. */
static void many_entries_outlive_a_change_that_is_not_theirs(void **state)
{
    const struct sw_regs regs = three_framed();
    struct sw_walker *walker = sw_sim_walker(sim);
    (void)state;
    sw_cache_destroy(cache);
    assert_int_equal(sw_cache_create(NULL, 1024, &cache), SW_OK);
    walker->cache = cache;
    (void)walk_as_without(&regs, true);
    const struct sw_changes changes = { sw_codemap_changes(sw_sim_codemap(sim)), sw_images_changes(NULL) };
    const uint64_t now =
        sw_found_at(atomic_load(&changes.images[SW_IMAGE_PIECES]), sw_codemap_generation(sw_sim_codemap(sim)));
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t pc = B + 0x100000 + i * 16;
        const struct sw_entry entry = { .key = pc, .step = SW_STEP_ENTRY, .found = now };
        sw_cache_store(cache, &changes, pc, &entry);
    }
    put(FAR, framed, SW_UNWIND_AUTO);
    take_away(FAR);
    unsigned asked = 0;
    while (!sw_cache_open(cache, &changes)) {
        assert_int_equal(walk_as_without(&regs, true), 3);
        asked++;
    }
    assert_true(asked > 0);
    assert_int_equal(walk_as_without(&regs, true), 3);
    assert_int_equal(sw_cache_get_counts(cache).outdated, 0);
    take_away(B);
    (void)sw_cache_open(cache, &changes);
    (void)walk_as_without(&regs, true);
    assert_int_equal(with.frames[1].code.id, 0);
}

/* ---- predictions ---- */

/* The entry of a frame-pointer function's pc, which is `confirmed` by a call. */
static void store(const struct sw_changes *changes, uint64_t pc)
{
    const uint64_t step = SW_STEP_ENTRY | SW_STEP_BY_CALL | SW_STEP_ONLY_SO | SW_STEP_FRAMED_SO |
                          (uint64_t)RBP << SW_STEP_CFA_SHIFT | UINT64_C(2) << SW_STEP_OFFSET_SHIFT |
                          SW_SLOT_BELOW(2 * SW_WORD);
    const struct sw_entry entry = { .key = pc, .step = step };
    sw_cache_store(cache, changes, pc, &entry);
}

/* Whether a walk that begins now goes from C to B without asking whether B calls C. */
static bool is_followed(const struct sw_walker *walker, struct sw_lane *lane, struct sw_at *at)
{
    struct sw_at to;
    sw_lane_start(lane, walker);
    lane->view.confirmed = sw_next_confirmed(sw_cache_generation(cache));
    *at = (struct sw_at){ .pc = C + BEHIND_CALL, .sp = STACK, .fp = STACK };
    assert_int_equal(sw_lane_find(lane, at, false), SW_COUNT_HITS);
    return sw_lane_follow(lane, lane->view, at, &to, SW_MACHINE_X64, SW_STEP_FRAMED_SO, true);
}

/* More pcs than one place of the index has ways: those that every walk meets find room beside those that none does. */
static void pcs_that_are_met_again_find_room_among_others(void **state)
{
    enum { ONCE = SW_CACHE_WAYS, AGAIN = 2, ROUNDS = 100 };
    const struct sw_changes changes = { sw_codemap_changes(sw_sim_codemap(sim)), sw_images_changes(NULL) };
    uint64_t pcs[ONCE + AGAIN];
    unsigned misses = 0;
    (void)state;
    for (uint64_t pc = A, found = 0; found < COUNT_OF(pcs); pc++)
        if (found == 0 || sw_cache_place(cache, pc, 0) == sw_cache_place(cache, pcs[0], 0))
            pcs[found++] = pc;
    for (unsigned i = 0; i < ONCE; i++)
        store(&changes, pcs[i]);
    for (unsigned i = 0; i < ROUNDS * AGAIN; i++) {
        const uint64_t pc = pcs[ONCE + i % AGAIN];
        const bool is_there = sw_cache_number(cache, pc, pc) != 0;
        misses += !is_there;
        if (!is_there)
            store(&changes, pc);
    }
    assert_int_equal(misses, AGAIN);
}

/*
 * An entry that lost its place in the index is still predicted. Where it does not hold any more another one of the same
 * pc is stored, and predicted: otherwise each walk would go the long way there.
 */
static void an_entry_stored_anew_beside_its_old_one_is_predicted(void **state)
{
    const struct sw_regs regs = three_framed();
    const struct sw_changes changes = { sw_codemap_changes(sw_sim_codemap(sim)), sw_images_changes(NULL) };
    const uint64_t pc = A + BEHIND_CALL;
    (void)state;
    (void)walk_as_without(&regs, true);
    const uint32_t from = sw_cache_number(cache, B + BEHIND_CALL, B + BEHIND_CALL),
                   old = sw_cache_number(cache, pc, pc);
    assert_int_equal(atomic_load(&cache->hot[from].next.place), old * sizeof(struct sw_hot));
    for (uint64_t other = FAR; sw_cache_number(cache, pc, pc) != 0; other++)
        if (sw_cache_place(cache, other, 0) == sw_cache_place(cache, pc, 0))
            store(&changes, other);
    assert_int_equal(sw_cache_key(cache, old), pc);
    take_away(A);
    put(A, framed, SW_UNWIND_AUTO);
    (void)walk_as_without(&regs, true);
    assert_int_not_equal(sw_cache_number(cache, pc, pc), 0);
    assert_int_not_equal(sw_cache_number(cache, pc, pc), old);
    assert_int_equal(atomic_load(&cache->hot[from].next.place), sw_cache_number(cache, pc, pc) * sizeof(struct sw_hot));
    assert_int_equal(walk_as_without(&regs, true), 3);
}

/* What two entries agree on is believed until any entry is another, of that pc or of this. */
static void a_confirmed_prediction_lasts_as_long_as_its_generation(void **state)
{
    const struct sw_regs regs = three_frames();
    struct sw_walker quick = *sw_sim_walker(sim);
    const struct sw_changes changes = { sw_codemap_changes(sw_sim_codemap(sim)), sw_images_changes(NULL) };
    struct sw_lane lane;
    struct sw_at c, b = { .pc = B + BEHIND_CALL };
    (void)state;
    twice_window(&quick, sw_regs_sp(&regs), &quick.memory.window);
    store(&changes, B + BEHIND_CALL);
    store(&changes, C + BEHIND_CALL);
    assert_false(is_followed(&quick, &lane, &c));
    (void)sw_lane_predict(&lane, c.entry, B + BEHIND_CALL);
    assert_false(is_followed(&quick, &lane, &c));
    assert_int_equal(sw_lane_find(&lane, &b, false), SW_COUNT_HITS);
    sw_lane_note_confirmed(&lane, c.entry, b.entry);
    assert_true(is_followed(&quick, &lane, &c));
    store(&changes, B + BEHIND_CALL);
    assert_false(is_followed(&quick, &lane, &c));
}

/* The place of a pc's entry. */
static uint64_t place_of(const struct sw_lane *lane, uint64_t pc)
{
    struct sw_at at = { .pc = pc };
    assert_int_equal(sw_lane_find(lane, &at, false), SW_COUNT_HITS);
    return at.entry;
}

/* In turn: whom a frame of C was called by, and who is predicted the next time. */
static void the_last_caller_is_predicted_but_a_function_that_calls_itself_is_kept(void **state)
{
    static const struct {
        uint64_t caller, predicted;
    } turns[] = { { B, B }, { A, A }, { B, B }, { A, A }, { C, C }, { A, C }, { C, C }, { B, B }, { C, C } };
    const struct sw_regs regs = three_frames();
    struct sw_walker quick = *sw_sim_walker(sim);
    const struct sw_changes changes = { sw_codemap_changes(sw_sim_codemap(sim)), sw_images_changes(NULL) };
    struct sw_lane lane;
    (void)state;
    twice_window(&quick, sw_regs_sp(&regs), &quick.memory.window);
    store(&changes, A + BEHIND_CALL);
    store(&changes, B + BEHIND_CALL);
    store(&changes, C + BEHIND_CALL);
    sw_lane_start(&lane, &quick);
    const uint64_t from = place_of(&lane, C + BEHIND_CALL);
    const union sw_next *next = &sw_hot_at(lane.view.hot, from)->next;
    for (size_t i = 0; i < COUNT_OF(turns); i++) {
        const uint64_t pc = turns[i].caller + BEHIND_CALL;
        assert_int_equal(sw_lane_predict(&lane, from, pc), place_of(&lane, pc));
        assert_int_equal(atomic_load(&next->place), place_of(&lane, turns[i].predicted + BEHIND_CALL));
    }
    assert_int_equal(sw_lane_predict(&lane, from, FAR), 0);
    assert_int_equal(atomic_load(&next->place), from);
}

/* A function was interrupted where its own call returns to, and its caller's pc was written over. */
static void a_word_that_is_an_entrys_key_is_no_return_address(void **state)
{
    static const uint8_t calls_itself[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0x5d, 0xc3 };
    enum { BEHIND_ITS_CALL = 9 };
    const uint64_t there = A + BEHIND_ITS_CALL, words[] = { STACK + 0x10, there, STACK + 0x20, there, 0, 0, 0, 0 };
    const uint64_t key = there | SW_KEY_EXACT;
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    (void)state;
    put_code(A, calls_itself, sizeof calls_itself, SW_KIND_JIT, SW_UNWIND_AUTO);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, RIP, there);
    sw_regs_set(&regs, RSP, STACK);
    sw_regs_set(&regs, RBP, STACK);
    (void)walk_as_without(&regs, true);
    assert_int_equal(walk_as_without(&regs, true), 3);
    assert_int_equal(sw_sim_words(sim, STACK + 8, &key, 1), SW_OK);
    (void)walk_as_without(&regs, true);
    assert_int_equal(with.count, 1);
    assert_int_equal(with.stop, SW_STOP_BAD_PC);
}

/* Whatever scratches walks have: more of them than there are counters of their own, and one of them again and again. */
static void hits_are_counted_for_any_number_of_scratches(void **state)
{
    enum { SCRATCHES = 5 * SW_CACHE_SHARES, PAGE = 4096 };
    struct sw_cache *made, *copy;
    uint64_t sum = 0;
    (void)state;
    assert_int_equal(sw_cache_create(NULL, 16, &made), SW_OK);
    assert_int_equal(sw_cache_create(NULL, 16, &copy), SW_OK);
    for (uint64_t i = 1; i <= 3 * SCRATCHES; i++) {
        sw_cache_count_hits(made, (const void *)(uintptr_t)(PAGE * (i % SCRATCHES + 1)), i);
        assert_int_equal(sw_cache_get_counts(made).hits, sum += i);
    }
    assert_in_range(atomic_load(&made->counts[SW_COUNT_HITS]), 1, sum - 1);
    sw_cache_copy(copy, made);
    assert_int_equal(sw_cache_get_counts(copy).hits, sum);
    sw_cache_destroy(copy);
    sw_cache_destroy(made);
}

/* ---- images ---- */

static struct sw_walker self;

static __attribute__((noinline)) void walk_from_here(uint64_t *hits)
{
    struct sw_regs here;
    sw_self_capture(&here);
    *hits = walk_twice(&self, &here, false);
    self.cache = cache;
    twice_walk(&self, &here, false, &with);
    twice_walk(&self, &here, false, &without);
    twice_same(&with, &without);
}

static __attribute__((noinline)) void call_walk(unsigned depth, uint64_t *hits)
{
    if (depth)
        call_walk(depth - 1, hits);
    else
        walk_from_here(hits);
    __asm__ volatile("" ::: "memory");
}

static void open_self(void)
{
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_self_walker(&self, sw_sim_codemap(sim), images), SW_OK);
}

static void this_process_is_walked_out_of_the_cache(void **state)
{
    uint64_t hits;
    (void)state;
    open_self();
    call_walk(10, &hits);
    assert_true(with.count > 10);
    assert_int_equal(hits, with.count);
}

/*
 * Where each frame is analysed anew in each of some hundred walks: calls enough that frame 3 is one of call_walk, and
 * few of the frames of cmocka and of libc, which take a hundred times as long and have nothing else to show.
 */
enum { FEW = 3, FEW_FRAMES = FEW + 5 };

/*
 * Without tables: callers whose call names the function are those of that call each time, and callers that have called
 * through a register are those of every such call; those that only the stack tells of are asked about each time.
 */
static void without_tables_what_the_call_decides_is_kept(void **state)
{
    uint64_t hits;
    unsigned guessed = 0;
    (void)state;
    open_self();
    self.flags = SW_WALK_NO_TABLES;
    self.max_frames = FEW_FRAMES;
    call_walk(FEW, &hits);
    assert_int_equal(with.frames[3].source, SW_SOURCE_FORWARD);
    assert_int_equal(with.frames[3].trust, SW_TRUST_CONFIRMED);
    for (unsigned n = 1; n < with.count; n++)
        guessed += with.frames[n].trust < SW_TRUST_LIKELY;
    assert_true(hits > with.count / 2);
    assert_true(hits + guessed <= with.count);
    assert_true(sw_cache_get_counts(cache).stored > 0);
    assert_true(sw_cache_get_counts(cache).uncacheable >= guessed);
}

/* A range where there was only an image; and an image that is gone. */
static void what_was_found_in_an_image_goes_with_it_or_with_a_range(void **state)
{
    uint64_t hits;
    struct sw_image image;
    (void)state;
    open_self();
    call_walk(FEW, &hits);
    const uint64_t pc = sw_regs_pc(&with.frames[3].regs); /* in call_walk */
    const struct sw_range range = { .begin = pc - 2, .end = pc + 2, .id = 77, .kind = SW_KIND_NGEN };
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
    call_walk(FEW, &hits);
    assert_int_equal(with.frames[3].code.id, 77);
    assert_int_equal(sw_codemap_remove(sw_sim_codemap(sim), range.begin), SW_OK);
    call_walk(FEW, &hits);
    assert_int_equal(with.frames[3].source, SW_SOURCE_CFI);
    assert_int_equal(sw_images_find(images, pc, &image), SW_OK);
    assert_int_equal(sw_images_remove(images, image.begin), SW_OK);
    self.max_frames = FEW_FRAMES;
    call_walk(FEW, &hits);
    assert_int_not_equal(with.frames[3].source, SW_SOURCE_CFI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_walk_finds_every_frame, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(freed_code_whose_addresses_are_reused_is_seen_anew, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(ranges_that_are_replaced_are_seen_anew_wherever_they_are, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(registers_become_known_where_they_are_found, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(what_comes_to_lie_at_a_return_address_counts, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(freed_code_is_in_no_range_any_more, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(changes_elsewhere_leave_what_was_found, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(trust_goes_by_the_call_of_the_caller_at_hand, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(what_other_sources_say_is_kept_apart, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(exact_pcs_are_others, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(an_interrupted_frame_is_met_as_one_though_it_was_started_from,
                                        set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(a_call_that_ends_its_function_returns_behind_it, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_call_that_ends_its_piece_goes_with_its_function, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_return_address_beyond_the_address_space_is_none, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(registers_at_the_very_top_are_no_addresses, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(caches_of_any_size_give_the_same, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(wrong_sizes_and_failing_allocations_are_refused, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(an_entry_in_the_middle_of_being_written_is_a_miss, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_writer_that_never_goes_on_leaves_what_is_there, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(many_entries_outlive_a_change_that_is_not_theirs, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_word_that_is_an_entrys_key_is_no_return_address, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(the_last_caller_is_predicted_but_a_function_that_calls_itself_is_kept,
                                        set_up_cached_x64, tear_down_target),
        cmocka_unit_test(hits_are_counted_for_any_number_of_scratches),
        cmocka_unit_test_setup_teardown(pcs_that_are_met_again_find_room_among_others, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(an_entry_stored_anew_beside_its_old_one_is_predicted, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(a_confirmed_prediction_lasts_as_long_as_its_generation, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(this_process_is_walked_out_of_the_cache, set_up_cached_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(without_tables_what_the_call_decides_is_kept, set_up_cached_x64,
                                        tear_down_target),
        cmocka_unit_test_setup_teardown(what_was_found_in_an_image_goes_with_it_or_with_a_range, set_up_cached_x64,
                                        tear_down_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
