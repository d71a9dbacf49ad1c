/*
 * Code that no file describes, registered with its compiler's own call frame information or with one fixed frame: it is
 * walked by that alone, on both machines.
 */
#include "../support/bytes.h"
#include "rows.h"

#include <snapwalk/jit.h>
#include <snapwalk/names.h>
#include <snapwalk/walk.h>

#include <stdlib.h>
#include <string.h>

#include "../support/target.h" /* last: its names are short */

enum { BEGIN = 0x40000000, END = BEGIN + 0x100, TABLES = 0x41000000, STACK = 0x700000, CALLER = 0x50000 };
enum { FRAME = 0x48, SAVED = 0x7b0b0b, RECORD = 0x7f0f0f, ELSEWHERE = 0x40 };

static struct sw_scratch scratch;

/* Code with a call in front of CALLER, on either machine. */
static void put_caller(enum sw_machine machine)
{
    static const uint8_t x64[16] = { 0x90, 0x90, 0x90, 0xe8 }, arm64[16] = { 0, 0, 0, 0, 0, 0, 0, 0x94 };
    put_code(CALLER - 8, machine == SW_MACHINE_ARM64 ? arm64 : x64, 16, SW_KIND_JIT, SW_UNWIND_AUTO);
}

/* From pc in the code to its caller, by tables only. Returns  The caller's registers. */
static struct sw_regs caller_of(enum sw_machine machine, uint64_t pc, const struct sw_regs *regs, bool exact)
{
    struct sw_walk walk;
    struct sw_regs start = *regs;
    sw_regs_set(&start, sw_regs_pc_number(machine), pc);
    sw_sim_walker(sim)->images = images;
    sw_sim_walker(sim)->flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &start, exact);
    assert_true(sw_walk_next(&walk));
    assert_true(sw_walk_next(&walk));
    assert_int_equal(walk.frame.source, SW_SOURCE_CFI);
    return walk.frame.regs;
}

static void assert_caller(const struct sw_regs *caller, uint64_t sp)
{
    assert_int_equal(sw_regs_pc(caller), CALLER);
    assert_int_equal(sw_regs_sp(caller), sp);
}

/* ---- fixed frames ---- */

/* The frame's words, by their distance from the base register's value. */
static const struct row {
    const char *name;
    enum sw_machine machine;
    unsigned base;
    uint32_t size;
    struct sw_saved saved[3];
    size_t saved_count;
    uint32_t ra_at;
    uint64_t lost;
} rows[] = {
    { "x64_by_sp", SW_MACHINE_X64, SW_X64_RSP, FRAME, { { SW_X64_RBX, 0x10 } }, 1, FRAME - 8, 0 },
    { "x64_by_sp_next_to_the_return_address",
      SW_MACHINE_X64,
      SW_X64_RSP,
      FRAME,
      { { SW_X64_R15, FRAME - 16 }, { SW_X64_RBP, 0 } },
      2,
      FRAME - 8,
      1 << SW_X64_R12 },
    { "x64_without_a_frame", SW_MACHINE_X64, SW_X64_RSP, 8, { { 0, 0 } }, 0, 0, 0 },
    { "x64_by_rbp", SW_MACHINE_X64, SW_X64_RBP, 16, { { SW_X64_RBP, 0 } }, 1, 8, 1 << SW_X64_RBX | 1 << SW_X64_R14 },
    { "arm64_by_sp",
      SW_MACHINE_ARM64,
      SW_ARM64_SP,
      FRAME + 8,
      { { SW_ARM64_FP, 0 }, { SW_ARM64_LR, 8 }, { SW_ARM64_X28, FRAME } },
      3,
      8,
      1 << SW_ARM64_X19 },
    { "arm64_by_fp", SW_MACHINE_ARM64, SW_ARM64_FP, 32, { { SW_ARM64_FP, 0 }, { SW_ARM64_LR, 8 } }, 2, 8, 0 },
    { "arm64_leaf", SW_MACHINE_ARM64, SW_ARM64_SP, 16, { { SW_ARM64_X19, 8 } }, 1, UINT32_MAX, 0 },
};

static struct sw_fixed_frame frame_of(const struct row *row)
{
    return (struct sw_fixed_frame){ row->machine,     BEGIN,    END, row->base, row->size, row->saved,
                                    row->saved_count, row->lost };
}

