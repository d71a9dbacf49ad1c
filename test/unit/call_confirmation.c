/*
 * Callers that only a call can prove: code that never returns, with words on the stack that look like return addresses;
 * the entries of a procedure linkage table before they are bound; and what can be guessed where no call is known. No
 * ranges, no images, no frame pointer: nothing else helps.
 */
#include "rows.h"
#include "cached_twice.h"

#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#include <string.h>

enum { LOST = 0x401000, OTHER = 0x402000, STUB = 0x403000, FIRST = 0x403100, RESOLVER = 0x404000 };
enum { CALLER = 0x400500, SLOT = 0x405000, LINKED = 0x405008, STACK = 0x700000, SAVED_RBX = 0xb0b0b0 };
enum { CALL_BYTES = 5, AT_CALL = 5, IN_STUB = 6, AT_SECOND = 6 };

/* push rbx; sub rsp, 16; call OTHER, which never returns; int3 */
static const uint8_t lost[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0xe8, 0xf6, 0x0f, 0x00, 0x00, 0xcc };
static const uint8_t other[] = { 0xeb, 0xfe };
/* jmp [SLOT]; push 0; jmp FIRST */
static const uint8_t stub[] = { 0xff, 0x25, 0xfa, 0x1f, 0x00, 0x00, 0x68, 0, 0, 0, 0, 0xe9, 0xf0, 0x00, 0x00, 0x00 };
/* push [LINKED]; jmp [LINKED + 8] */
static const uint8_t first[] = { 0xff, 0x35, 0x02, 0x1f, 0x00, 0x00, 0xff, 0x25, 0x04, 0x1f, 0x00, 0x00 };
/*
 * Functions that end in what the word at SLOT leads to: the second one leaves something on the stack; two that may end
 * in what LINKED leads to as well; one by way of STUB.
 */
enum { STORE = 0x403200, ASKEW = 0x403300, EITHER = 0x403400, OR = 0x403480, BY_STUB = 0x403500, BARRIER = 0x406000 };
/* push rbx; pop rbx; jmp [SLOT] */
static const uint8_t store[] = { 0x53, 0x5b, 0xff, 0x25, 0xf8, 0x1d, 0x00, 0x00 };
/* push rbx; jmp [SLOT] */
static const uint8_t askew[] = { 0x53, 0xff, 0x25, 0xf9, 0x1c, 0x00, 0x00 };
/* test edi, edi; je; jmp [LINKED]; jmp [SLOT] */
static const uint8_t either[] = { 0x85, 0xff, 0x74, 0x06, 0xff, 0x25, 0xfe, 0x1b,
                                  0x00, 0x00, 0xff, 0x25, 0xf0, 0x1b, 0x00, 0x00 };
/* test edi, edi; je; jmp [SLOT]; jmp [LINKED] */
static const uint8_t otherwise[] = { 0x85, 0xff, 0x74, 0x06, 0xff, 0x25, 0x76, 0x1b,
                                     0x00, 0x00, 0xff, 0x25, 0x78, 0x1b, 0x00, 0x00 };
/* push rbx; pop rbx; jmp [SLOT + 24], which has STUB */
static const uint8_t by_stub[] = { 0x53, 0x5b, 0xff, 0x25, 0x10, 0x1b, 0x00, 0x00 };
/* nop; ret */
static const uint8_t barrier[] = { 0x90, 0xc3 };
/* add rsp, 16; jmp r11 */
static const uint8_t resolver[] = { 0x48, 0x83, 0xc4, 0x10, 0x41, 0xff, 0xe3 };

/*
 * Code among filler, so that starts can be looked for: LOST again; a function with a part split off, to which a branch
 * leads; a function with a landing pad, to which nothing does.
 */
enum {
    REGION = 0x420000,
    REGION_SIZE = 0x2000,
    FRONTED = REGION + 0x1000,
    HOT = REGION + 0x1100,
    COLD = REGION + 0x1800
};
enum { PAD = REGION + 0x1900, OWNER = REGION + 0x1f00, IN_COLD = 2, IN_PAD = 3 };
/* push rbx; sub rsp, 16; test edi, edi; js COLD; add rsp, 16; pop rbx; ret */
static const uint8_t hot[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0x85, 0xff, 0x0f, 0x88, 0xf3,
                               0x06, 0x00, 0x00, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3 };
/* xor eax, eax; call, which never returns */
static const uint8_t cold[] = { 0x31, 0xc0, 0xe8, 0x00, 0x00, 0x10, 0x00 };
/* mov rdi, rax; call, which never returns */
static const uint8_t pad[] = { 0x48, 0x89, 0xc7, 0xe8, 0x00, 0x00, 0x10, 0x00 };
/* push rbx; sub rsp, 16; call; add rsp, 16; pop rbx; ret */
static const uint8_t owner[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0xe8, 0x00, 0x00,
                                 0x10, 0x00, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3 };

static struct sw_scratch scratch;
static struct sw_sim *sim;

static void put_bytes(uint64_t at, const void *bytes, size_t size)
{
    assert_int_equal(sw_sim_bytes(sim, at, bytes, size), SW_OK);
}

