/*
 * Analysis, pc by pc through whole functions. Every row is a function with the truth about each of its instructions, in
 * a form that can be checked without trusting the analysis: how far the CFA is above sp, and which nonvolatile
 * registers the function has overwritten so far. The numbers were counted by hand.
 */
#include "../support/bytes.h"
#include "rows.h"

#include "analyze/analyze.h"

#include <string.h>

enum { BEGIN = 0x401000, MOST = 48, LOST = 9999, RBX = SW_X64_RBX, RBP = SW_X64_RBP, RSP = SW_X64_RSP };

/* One instruction: its length, the CFA above sp in front of it (LOST: sp does not tell), where rbx and rbp lie below
 * the CFA when they are overwritten there (0: the register still has it). */
struct at {
    uint8_t length;
    int16_t cfa;
    int16_t rbx;
    int16_t rbp;
};

/* clang-format off */
static const struct row {
    const char *name;
    bool known_start_only; /* going forward cannot know: the walker confirms that by the call in front */
    uint8_t code[96];
    struct at at[MOST];    /* ends with length 0 */
} rows[] = {
    { "leaf_moves_nothing", false, { 0x31, 0xc0, 0xc3 }, { { 2, 8, 0, 0 }, { 1, 8, 0, 0 } } },
    { "frame_pointer_function", false,
      { 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x31, 0xdb, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3 },
      { { 1, 8, 0, 0 }, { 3, 16, 0, 0 }, { 1, 16, 0, -16 }, { 4, 24, 0, -16 }, { 2, 48, 0, -16 },
        { 4, 48, -24, -16 }, { 1, 48, 0, -16 }, { 1, 8, 0, 0 } } },
    { "no_frame_pointer_two_pushes_and_a_sub", false,
      { 0x55, 0x53, 0x48, 0x83, 0xec, 0x28, 0x31, 0xed, 0x31, 0xdb, 0x48, 0x83, 0xc4, 0x28, 0x5b, 0x5d, 0xc3 },
      { { 1, 8, 0, 0 }, { 1, 16, 0, 0 }, { 4, 24, 0, 0 }, { 2, 64, 0, 0 }, { 2, 64, 0, -16 }, { 4, 64, -24, -16 },
        { 1, 24, -24, -16 }, { 1, 16, 0, -16 }, { 1, 8, 0, 0 } } },
    { "net_jit_frame_lea_rbp", false, /* push rbp; push rbx; push rax; lea rbp,[rsp+0x10]; add rsp,8; pop rbx; pop rbp; ret */
      { 0x55, 0x53, 0x50, 0x48, 0x8d, 0x6c, 0x24, 0x10, 0x31, 0xdb, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0xc3 },
      { { 1, 8, 0, 0 }, { 1, 16, 0, 0 }, { 1, 24, 0, 0 }, { 5, 32, 0, 0 }, { 2, 32, 0, -16 }, { 4, 32, -24, -16 },
        { 1, 24, -24, -16 }, { 1, 16, 0, -16 }, { 1, 8, 0, 0 } } },
    { "two_epilogues_and_shrink_wrapping", false, /* test edi,edi; je L; ret; L: push rbx; xor ebx,ebx; pop rbx; ret */
      { 0x85, 0xff, 0x74, 0x01, 0xc3, 0x53, 0x31, 0xdb, 0x5b, 0xc3 },
      { { 2, 8, 0, 0 }, { 2, 8, 0, 0 }, { 1, 8, 0, 0 }, { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 1, 16, -16, 0 },
        { 1, 8, 0, 0 } } },
    { "body_behind_an_epilogue_has_its_frame_back", false,
      /* push rbx; xor ebx,ebx; test edi,edi; je L; pop rbx; ret; L: nop; pop rbx; ret */
      { 0x53, 0x31, 0xdb, 0x85, 0xff, 0x74, 0x02, 0x5b, 0xc3, 0x90, 0x5b, 0xc3 },
      { { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 2, 16, -16, 0 }, { 2, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 },
        { 1, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
    { "tail_call_out_of_the_function", false, /* push rbx; pop rbx; jmp far away */
      { 0x53, 0x5b, 0xe9, 0x00, 0x00, 0x10, 0x00 },
      { { 1, 8, 0, 0 }, { 1, 16, -16, 0 }, { 5, 8, 0, 0 } } },
    { "a_second_frame_where_the_first_was", false, /* push rbx; xor ebx,ebx; pop rbx; sub rsp,0x28; nop; add rsp,0x28; ret */
      { 0x53, 0x31, 0xdb, 0x5b, 0x48, 0x83, 0xec, 0x28, 0x90, 0x48, 0x83, 0xc4, 0x28, 0xc3 },
      { { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 1, 16, -16, 0 }, { 4, 8, 0, 0 }, { 1, 48, 0, 0 }, { 4, 48, 0, 0 },
        { 1, 8, 0, 0 } } },
    { "alloca_leaves_only_rbp", false, /* push rbp; mov rbp,rsp; sub rsp,rdi; nop; leave; ret */
      { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xfc, 0x90, 0xc9, 0xc3 },
      { { 1, 8, 0, 0 }, { 3, 16, 0, 0 }, { 3, 16, 0, -16 }, { 1, LOST, 0, -16 }, { 1, LOST, 0, -16 },
        { 1, 8, 0, 0 } } },
    { "large_frame_by_chkstk", false, /* mov eax,0x2000; call x; sub rsp,rax; nop; add rsp,0x2000; ret */
      { 0xb8, 0, 0x20, 0, 0, 0xe8, 0, 1, 0, 0, 0x48, 0x29, 0xc4, 0x90, 0x48, 0x81, 0xc4, 0, 0x20, 0, 0, 0xc3 },
      { { 5, 8, 0, 0 }, { 5, 8, 0, 0 }, { 3, 8, 0, 0 }, { 1, 0x2008, 0, 0 }, { 7, 0x2008, 0, 0 }, { 1, 8, 0, 0 } } },
    { "net_large_frame_by_r11", false, /* push rbp; lea r11,[rsp-0x3000]; call probe; mov rsp,r11; xor ebp,ebp; add rsp,0x3000; pop
                                     rbp; ret */
        { 0x55, 0x4c, 0x8d, 0x9c, 0x24, 0,    0xd0, 0xff, 0xff, 0xe8, 0, 1,    0,   0,
          0x4c, 0x89, 0xdc, 0x31, 0xed, 0x48, 0x81, 0xc4, 0,    0x30, 0,    0, 0x5d, 0xc3 },
        { { 1, 8, 0, 0 }, { 8, 16, 0, 0 }, { 5, 16, 0, 0 }, { 3, 16, 0, 0 }, { 2, 0x3010, 0, 0 }, { 7, 0x3010, 0, -16 }, { 1, 16, 0, -16 }, { 1, 8, 0, 0 } },
    },
    { "stack_clash_loop_ends_where_it_compared", true,
      /* lea r11,[rsp-0x4000]; L: sub rsp,0x1000; or [rsp],0; cmp rsp,r11; jne L; nop; add rsp,0x4000; ret */
      { 0x4c, 0x8d, 0x9c, 0x24, 0,    0xc0, 0xff, 0xff, 0x48, 0x81, 0xec, 0,    0x10, 0,    0, 0x48, 0x83,
        0x0c, 0x24, 0,    0x4c, 0x39, 0xdc, 0x75, 0xef, 0x90, 0x48, 0x81, 0xc4, 0,    0x40, 0, 0,    0xc3 },
      { { 8, 8, 0, 0 }, { 7, LOST, 0, 0 }, { 5, LOST, 0, 0 }, { 3, LOST, 0, 0 }, { 2, LOST, 0, 0 },
        { 1, 0x4008, 0, 0 }, { 7, 0x4008, 0, 0 }, { 1, 8, 0, 0 } } },
    { "noreturn_call_before_a_branch_target", true,
      /* push rbx; test edi,edi; je L; sub rsp,16; call abort; L: pop rbx; ret */
      { 0x53, 0x85, 0xff, 0x74, 0x09, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3 },
      { { 1, 8, 0, 0 }, { 2, 16, -16, 0 }, { 2, 16, -16, 0 }, { 4, 16, -16, 0 }, { 5, 32, -16, 0 }, { 1, 16, -16, 0 },
        { 1, 8, 0, 0 } } },
    { "a_copy_below_sp_is_the_callees_to_overwrite", false, /* mov [rsp-0x28],rbx; push rbx; xor ebx,ebx; call x; pop rbx; ret */
      { 0x48, 0x89, 0x5c, 0x24, 0xd8, 0x53, 0x31, 0xdb, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3 },
      { { 5, 8, 0, 0 }, { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 5, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
    { "case_of_an_unseen_switch_may_have_changed_what_is_saved", true,
      /* push rbx; test edi,edi; je L; jmp rax; xor ebx,ebx; L: nop; pop rbx; ret: only the branch to L is seen */
      { 0x53, 0x85, 0xff, 0x74, 0x04, 0xff, 0xe0, 0x31, 0xdb, 0x90, 0x5b, 0xc3 },
      { { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 2, 16, 0, 0 }, { 2, 16, 0, 0 }, { 2, 16, 0, 0 }, { 1, 16, -16, 0 },
        { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
    { "switch_cases_behind_an_indirect_jump", true,
      /* push rbx; xor ebx,ebx; jmp rax; nop; pop rbx; ret; nop; pop rbx; ret */
      { 0x53, 0x31, 0xdb, 0xff, 0xe0, 0x90, 0x5b, 0xc3, 0x90, 0x5b, 0xc3 },
      { { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 2, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 },
        { 1, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
    { "switch_through_a_table_of_offsets", true,
      /* push rbx; xor ebx,ebx; cmp edi,1; ja D; lea rdx,[rip+T]; movsxd rax,[rdx+rdi*4]; add rax,rdx; jmp rax;
       * D: push rax; pop rax; A: pop rbx; ret; B: nop; pop rbx; ret; T: A-T, B-T */
      { 0x53, 0x31, 0xdb, 0x83, 0xff, 0x01, 0x77, 0x10, 0x48, 0x8d, 0x15, 0x10, 0, 0, 0, 0x48, 0x63, 0x04, 0xba,
        0x48, 0x01, 0xd0, 0xff, 0xe0, 0x50, 0x58, 0x5b, 0xc3, 0x90, 0x5b, 0xc3, 0xfb, 0xff, 0xff, 0xff, 0xfd, 0xff,
        0xff, 0xff },
      { { 1, 8, 0, 0 }, { 2, 16, 0, 0 }, { 3, 16, -16, 0 }, { 2, 16, -16, 0 }, { 7, 16, -16, 0 }, { 4, 16, -16, 0 },
        { 3, 16, -16, 0 }, { 2, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 24, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 },
        { 1, 16, -16, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
    { "enter_and_leave", false, /* enter 0x20,0; leave; ret */
      { 0xc8, 0x20, 0, 0, 0xc9, 0xc3 },
      { { 4, 8, 0, 0 }, { 1, 48, 0, -16 }, { 1, 8, 0, 0 } } },
    { "save_by_mov_restore_by_mov", false, /* sub rsp,0x18; mov [rsp+8],rbx; xor ebx,ebx; mov rbx,[rsp+8]; add rsp,0x18; ret */
      { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x5c, 0x24, 8,    0x31, 0xdb,
        0x48, 0x8b, 0x5c, 0x24, 8,    0x48, 0x83, 0xc4, 0x18, 0xc3 },
      { { 4, 8, 0, 0 }, { 5, 32, 0, 0 }, { 2, 32, 0, 0 }, { 5, 32, -24, 0 }, { 4, 32, 0, 0 }, { 1, 8, 0, 0 } } },
    /* Hardened against speculation. T: call L; trap: pause; lfence; jmp trap; L: a call that only pushes and jumps. */
    { "jump_to_a_thunk_that_returns", false, /* push rbx; pop rbx; jmp T; T: call L; trap; L: lea rsp,[rsp+8]; ret */
      { 0x53, 0x5b, 0xeb, 0, 0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 8, 0xc3 },
      { { 1, 8, 0, 0 }, { 1, 16, -16, 0 }, { 2, 8, 0, 0 }, { 12, 8, 0, 0 }, { 5, 16, 0, 0 }, { 1, 8, 0, 0 } } },
    { "thunk_that_jumps_through_a_register", false, /* push rbx; pop rbx; T: call L; trap; L: mov [rsp],r11; ret */
      { 0x53, 0x5b, 0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x4c, 0x89, 0x1c, 0x24, 0xc3 },
      { { 1, 8, 0, 0 }, { 1, 16, -16, 0 }, { 12, 8, 0, 0 }, { 4, 16, 0, 0 }, { 1, 16, 0, 0 } } },
    { "what_is_ored_into_sp_is_0", false, /* push rbx; shl rax,47; or rsp,rax; pop rbx; or rsp,rcx; ret */
      { 0x53, 0x48, 0xc1, 0xe0, 0x2f, 0x48, 0x09, 0xc4, 0x5b, 0x48, 0x09, 0xcc, 0xc3 },
      { { 1, 8, 0, 0 }, { 4, 16, -16, 0 }, { 3, 16, -16, 0 }, { 1, 16, -16, 0 }, { 3, 8, 0, 0 }, { 1, 8, 0, 0 } } },
    { "return_address_shifted_by_0", false, /* shl qword [rsp],0; lfence; ret */
      { 0x48, 0xc1, 0x24, 0x24, 0, 0x0f, 0xae, 0xe8, 0xc3 }, { { 5, 8, 0, 0 }, { 3, 8, 0, 0 }, { 1, 8, 0, 0 } } },
    { "return_address_inverted_twice", false, /* not qword [rsp]; not qword [rsp]; lfence; ret */
      { 0x48, 0xf7, 0x14, 0x24, 0x48, 0xf7, 0x14, 0x24, 0x0f, 0xae, 0xe8, 0xc3 },
      { { 8, 8, 0, 0 }, { 3, 8, 0, 0 }, { 1, 8, 0, 0 } } },
    { "return_by_pop_and_jump", true, /* push rbx; pop rbx; pop rcx; lfence; jmp rcx */
      { 0x53, 0x5b, 0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe1 },
      { { 1, 8, 0, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 }, { 3, 0, 0, 0 }, { 2, 0, 0, 0 } } },
    { "return_by_pop_and_jump_but_behind_the_pop", false,
      { 0x53, 0x5b, 0x59, 0x0f, 0xae, 0xe8, 0xff, 0xe1 },
      { { 1, 8, 0, 0 }, { 1, 16, -16, 0 }, { 1, 8, 0, 0 } } },
};

/* clang-format on */

/* ---- a machine state that fits the row's truth, with distinct garbage in everything that must not be used ---- */

enum {
    STACK = 0x7000,
    STACK_BYTES = 0x8000,
    CFA = 0xe000,
    CALLER = 0x400510,
    CALLER_RBX = 0xb0b0b0,
    CALLER_RBP = 0xe888
};

static uint8_t stack[STACK_BYTES];
static const struct sw_memory memory = { .window = { STACK, STACK + STACK_BYTES, stack } };

static void put_word(uint64_t address, uint64_t value)
{
    put_le(stack + (address - STACK), value, 8);
}

static const uint8_t *fetch_row(void *arg, uint64_t pc, size_t *size)
{
    const struct row *row = arg;
    if (pc < BEGIN || pc >= BEGIN + sizeof row->code)
        return NULL;
    *size = sizeof row->code - (pc - BEGIN);
    return row->code + (pc - BEGIN);
}

static uint64_t length_of(const struct row *row)
{
    uint64_t length = 0;
    for (unsigned i = 0; row->at[i].length; i++)
        length += row->at[i].length;
    return length;
}

/* Whether sp has risen above a place, on the way to an instruction, after it was below. */
static bool is_released(const struct row *row, const struct at *at, int place)
{
    bool was_saved = false;
    for (unsigned i = 0; row->at[i].length && &row->at[i] != at; i++) {
        if (was_saved && row->at[i].cfa < -place)
            return true;
        was_saved = row->at[i].cfa >= -place;
    }
    return false;
}

/*
 * Where the function saves a register, as long as sp is below that place; 0: nowhere, not yet, or, where the register
 * has it again, not any more: another frame may be there.
 */
static int saved_at(const struct row *row, const struct at *at, bool rbp)
{
    int place = 0;
    for (unsigned i = 0; row->at[i].length; i++)
        place = rbp ? (row->at[i].rbp ? row->at[i].rbp : place) : (row->at[i].rbx ? row->at[i].rbx : place);
    const bool is_there = (rbp ? at->rbp : at->rbx) != 0 || !is_released(row, at, place);
    return is_there && at->cfa >= -place ? place : 0;
}

/* The largest frame of a row. */
static int deepest(const struct row *row)
{
    int most = 8;
    for (unsigned i = 0; row->at[i].length; i++)
        if (row->at[i].cfa != LOST && row->at[i].cfa > most)
            most = row->at[i].cfa;
    return most;
}

/* rbp, where overwritten, points to its saved copy, as frame pointers do. */
static struct sw_regs registers(const struct row *row, const struct at *at, uint64_t pc)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    memset(stack, 0xa5, sizeof stack);
    put_word(CFA - 8, CALLER);
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, 0xdead0000u + n * 0x101);
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, RSP, at->cfa == LOST ? CFA - 0x1010 : (uint64_t)(CFA - at->cfa));
    sw_regs_set(&regs, RBX, at->rbx ? 0xbad : CALLER_RBX);
    sw_regs_set(&regs, RBP, at->rbp ? CFA - 16 : CALLER_RBP);
    sw_regs_set(&regs, SW_X64_R11, (uint64_t)(CFA - deepest(row))); /* where a probe leads */
    if (saved_at(row, at, false))
        put_word((uint64_t)(CFA + saved_at(row, at, false)), CALLER_RBX);
    if (saved_at(row, at, true))
        put_word((uint64_t)(CFA + saved_at(row, at, true)), CALLER_RBP);
    return regs;
}

static struct sw_analysis work;

static void check(const struct row *row, const struct sw_rule *rule, const struct at *at, uint64_t pc)
{
    const struct sw_regs regs = registers(row, at, pc);
    struct sw_regs caller;
    uint64_t cfa;
    assert_int_equal(sw_rule_apply(rule, &regs, &memory, &caller, &cfa, NULL), SW_OK);
    assert_int_equal(cfa, CFA);
    assert_int_equal(sw_regs_sp(&caller), CFA);
    assert_int_equal(sw_regs_pc(&caller), CALLER);
    assert_true(sw_regs_has(&caller, RBX));
    assert_int_equal(caller.r[RBX], CALLER_RBX);
    assert_true(sw_regs_has(&caller, RBP));
    assert_int_equal(caller.r[RBP], CALLER_RBP);
}

static void caller_is_found_at_every_instruction(void **state)
{
    const struct row *row = *state;
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    uint64_t pc = BEGIN;
    for (unsigned i = 0; row->at[i].length; pc += row->at[i++].length)
        for (unsigned inside = 0; inside < row->at[i].length; inside++) { /* a return address - 1 lies inside */
            struct sw_rule rule;
            assert_int_equal(sw_analyze_function(&code, BEGIN, BEGIN + length_of(row), pc + inside, &work, &rule),
                             SW_OK);
            assert_int_equal(rule.source, SW_SOURCE_ANALYSIS);
            check(row, &rule, &row->at[i], pc);
        }
}

static bool first(void *arg, const struct sw_rule *rule)
{
    *(struct sw_rule *)arg = *rule;
    return true;
}

/* Forward from every instruction: the return is found; registers not restored on the way are not claimed. */
static void caller_is_found_going_forward(void **state)
{
    const struct row *row = *state;
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)row, NULL };
    uint64_t pc = BEGIN;
    if (row->known_start_only)
        return;
    for (unsigned i = 0; row->at[i].length; pc += row->at[i++].length) {
        struct sw_rule rule;
        const struct sw_regs regs = registers(row, &row->at[i], pc);
        struct sw_fp_distance fp = { (int32_t)(regs.r[RBP] - regs.r[RSP]), true, false };
        struct sw_regs caller;
        if (sw_analyze_forward(&code, pc, &fp, &work, first, &rule) != SW_OK)
            continue; /* a tail call out of the bytes, a loop: no return to be found here */
        assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL), SW_OK);
        assert_int_equal(sw_regs_pc(&caller), CALLER);
        assert_int_equal(sw_regs_sp(&caller), CFA);
        if (sw_regs_has(&caller, RBP))
            assert_int_equal(caller.r[RBP], CALLER_RBP);
        if (sw_regs_has(&caller, RBX))
            assert_int_equal(caller.r[RBX], CALLER_RBX);
    }
}

/* ---- realignment through a DRAP register: sp is nowhere, the CFA is in a stack word ---- */

static void realigned_frame_is_followed_through_its_saved_cfa(void **state)
{
    /* lea r10,[rsp+8]; and rsp,-64; push [r10-8]; push rbp; mov rbp,rsp; push r10; push rbx; call x;
     * pop rbx; pop r10; pop rbp; lea rsp,[r10-8]; ret */
    static const struct row drap = { "drap",
                                     false,
                                     { 0x4c, 0x8d, 0x54, 0x24, 8,    0x48, 0x83, 0xe4, 0xc0, 0x41, 0xff, 0x72,
                                       0xf8, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x52, 0x53, 0xe8, 0,    0,    1,
                                       0,    0x5b, 0x41, 0x5a, 0x5d, 0x49, 0x8d, 0x62, 0xf8, 0xc3 },
                                     { { 34, 0, 0, 0 } } };
    enum { ALIGNED = CFA - 0x48, BEHIND_CALL = 25 };
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)&drap, NULL };
    struct sw_regs regs = registers(&drap, &(struct at){ 1, LOST, 0, 0 }, BEGIN + BEHIND_CALL), caller;
    struct sw_rule rule;
    (void)state;
    sw_regs_set(&regs, RBP, ALIGNED - 16);
    sw_regs_set(&regs, RSP, ALIGNED - 32);
    sw_regs_set(&regs, RBX, CALLER_RBX);
    put_word(ALIGNED - 8, CALLER);
    put_word(ALIGNED - 16, CALLER_RBP);
    put_word(ALIGNED - 24, CFA);
    put_word(ALIGNED - 32, CALLER_RBX);
    for (int forward = 0; forward < 2; forward++) {
        if (forward)
            assert_int_equal(sw_analyze_forward(&code, BEGIN + BEHIND_CALL, NULL, &work, first, &rule), SW_OK);
        else
            assert_int_equal(sw_analyze_function(&code, BEGIN, BEGIN + 34, BEGIN + BEHIND_CALL, &work, &rule), SW_OK);
        assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL), SW_OK);
        assert_int_equal(sw_regs_pc(&caller), CALLER);
        assert_int_equal(sw_regs_sp(&caller), CFA);
        assert_int_equal(caller.r[RBP], CALLER_RBP);
        assert_int_equal(caller.r[RBX], CALLER_RBX);
    }
}

/* pop rax; iretq */
static void an_interrupt_return_loads_the_stack_pointer(void **state)
{
    static const struct row leave = { "iretq", false, { 0x58, 0x48, 0xcf }, { { 3, 0, 0, 0 } } };
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)&leave, NULL };
    struct sw_regs regs = registers(&leave, &(struct at){ 1, LOST, 0, 0 }, BEGIN), caller;
    struct sw_rule rule;
    (void)state;
    sw_regs_set(&regs, RSP, CFA - 0x48);
    put_word(CFA - 0x40, CALLER);
    put_word(CFA - 0x28, CFA + 0x100);
    assert_int_equal(sw_analyze_forward(&code, BEGIN, NULL, &work, first, &rule), SW_OK);
    assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, NULL, NULL), SW_OK);
    assert_int_equal(sw_regs_pc(&caller), CALLER);
    assert_int_equal(sw_regs_sp(&caller), CFA + 0x100);
}

