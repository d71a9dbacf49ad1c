/*
 * The machines' values: each is found by its number and by ELF's, has every member that none may be without, and says
 * nothing that contradicts another member.
 */
#include "rows.h"

#include "arch/arch.h"
#include "regs/offset.h"

#include <string.h>

static const enum sw_machine machines[] = { SW_MACHINE_X64, SW_MACHINE_ARM64 };

static void each_machine_has_its_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct sw_arch *arch = sw_arch_of(machines[i]);
        assert_non_null(arch);
        assert_int_equal(arch->machine, machines[i]);
        assert_ptr_equal(sw_arch_of_elf(arch->elf), arch);
        assert_memory_equal(arch->roles, sw_regs_roles_of(machines[i]), sizeof *arch->roles);
    }
}

static void other_machines_have_none(void **state)
{
    (void)state;
    assert_null(sw_arch_of(SW_MACHINE_NONE));
    assert_null(sw_arch_of((enum sw_machine)3));
    assert_null(sw_arch_of((enum sw_machine) - 1));
    for (unsigned elf = 0; elf < 1 << 16; elf++)
        assert_true((sw_arch_of_elf(elf) != NULL) == (elf == 62 || elf == 183));
}

static void members_are_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct sw_arch *arch = sw_arch_of(machines[i]);
        const struct sw_code_patterns *patterns = arch->patterns;
        assert_non_null(arch->decode);
        assert_true(arch->insn_bytes != 0 && arch->probe_unit != 0);
        assert_true(patterns->call_before && patterns->goes_through && patterns->loaded && patterns->may_start &&
                    patterns->may_end && patterns->opens_frame && patterns->next_opening && patterns->jump_at &&
                    patterns->is_filler);
        for (unsigned n = 0; n < arch->roles->count; n++)
            assert_true(arch->names[n] && arch->names[n][0] != '\0');
    }
}

static void roles_are_registers_of_the_machine(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct sw_arch *arch = sw_arch_of(machines[i]);
        const struct sw_regs_roles *roles = arch->roles;
        const uint64_t all = (UINT64_C(1) << roles->count) - 1;
        const uint64_t special = UINT64_C(1) << roles->sp | UINT64_C(1) << roles->pc;
        assert_true(roles->count <= SW_REGS_MAX && roles->pc < roles->count);
        assert_true(roles->sp < roles->count && roles->fp < roles->count);
        assert_true(sw_arch_has_link(arch) ? roles->link < roles->count : roles->link == SW_REGS_MAX);
        assert_true(((roles->nonvolatile | arch->frame_makers) & ~all) == 0 && (roles->nonvolatile & special) == 0);
        assert_true((arch->frame_makers & special) == UINT64_C(1) << roles->sp);
    }
}

/* The first instruction is one, and ends where first_size says; both of them are there. */
static void trampolines_are_two_instructions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct sw_arch *arch = sw_arch_of(machines[i]);
        for (unsigned n = 0; n < arch->trampoline_count; n++) {
            const struct sw_trampoline *t = &arch->trampolines[n];
            struct sw_insn insn;
            assert_true(t->size <= SW_TRAMPOLINE_MOST && t->first_size < t->size);
            assert_int_equal(arch->decode(t->bytes, t->size, 0x1000, &insn), SW_OK);
            assert_int_equal(insn.length, t->first_size);
            assert_int_equal(arch->decode(t->bytes + t->first_size, t->size - t->first_size, 0x1000, &insn), SW_OK);
            assert_int_equal(insn.length, t->size - t->first_size);
        }
    }
}

/* Linux asm/sigcontext.h of each machine: pc and sp lie where a handler's ucontext has them. */
static void ucontexts_have_the_offsets_of_linux(void **state)
{
    (void)state;
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, SW_X64_RAX), 144);
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, SW_X64_RSP), 160);
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, SW_X64_RIP), 168);
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_ARM64, SW_ARM64_X0), 184);
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_ARM64, SW_ARM64_SP), 184 + 8 * 31);
    assert_int_equal(sw_context_offset(SW_CONTEXT_UCONTEXT, SW_MACHINE_ARM64, SW_ARM64_PC), 184 + 8 * 32);
}

/* A signature's bits are above those of an address, and the fewest are among the usual ones. */
static void signatures_are_above_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct sw_pointer_auth *bits = sw_arch_of(machines[i])->pointer_auth;
        if (!bits)
            continue;
        assert_true((bits->fewest & ~bits->usual) == 0 && (bits->tag & ~bits->fewest) == 0);
        assert_true((bits->half & bits->fewest) != 0 && (bits->half & bits->tag) == 0);
    }
}

/* A filler of two instructions fills; a return does not. */
static void fillers_fill(void **state)
{
    static const uint8_t x64[] = { 0x66, 0x90, 0xc3, 0x66 }, a64[] = { 0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 };
    (void)state;
    assert_true(sw_x64_arch.patterns->is_filler(x64, 2));
    assert_false(sw_x64_arch.patterns->is_filler(x64 + 2, 1));
    assert_false(sw_x64_arch.patterns->is_filler(x64 + 3, 1)); /* cut */
    assert_true(sw_a64_arch.patterns->is_filler(a64, 4));
    assert_false(sw_a64_arch.patterns->is_filler(a64, 3)); /* cut */
    assert_false(sw_a64_arch.patterns->is_filler(a64 + 4, 4));
}

