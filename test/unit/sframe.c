/*
 * SFrame: tables made by an assembler and a linker (sframe.md section 12), tables that are written here out of the call
 * frame information of libc and must say the same at each pc, and tables that lie.
 *
 * sframe write PROGRAM FILE: writes version 2 for a program's .eh_frame, for test/snapstacks/sframe.sh.
 */
#include "code/images.h"
#include "sframe/sframe.h"

#include <snapwalk/snapwalk.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../support/random.h"
#include "host.h"

enum { FUNCTIONS_MOST = 3000, ROOM = 1 << 20, VECTOR_AT = 0x20b8 };

/* ---- what tools have made ---- */

/* The linker's two PLT functions, a signal's, one without a return address, one whose CFA is found by rbx. */
static const char v2[] = "e2de02010300f800040000000600000012000000000000005000000048efffff1000000006000000"
                         "020000000010000058efffff100000000c000000020000001010000068efffff0200000000000000"
                         "01000000000000006aefffff08000000030000000100000000000000000308000308000310060318"
                         "0003080b0310";
static const char v3[] = "e2de03050300f800050000000b0000003e00000000000000500000002cefffffffffffff10000000"
                         "280000002cefffffffffffff10000000330000002cefffffffffffff02000000000000001eefffff"
                         "ffffffff080000000800000016efffffffffffff0e0000000f000000010080000000030801000000"
                         "00000005000001000004390801043910040419100c0439100d043908020000000000031006031802"
                         "001000100003080b0310";

static size_t unhex(const char *text, uint8_t *to)
{
    size_t size = 0;
    for (unsigned byte; sscanf(text + 2 * size, "%2x", &byte) == 1; size++)
        to[size] = (uint8_t)byte;
    return size;
}

/* cfa_reg SW_REGS_MAX: the outermost frame; above: no rule. */
struct expected {
    uint64_t pc;
    unsigned reg;
    int32_t offset;
};
enum { OUTERMOST = SW_REGS_MAX, NO_RULE };

static void says(const struct sw_sframe *table, const struct expected *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sw_rule rule;
        const enum sw_status status = sw_sframe_rule(table, rows[i].pc, &rule);
        assert_int_equal(status, rows[i].reg == NO_RULE ? SW_E_NO_RULE : SW_OK);
        if (status != SW_OK)
            continue;
        assert_int_equal((rule.flags & SW_RULE_END) != 0, rows[i].reg == OUTERMOST);
        if (rows[i].reg == OUTERMOST)
            continue;
        assert_true(rule.cfa.kind == SW_LOC_REG && rule.cfa.reg == rows[i].reg && rule.cfa.off == rows[i].offset);
        assert_true(rule.r[SW_X64_RIP].kind == SW_LOC_AT_CFA && rule.r[SW_X64_RIP].off == -8);
        assert_true(rule.r[SW_X64_RBP].kind == SW_LOC_SAME && rule.r[SW_X64_RBX].kind == SW_LOC_UNKNOWN);
    }
}

static void a_linkers_tables_are_read(void **state)
{
    static const struct expected both[] = {
        { 0xfff, NO_RULE, 0 },      { 0x1000, SW_X64_RSP, 16 }, { 0x1005, SW_X64_RSP, 16 },
        { 0x1006, SW_X64_RSP, 24 }, { 0x100f, SW_X64_RSP, 24 }, { 0x1010, SW_X64_RSP, 8 },
        { 0x101a, SW_X64_RSP, 8 },  { 0x101b, SW_X64_RSP, 16 }, { 0x101f, SW_X64_RSP, 16 },
    };
    static const struct expected only_3[] = {
        { 0x1020, NO_RULE, 0 },     { 0x1022, OUTERMOST, 0 },   { 0x1029, OUTERMOST, 0 },   { 0x102a, SW_X64_RSP, 8 },
        { 0x102b, SW_X64_RSP, 16 }, { 0x102e, SW_X64_RBX, 16 }, { 0x1035, SW_X64_RBX, 16 }, { 0x1036, SW_X64_RSP, 16 },
        { 0x1037, SW_X64_RSP, 8 },  { 0x1038, NO_RULE, 0 },
    };
    uint8_t bytes[256];
    struct sw_sframe table;
    (void)state;
    assert_int_equal(sw_sframe_open((struct sw_bytes){ bytes, unhex(v2, bytes), VECTOR_AT }, &table), SW_OK);
    says(&table, both, sizeof both / sizeof both[0]);
    assert_int_equal(sw_sframe_open((struct sw_bytes){ bytes, unhex(v3, bytes), VECTOR_AT }, &table), SW_OK);
    says(&table, both, sizeof both / sizeof both[0]);
    says(&table, only_3, sizeof only_3 / sizeof only_3[0]);
}

