/*
 * The simulation as users' tests see it: memory that is what was written last, threads that stand where they were put,
 * suspends that are counted. What needs a walk is in the tests of walker and contract.
 */
#include "rows.h"
#include <snapwalk/sim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "budget.h"

static int make(void **state)
{
    return sw_sim_create(NULL, SW_MACHINE_X64, (struct sw_sim **)state) != SW_OK;
}

static int unmake(void **state)
{
    sw_sim_destroy(*state);
    return 0;
}

static size_t read_at(struct sw_sim *sim, uint64_t address, void *to, size_t size)
{
    const struct sw_memory memory = sw_sim_memory(sim);
    return memory.read(memory.arg, address, to, size);
}

static struct sw_regs regs_at(uint64_t pc)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, pc + 0x1000);
    return regs;
}

static void bytes_read_back(void **state)
{
    struct sw_sim *sim = *state;
    uint8_t back[8] = { 0 };
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "abcdef", 6), SW_OK);
    assert_int_equal(read_at(sim, 0x1000, back, 6), 6);
    assert_memory_equal(back, "abcdef", 6);
    assert_int_equal(read_at(sim, 0x1003, back, 3), 3);
    assert_memory_equal(back, "def", 3);
}

static void words_are_little_endian(void **state)
{
    struct sw_sim *sim = *state;
    const uint64_t words[] = { UINT64_C(0x0807060504030201), UINT64_C(0x100f0e0d0c0b0a09) };
    uint8_t back[16];
    assert_int_equal(sw_sim_words(sim, 0x7000, words, 2), SW_OK);
    assert_int_equal(read_at(sim, 0x7000, back, 16), 16);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(back[i], i + 1);
}

static void a_read_stops_where_memory_ends(void **state)
{
    struct sw_sim *sim = *state;
    uint8_t back[8] = "........";
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "abcd", 4), SW_OK);
    assert_int_equal(read_at(sim, 0x1002, back, 8), 2);
    assert_memory_equal(back, "cd......", 8);
    assert_int_equal(read_at(sim, 0x0fff, back, 8), 0);
    assert_int_equal(read_at(sim, 0x1004, back, 1), 0);
    assert_int_equal(read_at(sim, UINT64_MAX, back, 8), 0);
    assert_int_equal(read_at(sim, 0, back, 8), 0);
    assert_memory_equal(back, "cd......", 8);
}

static void a_read_goes_on_through_pieces_that_touch(void **state)
{
    struct sw_sim *sim = *state;
    char back[9] = { 0 };
    assert_int_equal(sw_sim_bytes(sim, 0x1004, "efgh", 4), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "abcd", 4), SW_OK);
    assert_int_equal(read_at(sim, 0x1000, back, 8), 8);
    assert_string_equal(back, "abcdefgh");
}

static void the_last_addresses_can_be_memory(void **state)
{
    struct sw_sim *sim = *state;
    uint8_t back[16];
    assert_int_equal(sw_sim_bytes(sim, UINT64_MAX - 4, "abcd", 4), SW_OK);
    assert_int_equal(read_at(sim, UINT64_MAX - 4, back, 16), 4);
    assert_int_equal(sw_sim_bytes(sim, UINT64_MAX - 4, "abcde", 5), SW_E_WRAPS);
    assert_int_equal(sw_sim_bytes(sim, UINT64_MAX, "a", 1), SW_E_WRAPS);
}

