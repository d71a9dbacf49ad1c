/*
 * The runtime's own table of prepared entries, over a small one made here: what is in it and what is not, collisions,
 * and every way in which its parts may not fit together.
 */
#include "clr_target.h"

#define CODE_MAP  (DATA + 0x100)
#define TOP       (DATA + 0x1000) /* of the map's levels, 0x800 each */
#define FRAGMENT  (DATA + 0x4000)
#define SECTION   (DATA + 0x4100)
#define MODULE    (DATA + 0x4200)
#define INFO      (DATA + 0x4300)
#define COMPOSITE (DATA + 0x4400)
#define BUCKETS   (DATA + 0x5000)
#define MORE      (UINT64_C(1) << 63)

enum { NUMBER = 5, SLOTS = 4 };

static struct target target;
static struct sw_clr_layout layout;

static void put_word(uint64_t at, uint64_t value)
{
    put(&target, at, value, 8);
}

static uint64_t bucket(unsigned n)
{
    return BUCKETS + (1 + (uint64_t)n) * layout.entry[SW_CLR_BUCKET_SIZE];
}

static uint64_t key_at(unsigned n, unsigned slot)
{
    return bucket(n) + layout.entry[SW_CLR_BUCKET_KEYS] + 8u * slot;
}

static uint64_t value_at(unsigned n, unsigned slot)
{
    return bucket(n) + layout.entry[SW_CLR_BUCKET_VALUES] + 8u * slot;
}

/* The n-th bucket in which a key is looked for, by the definition of the table. */
static unsigned look(uint64_t key, unsigned n)
{
    const uint32_t step = 1 + ((uint32_t)(key >> 5) + 1) % (NUMBER - 1);
    return ((uint32_t)(key >> 2) + n * step) % NUMBER;
}

static void put_key(unsigned n, unsigned slot, uint64_t key, uint64_t method)
{
    uint64_t is_followed = 0;
    put_word(key_at(n, slot), key);
    if (slot == 0) {
        const uint8_t *top = target_at(&target, value_at(n, 0) + 7);
        is_followed = (uint64_t)(*top & 0x80u) << 56;
    }
    put_word(value_at(n, slot), method >> 1 | is_followed);
}

static void put_map(void)
{
    memset(target_at(&target, TOP), 0, 4 * 0x800);
    put_word(CODE_MAP + layout.at[SW_CLR_MAP_TOP], TOP);
    for (unsigned level = 4; level > 1; level--)
        put_word(TOP + (4 - level) * 0x800u + 8 * (HEAP >> (17 + 8 * (level - 1)) & 255), TOP + (5 - level) * 0x800u);
    put_word(TOP + 3 * 0x800u + 8 * (HEAP >> 17 & 255), FRAGMENT);
    put_word(FRAGMENT + layout.at[SW_CLR_FRAGMENT_NEXT], 0);
    put_word(FRAGMENT + layout.at[SW_CLR_FRAGMENT_BEGIN], HEAP);
    put_word(FRAGMENT + layout.at[SW_CLR_FRAGMENT_END], HEAP + AREA_BYTES);
    put_word(FRAGMENT + layout.at[SW_CLR_FRAGMENT_SECTION], SECTION);
}

#define FIRST  (HEAP + 0x100)
#define FULL   (HEAP + 0x204) /* its first bucket is full of others */
#define METHOD UINT64_C(0x7f0011223340)

static void arrange(void)
{
    memset(&target, 0xa5, sizeof target);
    target.hole = target.hole_size = 0;
    layout = target_layout();
    layout.code = CODE_MAP;
    layout.has_entries = true;
    layout.entry[SW_CLR_SECTION_MODULE] = 32;
    layout.entry[SW_CLR_MODULE_READY] = 96;
    layout.entry[SW_CLR_READY_COMPOSITE] = 40;
    layout.entry[SW_CLR_READY_ENTRIES] = 56;
    layout.entry[SW_CLR_MAP_BUCKETS] = 16;
    layout.entry[SW_CLR_BUCKET_KEYS] = 8;
    layout.entry[SW_CLR_BUCKET_VALUES] = 40;
    layout.entry[SW_CLR_BUCKET_SIZE] = 72;
    put_map();
    put_word(SECTION + 32, MODULE);
    put_word(MODULE + 96, INFO);
    put_word(INFO + 40, COMPOSITE);
    put_word(COMPOSITE + 56 + 16, BUCKETS);
    for (unsigned n = 0; n < NUMBER; n++)
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            put_word(key_at(n, slot), 0);
            put_word(value_at(n, slot), 0);
        }
    put_word(BUCKETS, UINT64_C(0xa5a5a5a500000000) | NUMBER); /* the rest of the word is not the number */
    put_key(look(FIRST, 0), 1, FIRST, METHOD);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (look(FULL, 0) != look(FIRST, 0) || slot != 1)
            put_key(look(FULL, 0), slot, HEAP + 0x8000 + slot, METHOD + 0x20);
    put_word(value_at(look(FULL, 0), 0), (METHOD + 0x20) >> 1 | MORE);
    put_key(look(FULL, 1), 2, FULL, METHOD + 0x40);
}

static uint64_t find(uint64_t entry)
{
    const struct sw_memory memory = target_memory(&target);
    uint64_t method = 0;
    return sw_clr_find_entry(&layout, &memory, entry, &method) ? method : 0;
}

static void a_prepared_entry_has_its_method(void **state)
{
    (void)state;
    arrange();
    assert_true(find(FIRST) == METHOD);
    assert_true(find(FIRST + 1) == 0); /* an address inside the method is not its entry */
    assert_true(find(HEAP + 0x300) == 0);
    assert_true(find(0) == 0);
    assert_true(find(DATA) == 0); /* in no range of code */
}