static void what_is_no_such_table_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        enum sw_status status;
    } rows[] = {
        { 0, 0, SW_E_MALFORMED },   { 2, 1, SW_E_UNSUPPORTED }, { 2, 4, SW_E_UNSUPPORTED }, { 3, 0, SW_E_UNSUPPORTED },
        { 3, 9, SW_E_UNSUPPORTED }, { 4, 1, SW_E_UNSUPPORTED }, { 4, 4, SW_E_UNSUPPORTED }, { 11, 1, SW_E_TRUNCATED },
        { 19, 1, SW_E_TRUNCATED },  { 23, 1, SW_E_TRUNCATED },  { 7, 255, SW_E_TRUNCATED },
    };
    struct sw_sframe table;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[256];
        const size_t size = unhex(v3, bytes);
        bytes[rows[i].at] = rows[i].value;
        assert_int_equal(sw_sframe_open((struct sw_bytes){ bytes, size, VECTOR_AT }, &table), rows[i].status);
        assert_int_equal(sw_sframe_open((struct sw_bytes){ bytes, rows[i].at ? 1 : 0, VECTOR_AT }, &table),
                         SW_E_TRUNCATED);
    }
}

/* ---- tables written here ---- */

struct out {
    uint8_t bytes[ROOM];
    size_t size;
};

static void put(struct out *out, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size && out->size < ROOM; i++)
        out->bytes[out->size++] = (uint8_t)(value >> (8 * i));
}

struct function {
    uint64_t begin, end, rows_at;
    uint32_t rows;
};
struct written {
    struct function functions[FUNCTIONS_MOST];
    size_t count;
    struct out rows, all;
};
static struct written written;

/* What SFrame can say of a rule. False: it cannot. */
struct brief {
    bool by_sp, has_fp;
    int32_t cfa, fp;
};
static bool brief_of(const struct sw_rule *rule, struct brief *brief)
{
    const struct sw_loc ra = rule->r[SW_X64_RIP], fp = rule->r[SW_X64_RBP];
    *brief = (struct brief){ rule->cfa.reg == SW_X64_RSP, fp.kind == SW_LOC_AT_CFA, rule->cfa.off, 0 };
    if (brief->has_fp)
        brief->fp = fp.off;
    return rule->flags == 0 && rule->cfa.kind == SW_LOC_REG && (brief->by_sp || rule->cfa.reg == SW_X64_RBP) &&
           ra.kind == SW_LOC_AT_CFA && ra.off == -8 && (brief->has_fp || fp.kind == SW_LOC_SAME);
}

static struct sw_cfi_work work;

/* The brief at each pc of a function. False: one cannot be said, or there is none. */
static bool brief_at(const struct sw_cfi *cfi, uint64_t pc, struct brief *brief, struct sw_cfi_cover *cover)
{
    struct sw_rule rule;
    return sw_cfi_rule(cfi, pc, &work, &rule, cover) == SW_OK && brief_of(&rule, brief);
}

static bool are_same(const struct brief *a, const struct brief *b)
{
    return a->by_sp == b->by_sp && a->has_fp == b->has_fp && a->cfa == b->cfa && a->fp == b->fp;
}

