/*
 * One image of this process, without a look at the others: a ReadyToRun image that is mapped as .NET maps it, from a
 * file or without one; that stays, and is used where it is, or may go, and is copied; and what may be wrong with it.
 */
#include "rows.h"
#include "host.h"

#include "budget.h"
#include "clr_image.h"
#include "code/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, MAPPED = (MAPPED_BYTES + PAGE - 1) / PAGE * PAGE };

/* Kernels before 6.11 do not tell single rows: then all of them are read. */
static bool is_old;

int ioctl(int file, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *arg = va_arg(rest, void *);
    va_end(rest);
    if (is_old) {
        errno = ENOTTY;
        return -1;
    }
    return (int)syscall(SYS_ioctl, file, request, arg);
}

static struct budget budget;
static struct sw_images *images;
static uint8_t *mapped;
static char path[] = "/tmp/images_mapped_XXXXXX";
static bool has_file;

static int set_up(void **state)
{
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    (void)state;
    budget = (struct budget){ .left = SIZE_MAX };
    mapped = NULL;
    has_file = false;
    return sw_images_create(&alloc, &images) != SW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sw_images_destroy(images);
    if (mapped)
        munmap(mapped, MAPPED);
    if (has_file)
        unlink(path);
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    return budget.blocks != 0 || budget.bytes != 0;
}

static uint64_t base(void)
{
    return (uint64_t)(uintptr_t)mapped;
}

static void reserve(void)
{
    mapped = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(mapped, MAP_FAILED);
}

/* As .NET does with an image that was not read from a file. */
static void map_without_file(const struct bin *b)
{
    reserve();
    memcpy(mapped, b->bytes, FILE_AT);
    memcpy(mapped + BASE_RVA, b->bytes + FILE_AT, SECTION_BYTES);
}

/* Header and section each from the file, the section with its code. In the file it stands at a page of its own. */
static void map_file(struct bin *b)
{
    put_le(b->bytes + 0x98 + 240 + 20, PAGE, 4);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    has_file = true;
    assert_int_equal(pwrite(file, b->bytes, FILE_AT, 0), FILE_AT);
    assert_int_equal(pwrite(file, b->bytes + FILE_AT, SECTION_BYTES, PAGE), SECTION_BYTES);
    reserve();
    assert_ptr_not_equal(mmap(mapped, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), MAP_FAILED);
    assert_ptr_not_equal(
        mmap(mapped + BASE_RVA, MAPPED - BASE_RVA, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, PAGE),
        MAP_FAILED);
    close(file);
}

/* Whether the memory map says that the section is executable: emulators leave that out. */
static bool is_told_executable(void)
{
    FILE *rows = fopen("/proc/self/maps", "r");
    unsigned long begin, end;
    char rights[8], line[8192];
    bool is_told = false;
    while (rows && fgets(line, sizeof line, rows))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && begin <= base() + CODE && base() + CODE < end)
            is_told = rights[2] == 'x';
    if (rows)
        fclose(rows);
    return is_told;
}

static const struct sw_image_entry *entry_there(void)
{
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, base());
    sw_images_leave(images, &section); /* nobody changes anything meanwhile */
    return entry;
}

static bool is_in_place(void)
{
    return entry_there() && entry_there()->pe.bytes.bytes == mapped;
}

static void assert_methods(void)
{
    struct sw_range method;
    assert_int_equal(sw_images_find_method(images, base() + CODE + 2, &method), SW_OK);
    assert_true(method.begin == base() + CODE && method.end == base() + CODE + 16 && method.kind == SW_KIND_NGEN);
}

static void an_image_that_stays_is_used_where_it_is(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_file(&b);
    assert_int_equal(sw_images_add_mapped(images, base(), true), SW_OK);
    assert_true(is_in_place());
    assert_string_equal(entry_there()->info.path, path);
    assert_methods();
    const uint64_t generation = sw_images_generation(images);
    assert_int_equal(sw_images_add_mapped(images, base(), true), SW_OK); /* told of twice */
    assert_int_equal(sw_images_generation(images), generation);
}

static void an_image_that_may_go_is_copied(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_file(&b);
    HOST_NEEDS(is_told_executable(), "a map of memory that tells what is executable");
    assert_int_equal(sw_images_add_mapped(images, base(), false), SW_OK);
    assert_false(is_in_place());
    assert_methods();
}

static void one_without_a_file_is_used_where_it_is_or_not(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_without_file(&b);
    assert_int_equal(sw_images_add_mapped(images, base(), false), SW_E_UNSUPPORTED);
    assert_null(entry_there());
    assert_int_equal(sw_images_add_mapped(images, base(), true), SW_OK);
    assert_true(is_in_place());
    assert_methods();
}

