/*
 * ReadyToRun images and JIT headers: synthetic ones made here, byte by byte, and the installed .NET's own when it is
 * found.
 */
#include "rows.h"
#include "clr_composite.h"
#include "host.h"
#include "jit_method.h"
#include "../support/bytes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "budget.h"

#include <snapwalk/analysis_cache.h>
#include <snapwalk/codemap.h>
#include <snapwalk/walk.h>

#include "clr/clr.h"
#include "clr/format.h"
#include "unwind_flow.h"

/* All 50,482 functions, but under a sanitizer, which is slow. */
enum { CORELIB_STEP = IS_ASAN ? 7 : 1 };

static struct budget budget = { .left = SIZE_MAX };
static const struct sw_alloc counting = { budget_get, budget_put, &budget };

/* ---- the real thing ---- */

struct file {
    struct sw_bytes bytes;
    struct sw_clr_image image;
};

static bool open_framework(const char *name, struct file *file)
{
    static const char *const roots[] = { "/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet" };
    glob_t found = { 0 };
    char path[256];
    struct stat st;
    struct sw_pe pe;
    for (size_t i = 0; i < COUNT_OF(roots) && found.gl_pathc == 0; i++) {
        snprintf(path, sizeof path, "%s/shared/Microsoft.NETCore.App/10.*/%s", roots[i], name);
        if (glob(path, 0, NULL, &found) != 0)
            found.gl_pathc = 0;
    }
    const int fd = found.gl_pathc ? open(found.gl_pathv[found.gl_pathc - 1], O_RDONLY | O_CLOEXEC) : -1;
    if (found.gl_pathc)
        globfree(&found);
    if (fd < 0 || fstat(fd, &st))
        return false;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    assert_true(at != MAP_FAILED);
    file->bytes = (struct sw_bytes){ at, (uint64_t)st.st_size, UINT64_C(0x7f0000000000) };
    assert_int_equal(sw_pe_open(file->bytes, false, &pe), SW_OK);
    assert_int_equal(sw_clr_image_open(&pe, &counting, &file->image), SW_OK);
    return true;
}

static void close_framework(struct file *file)
{
    sw_clr_image_close(&file->image);
    munmap((void *)(uintptr_t)file->bytes.bytes, (size_t)file->bytes.size);
    assert_int_equal(budget.blocks, 0);
}

static void skip_without_framework(void)
{
    print_message("skipped: no .NET 10 framework installed\n");
    skip();
}

static enum sw_status image_rule(void *arg, uint64_t address, bool exact, struct sw_rule *rule)
{
    return sw_clr_image_rule(arg, address, exact, rule);
}

static void check_flow(struct file *file, uint64_t from, uint64_t step, struct flow *flow)
{
    const struct sw_clr_image *image = &file->image;
    for (uint64_t i = from; i < image->functions.size / 12; i += step) {
        const uint32_t begin = sw_load32(image->functions.bytes + 12 * i);
        const uint32_t end = sw_load32(image->functions.bytes + 12 * i + 4);
        const struct sw_bytes code = sw_pe_at(&image->pe, begin, end - begin);
        assert_true(code.size == end - begin);
        flow->code = code.bytes;
        flow->size = code.size;
        flow->address = file->bytes.address + begin;
        flow_run(flow);
        if (flow->wrong)
            return;
    }
}

static void framework_rules_agree_with_its_instructions(const char *name, uint64_t step)
{
    struct file file;
    if (!open_framework(name, &file))
        skip_without_framework();
    struct flow flow = { .rule = image_rule, .arg = &file.image };
    check_flow(&file, 0, step, &flow);
    print_message("%s, each %lluth of %llu functions: %llu instructions, %llu steps, %llu ends, %llu calls\n", name,
                  (unsigned long long)step, (unsigned long long)(file.image.functions.size / 12),
                  (unsigned long long)flow.instructions, (unsigned long long)flow.compared,
                  (unsigned long long)flow.ends, (unsigned long long)flow.calls);
    if (flow.wrong)
        fail_msg("%s", flow.first_wrong);
    assert_true(flow.compared > 1000 && flow.ends > 100);
    close_framework(&file);
}

static void corelib_rules_agree_with_its_instructions(void **state)
{
    (void)state;
    framework_rules_agree_with_its_instructions("System.Private.CoreLib.dll", CORELIB_STEP);
}

static void json_rules_agree_with_its_instructions(void **state)
{
    (void)state;
    framework_rules_agree_with_its_instructions("System.Text.Json.dll", 1);
}

/*
 * Section 104 says where a method's handlers begin: {u32 method, u32 clauses} pairs, then 24-byte clauses {flags, try
 * begin, try end, handler begin, handler end, type or filter begin}. An independent list of which functions are
 * funclets of what.
 */
static struct sw_bytes section_of(const struct sw_clr_image *image, uint32_t type)
{
    const struct sw_bytes cli = sw_pe_at(&image->pe, image->pe.cli_rva, 72);
    const struct sw_bytes header = sw_pe_rest(&image->pe, sw_load32(cli.bytes + 64));
    for (uint32_t i = 0; i < sw_load32(header.bytes + 12); i++) {
        const uint8_t *entry = header.bytes + 16 + 12 * i;
        if (sw_load32(entry) == type)
            return sw_pe_at(&image->pe, sw_load32(entry + 4), sw_load32(entry + 8));
    }
    return (struct sw_bytes){ 0 };
}

/* flag: what the range of such a function must carry. */
static void mark_funclet(const struct file *file, uint32_t method, uint32_t offset, uint16_t flag, uint8_t *is_funclet,
                         uint64_t *wrong)
{
    const uint64_t base = file->bytes.address;
    struct sw_range range;
    uint32_t index;
    struct sw_pe_function function;
    if (sw_pe_find(&file->image.pe, file->image.functions, method + offset, &function, &index) ||
        function.begin != method + offset || sw_clr_image_method(&file->image, base + method + offset, &range) ||
        range.id != base + method || (range.flags & (SW_RANGE_FUNCLET | SW_RANGE_FILTER)) != flag)
        ++*wrong;
    else
        is_funclet[index] = 1;
}

static void handlers_of_corelib_fold_into_their_methods(void **state)
{
    (void)state;
    struct file file;
    uint64_t wrong = 0;
    uint64_t clauses = 0;
    if (!open_framework("System.Private.CoreLib.dll", &file))
        skip_without_framework();
    const struct sw_clr_image *image = &file.image;
    const size_t functions = (size_t)(image->functions.size / 12);
    const struct sw_bytes table = section_of(image, 104);
    uint8_t *is_funclet = calloc(functions, 1);
    for (uint64_t at = 0; at + 16 <= table.size; at += 8) {
        const uint32_t method = sw_load32(table.bytes + at);
        const uint32_t from = sw_load32(table.bytes + at + 4);
        const uint32_t to = sw_load32(table.bytes + at + 12);
        const struct sw_bytes list = sw_pe_at(&image->pe, from, to - from);
        for (uint64_t k = 0; k + 24 <= list.size; k += 24, clauses++) {
            mark_funclet(&file, method, sw_load32(list.bytes + k + 12), SW_RANGE_FUNCLET, is_funclet, &wrong);
            if (sw_load32(list.bytes + k) == 1)
                mark_funclet(&file, method, sw_load32(list.bytes + k + 20), SW_RANGE_FILTER, is_funclet, &wrong);
        }
    }
    size_t funclets = 0;
    for (size_t i = 0; i < functions; i++)
        funclets += is_funclet[i];
    print_message("%llu clauses, %zu funclets, %zu methods, %zu functions\n", (unsigned long long)clauses, funclets,
                  image->method_count, functions);
    free(is_funclet);
    assert_int_equal(wrong, 0);
    assert_true(funclets > 1000);
    /* A handler whose try block was optimised away keeps its funclet, but no clause names it. */
    assert_true(functions - funclets - image->method_count < 20);
    close_framework(&file);
}

