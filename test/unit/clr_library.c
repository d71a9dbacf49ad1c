/*
 * The library that a runtime's object is of, and the description of itself that it exports: a library of a few hundred
 * bytes, made here and loaded; and objects whose code is in no library that has one.
 */
#include "rows.h"
#include "host.h"

#include "../support/bytes.h"
#include "../support/runtime.h"

#if defined(__x86_64__)
#include "clr_descriptor.h"
#include "clr/internal.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Where what is in the library. */
enum {
    DYNAMIC = 0x200,
    HASH = 0x300,
    SYMBOLS = 0x340,
    NAMES = 0x3c0,
    QUERY = 0x400, /* its only code */
    DESCRIPTOR = 0x440,
    POINTERS_IN = 0x480,
    TEXT = 0x800,
    LIBRARY_BYTES = TEXT + TEXT_ROOM
};

static const char descriptor_name[] = "DotNetRuntimeContractDescriptor", query_name[] = "query";

static struct fake_runtime fake;
static ICorProfilerInfo15Vtbl table;
static struct text text;

/* ---- making it ---- */

static void put_headers(uint8_t *library)
{
    const Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                              .e_type = ET_DYN,
                              .e_machine = EM_X86_64,
                              .e_version = EV_CURRENT,
                              .e_phoff = sizeof head,
                              .e_ehsize = sizeof head,
                              .e_phentsize = sizeof(Elf64_Phdr),
                              .e_phnum = 3 };
    const Elf64_Phdr parts[] = {
        { PT_LOAD, PF_R | PF_W | PF_X, 0, 0, 0, LIBRARY_BYTES, LIBRARY_BYTES, 4096 },
        { PT_DYNAMIC, PF_R | PF_W, DYNAMIC, DYNAMIC, DYNAMIC, 6 * sizeof(Elf64_Dyn), 6 * sizeof(Elf64_Dyn), 8 },
        { PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16 }, /* glibc 2.41 loads nothing without it */
    };
    memcpy(library, &head, sizeof head);
    memcpy(library + sizeof head, parts, sizeof parts);
}

static void put_symbols(uint8_t *library, const char *name)
{
    const size_t second = 1 + strlen(name) + 1;
    const Elf64_Dyn dynamic[] = { { DT_HASH, { HASH } },
                                  { DT_SYMTAB, { SYMBOLS } },
                                  { DT_STRTAB, { NAMES } },
                                  { DT_STRSZ, { second + sizeof query_name } },
                                  { DT_SYMENT, { sizeof(Elf64_Sym) } },
                                  { DT_NULL, { 0 } } };
    const uint32_t hash[] = { 1, 3, 1, 0, 2, 0 }; /* one bucket: 1, then 2 */
    const Elf64_Sym symbols[] = {
        { 0 },
        { 1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, DESCRIPTOR, 40 },
        { (Elf64_Word)second, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, QUERY, 16 },
    };
    memcpy(library + DYNAMIC, dynamic, sizeof dynamic);
    memcpy(library + HASH, hash, sizeof hash);
    memcpy(library + SYMBOLS, symbols, sizeof symbols);
    memcpy(library + NAMES + 1, name, strlen(name));
    memcpy(library + NAMES + second, query_name, sizeof query_name);
}

/* mov rax, ..; jmp rax: to the object's own QueryInterface. */
static void put_code(uint8_t *to)
{
    memcpy(to, "\x48\xb8", 2);
    memcpy(to + 2, &fake.com.lpVtbl->QueryInterface, 8);
    memcpy(to + 10, "\xff\xe0", 2);
}

/* Written to a file and loaded; what its data points to is known only then. */
static void *load_library(const char *name)
{
    static uint8_t bytes[LIBRARY_BYTES];
    char path[] = "/tmp/snapwalk-runtime-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    memset(bytes, 0, sizeof bytes);
    put_headers(bytes);
    put_symbols(bytes, name);
    put_code(bytes + QUERY);
    assert_true(write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes);
    close(fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    assert_non_null(library);
    return library;
}

static void put_description(void *library)
{
    uint8_t *at = (uint8_t *)dlsym(library, query_name) - QUERY;
    const uint64_t base = (uint64_t)(uintptr_t)at;
    write_text(&text, NOTHING_CHANGED, NULL);
    put_le(at + DESCRIPTOR, UINT64_C(0x0043414443434e44), 8);
    put_le(at + DESCRIPTOR + 8, 1, 4);
    put_le(at + DESCRIPTOR + 12, text.size, 4);
    put_le(at + DESCRIPTOR + 16, base + TEXT, 8);
    put_le(at + DESCRIPTOR + 24, POINTERS, 4);
    put_le(at + DESCRIPTOR + 32, base + POINTERS_IN, 8);
    put_le(at + POINTERS_IN + 16, CODE_MAP, 8);
    memcpy(at + TEXT, text.at, text.size);
}

/* The object's QueryInterface is that code. */
static struct sw_clr *follow(const void *code)
{
    struct sw_clr *clr = NULL;
    memcpy(&table.QueryInterface, &code, sizeof code);
    fake.com.lpVtbl = &table;
    assert_int_equal(sw_clr_create(NULL, (IUnknown *)(void *)&fake, &clr), SW_OK);
    return clr;
}

static int begin(void **state)
{
    (void)state;
    fake_runtime_init(&fake);
    table = *fake.com.lpVtbl;
    return 0;
}

/* How many libraries of ours are loaded. */
static unsigned libraries(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "snapwalk-runtime-") != NULL;
    fclose(maps);
    return count;
}

