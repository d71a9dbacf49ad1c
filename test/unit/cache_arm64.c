/*
 * The rule cache on ARM64: rules come out of a line as they went in, or are refused; and walks out of it see what they
 * see without it, signed return addresses, leaves and freed code included.
 */
#include "rows.h"
#include "cached_twice.h"

#include "arch/arch.h"

#include <snapwalk/sim.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { SP = SW_ARM64_SP, FP = SW_ARM64_FP, LR = SW_ARM64_LR, PC = SW_ARM64_PC, NONE = 0, LOST = 9999 };

/* ---- rules ---- */

#define PLAIN  SW_STEP_PLAIN
#define FRAMED SW_STEP_FRAMED
#define SINGLE SW_STEP_SINGLE

/* CFA = reg + off; x19, x28, x29 and the return address by their offsets from the CFA (NONE: unchanged, in lr). */
static const struct rule_row {
    const char *name;
    bool fits;
    uint64_t easy; /* how the lane goes by it */
    uint8_t reg;
    int32_t off, x19, x28, fp, pc;
} rule_rows[] = {
    { "arm64_leaf", true, 0, SP, 0, NONE, NONE, NONE, NONE },
    { "arm64_record_at_the_bottom", true, PLAIN, SP, 48, -32, NONE, -48, -40 },
    { "arm64_record_at_the_top", true, PLAIN, SP, 64, -24, NONE, -16, -8 },
    { "arm64_by_fp", true, FRAMED, FP, 16, NONE, NONE, -16, -8 },
    { "arm64_by_fp_beside_the_record", true, SINGLE, FP, 32, NONE, NONE, -16, -8 },
    { "arm64_by_fp_saves_below_it", true, FRAMED, FP, 16, -216, NONE, -16, -8 },
    { "arm64_by_fp_saves_far_below_it", true, 0, FP, 16, -224, NONE, -16, -8 },
    { "arm64_by_fp_saves_in_a_large_frame", true, FRAMED, FP, 4096, -4080, NONE, -4096, -4088 },
    { "arm64_record_below_fp", true, 0, FP, 16, NONE, NONE, -32, -24 },
    { "arm64_record_above_the_cfa", true, 0, SP, 32, NONE, NONE, 8, 16 },
    { "arm64_all_saved", true, PLAIN, SP, 96, -80, -8, -96, -88 },
    { "arm64_thirty_words", true, PLAIN, SP, 512, -16, -248, -32, -24 },
    { "arm64_record_far_from_the_others", true, FRAMED, FP, 20048, -8, -80, -20048, -20040 },
    { "arm64_record_above_outgoing_arguments", true, PLAIN, SP, 4000, -8, -16, -3992, -3984 },
    { "arm64_record_as_far_above_sp_as_can_be", true, PLAIN, SP, 2048, NONE, NONE, -16, -8 },
    { "arm64_record_farther_above_sp", true, 0, SP, 2056, NONE, NONE, -16, -8 },
    { "arm64_record_far_from_both", false, 0, SP, 8000, NONE, NONE, -4000, -3992 },
    { "arm64_record_the_other_way_round", false, 0, SP, 32, NONE, NONE, -24, -32 },
    { "arm64_fp_alone_saved", false, 0, SP, 16, NONE, NONE, -16, NONE },
    { "arm64_lost_register", true, 0, SP, 32, LOST, NONE, -32, -24 },
    { "arm64_negative_cfa", true, 0, FP, -16, NONE, NONE, -16, -8 },
    { "arm64_only_lr_saved", true, PLAIN, SP, 16, NONE, NONE, NONE, -16 },
    { "arm64_only_lr_saved_by_fp", true, SINGLE, FP, 16, NONE, NONE, NONE, -8 },
    { "arm64_only_lr_saved_at_the_top", true, 0, SP, 4096, NONE, NONE, NONE, -16 },
    { "arm64_saves_too_far_apart", false, 0, SP, 2000, -8, -1000, -16, -24 },
    { "arm64_odd_place", false, 0, SP, 32, -12, NONE, -32, -24 },
    { "arm64_odd_record", false, 0, SP, 32, NONE, NONE, -28, -20 },
    { "arm64_saved_above_the_cfa", true, 0, SP, 32, 8, NONE, -32, -24 },
    { "arm64_by_another_register", false, 0, 9, 32, NONE, NONE, -32, -24 },
    { "arm64_odd_cfa", false, 0, SP, 36, NONE, NONE, -32, -24 },
    { "arm64_far_cfa", false, 0, SP, 8 * 32768, NONE, NONE, -32, -24 },
    { "arm64_far_saves", false, 0, SP, 64, -8 * 65537, NONE, -8 * 65538, -8 * 65536 },
    { "arm64_far_saves_alone", false, 0, SP, 64, -8 * 16384, NONE, -64, -56 },
    { "arm64_farthest_saves", true, 0, SP, 64, -8 * 16383, NONE, -64, -56 },
};