static void the_search_goes_on_behind_a_bucket_that_says_so(void **state)
{
    (void)state;
    arrange();
    assert_true(look(FULL, 0) != look(FULL, 1));
    assert_true(find(FULL) == METHOD + 0x40);
    put_word(value_at(look(FULL, 0), 0), (METHOD + 0x20) >> 1);
    assert_true(find(FULL) == 0);
}

static void the_mark_of_the_first_value_is_not_its_method_s(void **state)
{
    (void)state;
    arrange();
    put_key(look(FIRST, 0), 1, 0, 0);
    put_word(key_at(look(FIRST, 0), 0), FIRST);
    put_word(value_at(look(FIRST, 0), 0), METHOD >> 1 | MORE);
    assert_true(find(FIRST) == METHOD);
}

static void a_table_in_which_every_bucket_goes_on_ends(void **state)
{
    (void)state;
    arrange();
    for (unsigned n = 0; n < NUMBER; n++)
        put_word(value_at(n, 0), MORE);
    assert_true(find(HEAP + 0x300) == 0);
}

static void a_runtime_that_keeps_its_table_to_itself_is_not_guessed_at(void **state)
{
    (void)state;
    arrange();
    layout.has_entries = false;
    assert_true(find(FIRST) == 0);
}

static const struct changed_row {
    const char *name;
    uint64_t at, value;
} changed_rows[] = {
    { "section_without_module", SECTION + 32, 0 },
    { "module_elsewhere", SECTION + 32, UINT64_MAX - 200 },
    { "module_without_precompiled_code", MODULE + 96, 0 },
    { "precompiled_code_without_composite", INFO + 40, 0 },
    { "composite_elsewhere", INFO + 40, UINT64_MAX - 7 },
    { "no_buckets", COMPOSITE + 56 + 16, 0 },
    { "buckets_elsewhere", COMPOSITE + 56 + 16, UINT64_MAX - 7 },
    { "no_number_of_buckets", BUCKETS, 0 },
    { "one_bucket_has_no_step", BUCKETS, 1 },
    { "too_many_buckets", BUCKETS, UINT32_MAX },
    { "fragment_of_nothing", FRAGMENT + 16, 0 },
};

static void changed_word_gives_no_answer(void **state)
{
    const struct changed_row *row = *state;
    arrange();
    put_word(row->at, row->value);
    assert_true(find(FIRST) == 0);
}

static void what_cannot_be_read_is_not_found(void **state)
{
    const uint64_t read[] = {
        CODE_MAP + 8, FRAGMENT + 8, SECTION + 32, MODULE + 96, INFO + 40, COMPOSITE + 72, BUCKETS
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        arrange();
        target.hole = read[i] + 3;
        target.hole_size = 1;
        if (find(FIRST) != 0)
            fail_msg("found without %zu", i);
    }
    arrange();
    target.hole_size = 1;
    target.hole = key_at(look(FIRST, 0), 1);
    assert_true(find(FIRST) == 0);
    target.hole = value_at(look(FIRST, 0), 1);
    assert_true(find(FIRST) == 0);
}

static void any_byte_changed_is_survived(void **state)
{
    static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
    (void)state;
    arrange();
    for (uint64_t at = SECTION; at < BUCKETS + (NUMBER + 1) * 72u; at++) {
        uint8_t *byte = target_at(&target, at);
        const uint8_t was = *byte;
        for (size_t v = 0; v < COUNT_OF(values); v++) {
            *byte = values[v];
            (void)find(FIRST);
            (void)find(FULL);
        }
        *byte = was;
    }
    assert_true(find(FULL) == METHOD + 0x40);
}

static void where_the_table_is_can_be_learned_from_one_method(void **state)
{
    const struct sw_memory memory = target_memory(&target);
    (void)state;
    arrange();
    memset(target_at(&target, MODULE), 0, 0x100);
    put_word(MODULE + 96, INFO);
    memset(target_at(&target, COMPOSITE), 0, 0x100);
    put_word(COMPOSITE + 40, COMPOSITE);
    put_word(COMPOSITE + 56 + 16, BUCKETS);
    layout.has_entries = false;
    layout.entry[SW_CLR_MODULE_READY] = layout.entry[SW_CLR_READY_COMPOSITE] = layout.entry[SW_CLR_READY_ENTRIES] = 8;
    assert_false(sw_clr_learn_entries(&layout, &memory, FIRST, METHOD + 8)); /* it is not that method's entry */
    assert_false(sw_clr_learn_entries(&layout, &memory, FIRST + 16, METHOD));
    assert_false(layout.has_entries);
    assert_int_equal(layout.entry[SW_CLR_MODULE_READY], 8);
    assert_true(sw_clr_learn_entries(&layout, &memory, FIRST, METHOD));
    assert_int_equal(layout.entry[SW_CLR_MODULE_READY], 96);
    assert_int_equal(layout.entry[SW_CLR_READY_COMPOSITE], 40);
    assert_int_equal(layout.entry[SW_CLR_READY_ENTRIES], 56);
    assert_true(find(FULL) == METHOD + 0x40);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(a_prepared_entry_has_its_method),
        cmocka_unit_test(the_search_goes_on_behind_a_bucket_that_says_so),
        cmocka_unit_test(the_mark_of_the_first_value_is_not_its_method_s),
        cmocka_unit_test(a_table_in_which_every_bucket_goes_on_ends),
        cmocka_unit_test(a_runtime_that_keeps_its_table_to_itself_is_not_guessed_at),
        cmocka_unit_test(what_cannot_be_read_is_not_found),
        cmocka_unit_test(where_the_table_is_can_be_learned_from_one_method),
        cmocka_unit_test(any_byte_changed_is_survived),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(changed_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), changed_rows, changed_word_gives_no_answer);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