/* ---- the tests ---- */

static void the_description_is_read_where_the_runtime_is(void **state)
{
    struct sw_clr_counts counts;
    char about[SW_CLR_ABOUT_BYTES];
    (void)state;
    void *library = load_library(descriptor_name);
    put_description(library);
    struct sw_clr *clr = follow(dlsym(library, query_name));
    sw_clr_get_counts(clr, &counts);
    assert_int_equal(counts.layout, SW_OK);
    assert_true(sw_clr_about(clr, about, sizeof about));
    assert_non_null(strstr(about, ": structures known"));
    assert_true(clr->layout.code == CODE_MAP);
    assert_int_equal(clr->layout.at[SW_CLR_THREAD_MODE], offset_of(0));
    assert_false(sw_clr_needs_searches(clr));
    clr->layout.has_entries = false;
    assert_true(sw_clr_needs_searches(clr));
    sw_clr_destroy(clr);
    assert_true(libraries() > 0);
    dlclose(library);
    assert_int_equal(libraries(), 0); /* it is not kept */
}

static void a_library_without_a_description_is_not_understood(void **state)
{
    (void)state;
    void *library = load_library("DotNetRuntimeContractSomething");
    struct sw_clr *clr = follow(dlsym(library, query_name));
    assert_int_equal(clr->layout_status, SW_E_NOT_FOUND);
    sw_clr_destroy(clr);
    dlclose(library);
    assert_int_equal(libraries(), 0);
}

static void a_description_that_is_none_is_said_to_be_so(void **state)
{
    (void)state;
    void *library = load_library(descriptor_name);
    struct sw_clr *clr = follow(dlsym(library, query_name));
    assert_int_equal(clr->layout_status, SW_E_MALFORMED);
    sw_clr_destroy(clr);
    dlclose(library);
}

static void code_in_no_library_is_not_understood(void **state)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    put_code(page);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    struct sw_clr *clr = follow(page);
    char about[SW_CLR_ABOUT_BYTES], cut[10];
    assert_int_equal(clr->layout_status, SW_E_NOT_FOUND);
    assert_true(sw_clr_needs_searches(clr) && sw_clr_needs_searches(NULL));
    assert_false(sw_clr_about(clr, about, sizeof about));
    assert_non_null(strstr(about, "structures not known ("));
    assert_true(strlen(about) < sizeof about - 1);
    assert_false(sw_clr_about(clr, cut, sizeof cut));
    assert_int_equal(strlen(cut), sizeof cut - 1);
    sw_clr_destroy(clr);
    munmap(page, 4096);
}

/* As of a profiler behind the overlay: the object's code is the overlay's. */
static void code_in_front_of_the_runtime_finds_it(void **state)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    put_code(page);
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    void *library = load_library(descriptor_name);
    put_description(library);
    struct sw_clr *clr = follow(page);
    assert_int_equal(clr->layout_status, SW_OK);
    assert_true(clr->layout.code == CODE_MAP);
    sw_clr_destroy(clr);
    dlclose(library);
    munmap(page, 4096);
}

/* One that does not describe itself: what is believed of it has to be seen first. */
static void entries_that_nobody_described_are_confirmed(void **state)
{
    struct sw_clr clr = { .layout_status = SW_OK, .layout = { .closed = true, .has_entries = true } };
    (void)state;
    assert_true(sw_clr_needs_searches(&clr));
    clr.entries_confirmed = true;
    assert_false(sw_clr_needs_searches(&clr));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_description_is_read_where_the_runtime_is, begin),
        cmocka_unit_test_setup(a_library_without_a_description_is_not_understood, begin),
        cmocka_unit_test_setup(a_description_that_is_none_is_said_to_be_so, begin),
        cmocka_unit_test_setup(code_in_no_library_is_not_understood, begin),
        cmocka_unit_test(entries_that_nobody_described_are_confirmed),
        cmocka_unit_test_setup(code_in_front_of_the_runtime_finds_it, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
