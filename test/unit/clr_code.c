/*
 * The runtime's own look-up of JIT code, over a small map and heap made here: where methods begin and end, what is
 * none, and every way in which map and heap may not fit together. And the walker's question for code that it does not
 * know.
 */
#include "clr_target.h"

#include <snapwalk/sim.h>
#include <snapwalk/walk.h>

#define CODE_MAP (DATA + 0x100)
#define TOP      (DATA + 0x1000) /* of the map's levels, 0x800 each */
#define FRAGMENT (DATA + 0x4000)
#define SECTION  (DATA + 0x4100)
#define NODE     (DATA + 0x4200)
#define NIBBLES  (DATA + 0x4400)
#define HEADERS  (DATA + 0x5000) /* of methods, 0x100 each */
#define METHOD   (DATA + 0x8000)
#define UNWIND   0x4000u /* in the heap */

/* The heap's code begins behind its first bytes and ends before it does. */
#define HEAP_BEGIN (HEAP + 0x40)
#define HEAP_END   (HEAP + 0x8000)

/* Methods by where they begin and end in the heap. A block of stubs is at STUBS. */
enum {
    A = 0x148,
    A_END = 0x190,
    B = 0x210,
    B_END = 0x5f0, /* over two whole map entries */
    C = 0x6fc,
    C_END = 0x720, /* begins in the last nibble of an entry */
    STUBS = 0x820,
    D = 0x908,
    D_END = 0x9a0 /* a dynamic method, with a funclet from 0x960 on */
};

static struct target target;
static struct sw_clr_layout layout;

static void put_word(uint64_t at, uint64_t value)
{
    put(&target, at, value, 8);
}

static uint64_t field(enum sw_clr_field which)
{
    return layout.at[which];
}

static void put_method(unsigned index, uint32_t begin, uint32_t end)
{
    const uint64_t header = HEADERS + index * 0x100u, method = METHOD + index * 0x20u;
    put_word(HEAP + begin - 8, header);
    put_word(header + 8, 0);
    put_word(header + 24, method);
    put(&target, header + 32, 1, 4);
    put(&target, header + 36, begin, 4);
    put(&target, header + 40, end, 4);
    put(&target, header + 44, UNWIND, 4);
    put(&target, method + field(SW_CLR_METHOD_FLAGS), 0x18, 2);
}

static void put_methods(void)
{
    static const uint8_t info[] = { 0x19, 0, 0, 0, 0, 0, 0, 0 };
    put_bytes(&target, HEAP + UNWIND, info, sizeof info);
    put_method(0, A, A_END);
    put_method(1, B, B_END);
    put_method(2, C, C_END);
    put_method(3, D, 0x960);
    put(&target, HEADERS + 3 * 0x100 + 32, 2, 4);
    put(&target, HEADERS + 3 * 0x100 + 48, 0x960, 4);
    put(&target, HEADERS + 3 * 0x100 + 52, D_END, 4);
    put(&target, HEADERS + 3 * 0x100 + 56, UNWIND, 4);
    put(&target, METHOD + 3 * 0x20 + field(SW_CLR_METHOD_FLAGS), 0x1f, 2);
    put_word(HEAP + STUBS - 8, 11);
}

/* By the definition of the map: a nibble for 32 bytes, the first in the highest bits. */
static void put_nibble(uint32_t begin)
{
    const uint64_t entry = NIBBLES + begin / 256 * 4;
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)*target_at(&target, entry + i) << (8 * i);
    value |= (begin % 32 / 4 + 1) << (28 - begin % 256 / 32 * 4);
    put(&target, entry, value, 4);
}

static void put_nibbles(void)
{
    static const uint32_t begins[] = { A, B, C, STUBS, D };
    memset(target_at(&target, NIBBLES), 0, 0x100);
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        put_nibble(begins[i]);
    for (uint32_t entry = 3; entry <= 4; entry++)
        put(&target, NIBBLES + 4 * entry, (B & ~15u) + 9 + B % 16 / 4, 4);
}

/* The slot of the map's level (4: top) on the way to an address. */
static uint64_t slot(unsigned level, uint64_t address)
{
    return TOP + (4 - level) * 0x800u + 8 * (address >> (17 + 8 * (level - 1)) & 255);
}