/* Words of 4 bytes, or of 1 where that is enough. */
static void put_row(struct out *out, uint64_t start, unsigned start_bytes, const struct brief *b)
{
    const bool is_small = b->cfa >= -128 && b->cfa < 128 && b->fp >= -128;
    const unsigned words = b->has_fp ? 2 : 1;
    put(out, start, start_bytes);
    put(out, b->by_sp | words << 1 | (is_small ? 0u : 2u) << 5, 1);
    put(out, (uint32_t)b->cfa, is_small ? 1 : 4);
    if (b->has_fp)
        put(out, (uint32_t)b->fp, is_small ? 1 : 4);
}

/* False: it is left out. Rows' starts take 4 bytes in version 2 and 2 in version 3, to try both. */
static bool write_function(const struct sw_cfi *cfi, unsigned version, uint64_t begin, uint64_t end)
{
    const size_t before = written.rows.size;
    struct function f = { begin, end, before, 0 };
    struct brief brief, last = { 0 };
    struct sw_cfi_cover cover;
    if (version == 3)
        put(&written.rows, 0, 5);
    for (uint64_t pc = begin; pc < end; pc++) {
        if (!brief_at(cfi, pc, &brief, &cover) || end - begin > UINT16_MAX) {
            written.rows.size = before;
            return false;
        }
        if (pc == begin || !are_same(&brief, &last)) {
            put_row(&written.rows, pc - begin, version == 3 ? 2 : 4, &brief);
            f.rows++;
        }
        last = brief;
    }
    if (version == 3) {
        struct out attribute = { .size = 0 };
        put(&attribute, f.rows, 2);
        put(&attribute, 1 /* starts of 2 bytes */, 1);
        memcpy(written.rows.bytes + before, attribute.bytes, 3);
    }
    written.functions[written.count++] = f;
    return true;
}

/* From `begin` on, up to `most` functions. */
static void write_functions(const struct sw_cfi *cfi, unsigned version, uint64_t begin, uint64_t end, size_t most)
{
    struct sw_rule rule;
    struct sw_cfi_cover cover;
    written.count = written.rows.size = 0;
    for (uint64_t pc = begin; pc < end && written.count < most && written.rows.size < ROOM / 2;) {
        if (sw_cfi_rule(cfi, pc, &work, &rule, &cover) != SW_OK || cover.begin != pc || cover.end <= pc) {
            pc++;
            continue;
        }
        (void)write_function(cfi, version, cover.begin, cover.end);
        pc = cover.end;
    }
}

/* is_own: starts count from their fields. address: of the section. */
static void write_table(unsigned version, bool is_own, uint64_t address)
{
    struct out *out = &written.all;
    const unsigned entry = version == 3 ? 16 : 20;
    uint32_t rows = 0;
    for (size_t i = 0; i < written.count; i++)
        rows += written.functions[i].rows;
    out->size = 0;
    put(out, 0xdee2, 2);
    put(out, version, 1);
    put(out, 1u | (is_own ? 4u : 0u), 1);
    put(out, 3, 1);
    put(out, 0, 1);
    put(out, 0xf8, 1);
    put(out, 0, 1);
    put(out, written.count, 4);
    put(out, rows, 4);
    put(out, written.rows.size, 4);
    put(out, 0, 4);
    put(out, written.count * entry, 4);
    for (size_t i = 0; i < written.count; i++) {
        const struct function *f = &written.functions[i];
        const uint64_t from = is_own ? address + out->size : address;
        put(out, f->begin - from, version == 3 ? 8 : 4);
        put(out, f->end - f->begin, 4);
        put(out, f->rows_at, 4);
        if (version == 3)
            continue;
        put(out, f->rows, 4);
        put(out, 2 /* starts of 4 bytes */, 1);
        put(out, 0, 3);
    }
    for (size_t i = 0; i < written.rows.size; i++)
        put(out, written.rows.bytes[i], 1);
}