static void every_function_of_corelib_has_a_method_and_a_name(void **state)
{
    (void)state;
    struct file file;
    size_t sleeps = 0;
    size_t dispatch = 0;
    if (!open_framework("System.Private.CoreLib.dll", &file))
        skip_without_framework();
    const struct sw_bytes functions = file.image.functions;
    for (uint64_t i = 0; i < functions.size / 12; i++) {
        char name[512];
        struct sw_range range;
        const uint64_t begin = file.bytes.address + sw_load32(functions.bytes + 12 * i);
        const uint64_t end = file.bytes.address + sw_load32(functions.bytes + 12 * i + 4);
        assert_int_equal(sw_clr_image_method(&file.image, end - 1, &range), SW_OK);
        assert_true(range.begin == begin && range.end == end && range.id != 0 && range.kind == SW_KIND_NGEN);
        assert_int_equal(sw_clr_image_name(&file.image, begin, name, sizeof name), SW_OK);
        assert_non_null(strstr(name, "::"));
        sleeps += strcmp(name, "System.Threading.Thread::Sleep") == 0;
        const bool dispatches = (range.flags & SW_RANGE_EH_DISPATCH) != 0;
        dispatch += dispatches;
        assert_true(!dispatches || strncmp(name, "System.Runtime.EH::", 19) == 0 ||
                    strncmp(name, "System.Runtime.StackFrameIterator::", 35) == 0 ||
                    strncmp(name, "System.Runtime.ExceptionServices.InternalCalls::", 48) == 0);
    }
    assert_true(sleeps >= 1);
    assert_true(dispatch >= 10);
    close_framework(&file);
}

static bool is_in_place(const struct file *file, struct sw_bytes part)
{
    return part.bytes >= file->bytes.bytes && part.bytes + part.size <= file->bytes.bytes + file->bytes.size;
}

/*
 * Functions, unwind data, cold parts and metadata are read where they are in the file. Kept is what no table says:
 * which functions begin a method, and its token, found in a hash table that leads the other way.
 */
static void tables_of_corelib_are_used_in_place(void **state)
{
    (void)state;
    struct file file;
    if (!open_framework("System.Private.CoreLib.dll", &file))
        skip_without_framework();
    const struct sw_clr_image *image = &file.image;
    assert_true(image->functions.size / 12 > 40000 && image->method_count > 10000);
    assert_true(is_in_place(&file, image->functions) && is_in_place(&file, image->pe.bytes));
    assert_true(is_in_place(&file, image->metadata) && (image->cold.size == 0 || is_in_place(&file, image->cold)));
    assert_int_equal(budget.blocks, 1);
    assert_int_equal(budget.bytes, 8 * image->method_count);
    close_framework(&file);
}

/* ---- an image made here (clr_image.h) ---- */

static const uint64_t image_base = UINT64_C(0x7f1200000000);

/* The same image for ARM64: entries of 8 bytes, one record for all, 16-byte functions of four instructions. */
static struct bin make_arm64_image(void)
{
    /* Four instructions, a handler, one epilog of three codes at index 0: stp x29, x30, [sp, #-16]!, end. */
    static const uint32_t record[] = { 4 | 1u << 20 | 1u << 22 | 1u << 27, 2 | 0 << 22, 0xe4e481, 0 };
    static const uint32_t body[] = { 0xa9bf7bfd, 0x94000010, 0xa8c17bfd, 0xd65f03c0 };
    struct bin b = make_image();
    put_le(b.bytes + 0x84, 0xd11d, 2);
    put_le(b.bytes + 0x98 + 112 + 8 * 3 + 4, 48, 4);
    put_le(at_rva(&b, RTR) + 16 + 8, 48, 4);
    put_words(at_rva(&b, UNWIND), record, COUNT_OF(record));
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t entry[] = { CODE + 16 * i, UNWIND };
        put_words(at_rva(&b, FUNCTIONS) + 8 * i, entry, 2);
        put_words(at_rva(&b, CODE) + 16 * i, body, 4);
    }
    return b;
}

static enum sw_status open_bytes(const uint8_t *bytes, uint64_t size, bool mapped, struct sw_clr_image *image)
{
    struct sw_pe pe;
    enum sw_status status = sw_pe_open((struct sw_bytes){ bytes, size, image_base }, mapped, &pe);
    return status ? status : sw_clr_image_open(&pe, &counting, image);
}

static const struct method_row {
    uint32_t function;
    uint32_t entry; /* the function that begins its method */
    uint16_t flags;
    const char *name;
} method_rows[] = {
    { 0, 0, SW_RANGE_EH_DISPATCH, "System.Runtime.EH::First" },
    { 1, 0, SW_RANGE_EH_DISPATCH | SW_RANGE_FUNCLET, "System.Runtime.EH::First" },
    { 2, 2, 0, "System.Runtime.EH+Inner::Third" },
    { 3, 3, 0, "System.Runtime.EH+Inner::Second" },
    { 4, 3, SW_RANGE_FUNCLET, "System.Runtime.EH+Inner::Second" },
    { 5, 2, 0, "System.Runtime.EH+Inner::Third" },
};

static void assert_methods(const struct sw_clr_image *image)
{
    for (size_t i = 0; i < COUNT_OF(method_rows); i++) {
        const struct method_row *row = &method_rows[i];
        struct sw_range range;
        char name[64];
        const uint64_t begin = image_base + CODE + 16 * row->function;
        assert_int_equal(sw_clr_image_method(image, begin + 5, &range), SW_OK);
        assert_true(range.begin == begin && range.end == begin + 16);
        assert_true(range.id == image_base + CODE + 16 * row->entry);
        assert_int_equal(range.flags, row->flags);
        assert_int_equal(sw_clr_image_name(image, begin + 15, name, sizeof name), SW_OK);
        assert_string_equal(name, row->name);
    }
}

/* A file of which not a byte is there that nobody wanted. */
struct partial {
    const struct bin *whole;
    struct bin bytes;
};

static void want_part(void *arg, uint64_t offset, uint64_t size)
{
    struct partial *partial = arg;
    for (uint64_t at = offset; at < IMAGE_BYTES && at - offset < size; at++)
        partial->bytes.bytes[at] = partial->whole->bytes[at];
}

static void assert_rules_are_the_same(const struct sw_clr_image *a, const struct sw_clr_image *b)
{
    struct sw_rule rules[2];
    for (uint32_t at = 0; at < 6 * 16; at++) {
        memset(rules, 0, sizeof rules);
        const enum sw_status status = sw_clr_image_rule(a, image_base + CODE + at, true, &rules[0]);
        assert_int_equal(sw_clr_image_rule(b, image_base + CODE + at, true, &rules[1]), status);
        assert_memory_equal(&rules[0], &rules[1], sizeof rules[0]);
    }
}

static void a_stored_image_answers_and_reads_no_table_before(void **state)
{
    const struct bin images[] = { make_image(), make_arm64_image() };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        struct partial partial = { .whole = &images[i] };
        const struct sw_store store = { partial.bytes.bytes, want_part, &partial };
        struct sw_clr_image whole, stored;
        struct sw_pe pe;
        assert_int_equal(open_bytes(images[i].bytes, IMAGE_BYTES, false, &whole), SW_OK);
        assert_int_equal(
            sw_pe_open_stored((struct sw_bytes){ partial.bytes.bytes, IMAGE_BYTES, image_base }, &store, &pe), SW_OK);
        assert_int_equal(sw_clr_image_open(&pe, &counting, &stored), SW_OK);
        assert_int_equal(sw_load32(at_rva(&partial.bytes, FUNCTIONS)), 0);
        assert_methods(&stored);
        assert_rules_are_the_same(&whole, &stored);
        sw_clr_image_close(&whole);
        sw_clr_image_close(&stored);
    }
}

static void funclets_and_cold_parts_fold_into_their_method(void **state)
{
    (void)state;
    struct bin b = make_image();
    struct sw_clr_image image;
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    assert_int_equal(image.method_count, 3);
    assert_methods(&image);
    sw_clr_image_close(&image);
    assert_int_equal(budget.blocks, 0);
}