static void put_map(void)
{
    memset(target_at(&target, TOP), 0, 4 * 0x800);
    put_word(CODE_MAP + field(SW_CLR_MAP_TOP), TOP);
    for (unsigned level = 4; level > 1; level--)
        put_word(slot(level, HEAP), TOP + (5 - level) * 0x800u);
    put_word(slot(1, HEAP), FRAGMENT);
    put_word(FRAGMENT + field(SW_CLR_FRAGMENT_NEXT), 0);
    put_word(FRAGMENT + field(SW_CLR_FRAGMENT_BEGIN), HEAP);
    put_word(FRAGMENT + field(SW_CLR_FRAGMENT_END), HEAP + AREA_BYTES);
    put_word(FRAGMENT + field(SW_CLR_FRAGMENT_SECTION), SECTION);
    put(&target, SECTION + field(SW_CLR_SECTION_FLAGS), 2, 4);
    put_word(SECTION + field(SW_CLR_SECTION_HEAP), NODE);
    put_word(NODE + field(SW_CLR_HEAP_BEGIN), HEAP_BEGIN);
    put_word(NODE + field(SW_CLR_HEAP_END), HEAP_END);
    put_word(NODE + field(SW_CLR_HEAP_BASE), HEAP);
    put_word(NODE + field(SW_CLR_HEAP_MAP), NIBBLES);
}

static void arrange(void)
{
    memset(&target, 0xa5, sizeof target);
    target.hole = target.hole_size = 0;
    layout = target_layout();
    layout.code = CODE_MAP;
    put_map();
    put_nibbles();
    put_methods();
}

static bool find(uint64_t address, struct sw_range *range)
{
    const struct sw_memory memory = target_memory(&target);
    return sw_clr_find_code(&layout, &memory, address, range);
}

/* ---- what is there ---- */

/* at, begin, end: in the heap; end 0: nothing is found. */
static const struct place_row {
    const char *name;
    uint32_t at, begin, end;
    unsigned method;
    uint16_t flags;
} place_rows[] = {
    { "first_byte", A, A, A_END, 0, 0 },
    { "in_the_nibble_that_it_begins_in", A + 4, A, A_END, 0, 0 },
    { "in_a_later_nibble", A + 0x30, A, A_END, 0, 0 },
    { "last_byte", A_END - 1, A, A_END, 0, 0 },
    { "behind_the_end", A_END, 0, 0, 0, 0 },
    { "behind_the_end_in_the_next_entry", 0x208, 0, 0, 0, 0 },
    { "in_front_of_the_first_in_its_nibble", A - 4, 0, 0, 0, 0 },
    { "in_front_of_the_first_in_its_entry", 0x108, 0, 0, 0, 0 },
    { "in_the_first_entry_with_none_in_front", 0x48, 0, 0, 0, 0 },
    { "large_method_in_its_own_entry", 0x2ff, B, B_END, 1, 0 },
    { "large_method_by_a_pointer", 0x300, B, B_END, 1, 0 },
    { "large_method_by_the_last_pointer", 0x4ff, B, B_END, 1, 0 },
    { "large_method_by_the_pointer_in_the_entry_in_front", 0x5ef, B, B_END, 1, 0 },
    { "behind_the_end_of_a_large_method", 0x5f0, 0, 0, 0, 0 },
    { "in_the_last_nibble_of_an_entry", 0x6fc, C, C_END, 2, 0 },
    { "by_the_last_nibble_of_the_entry_in_front", 0x700, C, C_END, 2, 0 },
    { "last_byte_in_the_next_entry", C_END - 1, C, C_END, 2, 0 },
    { "block_of_stubs", STUBS + 8, 0, 0, 0, 0 },
    { "dynamic_method", D, D, D_END, 3, SW_RANGE_HIDDEN },
    { "funclet_belongs_to_its_method", D_END - 1, D, D_END, 3, SW_RANGE_HIDDEN },
    { "entry_and_the_one_in_front_are_empty", 0xb00, 0, 0, 0, 0 },
};