/* Each function of the table, at each pc, as the call frame information has it. */
static void is_the_same(const struct sw_cfi *cfi, const struct sw_sframe *table)
{
    size_t pcs = 0, same = 0;
    for (size_t i = 0; i < written.count; i++)
        for (uint64_t pc = written.functions[i].begin; pc < written.functions[i].end; pc++) {
            struct brief a, b;
            struct sw_cfi_cover cover;
            struct sw_rule rule;
            pcs++;
            same += brief_at(cfi, pc, &a, &cover) && sw_sframe_rule(table, pc, &rule) == SW_OK && brief_of(&rule, &b) &&
                    are_same(&a, &b);
        }
    printf("# sframe, version %u: %zu of %zu pcs of %zu functions as .eh_frame has them\n", table->version, same, pcs,
           written.count);
    assert_true(pcs > 10000 && same == pcs);
}

static void libc_is_told_as_by_its_eh_frame(void **state)
{
    struct sw_images *images;
    struct sw_section section;
    (void)state;
#if !defined __x86_64__
    skip();
#endif
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    sw_images_enter(images, &section);
    const struct sw_image_entry *libc = sw_images_entry(images, (uint64_t)(uintptr_t)&qsort);
    assert_true(libc && libc->has_cfi);
    for (unsigned version = 2; version <= 3; version++) {
        struct sw_sframe table;
        const uint64_t address = libc->code_end + (version == 2 ? 0x1000 : UINT64_C(0x100000000));
        write_functions(&libc->cfi, version, libc->code_begin, libc->code_end, 600);
        write_table(version, version == 3, address);
        assert_int_equal(sw_sframe_open((struct sw_bytes){ written.all.bytes, written.all.size, address }, &table),
                         SW_OK);
        is_the_same(&libc->cfi, &table);
    }
    sw_images_leave(images, &section);
    sw_images_destroy(images);
}

/* ---- hostile tables ---- */

static void changed_bytes_do_no_harm(void **state)
{
    const char *const vectors[] = { v2, v3 };
    uint64_t seed = 3;
    (void)state;
    for (unsigned round = 0; round < 200000 / HOST_STRIDE; round++) {
        uint8_t bytes[256];
        const size_t size = unhex(vectors[round % 2], bytes);
        struct sw_sframe table;
        struct sw_rule rule;
        for (unsigned n = 0; n < 3; n++)
            bytes[next_random(&seed) % size] = (uint8_t)next_random(&seed);
        const size_t left = round % 5 ? size : next_random(&seed) % size;
        if (sw_sframe_open((struct sw_bytes){ bytes, left, VECTOR_AT }, &table) != SW_OK)
            continue;
        for (uint64_t pc = 0x1000; pc < 0x1040; pc += 5)
            if (sw_sframe_rule(&table, pc, &rule) == SW_OK && !(rule.flags & SW_RULE_END))
                assert_true(rule.cfa.reg < SW_REGS_MAX && rule.cfa.kind != SW_LOC_UNKNOWN);
    }
}

/* ---- writing one for another test ---- */

static int write_for(const char *program, const char *path)
{
    struct sw_images *images;
    struct sw_section section;
    const uint64_t base = 0x400000; /* of a program that is linked to its place */
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_file(images, program, base) != SW_OK)
        return 1;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, base);
    write_functions(&entry->cfi, 2, entry->code_begin, entry->code_end, FUNCTIONS_MOST);
    write_table(2, false, 0);
    sw_images_leave(images, &section);
    FILE *file = fopen(path, "wb");
    const bool ok = file && fwrite(written.all.bytes, 1, written.all.size, file) == written.all.size;
    return file && fclose(file) == 0 && ok && written.count ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linkers_tables_are_read),
        cmocka_unit_test(what_is_no_such_table_is_refused),
        cmocka_unit_test(libc_is_told_as_by_its_eh_frame),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        return write_for(argv[2], argv[3]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
