/*
 * The store of analyses: what it promises (the same frames as without it, faster; never those of code that is gone),
 * and what may happen to it (too small, wrapped round, any of its words damaged). Walks through it stand beside walks
 * without; the truth of these is test/unit/analyze.c's matter.
 */
#include "rows.h"

#include "budget.h"
#include "host.h"
#include "analysis_cache_sim.h"

#include <snapwalk/self.h>

#include "unwind/analysis_cache.h"

enum { SMALL = 65536, LARGE = 1 << 20, MOST_CODE = 64, MANY = 400, ROUNDS = 3 };

static struct sw_scratch scratch;
static struct sw_sim *sim;
static struct sw_analysis_cache *kept;
static struct budget budget;
static void *block; /* what the allocator gave for the store */
static int filler;  /* what that holds before */

static void *get_noted(void *arg, size_t size)
{
    block = budget_get(arg, size);
    return block ? memset(block, filler, size) : NULL;
}

static const struct sw_alloc alloc = { get_noted, budget_put, &budget };

static void make(size_t bytes)
{
    budget = (struct budget){ .left = 1 };
    assert_int_equal(sw_analysis_cache_create(&alloc, bytes, &kept), SW_OK);
    assert_int_equal(budget.bytes, bytes);
}

static int set_up(void **state)
{
    (void)state;
    filler = 0xa5; /* the store does not depend on zeros */
    make(LARGE);
    return sw_sim_create(NULL, SW_MACHINE_X64, &sim) == SW_OK && put_surroundings(sim) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_analysis_cache_destroy(kept);
    sw_sim_destroy(sim);
    return budget.blocks == 0 && budget.bytes == 0 ? 0 : -1;
}

static struct kept_seen walk(struct sw_analysis_cache *with, uint64_t pc)
{
    return walk_from(sw_sim_walker(sim), with, &scratch, pc);
}

/* ---- making one ---- */

static const struct size_row {
    const char *name;
    size_t bytes;
    size_t blocks; /* that the allocator has */
    enum sw_status status;
} size_rows[] = {
    { "no_bytes_are_too_few", 0, 1, SW_E_ARGUMENT },
    { "one_byte_less_than_the_least_is_too_few", SMALL - 1, 1, SW_E_ARGUMENT },
    { "the_least_is_enough", SMALL, 1, SW_OK },
    { "an_odd_size_is_used_without_its_rest", SMALL + 1, 1, SW_OK },
    { "a_size_between_powers_of_two_is_used", 100000, 1, SW_OK },
    { "a_mebibyte_is_used", LARGE, 1, SW_OK },
    { "without_memory_there_is_no_store", SMALL, 0, SW_E_NO_MEMORY },
};

/* All of it is written to by many functions: under a sanitizer a byte too far is seen. */
static void size_is_kept_to(void **state)
{
    const struct size_row *row = *state;
    budget = (struct budget){ .left = row->blocks };
    kept = NULL;
    assert_int_equal(sw_analysis_cache_create(&alloc, row->bytes, &kept), row->status);
    if (row->status != SW_OK) {
        assert_null(kept);
        assert_int_equal(budget.blocks, 0);
        return;
    }
    assert_int_equal(sw_analysis_cache_get_counts(kept).bytes, row->bytes);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_true(put_surroundings(sim));
    for (unsigned n = 0; n < MANY; n++) {
        assert_true(put_numbered(sim, n));
        const struct kept_seen seen = walk(kept, begin_of(n) + IN_NUMBERED);
        assert_true(is_right_caller(&seen, n));
    }
    assert_int_equal(budget.blocks, 1);
    assert_int_equal(tear_down(NULL), 0);
}

