/*
 * ARM64 signal frames as kernels of all ages leave them, simulated: a vdso whose trampoline has no table, one whose
 * table describes it by the frame record that holds the interrupted lr in the place of pc, one that is no image at all.
 * Every register of the interrupted code must come back, that of a leaf and that of a prologue, on another stack too.
 */
#include "../support/bytes.h"
#include "rows.h"

#include <snapwalk/image.h>
#include <snapwalk/sim.h>

#include <string.h>

enum {
    VDSO = 0x500000,
    FILE_BYTES = 0x300,
    HEADER_AT = 0x100,
    FRAME_AT = 0x110,
    NOP_AT = 0x200,
    TRAMPOLINE = VDSO + 0x204
};
enum { CODE = 0x400000, STACK = 0x700000, ALTERNATE = 0x900000, LR = 0x600010 };
enum { INFO = 128, CONTEXT_REGS = INFO + 184, RECORD = INFO + 4560, FRAME_BYTES = RECORD + 16 };

/* The "mysterious nop", for unwinders that look a return address up one byte in front; mov x8, #139; svc #0 */
static const uint32_t code[] = { 0xd503201f, 0xd2801168, 0xd4000001 };

/* def_cfa x29, 0; x29 at CFA; x30 at CFA + 8 */
static const char by_record[] = "\x0c\x1d\x00\x9d\x00\x11\x1e\x7f";

static const struct row {
    const char *name;
    bool has_image, has_table;
    uint64_t pc;
    bool exact;
    uint64_t sp; /* of the interrupted code; the frame lies on ALTERNATE, or below on the same stack */
    uint64_t frame;
} rows[] = {
    { "without_an_image", false, false, TRAMPOLINE, false, STACK + 0x2000, STACK },
    { "without_a_table", true, false, TRAMPOLINE, false, STACK + 0x2000, STACK },
    { "with_a_table_that_goes_by_the_record", true, true, TRAMPOLINE, false, STACK + 0x2000, STACK },
    { "with_a_table_stopped_in_the_trampoline", true, true, TRAMPOLINE, true, STACK + 0x2000, STACK },
    { "with_a_table_stopped_at_the_system_call", true, true, TRAMPOLINE + 4, true, STACK + 0x2000, STACK },
    { "without_a_table_stopped_at_the_system_call", true, false, TRAMPOLINE + 4, true, STACK + 0x2000, STACK },
    { "from_an_alternate_stack_above", true, true, TRAMPOLINE, false, STACK, ALTERNATE },
    { "without_an_image_from_an_alternate_stack_above", false, false, TRAMPOLINE, false, STACK, ALTERNATE },
};

static void put_segment(uint8_t *to, uint32_t type, uint32_t flags, uint64_t at, uint64_t size)
{
    put_le(to, type, 4);
    put_le(to + 4, flags, 4);
    for (unsigned i = 0; i < 3; i++)
        put_le(to + 8 + 8 * i, at, 8);
    put_le(to + 32, size, 8);
    put_le(to + 40, size, 8);
    put_le(to + 48, 1, 8);
}

/* One CIE ("zRS", code 4, data -8, x30) and one FDE over the nop and the trampoline. */
static void put_frame(uint8_t *to)
{
    static const uint8_t cie[] = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 'S', 0, 4, 0x78, 30, 1, 0x1b, 0, 0 };
    uint8_t *fde = to + sizeof cie;
    memcpy(to, cie, sizeof cie);
    put_le(fde, 13 + sizeof by_record, 4);
    put_le(fde + 4, sizeof cie + 4, 4);
    put_le(fde + 8, (uint64_t)(NOP_AT - (FRAME_AT + (int)sizeof cie + 8)), 4);
    put_le(fde + 12, sizeof code, 4);
    memcpy(fde + 17, by_record, sizeof by_record - 1);
}

static void make_vdso(uint8_t *file, bool has_table)
{
    static const uint8_t ident[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
    static const uint8_t header[] = { 1, 0x1b, 0xff, 0xff, FRAME_AT - HEADER_AT - 4, 0, 0, 0 };
    memset(file, 0, FILE_BYTES);
    memcpy(file, ident, sizeof ident);
    put_le(file + 16, 3, 2);   /* shared */
    put_le(file + 18, 183, 2); /* aarch64 */
    put_le(file + 20, 1, 4);
    put_le(file + 32, 64, 8); /* program headers */
    put_le(file + 52, 64, 2);
    put_le(file + 54, 56, 2);
    put_le(file + 56, has_table ? 2 : 1, 2);
    put_le(file + 58, 64, 2);
    put_segment(file + 64, 1, 5, 0, FILE_BYTES);
    put_segment(file + 120, 0x6474e550, 4, HEADER_AT, sizeof header);
    memcpy(file + HEADER_AT, header, sizeof header);
    put_frame(file + FRAME_AT);
    memcpy(file + NOP_AT, code, sizeof code);
}

static struct sw_regs interrupted_at(const struct row *row)
{
    struct sw_regs regs = { .machine = SW_MACHINE_ARM64 };
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&regs, SW_ARM64_LR, LR);
    sw_regs_set(&regs, SW_ARM64_SP, row->sp);
    sw_regs_set(&regs, SW_ARM64_PC, CODE);
    return regs;
}

static void put_signal_frame(struct sw_sim *sim, const struct row *row, const struct sw_regs *regs)
{
    uint64_t words[FRAME_BYTES / 8] = { 0 };
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        words[CONTEXT_REGS / 8 + n] = regs->r[n];
    words[RECORD / 8] = regs->r[SW_ARM64_FP];
    words[RECORD / 8 + 1] = regs->r[SW_ARM64_LR];
    assert_int_equal(sw_sim_words(sim, row->frame, words, COUNT_OF(words)), SW_OK);
}

static void interrupted_registers_come_back(void **state)
{
    static struct sw_scratch scratch;
    const struct row *row = *state;
    const struct sw_regs wanted = interrupted_at(row);
    struct sw_regs start = { .machine = SW_MACHINE_ARM64 };
    struct sw_images *images = NULL;
    struct sw_sim *sim;
    struct sw_walk walk;
    uint8_t vdso[FILE_BYTES];
    make_vdso(vdso, row->has_table);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &sim), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, VDSO, vdso, sizeof vdso), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, CODE, "\xc0\x03\x5f\xd6", 4), SW_OK); /* ret */
    put_signal_frame(sim, row, &wanted);
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    const struct sw_memory memory = sw_sim_memory(sim);
    if (row->has_image)
        assert_int_equal(sw_images_add_memory(images, "[vdso]", VDSO, FILE_BYTES, &memory), SW_OK);
    sw_sim_walker(sim)->images = images;
    sw_sim_walker(sim)->stack_begin = STACK;
    sw_sim_walker(sim)->stack_end = STACK + 0x10000;
    sw_regs_set(&start, SW_ARM64_PC, row->pc);
    sw_regs_set(&start, SW_ARM64_SP, row->frame);
    sw_regs_set(&start, SW_ARM64_FP, row->frame + RECORD);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &start, row->exact);
    assert_true(sw_walk_next(&walk));
    assert_true(sw_walk_next(&walk));
    assert_int_equal(walk.frame.source, SW_SOURCE_SIGNAL_FRAME);
    assert_true(walk.frame.exact);
    assert_true(walk.frame.regs.known == wanted.known);
    assert_memory_equal(walk.frame.regs.r, wanted.r, sizeof wanted.r);
    sw_images_destroy(images);
    sw_sim_destroy(sim);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, interrupted_registers_come_back);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