static void functions_of_an_arm64_image_fold_alike(void **state)
{
    (void)state;
    struct bin b = make_arm64_image();
    struct sw_clr_image image;
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    assert_int_equal(image.method_count, 3);
    assert_methods(&image);
    sw_clr_image_close(&image);
    put_le(at_rva(&b, UNWIND) + 2, 0x60, 1); /* no handler: no funclet can be told from a filter, but all are there */
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    assert_methods(&image);
    sw_clr_image_close(&image);
    assert_int_equal(budget.blocks, 0);
}

/* At the entry, behind the stp, in the epilog in front of the ldp, and behind it. */
static void arm64_image_has_a_rule_at_every_instruction(void **state)
{
    static const int32_t cfa[] = { 0, 16, 16, 0 };
    (void)state;
    struct bin b = make_arm64_image();
    struct sw_clr_image image;
    struct sw_rule rule;
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    for (uint64_t at = 0; at < 96; at++) {
        const int32_t off = cfa[at % 16 / 4];
        assert_int_equal(sw_clr_image_rule(&image, image_base + CODE + at, at % 4 == 0, &rule), SW_OK);
        assert_true(rule.cfa.kind == SW_LOC_REG && rule.cfa.reg == SW_ARM64_SP && rule.cfa.off == off);
        assert_int_equal(rule.r[SW_ARM64_PC].kind, off ? SW_LOC_AT_CFA : SW_LOC_REG);
        assert_int_equal(rule.r[SW_ARM64_PC].off, off ? -8 : 0);
    }
    assert_int_equal(sw_clr_image_rule(&image, image_base + CODE + 96, true, &rule), SW_E_NO_RULE);
    put_le(at_rva(&b, UNWIND) + 2, 0x5c, 1); /* another version: it is not known how long a function is */
    assert_int_equal(sw_clr_image_rule(&image, image_base + CODE, true, &rule), SW_E_UNSUPPORTED);
    sw_clr_image_close(&image);
}

static void mapped_layout_gives_the_same(void **state)
{
    (void)state;
    struct bin b = make_image();
    uint8_t *mapped = calloc(MAPPED_BYTES, 1);
    struct sw_clr_image image;
    memcpy(mapped, b.bytes, FILE_AT);
    memcpy(mapped + BASE_RVA, b.bytes + FILE_AT, SECTION_BYTES);
    assert_int_equal(open_bytes(mapped, MAPPED_BYTES, true, &image), SW_OK);
    assert_methods(&image);
    sw_clr_image_close(&image);
    free(mapped);
}

static void hiding_dispatch_is_for_the_core_library_only(void **state)
{
    (void)state;
    struct bin b = make_image();
    struct sw_clr_image image;
    struct sw_range range;
    put_metadata(&b, "Somebody.Elses.CoreLib");
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    assert_int_equal(sw_clr_image_method(&image, image_base + CODE, &range), SW_OK);
    assert_int_equal(range.flags, 0);
    sw_clr_image_close(&image);
}

static void composite_image_has_ranges_and_rules_without_names(void **state)
{
    (void)state;
    struct bin b = make_composite();
    struct sw_clr_image image;
    struct sw_range range;
    struct sw_rule rule;
    char name[16];
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    assert_int_equal(image.method_count, 3);
    assert_int_equal(sw_clr_image_method(&image, image_base + CODE + 0x1f, &range), SW_OK);
    assert_true(range.id == image_base + CODE);
    assert_int_equal(sw_clr_image_rule(&image, image_base + CODE + 2, true, &rule), SW_OK);
    assert_int_equal(rule.cfa.off, 16);
    assert_int_equal(sw_clr_image_name(&image, image_base + CODE, name, sizeof name), SW_E_NOT_FOUND);
    sw_clr_image_close(&image);
}

/* What a composite image is told of dispatch: by the core library's component about its code, by nothing else. */
static const struct told {
    const char *name;
    const char *refers_to;   /* the manifest's first assembly; null: there is no manifest */
    uint32_t teller;         /* the type of the teller's first section: of a component, or of an image with code */
    const char *is_metadata; /* whose the teller's metadata is */
    uint16_t flags;
} tolds[] = {
    { "component_tells_the_composite_image", "System.Private.CoreLib", 116, "System.Private.CoreLib",
      SW_RANGE_EH_DISPATCH },
    { "code_of_another_assembly_is_none", "Other", 116, "System.Private.CoreLib", 0 },
    { "without_a_manifest_nothing_is_known", NULL, 116, "System.Private.CoreLib", 0 },
    { "another_component_tells_nothing", "System.Private.CoreLib", 116, "Other", 0 },
    { "a_core_library_with_code_tells_nothing", "System.Private.CoreLib", 102, "System.Private.CoreLib", 0 },
};

static uint16_t flags_at(const struct sw_clr_image *image, uint32_t function)
{
    struct sw_range range;
    assert_int_equal(sw_clr_image_method(image, image_base + CODE + 16 * function, &range), SW_OK);
    return range.flags;
}

static void composite_image_is_told_of_dispatch(void **state)
{
    const struct told *row = *state;
    struct bin b = make_composite(), t = make_image();
    struct sw_clr_image composite, teller;
    if (row->refers_to)
        put_manifest(&b, row->refers_to);
    at_rva(&b, INSTANCES)[6] = 1; /* instantiated is what has a dispatching method's number, in some module */
    put_le(at_rva(&t, RTR) + 16, row->teller, 4);
    put_metadata(&t, row->is_metadata);
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &composite), SW_OK);
    const enum sw_status status = open_bytes(t.bytes, IMAGE_BYTES, false, &teller);
    assert_int_equal(status, row->teller == 116 ? SW_E_UNSUPPORTED : SW_OK);
    assert_int_equal(flags_at(&composite, 0), 0);
    sw_clr_image_tell(&composite, &teller);
    assert_int_equal(sw_clr_image_has_dispatch(&composite), row->flags != 0);
    assert_int_equal(flags_at(&composite, 0), row->flags);
    assert_int_equal(flags_at(&composite, 1), row->flags | SW_RANGE_FUNCLET);
    assert_int_equal(flags_at(&composite, 2), 0);
    assert_int_equal(flags_at(&composite, 3), 0);
    sw_clr_image_close(&composite);
    if (status == SW_OK)
        sw_clr_image_close(&teller);
}

static void outside_of_all_functions_there_is_no_rule(void **state)
{
    (void)state;
    static const uint64_t outside[] = { 0, 0x1000, CODE - 1, CODE + 96, UINT64_C(0x100002000) };
    struct bin b = make_image();
    struct sw_clr_image image;
    struct sw_range range;
    struct sw_rule rule;
    char name[8];
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        assert_int_equal(sw_clr_image_method(&image, image_base + outside[i], &range), SW_E_NO_RULE);
        assert_int_equal(sw_clr_image_rule(&image, image_base + outside[i], true, &rule), SW_E_NO_RULE);
        assert_int_equal(sw_clr_image_name(&image, image_base + outside[i], name, sizeof name), SW_E_NOT_FOUND);
    }
    assert_int_equal(sw_clr_image_method(&image, 1, &range), SW_E_NO_RULE);
    assert_int_equal(sw_clr_image_name(&image, image_base + CODE, name, sizeof name), SW_OK);
    assert_string_equal(name, "System."); /* cut where it does not fit */
    sw_clr_image_close(&image);
}

static void image_rules_agree_with_its_instructions(void **state)
{
    (void)state;
    struct bin b = make_image();
    struct sw_clr_image image;
    assert_int_equal(open_bytes(b.bytes, IMAGE_BYTES, false, &image), SW_OK);
    struct flow flow = { .rule = image_rule, .arg = &image };
    flow.code = at_rva(&b, CODE);
    flow.size = 16;
    flow.address = image_base + CODE;
    flow_run(&flow);
    if (flow.wrong)
        fail_msg("%s", flow.first_wrong);
    assert_int_equal(flow.ends, 1);
    assert_int_equal(flow.calls, 1);
    sw_clr_image_close(&image);
}