static struct sw_loc location(int32_t off)
{
    return off == NONE   ? (struct sw_loc){ SW_LOC_SAME, 0, 0, 0 }
           : off == LOST ? (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 }
                         : (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, off };
}

static struct sw_rule rule_of(const struct rule_row *row)
{
    struct sw_rule rule;
    sw_rule_init(&rule, SW_MACHINE_ARM64, SW_SOURCE_CFI, SW_TRUST_EXACT);
    rule.cfa = (struct sw_loc){ SW_LOC_REG, row->reg, 0, row->off };
    rule.r[19] = location(row->x19);
    rule.r[28] = location(row->x28);
    rule.r[FP] = location(row->fp);
    rule.r[PC] = row->pc ? location(row->pc) : (struct sw_loc){ SW_LOC_REG, LR, 0, 0 };
    return rule;
}

static void rules_come_out_as_they_went_in(void **state)
{
    const struct rule_row *row = *state;
    const struct sw_rule in = rule_of(row);
    struct sw_packed_rule packed;
    assert_int_equal(sw_a64_codec.pack(&in, &packed), row->fits);
    if (!row->fits)
        return;
    assert_int_equal(packed.step & (SW_STEP_EASY | SW_STEP_OF_ENTRY), row->easy);
    struct sw_rule out;
    sw_a64_codec.unpack(&packed, &out);
    assert_memory_equal(&in.cfa, &out.cfa, sizeof in.cfa);
    assert_memory_equal(in.r, out.r, sizeof in.r);
    assert_int_equal(out.source, SW_SOURCE_CFI);
    assert_int_equal(out.trust, SW_TRUST_EXACT);
}

static void a_register_that_no_entry_has_room_for_is_refused(void **state)
{
    struct sw_rule rule = rule_of(&rule_rows[1]);
    struct sw_packed_rule packed;
    (void)state;
    rule.r[3] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    assert_false(sw_a64_codec.pack(&rule, &packed));
    rule = rule_of(&rule_rows[1]);
    rule.r[SP].kind = SW_LOC_AT_CFA;
    assert_false(sw_a64_codec.pack(&rule, &packed));
    rule = rule_of(&rule_rows[1]);
    rule.r[PC] = (struct sw_loc){ SW_LOC_REG, 9, 0, 0 };
    assert_false(sw_a64_codec.pack(&rule, &packed));
}

/* ---- walks ---- */

enum { A = 0x10000, B = 0x20000, C = 0x30000, STACK = 0x700000 };

/* paciasp; stp x29,x30,[sp,#-32]!; mov x29,sp; str x19,[sp,#16]; bl +0x10000-16; ldr x19,[sp,#16]; ldp; autiasp; ret */
static const uint32_t framed[] = { 0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0x94003ffc,
                                   0xf9400bf3, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0 };
/* The same call out of a frame of 48 bytes with the record at its top. */
static const uint32_t other[] = { 0xd503233f, 0xd100c3ff, 0xa9027bfd, 0x910083fd, 0x94003ffc,
                                  0xa9427bfd, 0x9100c3ff, 0xd50323bf, 0xd65f03c0 };
enum { SIZE = sizeof framed, BEHIND_CALL = 20, ENTRY = 0 };

#define SIGNATURE (UINT64_C(0x2b5d) << 48)

static struct twice with, without;

static void put(uint64_t at, const uint32_t *words)
{
    const struct sw_range range = { .begin = at, .end = at + SIZE, .id = at, .kind = SW_KIND_JIT };
    uint8_t bytes[SIZE];
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    assert_int_equal(sw_sim_bytes(sim, at, bytes, SIZE), SW_OK);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
}