/* What stands in [0x1000, 0x1010) after writing "0123456789abcdef" and then a second piece or an unmap over it. */
static const struct over {
    const char *name;
    uint64_t at;
    const char *bytes; /* null: unmap `size` */
    size_t size;
    const char *expected; /* '.': unreadable */
} overs[] = {
    { "write_over_all", 0x1000, "ABCDEFGHIJKLMNOP", 16, "ABCDEFGHIJKLMNOP" },
    { "write_over_more_than_all", 0x0ff8, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGH", 34, "IJKLMNOPQRSTUVWX" },
    { "write_over_begin", 0x0ffe, "ABCD", 4, "CD23456789abcdef" },
    { "write_over_end", 0x100e, "ABCD", 4, "0123456789abcdAB" },
    { "write_inside", 0x1006, "ABCD", 4, "012345ABCDabcdef" },
    { "write_one_byte_inside", 0x1001, "A", 1, "0A23456789abcdef" },
    { "write_at_exact_begin", 0x1000, "AB", 2, "AB23456789abcdef" },
    { "write_at_exact_end", 0x100e, "AB", 2, "0123456789abcdAB" },
    { "write_behind", 0x1010, "AB", 2, "0123456789abcdef" },
    { "unmap_all", 0x1000, NULL, 16, "................" },
    { "unmap_more_than_all", 0x0f00, NULL, 0x200, "................" },
    { "unmap_begin", 0x0f00, NULL, 0x103, "...3456789abcdef" },
    { "unmap_end", 0x100d, NULL, 0x1000, "0123456789abc..." },
    { "unmap_inside", 0x1004, NULL, 4, "0123....89abcdef" },
    { "unmap_nothing", 0x1004, NULL, 0, "0123456789abcdef" },
    { "unmap_elsewhere", 0x2000, NULL, 16, "0123456789abcdef" },
};

static void the_last_writer_wins(void **state)
{
    const struct over *row = *state;
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(&alloc, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "0123456789abcdef", 16), SW_OK);
    if (row->bytes)
        assert_int_equal(sw_sim_bytes(sim, row->at, row->bytes, row->size), SW_OK);
    else
        assert_int_equal(sw_sim_unmap(sim, row->at, row->size), SW_OK);
    for (uint64_t i = 0; i < 16; i++) {
        char byte = '.';
        assert_int_equal(read_at(sim, 0x1000 + i, &byte, 1), row->expected[i] != '.');
        assert_int_equal(byte, row->expected[i]);
    }
    sw_sim_destroy(sim);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(budget.bytes, 0);
}

/* Random writes and unmaps against a flat model of 256 bytes. */
static void memory_agrees_with_a_flat_model(void **state)
{
    struct sw_sim *sim = *state;
    uint8_t model[256] = { 0 };
    bool mapped[256] = { false };
    uint32_t seed = 12345;
    for (unsigned round = 0; round < 3000; round++) {
        uint8_t fill[64];
        seed = seed * 1664525u + 1013904223u;
        const size_t at = seed >> 8 & 0xff, room = 256 - at;
        const size_t size = 1 + (seed >> 16) % (room < sizeof fill ? room : sizeof fill);
        memset(fill, (int)(round & 0xff), sizeof fill);
        const bool write = (seed >> 28) != 0;
        assert_int_equal(write ? sw_sim_bytes(sim, 0x5000 + at, fill, size) : sw_sim_unmap(sim, 0x5000 + at, size),
                         SW_OK);
        for (size_t i = at; i < at + size; i++) {
            mapped[i] = write;
            model[i] = fill[0];
        }
        const size_t from = seed >> 20 & 0xff;
        size_t expected = 0;
        while (from + expected < 256 && mapped[from + expected])
            expected++;
        uint8_t back[256];
        assert_int_equal(read_at(sim, 0x5000 + from, back, 256), expected);
        assert_memory_equal(back, model + from, expected);
    }
}

