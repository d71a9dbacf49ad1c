/*
 * Bodies of JIT code's methods in the rule cache: wherever a thread was interrupted in a method, and whatever pc of it
 * was met before, a walk sees what a walk without a cache sees. In the body a pc that is new reads nothing.
 */
#include "jit_method.h"
#include "cached_twice.h"

#include <snapwalk/analysis_cache.h>

enum { STACK_AT = 0x50000, STACK_BYTES = 0x9000, STACK_SP = STACK_AT + 0x3000 };
enum { CFA = STACK_SP + 0x100, CALLERS_CFA = CFA + 0x80, OUTERMOST_CFA = CALLERS_CFA + 0x80 };

/*
 * Where the method, or its funclet, can be interrupted, how far below the CFA sp is there, and whether rbp is the
 * method's own.
 */
static const struct place {
    const char *name;
    uint32_t offset;
    uint32_t below;
    bool is_framed;
    bool is_body; /* and no epilogue begins there */
} places[] = {
    { "at_entry", 0x00, 8, false, false },
    { "after_push_rbp", 0x01, 16, false, false },
    { "after_push_rbx", 0x02, 24, false, false },
    { "after_push_rax", 0x03, 32, false, false },
    { "in_the_body", 0x08, 32, true, true },
    { "at_the_call", 0x0b, 0x60, true, true },
    { "where_the_epilogue_begins", 0x10, 0x60, true, false },
    { "in_the_epilogue", 0x14, 24, true, false },
    { "after_pop_rbx", 0x15, 16, true, false },
    { "at_ret", 0x16, 8, false, false },
    { "in_a_funclet", 0x41, 16, false, false },
};

static struct world {
    struct jit jit;
    uint8_t stack[STACK_BYTES];
    unsigned reads; /* of other memory than the stack */
    struct sw_codemap *map;
    struct sw_analysis_cache *analysis_cache;
    struct sw_walker walker;
} world;

static size_t read_world(void *arg, uint64_t address, void *to, size_t size)
{
    struct world *w = arg;
    if (address >= STACK_AT && address < STACK_AT + STACK_BYTES) {
        const uint64_t left = STACK_AT + STACK_BYTES - address;
        size = size < left ? size : (size_t)left;
        memcpy(to, w->stack + (address - STACK_AT), size);
        return size;
    }
    w->reads++;
    return read_jit(&w->jit, address, to, size);
}

static void put_frame(uint64_t cfa, uint64_t rbp, uint64_t rbx, uint64_t to)
{
    put_le(world.stack + (cfa - 8 - STACK_AT), to, 8);
    put_le(world.stack + (cfa - 16 - STACK_AT), rbp, 8);
    put_le(world.stack + (cfa - 24 - STACK_AT), rbx, 8);
}

static const struct sw_range method = {
    .begin = START, .end = START + CODE_SIZE, .id = METHOD, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_CLR_HEADER
};

/* The method, which has called itself twice. All of it is in one page. */
static void make_world(void)
{
    memset(&world, 0, sizeof world);
    world.jit = make_jit();
    put_frame(CFA, CALLERS_CFA - 16, 0xb1, START + 0x10);
    put_frame(CALLERS_CFA, OUTERMOST_CFA - 16, 0xb2, START + 0x10);
    put_frame(OUTERMOST_CFA, 0, 0xb3, 0);
    assert_int_equal(sw_codemap_create(NULL, &world.map), SW_OK);
    assert_int_equal(sw_codemap_add(world.map, &method), SW_OK);
    assert_int_equal(sw_analysis_cache_create(NULL, 1 << 16, &world.analysis_cache), SW_OK);
    world.walker = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                       .memory = { .read = read_world, .arg = &world },
                                       .codemap = world.map,
                                       .analysis_cache = world.analysis_cache };
    world.walker.memory.window = (struct sw_window){ STACK_AT, STACK_AT + STACK_BYTES, world.stack };
}

static void destroy_world(void)
{
    sw_analysis_cache_destroy(world.analysis_cache);
    sw_codemap_destroy(world.map);
}

static struct sw_regs registers_at(const struct place *place)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, 0x1000 + n);
    sw_regs_set(&regs, SW_X64_RIP, START + place->offset);
    sw_regs_set(&regs, SW_X64_RSP, CFA - place->below);
    sw_regs_set(&regs, SW_X64_RBP, place->is_framed ? CFA - 16 : CALLERS_CFA - 16);
    return regs;
}

static void see(const struct sw_walker *walker, const struct place *place, struct twice *seen)
{
    const struct sw_regs regs = registers_at(place);
    world.reads = 0;
    twice_walk(walker, &regs, true, seen);
}

/* What walks without a cache see: three frames. */
static void see_plainly(const struct place *place, struct twice *seen)
{
    struct sw_walker walker = world.walker;
    walker.cache = NULL;
    see(&walker, place, seen);
    assert_int_equal(seen->count, 3);
    assert_int_equal(seen->stop, SW_STOP_ROOT_ZERO);
}

