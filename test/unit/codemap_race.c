/*
 * One writer, several readers, at the same time: what is registered all along is always found, and nothing that is
 * found is made of two ranges. Meant for a thread sanitizer as much as for itself.
 */
#include "../support/random.h"
#include "code/map/codemap.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/*
 * Lasting ranges lie one a step, and cover half of it; in the other halves, ranges of 8 bytes and ranges of some steps
 * come and go, so that chunks are split and joined, carries made, and the root raised and lowered.
 */
enum { READERS = 3, LASTING = 300, STEP = 0x800, CHANGES = 10000 };

static const uint64_t base = UINT64_C(0x7f0000100000);
static const uint64_t far_away = UINT64_C(0x550000000000);

static struct sw_codemap *map;
static atomic_bool stop;
static atomic_ulong bad, asked;

/* Everything in a range follows from its begin and end, so a torn one betrays itself. */
static struct sw_range range_of(uint64_t begin, uint64_t end)
{
    return (struct sw_range){ .begin = begin,
                              .end = end,
                              .id = begin * 31 + end,
                              .image = (uint32_t)(begin >> 4),
                              .kind = (uint8_t)(1 + begin / 8 % 4),
                              .unwind = (uint8_t)(begin / 32 % 4),
                              .flags = (uint16_t)(end / 8 % 4) };
}

static bool is_whole(const struct sw_range *range)
{
    const struct sw_range expected = range_of(range->begin, range->end);
    return range->begin < range->end && range->id == expected.id && range->image == expected.image &&
           range->kind == expected.kind && range->unwind == expected.unwind && range->flags == expected.flags;
}

struct walk {
    uint64_t last_end;
    unsigned lasting;
};

static bool see(void *arg, const struct sw_range *range)
{
    struct walk *walk = arg;
    if (!is_whole(range) || range->begin < walk->last_end)
        atomic_fetch_add(&bad, 1);
    walk->last_end = range->end;
    walk->lasting += range->end - range->begin == STEP / 2;
    return true;
}

static void read_some(uint64_t *seed)
{
    struct sw_range found;
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t begin = base + next_random(seed) % LASTING * STEP;
        const uint64_t inside = begin + next_random(seed) % (STEP / 2);
        if (sw_codemap_find(map, inside, &found) != SW_OK || found.begin != begin || !is_whole(&found))
            atomic_fetch_add(&bad, 1);
        const uint64_t anywhere = base + next_random(seed) % (2 * LASTING * STEP);
        if (sw_codemap_find(map, anywhere, &found) == SW_OK &&
            (!is_whole(&found) || anywhere < found.begin || anywhere >= found.end))
            atomic_fetch_add(&bad, 1);
    }
    struct walk walk = { 0, 0 };
    if (sw_codemap_each(map, see, &walk) != SW_OK || walk.lasting != LASTING)
        atomic_fetch_add(&bad, 1);
    if (sw_codemap_count(map) < LASTING || sw_codemap_bytes(map) == 0)
        atomic_fetch_add(&bad, 1);
    atomic_fetch_add(&asked, 1);
}

static void *reader(void *arg)
{
    uint64_t seed = *(uint64_t *)arg;
    while (!atomic_load(&stop))
        read_some(&seed);
    return NULL;
}

/* What comes and goes: small, long, or far away. Never half a step long. */
static struct sw_range passing(uint64_t *seed)
{
    const uint64_t kind = next_random(seed) % 64;
    const uint64_t small = base + next_random(seed) % LASTING * STEP + STEP / 2 + next_random(seed) % 128 * 8;
    const uint64_t behind = base + (LASTING + next_random(seed) % LASTING) * STEP;
    if (kind == 0)
        return range_of(far_away + next_random(seed) % 4 * STEP, far_away + 4 * STEP);
    if (kind < 4)
        return range_of(behind, behind + STEP * (1 + next_random(seed) % 64));
    return range_of(small, small + 8);
}

static void lasting_ranges_are_always_found_and_none_is_torn(void **state)
{
    (void)state;
    pthread_t threads[READERS];
    uint64_t seeds[READERS], seed = 42;
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    const uint64_t bytes_empty = sw_codemap_bytes(map);
    for (uint64_t i = 0; i < LASTING; i++) {
        const struct sw_range range = range_of(base + i * STEP, base + i * STEP + STEP / 2);
        assert_int_equal(sw_codemap_add(map, &range), SW_OK);
    }
    for (unsigned i = 0; i < READERS; i++) {
        seeds[i] = 1000 + i;
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < CHANGES || atomic_load(&asked) < 10; i++) {
        const struct sw_range range = passing(&seed);
        if (sw_codemap_add(map, &range) == SW_E_OVERLAP)
            (void)!sw_codemap_remove(map, range.begin);
        const bool is_lasting_gone = sw_codemap_count(map) < LASTING;
        assert_false(is_lasting_gone);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&bad), 0);

    struct sw_range range = range_of(0, 1);
    for (uint64_t from = 0; sw_codemap_count(map);) {
        /* Whatever is left goes: the first range at or above `from`. */
        while (sw_codemap_find(map, from, &range) != SW_OK)
            from = from < far_away ? far_away : from >= far_away + 4 * STEP && from < base ? base : from + 8;
        assert_int_equal(sw_codemap_remove(map, range.begin), SW_OK);
    }
    assert_int_equal(sw_codemap_bytes(map), bytes_empty); /* all readers are out, so all memory is back */
    sw_codemap_destroy(map);
}

/* Two writers: one of them may be told to come back, and nothing else may happen. */
static void *writer(void *arg)
{
    const uint64_t mine = *(uint64_t *)arg;
    for (unsigned i = 0; i < 5000; i++) {
        const struct sw_range range = range_of(base + mine * 8 + i % 16 * 64, base + mine * 8 + i % 16 * 64 + 8);
        enum sw_status status;
        while ((status = sw_codemap_add(map, &range)) == SW_E_BUSY)
            ;
        if (status != SW_OK)
            atomic_fetch_add(&bad, 1);
        while ((status = sw_codemap_remove(map, range.begin)) == SW_E_BUSY)
            ;
        if (status != SW_OK)
            atomic_fetch_add(&bad, 1);
    }
    return NULL;
}

static void two_writers_only_ever_tell_each_other_to_wait(void **state)
{
    (void)state;
    pthread_t threads[2];
    uint64_t mine[2] = { 0, 1 };
    atomic_store(&bad, 0);
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, writer, &mine[i]), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&bad), 0);
    assert_int_equal(sw_codemap_count(map), 0);
    sw_codemap_destroy(map);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lasting_ranges_are_always_found_and_none_is_torn),
        cmocka_unit_test(two_writers_only_ever_tell_each_other_to_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
