/*
 * Files of which parts are read when they are looked at: they answer as those that are there as a whole, and much of
 * them is never read. The file is this program's own; a store hands out its bytes, and everything else is zeros.
 */
#include "rows.h"

#include "cfi/cfi.h"
#include "elf/elf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

/* Of a rule: a CIE and an FDE. */
enum { PROBES = 64, BYTES_OF_A_RULE = 512 };

/* bytes: what was wanted so far, and not a byte more. read: how much that was. */
struct own {
    uint8_t *whole, *bytes;
    bool *is_there;
    size_t size, read;
    struct sw_store store;
    struct sw_elf *plain, *stored;
};

static void want(void *arg, uint64_t offset, uint64_t size)
{
    struct own *own = arg;
    for (uint64_t at = offset; at < own->size && at - offset < size; at++) {
        own->bytes[at] = own->whole[at];
        own->read += !own->is_there[at];
        own->is_there[at] = true;
    }
}

static int set_up(void **state)
{
    struct own *own = calloc(1, sizeof *own);
    struct stat st;
    const int fd = open("/proc/self/exe", O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    own->size = (size_t)st.st_size;
    own->whole = malloc(own->size);
    own->bytes = calloc(own->size, 1);
    own->is_there = calloc(own->size, sizeof *own->is_there);
    assert_int_equal(pread(fd, own->whole, own->size, 0), st.st_size);
    close(fd);
    own->store = (struct sw_store){ own->bytes, want, own };
    assert_int_equal(sw_elf_open_bytes((struct sw_bytes){ own->whole, own->size, 0 }, &own->plain), SW_OK);
    assert_int_equal(sw_elf_open_stored((struct sw_bytes){ own->bytes, own->size, 0 }, &own->store, &own->stored),
                     SW_OK);
    *state = own;
    return 0;
}

static int tear_down(void **state)
{
    struct own *own = *state;
    sw_elf_close(own->plain);
    sw_elf_close(own->stored);
    free(own->whole);
    free(own->bytes);
    free(own->is_there);
    free(own);
    return 0;
}

static uint64_t link_address(const struct own *own, const char *name)
{
    uint64_t address = 0;
    assert_int_equal(sw_elf_find(own->plain, name, &address), SW_OK);
    return address;
}

static void headers_are_enough_to_open_it(void **state)
{
    const struct own *own = *state;
    struct sw_elf_segment plain, stored;
    for (size_t n = 0; sw_elf_segment(own->plain, n, &plain); n++) {
        assert_true(sw_elf_segment(own->stored, n, &stored));
        assert_memory_equal(&plain, &stored, sizeof plain);
    }
    assert_int_equal(sw_elf_start(own->stored, false), sw_elf_start(own->plain, false));
    assert_true(own->read < own->size / 16);
}

static void a_section_is_there_when_it_is_asked_for(void **state)
{
    static const char *const names[] = { ".eh_frame_hdr", ".dynstr", ".text" };
    const struct own *own = *state;
    struct sw_bytes plain, stored;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(sw_elf_section(own->plain, names[i], &plain), SW_OK);
        assert_int_equal(sw_elf_section(own->stored, names[i], &stored), SW_OK);
        assert_int_equal(stored.size, plain.size);
        assert_int_equal(stored.address, plain.address);
        assert_memory_equal(stored.bytes, plain.bytes, plain.size);
    }
}

static void names_are_the_same(void **state)
{
    const struct own *own = *state;
    const char *plain = NULL, *stored = NULL;
    uint64_t start[2], size[2];
    const uint64_t address = link_address(own, "sw_elf_symbol") + 1;
    assert_int_equal(sw_elf_symbol(own->plain, address, &plain, &start[0], &size[0]), SW_OK);
    assert_int_equal(sw_elf_symbol(own->stored, address, &stored, &start[1], &size[1]), SW_OK);
    assert_string_equal(plain, "sw_elf_symbol");
    assert_string_equal(stored, plain);
    assert_int_equal(start[0], start[1]);
    assert_int_equal(size[0], size[1]);
}