static uint64_t saved_value(const struct row *row, unsigned reg, uint64_t otherwise)
{
    for (size_t i = 0; i < row->saved_count; i++)
        if (row->saved[i].reg == reg)
            return SAVED + row->saved[i].at;
    return otherwise;
}

static void caller_has_what_was_saved(const struct row *row, const struct sw_regs *regs, const struct sw_regs *caller)
{
    const uint64_t nonvolatile = sw_regs_nonvolatile(row->machine);
    for (unsigned n = 0; n < sw_regs_count(row->machine); n++) {
        if (!(nonvolatile >> n & 1))
            continue;
        assert_int_equal(sw_regs_has(caller, n), !(row->lost >> n & 1));
        if (sw_regs_has(caller, n))
            assert_int_equal(caller->r[n], saved_value(row, n, regs->r[n]));
    }
}

static void fixed_frame_leads_to_the_caller(void **state)
{
    const struct row *row = *state;
    uint64_t words[(FRAME + 8) / 8 + 1] = { 0 };
    struct sw_regs regs = garbage_regs(row->machine);
    const uint64_t base = STACK + (row->base == sw_regs_sp_number(row->machine) ? 0 : ELSEWHERE);
    const struct sw_fixed_frame frame = frame_of(row);
    if (row->machine == SW_MACHINE_ARM64)
        set_up_arm64(state);
    else
        set_up_x64(state);
    put_caller(row->machine);
    assert_int_equal(sw_images_add_frame(images, "jit", &frame), SW_OK);
    for (size_t i = 0; i < row->saved_count; i++)
        words[row->saved[i].at / 8] = SAVED + row->saved[i].at;
    if (row->ra_at != UINT32_MAX)
        words[row->ra_at / 8] = CALLER;
    else
        sw_regs_set(&regs, SW_ARM64_LR, CALLER);
    assert_int_equal(sw_sim_words(sim, base, words, COUNT_OF(words)), SW_OK);
    sw_regs_set(&regs, sw_regs_sp_number(row->machine), STACK);
    sw_regs_set(&regs, row->base, base);
    for (uint64_t pc = BEGIN; pc < END; pc += 4) {
        const struct sw_regs caller = caller_of(row->machine, pc, &regs, true);
        assert_caller(&caller, base + row->size);
        caller_has_what_was_saved(row, &regs, &caller);
    }
    tear_down_target(state);
}

static void frames_that_cannot_be_are_refused(void **state)
{
    const struct sw_fixed_frame good = frame_of(&rows[0]), arm = frame_of(&rows[4]);
    const struct sw_saved outside = { SW_X64_RBX, FRAME }, on_the_return_address = { SW_X64_RBX, FRAME - 8 };
    const struct sw_saved odd = { SW_X64_RBX, 4 }, sp = { SW_X64_RSP, 0 }, pc = { SW_X64_RIP, 0 }, none = { 17, 0 };
    const struct sw_saved *const wrong[] = { &outside, &on_the_return_address, &odd, &sp, &pc, &none, NULL };
    struct sw_fixed_frame bad[9];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = good;
    bad[0].machine = SW_MACHINE_NONE;
    bad[1].end = BEGIN;
    bad[2].size = 0;
    bad[3].size = FRAME + 4;
    bad[4].size = SW_FIXED_FRAME_MAX + 8u;
    bad[5].base = SW_X64_RIP;
    bad[6].saved_count = SW_REGS_MAX + 1;
    bad[7].lost = 1 << SW_X64_RSP;
    bad[8].lost = UINT64_C(1) << 63;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(sw_images_add_frame(images, "jit", &bad[i]), SW_E_ARGUMENT);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct sw_fixed_frame frame = good;
        frame.saved = wrong[i];
        assert_int_equal(sw_images_add_frame(images, "jit", &frame), SW_E_ARGUMENT);
    }
    assert_int_equal(sw_images_add_frame(NULL, "jit", &good), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_frame(images, NULL, &good), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_frame(images, "jit", NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_frame(images, "jit", &good), SW_OK);
    assert_int_equal(sw_images_add_frame(images, "jit", &arm), SW_E_OVERLAP);
}

