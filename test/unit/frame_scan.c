/*
 * Functions that no call names and that never return from pc, found by the frame that they make: unaligned, far in
 * front of pc, interpreters whose parts jump to where they do not say. And ways forward that no call confirms. No
 * ranges, no images, no frame pointer: nothing else helps. What is found is the same whatever an analysis cache holds.
 */
#include "rows.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include <string.h>

enum { REGION = 0x420000, REGION_SIZE = 0x14000, NEVER = 0x401000, WORK = 0x401100, CALLER = 0x400500 };
enum { STACK = 0x700000, STACK_WORDS = 16, AT_RETURN = 5, SAVED_RBX = 0xb0b0b0, CACHE_BYTES = 1 << 20 };

/* Where things lie in the region, and what they are. */
enum { START = REGION + 0x1009, FAR_PC = START + 0xa000, PART = REGION + 0x6000, EARLY_PART = REGION + 0x800 };
enum { BETWEEN = REGION + 0x2000, FUNCTIONS_BETWEEN = 8, FRAME = 7 };

/* push rbp; push rbx; sub rsp, 24: with the return address 48 bytes. */
static const uint8_t frame[FRAME] = { 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x90 };
/* push rbp; push rax; sub rsp, 24: as large, but rbx is not saved. */
static const uint8_t frame_without_rbx[FRAME] = { 0x55, 0x50, 0x48, 0x83, 0xec, 0x18, 0x90 };
static const uint8_t never[] = { 0xeb, 0xfe };
static const uint8_t work[] = { 0xc3 };
/* jmp [rdi] */
static const uint8_t dispatch[] = { 0xff, 0x27 };
/* mov rbx, [rbx + 8]; jmp [rbx] */
static const uint8_t part[] = { 0x48, 0x8b, 0x5b, 0x08, 0xff, 0x23 };
/* push rbp; push rbx; sub rsp, 24; je on; on: add rsp, 24; pop rbx; pop rbp; ret */
static const uint8_t whole[] = { 0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x74, 0x00,
                                 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3 };
/* test edi, edi; je L; call WORK; add rsp, 24; pop rbx; pop rbp; ret; L: call NEVER; another function: ret */
static const uint8_t two_ways[] = { 0x85, 0xff, 0x74, 0x0c, 0xe8, 0,    0, 0, 0, 0x48, 0x83,
                                    0xc4, 0x18, 0x5b, 0x5d, 0xc3, 0xe8, 0, 0, 0, 0,    0xc3 };
enum { WAY_CALLS_WORK = 4, WAY_CALLS_NEVER = 16 };
/* push rcx; push 0 */
static const uint8_t arguments[] = { 0x51, 0x6a, 0x00 };

static struct sw_scratch scratch;
static struct sw_sim *sim;
static uint8_t region[REGION_SIZE];

static void put_bytes(uint64_t at, const void *bytes, size_t size)
{
    assert_int_equal(sw_sim_bytes(sim, at, bytes, size), SW_OK);
}

static uint64_t put(uint64_t at, const void *bytes, size_t size)
{
    memcpy(region + (at - REGION), bytes, size);
    return at + size;
}

/* call or jmp rel32. Answers the address behind it. */
static uint64_t put_branch(uint64_t at, uint8_t opcode, uint64_t target)
{
    const uint32_t distance = (uint32_t)(target - at - 5);
    (void)put(at, &opcode, 1);
    return put(at + 1, &distance, sizeof distance);
}

/* In front of START: a function that has pushed a word, and that ends in a call or a jump. */
static void put_front(uint8_t opcode)
{
    static const uint8_t push = 0x53;
    (void)put(START - 6, &push, sizeof push);
    (void)put_branch(START - 5, opcode, NEVER);
}

/* ---- what is put into the region: each answers the pc to walk from ---- */

static uint64_t behind_a_call(void)
{
    put_front(0xe8);
    return put_branch(put(START, frame, FRAME), 0xe8, NEVER);
}