static void bad_memory_is_refused(void **state)
{
    struct sw_sim *sim = *state;
    const uint64_t word = 1;
    assert_int_equal(sw_sim_bytes(NULL, 0x1000, "a", 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, NULL, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "a", 0), SW_E_EMPTY);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, NULL, 0), SW_E_EMPTY);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "a", SIZE_MAX), SW_E_WRAPS);
    assert_int_equal(sw_sim_words(NULL, 0x1000, &word, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_words(sim, 0x1000, NULL, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_words(sim, 0x1000, &word, 0), SW_E_EMPTY);
    assert_int_equal(sw_sim_words(sim, 0x1000, &word, SIZE_MAX / 8 + 1), SW_E_WRAPS);
    assert_int_equal(sw_sim_words(sim, UINT64_MAX - 3, &word, 1), SW_E_WRAPS);
    assert_int_equal(sw_sim_unmap(NULL, 0x1000, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_unmap(sim, UINT64_MAX, 2), SW_E_ARGUMENT);
}

static void a_range_is_in_the_code_map_with_analysis(void **state)
{
    struct sw_sim *sim = *state;
    struct sw_range range;
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1100, 42), SW_OK);
    assert_int_equal(sw_codemap_find(sw_sim_codemap(sim), 0x10ff, &range), SW_OK);
    assert_int_equal(range.begin, 0x1000);
    assert_int_equal(range.end, 0x1100);
    assert_int_equal(range.id, 42);
    assert_int_equal(range.kind, SW_KIND_JIT);
    assert_int_equal(range.unwind, SW_UNWIND_ANALYSIS);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x10ff, 0x1200, 43), SW_E_OVERLAP);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x2000, 43), SW_E_EMPTY);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x1fff, 43), SW_E_WRAPS);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x2100, 0), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_range(sim, (enum sw_kind)(SW_KIND_NATIVE + 1), 0x2000, 0x2100, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_range(sim, (enum sw_kind)(256 + SW_KIND_JIT), 0x2000, 0x2100, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_range(sim, SW_KIND_NONE, 0x2000, 0x2100, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_range(NULL, SW_KIND_JIT, 0x2000, 0x2100, 1), SW_E_ARGUMENT);
}

static void a_thread_is_in_the_table_and_can_be_moved(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_suspender *suspender = sw_sim_engine(sim)->suspender;
    const struct sw_regs first = regs_at(0x1000), second = regs_at(0x2000);
    struct sw_thread thread;
    struct sw_regs seen;
    assert_int_equal(sw_sim_thread(sim, 7, &first), SW_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(sim), 7, &thread), SW_OK);
    assert_int_equal(thread.os_id, 7);
    assert_int_equal(thread.mode, SW_MODE_UNKNOWN);
    assert_int_equal(suspender->suspend(suspender->arg, 7, &seen), SW_OK);
    assert_int_equal(sw_regs_pc(&seen), 0x1000);
    assert_int_equal(sw_sim_thread(sim, 7, &second), SW_OK);
    assert_int_equal(suspender->suspend(suspender->arg, 7, &seen), SW_OK);
    assert_int_equal(sw_regs_pc(&seen), 0x2000);
    assert_int_equal(sw_threads_list(sw_sim_threads(sim), NULL, 0), 1);
}

static void a_removed_thread_can_come_back(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_regs first = regs_at(0x1000), second = regs_at(0x2000);
    assert_int_equal(sw_sim_thread(sim, 7, &first), SW_OK);
    assert_int_equal(sw_threads_remove(sw_sim_threads(sim), 7), SW_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(sim), 7, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_sim_thread(sim, 7, &second), SW_OK);
    assert_int_equal(sw_threads_find(sw_sim_threads(sim), 7, NULL), SW_OK);
}

static void bad_threads_are_refused(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_regs good = regs_at(0x1000), arm64 = { .machine = SW_MACHINE_ARM64 }, none = { 0 };
    assert_int_equal(sw_sim_thread(NULL, 1, &good), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_thread(sim, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_thread(sim, 0, &good), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_thread(sim, 1, &arm64), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_thread(sim, 1, &none), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_list(sw_sim_threads(sim), NULL, 0), 0);
}

static void suspends_and_resumes_are_counted_by_thread(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_suspender *s = sw_sim_engine(sim)->suspender;
    const struct sw_regs at = regs_at(0x1000);
    struct sw_regs seen;
    assert_int_equal(sw_sim_thread(sim, 1, &at), SW_OK);
    assert_int_equal(sw_sim_thread(sim, 2, &at), SW_OK);
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_OK);
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_OK);
    assert_int_equal(s->resume(s->arg, 1), SW_OK);
    struct sw_sim_counts counts = sw_sim_get_counts(sim, 1);
    assert_int_equal(counts.suspended, 2);
    assert_int_equal(counts.resumed, 1);
    assert_int_equal(counts.outstanding, 1);
    assert_int_equal(s->resume(s->arg, 1), SW_OK);
    assert_int_equal(s->resume(s->arg, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_get_counts(sim, 1).outstanding, 0);
    counts = sw_sim_get_counts(sim, 2);
    assert_int_equal(counts.suspended + counts.resumed + counts.outstanding, 0);
    counts = sw_sim_get_counts(sim, 99);
    assert_int_equal(counts.suspended + counts.resumed + counts.outstanding, 0);
    counts = sw_sim_get_counts(NULL, 1);
    assert_int_equal(counts.suspended + counts.resumed + counts.outstanding, 0);
    assert_int_equal(s->suspend(s->arg, 99, &seen), SW_E_GONE);
    assert_int_equal(s->resume(s->arg, 99), SW_E_ARGUMENT);
}