/* lea rdi, [address]; call OTHER: as _start hands main on. Answers the return address. */
static uint64_t put_loading_call(uint64_t at, uint64_t address)
{
    uint8_t code[64 + 12] = { 0 };
    const uint32_t load = (uint32_t)(address - at - 64 - 7), call = (uint32_t)(OTHER - at - sizeof code);
    memset(code, 0x90, 64);
    memcpy(code + 64, "\x48\x8d\x3d", 3);
    memcpy(code + 67, &load, sizeof load);
    code[71] = 0xe8;
    memcpy(code + 72, &call, sizeof call);
    put_bytes(at, code, sizeof code);
    return at + sizeof code;
}

/* A call at `at` of `target`, then ret; target 0: call rax, as long. Answers the return address. */
static uint64_t put_call(uint64_t at, uint64_t target)
{
    uint8_t code[] = { 0x90, 0x90, 0x90, 0xff, 0xd0, 0xc3 };
    const uint32_t distance = (uint32_t)(target - at - CALL_BYTES);
    if (target) {
        code[0] = 0xe8;
        memcpy(code + 1, &distance, sizeof distance);
    }
    put_bytes(at, code, sizeof code);
    return at + CALL_BYTES;
}

static void put_region(void)
{
    static uint8_t filler[REGION_SIZE];
    memset(filler, 0xcc, sizeof filler);
    memcpy(filler + (FRONTED - REGION), lost, sizeof lost);
    memcpy(filler + (HOT - REGION), hot, sizeof hot);
    memcpy(filler + (COLD - REGION), cold, sizeof cold);
    memcpy(filler + (PAD - REGION), pad, sizeof pad);
    memcpy(filler + (OWNER - REGION), owner, sizeof owner);
    put_bytes(REGION, filler, sizeof filler);
}

static int set_up(void **state)
{
    const uint64_t slots[] = { STUB + IN_STUB, 0x11, RESOLVER, STUB };
    (void)state;
    if (sw_sim_create(NULL, SW_MACHINE_X64, &sim) != SW_OK)
        return -1;
    put_bytes(LOST, lost, sizeof lost);
    put_bytes(OTHER, other, sizeof other);
    put_bytes(STUB, stub, sizeof stub);
    put_bytes(FIRST, first, sizeof first);
    put_bytes(RESOLVER, resolver, sizeof resolver);
    put_bytes(STORE, store, sizeof store);
    put_bytes(ASKEW, askew, sizeof askew);
    put_bytes(EITHER, either, sizeof either);
    put_bytes(OR, otherwise, sizeof otherwise);
    put_bytes(BY_STUB, by_stub, sizeof by_stub);
    put_bytes(BARRIER, barrier, sizeof barrier);
    put_region();
    return sw_sim_words(sim, SLOT, slots, COUNT_OF(slots)) == SW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_sim_destroy(sim);
    return 0;
}

/*
 * Where it stands, how many words lie below the true return address, what the call in front of that calls, what is
 * bound in SLOT; and what is to be found.
 */
