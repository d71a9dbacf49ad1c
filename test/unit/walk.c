/*
 * The walker over simulated targets: every reason to stop, every order of sources, limits of 1 and 2. Registers that
 * must not be used hold distinct garbage.
 */
#include "rows.h"
#include "cached_twice.h"

#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum {
    A = 0x10000,
    B = 0x20000,
    C = 0x30000,
    TRAMPOLINE = 0x40000,
    NOWHERE = 0x900000,
    STACK = 0x700000,
    DATA = 0x800000
};
enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RIP = SW_X64_RIP, RBX = SW_X64_RBX };

/* push rbp; mov rbp,rsp; call +0x10000 (A calls B, B calls C); pop rbp; ret */
static const uint8_t framed[] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xff, 0x00, 0x00, 0x5d, 0xc3 };
enum { IN_FRAME = 4, BEHIND_CALL = 9, FRAMED = sizeof framed };

static struct sw_scratch scratch;

static void put_words(uint64_t at, const uint64_t *words, size_t count)
{
    assert_int_equal(sw_sim_words(sim, at, words, count), SW_OK);
}

static struct sw_regs at(uint64_t pc, uint64_t sp, uint64_t fp)
{
    struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
    sw_regs_set(&regs, RIP, pc);
    sw_regs_set(&regs, RSP, sp);
    sw_regs_set(&regs, RBP, fp);
    return regs;
}

struct seen {
    unsigned count;
    struct sw_frame frames[16];
    unsigned most; /* frames after which the sink ends it, 0: never */
};

static bool keep(void *arg, const struct sw_frame *frame)
{
    struct seen *seen = arg;
    if (seen->count < COUNT_OF(seen->frames))
        seen->frames[seen->count] = *frame;
    seen->count++;
    return seen->most == 0 || seen->count < seen->most;
}

static enum sw_stop walk(const struct sw_regs *regs, struct seen *seen)
{
    seen->count = 0;
    (void)walk_twice(sw_sim_walker(sim), regs, true);
    return sw_walk_all(sw_sim_walker(sim), &scratch, regs, keep, seen);
}

/* C inside its frame, called by B, called by A, which returns to 0. */
static struct sw_regs three_frames(enum sw_kind kind)
{
    const uint64_t words[] = { STACK + 0x20, B + BEHIND_CALL, 0, 0, STACK + 0x40, A + BEHIND_CALL, 0, 0, 0, 0 };
    put_code(A, framed, FRAMED, kind, SW_UNWIND_ANALYSIS);
    put_code(B, framed, FRAMED, kind, SW_UNWIND_ANALYSIS);
    put_code(C, framed, FRAMED, kind, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, COUNT_OF(words));
    return at(C + IN_FRAME, STACK, STACK);
}

/* B's frame is entered with sp at STACK + 0x10: only frame pointers lead from there to STACK + 0x20. */
static struct sw_regs three_tight_frames(enum sw_kind kind)
{
    const uint64_t words[] = { STACK + 0x10, B + BEHIND_CALL, STACK + 0x20, A + BEHIND_CALL, 0, 0 };
    const struct sw_regs regs = three_frames(kind);
    put_words(STACK, words, COUNT_OF(words));
    return regs;
}