static uint64_t behind_a_jump(void)
{
    put_front(0xe9);
    return put_branch(put(START, frame, FRAME), 0xe8, NEVER);
}

static uint64_t with_arguments(void)
{
    put_front(0xe8);
    return put_branch(put(put(START, frame, FRAME), arguments, sizeof arguments), 0xe8, NEVER);
}

static uint64_t far_away(void)
{
    put_front(0xe8);
    memset(region + (START - REGION), 0x90, FAR_PC - START);
    (void)put(START, frame, FRAME);
    return put_branch(FAR_PC, 0xe8, NEVER);
}

static uint64_t interpreter_with(const uint8_t opening[FRAME], uint64_t at)
{
    put_front(0xe8);
    (void)put(put(START, opening, FRAME), dispatch, sizeof dispatch);
    (void)put(at, part, sizeof part);
    return at;
}

static uint64_t interpreter(void)
{
    return interpreter_with(frame, PART);
}

static uint64_t written_but_not_saved(void)
{
    return interpreter_with(frame_without_rbx, PART);
}

static uint64_t part_in_front(void)
{
    return interpreter_with(frame, EARLY_PART);
}

static uint64_t functions_between(void)
{
    for (unsigned i = 0; i < FUNCTIONS_BETWEEN; i++)
        (void)put(BETWEEN + i * 0x40, whole, sizeof whole);
    return interpreter_with(frame, PART);
}

static uint64_t two_ways_forward(void)
{
    (void)put(START, frame, FRAME);
    (void)put(START + FRAME, two_ways, sizeof two_ways);
    (void)put_branch(START + FRAME + WAY_CALLS_WORK, 0xe8, WORK);
    (void)put_branch(START + FRAME + WAY_CALLS_NEVER, 0xe8, NEVER);
    return START + FRAME;
}

/* ---- the rows ---- */

/*
 * returns  Which word of the stack is the return address; calls: what is called in front of it, 0: through a register.
 * at_sp    What is called in front of the address that is left at sp; 0: a register; NOTHING: there is none.
 */
#define NOTHING UINT64_MAX
static const struct row {
    const char *name;
    uint64_t (*make)(void);
    bool exact;
    unsigned returns;
    uint64_t calls, at_sp;
    bool found;
    enum sw_trust trust;
} rows[] = {
    { "starts_behind_a_call", behind_a_call, false, 5, 0, NOTHING, true, SW_TRUST_GUESS },
    { "starts_behind_a_jump", behind_a_jump, false, 5, 0, NOTHING, true, SW_TRUST_GUESS },
    { "not_if_another_function_was_called", behind_a_call, false, 5, WORK, NOTHING, false, SW_TRUST_NONE },
    { "not_with_a_frame_of_another_size", behind_a_call, false, 7, 0, NOTHING, false, SW_TRUST_NONE },
    { "arguments_may_have_been_pushed", with_arguments, false, 7, 0, NOTHING, true, SW_TRUST_GUESS },
    { "starts_far_in_front", far_away, false, 5, 0, NOTHING, true, SW_TRUST_GUESS },
    { "a_part_of_an_interpreter", interpreter, true, 5, 0, NOTHING, true, SW_TRUST_GUESS },
    { "it_jumps_on_and_is_no_tail_call", interpreter, true, 5, 0, 0, true, SW_TRUST_GUESS },
    { "it_has_saved_what_its_parts_write", written_but_not_saved, true, 5, 0, NOTHING, false, SW_TRUST_NONE },
    { "it_has_no_functions_inside", functions_between, true, 5, 0, NOTHING, false, SW_TRUST_NONE },
    { "called_by_name_it_is_likely", interpreter, true, 5, START, NOTHING, true, SW_TRUST_LIKELY },
    { "its_parts_may_lie_in_front_then", part_in_front, true, 5, START, NOTHING, true, SW_TRUST_LIKELY },
    { "but_only_then", part_in_front, true, 5, 0, NOTHING, false, SW_TRUST_NONE },
    { "a_way_that_no_call_confirms_gives_way", two_ways_forward, true, 5, 0, WORK, true, SW_TRUST_LIKELY },
};