static void place_is_looked_up(void **state)
{
    const struct place_row *row = *state;
    struct sw_range range;
    arrange();
    assert_int_equal(find(HEAP + row->at, &range), row->end != 0);
    if (row->end == 0)
        return;
    assert_true(range.begin == HEAP + row->begin && range.end == HEAP + row->end);
    assert_true(range.id == METHOD + row->method * 0x20u);
    assert_int_equal(range.kind, SW_KIND_JIT);
    assert_int_equal(range.unwind, SW_UNWIND_CLR_HEADER);
    assert_int_equal(range.flags, row->flags);
    assert_int_equal(range.image, 0);
}

/* Every address of the heap: found where the lists above say so, and nowhere else. */
static void each_address_of_the_heap_belongs_to_its_method(void **state)
{
    static const struct {
        uint32_t begin, end;
    } methods[] = { { A, A_END }, { B, B_END }, { C, C_END }, { D, D_END } };
    struct sw_range range;
    (void)state;
    arrange();
    for (uint32_t at = 0; at < AREA_BYTES; at++) {
        uint64_t expected = 0;
        for (size_t i = 0; i < COUNT_OF(methods); i++)
            if (at >= methods[i].begin && at < methods[i].end)
                expected = HEAP + methods[i].begin;
        const uint64_t found = find(HEAP + at, &range) ? range.begin : 0;
        if (found != expected)
            fail_msg("at %x", at);
    }
}

/* ---- one word changed, seen from the first byte of A ---- */

/* Of the sections and nodes above, by where the fields are. */
#define AT(base, which) ((base) + target_layout().at[which])

enum { NOT_FOUND, FOUND, COLLECTIBLE, SHOWN };