static void frames_come_leaf_first_and_end_at_a_zero_return_address(void **state)
{
    struct seen seen = { 0 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_JIT);
    (void)state;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_int_equal(sw_regs_pc(&seen.frames[0].regs), C + IN_FRAME);
    assert_int_equal(sw_regs_pc(&seen.frames[1].regs), B + BEHIND_CALL);
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), A + BEHIND_CALL);
    assert_int_equal(sw_regs_sp(&seen.frames[2].regs), STACK + 0x20);
    assert_int_equal(sw_regs_fp(&seen.frames[2].regs), STACK + 0x20);
    assert_int_equal(seen.frames[1].code.id, B);
    assert_true(seen.frames[0].exact);
    assert_false(seen.frames[1].exact);
    assert_int_equal(seen.frames[0].lookup, C + IN_FRAME);
    assert_int_equal(seen.frames[1].lookup, B + BEHIND_CALL - 1);
    assert_int_equal(seen.frames[0].source, SW_SOURCE_SEED);
    assert_int_equal(seen.frames[1].source, SW_SOURCE_ANALYSIS);
    assert_int_equal(seen.frames[1].trust, SW_TRUST_CONFIRMED); /* the call in front of it calls C */
    assert_int_equal(seen.frames[2].trust, SW_TRUST_CONFIRMED);
    assert_true(sw_regs_has(&seen.frames[1].regs, RBX));
    assert_int_equal(seen.frames[1].regs.r[RBX], regs.r[RBX]);
    assert_false(sw_regs_has(&seen.frames[1].regs, SW_X64_RAX)); /* volatile: lost */
}

static void without_bounds_the_way_forward_is_confirmed_by_the_call(void **state)
{
    struct seen seen = { 0 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_NONE);
    (void)state;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.frames[1].source, SW_SOURCE_FORWARD);
    assert_int_equal(seen.frames[1].trust, SW_TRUST_CONFIRMED);
    assert_int_equal(seen.frames[2].code.kind, SW_KIND_NATIVE);
}

static void without_analysis_frame_pointers_are_followed_as_a_guess(void **state)
{
    struct seen seen = { 0 };
    const struct sw_regs regs = three_frames(SW_KIND_JIT);
    (void)state;
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS;
    assert_int_equal(walk(&regs, &seen), SW_STOP_BAD_PC); /* a record of zeros is a guess, too */
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.frames[2].source, SW_SOURCE_FRAME_POINTER);
    assert_int_equal(seen.frames[2].trust, SW_TRUST_GUESS);
    assert_false(sw_regs_has(&seen.frames[2].regs, RBX)); /* a frame record says nothing about it */
}

static void with_every_source_forbidden_there_is_no_rule(void **state)
{
    struct seen seen = { 0 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_JIT);
    (void)state;
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER | SW_WALK_NO_TABLES;
    assert_int_equal(walk(&regs, &seen), SW_STOP_NO_RULE);
    assert_int_equal(seen.count, 1);
}

static void frame_limits_of_one_and_two_hold(void **state)
{
    struct seen seen = { 0 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_JIT);
    (void)state;
    for (uint32_t most = 1; most <= 2; most++) {
        sw_sim_walker(sim)->max_frames = most;
        assert_int_equal(walk(&regs, &seen), SW_STOP_FRAME_LIMIT);
        assert_int_equal(seen.count, most);
    }
    sw_sim_walker(sim)->max_frames = 3;
    assert_int_equal(walk(&regs, &seen), SW_STOP_FRAME_LIMIT);
    sw_sim_walker(sim)->max_frames = 4;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
}

static void the_sink_ends_the_walk(void **state)
{
    struct seen seen = { .most = 2 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_JIT);
    (void)state;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ABORTED);
    assert_int_equal(seen.count, 2);
}

/* One frame, then something wrong: what the second word of the stack is, what is declared, how it ends. */
static const struct ending {
    const char *name;
    uint64_t saved_fp, return_address, stack_begin, stack_end;
    enum sw_stop stop;
} endings[] = {
    { "return_address_zero_is_a_clean_root", 0, 0, 0, 0, SW_STOP_ROOT_ZERO },
    { "return_address_in_nothing_is_a_bad_pc", 0, NOWHERE, 0, 0, SW_STOP_BAD_PC },
    { "caller_beyond_the_declared_stack_is_outside", 0, B + BEHIND_CALL, STACK - 0x100, STACK + 8,
      SW_STOP_OUTSIDE_STACK },
};

