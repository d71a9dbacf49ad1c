/*
 * Walks through an ARM64 PE image made here, in a simulated target: packed entries, records, leaf functions, a machine
 * frame, signed return addresses. Every register that no frame saves holds distinct garbage.
 */
#include "../support/bytes.h"
#include "rows.h"
#include "cached_twice.h"

#include "code/images.h"

#include <snapwalk/image.h>
#include <snapwalk/sim.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { BASE = 0x40000000, STACK = 0x700000, TEXT = 0x1000, INFO = 0x2000, TABLE = 0x3000, SIZE = 0x4000 };
enum { FP = SW_ARM64_FP, LR = SW_ARM64_LR, SP = SW_ARM64_SP, PC = SW_ARM64_PC };

/* Functions, by RVA. LEAF has no entry in the exception directory. */
enum { MAIN = 0x1000, MIDDLE = 0x1100, LEAF = 0x1200, FAULT = 0x1300 };

static const struct piece {
    uint32_t rva;
    uint32_t words[8];
} pieces[] = {
    /* stp x29, x30, [sp, #-32]!; mov x29, sp; bl MIDDLE; nop; ldp x29, x30, [sp], #32; ret */
    { MAIN, { 0xa9be7bfd, 0x910003fd, 0x9400003e, 0xd503201f, 0xa8c27bfd, 0xd65f03c0 } },
    /* str x19, [sp, #-32]!; str x30, [sp, #8]; mov x19, x0; bl LEAF; ldr x30, [sp, #8]; ldr x19, [sp], #32; ret */
    { MIDDLE, { 0xf81e0ff3, 0xf90007fe, 0xaa0003f3, 0x9400003d, 0xf94007fe, 0xf84207f3, 0xd65f03c0 } },
    /* mov w0, #1; ret */
    { LEAF, { 0x52800020, 0xd65f03c0 } },
    /* nop; brk #0 */
    { FAULT, { 0xd503201f, 0xd4200000 } },
    /* save_reg x30, 8; save_reg_x x19, 32; end, for prolog and the epilog at the end */
    { INFO, { 7 | 1u << 21 | 2u << 27, 0x03d4c1d2, 0xe4e4e4e4 } },
    /* machine frame, end; no prolog, no epilog */
    { INFO + 0x20, { 2 | 1u << 27, 0xe4e4e4e9 } },
};

/* MAIN: flag 1, six instructions, chained, a frame of 32 bytes. */
static const uint32_t table[][2] = {
    { MAIN, 1 | 6 << 2 | 3 << 21 | 2 << 23 },
    { MIDDLE, INFO },
    { FAULT, INFO + 0x20 },
};

static void make_image(uint8_t image[SIZE], uint16_t machine)
{
    uint8_t *pe = image + 0x80, *optional = pe + 24, *section = optional + 0xf0;
    memset(image, 0, SIZE);
    memcpy(image, "MZ", 2);
    put_le(image + 60, 0x80, 4);
    memcpy(pe, "PE\0\0", 4);
    put_le(pe + 4, machine | 1u << 16, 4);
    put_le(pe + 20, 0x202200f0, 4);
    memcpy(optional, "\x0b\x02", 2);
    put_le(optional + 56, SIZE, 4);
    put_le(optional + 60, 0x400, 4);
    put_le(optional + 108, 16, 4);
    put_le(optional + 112 + 8 * 3, TABLE, 4);
    put_le(optional + 112 + 8 * 3 + 4, sizeof table, 4);
    const uint32_t words[] = { SIZE - TEXT, TEXT, SIZE - TEXT, TEXT };
    memcpy(section + 8, words, sizeof words);
    put_le(section + 36, 0x60000020, 4);
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        memcpy(image + pieces[i].rva, pieces[i].words, sizeof pieces[i].words);
    memcpy(image + TABLE, table, sizeof table);
}

static struct sw_scratch scratch;

static void load(uint16_t machine)
{
    static uint8_t image[SIZE];
    const struct sw_memory memory = sw_sim_memory(sim);
    make_image(image, machine);
    assert_int_equal(sw_sim_bytes(sim, BASE, image, SIZE), SW_OK);
    assert_int_equal(sw_images_add_memory(images, "a.dll", BASE, SIZE, &memory), SW_OK);
    sw_sim_walker(sim)->images = images;
}

/* One frame that is expected; x19 is known in all of them. */
struct expected {
    uint32_t rva;
    uint8_t source;
    uint8_t trust;
    bool exact;
    uint64_t x19;
};

#define WORDS(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }
enum { SAVED_X19 = 0x719719, GARBAGE_X19 = 0xbad13013, SIGNED = 1 };
#define OF_MAIN   0, 0, 0x123, 0x123
#define OF_MIDDLE SAVED_X19, MAIN + 12, 0x123, 0x123