/* A call at `at` of `target`, or of a register. Answers the return address. */
static uint64_t put_call(uint64_t at, uint64_t target)
{
    uint8_t code[] = { 0x90, 0x90, 0x90, 0xff, 0xd0, 0xc3 };
    const uint32_t distance = (uint32_t)(target - at - 5);
    if (target) {
        code[0] = 0xe8;
        memcpy(code + 1, &distance, sizeof distance);
    }
    put_bytes(at, code, sizeof code);
    return at + AT_RETURN;
}

/* The region, and the stack with all its words or none. */
static uint64_t build(const struct row *row, bool is_empty)
{
    uint64_t words[STACK_WORDS] = { 0 };
    memset(region, 0xcc, sizeof region);
    const uint64_t pc = row->make();
    put_bytes(REGION, region, sizeof region);
    put_bytes(NEVER, never, sizeof never);
    put_bytes(WORK, work, sizeof work);
    if (!is_empty) {
        words[row->returns] = put_call(CALLER, row->calls);
        words[row->returns - 2] = SAVED_RBX; /* below rbp, and that below the return address */
        words[0] = row->at_sp == NOTHING ? 0 : put_call(CALLER + 0x40, row->at_sp);
    }
    assert_int_equal(sw_sim_words(sim, STACK, words, STACK_WORDS), SW_OK);
    return pc;
}

static struct sw_frame caller_of(const struct row *row, uint64_t pc, struct sw_analysis_cache *cache, bool *found)
{
    struct sw_walker walker = *sw_sim_walker(sim);
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walk walk;
    walker.analysis_cache = cache;
    walker.budget = SW_WALK_BUDGET_UNLIMITED;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    sw_walk_start(&walk, &walker, &scratch, &regs, row->exact);
    assert_true(sw_walk_next(&walk));
    *found = sw_walk_next(&walk);
    return walk.frame;
}

static void assert_right(const struct row *row, const struct sw_frame *caller, bool found)
{
    /* What is found without a call in front of it is nobody's caller. */
    const bool is_caller = found && sw_regs_pc(&caller->regs) == CALLER + AT_RETURN;
    assert_int_equal(is_caller, row->found);
    if (!row->found)
        return;
    assert_int_equal(sw_regs_sp(&caller->regs), STACK + 8 * (row->returns + 1));
    assert_int_equal(caller->source, SW_SOURCE_FORWARD);
    assert_int_equal(caller->trust, row->trust);
    assert_int_equal(caller->regs.r[SW_X64_RBX], SAVED_RBX);
}

static void the_caller_is_found(void **state)
{
    const struct row *row = *state;
    struct sw_analysis_cache *cache;
    bool found;
    assert_int_equal(sw_analysis_cache_create(NULL, CACHE_BYTES, &cache), SW_OK);
    struct sw_frame caller = caller_of(row, build(row, true), cache, &found); /* what is not found is kept, too */
    assert_false(found && sw_regs_pc(&caller.regs) == CALLER + AT_RETURN);
    const uint64_t pc = build(row, false);
    caller = caller_of(row, pc, NULL, &found);
    assert_right(row, &caller, found);
    for (unsigned time = 0; time < 2; time++) {
        caller = caller_of(row, pc, cache, &found);
        assert_right(row, &caller, found);
    }
    sw_analysis_cache_destroy(cache);
}

static int set_up(void **state)
{
    (void)state;
    return sw_sim_create(NULL, SW_MACHINE_X64, &sim) == SW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_sim_destroy(sim);
    return 0;
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, the_caller_is_found);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tests[i].setup_func = set_up;
        tests[i].teardown_func = tear_down;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
