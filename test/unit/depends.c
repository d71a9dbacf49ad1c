/*
 * What an answer of the long way says that it depends on: what a rule cache may believe the next time. A rule that was
 * confirmed by a call holds behind that call again only where nothing in front of it in the order could say otherwise
 * on another stack.
 */
#include "rows.h"

#include "unwind/unwind.h"

#include <snapwalk/codemap.h>
#include <snapwalk/sim.h>

#include <string.h>

enum { STUBS = 0x401000, STUBS_SIZE = 0x1000, AT_FRAME = 5, OUTSIDE = 0x501000, CALLER = 0x601000, STACK = 0x700000 };
enum { CALL_BYTES = 5, STORE_BYTES = 1 << 20 };

/* push rbx; sub rsp, 16; nop; add rsp, 16; pop rbx; ret */
static const uint8_t simple[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3 };
/* The same with je over a return that leads nowhere: that is the first way forward. */
static const uint8_t two_ways[] = {
    0x53, 0x48, 0x83, 0xec, 0x10, 0x74, 0x01, 0xc3, 0x48, 0x83, 0xc4, 0x10, 0x5b, 0xc3
};
/* push rbx; sub rsp, 16; jmp STUBS + AT_FRAME */
static const uint8_t leads_in[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0xe9, 0xfb, 0xff, 0xef, 0xff };
/* push rbx; sub rsp, 16; nop; jmp to itself: it never returns */
static const uint8_t endless[] = { 0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0xeb, 0xfe };

/*
 * Code at STUBS, where the block of stubs says nothing of where functions start; the frame is in front of its sixth
 * byte. What the caller calls, 0: through a register. What is said.
 */
static const struct row {
    const char *name;
    const uint8_t *code;
    size_t size;
    uint64_t calls;
    enum sw_depends depends;
    enum sw_trust trust;
} rows[] = {
    { "the_first_way_forward_is_found_again", simple, sizeof simple, STUBS, SW_DEPENDS_CALL, SW_TRUST_CONFIRMED },
    { "a_second_way_may_be_overtaken", two_ways, sizeof two_ways, STUBS, SW_DEPENDS_STACK, SW_TRUST_CONFIRMED },
    { "a_function_elsewhere_may_go_away", simple, sizeof simple, OUTSIDE, SW_DEPENDS_STACK, SW_TRUST_CONFIRMED },
    { "what_the_stack_was_searched_for", endless, sizeof endless, STUBS, SW_DEPENDS_CALL, SW_TRUST_CONFIRMED },
    { "a_call_through_a_register_names_nothing", simple, sizeof simple, 0, SW_DEPENDS_CALL, SW_TRUST_LIKELY },
    { "a_second_way_through_a_register_may_be_overtaken", two_ways, sizeof two_ways, 0, SW_DEPENDS_STACK,
      SW_TRUST_LIKELY },
};

static struct sw_scratch scratch;
static struct sw_sim *sim;
static struct sw_codemap *map;
static struct sw_analysis_cache *store;

static int set_up(void **state)
{
    const struct sw_range stubs = { STUBS, STUBS + STUBS_SIZE, 0, 0, SW_KIND_STUB, SW_UNWIND_AUTO, 0 };
    (void)state;
    if (sw_sim_create(NULL, SW_MACHINE_X64, &sim) != SW_OK || sw_codemap_create(NULL, &map) != SW_OK ||
        sw_analysis_cache_create(NULL, STORE_BYTES, &store) != SW_OK || sw_codemap_add(map, &stubs) != SW_OK)
        return -1;
    return sw_sim_bytes(sim, OUTSIDE, leads_in, sizeof leads_in) == SW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_analysis_cache_destroy(store);
    sw_codemap_destroy(map);
    sw_sim_destroy(sim);
    return 0;
}

/* A call of `target`, or call rax, as long. */
static void put_call(uint64_t target)
{
    uint8_t code[] = { 0x90, 0x90, 0x90, 0xff, 0xd0, 0xc3 };
    const uint32_t distance = (uint32_t)(target - CALLER - CALL_BYTES);
    if (target) {
        code[0] = 0xe8;
        memcpy(code + 1, &distance, sizeof distance);
    }
    assert_int_equal(sw_sim_bytes(sim, CALLER, code, sizeof code), SW_OK);
}

static void ask(const struct sw_walker *walker, struct sw_found *found)
{
    struct sw_workspace *work = (struct sw_workspace *)scratch.words;
    struct sw_frame frame = { .regs = { .machine = SW_MACHINE_X64 }, .lookup = STUBS + AT_FRAME, .exact = true };
    const struct sw_unwind_request req = { .walker = walker, .work = work, .frame = &frame };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&frame.regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&frame.regs, SW_X64_RIP, STUBS + AT_FRAME);
    sw_regs_set(&frame.regs, SW_X64_RSP, STACK);
    struct sw_reading reading;
    sw_reading_enter(walker, &reading);
    sw_fetch_reset(&work->fetch, &walker->memory, walker->images, NULL);
    work->meter = (struct sw_meter){ .left = SW_METER_UNLIMITED };
    sw_unwind_find_code(&req, &frame);
    sw_unwind(&req, found);
    sw_reading_leave(walker, &reading);
}

/* Without a store of analyses; while it is filled; and when it names the function. */
static void an_answer_says_what_it_depends_on(void **state)
{
    const struct row *row = *state;
    const uint64_t words[] = { 0, 0, 0xb0b, CALLER + CALL_BYTES, 0, 0, 0, 0 };
    struct sw_walker walker = *sw_sim_walker(sim);
    struct sw_found found;
    put_call(row->calls);
    assert_int_equal(sw_sim_bytes(sim, STUBS, row->code, row->size), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, words, COUNT_OF(words)), SW_OK);
    walker.codemap = map;
    for (unsigned turn = 0; turn < 3; turn++) {
        walker.analysis_cache = turn ? store : NULL;
        ask(&walker, &found);
        assert_int_equal(found.stop, SW_STOP_NONE);
        assert_int_equal(sw_regs_pc(found.caller), CALLER + CALL_BYTES);
        assert_int_equal(found.rule->source, SW_SOURCE_FORWARD);
        assert_int_equal(found.rule->trust, row->trust);
        assert_int_equal(found.depends, row->depends);
        if (row->depends != SW_DEPENDS_CALL)
            continue;
        assert_int_equal(found.function, row->calls);
        assert_int_equal(found.unconfirmed, SW_TRUST_NONE);
        /* The same rule, without a name to confirm it by; of what no way led to, none. */
        assert_int_equal(found.pointed, row->code == endless ? SW_TRUST_NONE : SW_TRUST_LIKELY);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, an_answer_says_what_it_depends_on, set_up, tear_down,
                                        (void *)(uintptr_t)&rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