static const struct changed_row {
    const char *name;
    enum sw_clr_field which; /* of what is at base; FIELDS: base itself */
    uint64_t base;
    uint64_t value;
    unsigned size;
    int found;
} changed_rows[] = {
    { "nothing_changed", SW_CLR_SECTION_FLAGS, SECTION, 2, 4, FOUND },
    { "section_of_a_precompiled_image", SW_CLR_SECTION_FLAGS, SECTION, 0, 4, NOT_FOUND },
    { "collectible_image", SW_CLR_SECTION_FLAGS, SECTION, 1, 4, NOT_FOUND },
    { "collectible_code", SW_CLR_SECTION_FLAGS, SECTION, 3, 4, COLLECTIBLE },
    { "other_flags", SW_CLR_SECTION_FLAGS, SECTION, 0xfffffffe, 4, FOUND },
    { "no_map", SW_CLR_MAP_TOP, CODE_MAP, 0, 8, NOT_FOUND },
    { "no_map_but_a_mark", SW_CLR_MAP_TOP, CODE_MAP, 1, 8, NOT_FOUND },
    { "marked_map", SW_CLR_MAP_TOP, CODE_MAP, TOP | 1, 8, FOUND },
    { "map_elsewhere", SW_CLR_MAP_TOP, CODE_MAP, UINT64_MAX - 7, 8, NOT_FOUND },
    { "no_fragment", SW_CLR_FIELDS, TOP + 3 * 0x800 + 8 * (HEAP >> 17 & 255), 0, 8, NOT_FOUND },
    { "marked_fragment", SW_CLR_FIELDS, TOP + 3 * 0x800 + 8 * (HEAP >> 17 & 255), FRAGMENT | 1, 8, FOUND },
    { "no_fragment_but_a_mark", SW_CLR_FIELDS, TOP + 3 * 0x800 + 8 * (HEAP >> 17 & 255), 1, 8, NOT_FOUND },
    { "no_second_level", SW_CLR_FIELDS, TOP + 8 * (HEAP >> 41 & 255), 0, 8, NOT_FOUND },
    { "marked_third_level", SW_CLR_FIELDS, TOP + 0x800 + 8 * (HEAP >> 33 & 255), TOP + 0x1000 + 1, 8, FOUND },
    { "no_last_level", SW_CLR_FIELDS, TOP + 0x1000 + 8 * (HEAP >> 25 & 255), 0, 8, NOT_FOUND },
    { "fragment_of_code_behind", SW_CLR_FRAGMENT_BEGIN, FRAGMENT, HEAP + A + 1, 8, NOT_FOUND },
    { "fragment_of_code_in_front", SW_CLR_FRAGMENT_END, FRAGMENT, HEAP + A, 8, NOT_FOUND },
    { "fragment_of_nothing", SW_CLR_FRAGMENT_END, FRAGMENT, 0, 8, NOT_FOUND },
    { "section_elsewhere", SW_CLR_FRAGMENT_SECTION, FRAGMENT, UINT64_MAX - 15, 8, NOT_FOUND },
    { "no_heap", SW_CLR_SECTION_HEAP, SECTION, 0, 8, NOT_FOUND },
    { "heap_begins_behind", SW_CLR_HEAP_BEGIN, NODE, HEAP + A + 1, 8, NOT_FOUND },
    { "heap_ends_in_front", SW_CLR_HEAP_END, NODE, HEAP + A, 8, NOT_FOUND },
    { "heap_ends_inside_the_method", SW_CLR_HEAP_END, NODE, HEAP + A + 8, 8, NOT_FOUND },
    { "heap_ends_with_the_method", SW_CLR_HEAP_END, NODE, HEAP + A_END, 8, FOUND },
    { "heap_ends_too_far_away_for_offsets", SW_CLR_HEAP_END, NODE, UINT64_MAX, 8, NOT_FOUND },
    { "map_base_behind", SW_CLR_HEAP_BASE, NODE, HEAP + A + 4, 8, NOT_FOUND },
    { "map_base_far_below", SW_CLR_HEAP_BASE, NODE, 0, 8, NOT_FOUND },
    { "no_nibble_map", SW_CLR_HEAP_MAP, NODE, 0, 8, NOT_FOUND },
    { "nibble_map_at_the_end_of_the_address_space", SW_CLR_HEAP_MAP, NODE, UINT64_MAX - 3, 8, NOT_FOUND },
    { "pointer_to_a_begin_behind", SW_CLR_FIELDS, NIBBLES + 4, 0x210 | 9, 4, NOT_FOUND },
    { "pointer_beyond_4_gib", SW_CLR_FIELDS, NIBBLES + 4, 0xffffffff, 4, NOT_FOUND },
    { "pointer_below_the_heap_s_code", SW_CLR_FIELDS, NIBBLES + 4, 0x20 | 9, 4, NOT_FOUND },
    { "pointer_to_it", SW_CLR_FIELDS, NIBBLES + 4, 0x140 | 11, 4, FOUND },
    { "no_header", SW_CLR_FIELDS, HEAP + A - 8, 0, 8, NOT_FOUND },
    { "last_number_that_is_a_kind_of_stub", SW_CLR_FIELDS, HEAP + A - 8, 15, 8, NOT_FOUND },
    { "header_elsewhere", SW_CLR_FIELDS, HEAP + A - 8, 16, 8, NOT_FOUND },
    { "header_of_another_method", SW_CLR_FIELDS, HEAP + A - 8, HEADERS + 0x100, 8, NOT_FOUND },
    { "end_beyond_the_heap", SW_CLR_FIELDS, HEADERS + 40, 0x8001, 4, NOT_FOUND },
    { "method_with_other_flags", SW_CLR_FIELDS, METHOD + 6, 0xfff8, 2, FOUND },
    { "method_of_another_kind", SW_CLR_FIELDS, METHOD + 6, 0x1e, 2, FOUND },
    { "method_elsewhere_is_shown", SW_CLR_FIELDS, HEADERS + 24, 8, 8, SHOWN },
};

static void changed_word_is_answered(void **state)
{
    const struct changed_row *row = *state;
    struct sw_range range = { .image = 77 };
    arrange();
    put(&target, row->base + (row->which == SW_CLR_FIELDS ? 0 : layout.at[row->which]), row->value, row->size);
    assert_int_equal(find(HEAP + A, &range), row->found != NOT_FOUND);
    if (row->found == NOT_FOUND)
        return;
    assert_true(range.begin == HEAP + A && range.end == HEAP + A_END);
    assert_int_equal(range.image, row->found == COLLECTIBLE);
    assert_int_equal(range.flags, 0);
}

