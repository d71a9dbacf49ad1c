/*
 * From native code to IL: the JIT's notes in both packings, at every native offset; what stands in front of them; notes
 * that are cut or make no sense.
 */
#include "rows.h"

#include "clr/clr.h"
#include "clr/names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { BASE = 0x10000, ROOM = 4096, NOTES = 0x100, EPILOG = -3, PROLOG = -2, NONE = -1 };

static uint8_t target[ROOM];
static size_t target_end; /* what is behind cannot be read */

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address < BASE || address - BASE >= target_end)
        return 0;
    const size_t left = target_end - (size_t)(address - BASE), got = size < left ? size : left;
    memcpy(to, target + (address - BASE), got);
    return got;
}

static struct sw_names names_of(unsigned release)
{
    memset(target, 0xee, sizeof target);
    target_end = ROOM;
    return (struct sw_names){ .memory = { .read = read_target }, .release = release, .steps = 1000 };
}

/* ---- writing notes ---- */

struct entry {
    uint32_t native;
    int32_t il;
    bool call;
};

struct writer {
    size_t at, nibble, bit; /* nibble: 1: the high half is next */
};

static void put_number(struct writer *w, uint32_t value)
{
    unsigned digits = 1;
    while (digits < 11 && value >> 3 * digits)
        digits++;
    while (digits--) {
        const uint8_t nibble = (uint8_t)((value >> 3 * digits & 7) | (digits ? 8 : 0));
        target[w->at] = (uint8_t)(w->nibble ? (target[w->at] & 15) | nibble << 4 : nibble);
        w->at += w->nibble;
        w->nibble ^= 1;
    }
}

static void end_numbers(struct writer *w)
{
    w->at += w->nibble;
    w->nibble = 0;
}

static void put_bits(struct writer *w, uint64_t value, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++, w->bit++) {
        uint8_t *byte = &target[w->at + w->bit / 8];
        *byte = (uint8_t)((*byte & ~(1 << w->bit % 8)) | (int)(value >> i & 1) << w->bit % 8);
    }
}

/* Sizes of both parts, where only that of the first has to be right, and the entries. */
static void put_notes(size_t at, bool packed, bool instrumented, const struct entry *entries, size_t count)
{
    struct writer w = { .at = at };
    uint32_t before = 0;
    if (instrumented)
        put_number(&w, UINT32_MAX);
    put_number(&w, 64);
    if (instrumented)
        put_number(&w, 7);
    put_number(&w, 3);
    end_numbers(&w);
    put_number(&w, (uint32_t)count);
    if (packed) {
        put_number(&w, 12 - 1);
        put_number(&w, 9 - 1);
        end_numbers(&w);
    }
    for (size_t i = 0; i < count; before = entries[i++].native) {
        const uint32_t further = entries[i].native - before, il = (uint32_t)entries[i].il + 3;
        if (packed) {
            put_bits(&w, entries[i].call ? 1 : 2, 2);
            put_bits(&w, further, 12);
            put_bits(&w, il, 9);
        } else {
            put_number(&w, further);
            put_number(&w, il);
            put_number(&w, entries[i].call ? 0x10 : 2);
        }
    }
}

/* ---- rows ---- */

static const struct entry method[] = { { 0, PROLOG, false }, { 4, 0, false },      { 10, 7, false },
                                       { 12, 300, true },    { 20, 300, false },   { 30, NONE, false },
                                       { 40, 9, false },     { 50, EPILOG, false } };
static const struct {
    uint32_t native;
    int32_t il;
} wanted[] = { { 0, 0 },    { 3, 0 },  { 4, 0 },  { 9, 0 },  { 10, 7 }, { 12, 7 }, { 19, 7 },    { 20, 300 },
               { 29, 300 }, { 30, 0 }, { 39, 0 }, { 40, 9 }, { 49, 9 }, { 50, 9 }, { 100000, 9 } };

static void every_offset_has_its_statement(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        const bool packed = way & 1, instrumented = way == 3;
        struct sw_names names = names_of(10);
        put_notes(NOTES, packed, instrumented, method, COUNT_OF(method));
        for (size_t i = 0; i < COUNT_OF(wanted); i++) {
            uint32_t il = 0xbad;
            names.steps = 1000;
            assert_true(sw_names_bounds_find(&names, BASE + NOTES, packed, wanted[i].native, &il));
            assert_int_equal(il, wanted[i].il);
        }
    }
}

static void what_is_in_front_of_all_statements_has_none(void **state)
{
    const struct entry late[] = { { 4, 11, false } }, calls[] = { { 0, 11, true } }, ends[] = { { 0, EPILOG, false } };
    struct sw_names names = names_of(10);
    uint32_t il;
    (void)state;
    for (unsigned packed = 0; packed < 2; packed++) {
        put_notes(NOTES, packed, false, late, 1);
        assert_false(sw_names_bounds_find(&names, BASE + NOTES, packed, 3, &il));
        assert_true(sw_names_bounds_find(&names, BASE + NOTES, packed, 4, &il));
        put_notes(NOTES, packed, false, calls, 1);
        assert_false(sw_names_bounds_find(&names, BASE + NOTES, packed, 8, &il));
        put_notes(NOTES, packed, false, ends, 1);
        assert_false(sw_names_bounds_find(&names, BASE + NOTES, packed, 8, &il));
    }
}