/* One field changed, one answer. */
static const struct refusal_row {
    const char *name;
    uint32_t at; /* offset in the file */
    uint32_t value;
    unsigned size;
    enum sw_status status;
} refusal_rows[] = {
    { "not_a_pe_file_is_refused", 0, 0, 2, SW_E_MALFORMED },
    { "no_pe_signature_is_refused", 0x80, 0x454e, 2, SW_E_MALFORMED },
    { "another_machine_is_refused", 0x84, 0x14c, 2, SW_E_UNSUPPORTED },
    { "pe32_is_refused", 0x98, 0x10b, 2, SW_E_UNSUPPORTED },
    { "il_only_image_has_no_code", FILE_AT + 64, 0, 4, SW_E_NOT_FOUND },
    { "bad_signature_is_refused", FILE_AT + 0x100, 0x525453, 4, SW_E_MALFORMED },
    { "older_major_version_is_refused", FILE_AT + 0x104, 8, 2, SW_E_UNSUPPORTED },
    { "the_version_of_net_8_is_known", FILE_AT + 0x104, 9, 2, SW_OK },
    { "the_version_of_net_9_is_known", FILE_AT + 0x104, 10, 2, SW_OK },
    { "a_version_of_no_release_is_refused", FILE_AT + 0x104, 11, 2, SW_E_UNSUPPORTED },
    { "newer_major_version_is_refused", FILE_AT + 0x104, 17, 2, SW_E_UNSUPPORTED },
    { "section_count_beyond_the_file_is_refused", FILE_AT + 0x10c, 0x10000000, 4, SW_E_MALFORMED },
    { "function_table_outside_the_image_is_refused", FILE_AT + 0x114, 0x100000, 4, SW_E_MALFORMED },
    { "header_without_a_function_table_has_no_code", FILE_AT + 0x110, 107, 4, SW_E_NOT_FOUND },
    { "component_of_a_composite_image_is_refused", FILE_AT + 0x110, 116, 4, SW_E_UNSUPPORTED },
    { "entry_point_beyond_the_table_is_refused", FILE_AT + 0x308, (63 << 1) << 1, 1, SW_E_MALFORMED },
    { "more_methods_than_offsets_of_them_is_refused", FILE_AT + 0x300, 0x3fffff07, 4, SW_E_MALFORMED },
    { "empty_metadata_costs_only_the_names", FILE_AT + 12, 0, 4, SW_OK },
    { "unknown_type_in_a_signature_costs_only_the_name", FILE_AT + 0x40c, 0x44, 1, SW_OK },
};

static void image_is_answered(void **state)
{
    const struct refusal_row *row = *state;
    struct bin b = make_image();
    struct sw_clr_image image;
    put_le(b.bytes + row->at, row->value, row->size);
    const enum sw_status status = open_bytes(b.bytes, IMAGE_BYTES, false, &image);
    if (status == SW_OK)
        sw_clr_image_close(&image);
    assert_int_equal(status, row->status);
    assert_int_equal(budget.blocks, 0);
}

static void exercise(const uint8_t *bytes, size_t size)
{
    struct sw_clr_image image;
    if (open_bytes(bytes, size, false, &image))
        return;
    for (uint32_t i = 0; i < 100; i += 3) {
        struct sw_range range;
        struct sw_rule rule;
        char name[32];
        const uint64_t address = image_base + CODE + i;
        if (sw_clr_image_method(&image, address, &range) == SW_OK)
            assert_true(range.begin <= address && address < range.end);
        if (sw_clr_image_rule(&image, address, true, &rule) == SW_OK)
            assert_int_equal(rule.source, SW_SOURCE_UNWIND_CODES);
        if (i % 16 == 0 && sw_clr_image_name(&image, address, name, sizeof name) == SW_OK)
            assert_true(strlen(name) < sizeof name);
    }
    sw_clr_image_close(&image);
}

static void image_cut_at_every_byte_is_survived(void **state)
{
    (void)state;
    for (int composite = 0; composite < 2; composite++) {
        struct bin b = composite ? make_composite() : make_image();
        if (composite)
            put_manifest(&b, "System.Private.CoreLib");
        for (size_t size = 0; size < IMAGE_BYTES; size++) {
            uint8_t *cut = malloc(size + 1);
            memcpy(cut, b.bytes, size);
            uint8_t *exact = realloc(cut, size ? size : 1);
            exercise(exact, size);
            free(exact);
        }
    }
    assert_int_equal(budget.blocks, 0);
}

static void image_with_any_byte_changed_is_survived(void **state)
{
    (void)state;
    static const uint8_t values[] = { 0x00, 0xff, 0x7f };
    struct bin b = make_image();
    for (size_t at = 0; at < IMAGE_BYTES; at++) {
        const uint8_t before = b.bytes[at];
        for (size_t v = 0; v < COUNT_OF(values) && (before || at % 4 == 0); v++) {
            b.bytes[at] = values[v];
            exercise(b.bytes, IMAGE_BYTES);
        }
        b.bytes[at] = before;
    }
    assert_int_equal(budget.blocks, 0);
}

static void failing_allocation_is_a_status(void **state)
{
    (void)state;
    const struct bin b = make_image();
    for (size_t left = 0; left < 3; left++) {
        struct budget few = { .left = left };
        const struct sw_alloc alloc = { budget_get, budget_put, &few };
        struct sw_clr_image image;
        struct sw_pe pe;
        assert_int_equal(sw_pe_open((struct sw_bytes){ b.bytes, IMAGE_BYTES, 0 }, false, &pe), SW_OK);
        assert_int_equal(sw_clr_image_open(&pe, &alloc, &image), left < 2 ? SW_E_NO_MEMORY : SW_OK);
        if (left == 2)
            sw_clr_image_close(&image);
        assert_int_equal(few.blocks, 0);
        assert_int_equal(sw_clr_image_open(&pe, NULL, &image), SW_E_ARGUMENT);
    }
}

/* ---- integers ---- */

static const struct varint_row {
    const char *name;
    uint8_t bytes[5];
    uint8_t size;
    bool ok;
    uint32_t value;
    int32_t with_sign;
} varint_rows[] = {
    { "varint_of_one_byte", { 0x7e << 1 & 0xff }, 1, true, 0x7e, -2 },
    { "varint_of_two_bytes", { 0x01 | 0x0c, 0x80 }, 2, true, 0x2003, -0x1ffd },
    { "varint_of_three_bytes", { 0x03, 0x00, 0x40 }, 3, true, 0x80000, 0x80000 },
    { "varint_of_four_bytes", { 0x07, 0x00, 0x00, 0xf0 }, 4, true, 0xf000000, -0x1000000 },
    { "varint_of_five_bytes", { 0x0f, 0x78, 0x56, 0x34, 0x92 }, 5, true, 0x92345678, (int32_t)0x92345678 },
    { "varint_without_a_form_is_refused", { 0x1f, 0, 0, 0, 0 }, 5, false, 0, 0 },
    { "varint_cut_short_is_refused", { 0x0f, 0, 0, 0 }, 4, false, 0, 0 },
    { "varint_of_no_bytes_is_refused", { 0 }, 0, false, 0, 0 },
};

static void varint_is_read(void **state)
{
    const struct varint_row *row = *state;
    uint64_t at = 0;
    uint32_t value = 0;
    int32_t with_sign = 0;
    const struct sw_bytes bytes = { row->bytes, row->size, 0 };
    assert_int_equal(sw_clr_varint(bytes, &at, &value), row->ok);
    if (!row->ok)
        return;
    assert_int_equal(at, row->size);
    assert_int_equal(value, row->value);
    at = 0;
    assert_true(sw_clr_varint_signed(bytes, &at, &with_sign));
    assert_int_equal(with_sign, row->with_sign);
}

/* ---- JIT headers ---- */