static void suspends_fail_as_asked_and_are_not_counted(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_suspender *s = sw_sim_engine(sim)->suspender;
    const struct sw_regs at = regs_at(0x1000);
    struct sw_regs seen;
    assert_int_equal(sw_sim_thread(sim, 1, &at), SW_OK);
    sw_sim_fail_suspend(sim, SW_E_PERMISSION);
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_E_PERMISSION);
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_E_PERMISSION);
    assert_int_equal(sw_sim_get_counts(sim, 1).suspended, 0);
    sw_sim_fail_suspend(sim, SW_OK);
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_OK);
    assert_int_equal(sw_sim_get_counts(sim, 1).suspended, 1);
}

static void the_caller_is_whom_run_as_names(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_suspender *s = sw_sim_engine(sim)->suspender;
    const struct sw_regs at = regs_at(0x1234);
    struct sw_regs seen;
    assert_int_equal(sw_sim_thread(sim, 3, &at), SW_OK);
    assert_int_equal(s->current(s->arg), 0);
    assert_int_equal(s->capture(s->arg, &seen), SW_E_UNSUPPORTED);
    sw_sim_run_as(sim, 3);
    assert_int_equal(s->current(s->arg), 3);
    assert_int_equal(s->capture(s->arg, &seen), SW_OK);
    assert_int_equal(sw_regs_pc(&seen), 0x1234);
    sw_sim_run_as(sim, 0);
    assert_int_equal(s->current(s->arg), 0);
}

static void a_new_simulation_is_ready(void **state)
{
    struct sw_sim *sim = *state;
    const struct sw_engine *engine = sw_sim_engine(sim);
    assert_ptr_equal(engine->walker, sw_sim_walker(sim));
    assert_ptr_equal(engine->threads, sw_sim_threads(sim));
    assert_int_equal(engine->flavour, SW_FLAVOUR_DOCUMENTED);
    assert_int_equal(engine->runtime, SW_RUNTIME_READY);
    assert_int_equal(engine->event_mask, COR_PRF_ENABLE_STACK_SNAPSHOT);
    assert_int_equal(engine->walker->machine, SW_MACHINE_X64);
    assert_ptr_equal(engine->walker->codemap, sw_sim_codemap(sim));
    assert_int_equal(sw_codemap_count(sw_sim_codemap(sim)), 0);
    assert_int_equal(sw_threads_list(engine->threads, NULL, 0), 0);
}

static void both_machines_can_be_simulated(void **state)
{
    (void)state;
    struct sw_sim *sim;
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 }, seen;
    sw_regs_set(&regs, SW_ARM64_PC, 0x1234);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &sim), SW_OK);
    assert_int_equal(sw_sim_walker(sim)->machine, SW_MACHINE_ARM64);
    assert_int_equal(sw_sim_thread(sim, 1, &regs), SW_OK);
    const struct sw_suspender *s = sw_sim_engine(sim)->suspender;
    assert_int_equal(s->suspend(s->arg, 1, &seen), SW_OK);
    assert_int_equal(sw_regs_pc(&seen), 0x1234);
    sw_sim_destroy(sim);
}

static void creation_refuses_bad_arguments(void **state)
{
    (void)state;
    struct sw_sim *sim = NULL;
    const struct sw_alloc half = { .get = budget_get };
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_NONE, &sim), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_create(NULL, (enum sw_machine)9, &sim), SW_E_ARGUMENT);
    assert_int_equal(sw_sim_create(&half, SW_MACHINE_X64, &sim), SW_E_ARGUMENT);
    assert_null(sim);
    sw_sim_destroy(NULL);
    sw_sim_run_as(NULL, 1);
    sw_sim_fail_suspend(NULL, SW_E_OS);
    assert_null(sw_sim_engine(NULL));
    assert_null(sw_sim_walker(NULL));
    assert_null(sw_sim_codemap(NULL));
    assert_null(sw_sim_threads(NULL));
    assert_null(sw_sim_memory(NULL).read);
}