static void what_is_no_allocator_is_refused(void **state)
{
    const struct sw_alloc none = { NULL, NULL, NULL };
    (void)state;
    assert_int_equal(sw_analysis_cache_create(NULL, SMALL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_analysis_cache_create(&none, SMALL, &kept), SW_E_ARGUMENT);
    assert_int_equal(sw_analysis_cache_create(NULL, SMALL, &kept), SW_OK);
    sw_analysis_cache_destroy(kept);
    sw_analysis_cache_destroy(NULL);
}

static void no_store_is_as_good_as_an_empty_one(void **state)
{
    const struct sw_analysis_cache_counts counts = sw_analysis_cache_get_counts(NULL);
    (void)state;
    assert_int_equal(counts.hits + counts.misses + counts.outdated + counts.bytes + counts.cuts + counts.pending, 0);
}

/* ---- the same frames, at every pc ---- */

/* clang-format off */
static const struct row {
    const char *name;
    bool is_known; /* its bounds are in the code map */
    uint8_t code[MOST_CODE];
    uint8_t size;
} rows[] = {
    { "a_frame_pointer_function", true,
      { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x31, 0xdb, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3 }, 17 },
    { "two_epilogues", true, { 0x53, 0x31, 0xdb, 0x85, 0xff, 0x74, 0x02, 0x5b, 0xc3, 0x90, 0x5b, 0xc3 }, 12 },
    { "a_switch_through_a_table", true,
      { 0x53, 0x31, 0xdb, 0x83, 0xff, 0x01, 0x77, 0x10, 0x48, 0x8d, 0x15, 0x10, 0, 0, 0, 0x48, 0x63, 0x04, 0xba,
        0x48, 0x01, 0xd0, 0xff, 0xe0, 0x50, 0x58, 0x5b, 0xc3, 0x90, 0x5b, 0xc3, 0xfb, 0xff, 0xff, 0xff, 0xfd, 0xff,
        0xff, 0xff }, 39 },
    { "code_that_no_path_leads_to", true, { 0x53, 0x31, 0xdb, 0xff, 0xe0, 0x90, 0x5b, 0xc3, 0x90, 0x5b, 0xc3 }, 11 },
    { "a_call_that_does_not_return", true,
      { 0x53, 0x85, 0xff, 0x74, 0x09, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3 }, 16 },
    { "a_loop_that_meets_itself", true, /* push rbx; sub rsp,16; L: dec edi; jne L; add rsp,16; pop rbx; ret */
      { 0x53, 0x48, 0x83, 0xec, 0x10, 0xff, 0xcf, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3 }, 15 },
    { "a_path_into_no_code", true, /* push rbx; test edi,edi; je L; (bad) nop; L: pop rbx; ret */
      { 0x53, 0x85, 0xff, 0x74, 0x02, 0x06, 0x90, 0x5b, 0xc3 }, 9 },
    { "a_function_whose_bounds_are_not_known", false,
      { 0x53, 0x48, 0x83, 0xec, 0x20, 0x31, 0xdb, 0x85, 0xff, 0x74, 0x01, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3 }, 18 },
    { "one_that_never_returns_and_is_known_by_its_call", false, /* sub rsp,24; L: nop; jmp L */
      { 0x48, 0x83, 0xec, 0x18, 0x90, 0xeb, 0xfd }, 7 },
};
/* clang-format on */

static void put_row(const struct row *row)
{
    assert_int_equal(sw_sim_bytes(sim, FIRST_CODE, row->code, row->size), SW_OK);
    if (row->is_known)
        assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, FIRST_CODE, FIRST_CODE + row->size, 1), SW_OK);
}

static void check_pc(uint64_t pc)
{
    const struct kept_seen without = walk(NULL, pc), with = walk(kept, pc);
    assert_true(is_same_walk(&without, &with));
}

/* The first pc's walk fills the store; then it is asked, with the same scratch and with one that holds something else.
 */
static void frames_are_those_without(void **state)
{
    const struct row *row = *state;
    put_row(row);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned at = 0; at < row->size; at++) {
            memset(&scratch, 0x5a * (int)round, sizeof scratch);
            check_pc(FIRST_CODE + at);
        }
    assert_true(sw_analysis_cache_get_counts(kept).hits > row->size);
    assert_int_equal(sw_analysis_cache_get_counts(kept).outdated, 0);
}