static const struct jit_row {
    const char *name;
    uint32_t offset;
    uint8_t cfa_reg;
    int32_t cfa_off;
    int32_t rbp; /* offset from the CFA, 0: unchanged */
} jit_rows[] = {
    { "jit_at_entry", 0x00, SW_X64_RSP, 8, 0 },
    { "jit_after_push_rbp", 0x01, SW_X64_RSP, 16, -16 },
    { "jit_after_push_rbx", 0x02, SW_X64_RSP, 24, -16 },
    { "jit_after_push_rax", 0x03, SW_X64_RSP, 32, -16 },
    { "jit_body_counts_from_rbp", 0x08, SW_X64_RBP, 16, -16 },
    { "jit_body_after_localloc", 0x0b, SW_X64_RBP, 16, -16 },
    { "jit_epilogue_begins", 0x10, SW_X64_RBP, 16, -16 },
    { "jit_epilogue_after_lea", 0x14, SW_X64_RSP, 24, -16 },
    { "jit_epilogue_after_pop_rbx", 0x15, SW_X64_RSP, 16, -16 },
    { "jit_at_ret", 0x16, SW_X64_RSP, 8, 0 },
    { "jit_funclet_at_entry", 0x40, SW_X64_RSP, 8, 0 },
    { "jit_funclet_does_not_save_rbp", 0x41, SW_X64_RSP, 16, 0 },
    { "jit_funclet_at_ret", 0x46, SW_X64_RSP, 8, 0 },
};

static void jit_rule_is_found(void **state)
{
    const struct jit_row *row = *state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    struct sw_clr_jit_code about = { 0 };
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + row->offset, true,
                                     &rule, &about),
                     SW_OK);
    assert_true(about.function == METHOD);
    assert_int_equal(about.flags, row->offset < 0x30 ? 0 : SW_RANGE_FUNCLET);
    assert_int_equal(rule.source, SW_SOURCE_CLR_HEADER);
    assert_int_equal(rule.trust, SW_TRUST_EXACT);
    assert_int_equal(rule.cfa.kind, SW_LOC_REG);
    assert_int_equal(rule.cfa.reg, row->cfa_reg);
    assert_int_equal(rule.cfa.off, row->cfa_off);
    assert_int_equal(rule.r[SW_X64_RBP].kind, row->rbp ? SW_LOC_AT_CFA : SW_LOC_SAME);
    assert_int_equal(rule.r[SW_X64_RBP].off, row->rbp);
}

/* Header and unwind data are gone: nothing of them is read again. */
static void say_again(const struct jit_row *row, bool exact)
{
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    const uint64_t pc = START + row->offset;
    struct sw_clr_jit_code about;
    struct sw_rule first, again;
    memset(&first, 0, sizeof first);
    memset(&again, 0, sizeof again);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START, true, &first, &about), SW_OK);
    assert_in_range(about.main.info_size, 4, SW_CLR_JIT_INFO);
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, pc, exact, &first, NULL),
                     SW_OK);
    memset(j.header, 0xee, sizeof j.header);
    memset(j.heap + 0x160, 0xee, 16);
    const enum sw_status status = sw_clr_jit_main_rule(SW_MACHINE_X64, true, &memory, &about.main, pc, exact, &again);
    assert_int_equal(status, row->offset < 0x30 ? SW_OK : SW_E_NO_RULE);
    if (status == SW_OK)
        assert_memory_equal(&first, &again, sizeof first);
    assert_int_equal(
        sw_clr_jit_main_rule(SW_MACHINE_X64, true, &memory, &about.main, about.main.base - 1, true, &again),
        SW_E_NO_RULE);
}

static void a_header_that_was_read_before_says_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(jit_rows); i++) {
        say_again(&jit_rows[i], true);
        say_again(&jit_rows[i], false);
    }
}

/* One word of the header changed: none of it is believed. */
static const struct jit_bad_row {
    const char *name;
    bool in_heap;
    uint32_t at;
    uint64_t value;
    unsigned size;
    enum sw_status status;
} jit_bad_rows[] = {
    { "no_header_pointer", true, 0xf8, 0, 8, SW_E_UNREADABLE },
    { "header_pointer_into_nowhere", true, 0xf8, UINT64_C(0xfffffffffffffff8), 8, SW_E_UNREADABLE },
    { "odd_header_pointer", true, 0xf8, HEADER + 1, 8, SW_E_UNREADABLE },
    { "no_method", false, 24, 0, 8, SW_E_NO_RULE },
    { "no_functions", false, 32, 0, 4, SW_E_NO_RULE },
    { "too_many_functions", false, 32, 65, 4, SW_E_NO_RULE },
    { "functions_beyond_the_readable", false, 32, 64, 4, SW_E_NO_RULE },
    { "heap_base_not_aligned", false, 36, 0x108, 4, SW_E_NO_RULE },
    { "heap_base_below_zero", false, 36, 0x20000000, 4, SW_E_NO_RULE },
    { "empty_function", false, 40, 0x100, 4, SW_E_NO_RULE },
    { "function_beyond_the_range", false, 52, 0x161, 4, SW_E_NO_RULE },
    { "functions_overlap", false, 48, 0x13f, 4, SW_E_NO_RULE },
    { "unwind_info_not_aligned", false, 44, 0x162, 4, SW_E_NO_RULE },
    { "unwind_info_inside_the_code", false, 44, 0x120, 4, SW_E_NO_RULE },
    { "unwind_info_not_readable", false, 44, 0x800, 4, SW_E_UNREADABLE },
    { "another_version", true, 0x160, 0x1a, 1, SW_E_NO_RULE },
    { "no_handler_flags", true, 0x160, 0x01, 1, SW_E_NO_RULE },
    { "personality_elsewhere", true, 0x16c, 0x44, 4, SW_E_NO_RULE },
    { "unknown_operation", true, 0x165, 0x0d, 1, SW_E_NO_RULE },
};

/*
 * On Windows the runtime makes room for more functions than the JIT has: what stands behind the last one is not looked
 * at. And rsi and rdi are nonvolatile there. The same header on Linux is none, and there they are lost.
 */
static void a_jit_header_of_windows_has_room_left(void **state)
{
    static const uint32_t left[][3] = { { 0, 0, 0 }, { 0x118e7d0, 0, 0x118e600 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        struct jit j = make_jit();
        const struct sw_memory memory = memory_of(&j);
        struct sw_rule rule;
        uint64_t code_end, function;
        put_words(j.header + 36 + 12, left[i], 3);
        assert_int_equal(
            sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 9, true, &rule, NULL),
            SW_E_NO_RULE);
        assert_int_equal(
            sw_clr_jit_rule(SW_MACHINE_X64, false, &memory, START, START + CODE_SIZE, START + 9, true, &rule, NULL),
            SW_OK);
        assert_int_equal(rule.r[SW_X64_RSI].kind, SW_LOC_SAME);
        assert_int_equal(rule.r[SW_X64_RDI].kind, SW_LOC_SAME);
        assert_int_equal(
            sw_clr_jit_extent(SW_MACHINE_X64, false, &memory, START, START + CODE_SIZE, &code_end, &function), SW_OK);
        assert_int_equal(code_end, START + 0x40);
        assert_int_equal(
            sw_clr_jit_rule(SW_MACHINE_X64, false, &memory, START, START + CODE_SIZE, START + 0x41, true, &rule, NULL),
            SW_E_NO_RULE);
        put_words(j.header + 36, left[i], 3);
        assert_int_equal(
            sw_clr_jit_rule(SW_MACHINE_X64, false, &memory, START, START + CODE_SIZE, START + 9, true, &rule, NULL),
            SW_E_NO_RULE);
    }
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 9, true, &rule, NULL), SW_OK);
    assert_int_equal(rule.r[SW_X64_RSI].kind, SW_LOC_UNKNOWN);
}

static void bad_jit_header_is_not_believed(void **state)
{
    const struct jit_bad_row *row = *state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    put_le((row->in_heap ? j.heap : j.header) + row->at, row->value, row->size);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 9, true, &rule, NULL),
        row->status);
}

static void heap_of_dynamic_methods_is_known_by_its_personality(void **state)
{
    (void)state;
    static const uint8_t personality[] = { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xe0 };
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    j.heap_at = HEAP + 0x10;
    const uint64_t start = START + 0x10;
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, start, start + CODE_SIZE, start, true, &rule, NULL),
                     SW_E_NO_RULE);
    memcpy(j.heap, personality, sizeof personality);
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, start, start + CODE_SIZE, start, true, &rule, NULL),
                     SW_OK);
}

/* ---- JIT headers of ARM64 ---- */