/* A refresh finds images by their rows; it has no say in those that were told of. */
static void a_refresh_leaves_it(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_without_file(&b);
    assert_int_equal(sw_images_add_mapped(images, base(), true), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_true(is_in_place());
    assert_int_equal(sw_images_remove(images, base()), SW_OK);
    assert_null(entry_there());
}

static void a_copy_makes_room_for_what_stays(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_file(&b);
    HOST_NEEDS(is_told_executable(), "a map of memory that tells what is executable");
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_non_null(entry_there());
    assert_false(is_in_place());
    assert_int_equal(sw_images_add_mapped(images, base(), true), SW_OK);
    assert_true(is_in_place());
    assert_methods();
    const size_t blocks = budget.blocks;
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_true(is_in_place());
    assert_int_equal(budget.blocks, blocks);
}

/* ---- what is wrong ---- */

static void take_section_away(void)
{
    assert_int_equal(munmap(mapped + BASE_RVA, MAPPED - BASE_RVA), 0);
}

static void protect_last_page(void)
{
    assert_int_equal(mprotect(mapped + MAPPED - PAGE, PAGE, PROT_NONE), 0);
}

static void cut_the_file(void)
{
    assert_int_equal(truncate(path, PAGE), 0);
}

static void lie_about_the_section(void)
{
    assert_int_equal(mprotect(mapped, PAGE, PROT_READ | PROT_WRITE), 0);
    put_le(mapped + 0x98 + 240 + 8, 0x7fffff00, 4);
}

static void lie_about_the_image(void)
{
    assert_int_equal(mprotect(mapped, PAGE, PROT_READ | PROT_WRITE), 0);
    put_le(mapped + 0x98 + 56, 0xfffff000, 4);
    put_le(mapped + 0x98 + 240 + 8, 0xffff0000, 4);
}

static void take_code_away(void)
{
    assert_int_equal(mprotect(mapped + BASE_RVA, PAGE, PROT_READ | PROT_WRITE), 0);
    put_le(mapped + CLI + 64, 0, 4);
}

static void take_name_away(void)
{
    assert_int_equal(mprotect(mapped, PAGE, PROT_READ | PROT_WRITE), 0);
    mapped[0] = 'X';
}

static const struct wrong_row {
    const char *name;
    void (*spoil)(void);
    enum sw_status status;
    bool is_copied; /* the file is what it was */
} wrong_rows[] = {
    { "without_its_section_it_is_none", take_section_away, SW_E_NOT_FOUND, false },
    { "a_page_that_cannot_be_read_makes_it_be_copied", protect_last_page, SW_OK, true },
    { "a_file_that_was_cut_short_is_not_used", cut_the_file, SW_E_NOT_FOUND, false },
    { "a_section_beyond_the_image_is_not_used", lie_about_the_section, SW_OK, false },
    { "an_image_beyond_its_rows_is_not_used", lie_about_the_image, SW_OK, false },
    { "without_precompiled_code_it_is_none", take_code_away, SW_E_NOT_FOUND, false },
    { "without_its_first_bytes_it_is_none", take_name_away, SW_E_NOT_FOUND, false },
};

/* Whatever it is: nothing faults, and what is not all there is not used where it is. */
static void what_is_wrong_is_not_used_in_place(void **state)
{
    const struct wrong_row *row = *state;
    struct bin b = make_image();
    map_file(&b);
    row->spoil();
    const enum sw_status status = sw_images_add_mapped(images, base(), true);
    assert_false(is_in_place());
    if (row->status != SW_OK && is_told_executable())
        assert_int_equal(status, row->status);
    if (row->is_copied && is_told_executable())
        assert_methods();
}

static void nothing_there_is_no_image(void **state)
{
    (void)state;
    assert_int_equal(sw_images_add_mapped(NULL, 0x1000, true), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_mapped(images, 0x1000, true), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_add_mapped(images, UINT64_MAX - 100, true), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_add_mapped(images, (uint64_t)(uintptr_t)&images, true), SW_E_NOT_FOUND);
}

/* At each allocation in turn there is no more memory. */
static void without_memory_it_is_left_out(void **state)
{
    struct bin b = make_image();
    (void)state;
    map_file(&b);
    for (size_t left = 0;; left++) {
        budget.left = left;
        const enum sw_status status = sw_images_add_mapped(images, base(), true);
        budget.left = SIZE_MAX;
        if (status == SW_OK && is_in_place())
            return;
        assert_true(left < 50);
        if (entry_there())
            assert_int_equal(sw_images_remove(images, base()), SW_OK);
    }
}

#define FED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest single[] = {
        FED(an_image_that_stays_is_used_where_it_is),
        FED(an_image_that_may_go_is_copied),
        FED(one_without_a_file_is_used_where_it_is_or_not),
        FED(a_refresh_leaves_it),
        FED(a_copy_makes_room_for_what_stays),
        FED(nothing_there_is_no_image),
        FED(without_memory_it_is_left_out),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(wrong_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), wrong_rows, what_is_wrong_is_not_used_in_place);
    for (size_t i = COUNT_OF(single); i < COUNT_OF(tests); i++) {
        tests[i].setup_func = set_up;
        tests[i].teardown_func = tear_down;
    }
    const int failed = cmocka_run_group_tests_name("new kernel", tests, NULL, NULL);
    is_old = true;
    return failed + cmocka_run_group_tests_name("old kernel", tests, NULL, NULL);
}
