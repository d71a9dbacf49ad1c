/*
 * The fast lane on ARM64: stacks of frames of every shape that a step can say, in an order that chance names, walked
 * with a rule cache, in batches, by addresses and with a replay memory, and without any of them. All see the same.
 * Return addresses are plain, signed with a mask that says so, and signed without one.
 */
#include "rows.h"
#include "cached_twice.h"
#include "../support/random.h"

#include <snapwalk/sim.h>

#include "../support/target.h" /* last: its names are short */

enum { SP = SW_ARM64_SP, FP = SW_ARM64_FP, LR = SW_ARM64_LR, PC = SW_ARM64_PC };
enum { FRAMES = 24, CODE = 0x100000, APART = 0x100, STACK_WORDS = 4000, CODE_WORDS = 24 };

#define PAC_MASK  (UINT64_C(0x7f) << 48)
#define SIGNATURE (UINT64_C(0x2b) << 48)

#define STACK UINT64_C(0x7f0000000000) /* so far up that no word of this program is where the window would have 0 */

/* ---- functions ---- */

/* A64, as far as it is needed here; offsets in bytes. */
static uint32_t stp(unsigned a, unsigned b, unsigned at)
{
    return 0xa90003e0 | at / 8 << 15 | b << 10 | a;
}

enum { MOV_FP_SP = 0x910003fd, BL = 0x94000000, SIGN = 0xd503233f, CHECK = 0xd50323bf, RET = 0xd65f03c0 };
enum { ADD = 0x910003ff, SUB = 0xd10003ff, LOAD = 1 << 22 };

static uint32_t move_sp(uint32_t how, unsigned bytes)
{
    return bytes < 4096 ? how | bytes << 10 : how | 1 << 22 | bytes / 4096 << 10;
}

/*
 * A shape of frames.
 *
 * size     Bytes.
 * record   Where x30 is stored, or x29 and x30; in bytes above sp.
 * has_fp   x29 is stored, too, and points there from then on.
 * saved    How many of x19 to x28 are stored; first: in bytes above sp.
 * is_easy  The lane goes by it.
 */
static const struct shape {
    char letter;
    unsigned size, record;
    bool has_fp;
    unsigned saved, first;
    bool is_easy;
} shapes[] = {
    { 'b', 32, 0, true, 0, 0, true },        /* a record at the bottom */
    { 's', 112, 0, true, 10, 16, true },     /* all registers */
    { 't', 64, 48, true, 4, 0, true },       /* a record at the top, registers below it */
    { 'm', 96, 32, true, 2, 80, true },      /* above outgoing arguments */
    { 'l', 16, 0, false, 0, 0, true },       /* lr alone */
    { 'r', 48, 8, false, 4, 16, true },      /* lr and registers */
    { 'B', 4096, 0, true, 2, 16, true },     /* large, a record at the bottom */
    { 'L', 4096, 4080, false, 0, 0, false }, /* large, lr at the top */
};

static const struct shape *shape_of(char letter)
{
    const struct shape *shape = shapes;
    while (shape->letter != letter)
        shape++;
    return shape;
}

static uint64_t begin_of(unsigned n)
{
    return CODE + (uint64_t)n * APART;
}

/* What stores a frame's registers, or loads them. Returns how many instructions. */
static unsigned put_moves(uint32_t *code, const struct shape *shape, uint32_t load)
{
    unsigned count = 0;
    code[count++] = load | (shape->has_fp ? stp(FP, LR, shape->record) : 0xf90003fe | shape->record / 8 << 10);
    for (unsigned i = 0; i < shape->saved; i += 2)
        code[count++] = load | stp(19 + i, 20 + i, shape->first + 8 * i);
    return count;
}

/* Function n, which calls the one in front of it. Returns the address behind the call. */
static uint64_t put_function(unsigned n, const struct shape *shape, bool has_range)
{
    uint32_t code[CODE_WORDS] = { SIGN, move_sp(SUB, shape->size) };
    unsigned count = 2;
    count += put_moves(code + count, shape, 0);
    if (shape->has_fp)
        code[count++] = MOV_FP_SP | shape->record << 10;
    code[count] = BL | ((uint32_t) - ((int32_t)(APART / 4 + count)) & 0x3ffffff);
    const uint64_t behind = begin_of(n) + 4 * ++count;
    count += put_moves(code + count, shape, LOAD);
    code[count++] = move_sp(ADD, shape->size);
    code[count++] = CHECK;
    code[count++] = RET;
    put_code(begin_of(n), code, count * sizeof *code, has_range ? SW_KIND_JIT : SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    return behind;
}

/* ---- stacks ---- */

static struct stack {
    uint64_t words[STACK_WORDS];
    uint64_t pc[FRAMES + 1], sp[FRAMES + 1], fp;
    unsigned easy;
} stack;

static uint64_t *word_at(uint64_t address)
{
    return &stack.words[(address - STACK) / 8];
}

/* From the outermost frame to the leaf: each stores what it finds, and then has values of its own. */
static struct sw_regs make_stack(const char *letters, bool has_ranges, uint64_t signature)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_ARM64);
    uint64_t size = 0, behind = 0;
    uint64_t chance = 77;
    memset(&stack, 0, sizeof stack);
    for (const char *c = letters; *c; c++)
        size += shape_of(*c)->size;
    regs.r[SP] = STACK + size;
    regs.r[FP] = STACK + size;
    for (unsigned n = (unsigned)strlen(letters); n-- > 0;) {
        const struct shape *shape = shape_of(letters[n]);
        regs.r[SP] -= shape->size;
        *word_at(regs.r[SP] + shape->record + (shape->has_fp ? 8 : 0)) = behind ? behind | signature : 0;
        if (shape->has_fp)
            *word_at(regs.r[SP] + shape->record) = regs.r[FP];
        for (unsigned i = 0; i < shape->saved; i++) {
            *word_at(regs.r[SP] + shape->first + 8 * i) = regs.r[19 + i];
            regs.r[19 + i] = next_random(&chance);
        }
        if (shape->has_fp)
            regs.r[FP] = regs.r[SP] + shape->record;
        behind = put_function(n + 1, shape, has_ranges);
        stack.easy += shape->is_easy;
    }
    assert_int_equal(sw_sim_words(sim, STACK, stack.words, size / 8), SW_OK);
    if (!has_ranges) {
        const struct sw_range all = { CODE, CODE + (FRAMES + 1) * APART, 0, 0, SW_KIND_STUB, SW_UNWIND_AUTO, 0 };
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &all), SW_OK);
    }
    regs.r[PC] = behind;
    regs.r[SW_X64_RSP] = 16; /* what another machine calls so leads nowhere */
    regs.r[SW_X64_RBP] = 32;
    regs.known = SW_ARM64_NONVOLATILE | UINT64_C(1) << SP | UINT64_C(1) << PC;
    return regs;
}