/* A method with a frame record and a funclet, by win-arm64-unwind.md section 7: records with a handler at RVA 0. */
static struct jit make_arm64_jit(void)
{
    static const uint32_t body[] = { 0xa9be7bfd /* stp x29, x30, [sp, #-32]! */, 0x910003fd /* mov x29, sp */,
                                     0x94000000 /* bl */, 0xa8c27bfd /* ldp x29, x30, [sp], #32 */,
                                     0xd65f03c0 /* ret */ };
    static const uint32_t body_record[] = { 5 | 1u << 20 | 1u << 22 | 1u << 27, 3 | 1u << 22, 0xe4e483e1, 0 };
    static const uint32_t funclet[] = { 0xa9bf7bfd, 0xa8c17bfd, 0xd65f03c0 };
    static const uint32_t funclet_record[] = { 3 | 1u << 20 | 1u << 21 | 1u << 27, 0xe4e4e481, 0 };
    static const uint32_t entries[] = { 2, 0x100, 0x160, 0x114, 0x170 };
    struct jit j;
    memset(&j, 0, sizeof j);
    j.heap_at = HEAP;
    put_le(j.heap + 0x100 - 8, HEADER, 8);
    put_words(j.heap + 0x100, body, COUNT_OF(body));
    put_words(j.heap + 0x114, funclet, COUNT_OF(funclet));
    put_words(j.heap + 0x160, body_record, COUNT_OF(body_record));
    put_words(j.heap + 0x170, funclet_record, COUNT_OF(funclet_record));
    put_le(j.header + 24, METHOD, 8);
    put_words(j.header + 32, entries, COUNT_OF(entries));
    return j;
}

static const struct arm64_jit_row {
    const char *name;
    uint32_t offset;
    uint8_t cfa_reg;
    int32_t cfa_off; /* also where x29 and the return address are: at the bottom of the frame */
    bool is_saved;
    uint16_t flags;
} arm64_jit_rows[] = {
    { "arm64_jit_at_entry", 0x00, SW_ARM64_SP, 0, false, 0 },
    { "arm64_jit_after_stp", 0x04, SW_ARM64_SP, 32, true, 0 },
    { "arm64_jit_body_counts_from_x29", 0x08, SW_ARM64_FP, 32, true, 0 },
    { "arm64_jit_epilogue", 0x0c, SW_ARM64_SP, 32, true, 0 },
    { "arm64_jit_at_ret", 0x10, SW_ARM64_SP, 0, false, 0 },
    { "arm64_jit_funclet_at_entry", 0x14, SW_ARM64_SP, 0, false, SW_RANGE_FUNCLET },
    { "arm64_jit_funclet_after_stp", 0x18, SW_ARM64_SP, 16, true, SW_RANGE_FUNCLET },
    { "arm64_jit_funclet_at_ret", 0x1c, SW_ARM64_SP, 0, false, SW_RANGE_FUNCLET },
};

static void arm64_jit_rule_is_found(void **state)
{
    const struct arm64_jit_row *row = *state;
    struct jit j = make_arm64_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_clr_jit_code about = { 0 };
    struct sw_rule rule;
    for (uint32_t inside = 0; inside < 4; inside++) {
        assert_int_equal(sw_clr_jit_rule(SW_MACHINE_ARM64, true, &memory, START, START + CODE_SIZE,
                                         START + row->offset + inside, inside == 0, &rule, &about),
                         SW_OK);
        assert_true(about.function == METHOD && about.flags == row->flags);
        assert_int_equal(rule.source, SW_SOURCE_CLR_HEADER);
        assert_true(rule.cfa.kind == SW_LOC_REG && rule.cfa.reg == row->cfa_reg && rule.cfa.off == row->cfa_off);
        assert_int_equal(rule.r[SW_ARM64_FP].kind, row->is_saved ? SW_LOC_AT_CFA : SW_LOC_SAME);
        assert_int_equal(rule.r[SW_ARM64_PC].kind, row->is_saved ? SW_LOC_AT_CFA : SW_LOC_REG);
        assert_int_equal(rule.r[SW_ARM64_PC].off, row->is_saved ? 8 - row->cfa_off : 0);
    }
}

static const struct jit_bad_row arm64_jit_bad_rows[] = {
    { "arm64_no_functions", false, 32, 0, 4, SW_E_NO_RULE },
    { "arm64_functions_beyond_the_readable", false, 32, 64, 4, SW_E_NO_RULE },
    { "arm64_heap_base_not_aligned", false, 36, 0x108, 4, SW_E_NO_RULE },
    { "arm64_functions_overlap", false, 44, 0x110, 4, SW_E_NO_RULE },
    { "arm64_function_not_aligned", false, 44, 0x116, 4, SW_E_NO_RULE },
    { "arm64_packed_function", false, 40, 0x01200015, 4, SW_E_NO_RULE },
    { "arm64_reserved_entry", false, 40, 0x163, 4, SW_E_NO_RULE },
    { "arm64_record_inside_the_code", false, 40, 0x10c, 4, SW_E_NO_RULE },
    { "arm64_record_not_readable", false, 40, 0x800, 4, SW_E_UNREADABLE },
    { "arm64_another_version", true, 0x162, 0x54, 1, SW_E_NO_RULE },
    { "arm64_no_handler", true, 0x162, 0x40, 1, SW_E_NO_RULE },
    { "arm64_personality_elsewhere", true, 0x16c, 0x44, 4, SW_E_NO_RULE },
    { "arm64_longer_than_its_range", true, 0x161, 0x10, 1, SW_E_NO_RULE },
    { "arm64_unknown_frame", true, 0x168, 0xeb, 1, SW_E_NO_RULE },
};

static void bad_arm64_jit_header_is_not_believed(void **state)
{
    const struct jit_bad_row *row = *state;
    struct jit j = make_arm64_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    uint64_t end, function;
    assert_int_equal(sw_clr_jit_extent(SW_MACHINE_ARM64, true, &memory, START, START + CODE_SIZE, &end, &function),
                     SW_OK);
    assert_true(end == START + 0x20 && function == METHOD);
    put_le((row->in_heap ? j.heap : j.header) + row->at, row->value, row->size);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_ARM64, true, &memory, START, START + CODE_SIZE, START + 8, true, &rule, NULL),
        row->status);
}

static void arm64_heap_of_dynamic_methods_is_known_by_its_personality(void **state)
{
    (void)state;
    static const uint32_t personality[] = { 0x58000050, 0xd61f0200, 1, 2 };
    struct jit j = make_arm64_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    j.heap_at = HEAP + 0x10;
    const uint64_t start = START + 0x10, end = start + CODE_SIZE;
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_ARM64, true, &memory, start, end, start, true, &rule, NULL),
                     SW_E_NO_RULE);
    put_words(j.heap, personality, COUNT_OF(personality));
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_ARM64, true, &memory, start, end, start, true, &rule, NULL), SW_OK);
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, start, end, start, true, &rule, NULL),
                     SW_E_NO_RULE);
}

static void pc_between_functions_has_no_jit_rule(void **state)
{
    (void)state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    put_le(j.header + 40, 0x130, 4);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 0x2f, true, &rule, NULL),
        SW_OK);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 0x30, true, &rule, NULL),
        SW_E_NO_RULE);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 0x60, true, &rule, NULL),
        SW_E_NO_RULE);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START - 1, true, &rule, NULL),
        SW_E_NO_RULE);
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START, START, true, &rule, NULL),
                     SW_E_NO_RULE);
}