/* Everything once, with an allocator that gives up after n blocks, for every n: no crash, nothing leaks. */
static void running_out_of_memory_is_a_status(void **state)
{
    (void)state;
    const struct sw_regs at = regs_at(0x1000);
    bool complete = false;
    size_t limit = 0;
    for (; !complete && limit < 200; limit++) {
        struct budget budget = { .left = limit };
        const struct sw_alloc alloc = { budget_get, budget_put, &budget };
        struct sw_sim *sim = NULL;
        enum sw_status status = sw_sim_create(&alloc, SW_MACHINE_X64, &sim);
        if (status == SW_OK)
            status = sw_sim_bytes(sim, 0x1000, "0123456789abcdef", 16);
        if (status == SW_OK)
            status = sw_sim_bytes(sim, 0x1004, "ABCD", 4);
        if (status == SW_OK)
            status = sw_sim_unmap(sim, 0x100a, 2);
        if (status == SW_OK)
            status = sw_sim_thread(sim, 1, &at);
        if (status == SW_OK)
            status = sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1010, 1);
        complete = status == SW_OK;
        if (!complete)
            assert_int_equal(status, SW_E_NO_MEMORY);
        sw_sim_destroy(sim);
        assert_int_equal(budget.blocks, 0);
        assert_int_equal(budget.bytes, 0);
    }
    assert_true(complete);
    assert_true(limit > 4);
}

/* Tables grow by as much as they hold, so that a thousand of each take few blocks; all of them come back. */
static void tables_that_grow_take_few_blocks(void **state)
{
    enum { COUNT = 1000 };
    (void)state;
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    const struct sw_regs at = regs_at(0x1000);
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(&alloc, SW_MACHINE_X64, &sim), SW_OK);
    const size_t before = budget.left;
    for (uint64_t i = 1; i <= COUNT; i++)
        assert_int_equal(sw_sim_bytes(sim, 0x1000 * i, "x", 1), SW_OK);
    assert_in_range(before - budget.left, COUNT, COUNT + 20);
    const size_t with_pieces = budget.left;
    for (uint64_t i = 1; i <= COUNT; i++)
        assert_int_equal(sw_sim_thread(sim, i, &at), SW_OK);
    assert_in_range(with_pieces - budget.left, 1, 20 + COUNT / 64 + 1); /* the thread table takes one for each 64 */
    sw_sim_destroy(sim);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(budget.bytes, 0);
}

static void *nothing_huge(void *arg, size_t size)
{
    return size > 1 << 20 ? NULL : budget_get(arg, size);
}

/* As many words as bytes can be counted; one more cannot be. */
static void more_words_than_there_are_addresses_wrap(void **state)
{
    (void)state;
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { nothing_huge, budget_put, &budget };
    const uint64_t word = 0;
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(&alloc, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_words(sim, 0, &word, SIZE_MAX / 8), SW_E_NO_MEMORY);
    assert_int_equal(sw_sim_words(sim, 0, &word, SIZE_MAX / 8 + 1), SW_E_WRAPS);
    sw_sim_destroy(sim);
    assert_int_equal(budget.blocks, 0);
}

/* A split that cannot be had leaves memory as it was. */
static void a_refused_write_changes_nothing(void **state)
{
    (void)state;
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_sim *sim;
    char back[17] = { 0 };
    assert_int_equal(sw_sim_create(&alloc, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, 0x1000, "0123456789abcdef", 16), SW_OK);
    for (size_t left = 0; left < 2; left++) {
        budget.left = left;
        assert_int_equal(sw_sim_bytes(sim, 0x1004, "ABCD", 4), SW_E_NO_MEMORY);
        assert_int_equal(read_at(sim, 0x1000, back, 16), 16);
        assert_string_equal(back, "0123456789abcdef");
    }
    sw_sim_destroy(sim);
    assert_int_equal(budget.blocks, 0);
}