/* Methods that are whole, but not where a look from 0x50 may come to. */
static void code_in_front_of_map_and_heap_is_not_found(void **state)
{
    struct sw_range range;
    (void)state;
    arrange();
    put_method(4, 0x48, 0x60);
    put(&target, NIBBLES - 4, 0x40 + 9 + 2, 4); /* in front of the map */
    assert_false(find(HEAP + 0x50, &range));
    put_nibble(0x48);
    assert_true(find(HEAP + 0x50, &range));
    put_word(NODE + field(SW_CLR_HEAP_BEGIN), HEAP + 0x4c);
    assert_false(find(HEAP + 0x50, &range));
}

/* ---- lists of fragments ---- */

static void the_fragment_that_holds_the_address_is_taken(void **state)
{
    const uint64_t first = FRAGMENT + 0x80;
    struct sw_range range;
    (void)state;
    arrange();
    put_word(slot(1, HEAP), first);
    put_word(AT(first, SW_CLR_FRAGMENT_NEXT), FRAGMENT | 1);
    put_word(AT(first, SW_CLR_FRAGMENT_BEGIN), HEAP + 0x8000);
    put_word(AT(first, SW_CLR_FRAGMENT_END), HEAP + 0x9000);
    put_word(AT(first, SW_CLR_FRAGMENT_SECTION), 0);
    assert_true(find(HEAP + A, &range));
    assert_false(find(HEAP + 0x8800, &range));
}

static void a_cycle_of_fragments_ends(void **state)
{
    struct sw_range range;
    (void)state;
    arrange();
    put_word(AT(FRAGMENT, SW_CLR_FRAGMENT_NEXT), FRAGMENT);
    put_word(AT(FRAGMENT, SW_CLR_FRAGMENT_BEGIN), HEAP + 0x8000);
    assert_false(find(HEAP + A, &range));
    put_word(AT(FRAGMENT, SW_CLR_FRAGMENT_NEXT), FRAGMENT + 0x80);
    put_word(AT(FRAGMENT + 0x80, SW_CLR_FRAGMENT_NEXT), FRAGMENT | 1);
    assert_false(find(HEAP + A, &range));
}

static void a_section_of_neither_code_nor_stubs_is_an_image(void **state)
{
    static const struct {
        uint32_t flags;
        bool is_image;
    } rows[] = { { 0, true }, { 1, true }, { 2, false }, { 3, false }, { 4, false }, { 8, false } };
    const struct sw_memory memory = target_memory(&target);
    uint64_t begin = 0, end = 0;
    (void)state;
    arrange();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put(&target, SECTION + field(SW_CLR_SECTION_FLAGS), rows[i].flags, 4);
        assert_int_equal(sw_clr_find_precompiled(&layout, &memory, HEAP + A, &begin, &end), rows[i].is_image);
    }
    assert_true(begin == HEAP && end == HEAP + AREA_BYTES);
    put(&target, SECTION + field(SW_CLR_SECTION_FLAGS), 0, 4);
    assert_false(sw_clr_find_precompiled(&layout, &memory, HEAP + AREA_BYTES, &begin, &end));
    target.hole = SECTION + field(SW_CLR_SECTION_FLAGS) + 3;
    target.hole_size = 1;
    assert_false(sw_clr_find_precompiled(&layout, &memory, HEAP + A, &begin, &end));
}

/* ---- damage ---- */

static void what_cannot_be_read_is_not_found(void **state)
{
    static const uint64_t read[] = { CODE_MAP + 8, FRAGMENT + 8, FRAGMENT + 16, FRAGMENT + 24, SECTION + 16,
                                     SECTION + 40, NODE + 16,    NODE + 24,     NODE + 32,     NODE + 40,
                                     NIBBLES + 4,  HEAP + A - 8, HEADERS + 32,  HEAP + UNWIND };
    struct sw_range range;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        arrange();
        target.hole = read[i] + 3;
        target.hole_size = 1;
        if (find(HEAP + A, &range))
            fail_msg("found without %zu", i);
    }
}