static void a_damaged_stack_ends_by_name_and_keeps_the_frame(void **state)
{
    const struct ending *row = *state;
    const uint64_t words[] = { row->saved_fp, row->return_address };
    const struct sw_regs regs = at(A + IN_FRAME, STACK, STACK);
    struct seen seen = { 0 };
    assert_int_equal(set_up_x64(NULL), 0);
    put_code(A, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_code(B, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, 2);
    sw_sim_walker(sim)->flags = SW_WALK_NO_FRAME_POINTER;
    sw_sim_walker(sim)->stack_begin = row->stack_begin;
    sw_sim_walker(sim)->stack_end = row->stack_end;
    assert_int_equal(walk(&regs, &seen), row->stop);
    assert_int_equal(seen.count, 1);
    tear_down_target(NULL);
}

static void an_unreadable_stack_is_named_with_its_address(void **state)
{
    struct sw_walk w;
    const struct sw_regs regs = at(A + IN_FRAME, DATA, DATA);
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    sw_walk_start(&w, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&w));
    assert_false(sw_walk_next(&w));
    assert_int_equal(w.stop, SW_STOP_UNREADABLE);
    assert_int_equal(w.fault.pc, A + IN_FRAME);
    assert_int_equal(w.fault.status, SW_E_UNREADABLE);
    assert_int_equal(w.fault.address, DATA + 8);
    assert_false(sw_walk_next(&w)); /* and so it stays */
    assert_int_equal(w.stop, SW_STOP_UNREADABLE);
}

static void a_rule_on_an_unknown_register_is_a_lost_register(void **state)
{
    /* push rbp; mov rbp,rsp; sub rsp,rdi; jmp .: only rbp leads on, and it is not known */
    static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x29, 0xfc, 0xeb, 0xfe };
    struct sw_regs regs = at(A + 7, STACK, 0);
    struct seen seen = { 0 };
    (void)state;
    put_code(A, code, sizeof code, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    regs.known &= ~(UINT64_C(1) << RBP);
    assert_int_equal(walk(&regs, &seen), SW_STOP_LOST_REGISTER);
}

static void a_stack_that_loops_ends(void **state)
{
    const uint64_t words[] = { STACK, A + BEHIND_CALL }; /* the frame record points to itself */
    const struct sw_regs regs = at(A + IN_FRAME, STACK, STACK);
    struct seen seen = { 0 };
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, 2);
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS;
    assert_int_equal(walk(&regs, &seen), SW_STOP_NO_RULE);
    assert_int_equal(seen.count, 1);
}

static void sp_that_does_not_rise_is_refused(void **state)
{
    /* mov rsp,rbp; ret with rbp below sp: the "caller" would be further down */
    static const uint8_t code[] = { 0x48, 0x89, 0xec, 0xc3 };
    const uint64_t words[] = { A, A };
    const struct sw_regs regs = at(A, STACK, STACK - 0x100);
    struct seen seen = { 0 };
    (void)state;
    put_code(A, code, sizeof code, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    put_words(STACK - 0x100, words, 2);
    assert_int_equal(walk(&regs, &seen), SW_STOP_NO_RULE);
    assert_int_equal(seen.count, 1);
}

static void at_the_declared_base_a_cut_is_a_clean_end(void **state)
{
    const uint64_t words[] = { 0, B + 1 };
    static const uint8_t endless[] = { 0xeb, 0xfe }; /* jmp . */
    const struct sw_regs regs = at(A + IN_FRAME, STACK, STACK);
    struct seen seen = { 0 };
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_code(B, endless, sizeof endless, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, 2);
    sw_sim_walker(sim)->stack_begin = STACK - 0x1000;
    sw_sim_walker(sim)->stack_end = STACK + 16;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_BASE);
    assert_int_equal(seen.count, 2);
}

/* mov rax,15 in two forms; syscall: stood at, where a handler returns to, and at the system call. */
static const struct restorer {
    uint8_t size;
    uint8_t bytes[9];
    uint8_t at; /* pc in it */
} restorers[] = {
    { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }, 0 },
    { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }, 7 },
    { 7, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 }, 0 },
    { 7, { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 }, 5 },
};

