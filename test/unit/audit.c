/*
 * The audit: functions with tables that are right, tables that lie in one place each, code that no path leads to; the
 * same file cut off at every length and with every byte changed; this program itself. The ELF file is made here.
 */
#include "../support/bytes.h"
#include "rows.h"

#include <snapwalk/audit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a file with one function ---- */

enum { HEADER_AT = 0x100, FRAME_AT = 0x110, CODE_AT = 0x180, FILE_MAX = 0x200 };

static void put_segment(uint8_t *to, uint32_t type, uint32_t flags, uint64_t at, uint64_t size)
{
    put_le(to, type, 4);
    put_le(to + 4, flags, 4);
    put_le(to + 8, at, 8);
    put_le(to + 16, at, 8);
    put_le(to + 24, at, 8);
    put_le(to + 32, size, 8);
    put_le(to + 40, size, 8);
    put_le(to + 48, 1, 8);
}

static void put_elf_header(uint8_t *to)
{
    static const uint8_t ident[] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
    memcpy(to, ident, sizeof ident);
    put_le(to + 16, 3, 2);  /* shared */
    put_le(to + 18, 62, 2); /* x86-64 */
    put_le(to + 20, 1, 4);
    put_le(to + 32, 64, 8); /* program headers */
    put_le(to + 52, 64, 2);
    put_le(to + 54, 56, 2);
    put_le(to + 56, 2, 2);
    put_le(to + 58, 64, 2);
}

/* One CIE (cfa=rsp+8, return address below) and one FDE over the code. */
static void put_frame(uint8_t *to, size_t code_size, const uint8_t *program, size_t size)
{
    static const uint8_t cie[] = { 20, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
                                   1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,   0 };
    uint8_t *fde = to + sizeof cie;
    memcpy(to, cie, sizeof cie);
    put_le(fde, 13 + size, 4);
    put_le(fde + 4, sizeof cie + 4, 4);
    put_le(fde + 8, (uint64_t)(CODE_AT - (FRAME_AT + (int)sizeof cie + 8)), 4);
    put_le(fde + 12, code_size, 4);
    memcpy(fde + 17, program, size);
}

static void make_file(uint8_t *file, const uint8_t *code, size_t code_size, const uint8_t *program, size_t size)
{
    static const uint8_t header[] = { 1, 0x1b, 0xff, 0xff, FRAME_AT - HEADER_AT - 4, 0, 0, 0 };
    memset(file, 0, FILE_MAX);
    put_elf_header(file);
    put_segment(file + 64, 1, 5, 0, FILE_MAX);
    put_segment(file + 120, 0x6474e550, 4, HEADER_AT, sizeof header);
    memcpy(file + HEADER_AT, header, sizeof header);
    put_frame(file + FRAME_AT, code_size, program, size);
    memcpy(file + CODE_AT, code, code_size);
}

/* ---- one letter an instruction ---- */

struct seen {
    char verdicts[64];
    size_t count;
    size_t in_false; /* instructions that were said to be in a function whose table contradicts itself */
    bool is_entry, returns, is_false;
};

static bool note(void *arg, const struct sw_audit_insn *insn)
{
    static const char letters[SW_AUDIT_VERDICT_COUNT + 1] = "=UCARLFENPpBS";
    struct seen *seen = arg;
    char text[128];
    assert_in_range(insn->verdict, 0, SW_AUDIT_VERDICT_COUNT - 1);
    assert_in_range(insn->after, 0, SW_AUDIT_AFTER_COUNT - 1);
    assert_in_range(insn->trust, 0, SW_TRUST_COUNT - 1);
    assert_true(insn->length > 0 && insn->length <= 15);
    assert_true(strlen(sw_audit_text(SW_MACHINE_X64, insn->table, text, sizeof text)) < sizeof text);
    assert_true(strlen(sw_audit_text(SW_MACHINE_X64, insn->analysis, text, sizeof text)) < sizeof text);
    if (seen->count < sizeof seen->verdicts - 1)
        seen->verdicts[seen->count++] = letters[insn->verdict];
    seen->is_entry = insn->function->is_entry;
    seen->returns = insn->function->returns;
    seen->is_false = insn->function->is_false;
    seen->in_false += insn->function->is_false;
    return true;
}