/* ---- never the answer of code that is gone ---- */

/*
 * Every byte changed, one after the other, with the old code's analysis in the store: at every pc. An analysis taken
 * for the new code's by mistake would stay, and answer at all of them.
 */
static void changed_code_is_answered_as_it_is(void **state)
{
    const struct row *row = *state;
    put_row(row);
    for (unsigned at = 0; at < row->size; at++) {
        const uint8_t changed = row->code[at] ^ 0x95;
        check_pc(FIRST_CODE);
        assert_int_equal(sw_sim_bytes(sim, FIRST_CODE + at, &changed, 1), SW_OK);
        for (unsigned pc = 0; pc < row->size; pc++)
            check_pc(FIRST_CODE + pc);
        assert_int_equal(sw_sim_bytes(sim, FIRST_CODE + at, &row->code[at], 1), SW_OK);
    }
    assert_true(sw_analysis_cache_get_counts(kept).outdated > 0);
}

static void code_that_becomes_unreadable_is_answered_as_it_is(void **state)
{
    const struct row *row = *state;
    put_row(row);
    for (unsigned at = 1; at < row->size; at++) {
        check_pc(FIRST_CODE + at - 1u);
        assert_int_equal(sw_sim_unmap(sim, FIRST_CODE + at, row->size - at), SW_OK);
        check_pc(FIRST_CODE + at - 1u);
        assert_int_equal(sw_sim_bytes(sim, FIRST_CODE, row->code, row->size), SW_OK);
        check_pc(FIRST_CODE + at - 1u);
    }
}

/*
 * More code in one line than the analysis takes note of byte by byte: 70,000 bytes of lea rax, [rax + 0] of 8 bytes
 * each. Behind them a numbered function, whose frame changes; two paths meet in it, and what holds there was noted.
 */
static void a_function_larger_than_its_notes_is_answered_as_it_is(void **state)
{
    enum { PADS = 8750, BODY = 8 * PADS, MEETING = FIRST_CODE + BODY + IN_NUMBERED + 1 };
    static const uint8_t pad[8] = { 0x48, 0x8d, 0x84, 0x20, 0, 0, 0, 0 };
    static uint8_t code[BODY + NUMBERED_BYTES];
    (void)state;
    for (unsigned i = 0; i < PADS; i++)
        memcpy(code + sizeof pad * i, pad, sizeof pad);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, FIRST_CODE, FIRST_CODE + sizeof code, 1), SW_OK);
    for (unsigned n = 1; n < 12; n++) {
        numbered_code(n, code + BODY);
        assert_int_equal(sw_sim_bytes(sim, FIRST_CODE, code, sizeof code), SW_OK);
        const struct kept_seen seen = walk(kept, MEETING);
        assert_true(is_right_caller(&seen, n));
        check_pc(FIRST_CODE + 4);
    }
}

/* ---- by stamp ---- */

/* Of MOST_CODE bytes. */
static const uint8_t *fetch_code(void *arg, uint64_t pc, size_t *size)
{
    const uint8_t *code = arg;
    if (pc - FIRST_CODE >= MOST_CODE)
        return NULL;
    *size = MOST_CODE - (size_t)(pc - FIRST_CODE);
    return code + (pc - FIRST_CODE);
}

static struct sw_analysis work;

static int32_t asked(const uint8_t *code, uint64_t stamp)
{
    struct sw_meter meter = { .left = SW_METER_UNLIMITED };
    const struct sw_code what = { &sw_x64_arch, fetch_code, (void *)(uintptr_t)code, &meter };
    struct sw_rule rule;
    assert_int_equal(sw_analysis_cache_rule(kept, &what, FIRST_CODE, FIRST_CODE + NUMBERED_BYTES,
                                            FIRST_CODE + IN_NUMBERED, stamp, &work, &rule),
                     SW_OK);
    return rule.cfa.off;
}