/* With a ucontext at sp: rip at +168, rsp at +160, rbp at +120, rbx at +128. */
static void check_trampoline(const struct restorer *restorer)
{
    uint64_t ucontext[32] = { 0 };
    struct seen seen = { 0 };
    const struct sw_regs regs = at(TRAMPOLINE + restorer->at, STACK - 0x400, 0xbad);
    (void)three_tight_frames(SW_KIND_JIT);
    put_code(TRAMPOLINE, restorer->bytes, restorer->size, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    ucontext[168 / 8] = C; /* interrupted at its first instruction: the return address is at sp */
    ucontext[160 / 8] = STACK + 8;
    ucontext[120 / 8] = STACK + 0x10;
    ucontext[128 / 8] = 0xb0b;
    ucontext[144 / 8] = 0xa0a;
    put_words(STACK - 0x400, ucontext, COUNT_OF(ucontext));
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.frames[1].source, SW_SOURCE_SIGNAL_FRAME);
    assert_true(seen.frames[1].exact);
    assert_int_equal(seen.frames[1].regs.r[RBX], 0xb0b);
    assert_int_equal(seen.frames[1].regs.r[SW_X64_RAX], 0xa0a); /* an interrupt keeps them all */
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), B + BEHIND_CALL);
}

static void a_signal_trampoline_is_known_by_its_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(restorers); i++) {
        assert_int_equal(set_up_x64(NULL), 0);
        check_trampoline(&restorers[i]);
        tear_down_target(NULL);
    }
}

/* What is declared is the stack that the handler runs on, as for a stopped thread of another process. */
static void a_signal_frame_leads_off_the_declared_stack(void **state)
{
    enum { OTHER = 0x600000 };
    static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    uint64_t ucontext[32] = { 0 };
    struct seen seen = { 0 };
    const struct sw_regs regs = at(TRAMPOLINE, OTHER, 0xbad);
    (void)state;
    (void)three_tight_frames(SW_KIND_JIT);
    put_code(TRAMPOLINE, restorer, sizeof restorer, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    ucontext[168 / 8] = C;
    ucontext[160 / 8] = STACK + 8;
    ucontext[120 / 8] = STACK + 0x10;
    put_words(OTHER, ucontext, COUNT_OF(ucontext));
    sw_sim_walker(sim)->stack_begin = OTHER - 0x1000;
    sw_sim_walker(sim)->stack_end = OTHER + 0x1000;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 4);
    assert_int_equal(sw_regs_pc(&seen.frames[3].regs), A + BEHIND_CALL);
}

/* The function's own instructions lead off the stack; the frame record that a guess would follow ends in zeros. */
static void a_zero_behind_the_cut_of_a_better_source_is_no_clean_end(void **state)
{
    const uint64_t words[] = { 0, B + BEHIND_CALL, 0, 0 };
    const struct sw_regs regs = at(A + 1, STACK + 8, STACK + 16); /* push rbp is done: the record is another's */
    struct seen seen = { 0 };
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, COUNT_OF(words));
    put_words(STACK + 8, (const uint64_t[]){ 0, NOWHERE }, 2);
    put_words(STACK + 24, (const uint64_t[]){ 0 }, 1);
    assert_int_equal(walk(&regs, &seen), SW_STOP_BAD_PC);
    assert_int_equal(seen.count, 1);
}

/* A frame that was guessed: what its own rule finds may be any zero of the stack. */
static void a_zero_behind_a_guess_is_no_clean_end(void **state)
{
    const uint64_t words[] = { B + BEHIND_CALL, 0, 0, 0, 0, 0 };
    const struct sw_regs regs = at(0, STACK, STACK + 8);
    struct seen seen = { 0 };
    (void)state;
    (void)three_tight_frames(SW_KIND_JIT);
    put_words(STACK, words, COUNT_OF(words));
    assert_int_equal(walk(&regs, &seen), SW_STOP_BAD_PC);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.frames[1].trust, SW_TRUST_GUESS);
}