static void a_register_overwritten_and_not_saved_is_unknown(void **state)
{
    static const struct row lost = {
        "lost", false, { 0x31, 0xdb, 0x90, 0xc3 }, { { 4, 0, 0, 0 } }
    }; /* xor ebx,ebx; nop; ret */
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)&lost, NULL };
    struct sw_rule rule;
    (void)state;
    assert_int_equal(sw_analyze_function(&code, BEGIN, BEGIN + 4, BEGIN + 2, &work, &rule), SW_OK);
    assert_int_equal(rule.r[RBX].kind, SW_LOC_UNKNOWN);
    assert_int_equal(rule.r[RBP].kind, SW_LOC_SAME);
}

static void code_that_is_no_code_gives_no_rule(void **state)
{
    static const struct row bad = { "bad", false, { 0x06, 0x06, 0x06, 0x06 }, { { 4, 0, 0, 0 } } };
    const struct sw_code code = { &sw_x64_arch, fetch_row, (void *)(uintptr_t)&bad, NULL };
    struct sw_rule rule;
    (void)state;
    assert_int_equal(sw_analyze_function(&code, BEGIN, BEGIN + 4, BEGIN + 2, &work, &rule), SW_E_NO_RULE);
    assert_int_equal(sw_analyze_forward(&code, BEGIN, NULL, &work, first, &rule), SW_E_NO_RULE);
    assert_int_equal(sw_analyze_function(&code, 0x10, 0x20, 0x18, &work, &rule), SW_E_NO_RULE);
}