/* lr: the RVA it holds. Stack words below 0x10000 that are RVAs of code become addresses. */
static const struct row {
    const char *name;
    uint32_t pc, lr;
    uint32_t flags;
    uint64_t words[16];
    struct expected frames[5];
    enum sw_stop stop;
} rows[] = {
    { "a_leaf_leaves_its_return_address_in_lr",
      LEAF + 4,
      MIDDLE + 16,
      SW_WALK_NO_ANALYSIS,
      WORDS(OF_MIDDLE, OF_MAIN),
      { { MIDDLE + 16, SW_SOURCE_LEAF, SW_TRUST_LIKELY, false, GARBAGE_X19 },
        { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, SAVED_X19 } },
      SW_STOP_ROOT_ZERO },
    { "instructions_agree_with_the_leaf",
      LEAF + 4,
      MIDDLE + 16,
      0,
      WORDS(OF_MIDDLE, OF_MAIN),
      { { MIDDLE + 16, SW_SOURCE_LEAF, SW_TRUST_EXACT, false, GARBAGE_X19 },
        { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, SAVED_X19 } },
      SW_STOP_ROOT_ZERO },
    { "at_the_entry_nothing_is_saved",
      MIDDLE,
      MAIN + 12,
      0,
      WORDS(OF_MAIN),
      { { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, GARBAGE_X19 } },
      SW_STOP_ROOT_ZERO },
    { "in_the_prolog_lr_is_not_saved_yet",
      MIDDLE + 4,
      MAIN + 12,
      0,
      WORDS(SAVED_X19, 0x66, 0x123, 0x123, OF_MAIN),
      { { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, SAVED_X19 } },
      SW_STOP_ROOT_ZERO },
    { "in_the_epilog_lr_is_back",
      MIDDLE + 20,
      MAIN + 12,
      0,
      WORDS(SAVED_X19, 0x66, 0x123, 0x123, OF_MAIN),
      { { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, SAVED_X19 } },
      SW_STOP_ROOT_ZERO },
    { "a_machine_frame_leads_to_an_exact_pc",
      FAULT,
      MAIN + 12,
      0,
      WORDS(STACK + 0x20, MIDDLE + 4, 0x66, 0x66, SAVED_X19, 0x66, 0x123, 0x123, OF_MAIN),
      { { MIDDLE + 4, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, true, GARBAGE_X19 },
        { MAIN + 12, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT, false, SAVED_X19 } },
      SW_STOP_ROOT_ZERO },
};

static uint64_t address_of(uint64_t word)
{
    return word >= TEXT && word < 0x10000 ? BASE + word : word;
}

static void put_stack(const uint64_t *words, uint64_t signature)
{
    uint64_t stack[COUNT_OF(rows[0].words)];
    for (size_t i = 0; i < COUNT_OF(stack); i++) {
        stack[i] = address_of(words[i]);
        if (stack[i] >= BASE && stack[i] < BASE + SIZE)
            stack[i] |= signature;
    }
    assert_int_equal(sw_sim_words(sim, STACK, stack, COUNT_OF(stack)), SW_OK);
}

/* x29 is MAIN's: it points at the last frame record, {0, 0}. */
static struct sw_regs start_at(const struct row *row, uint64_t signature)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_ARM64);
    size_t record = 0;
    for (size_t i = 0; i + 1 < COUNT_OF(row->words) && !record; i++)
        if (row->words[i] == 0 && row->words[i + 1] == 0)
            record = i + 1;
    sw_regs_set(&regs, 19, GARBAGE_X19);
    sw_regs_set(&regs, FP, STACK + 8 * (record - 1));
    sw_regs_set(&regs, LR, address_of(row->lr) | signature);
    sw_regs_set(&regs, SP, STACK);
    sw_regs_set(&regs, PC, BASE + row->pc);
    return regs;
}

static void assert_walk(const struct row *row, uint64_t signature)
{
    const struct expected *expected = row->frames;
    const struct sw_regs regs = start_at(row, signature);
    struct sw_walk walk;
    put_stack(row->words, signature);
    sw_sim_walker(sim)->flags = row->flags;
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    for (; expected->rva; expected++) {
        assert_true(sw_walk_next(&walk));
        assert_int_equal(sw_regs_pc(&walk.frame.regs), BASE + expected->rva);
        assert_int_equal(walk.frame.source, expected->source);
        assert_int_equal(walk.frame.trust, expected->trust);
        assert_int_equal(walk.frame.exact, expected->exact);
        assert_true(sw_regs_has(&walk.frame.regs, 19) && walk.frame.regs.r[19] == expected->x19);
        assert_false(sw_regs_has(&walk.frame.regs, SW_ARM64_X0));
    }
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, row->stop);
}

static void walk_is_as_expected(void **state)
{
    load(0xaa64);
    assert_walk(*state, 0);
}

static void signed_return_addresses_make_no_difference(void **state)
{
    (void)state;
    load(0xaa64);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].pc != FAULT) /* a pc that the processor stored is not signed */
            assert_walk(&rows[i], UINT64_C(0x0025000000000000));
}

/* An image of the other machine has no rule for this one's frames. */
static void image_of_another_machine_gives_no_rule(void **state)
{
    struct sw_walk walk;
    const struct row *row = &rows[3];
    const struct sw_regs regs = start_at(row, 0);
    (void)state;
    load(0x8664);
    put_stack(row->words, 0);
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    assert_false(sw_walk_next(&walk));
    assert_int_equal(walk.stop, SW_STOP_NO_RULE);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(signed_return_addresses_make_no_difference, set_up_arm64, tear_down_target),
        cmocka_unit_test_setup_teardown(image_of_another_machine_gives_no_rule, set_up_arm64, tear_down_target),
    };
    struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(single)];
    FILL_ROWS(tests, rows, walk_is_as_expected);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tests[i].setup_func = set_up_arm64;
        tests[i].teardown_func = tear_down_target;
    }
    memcpy(tests + COUNT_OF(rows), single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