static void a_call_through_a_bad_pointer_returns_to_its_caller(void **state)
{
    const uint64_t words[] = { B + BEHIND_CALL, STACK + 0x20, A + BEHIND_CALL, 0, 0, 0 };
    const struct sw_regs regs = at(0, STACK, STACK + 8);
    struct seen seen = { 0 };
    (void)state;
    (void)three_tight_frames(SW_KIND_JIT);
    put_words(STACK, words, COUNT_OF(words));
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.frames[1].trust, SW_TRUST_GUESS);
    assert_int_equal(sw_regs_pc(&seen.frames[1].regs), B + BEHIND_CALL);
}

static void managed_code_returned_to_without_a_call_in_front_was_interrupted(void **state)
{
    /* B's first instruction stands as a "return address": nothing has been pushed there yet. */
    const uint64_t words[] = { STACK + 0x20, B, A + BEHIND_CALL, 0, 0, 0 };
    const struct sw_regs regs = at(C + IN_FRAME, STACK, STACK);
    struct seen seen = { 0 };
    (void)state;
    (void)three_tight_frames(SW_KIND_JIT);
    put_words(STACK, words, COUNT_OF(words));
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_true(seen.frames[1].exact);
    assert_int_equal(seen.frames[1].code.id, B);
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), A + BEHIND_CALL);
}

static void a_leaf_range_is_believed(void **state)
{
    static const uint8_t garbage[] = { 0x06, 0x06, 0x06, 0x06 };
    const struct sw_range stub = { C, C + 4, 0, 0, SW_KIND_STUB, SW_UNWIND_LEAF, 0 };
    const uint64_t words[] = { B + BEHIND_CALL, STACK + 0x20, A + BEHIND_CALL, 0, 0, 0 };
    const struct sw_regs regs = at(C + 1, STACK, STACK + 8);
    struct seen seen = { 0 };
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_code(B, framed, FRAMED, SW_KIND_JIT, SW_UNWIND_ANALYSIS);
    put_code(C, garbage, sizeof garbage, SW_KIND_NONE, SW_UNWIND_ANALYSIS);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &stub), SW_OK);
    put_words(STACK, words, COUNT_OF(words));
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.frames[1].source, SW_SOURCE_LEAF);
}

/* With the rule cache, too: first what the walk keeps while nothing is replaced. */
static void a_replaced_return_address_is_what_belongs_there(void **state)
{
    const uint64_t stub = C + IN_FRAME;
    struct seen seen = { 0 };
    const struct sw_regs regs = three_tight_frames(SW_KIND_JIT);
    struct sw_walker *walker = sw_sim_walker(sim);
    (void)state;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    put_words(STACK + 0x18, &stub, 1);
    walker->replaced.at = STACK + 0x18;
    walker->replaced.original = A + BEHIND_CALL;
    assert_int_equal(walk(&regs, &seen), SW_STOP_ROOT_ZERO);
    assert_int_equal(seen.count, 3);
    assert_int_equal(sw_regs_pc(&seen.frames[1].regs), B + BEHIND_CALL);
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), A + BEHIND_CALL);
    walker->replaced.at = walker->replaced.original = 0;
    (void)walk(&regs, &seen);
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), stub);
}