/* DWARF numbers rbx 3 and rbp 6; 0x40 + n advances, 0x0e n says how far the CFA is above rsp, 0x83 n where rbx is. */
/* clang-format off */
static const struct row {
    const char *name;
    const char *verdicts;
    uint8_t code[24];
    uint8_t code_size;
    uint8_t program[24];
    uint8_t program_size;
    bool is_false;
} rows[] = {
    /* push rbx; mov ebx, edi; call elsewhere; pop rbx; ret */
    { "a_table_that_is_right_is_equal_everywhere", "=====",
      { 0x53, 0x89, 0xfb, 0xe8, 0, 1, 0, 0, 0x5b, 0xc3 }, 10, { 0x41, 0x0e, 16, 0x83, 2, 0x48, 0x0e, 8 }, 8, false },
    { "a_register_saved_but_not_changed_may_be_said_to_be_unchanged", "====",
      { 0x53, 0x90, 0x5b, 0xc3 }, 4, { 0x41, 0x0e, 16, 0x42, 0x0e, 8 }, 6, false },
    { "a_push_that_the_table_leaves_out_makes_it_false", "=FFF=",
      { 0x53, 0x89, 0xfb, 0x31, 0xc0, 0x5b, 0xc3 }, 7, { 0 }, 0, true },
    { "a_register_said_to_be_one_word_off_differs", "=RRR=",
      { 0x53, 0x89, 0xfb, 0x31, 0xc0, 0x5b, 0xc3 }, 7, { 0x41, 0x0e, 16, 0x83, 3, 0x45, 0x0e, 8, 0xc3 }, 9, false },
    { "a_register_changed_and_said_to_be_unchanged_makes_it_false", "=FF",
      { 0x89, 0xfb, 0x31, 0xc0, 0xc3 }, 5, { 0 }, 0, true },
    { "a_cfa_by_rbp_equals_one_by_rsp", "=======",
      { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x31, 0xc0, 0x90, 0xc9, 0xc3 }, 13,
      { 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7, 8 }, 12, false },
    { "code_that_begins_in_a_frame_is_a_part", "PPP",
      { 0x31, 0xc0, 0x5b, 0xc3 }, 4, { 0x0e, 16, 0x83, 2, 0x43, 0x0e, 8 }, 7, false },
    { "filler_behind_a_return_is_no_code", "==ppp",
      { 0x31, 0xc0, 0xc3, 0x66, 0x90, 0x0f, 0x1f, 0x00, 0xcc }, 9, { 0 }, 0, false },
    { "a_byte_that_is_no_instruction_is_told", "=BU",
      { 0xc3, 0x06, 0xc3 }, 3, { 0 }, 0, false },
    { "where_there_is_no_caller_nothing_is_compared", "EE",
      { 0x31, 0xed, 0xc3 }, 3, { 0x07, 16 }, 2, false },
};
/* clang-format on */

static void audit_row(const struct row *row, uint32_t flags, struct seen *seen)
{
    uint8_t file[FILE_MAX];
    make_file(file, row->code, row->code_size, row->program, row->program_size);
    memset(seen, 0, sizeof *seen);
    assert_int_equal(sw_audit_file(file, sizeof file, NULL, flags, note, seen), SW_OK);
}

static void row_is_judged(void **state)
{
    const struct row *row = *state;
    struct seen seen;
    audit_row(row, 0, &seen);
    assert_string_equal(seen.verdicts, row->verdicts);
    assert_int_equal(seen.is_false, row->is_false);
    assert_int_equal(seen.in_false, row->is_false ? seen.count : 0); /* from the first on: it is counted apart */
    assert_true(seen.returns);
}

static void without_ends_the_same_is_found_where_paths_lead(void **state)
{
    struct seen seen;
    (void)state;
    audit_row(&rows[0], SW_AUDIT_END_UNKNOWN, &seen);
    assert_string_equal(seen.verdicts, rows[0].verdicts);
}

/* ---- hostile files ---- */

static void audit_copy(const uint8_t *file, size_t size)
{
    struct seen seen = { .count = 0 };
    uint8_t *copy = malloc(size ? size : 1); /* its own block: a byte too far is seen */
    assert_non_null(copy);
    memcpy(copy, file, size);
    const enum sw_status status = sw_audit_file(copy, size, NULL, 0, note, &seen);
    assert_in_range(status, SW_OK, SW_STATUS_COUNT - 1);
    free(copy);
}

static void a_file_cut_off_anywhere_has_an_answer(void **state)
{
    uint8_t file[FILE_MAX];
    (void)state;
    make_file(file, rows[0].code, rows[0].code_size, rows[0].program, rows[0].program_size);
    for (size_t size = 0; size < sizeof file; size++)
        audit_copy(file, size);
}

static void a_file_with_any_byte_changed_has_an_answer(void **state)
{
    static const uint8_t masks[] = { 0x01, 0xff };
    uint8_t file[FILE_MAX];
    (void)state;
    make_file(file, rows[0].code, rows[0].code_size, rows[0].program, rows[0].program_size);
    for (size_t i = 0; i < 2 * sizeof file; i++) {
        file[i / 2] ^= masks[i % 2];
        audit_copy(file, sizeof file);
        file[i / 2] ^= masks[i % 2];
    }
}