static void a_stamp_stands_for_the_code_until_it_changes(void **state)
{
    uint8_t code[MOST_CODE] = { 0 };
    (void)state;
    numbered_code(1, code);
    assert_int_equal(asked(code, 7), frame_of(1) + 8);
    numbered_code(2, code);
    assert_int_equal(asked(code, 8), frame_of(2) + 8);
    assert_int_equal(sw_analysis_cache_get_counts(kept).outdated, 1);
    assert_int_equal(asked(code, 8), frame_of(2) + 8);
    assert_int_equal(sw_analysis_cache_get_counts(kept).hits, 1);
    numbered_code(3, code);
    assert_int_equal(asked(code, 0), frame_of(3) + 8); /* it is in no image any more */
    assert_int_equal(asked(code, 8), frame_of(3) + 8);
    assert_int_equal(sw_analysis_cache_get_counts(kept).outdated, 3);
    assert_int_equal(sw_analysis_cache_get_counts(kept).hits, 1);
}

/* ---- by path ---- */

enum { IN_SEEN = 5, IN_GAP = 9, LEVELS = 60, LEVEL_BYTES = 3, WITH_GAP = IN_GAP + LEVELS * LEVEL_BYTES };

static const uint8_t *fetch_with_gap(void *arg, uint64_t pc, size_t *size)
{
    *size = pc - FIRST_CODE < WITH_GAP ? (size_t)(WITH_GAP - (pc - FIRST_CODE)) : 0;
    return *size ? (const uint8_t *)arg + (pc - FIRST_CODE) : NULL;
}

static enum sw_trust trust_at(uint8_t *code, uint64_t pc)
{
    const struct sw_code what = { &sw_x64_arch, fetch_with_gap, code, NULL };
    struct sw_rule rule = { .trust = SW_TRUST_NONE };
    (void)!sw_analysis_cache_rule(kept, &what, FIRST_CODE, FIRST_CODE + WITH_GAP, FIRST_CODE + pc, 7, &work, &rule);
    return (enum sw_trust)rule.trust;
}

/*
 * push rbx; sub rsp, 16; test edi, edi; jmp rax; and code that no path leads to, of more states than there is room for:
 * push rax; je to what follows.
 */
static void a_path_that_was_assumed_casts_no_doubt_on_those_seen(void **state)
{
    static const uint8_t seen[IN_GAP] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0x85, 0xff, 0xff, 0xe0 };
    uint8_t code[WITH_GAP] = { 0 };
    (void)state;
    memcpy(code, seen, sizeof seen);
    for (unsigned i = 0; i < LEVELS; i++)
        memcpy(code + IN_GAP + LEVEL_BYTES * i, "\x50\x74\x00", LEVEL_BYTES);
    assert_int_equal(trust_at(code, IN_SEEN), SW_TRUST_LIKELY);
    assert_int_equal(trust_at(code, IN_GAP + LEVEL_BYTES), SW_TRUST_GUESS);
    assert_true(work.hit_bound);
    assert_int_equal(trust_at(code, IN_SEEN), SW_TRUST_LIKELY);
}

enum { TIMES = 3, ELSEWHERE = 0x10000000 };

/* Called by its name, so that its caller can be proved by that: by the analysis from its start. */
static __attribute__((noinline)) void walk_self(struct sw_images *images, struct kept_seen seen[TIMES],
                                                struct sw_analysis_cache_counts counts[TIMES])
{
    struct sw_walker walker;
    struct sw_regs regs;
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.flags = SW_WALK_NO_TABLES;
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    sw_self_capture(&regs);
    for (unsigned i = 0; i < TIMES; i++) {
        if (i == 2)
            assert_int_equal(sw_images_add_file(images, "/proc/self/exe", ELSEWHERE), SW_OK);
        seen[i] = walk_regs(&walker, kept, &scratch, &regs);
        counts[i] = sw_analysis_cache_get_counts(kept);
    }
}

