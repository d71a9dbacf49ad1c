/* Pages that are kept: the same bytes as without them, by fewer reads; and what is never kept. */
#include "target/page_cache.h"

#include "rows.h"

#include "common/alloc.h"

#include <string.h>

enum { PAGE = 4096, BASE = 0x10000, SIZE = 3 * PAGE + 100 };

/* Memory in [BASE, BASE + SIZE): its last page cannot be read whole. bytes[i] differs from its neighbours. */
static struct target {
    uint8_t bytes[SIZE];
    size_t size;
    unsigned reads;
} target;

static struct sw_page_cache pages;
static struct sw_alloc alloc;

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    struct target *t = arg;
    t->reads++;
    if (address < BASE || address - BASE >= t->size)
        return 0;
    const size_t at = (size_t)(address - BASE), part = t->size - at < size ? t->size - at : size;
    memcpy(to, t->bytes + at, part);
    return part;
}

static const struct sw_memory below = { .read = read_target, .arg = &target };

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        target.bytes[i] = (uint8_t)(i * 7 + i / PAGE);
    target.reads = 0;
    target.size = SIZE;
    alloc = sw_alloc_resolve(NULL);
    memset(&pages, 0, sizeof pages);
    pages.target = below;
    sw_page_cache_begin(&pages, &alloc);
    return pages.pages.bytes ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    sw_page_cache_drop(&pages, &alloc);
    return 0;
}

/* Reads, and compares with what there is. */
static size_t look(uint64_t address, size_t size)
{
    uint8_t got[2 * PAGE + 1], want[2 * PAGE + 1];
    const unsigned reads = target.reads;
    const size_t wanted = read_target(&target, address, want, size);
    target.reads = reads;
    const size_t done = sw_page_cache_read(&pages, address, got, size);
    assert_int_equal(done, wanted);
    assert_memory_equal(got, want, done);
    return done;
}

static void every_read_gives_what_is_there(void **state)
{
    static const size_t sizes[] = { 0, 1, 8, 512, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (uint64_t at = BASE - 9; at < BASE + SIZE + 9; at += 37)
            look(at, sizes[i]);
}

static void a_page_is_read_once(void **state)
{
    (void)state;
    for (uint64_t at = BASE; at + 8 <= BASE + 3 * PAGE; at++)
        assert_int_equal(look(at, 8), 8);
    assert_int_equal(target.reads, 3);
}

static void what_is_kept_is_forgotten_on_request_only(void **state)
{
    (void)state;
    uint8_t byte = 0;
    for (unsigned round = 0; round < 3; round++) {
        const uint8_t was = target.bytes[0];
        look(BASE, 1);
        target.bytes[0]++;
        assert_int_equal(sw_page_cache_read(&pages, BASE, &byte, 1), 1);
        assert_int_equal(byte, was);
        if (round == 0)
            sw_page_cache_forget(&pages);
        else
            sw_page_cache_begin(&pages, &alloc);
    }
}

/* At each multiple of eight there is its own address. arg: counts reads; or null. */
static size_t read_numbers(void *arg, uint64_t address, void *to, size_t size)
{
    if (arg)
        ++*(unsigned *)arg;
    for (uint64_t at = 0; at < size; at += 8) {
        const uint64_t number = address + at;
        memcpy((uint8_t *)to + at, &number, 8);
    }
    return size;
}

/* The first bytes of far more pages than there are slots, twice: none is taken for another. */
static void pages_that_share_a_slot_take_turns(void **state)
{
    enum { PAGES = 4096 };
    const struct sw_memory numbers = { .read = read_numbers };
    struct sw_page_cache few = { .target = numbers };
    (void)state;
    sw_page_cache_begin(&few, &alloc);
    for (uint64_t i = 0; i < 2 * PAGES; i++) {
        const uint64_t at = i % PAGES * PAGE + 8;
        uint64_t got = 0;
        assert_int_equal(sw_page_cache_read(&few, at, &got, 8), 8);
        assert_true(got == at);
    }
    sw_page_cache_drop(&few, &alloc);
}

/* A few pages of far more slots: where each could be in one slot alone, some would drive others out. */
static void few_pages_stay_together(void **state)
{
    enum { PAGES = 48 };
    unsigned reads = 0;
    const struct sw_memory numbers = { .read = read_numbers, .arg = &reads };
    struct sw_page_cache kept = { .target = numbers };
    (void)state;
    sw_page_cache_begin(&kept, &alloc);
    for (uint64_t i = 0; i < 3 * PAGES; i++) {
        uint64_t got;
        assert_int_equal(sw_page_cache_read(&kept, (i % PAGES) * (i % PAGES) * PAGE, &got, 8), 8);
    }
    assert_int_equal(reads, PAGES);
    sw_page_cache_drop(&kept, &alloc);
}

/* The last page ends early, and grows: what it has gained is seen. */
static void what_a_page_gains_at_its_end_is_seen(void **state)
{
    (void)state;
    const uint64_t last = BASE + 3 * PAGE;
    target.size -= 50;
    assert_int_equal(look(last + 40, 20), 10);
    target.size += 50;
    assert_int_equal(look(last + 50, 20), 20);
}

static void large_reads_and_the_end_of_addresses_pass(void **state)
{
    uint8_t got[2 * PAGE];
    (void)state;
    assert_int_equal(sw_page_cache_read(&pages, BASE, got, sizeof got), sizeof got);
    assert_int_equal(target.reads, 1);
    assert_int_equal(sw_page_cache_read(&pages, UINT64_MAX - 3, got, 8), 0);
}

/* As a second thread reads, while the first one is at the pages. */
static void who_finds_the_pages_busy_reads_without(void **state)
{
    (void)state;
    pages.busy = true;
    look(BASE, 8);
    look(BASE, 8);
    assert_int_equal(target.reads, 2);
    pages.busy = false;
    look(BASE, 8);
    look(BASE, 8);
    assert_int_equal(target.reads, 3);
}

static void *get_nothing(void *arg, size_t size)
{
    (void)arg;
    (void)size;
    return NULL;
}

static void without_memory_nothing_is_kept(void **state)
{
    struct sw_alloc poor = alloc;
    poor.get = get_nothing;
    (void)state;
    sw_page_cache_drop(&pages, &alloc);
    sw_page_cache_begin(&pages, &poor);
    look(BASE, 8);
    look(BASE, 8);
    assert_int_equal(target.reads, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_read_gives_what_is_there),
        TEST(a_page_is_read_once),
        TEST(what_is_kept_is_forgotten_on_request_only),
        TEST(pages_that_share_a_slot_take_turns),
        TEST(few_pages_stay_together),
        TEST(what_a_page_gains_at_its_end_is_seen),
        TEST(large_reads_and_the_end_of_addresses_pass),
        TEST(who_finds_the_pages_busy_reads_without),
        TEST(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