/* The bytes of section 9's OSR sample: the whole Tier-0 frame is there from the first instruction on. */
static void osr_method_has_its_tier_0_frame_from_the_start(void **state)
{
    (void)state;
    static const uint8_t info[] = { 0x19, 0x18, 0x0a, 0x00, 0x18, 0x34, 0x0d, 0x00, 0x13, 0xe4, 0x0e, 0x00, 0x0e, 0xf4,
                                    0x0f, 0x00, 0x09, 0x32, 0x05, 0x02, 0x00, 0xa2, 0x00, 0x50, 0,    0,    0,    0 };
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    struct sw_rule rule;
    memset(j.heap + 0x100, 0x90, 0x60);
    memcpy(j.heap + 0x160, info, sizeof info);
    put_le(j.header + 32, 1, 4);
    put_le(j.header + 40, 0x160, 4);
    assert_int_equal(sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START, true, &rule, NULL),
                     SW_OK);
    assert_int_equal(rule.cfa.off, 88 + 8 + 8);
    assert_int_equal(rule.r[SW_X64_RBP].off, -16);
    assert_int_equal(rule.r[SW_X64_RBX].kind, SW_LOC_SAME);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 0x20, true, &rule, NULL),
        SW_OK);
    assert_int_equal(rule.cfa.off, 32 + 8 + 88 + 8 + 8);
    assert_int_equal(rule.r[SW_X64_RBX].off, 0x68 - 144);
    assert_int_equal(rule.r[SW_X64_R14].off, 0x70 - 144);
    assert_int_equal(rule.r[SW_X64_R15].off, 0x78 - 144);
}

/* ---- what its EH clauses say of a funclet ---- */

enum { CLAUSES = 0x100, FUNCLET_AT = 0x40 }; /* in the header's page; the funclet's offset */

/*
 * One clause, number `index` of `count`; type_or_filter: a class for a handler, where the filter begins for a filter.
 */
static const struct clause_row {
    const char *name;
    uint64_t list; /* where the header says the clauses are */
    uint64_t count;
    uint32_t index, flags, handler, type_or_filter;
    uint32_t flag; /* of the funclet */
} clause_rows[] = {
    { "funclet_without_clauses", 0, 1, 0, 1, 0, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "filter_clause_names_it", HEADER + CLAUSES, 1, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FILTER },
    { "filter_clause_with_other_flags", HEADER + CLAUSES, 1, 0, 5, 0x50, FUNCLET_AT, SW_RANGE_FILTER },
    { "last_of_ten_clauses_names_it", HEADER + CLAUSES, 10, 9, 1, 0x50, FUNCLET_AT, SW_RANGE_FILTER },
    { "clause_behind_the_last", HEADER + CLAUSES, 9, 9, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "handler_of_a_filter_clause", HEADER + CLAUSES, 1, 0, 1, FUNCLET_AT, 0x50, SW_RANGE_FUNCLET },
    { "class_that_looks_like_its_offset", HEADER + CLAUSES, 1, 0, 0, FUNCLET_AT, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "no_clauses", HEADER + CLAUSES, 0, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "more_clauses_than_there_can_be", HEADER + CLAUSES, 4097, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "clauses_without_end", HEADER + CLAUSES, UINT64_MAX, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "readable_clauses_come_first", HEADER + CLAUSES, 4096, 7, 1, 0x50, FUNCLET_AT, SW_RANGE_FILTER },
    { "clauses_beyond_the_readable", HEADER + CLAUSES, 4096, 20, 1, 0x50, 0, SW_RANGE_FUNCLET },
    { "odd_pointer_to_clauses", HEADER + CLAUSES + 1, 1, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "clauses_elsewhere", UINT64_MAX - 7, 1, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
    { "clauses_at_0", 4, 1, 0, 1, 0x50, FUNCLET_AT, SW_RANGE_FUNCLET },
};

static void clause_tells_filters_from_handlers(void **state)
{
    const struct clause_row *row = *state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    const uint64_t list = row->list - HEADER < 0x200 ? row->list - HEADER : CLAUSES;
    uint8_t *clause = j.header + list + 8 + 32 * row->index;
    struct sw_clr_jit_code about;
    struct sw_rule rule;
    put_le(j.header + 8, row->list, 8);
    put_le(j.header + list - 8, row->count, 8);
    put_le(clause, row->flags, 4);
    put_le(clause + 12, row->handler, 4);
    put_le(clause + 24, row->type_or_filter, 4);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 0x42, true, &rule, &about),
        SW_OK);
    assert_int_equal(about.flags, row->flag);
    assert_true(about.function == METHOD);
    assert_int_equal(
        sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + 2, true, &rule, &about),
        SW_OK);
    assert_int_equal(about.flags, 0);
}

/* ---- how far a method reaches ---- */

static const struct extent_row {
    const char *name;
    uint64_t begin, limit;
    enum sw_status status;
} extent_rows[] = {
    { "method_with_its_funclet", START, HEAP + 0x10000, SW_OK },
    { "limit_at_its_end", START, START + CODE_SIZE + 0x10, SW_OK },
    { "limit_in_front_of_its_end", START, START + CODE_SIZE - 1, SW_E_NO_RULE },
    { "limit_at_its_begin", START, START, SW_E_NO_RULE },
    { "limit_below_its_begin", START, 0, SW_E_NO_RULE },
    { "limit_beyond_4_gib", START, UINT64_MAX, SW_E_NO_RULE },
    { "begin_without_a_header", START + 8, HEAP + 0x10000, SW_E_UNREADABLE },
    { "begin_at_0", 0, HEAP, SW_E_UNREADABLE },
    { "begin_at_the_end_of_the_address_space", UINT64_MAX - 15, UINT64_MAX, SW_E_UNREADABLE },
};

static void extent_is_answered(void **state)
{
    const struct extent_row *row = *state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    uint64_t end = 0;
    uint64_t function = 0;
    assert_int_equal(sw_clr_jit_extent(SW_MACHINE_X64, true, &memory, row->begin, row->limit, &end, &function),
                     row->status);
    assert_true(end == (row->status ? 0 : START + CODE_SIZE));
    assert_true(function == (row->status ? 0 : METHOD));
}

/* What is refused of a header for a rule is refused for its extent, but for the codes, which are not looked at. */
static void extent_of_a_bad_jit_header_is_not_believed(void **state)
{
    const struct jit_bad_row *row = *state;
    struct jit j = make_jit();
    const struct sw_memory memory = memory_of(&j);
    const bool in_codes = row->in_heap && row->at == 0x165;
    uint64_t end = 0;
    uint64_t function = 0;
    put_le((row->in_heap ? j.heap : j.header) + row->at, row->value, row->size);
    assert_int_equal(sw_clr_jit_extent(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, &end, &function),
                     in_codes ? SW_OK : row->status);
}

/* A header that is written over while it is read: the last function reaches far from read number `from` on. */
struct changing {
    struct jit *j;
    unsigned reads;
    unsigned from;
};

static size_t read_changing(void *arg, uint64_t address, void *to, size_t size)
{
    struct changing *changing = arg;
    if (changing->reads++ == changing->from)
        put_le(changing->j->header + 52, 0xfffffff0, 4);
    return read_jit(changing->j, address, to, size);
}

static void extent_of_a_changing_header_keeps_its_limit(void **state)
{
    (void)state;
    const uint64_t limit = HEAP + 0x1000;
    for (unsigned from = 0; from < 12; from++) {
        struct jit j = make_jit();
        struct changing changing = { &j, 0, from };
        const struct sw_memory memory = { read_changing, &changing, { 0, 0, NULL } };
        uint64_t end = 0;
        uint64_t function;
        const enum sw_status status = sw_clr_jit_extent(SW_MACHINE_X64, true, &memory, START, limit, &end, &function);
        assert_true(status == SW_OK || status == SW_E_NO_RULE);
        assert_true(end <= limit);
    }
}

/* Reads are counted. sparing: of a piece that is not all there, nothing is given. */
struct counted {
    struct jit *j;
    unsigned reads;
    bool sparing;
};

static size_t read_counted(void *arg, uint64_t address, void *to, size_t size)
{
    struct counted *counted = arg;
    counted->reads++;
    const size_t got = read_jit(counted->j, address, to, size);
    return counted->sparing && got != size ? 0 : got;
}

static enum sw_status rule_at(struct counted *counted, uint32_t offset, struct sw_rule *rule)
{
    const struct sw_memory memory = { read_counted, counted, { 0, 0, NULL } };
    counted->reads = 0;
    return sw_clr_jit_rule(SW_MACHINE_X64, true, &memory, START, START + CODE_SIZE, START + offset, true, rule, NULL);
}