/* ---- code behind a call that does not return: other functions, one after the other ---- */

enum { OTHERS = 100, OTHER_BYTES = 10 };

static uint8_t text[64 + OTHERS * OTHER_BYTES];

static const uint8_t *fetch_text(void *arg, uint64_t pc, size_t *size)
{
    (void)arg;
    if (pc < BEGIN || pc >= BEGIN + sizeof text)
        return NULL;
    *size = sizeof text - (pc - BEGIN);
    return text + (pc - BEGIN);
}

/*
 * push rbx; sub rsp,0x20; call; test eax,eax; jne L; call; mov ebx,eax; call; add rsp,0x20; pop rbx; ret; L: call; and
 * behind it, without end: push rbx; sub rsp,n; call.
 */
static void own_code_comes_before_what_lies_behind_it(void **state)
{
    static const uint8_t own[] = { 0x53, 0x48, 0x83, 0xec, 0x20, 0xe8, 0,    0,    0x10, 0,    0x85, 0xc0, 0x75,
                                   0x12, 0xe8, 0,    0,    0x10, 0,    0x89, 0xc3, 0xe8, 0,    0,    0x10, 0,
                                   0x48, 0x83, 0xc4, 0x20, 0x5b, 0xc3, 0xe8, 0,    0,    0x10, 0 };
    const struct sw_code code = { &sw_x64_arch, fetch_text, NULL, NULL };
    struct sw_rule rule;
    (void)state;
    memset(text, 0x90, sizeof text);
    memcpy(text, own, sizeof own);
    for (unsigned i = 0; i < OTHERS; i++) {
        const uint8_t other[OTHER_BYTES] = { 0x53, 0x48, 0x83, 0xec, (uint8_t)(8 + 16 * (i % 7)), 0xe8, 0, 0, 0x10, 0 };
        memcpy(text + sizeof own + i * OTHER_BYTES, other, sizeof other);
    }
    assert_int_equal(sw_analyze_forward(&code, BEGIN + 1, NULL, &work, first, &rule), SW_OK);
    assert_int_equal(rule.cfa.reg, RSP);
    assert_int_equal(rule.cfa.off, 16);
}