/* This program's own images: what was kept of their code counts until one is added anywhere. */
static void images_that_change_make_what_was_kept_of_them_outdated(void **state)
{
    struct sw_images *images;
    static struct kept_seen seen[TIMES];
    struct sw_analysis_cache_counts counts[TIMES];
    (void)state;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    walk_self(images, seen, counts);
    sw_images_destroy(images);
    assert_int_equal(seen[0].count, 2);
    assert_true(is_same_walk(&seen[0], &seen[1]) && is_same_walk(&seen[0], &seen[2]));
    assert_true(counts[0].misses > 0);
    assert_true(counts[1].hits > counts[0].hits);
    assert_int_equal(counts[1].misses, counts[0].misses);
    assert_int_equal(counts[1].outdated, 0);
    assert_true(counts[2].outdated > 0);
}

/* ---- small ---- */

static void make_small_with_many(void)
{
    sw_analysis_cache_destroy(kept);
    filler = 0; /* so that words with something in them are told from others */
    make(SMALL);
    for (unsigned n = 0; n < MANY; n++)
        assert_true(put_numbered(sim, n));
}

/* What was just put is found, wherever in the ring it came to lie, at its end too. */
static void in_a_small_store_old_ones_make_room(void **state)
{
    (void)state;
    make_small_with_many();
    for (unsigned n = 0; n < ROUNDS * MANY; n++) {
        const uint64_t hits = sw_analysis_cache_get_counts(kept).hits,
                       misses = sw_analysis_cache_get_counts(kept).misses;
        struct kept_seen seen = walk(kept, begin_of(n % MANY) + IN_NUMBERED);
        assert_true(is_right_caller(&seen, n % MANY));
        seen = walk(kept, begin_of(n % MANY) + IN_NUMBERED);
        assert_true(is_right_caller(&seen, n % MANY));
        const struct sw_analysis_cache_counts now = sw_analysis_cache_get_counts(kept);
        assert_true(now.hits > hits);
        assert_true(2 * (now.hits - hits) >= now.misses - misses); /* an analysis and a rule out of it */
    }
    const struct sw_analysis_cache_counts counts = sw_analysis_cache_get_counts(kept);
    assert_true(counts.misses > MANY);
    assert_int_equal(counts.outdated, 0);
    assert_int_equal(counts.bytes, SMALL);
}

/* ---- damaged ---- */

static uint64_t *words_of_store(void)
{
    return block;
}

/* Words that are 0 in an empty store: all but its sizes and pointers, which only a bug of the process itself changes.
 */
static void find_data(bool is_data[SMALL / 8])
{
    for (size_t i = 0; i < SMALL / 8; i++)
        is_data[i] = words_of_store()[i] == 0;
}

/* A walk through each of the first functions: what the store has, or what it is filled with. */
static void check_all(unsigned functions)
{
    for (unsigned n = 0; n < functions; n++) {
        const struct kept_seen seen = walk(kept, begin_of(n) + IN_NUMBERED);
        assert_true(is_right_caller(&seen, n));
    }
}

static void any_word_damaged_changes_no_answer(void **state)
{
    enum { SOME = 3 };
    static const uint64_t masks[] = { UINT64_MAX, 1, UINT64_C(1) << 63, UINT64_C(0xffffffff) };
    static bool is_data[SMALL / 8];
    (void)state;
    make_small_with_many();
    find_data(is_data);
    check_all(SOME);
    for (size_t i = 0; i < SMALL / 8; i += HOST_STRIDE)
        for (size_t m = 0; is_data[i] && m < (words_of_store()[i] ? COUNT_OF(masks) : 1); m++) {
            words_of_store()[i] ^= masks[m];
            check_all(SOME);
        }
}