/* Wherever the target ends: an answer from what is there, or none. */
static void notes_that_are_cut_end_the_search(void **state)
{
    (void)state;
    for (unsigned packed = 0; packed < 2; packed++)
        for (size_t end = NOTES; end < NOTES + 40; end++) {
            struct sw_names names = names_of(10);
            uint32_t il = 0;
            put_notes(NOTES, packed, false, method, COUNT_OF(method));
            target_end = end;
            const bool found = sw_names_bounds_find(&names, BASE + NOTES, packed, 45, &il);
            assert_true(!found || il == 9);
            assert_false(found && end < NOTES + 8);
        }
}

static void nonsense_is_refused(void **state)
{
    struct sw_names names = names_of(10);
    struct writer w = { .at = NOTES };
    uint32_t il;
    (void)state;
    memset(target, 0xff, sizeof target); /* numbers without an end */
    assert_false(sw_names_bounds_find(&names, BASE + NOTES, true, 5, &il));
    assert_false(sw_names_bounds_find(&names, BASE + NOTES, false, 5, &il));
    put_number(&w, 64), put_number(&w, 0), end_numbers(&w);
    put_number(&w, 1000), put_number(&w, 40), put_number(&w, 8), end_numbers(&w);
    assert_false(sw_names_bounds_find(&names, BASE + NOTES, true, 5, &il)); /* 41 bits of a number */
    w = (struct writer){ .at = NOTES };
    put_number(&w, 0), put_number(&w, 9), end_numbers(&w);
    assert_false(sw_names_bounds_find(&names, BASE + NOTES, true, 5, &il)); /* of no statement anything is noted */
    memset(target, 0, sizeof target);
    w = (struct writer){ .at = NOTES };
    put_number(&w, 64), put_number(&w, 0), end_numbers(&w), put_number(&w, UINT32_MAX); /* four thousand million */
    names.steps = 1000;
    (void)sw_names_bounds_find(&names, BASE + NOTES, false, 5, &il);
    assert_int_equal(names.steps, 0);
}

/* ---- JIT code ---- */

static void put_word(size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        target[at + i] = (uint8_t)(value >> 8 * i);
}

static void what_is_in_front_of_the_notes_is_passed_over(void **state)
{
    enum { CODE = 0x40, HEADER = 0x80, LOCALS = 5, INLINED = 13 };
    static const struct {
        unsigned release;
        uint8_t flags;
        size_t locals_at, locals_bytes;
    } rows[] = { { 10, 0, 0, 0 }, { 10, 1, 16, 40 }, { 10, 3, 16, 40 }, { 9, 1, 8, 32 },
                 { 8, 3, 8, 32 }, { 8, 2, 0, 0 },    { 10, 2, 0, 0 } };
    const struct sw_range range = { .begin = BASE + CODE, .end = BASE + CODE + 64, .kind = SW_KIND_JIT };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct sw_names names = names_of(rows[i].release);
        size_t at = NOTES;
        uint32_t il = 0;
        put_word(CODE - 8, BASE + HEADER, 8);
        put_word(HEADER, BASE + NOTES, 8);
        target[at++] = rows[i].flags;
        if (rows[i].flags & 1) {
            put_word(at + rows[i].locals_at, LOCALS, 4);
            at += rows[i].locals_bytes + 4 * LOCALS;
        }
        if (rows[i].flags & 2) {
            put_word(at, INLINED, 4);
            at += 4 + INLINED;
        }
        put_notes(at, rows[i].release >= 10, false, method, COUNT_OF(method));
        assert_int_equal(sw_names_place(&names, BASE + CODE + 21, &range, &il), SW_OK);
        assert_int_equal(il, 300);
        assert_int_equal(sw_names_place(&names, BASE + CODE - 1, &range, &il), SW_E_NOT_FOUND);
        target[NOTES] = 4; /* a flag that is not known */
        assert_int_equal(sw_names_place(&names, BASE + CODE + 21, &range, &il), SW_E_NOT_FOUND);
        put_word(HEADER, 0, 8); /* nothing was noted */
        assert_int_equal(sw_names_place(&names, BASE + CODE + 21, &range, &il), SW_E_NOT_FOUND);
        put_word(CODE - 8, 3, 8); /* a stub */
        assert_int_equal(sw_names_place(&names, BASE + CODE + 21, &range, &il), SW_E_NOT_FOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_offset_has_its_statement),
        cmocka_unit_test(what_is_in_front_of_all_statements_has_none),
        cmocka_unit_test(notes_that_are_cut_end_the_search),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(what_is_in_front_of_the_notes_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