/* All registers saved and as far away as may be: the longest records there can be. */
static void the_largest_frame_fits(void **state)
{
    struct sw_saved saved[SW_REGS_MAX];
    struct sw_regs regs = garbage_regs(SW_MACHINE_ARM64);
    const uint64_t top = STACK + SW_FIXED_FRAME_MAX;
    uint64_t words[SW_REGS_MAX];
    for (uint32_t n = 0; n < SW_ARM64_SP; n++) {
        saved[n] = (struct sw_saved){ n, 8 * n };
        words[n] = n == SW_ARM64_LR ? CALLER : SAVED + n;
    }
    const struct sw_fixed_frame frame = { SW_MACHINE_ARM64,   BEGIN, END,         SW_ARM64_SP,
                                          SW_FIXED_FRAME_MAX, saved, SW_ARM64_SP, 0 };
    (void)state;
    put_caller(SW_MACHINE_ARM64);
    assert_int_equal(sw_images_add_frame(images, "jit", &frame), SW_OK);
    assert_int_equal(sw_sim_words(sim, STACK, words, SW_ARM64_SP), SW_OK);
    sw_regs_set(&regs, SW_ARM64_SP, STACK);
    const struct sw_regs caller = caller_of(SW_MACHINE_ARM64, BEGIN + 8, &regs, false);
    assert_caller(&caller, top);
    assert_int_equal(caller.r[SW_ARM64_X19], SAVED + SW_ARM64_X19);
    assert_int_equal(caller.r[SW_ARM64_X28], SAVED + SW_ARM64_X28);
}

/* ---- call frame information ---- */

/* push rbx; sub rsp, 0x20; call; add rsp, 0x20; pop rbx; ret */
static const uint8_t code[16] = "\x53\x48\x83\xec\x20\xe8\xf6\x00\x00\x00\x48\x83\xc4\x20\x5b\xc3";

/* A CIE "zR" with addresses from where they stand, 4 bytes each, and an FDE of 16 bytes. At 0x1c from TABLES: BEGIN. */
static size_t put_records(uint8_t bytes[64])
{
    static const uint8_t cie[] = { 0x14, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
                                   1,    0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0 };
    static const uint8_t rules[] = { 0,    0x41, 0x0e, 16,  0x83, 2, /* behind the push */
                                     0x44, 0x0e, 48,                 /* behind sub */
                                     0x49, 0x0e, 16,                 /* behind add */
                                     0x41, 0x0e, 8,    0xc3 };       /* behind the pop */
    memset(bytes, 0, 64);
    memcpy(bytes, cie, sizeof cie);
    put_le(bytes + 24, 32, 4);
    put_le(bytes + 28, 28, 4);
    put_le(bytes + 32, (uint64_t)BEGIN - (TABLES + 32), 4);
    put_le(bytes + 36, sizeof code, 4);
    memcpy(bytes + 40, rules, sizeof rules);
    return 64; /* four bytes of zeros end it */
}

static struct sw_cfi_table table_of(uint8_t bytes[64])
{
    const size_t size = put_records(bytes);
    return (struct sw_cfi_table){ SW_MACHINE_X64, BEGIN, END, bytes, size, TABLES };
}

static void every_instruction_leads_to_the_caller(void **state)
{
    static const struct {
        unsigned offset, words;
    } places[] = { { 0, 0 }, { 1, 1 }, { 5, 5 }, { 10, 5 }, { 14, 1 }, { 15, 0 } };
    uint8_t bytes[64];
    const struct sw_cfi_table table = table_of(bytes);
    (void)state;
    put_caller(SW_MACHINE_X64);
    assert_int_equal(sw_images_add_cfi(images, "jit", &table), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, BEGIN, code, sizeof code), SW_OK);
    memset(bytes, 0xff, sizeof bytes); /* it has a copy */
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct sw_regs regs = garbage_regs(SW_MACHINE_X64);
        uint64_t words[8] = { 0 };
        const unsigned above = places[i].words;
        if (above)
            words[above - 1] = SAVED;
        words[above] = CALLER;
        const uint64_t stack = STACK + i * 0x1000;
        assert_int_equal(sw_sim_words(sim, stack, words, COUNT_OF(words)), SW_OK);
        sw_regs_set(&regs, SW_X64_RSP, stack);
        const struct sw_regs caller = caller_of(SW_MACHINE_X64, BEGIN + places[i].offset, &regs, true);
        assert_caller(&caller, stack + 8 * (above + 1));
        assert_int_equal(caller.r[SW_X64_RBX], above ? SAVED : regs.r[SW_X64_RBX]);
    }
}