/* ---- unwind tables ---- */

static struct sw_cfi tables(const struct own *own, struct sw_elf *elf, bool has_header)
{
    struct sw_cfi cfi = { .machine = sw_elf_machine(elf), .store = elf == own->stored ? &own->store : NULL };
    assert_int_equal(sw_elf_section(elf, ".eh_frame", &cfi.frame), SW_OK);
    if (has_header)
        assert_int_equal(sw_elf_section(elf, ".eh_frame_hdr", &cfi.header), SW_OK);
    return cfi;
}

static void assert_rules_are_the_same(const struct sw_cfi *plain, const struct sw_cfi *stored, uint64_t begin)
{
    struct sw_cfi_work work;
    struct sw_rule rules[2];
    struct sw_cfi_cover covers[2];
    for (uint64_t pc = begin; pc < begin + PROBES; pc++) {
        memset(rules, 0, sizeof rules);
        memset(covers, 0, sizeof covers);
        const enum sw_status status = sw_cfi_rule(plain, pc, &work, &rules[0], &covers[0]);
        assert_int_equal(sw_cfi_rule(stored, pc, &work, &rules[1], &covers[1]), status);
        assert_int_equal(covers[0].begin, covers[1].begin);
        assert_int_equal(covers[0].bytes, covers[1].bytes);
        if (status != SW_OK)
            continue;
        for (unsigned n = 0; n < SW_REGS_MAX; n++)
            assert_memory_equal(&rules[0].r[n], &rules[1].r[n], sizeof rules[0].r[n]);
        assert_memory_equal(&rules[0].cfa, &rules[1].cfa, sizeof rules[0].cfa);
    }
}

static size_t read_of(const struct own *own, struct sw_bytes part)
{
    size_t count = 0;
    for (uint64_t i = 0; i < part.size; i++)
        count += own->is_there[(uint64_t)(part.bytes - own->bytes) + i];
    return count;
}

static void rules_are_the_same_by_a_few_records(void **state)
{
    const struct own *own = *state;
    const struct sw_cfi plain = tables(own, own->plain, true), stored = tables(own, own->stored, true);
    const uint64_t pc = link_address(own, "sw_elf_symbol");
    struct sw_cfi_work work;
    struct sw_rule rule;
    assert_int_equal(sw_cfi_rule(&stored, pc, &work, &rule, NULL), SW_OK);
    assert_in_range(read_of(own, stored.frame), 1, BYTES_OF_A_RULE);
    assert_rules_are_the_same(&plain, &stored, pc);
    assert_rules_are_the_same(&plain, &stored, link_address(own, "sw_cfi_rule"));
}

static void rules_are_the_same_record_by_record(void **state)
{
    const struct own *own = *state;
    const struct sw_cfi plain = tables(own, own->plain, false), stored = tables(own, own->stored, false);
    assert_rules_are_the_same(&plain, &stored, link_address(own, "sw_cfi_rule"));
}

static void an_index_wants_all_records(void **state)
{
    const struct own *own = *state;
    const struct sw_cfi plain = tables(own, own->plain, false), stored = tables(own, own->stored, false);
    const size_t count = sw_cfi_index(&plain, NULL, 0);
    assert_true(count > PROBES);
    assert_int_equal(sw_cfi_index(&stored, NULL, 0), count);
    assert_memory_equal(plain.frame.bytes, stored.frame.bytes, plain.frame.size);
}

static void gaps_are_the_same(void **state)
{
    const struct own *own = *state;
    const struct sw_cfi plain = tables(own, own->plain, true), stored = tables(own, own->stored, true);
    const uint64_t begin = link_address(own, "sw_elf_symbol");
    assert_int_equal(sw_cfi_widest_gap(&stored, begin, begin + 16384), sw_cfi_widest_gap(&plain, begin, begin + 16384));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(headers_are_enough_to_open_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_section_is_there_when_it_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_are_the_same_by_a_few_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_are_the_same_record_by_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_index_wants_all_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gaps_are_the_same, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