/* ---- walks ---- */

/* How many callers come in batches, out of the cache. */
static unsigned in_batches(const struct sw_walker *walker, const struct sw_regs *start)
{
    static struct sw_scratch scratch;
    struct sw_walk walk;
    struct sw_batch batch;
    unsigned count = 0;
    sw_walk_start(&walk, walker, &scratch, start, false);
    while (sw_walk_next(&walk))
        while (sw_batch_take(&walk, &batch)) {
            count += batch.count;
            for (unsigned i = 0; i < batch.count; i++)
                sw_batch_go(&walk, SW_MACHINE_ARM64, &batch.frames[i]);
            sw_batch_arrive(&walk, &batch, batch.count - 1);
        }
    return count;
}

/* As if tables had told of all frames: then no call has to confirm a step, and walks go by shorter ways. */
static void forget_calls(void)
{
    for (uint32_t n = 1; n <= cache->used; n++) {
        atomic_fetch_and(&cache->cold[n].step, ~SW_STEP_BY_CALL);
        atomic_fetch_and(&cache->hot[n].step, ~SW_STEP_BY_CALL);
    }
}

static const struct row {
    const char *name;
    const char *letters; /* leaf first */
    bool has_ranges;
    uint64_t signature, mask;
} rows[] = {
    { "arm64_records_at_the_bottom", "bbbbbbbbbbbb", true, 0, 0 },
    { "arm64_records_at_the_top", "tttttttt", true, 0, 0 },
    { "arm64_lr_alone", "llllllll", true, 0, 0 },
    { "arm64_all_registers", "ssssss", true, 0, 0 },
    { "arm64_every_shape", "bstmlrBbstmlrbtlBs", true, 0, 0 },
    { "arm64_large_frames_with_lr_at_the_top", "bLbLsLb", true, 0, 0 },
    { "arm64_signed_and_masked", "bstmlrBbstmlrbtlBs", true, SIGNATURE, PAC_MASK },
    { "arm64_masked_and_plain", "bstmlrBbstmlrbtlBs", true, 0, PAC_MASK },
    { "arm64_signed_without_a_mask", "bstmlrBbstmlrbtlBs", true, SIGNATURE, 0 },
    { "arm64_unknown_begins", "bbbbttttllllbtlsm", false, 0, 0 },
    { "arm64_unknown_begins_signed", "bbbbttttllllbtlsm", false, SIGNATURE, PAC_MASK },
};

static void frames_are_those_without_a_cache(void **state)
{
    const struct row *row = *state;
    static struct twice plain;
    const struct sw_regs start = make_stack(row->letters, row->has_ranges, row->signature);
    const unsigned count = (unsigned)strlen(row->letters);
    struct sw_walker walker = *sw_sim_walker(sim);
    walker.pac_mask = row->mask;
    twice_walk(&walker, &start, false, &plain);
    assert_int_equal(plain.stop, SW_STOP_ROOT_ZERO);
    assert_int_equal(plain.count, count);
    const unsigned stored = row->has_ranges ? count : count - 1; /* nothing confirms how the outermost is left */
    assert_int_equal(walk_twice(&walker, &start, false), stored);
    assert_int_equal(walk_twice(&walker, &start, true), stored);
    if (!row->has_ranges)
        return;
    walker.cache = cache;
    twice_window(&walker, STACK, &walker.memory.window);
    (void)in_batches(&walker, &start);
    const bool is_missed = row->signature && !row->mask;
    assert_int_equal(in_batches(&walker, &start), is_missed ? 0 : stack.easy - 1);
    twice_summaries(&walker, &start, false, &plain);
    forget_calls();
    assert_int_equal(in_batches(&walker, &start), is_missed ? 0 : stack.easy - 1);
    twice_addresses(&walker, &start, false, &plain);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, frames_are_those_without_a_cache, set_up_arm64, tear_down_target,
                                        (void *)(uintptr_t)&rows[i] };
    return _cmocka_run_group_tests("lane_arm64", tests, COUNT_OF(tests), NULL, NULL);
}
