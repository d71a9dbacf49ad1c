/*
 * Addresses in libraries that were closed: words of old frames lead there, and the set of images does not know yet. A
 * walk in this process may say of them what it likes, but it must come to an end.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <string.h>

enum { WORDS = 256, PLACES = 64 };

static const struct library {
    const char *name, *function;
} libraries[] = { { "libm.so.6", "cbrt" }, { "libthread_db.so.1", "td_ta_new" }, { "libanl.so.1", "getaddrinfo_a" } };

static struct sw_scratch scratch;

static const struct row {
    const char *name;
    uint32_t flags;
    bool exact;
} rows[] = {
    { "a_walk_from_closed_code_ends", 0, true },
    { "a_walk_from_a_call_in_closed_code_ends", 0, false },
    { "a_walk_from_closed_code_ends_without_tables", SW_WALK_NO_TABLES, true },
    { "a_walk_from_a_call_in_closed_code_ends_without_tables", SW_WALK_NO_TABLES, false },
};

static bool is_mapped(uint64_t address)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t byte;
    return memory.read(memory.arg, address, &byte, 1) == 1;
}

/* An address in a library that is registered and was closed behind that; 0: none would go. */
static uint64_t closed_function(struct sw_images *images)
{
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        if (dlopen(libraries[i].name, RTLD_NOW | RTLD_NOLOAD))
            continue; /* a sanitizer needs it, say */
        void *library = dlopen(libraries[i].name, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            continue;
        const uint64_t function = (uint64_t)(uintptr_t)dlsym(library, libraries[i].function);
        assert_int_equal(sw_images_add_self(images), SW_OK);
        dlclose(library);
        if (function != 0 && !is_mapped(function))
            return function;
    }
    return 0;
}

static void walk_from(const struct sw_images *images, uint64_t pc, const struct row *row)
{
    uint64_t words[WORDS];
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs = { .machine = host_machine() };
    for (size_t i = 0; i < WORDS; i++)
        words[i] = i % 2 ? pc + i : (uint64_t)(uintptr_t)&words[i + 2];
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.flags = row->flags;
    for (unsigned n = 0; n < sw_regs_count(regs.machine); n++)
        sw_regs_set(&regs, n, (uint64_t)(uintptr_t)words);
    sw_regs_set(&regs, sw_regs_pc_number(regs.machine), pc);
    sw_walk_start(&walk, &walker, &scratch, &regs, row->exact);
    while (sw_walk_next(&walk))
        ;
    assert_int_not_equal(walk.stop, SW_STOP_NONE);
}

static void walks_end(void **state)
{
    struct sw_images *images;
    struct sw_image image;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    const uint64_t function = closed_function(images);
    if (function == 0)
        sw_images_destroy(images);
    HOST_NEEDS(function != 0, "a library that can be closed");
    assert_int_equal(sw_images_find(images, function, &image), SW_OK);
    for (uint64_t i = 0; i < PLACES; i++)
        walk_from(images, function + i * 5, *state);
    sw_images_destroy(images);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, walks_end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