/*
 * A jump backwards out of the function, to code that saves rbx on one of its ways only and comes back by that: L is
 * reached with a word that holds rbx, and without.
 */
static void paths_meet_far_from_the_start_as_well(void **state)
{
    enum { START = 0x80, L = 4 };
    /* sub rsp,0x18; L: call; test eax,eax; jne M; add rsp,0x18; ret; M: mov [rsp+8],rbx; call; mov rbx,[rsp+8];
     * jmp L */
    static const uint8_t far[] = { 0x48, 0x83, 0xec, 0x18, 0xe8, 0,    0,    0x10, 0,    0x85, 0xc0, 0x75,
                                   0x05, 0x48, 0x83, 0xc4, 0x18, 0xc3, 0x48, 0x89, 0x5c, 0x24, 0x08, 0xe8,
                                   0,    0,    0x10, 0,    0x48, 0x8b, 0x5c, 0x24, 0x08, 0xeb, 0xe1 };
    static const uint8_t start[] = { 0x53, 0x5b, 0xe9, 0x79, 0xff, 0xff, 0xff }; /* push rbx; pop rbx; jmp */
    const struct sw_code code = { &sw_x64_arch, fetch_text, NULL, NULL };
    struct sw_rule rule;
    (void)state;
    memset(text, 0x90, sizeof text);
    memcpy(text, far, sizeof far);
    memcpy(text + START, start, sizeof start);
    assert_int_equal(sw_analyze_function(&code, BEGIN + START, 0, BEGIN + L, &work, &rule), SW_OK);
    assert_int_equal(rule.cfa.off, 0x20);
    assert_int_equal(rule.r[RBX].kind, SW_LOC_SAME);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(rows) + 6] = { { 0 } };
    FILL_ROWS(tests, rows, caller_is_found_at_every_instruction);
    FILL_ROWS(tests + COUNT_OF(rows), rows, caller_is_found_going_forward);
    struct CMUnitTest *rest = tests + 2 * COUNT_OF(rows);
    rest[0] = (struct CMUnitTest)cmocka_unit_test(realigned_frame_is_followed_through_its_saved_cfa);
    rest[1] = (struct CMUnitTest)cmocka_unit_test(a_register_overwritten_and_not_saved_is_unknown);
    rest[2] = (struct CMUnitTest)cmocka_unit_test(code_that_is_no_code_gives_no_rule);
    rest[3] = (struct CMUnitTest)cmocka_unit_test(own_code_comes_before_what_lies_behind_it);
    rest[4] = (struct CMUnitTest)cmocka_unit_test(paths_meet_far_from_the_start_as_well);
    rest[5] = (struct CMUnitTest)cmocka_unit_test(an_interrupt_return_loads_the_stack_pointer);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