/* The header's address, the header with its functions, the unwind data, the instructions for an epilogue. */
static void jit_rule_takes_four_reads(void **state)
{
    struct jit j = make_jit();
    struct counted counted = { .j = &j };
    struct sw_rule rule;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(jit_rows); i++) {
        assert_int_equal(rule_at(&counted, jit_rows[i].offset, &rule), SW_OK);
        assert_in_range(counted.reads, 3, 4);
    }
}

/* ---- a header in walks ---- */

enum { STACK_AT = 0x50000 };
static struct jitted {
    struct jit j;
    unsigned header_reads;
    uint8_t stack[512];
} jitted;

static size_t read_jitted(void *arg, uint64_t address, void *to, size_t size)
{
    struct jitted *from = arg;
    if (address >= STACK_AT && address - STACK_AT + size <= sizeof from->stack) {
        memcpy(to, from->stack + (address - STACK_AT), size);
        return size;
    }
    from->header_reads += address >= HEADER && address < HEADER + sizeof from->j.header;
    return read_jit(&from->j, address, to, size);
}

static bool no_frame(void *arg, const struct sw_frame *frame)
{
    (void)arg, (void)frame;
    return true;
}

static unsigned header_reads_of_a_walk(const struct sw_walker *walker, uint64_t pc)
{
    static struct sw_scratch scratch;
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, 0);
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, STACK_AT);
    sw_regs_set(&regs, SW_X64_RBP, STACK_AT + 32);
    jitted.header_reads = 0;
    assert_int_not_equal(sw_walk_all(walker, &scratch, &regs, no_frame, NULL), SW_STOP_BAD_START);
    return jitted.header_reads;
}

/* Another range is compiled near it: nothing is forgotten. Its own goes, and comes again: it is read again. */
static void a_header_is_read_once_until_its_code_goes(void **state)
{
    const struct sw_range code = {
        .begin = START, .end = START + CODE_SIZE, .id = METHOD, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_CLR_HEADER
    };
    const struct sw_range near = { .begin = START + 0x80, .end = START + 0x90, .id = 8, .kind = SW_KIND_JIT };
    struct sw_walker walker = { .machine = SW_MACHINE_X64, .memory = { .read = read_jitted, .arg = &jitted } };
    struct sw_analysis_cache *cache;
    struct sw_codemap *map;
    (void)state;
    jitted.j = make_jit();
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    assert_int_equal(sw_analysis_cache_create(NULL, 1 << 16, &cache), SW_OK);
    assert_int_equal(sw_codemap_add(map, &code), SW_OK);
    walker.codemap = map;
    assert_true(header_reads_of_a_walk(&walker, START + 8) > 0);
    assert_true(header_reads_of_a_walk(&walker, START + 8) > 0); /* nothing is kept where there is no cache */
    walker.analysis_cache = cache;
    assert_true(header_reads_of_a_walk(&walker, START + 8) > 0);
    assert_int_equal(header_reads_of_a_walk(&walker, START + 0xb), 0);
    assert_int_equal(sw_codemap_add(map, &near), SW_OK);
    assert_int_equal(header_reads_of_a_walk(&walker, START + 3), 0);
    assert_true(header_reads_of_a_walk(&walker, START + 0x41) > 0); /* a funclet */
    assert_int_equal(sw_codemap_remove(map, START), SW_OK);
    assert_int_equal(sw_codemap_add(map, &code), SW_OK);
    assert_true(header_reads_of_a_walk(&walker, START + 3) > 0);
    assert_int_equal(header_reads_of_a_walk(&walker, START + 8), 0);
    sw_analysis_cache_destroy(cache);
    sw_codemap_destroy(map);
}

/* Header and unwind data stand at the end of what can be read. */
static void jit_rule_needs_no_more_than_it_says(void **state)
{
    struct jit j = make_jit();
    struct counted counted = { .j = &j, .sparing = true };
    struct sw_rule rule;
    (void)state;
    memmove(j.header + sizeof j.header - 64, j.header, 64);
    put_le(j.heap + 0x100 - 8, HEADER + sizeof j.header - 64, 8);
    memcpy(j.heap + sizeof j.heap - 16, j.heap + 0x160, 16);
    put_le(j.header + sizeof j.header - 64 + 44, sizeof j.heap - 16, 4);
    assert_int_equal(rule_at(&counted, 8, &rule), SW_OK);
    assert_int_equal(rule.cfa.reg, SW_X64_RBP);
    put_le(j.header + sizeof j.header - 64 + 44, sizeof j.heap - 12, 4);
    assert_int_not_equal(rule_at(&counted, 8, &rule), SW_OK);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(jit_rule_takes_four_reads),
        cmocka_unit_test(a_header_that_was_read_before_says_the_same),
        cmocka_unit_test(a_header_is_read_once_until_its_code_goes),
        cmocka_unit_test(jit_rule_needs_no_more_than_it_says),
        cmocka_unit_test(a_stored_image_answers_and_reads_no_table_before),
        cmocka_unit_test(funclets_and_cold_parts_fold_into_their_method),
        cmocka_unit_test(functions_of_an_arm64_image_fold_alike),
        cmocka_unit_test(arm64_image_has_a_rule_at_every_instruction),
        cmocka_unit_test(arm64_heap_of_dynamic_methods_is_known_by_its_personality),
        cmocka_unit_test(mapped_layout_gives_the_same),
        cmocka_unit_test(hiding_dispatch_is_for_the_core_library_only),
        cmocka_unit_test(composite_image_has_ranges_and_rules_without_names),
        cmocka_unit_test(outside_of_all_functions_there_is_no_rule),
        cmocka_unit_test(image_rules_agree_with_its_instructions),
        cmocka_unit_test(image_cut_at_every_byte_is_survived),
        cmocka_unit_test(image_with_any_byte_changed_is_survived),
        cmocka_unit_test(failing_allocation_is_a_status),
        cmocka_unit_test(a_jit_header_of_windows_has_room_left),
        cmocka_unit_test(heap_of_dynamic_methods_is_known_by_its_personality),
        cmocka_unit_test(pc_between_functions_has_no_jit_rule),
        cmocka_unit_test(osr_method_has_its_tier_0_frame_from_the_start),
        cmocka_unit_test(extent_of_a_changing_header_keeps_its_limit),
        cmocka_unit_test(corelib_rules_agree_with_its_instructions),
        cmocka_unit_test(json_rules_agree_with_its_instructions),
        cmocka_unit_test(handlers_of_corelib_fold_into_their_methods),
        cmocka_unit_test(every_function_of_corelib_has_a_method_and_a_name),
        cmocka_unit_test(tables_of_corelib_are_used_in_place),
    };
    struct CMUnitTest tests[COUNT_OF(arm64_jit_rows) + COUNT_OF(arm64_jit_bad_rows) + COUNT_OF(refusal_rows) +
                            COUNT_OF(varint_rows) + COUNT_OF(jit_rows) + 2 * COUNT_OF(jit_bad_rows) +
                            COUNT_OF(clause_rows) + COUNT_OF(extent_rows) + COUNT_OF(tolds) + COUNT_OF(single)];
    size_t n = 0;
    ADD_ROWS(tests, n, refusal_rows, image_is_answered);
    ADD_ROWS(tests, n, tolds, composite_image_is_told_of_dispatch);
    ADD_ROWS(tests, n, varint_rows, varint_is_read);
    ADD_ROWS(tests, n, jit_rows, jit_rule_is_found);
    ADD_ROWS(tests, n, jit_bad_rows, bad_jit_header_is_not_believed);
    ADD_ROWS(tests, n, jit_bad_rows, extent_of_a_bad_jit_header_is_not_believed);
    ADD_ROWS(tests, n, arm64_jit_rows, arm64_jit_rule_is_found);
    ADD_ROWS(tests, n, arm64_jit_bad_rows, bad_arm64_jit_header_is_not_believed);
    ADD_ROWS(tests, n, clause_rows, clause_tells_filters_from_handlers);
    ADD_ROWS(tests, n, extent_rows, extent_is_answered);
    for (size_t i = 0; i < COUNT_OF(single); i++)
        tests[n++] = single[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