/* Every bit of one entry and of all that leads to it, the store as it was but for that. */
static void any_bit_damaged_changes_no_answer(void **state)
{
    static bool is_data[SMALL / 8];
    static uint64_t was[SMALL / 8];
    unsigned bits = 0;
    (void)state;
    make_small_with_many();
    find_data(is_data);
    check_all(1);
    memcpy(was, block, sizeof was);
    for (size_t i = 0; i < SMALL / 8; i++)
        for (unsigned bit = 0; is_data[i] && was[i] != 0 && bit < 64; bit++, bits++) {
            memcpy(block, was, sizeof was);
            words_of_store()[i] ^= UINT64_C(1) << bit;
            check_all(1);
        }
    assert_true(bits > 64 * 10); /* there was something to be damaged */
}

/* A packed analysis that another wrote, checksum and all: a wrong rule at worst. Sanitizers judge. */
static void any_bit_of_a_packed_analysis_may_be_wrong(void **state)
{
    static uint64_t packed[SW_ANALYZE_PACKED];
    const struct row *row = *state;
    const struct sw_code code = { &sw_x64_arch, fetch_code, (void *)(uintptr_t)row->code, NULL };
    const uint64_t end = FIRST_CODE + row->size;
    struct sw_rule rule;
    sw_analyze_run(&code, FIRST_CODE, end, &work);
    work.is_packed = true;
    const size_t count = sw_analysis_pack(&work, packed, SW_ANALYZE_PACKED);
    assert_true(count > 0);
    for (size_t bit = 0; bit < 64 * count; bit++) {
        memcpy(work.packed, packed, count * sizeof packed[0]);
        work.packed[bit / 64] ^= UINT64_C(1) << bit % 64;
        if (!sw_analysis_unpack(&work, &code, work.packed, count))
            continue;
        for (unsigned pc = 0; pc < row->size; pc++)
            (void)!sw_analyze_rule(&work, FIRST_CODE + pc, &rule);
    }
    memcpy(work.packed, packed, count * sizeof packed[0]);
    for (size_t less = 0; less < count; less++)
        assert_false(sw_analysis_unpack(&work, &code, work.packed, less));
}

/* ---- pending work ---- */

static struct sw_pending pending_of(uint64_t n)
{
    return (struct sw_pending){ { SW_FINDING_RULE, FIRST_CODE, n, n + 1 }, n + 2, n + 3 };
}

/* What is noted is found with its stamp, and with that alone, until it is settled. */
static void pending_work_is_noted_until_it_is_settled(void **state)
{
    enum { SOME = 12 };
    struct sw_pending there;
    unsigned found = 0;
    (void)state;
    for (uint64_t n = 0; n < SOME; n++) {
        const struct sw_pending pending = pending_of(n);
        sw_analysis_cache_pend(kept, &pending);
        sw_analysis_cache_pend(kept, &pending);
    }
    assert_int_equal(sw_analysis_cache_get_counts(kept).cuts, 2 * SOME);
    assert_int_equal(sw_analysis_cache_get_counts(kept).pending, SOME);
    for (size_t n = 0; sw_analysis_cache_pending(kept, n, &there); n++)
        if (there.finding.kind != SW_FINDING_NONE) {
            const struct sw_pending pending = pending_of(there.finding.b);
            assert_memory_equal(&there, &pending, sizeof there);
            found++;
        }
    assert_int_equal(found, SOME);
    for (uint64_t n = 0; n < SOME; n++) {
        const struct sw_pending pending = pending_of(n);
        assert_int_equal(sw_analysis_cache_cost(kept, &pending.finding, pending.stamp), pending.cost);
        assert_int_equal(sw_analysis_cache_cost(kept, &pending.finding, pending.stamp + 1), 0);
        sw_analysis_cache_settle(kept, &pending.finding);
        assert_int_equal(sw_analysis_cache_cost(kept, &pending.finding, pending.stamp), 0);
    }
    assert_int_equal(sw_analysis_cache_get_counts(kept).pending, 0);
}