/* C, just entered, called by B, called by A, which returns to 0. Return addresses are signed, in lr, too. */
static struct sw_regs three_frames(void)
{
    const uint64_t words[] = { STACK + 0x20, SIGNATURE | (A + BEHIND_CALL), 0x1919, 0, 0, 0, 0xa19, 0, 0, 0, 0, 0 };
    struct sw_regs regs = garbage_regs(SW_MACHINE_ARM64);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, PC, C + ENTRY);
    sw_regs_set(&regs, SP, STACK);
    sw_regs_set(&regs, FP, STACK);
    sw_regs_set(&regs, LR, SIGNATURE | (B + BEHIND_CALL));
    return regs;
}

static uint64_t walk_as_without(const struct sw_regs *regs)
{
    struct sw_walker bare = *sw_sim_walker(sim);
    const uint64_t before = sw_cache_get_counts(cache).hits;
    bare.cache = NULL;
    twice_walk(&bare, regs, true, &without);
    twice_walk(sw_sim_walker(sim), regs, true, &with);
    const uint64_t hits = sw_cache_get_counts(cache).hits - before;
    twice_same(&without, &with);
    twice_addresses(sw_sim_walker(sim), regs, true, &without);
    twice_summaries(sw_sim_walker(sim), regs, true, &without);
    return hits;
}

static void a_second_walk_finds_every_frame(void **state)
{
    (void)state;
    put(A, framed);
    put(B, framed);
    put(C, framed);
    const struct sw_regs regs = three_frames();
    assert_int_equal(walk_as_without(&regs), 0);
    assert_int_equal(walk_as_without(&regs), 3);
    assert_int_equal(with.count, 3);
    assert_int_equal(with.stop, SW_STOP_ROOT_ZERO);
    assert_int_equal(sw_regs_pc(&with.frames[1].regs), B + BEHIND_CALL);
    assert_int_equal(sw_regs_pc(&with.frames[2].regs), A + BEHIND_CALL);
    assert_int_equal(with.frames[2].regs.r[19], 0x1919);
    assert_int_equal(with.frames[2].trust, SW_TRUST_CONFIRMED);
    assert_int_equal(walk_twice(sw_sim_walker(sim), &regs, true), 3); /* over a window, too */
}

static void freed_code_whose_addresses_are_reused_is_seen_anew(void **state)
{
    (void)state;
    put(A, framed);
    put(B, framed);
    put(C, framed);
    const struct sw_regs regs = three_frames();
    (void)walk_as_without(&regs);
    assert_int_equal(walk_as_without(&regs), 3);
    assert_int_equal(sw_codemap_remove(sw_sim_codemap(sim), B), SW_OK);
    put(B, other); /* its frame is of another size */
    const uint64_t words[] = { 0, 0, 0, 0, STACK + 0x30, SIGNATURE | (A + BEHIND_CALL), 0, 0, 0 };
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    assert_true(walk_as_without(&regs) < 3);
    assert_int_equal(sw_regs_sp(&with.frames[2].regs), STACK + 0x30);
}

/* The call is of the function itself. */
static const uint32_t calls_itself[] = { 0xd503233f, 0xa9be7bfd, 0x910003fd, 0xf9000bf3, 0x97fffffc,
                                         0xf9400bf3, 0xa8c27bfd, 0xd50323bf, 0xd65f03c0 };

static const struct mark_row {
    const char *name;
    uint64_t signature;
} mark_rows[] = {
    { "arm64_a_signature_as_of_an_exact_pc", SW_KEY_EXACT },
    { "arm64_a_signature_as_of_other_flags", SW_KEY_EXACT | SW_KEY_FLAGS(9) },
    { "arm64_a_signature_as_of_a_body", SW_KEY_EXACT | SW_KEY_BODY },
};

/* A function was interrupted where its own call returns to, and no mask says what is a signature. */
static void a_signature_is_no_mark_of_a_key(void **state)
{
    const struct mark_row *row = *state;
    const uint64_t pc = A + BEHIND_CALL, behind = row->signature | pc;
    const uint64_t words[] = { STACK + 0x20, behind, 1, 0, STACK + 0x40, behind, 2, 0, 0, 0, 3, 0 };
    struct sw_regs regs = garbage_regs(SW_MACHINE_ARM64);
    put(A, calls_itself);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, PC, pc);
    sw_regs_set(&regs, SP, STACK);
    sw_regs_set(&regs, FP, STACK);
    (void)walk_as_without(&regs);
    assert_int_equal(without.count, 3);
    assert_int_equal(sw_regs_pc(&without.frames[2].regs), pc);
    assert_int_equal(walk_as_without(&regs), 3);
    assert_int_equal(walk_twice(sw_sim_walker(sim), &regs, true), 3);
}
/* ---- replaced return addresses ---- */