static HRESULT STDMETHODCALLTYPE no_frame(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size,
                                          BYTE *context, void *calls)
{
    (void)function, (void)ip, (void)info, (void)size, (void)context;
    ++*(unsigned *)calls;
    return S_OK;
}

/* Nothing of a scratch is looked at before a walk has been started in it: here it is full of wild pointers. */
static void snapshots_need_pc_and_sp(enum sw_machine machine, enum sw_flavour flavour)
{
    static struct sw_scratch scratch;
    struct sw_regs regs = { .machine = machine };
    struct sw_replay *replay;
    struct sw_cache *cache;
    struct sw_sim *sim;
    unsigned calls = 0;
    memset(&scratch, 0xa5, sizeof scratch);
    memset(regs.r, 0xa5, sizeof regs.r);
    assert_int_equal(sw_sim_create(NULL, machine, &sim), SW_OK);
    assert_int_equal(sw_replay_create(NULL, 100, &replay), SW_OK);
    assert_int_equal(sw_cache_create(NULL, 100, &cache), SW_OK);
    sw_sim_walker(sim)->replay = replay;
    sw_sim_walker(sim)->cache = cache;
    sw_sim_engine(sim)->flavour = flavour;
    assert_int_equal(sw_sim_thread(sim, 1, &regs), SW_OK);
    for (uint64_t caller = 0; caller < 2; caller++) {
        sw_sim_run_as(sim, caller);
        assert_int_not_equal(sw_snapshot(sw_sim_engine(sim), &scratch, 1, no_frame, 0, &calls, NULL, 0), S_OK);
    }
    assert_int_equal(calls, 0);
    sw_sim_destroy(sim);
    sw_cache_destroy(cache);
    sw_replay_destroy(replay);
}

static void a_thread_without_pc_and_sp_has_no_frames(void **state)
{
    (void)state;
    for (int flavour = 0; flavour < SW_FLAVOUR_COUNT; flavour++) {
        snapshots_need_pc_and_sp(SW_MACHINE_X64, (enum sw_flavour)flavour);
        snapshots_need_pc_and_sp(SW_MACHINE_ARM64, (enum sw_flavour)flavour);
    }
}

int main(void)
{
#define WITH_SIM(function) cmocka_unit_test_setup_teardown(function, make, unmake)
    const struct CMUnitTest single[] = {
        WITH_SIM(bytes_read_back),
        WITH_SIM(words_are_little_endian),
        WITH_SIM(a_read_stops_where_memory_ends),
        WITH_SIM(a_read_goes_on_through_pieces_that_touch),
        WITH_SIM(the_last_addresses_can_be_memory),
        WITH_SIM(memory_agrees_with_a_flat_model),
        WITH_SIM(bad_memory_is_refused),
        WITH_SIM(a_range_is_in_the_code_map_with_analysis),
        WITH_SIM(a_thread_is_in_the_table_and_can_be_moved),
        WITH_SIM(a_removed_thread_can_come_back),
        WITH_SIM(bad_threads_are_refused),
        WITH_SIM(suspends_and_resumes_are_counted_by_thread),
        WITH_SIM(suspends_fail_as_asked_and_are_not_counted),
        WITH_SIM(the_caller_is_whom_run_as_names),
        WITH_SIM(a_new_simulation_is_ready),
        cmocka_unit_test(a_thread_without_pc_and_sp_has_no_frames),
        cmocka_unit_test(both_machines_can_be_simulated),
        cmocka_unit_test(creation_refuses_bad_arguments),
        cmocka_unit_test(running_out_of_memory_is_a_status),
        cmocka_unit_test(tables_that_grow_take_few_blocks),
        cmocka_unit_test(more_words_than_there_are_addresses_wrap),
        cmocka_unit_test(a_refused_write_changes_nothing),
    };
    struct CMUnitTest tests[COUNT_OF(overs) + COUNT_OF(single)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(overs); i++)
        tests[count++] =
            (struct CMUnitTest){ overs[i].name, the_last_writer_wins, NULL, NULL, (void *)(uintptr_t)&overs[i] };
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("sim", tests, count, NULL, NULL);
}