/* Whatever stands in the runtime's data, a range that is found holds the address and lies in readable reach. */
static void any_byte_changed_is_survived(void **state)
{
    static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
    static const uint32_t ats[] = { A, 0x300, 0x5e0, 0x700, STUBS, D };
    struct sw_range range;
    (void)state;
    arrange();
    for (uint64_t at = CODE_MAP; at < METHOD + 0x100; at++) {
        uint8_t *byte = target_at(&target, at);
        const uint8_t was = *byte;
        for (size_t v = 0; v < COUNT_OF(values); v++) {
            *byte = values[v];
            for (size_t i = 0; i < COUNT_OF(ats); i++)
                if (find(HEAP + ats[i], &range))
                    assert_true(range.begin <= HEAP + ats[i] && HEAP + ats[i] < range.end && range.id != 0);
        }
        *byte = was;
    }
}

/* ---- the walker's question ---- */

struct asked {
    struct sw_range answer;
    bool found;
    unsigned times;
};

static bool answer(void *arg, uint64_t address, struct sw_range *code)
{
    struct asked *asked = arg;
    (void)address;
    asked->times++;
    *code = asked->answer;
    return asked->found;
}

/* The code of a frame that stands at 0x1010, beside a code map with [0x2000, 0x2100) in it. */
static struct sw_range code_of_frame(struct asked *asked, uint64_t pc)
{
    static struct sw_scratch scratch;
    const struct sw_code_finder finder = { answer, asked };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_walk walk;
    struct sw_sim *sim;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x2100, 42), SW_OK);
    sw_sim_walker(sim)->finder = &finder;
    sw_regs_set(&regs, SW_X64_RIP, pc);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    sw_walk_start(&walk, sw_sim_walker(sim), &scratch, &regs, true);
    assert_true(sw_walk_next(&walk));
    sw_sim_destroy(sim);
    return walk.frame.code;
}

static const struct sw_range told = { 0x1000, 0x1100, 7, 0, SW_KIND_JIT, SW_UNWIND_ANALYSIS, SW_RANGE_HIDDEN };

static void code_that_nobody_knows_is_asked_for(void **state)
{
    struct asked asked = { told, true, 0 };
    (void)state;
    const struct sw_range code = code_of_frame(&asked, 0x1010);
    assert_int_equal(asked.times, 1);
    assert_int_equal(code.id, 7);
    assert_int_equal(code.kind, SW_KIND_JIT);
    assert_int_equal(code.flags, SW_RANGE_HIDDEN | SW_RANGE_FROM_FINDER);
}

static void code_in_the_map_is_not_asked_for(void **state)
{
    struct asked asked = { told, true, 0 };
    (void)state;
    const struct sw_range code = code_of_frame(&asked, 0x2010);
    assert_int_equal(asked.times, 0);
    assert_int_equal(code.id, 42);
    assert_int_equal(code.flags, 0);
}

static void a_finder_that_finds_nothing_leaves_native_code(void **state)
{
    struct asked asked = { told, false, 0 };
    (void)state;
    const struct sw_range code = code_of_frame(&asked, 0x1010);
    assert_int_equal(asked.times, 1);
    assert_int_equal(code.kind, SW_KIND_NATIVE);
    assert_true(code.begin == 0 && code.end == 0 && code.id == 0 && code.flags == 0);
}

static void a_finder_that_tells_of_other_code_is_not_believed(void **state)
{
    static const uint64_t elsewhere[] = { 0xfff, 0x1100 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(elsewhere); i++) {
        struct asked asked = { told, true, 0 };
        assert_int_equal(code_of_frame(&asked, elsewhere[i]).kind, SW_KIND_NATIVE);
        assert_int_equal(asked.times, 1);
    }
}