/*
 * A runtime has put STUB where B keeps its return address to A, in its record at STACK. B, at an instruction; or C,
 * just entered. at: the leaf's pc; sp, and what is in lr.
 */
enum { STUB = 0x50000, IN_C = C + ENTRY };
static const struct hijack_row {
    const char *name;
    uint64_t at, sp, lr;
    unsigned frames; /* A's among them */
} hijack_rows[] = {
    { "arm64_replaced_in_the_body", B + 20, STACK, 0x1234, 2 },
    { "arm64_replaced_before_it_is_loaded", B + 24, STACK, 0x1234, 2 },
    { "arm64_replaced_and_loaded", B + 28, STACK + 32, STUB, 2 },
    { "arm64_replaced_at_the_return", B + 32, STACK + 32, STUB, 2 },
    { "arm64_replaced_in_the_frame_behind_a_leaf", IN_C, STACK, B + BEHIND_CALL, 3 },
};

/* With a rule cache, too: first what it keeps while nothing is replaced. */
static void a_replaced_return_address_is_what_belongs_there(void **state)
{
    const struct hijack_row *row = *state;
    const uint64_t there = A + BEHIND_CALL, stub = STUB, lr = row->lr == STUB ? there : row->lr;
    struct sw_walker *walker = sw_sim_walker(sim);
    put(A, framed);
    put(B, framed);
    put(C, framed);
    struct sw_regs regs = three_frames();
    sw_regs_set(&regs, PC, row->at);
    sw_regs_set(&regs, SP, row->sp);
    sw_regs_set(&regs, FP, row->sp == STACK ? STACK : STACK + 32);
    sw_regs_set(&regs, LR, lr);
    for (unsigned is_replaced = 0; is_replaced < 2; is_replaced++) {
        assert_int_equal(sw_sim_words(sim, STACK + 8, is_replaced ? &stub : &there, 1), SW_OK);
        sw_regs_set(&regs, LR, is_replaced ? row->lr : lr);
        walker->replaced.at = is_replaced ? STACK + 8 : 0;
        walker->replaced.original = is_replaced ? there : 0;
        (void)walk_as_without(&regs);
        assert_int_equal(with.stop, SW_STOP_ROOT_ZERO);
        assert_int_equal(with.count, row->frames);
        assert_int_equal(sw_regs_pc(&with.frames[row->frames - 1].regs), there);
        assert_int_equal(sw_regs_sp(&with.frames[row->frames - 1].regs), STACK + 32);
    }
}

int main(void)
{
    enum { OTHERS = 3, HIJACKS = COUNT_OF(rule_rows) + OTHERS, MARKS = HIJACKS + COUNT_OF(hijack_rows) };
    struct CMUnitTest tests[MARKS + COUNT_OF(mark_rows)];
    FILL_ROWS(tests, rule_rows, rules_come_out_as_they_went_in);
    for (size_t i = 0; i < COUNT_OF(hijack_rows); i++)
        tests[HIJACKS + i] =
            (struct CMUnitTest){ hijack_rows[i].name, a_replaced_return_address_is_what_belongs_there,
                                 set_up_cached_arm64, tear_down_target, (void *)(uintptr_t)&hijack_rows[i] };
    for (size_t i = 0; i < COUNT_OF(mark_rows); i++)
        tests[MARKS + i] = (struct CMUnitTest){ mark_rows[i].name, a_signature_is_no_mark_of_a_key, set_up_cached_arm64,
                                                tear_down_target, (void *)(uintptr_t)&mark_rows[i] };
    tests[COUNT_OF(rule_rows)] = (struct CMUnitTest)cmocka_unit_test(a_register_that_no_entry_has_room_for_is_refused);
    tests[COUNT_OF(rule_rows) + 1] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(
        a_second_walk_finds_every_frame, set_up_cached_arm64, tear_down_target);
    tests[COUNT_OF(rule_rows) + 2] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(
        freed_code_whose_addresses_are_reused_is_seen_anew, set_up_cached_arm64, tear_down_target);
    return _cmocka_run_group_tests("cache_arm64", tests, COUNT_OF(tests), NULL, NULL);
}