static void null_pointers_and_incomplete_registers_are_a_bad_start(void **state)
{
    struct sw_regs regs = at(A, STACK, STACK);
    struct sw_walk w;
    struct seen seen = { 0 };
    (void)state;
    assert_int_equal(sw_walk_all(NULL, &scratch, &regs, keep, &seen), SW_STOP_BAD_START);
    assert_int_equal(sw_walk_all(sw_sim_walker(sim), NULL, &regs, keep, &seen), SW_STOP_BAD_START);
    assert_int_equal(sw_walk_all(sw_sim_walker(sim), &scratch, NULL, keep, &seen), SW_STOP_BAD_START);
    assert_int_equal(sw_walk_all(sw_sim_walker(sim), &scratch, &regs, NULL, &seen), SW_STOP_BAD_START);
    regs.machine = SW_MACHINE_ARM64;
    assert_int_equal(walk(&regs, &seen), SW_STOP_BAD_START);
    regs.machine = SW_MACHINE_X64;
    regs.known &= ~(UINT64_C(1) << RSP);
    assert_int_equal(walk(&regs, &seen), SW_STOP_BAD_START);
    assert_int_equal(seen.count, 0);
    sw_walk_start(NULL, sw_sim_walker(sim), &scratch, &regs, true);
    assert_false(sw_walk_next(NULL));
    sw_walk_start(&w, NULL, NULL, NULL, true);
    assert_false(sw_walk_next(&w));
}

static void the_seed_is_the_first_managed_frame(void **state)
{
    struct sw_regs seed;
    struct sw_fault fault;
    const uint64_t words[] = { STACK + 0x10, B + BEHIND_CALL, STACK + 0x20, A + BEHIND_CALL, 0, 0 };
    const struct sw_regs regs = at(C + IN_FRAME, STACK, STACK);
    (void)state;
    put_code(A, framed, FRAMED, SW_KIND_NGEN, SW_UNWIND_ANALYSIS);
    put_code(B, framed, FRAMED, SW_KIND_STUB, SW_UNWIND_ANALYSIS);
    put_code(C, framed, FRAMED, SW_KIND_NATIVE, SW_UNWIND_ANALYSIS);
    put_words(STACK, words, COUNT_OF(words));
    assert_int_equal(sw_walk_find_seed(sw_sim_walker(sim), &scratch, &regs, &seed, &fault), SW_OK);
    assert_int_equal(sw_regs_pc(&seed), A + BEHIND_CALL);
    assert_int_equal(sw_regs_sp(&seed), STACK + 0x20);
    assert_int_equal(sw_codemap_remove(sw_sim_codemap(sim), A), SW_OK);
    assert_int_equal(sw_walk_find_seed(sw_sim_walker(sim), &scratch, &regs, &seed, &fault), SW_E_NOT_FOUND);
    assert_int_equal(sw_sim_unmap(sim, STACK, 64), SW_OK);
    assert_int_equal(sw_walk_find_seed(sw_sim_walker(sim), &scratch, &regs, &seed, &fault), SW_E_UNREADABLE);
    assert_int_equal(fault.address, STACK + 8);
    assert_int_equal(sw_walk_find_seed(sw_sim_walker(sim), &scratch, &regs, NULL, NULL), SW_E_ARGUMENT);
}