static struct sw_cache *new_cache(struct sw_walker *walker, uint64_t code_begin, uint64_t code_end)
{
    struct sw_cache *cache;
    assert_int_equal(sw_cache_create(NULL, 64, &cache), SW_OK);
    *walker = world.walker;
    walker->cache = cache;
    walker->code = (struct sw_window){ code_begin, code_end, world.jit.heap + (code_begin - HEAP) };
    return cache;
}

/* Then the pc of `row` is new, and the others on the stack are not. */
static void visit(const struct sw_walker *walker, const struct place *place)
{
    struct twice seen, plain;
    see_plainly(place, &plain);
    for (int i = 0; i < 2; i++) {
        see(walker, place, &seen);
        twice_same(&plain, &seen);
    }
}

static void a_pc_is_right_whatever_was_met_before(void **state)
{
    const struct place *row = *state;
    struct twice plain, seen;
    make_world();
    see_plainly(row, &plain);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct sw_walker walker;
        struct sw_cache *cache = new_cache(&walker, HEAP, HEAP + sizeof world.jit.heap);
        const struct sw_regs regs = registers_at(row);
        visit(&walker, &places[i]);
        if (row->is_body) {
            world.reads = 0;
            see(&walker, row, &seen);
            twice_same(&plain, &seen);
            assert_int_equal(world.reads == 0, places[i].is_body);
        }
        twice_addresses(&walker, &regs, true, &plain);
        see(&walker, row, &seen);
        twice_same(&plain, &seen);
        sw_cache_destroy(cache);
    }
    destroy_world();
}

/* Addresses of a pc that no walk has met: nothing is read, and nothing is stored. */
static void addresses_of_a_new_pc_read_nothing(void **state)
{
    static struct sw_scratch scratch;
    const struct sw_regs regs = registers_at(&places[5]);
    struct sw_walker walker;
    uint64_t pcs[4];
    enum sw_stop stop;
    (void)state;
    make_world();
    struct sw_cache *cache = new_cache(&walker, HEAP, HEAP + sizeof world.jit.heap);
    visit(&walker, &places[4]);
    const uint64_t stored = sw_cache_get_counts(cache).stored;
    world.reads = 0;
    assert_int_equal(sw_walk_addresses(&walker, &scratch, &regs, true, pcs, 4, &stop), 3);
    assert_int_equal(stop, SW_STOP_ROOT_ZERO);
    assert_int_equal(pcs[0], START + places[5].offset);
    assert_int_equal(world.reads, 0);
    assert_int_equal(sw_cache_get_counts(cache).stored, stored);
    sw_cache_destroy(cache);
    destroy_world();
}

/* The code that may be loaded ends in front of the pc, in the middle of its instruction, or begins behind it. */
static void code_that_may_not_be_loaded_is_not(void **state)
{
    static const struct {
        uint64_t begin, end;
    } windows[] = { { HEAP, START + 0x0b }, { HEAP, START + 0x0d }, { START + 0x0c, HEAP + 0x200 }, { HEAP, HEAP } };
    struct twice plain, seen;
    (void)state;
    make_world();
    see_plainly(&places[5], &plain);
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct sw_walker walker;
        struct sw_cache *cache = new_cache(&walker, HEAP, HEAP + sizeof world.jit.heap);
        visit(&walker, &places[4]);
        walker.code =
            (struct sw_window){ windows[i].begin, windows[i].end, world.jit.heap + (windows[i].begin - HEAP) };
        see(&walker, &places[5], &seen);
        twice_same(&plain, &seen);
        assert_true(world.reads != 0);
        sw_cache_destroy(cache);
    }
    destroy_world();
}

/* Code goes, and other code comes in its place: what was known of its body does not hold. */
static void a_body_goes_with_its_code(void **state)
{
    struct twice plain, seen;
    struct sw_walker walker;
    (void)state;
    make_world();
    struct sw_cache *cache = new_cache(&walker, HEAP, HEAP + sizeof world.jit.heap);
    visit(&walker, &places[4]);
    assert_int_equal(sw_codemap_remove(world.map, START), SW_OK);
    assert_int_equal(sw_codemap_add(world.map, &method), SW_OK);
    see_plainly(&places[5], &plain);
    see(&walker, &places[5], &seen);
    twice_same(&plain, &seen);
    assert_true(world.reads != 0);
    struct sw_range longer = method;
    longer.end += 8;
    assert_int_equal(sw_codemap_remove(world.map, START), SW_OK);
    assert_int_equal(sw_codemap_add(world.map, &longer), SW_OK);
    see_plainly(&places[5], &plain);
    see(&walker, &places[5], &seen);
    twice_same(&plain, &seen);
    sw_cache_destroy(cache);
    destroy_world();
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(places) + 3];
    size_t n = 0;
    ADD_ROWS(tests, n, places, a_pc_is_right_whatever_was_met_before);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(addresses_of_a_new_pc_read_nothing);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(code_that_may_not_be_loaded_is_not);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_body_goes_with_its_code);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
