/*
 * Which tables an ELF image walks by: this program once more, with headers that lie. Whatever they say, every pc has
 * the rule that it has in the untouched file.
 */
#include "rows.h"

#include "code/images.h"

#include <snapwalk/image.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GOOD = 0x10000000, BAD = 0x20000000 };

struct file {
    uint8_t *bytes;
    size_t size;
    size_t header; /* offset of .eh_frame_hdr */
    uint64_t code_begin;
    uint64_t code_end;
};

static void find_segments(struct file *f)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)f->bytes;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(const void *)(f->bytes + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            f->header = segments[i].p_offset;
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X)) {
            f->code_begin = segments[i].p_vaddr;
            f->code_end = segments[i].p_vaddr + segments[i].p_memsz;
        }
    }
}

static struct file read_self(void)
{
    struct file f = { 0 };
    FILE *file = fopen("/proc/self/exe", "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    f.size = (size_t)ftell(file);
    rewind(file);
    f.bytes = malloc(f.size);
    assert_non_null(f.bytes);
    assert_int_equal(fread(f.bytes, 1, f.size, file), f.size);
    fclose(file);
    find_segments(&f);
    assert_true(f.header > 0 && f.code_begin < f.code_end);
    return f;
}

/* Registers the bytes as a file at an address. */
static void add(struct sw_images *images, const struct file *f, uint64_t address)
{
    char path[64];
    const int fd = memfd_create("image", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, f->bytes, f->size), (ssize_t)f->size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(sw_images_add_file(images, path, address), SW_OK);
    close(fd);
}

/* ---- lies ---- */

enum { COUNT = 8, TABLE = 12, ENTRY = 8 };

static void swap_first_and_last(uint8_t *header)
{
    uint32_t count;
    uint8_t first[ENTRY];
    memcpy(&count, header + COUNT, sizeof count);
    memcpy(first, header + TABLE, ENTRY);
    memcpy(header + TABLE, header + TABLE + (count - 1) * ENTRY, ENTRY);
    memcpy(header + TABLE + (count - 1) * ENTRY, first, ENTRY);
}

static void claim_too_many(uint8_t *header)
{
    memset(header + COUNT, 0x7f, 4);
}

static void claim_none(uint8_t *header)
{
    memset(header + COUNT, 0, 4);
}

static void say_another_version(uint8_t *header)
{
    header[0] = 2;
}

static void leave_the_table_out(uint8_t *header)
{
    header[2] = header[3] = 0xff;
}

static void lead_elsewhere(uint8_t *header)
{
    memset(header + TABLE + 4, 0x70, 4);
}

static void say_the_truth(uint8_t *header)
{
    (void)header;
}

static const struct row {
    const char *name;
    void (*lie)(uint8_t *header);
    bool is_indexed;
} rows[] = {
    { "header_that_is_sound_is_searched", say_the_truth, false },
    { "header_out_of_order_is_replaced_by_an_index", swap_first_and_last, true },
    { "header_with_too_great_a_count_is_replaced", claim_too_many, true },
    { "header_with_no_entries_is_replaced", claim_none, true },
    { "header_of_another_version_is_replaced", say_another_version, true },
    { "header_without_table_is_replaced", leave_the_table_out, true },
    { "header_that_leads_elsewhere_is_replaced", lead_elsewhere, true },
};

enum { MUCH = 200000 };

static unsigned compare_rules(const struct sw_image_entry *good, const struct sw_image_entry *bad, const struct file *f)
{
    static struct sw_cfi_work work;
    unsigned rules = 0;
    /* Every byte; in a sanitizer's build, whose own code is 15 times as much, every few of all of it. */
    const uint64_t apart = 1 + (f->code_end - f->code_begin) / MUCH;
    for (uint64_t at = f->code_begin; at < f->code_end; at += apart) {
        struct sw_rule x, y;
        memset(&x, 0, sizeof x);
        memset(&y, 0, sizeof y);
        const enum sw_status status = sw_cfi_rule(&good->cfi, good->info.bias + at, &work, &x, NULL);
        assert_int_equal(sw_cfi_rule(&bad->cfi, bad->info.bias + at, &work, &y, NULL), status);
        if (status != SW_OK)
            continue;
        assert_memory_equal(&x.cfa, &y.cfa, sizeof x.cfa);
        assert_memory_equal(x.r, y.r, sizeof x.r);
        rules++;
    }
    return rules;
}

static void rules_are_those_of_the_untouched_file(void **state)
{
    const struct row *row = *state;
    struct sw_images *images;
    struct file f = read_self();
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    add(images, &f, GOOD);
    row->lie(f.bytes + f.header);
    add(images, &f, BAD);
    const struct sw_image_entry *good = sw_images_entry(images, GOOD);
    const struct sw_image_entry *bad = sw_images_entry(images, BAD);
    assert_true(good->has_cfi && good->cfi.header.size > 0 && !good->cfi.index);
    assert_int_equal(bad->cfi.header.size == 0 && bad->cfi.index_count > 0, row->is_indexed);
    assert_true(compare_rules(good, bad, &f) > 100);
    sw_images_destroy(images);
    free(f.bytes);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, rules_are_those_of_the_untouched_file);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