static const struct row {
    const char *name;
    uint64_t loads; /* by an instruction in front of a call further out */
    uint64_t pc;
    unsigned below;
    uint64_t calls;
    uint64_t bound;
    bool found;
    enum sw_trust trust;
} rows[] = {
    { "code_that_never_returns_is_found_by_its_call", 0, LOST + AT_CALL, 3, LOST, 0, true, SW_TRUST_CONFIRMED },
    { "its_call_through_a_bound_stub_counts", 0, LOST + AT_CALL, 3, STUB, LOST, true, SW_TRUST_CONFIRMED },
    { "its_call_through_a_stub_bound_to_another_does_not", 0, LOST + AT_CALL, 3, STUB, OTHER, false, SW_TRUST_NONE },
    { "a_call_of_another_function_confirms_nothing", 0, LOST + AT_CALL, 3, OTHER, 0, false, SW_TRUST_NONE },
    { "a_call_through_a_register_confirms_nothing", 0, LOST + AT_CALL, 3, 0, 0, false, SW_TRUST_NONE },
    { "unless_its_address_was_loaded_for_a_call_further_out", LOST, LOST + AT_CALL, 3, 0, 0, true, SW_TRUST_LIKELY },
    { "the_address_of_another_function_confirms_nothing", OTHER, LOST + AT_CALL, 3, 0, 0, false, SW_TRUST_NONE },
    { "a_loaded_address_does_not_excuse_a_call_of_another", LOST, LOST + AT_CALL, 3, OTHER, 0, false, SW_TRUST_NONE },
    { "a_call_at_another_distance_confirms_nothing", 0, LOST + AT_CALL, 4, LOST, 0, false, SW_TRUST_NONE },
    { "called_through_a_register_it_is_found_by_its_start", 0, FRONTED + AT_CALL, 3, 0, 0, true, SW_TRUST_GUESS },
    { "but_not_if_another_function_was_called", 0, FRONTED + AT_CALL, 3, OTHER, 0, false, SW_TRUST_NONE },
    { "a_part_split_off_is_found_by_the_branch_to_it", 0, COLD + IN_COLD, 3, 0, 0, true, SW_TRUST_GUESS },
    { "a_landing_pad_is_found_by_the_call_of_its_owner", 0, PAD + IN_PAD, 3, OWNER, 0, true, SW_TRUST_GUESS },
    { "a_landing_pad_in_a_frame_of_another_size_is_not", 0, PAD + IN_PAD, 4, OWNER, 0, false, SW_TRUST_NONE },
    { "code_that_nothing_leads_to_is_lost", 0, PAD + IN_PAD, 4, 0, 0, false, SW_TRUST_NONE },
    { "an_unbound_stub_returns_to_its_caller", 0, STUB, 0, STUB, 0, true, SW_TRUST_CONFIRMED },
    { "an_unbound_stub_that_has_pushed_leads_to_the_resolver", 0, STUB + IN_STUB + 5, 1, STUB, 0, true, SW_TRUST_NONE },
    { "the_first_entry_leads_to_the_resolver", 0, FIRST, 1, STUB, 0, true, SW_TRUST_NONE },
    { "the_first_entry_that_has_pushed_leads_to_the_resolver", 0, FIRST + AT_SECOND, 2, STUB, 0, true, SW_TRUST_NONE },
    { "what_the_called_function_ends_in_is_confirmed", 0, BARRIER + 1, 0, STORE, BARRIER, true, SW_TRUST_CONFIRMED },
    { "also_if_it_may_end_in_something_else", 0, BARRIER + 1, 0, EITHER, BARRIER, true, SW_TRUST_CONFIRMED },
    { "whichever_of_them_comes_first", 0, BARRIER + 1, 0, OR, BARRIER, true, SW_TRUST_CONFIRMED },
    { "and_by_way_of_a_stub", 0, BARRIER + 1, 0, BY_STUB, BARRIER, true, SW_TRUST_CONFIRMED },
    { "not_if_it_ends_in_something_else", 0, BARRIER + 1, 0, STORE, OTHER, true, SW_TRUST_GUESS },
    { "nor_if_it_jumps_there_within_its_frame", 0, BARRIER + 1, 0, ASKEW, BARRIER, true, SW_TRUST_GUESS },
    { "nor_by_a_call_of_another_function", 0, BARRIER + 1, 0, OTHER, BARRIER, true, SW_TRUST_GUESS },
};

struct seen {
    unsigned count;
    struct sw_frame caller;
};

static bool keep(void *arg, const struct sw_frame *frame)
{
    struct seen *seen = arg;
    if (++seen->count == 2)
        seen->caller = *frame;
    return seen->count < 2;
}

static void caller_is_proved_by_its_call(void **state)
{
    const struct row *row = *state;
    uint64_t words[8] = { 0 };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct seen seen = { 0 };
    /* Left over from earlier: a return address behind a call of something else, and one behind a call of LOST itself.
     */
    if (row->below > 2) {
        words[0] = put_call(CALLER + 0x100, OTHER);
        words[1] = put_call(CALLER + 0x200, LOST);
        words[2] = SAVED_RBX;
    }
    if (row->loads)
        words[row->below + 2] = put_loading_call(CALLER + 0x300, row->loads);
    words[row->below] = put_call(CALLER, row->calls);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    if (row->bound)
        assert_int_equal(sw_sim_words(sim, SLOT, &row->bound, 1), SW_OK);
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&regs, SW_X64_RIP, row->pc);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    (void)!sw_walk_all(sw_sim_walker(sim), &scratch, &regs, keep, &seen);
    assert_int_equal(seen.count, row->found ? 2 : 1);
    if (!row->found)
        return;
    assert_int_equal(sw_regs_pc(&seen.caller.regs), CALLER + CALL_BYTES);
    assert_int_equal(sw_regs_sp(&seen.caller.regs), STACK + 8 * (row->below + 1));
    assert_int_equal(seen.caller.source, SW_SOURCE_FORWARD);
    if (row->trust != SW_TRUST_NONE)
        assert_int_equal(seen.caller.trust, row->trust);
    if (row->below > 2)
        assert_int_equal(seen.caller.regs.r[SW_X64_RBX], SAVED_RBX);
}

/* More return addresses above sp, of calls of different functions, than are tried. */
static void a_stack_full_of_calls_is_searched_in_bounds(void **state)
{
    uint64_t words[128];
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct seen seen = { 0 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = put_call(CALLER + 0x10 * i, OTHER + 0x10 * i);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, PAD + IN_PAD);
    sw_regs_set(&regs, SW_X64_RSP, STACK);
    (void)walk_twice(sw_sim_walker(sim), &regs, true);
    (void)!sw_walk_all(sw_sim_walker(sim), &scratch, &regs, keep, &seen);
    assert_int_equal(seen.count, 1);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 1];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, caller_is_proved_by_its_call, set_up, tear_down,
                                        (void *)(uintptr_t)&rows[i] };
    tests[COUNT_OF(rows)] = (struct CMUnitTest)cmocka_unit_test_setup_teardown(
        a_stack_full_of_calls_is_searched_in_bounds, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