static void arm64_frame_records_are_followed_and_signatures_stripped(void **state)
{
    static const uint8_t code[] = { 0x00, 0x00, 0x00, 0x94, 0x1f, 0x20, 0x03, 0xd5 }; /* bl .; nop */
    const uint64_t signature = UINT64_C(0x2b5d) << 48;
    const uint64_t words[] = { STACK + 0x10, signature | (B + 4), STACK + 0x20, A + 4, 0, 0 };
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    struct sw_sim *arm;
    struct seen seen = { 0 };
    (void)state;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &arm), SW_OK);
    assert_int_equal(sw_sim_bytes(arm, A, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_bytes(arm, B, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_bytes(arm, C, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_words(arm, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, SW_ARM64_PC, C + 4);
    sw_regs_set(&regs, SW_ARM64_SP, STACK);
    sw_regs_set(&regs, SW_ARM64_FP, STACK);
    (void)walk_twice(sw_sim_walker(arm), &regs, true);
    assert_int_equal(sw_walk_all(sw_sim_walker(arm), &scratch, &regs, keep, &seen), SW_STOP_BAD_PC);
    assert_int_equal(seen.count, 3);
    assert_int_equal(sw_regs_pc(&seen.frames[1].regs), B + 4);
    assert_int_equal(sw_regs_sp(&seen.frames[1].regs), STACK + 0x10);
    assert_int_equal(sw_regs_pc(&seen.frames[2].regs), A + 4);
    sw_sim_destroy(arm);
}

#define WALK_TEST(f) cmocka_unit_test_setup_teardown(f, set_up_x64, tear_down_target)

/* Code in no image is read by pages. */
static void an_instruction_on_two_pages_is_one(void **state)
{
    enum { PAGE = 4096, PAGE_END = 0x5000, CALLER_CODE = 0x6000, STACK_AT = 0x7000 };
    static const uint8_t add_ret[] = { 0x48, 0x81, 0xc4, 0x08, 0x00, 0x00, 0x00, 0xc3 }; /* rsp, 8 */
    static uint8_t code[PAGE + 16];
    static const uint8_t call[] = { 0xff, 0xd0, 0xc3 };
    const uint64_t words[] = { 0x5a5a, CALLER_CODE + 2, 0x5a5a, 0x5a5a };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walk walk;
    struct sw_sim *pages;
    (void)state;
    memcpy(code + PAGE - 3, add_ret, sizeof add_ret);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &pages), SW_OK);
    assert_int_equal(sw_sim_bytes(pages, PAGE_END - PAGE, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_bytes(pages, CALLER_CODE, call, sizeof call), SW_OK);
    assert_int_equal(sw_sim_words(pages, STACK_AT, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, PAGE_END - 3);
    sw_regs_set(&regs, SW_X64_RSP, STACK_AT);
    sw_walk_start(&walk, sw_sim_walker(pages), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk) && sw_walk_next(&walk));
    assert_int_equal(sw_regs_pc(&walk.frame.regs), CALLER_CODE + 2);
    assert_int_equal(sw_regs_sp(&walk.frame.regs), STACK_AT + 16);
    sw_sim_destroy(pages);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        WALK_TEST(frames_come_leaf_first_and_end_at_a_zero_return_address),
        WALK_TEST(without_bounds_the_way_forward_is_confirmed_by_the_call),
        WALK_TEST(without_analysis_frame_pointers_are_followed_as_a_guess),
        WALK_TEST(with_every_source_forbidden_there_is_no_rule),
        WALK_TEST(frame_limits_of_one_and_two_hold),
        WALK_TEST(the_sink_ends_the_walk),
        WALK_TEST(an_unreadable_stack_is_named_with_its_address),
        WALK_TEST(a_rule_on_an_unknown_register_is_a_lost_register),
        WALK_TEST(a_stack_that_loops_ends),
        WALK_TEST(sp_that_does_not_rise_is_refused),
        WALK_TEST(at_the_declared_base_a_cut_is_a_clean_end),
        cmocka_unit_test(a_signal_trampoline_is_known_by_its_bytes),
        WALK_TEST(a_signal_frame_leads_off_the_declared_stack),
        WALK_TEST(a_zero_behind_the_cut_of_a_better_source_is_no_clean_end),
        WALK_TEST(a_zero_behind_a_guess_is_no_clean_end),
        WALK_TEST(a_call_through_a_bad_pointer_returns_to_its_caller),
        WALK_TEST(managed_code_returned_to_without_a_call_in_front_was_interrupted),
        WALK_TEST(a_leaf_range_is_believed),
        cmocka_unit_test(an_instruction_on_two_pages_is_one),
        WALK_TEST(a_replaced_return_address_is_what_belongs_there),
        WALK_TEST(null_pointers_and_incomplete_registers_are_a_bad_start),
        WALK_TEST(the_seed_is_the_first_managed_frame),
        WALK_TEST(arm64_frame_records_are_followed_and_signatures_stripped),
    };
    struct CMUnitTest tests[COUNT_OF(endings)];
    FILL_ROWS(tests, endings, a_damaged_stack_ends_by_name_and_keeps_the_frame);
    const int failed = cmocka_run_group_tests(singles, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