/* How often a finder is asked in two walks, by one rule cache, from a leaf function that it alone knows. */
static void ask_twice(uint32_t flags, unsigned times[2])
{
    static struct sw_scratch scratch;
    static const uint8_t call[] = { 0xe8, 0, 0, 0, 0 };
    static const uint64_t caller = 0x2010;
    struct asked asked = { told, true, 0 };
    const struct sw_code_finder finder = { answer, &asked };
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    struct sw_cache *cache;
    struct sw_walk walk;
    struct sw_sim *sim;
    asked.answer.unwind = SW_UNWIND_LEAF;
    assert_int_equal(sw_cache_create(NULL, 16, &cache), SW_OK);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    assert_int_equal(sw_sim_range(sim, SW_KIND_JIT, 0x2000, 0x2100, 42), SW_OK);
    assert_int_equal(sw_sim_bytes(sim, caller - sizeof call, call, sizeof call), SW_OK);
    assert_int_equal(sw_sim_words(sim, 0x7000, &caller, 1), SW_OK);
    struct sw_walker *walker = sw_sim_walker(sim);
    walker->finder = &finder;
    walker->cache = cache;
    walker->flags = flags;
    sw_regs_set(&regs, SW_X64_RIP, 0x1010);
    sw_regs_set(&regs, SW_X64_RSP, 0x7000);
    for (unsigned i = 0; i < 2; i++) {
        asked.times = 0;
        sw_walk_start(&walk, walker, &scratch, &regs, true);
        assert_true(sw_walk_next(&walk));
        assert_int_equal(walk.frame.code.id, 7);
        assert_int_equal(walk.frame.code.flags, SW_RANGE_HIDDEN | SW_RANGE_FROM_FINDER);
        assert_true(sw_walk_next(&walk));
        assert_true(sw_regs_pc(&walk.frame.regs) == caller);
        times[i] = asked.times;
    }
    sw_sim_destroy(sim);
    sw_cache_destroy(cache);
}

static void what_a_finder_tells_is_asked_again_unless_it_lasts(void **state)
{
    unsigned times[2];
    (void)state;
    ask_twice(0, times);
    assert_int_equal(times[0], 1);
    assert_int_equal(times[1], 1);
    ask_twice(SW_WALK_FINDER_LASTS, times);
    assert_int_equal(times[0], 1);
    assert_int_equal(times[1], 0);
}

/* As in .NET 8 and 9: the entries in the middle of a method are 0. */
static void without_pointers_a_begin_is_searched_for(void **state)
{
    struct sw_range range;
    (void)state;
    arrange();
    for (uint32_t entry = 3; entry <= 4; entry++)
        put(&target, NIBBLES + 4 * entry, 0, 4);
    layout.map_search = 1;
    assert_false(find(HEAP + 0x500, &range));
    for (layout.map_search = 3; layout.map_search <= 4096; layout.map_search *= 4) {
        assert_true(find(HEAP + 0x500, &range));
        assert_true(range.begin == HEAP + B && range.end == HEAP + B_END);
    }
    put(&target, NIBBLES + 4 * 2, 0, 4);
    layout.map_search = 4096; /* the method in front ends before */
    assert_false(find(HEAP + 0x500, &range));
    put(&target, NIBBLES + 4 * 1, 0, 4); /* nothing begins in front */
    assert_false(find(HEAP + 0x500, &range));
    arrange();
    put(&target, NIBBLES + 4 * 4, 0, 4);
    layout.map_search = 4096;
    target.hole = NIBBLES + 4 * 3;
    target.hole_size = 1;
    assert_false(find(HEAP + 0x500, &range));
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(without_pointers_a_begin_is_searched_for),
        cmocka_unit_test(each_address_of_the_heap_belongs_to_its_method),
        cmocka_unit_test(code_in_front_of_map_and_heap_is_not_found),
        cmocka_unit_test(the_fragment_that_holds_the_address_is_taken),
        cmocka_unit_test(a_cycle_of_fragments_ends),
        cmocka_unit_test(a_section_of_neither_code_nor_stubs_is_an_image),
        cmocka_unit_test(what_cannot_be_read_is_not_found),
        cmocka_unit_test(any_byte_changed_is_survived),
        cmocka_unit_test(code_that_nobody_knows_is_asked_for),
        cmocka_unit_test(code_in_the_map_is_not_asked_for),
        cmocka_unit_test(a_finder_that_finds_nothing_leaves_native_code),
        cmocka_unit_test(a_finder_that_tells_of_other_code_is_not_believed),
        cmocka_unit_test(what_a_finder_tells_is_asked_again_unless_it_lasts),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(place_rows) + COUNT_OF(changed_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), place_rows, place_is_looked_up);
    FILL_ROWS(tests + COUNT_OF(single) + COUNT_OF(place_rows), changed_rows, changed_word_is_answered);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