/* Each is found after all of them: with one place for each, some would share theirs with another. */
static void few_findings_do_not_drive_each_other_out(void **state)
{
    enum { FEW = 300, APART = 48, GENERATION = 7 };
    const struct sw_code code = { .arch = sw_arch_of(SW_MACHINE_X64) };
    (void)state;
    for (unsigned turn = 0; turn < 2; turn++)
        for (uint64_t n = 0; n < FEW; n++) {
            const struct sw_finding finding = { SW_FINDING_ANALYSIS, 0x400000 + APART * n, 0, 0 };
            uint64_t word = n;
            if (turn == 0)
                sw_analysis_cache_put(kept, &code, &finding, GENERATION, &word, 1);
            assert_int_equal(sw_analysis_cache_get(kept, &code, &finding, GENERATION, &word, 1), 1);
            assert_int_equal(word, n);
        }
}

/* More than there is room for: some are lost, none is mistaken for another. */
static void pending_work_that_does_not_fit_is_lost(void **state)
{
    enum { TOO_MANY = 100000 };
    uint64_t kept_notes = 0;
    (void)state;
    for (uint64_t n = 0; n < TOO_MANY; n++) {
        const struct sw_pending pending = pending_of(n);
        sw_analysis_cache_pend(kept, &pending);
        assert_int_equal(sw_analysis_cache_cost(kept, &pending.finding, pending.stamp), pending.cost);
    }
    for (uint64_t n = 0; n < TOO_MANY; n++) {
        const struct sw_pending pending = pending_of(n);
        const uint64_t cost = sw_analysis_cache_cost(kept, &pending.finding, pending.stamp);
        assert_true(cost == 0 || cost == pending.cost);
        kept_notes += cost != 0;
    }
    assert_int_equal(kept_notes, sw_analysis_cache_get_counts(kept).pending);
    assert_in_range(kept_notes, 8, TOO_MANY / 2);
}

static void a_store_that_is_not_there_has_nothing_pending(void **state)
{
    const struct sw_pending pending = pending_of(1);
    struct sw_pending there;
    (void)state;
    sw_analysis_cache_pend(NULL, &pending);
    sw_analysis_cache_settle(NULL, &pending.finding);
    assert_int_equal(sw_analysis_cache_cost(NULL, &pending.finding, pending.stamp), 0);
    assert_false(sw_analysis_cache_pending(NULL, 0, &there));
}

/* ---- all of them ---- */

#define SINGLE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void fill_rows(struct CMUnitTest *tests, CMUnitTestFunction run)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, run, set_up, tear_down, (void *)(uintptr_t)&rows[i] };
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(size_rows) + 4 * COUNT_OF(rows) + 13] = {
        [COUNT_OF(size_rows) + 4 * COUNT_OF(rows)] = cmocka_unit_test(what_is_no_allocator_is_refused),
        SINGLE(no_store_is_as_good_as_an_empty_one),
        SINGLE(a_function_larger_than_its_notes_is_answered_as_it_is),
        SINGLE(a_path_that_was_assumed_casts_no_doubt_on_those_seen),
        SINGLE(a_stamp_stands_for_the_code_until_it_changes),
        SINGLE(images_that_change_make_what_was_kept_of_them_outdated),
        SINGLE(few_findings_do_not_drive_each_other_out),
        SINGLE(in_a_small_store_old_ones_make_room),
        SINGLE(any_word_damaged_changes_no_answer),
        SINGLE(any_bit_damaged_changes_no_answer),
        SINGLE(pending_work_is_noted_until_it_is_settled),
        SINGLE(pending_work_that_does_not_fit_is_lost),
        SINGLE(a_store_that_is_not_there_has_nothing_pending),
    };
    static const CMUnitTestFunction runs[] = {
        frames_are_those_without,
        changed_code_is_answered_as_it_is,
        code_that_becomes_unreadable_is_answered_as_it_is,
        any_bit_of_a_packed_analysis_may_be_wrong,
    };
    FILL_ROWS(tests, size_rows, size_is_kept_to);
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        fill_rows(tests + COUNT_OF(size_rows) + i * COUNT_OF(rows), runs[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