static void it_is_an_image_from_begin_to_end(void **state)
{
    uint8_t bytes[64];
    const struct sw_cfi_table table = table_of(bytes);
    struct sw_image found;
    char name[32];
    (void)state;
    assert_int_equal(sw_images_add_cfi(images, "jit", &table), SW_OK);
    assert_int_equal(sw_images_find(images, BEGIN - 1, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find(images, END, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find(images, END - 1, &found), SW_OK);
    assert_true(found.begin == BEGIN && found.end == END && !found.is_pe && found.machine == SW_MACHINE_X64);
    assert_string_equal(found.path, "jit");
    assert_int_equal(sw_images_name(images, BEGIN, name, sizeof name, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_names_load(images), SW_OK);
    assert_int_equal(sw_names_find(images, BEGIN, name, sizeof name, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_add_cfi(images, "again", &table), SW_E_OVERLAP);
    assert_int_equal(sw_images_remove(images, BEGIN), SW_OK);
    assert_int_equal(sw_images_add_cfi(images, "again", &table), SW_OK);
}

static void wrong_tables_are_refused(void **state)
{
    uint8_t bytes[64];
    const struct sw_cfi_table good = table_of(bytes);
    struct sw_cfi_table bad[7];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        bad[i] = good;
    bad[0].machine = SW_MACHINE_NONE;
    bad[1].machine = (enum sw_machine)(SW_MACHINE_ARM64 + 1);
    bad[2].begin = END;
    bad[3].eh_frame = NULL;
    bad[4].size = 0;
    bad[5].size = SW_CFI_BYTES_MAX + 1u;
    bad[6].address = UINT64_MAX;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(sw_images_add_cfi(images, "jit", &bad[i]), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_cfi(NULL, "jit", &good), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_cfi(images, NULL, &good), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_cfi(images, "jit", NULL), SW_E_ARGUMENT);
    bytes[24] = 0; /* ends in front of the FDE */
    assert_int_equal(sw_images_add_cfi(images, "jit", &good), SW_E_MALFORMED);
    bytes[24] = 0xf0; /* an FDE that goes beyond the end */
    assert_int_equal(sw_images_add_cfi(images, "jit", &good), SW_E_MALFORMED);
}

/* ---- memory ---- */

static struct left {
    int gets;
    long held;
} left;

static void *get(void *arg, size_t size)
{
    struct left *now = arg;
    if (now->gets-- <= 0)
        return NULL;
    now->held++;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)size;
    ((struct left *)arg)->held--;
    free(block);
}

static void without_memory_it_says_so(void **state)
{
    const struct sw_alloc alloc = { get, put, &left };
    uint8_t bytes[64];
    const struct sw_cfi_table table = table_of(bytes);
    enum sw_status status = SW_E_NO_MEMORY;
    struct sw_images *own;
    unsigned refused = 0;
    (void)state;
    for (int gets = 0; status != SW_OK; gets++, refused++) {
        left = (struct left){ 100, 0 };
        assert_int_equal(sw_images_create(&alloc, &own), SW_OK);
        left.gets = gets;
        status = sw_images_add_cfi(own, "jit", &table);
        assert_true(status == SW_OK || status == SW_E_NO_MEMORY);
        sw_images_destroy(own);
        assert_int_equal(left.held, 0);
    }
    assert_in_range(refused, 4, 20); /* the entry, the bytes, the index, the set */
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(frames_that_cannot_be_are_refused, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(the_largest_frame_fits, set_up_arm64, tear_down_target),
        cmocka_unit_test_setup_teardown(every_instruction_leads_to_the_caller, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(it_is_an_image_from_begin_to_end, set_up_x64, tear_down_target),
        cmocka_unit_test_setup_teardown(wrong_tables_are_refused, set_up_x64, tear_down_target),
        cmocka_unit_test(without_memory_it_says_so),
    };
    struct CMUnitTest tests[COUNT_OF(rows) + COUNT_OF(single)];
    FILL_ROWS(tests, rows, fixed_frame_leads_to_the_caller);
    memcpy(tests + COUNT_OF(rows), single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