/* As users write it: in a loop, and twice in one condition. */
static bool have_the_same(const struct sw_regs *a, const struct sw_regs *b)
{
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (sw_regs_has(a, n) != sw_regs_has(b, n) || (sw_regs_has(a, n) && a->r[n] != b->r[n]))
            return false;
    return true;
}

static void a_register_is_known_once_it_is_set(void **state)
{
    struct sw_regs a = { .machine = SW_MACHINE_X64 }, b = a;
    (void)state;
    for (unsigned n = 0; n < SW_REGS_MAX; n += 2) {
        a.r[n + 1 < SW_REGS_MAX ? n + 1 : n] = 7; /* not known: it does not matter */
        assert_false(sw_regs_has(&a, n));
        sw_regs_set(&a, n, n);
        assert_true(sw_regs_has(&a, n));
        assert_false(have_the_same(&a, &b));
        sw_regs_set(&b, n, n);
        assert_true(have_the_same(&a, &b));
    }
    sw_regs_set(&a, SW_REGS_MAX, 1);
    for (unsigned n = SW_REGS_MAX; n < 200; n++)
        assert_false(sw_regs_has(&a, n));
}

/* ---- where code may end, and what frames begin with ---- */

enum { PLACE = 0x401008 };

/* Code in front of a place and at it: whether it may end in front of it, whether it opens a frame there. */
static const struct place_row {
    const char *name;
    enum sw_machine machine;
    uint8_t code[2 * SW_ENDING_BYTES];
    bool ends, opens;
} place_rows[] = {
    { "behind_ret_is_push", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0, 0xc3, 0x55 }, true, true },
    { "behind_ret_with_bytes", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0xc2, 8, 0, 0x31 }, true, false },
    { "behind_a_call", SW_MACHINE_X64, { 0, 0, 0, 0xe8, 1, 2, 3, 4, 0x41, 0x57 }, true, true },
    { "behind_a_call_through_a_register", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x53 }, true, true },
    { "behind_a_jump", SW_MACHINE_X64, { 0, 0, 0, 0xe9, 1, 2, 3, 4, 0x48, 0x83, 0xec, 8 }, true, true },
    { "behind_a_short_jump", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0xeb, 4, 0x48, 0x81, 0xec, 8 }, true, true },
    { "behind_a_jump_through_a_register", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0xff, 0xe0, 0x48, 0x89 }, true, false },
    { "behind_a_trap", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0x0f, 0x0b, 0xf3, 0x0f, 0x1e, 0xfa }, true, true },
    { "behind_a_move", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0x48, 0x89, 0xc7, 0x55 }, false, true },
    { "behind_a_branch", SW_MACHINE_X64, { 0, 0, 0, 0, 0, 0, 0x74, 0x10, 0x90 }, false, false },
    /* bl; stp x19, x20, [sp, #-16]! */
    { "behind_bl_is_stp", SW_MACHINE_ARM64, { 0, 0, 0, 0, 4, 0, 0, 0x94, 0xf3, 0x53, 0xbf, 0xa9 }, true, true },
    /* b; sub sp, sp, #32 */
    { "behind_b_is_sub", SW_MACHINE_ARM64, { 0, 0, 0, 0, 4, 0, 0, 0x14, 0xff, 0x83, 0, 0xd1 }, true, true },
    /* ret; str x19, [sp, #-16]! */
    { "behind_ret_is_str", SW_MACHINE_ARM64, { 0, 0, 0, 0, 0xc0, 3, 0x5f, 0xd6, 0xf3, 0x0f, 0x1f, 0xf8 }, true, true },
    /* mov x0, x1; stp x29, x30, [sp, #-32]! */
    { "behind_mov_is_stp", SW_MACHINE_ARM64, { 0, 0, 0, 0, 0xe0, 3, 1, 0xaa, 0xfd, 0x7b, 0xbe, 0xa9 }, false, true },
    /* ret; stp x0, x1, [sp, #16] */
    { "behind_ret_is_a_store", SW_MACHINE_ARM64, { 0, 0, 0, 0, 0xc0, 3, 0x5f, 0xd6, 0xe0, 7, 1, 0xa9 }, true, false },
};

static void places_are_told_apart(void **state)
{
    const struct place_row *row = *state;
    const struct sw_code_patterns *patterns = sw_arch_of(row->machine)->patterns;
    assert_int_equal(patterns->may_end(row->code + SW_ENDING_BYTES, PLACE), row->ends);
    assert_int_equal(patterns->opens_frame(row->code + SW_ENDING_BYTES), row->opens);
    assert_int_equal(patterns->next_opening(row->code, SW_ENDING_BYTES, SW_ENDING_BYTES + 1),
                     SW_ENDING_BYTES + !row->opens);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_machine_has_its_value),
        cmocka_unit_test(other_machines_have_none),
        cmocka_unit_test(members_are_there),
        cmocka_unit_test(roles_are_registers_of_the_machine),
        cmocka_unit_test(trampolines_are_two_instructions),
        cmocka_unit_test(ucontexts_have_the_offsets_of_linux),
        cmocka_unit_test(signatures_are_above_addresses),
        cmocka_unit_test(fillers_fill),
        cmocka_unit_test(a_register_is_known_once_it_is_set),
    };
    struct CMUnitTest places[COUNT_OF(place_rows)];
    FILL_ROWS(places, place_rows, places_are_told_apart);
    return cmocka_run_group_tests(tests, NULL, NULL) + cmocka_run_group_tests(places, NULL, NULL);
}