static void what_is_no_file_of_these_kinds_is_refused(void **state)
{
    static const uint8_t pe[0x80] = { 'M', 'Z' }, text[] = "neither of them, and long enough to be looked at closely\n";
    struct seen seen;
    (void)state;
    assert_int_not_equal(sw_audit_file(pe, sizeof pe, NULL, 0, note, &seen), SW_OK);
    assert_int_not_equal(sw_audit_file(text, sizeof text, NULL, 0, note, &seen), SW_OK);
    assert_int_equal(sw_audit_file(text, 3, NULL, 0, note, &seen), SW_E_TRUNCATED);
    assert_int_equal(sw_audit_file(NULL, 3, NULL, 0, note, &seen), SW_E_ARGUMENT);
    assert_int_equal(sw_audit_file(text, 3, NULL, 2, note, &seen), SW_E_ARGUMENT);
    assert_int_equal(sw_audit_file(text, 3, NULL, 0, NULL, &seen), SW_E_ARGUMENT);
}

/* ---- this program ---- */

struct figures {
    unsigned long verdict[SW_AUDIT_VERDICT_COUNT];
    unsigned long wrong_and_sure;
    unsigned long left;
};

static bool count(void *arg, const struct sw_audit_insn *insn)
{
    struct figures *f = arg;
    f->verdict[insn->verdict]++;
    if (insn->function->returns && insn->trust >= SW_TRUST_LIKELY && insn->verdict >= SW_AUDIT_CFA &&
        insn->verdict <= SW_AUDIT_REGISTER)
        f->wrong_and_sure++;
    return f->left == 0 || --f->left > 0;
}

static void in_this_program_nothing_is_wrong_and_sure(void **state)
{
    struct figures f = { .left = 0 };
    size_t size;
    uint8_t *bytes = read_whole("/proc/self/exe", &size);
    (void)state;
    assert_int_equal(sw_audit_file(bytes, size, NULL, 0, count, &f), SW_OK);
    free(bytes);
    assert_true(f.verdict[SW_AUDIT_EQUAL] > 1000);
    assert_true(f.verdict[SW_AUDIT_EQUAL] > 50 * f.verdict[SW_AUDIT_CFA]);
    assert_int_equal(f.wrong_and_sure, 0);
}

static void a_sink_that_has_enough_ends_it(void **state)
{
    struct figures f = { .left = 7 };
    size_t size;
    unsigned long sum = 0;
    uint8_t *bytes = read_whole("/proc/self/exe", &size);
    (void)state;
    assert_int_equal(sw_audit_file(bytes, size, NULL, 0, count, &f), SW_OK);
    free(bytes);
    for (unsigned v = 0; v < SW_AUDIT_VERDICT_COUNT; v++)
        sum += f.verdict[v];
    assert_int_equal(sum, 7);
}

static void *count_out(void *arg, size_t size)
{
    unsigned *left = arg;
    return *left && (*left)-- ? malloc(size) : NULL;
}

static void give_back(void *arg, void *block, size_t size)
{
    (void)arg, (void)size;
    free(block);
}

static void without_memory_it_says_so(void **state)
{
    struct seen seen = { .count = 0 };
    uint8_t file[FILE_MAX];
    (void)state;
    make_file(file, rows[0].code, rows[0].code_size, rows[0].program, rows[0].program_size);
    for (unsigned given = 0; given < 2; given++) {
        unsigned left = given;
        const struct sw_alloc alloc = { count_out, give_back, &left };
        assert_int_equal(sw_audit_file(file, sizeof file, &alloc, 0, note, &seen), SW_E_NO_MEMORY);
    }
}

static void names_have_bounds(void **state)
{
    (void)state;
    assert_string_equal(sw_audit_verdict_name(SW_AUDIT_FALSE), "table-false");
    assert_string_equal(sw_audit_verdict_name((enum sw_audit_verdict)99), "?");
    assert_string_equal(sw_audit_after_name(SW_AUDIT_AFTER_INDIRECT), "indirect-jump");
    assert_string_equal(sw_audit_after_name((enum sw_audit_after)99), "?");
    char text[4];
    assert_string_equal(sw_audit_text(SW_MACHINE_X64, NULL, text, sizeof text), "non");
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 8] = {
        [COUNT_OF(rows)] = cmocka_unit_test(without_ends_the_same_is_found_where_paths_lead),
        cmocka_unit_test(a_file_cut_off_anywhere_has_an_answer),
        cmocka_unit_test(a_file_with_any_byte_changed_has_an_answer),
        cmocka_unit_test(what_is_no_file_of_these_kinds_is_refused),
        cmocka_unit_test(in_this_program_nothing_is_wrong_and_sure),
        cmocka_unit_test(a_sink_that_has_enough_ends_it),
        cmocka_unit_test(without_memory_it_says_so),
        cmocka_unit_test(names_have_bounds),
    };
    FILL_ROWS(tests, rows, row_is_judged);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
