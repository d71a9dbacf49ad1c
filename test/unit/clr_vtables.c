/*
 * Explicit frames told apart by what their functions do: a table for debuggers made here, of classes with functions of
 * a few bytes; and every way in which they may not be the ones that are known.
 */
#include "clr_target.h"

#define TABLE (DATA + 0x100)
#define CODE  (DATA + 0x8000) /* of functions, 16 bytes each */
#define MAP   UINT64_C(0x7f0000004440)

enum { FIRST = 100, SLOTS = 22, VTABLE_BYTES = SLOTS * 8 };

static struct target target;
static struct sw_clr_layout layout;
static uint64_t code_end;

/* Functions: push rbp; mov rbp, rsp; .. pop rbp; ret, or without a frame. */
static const struct function {
    uint8_t size;
    uint8_t bytes[12];
} other = { 3, { 0x48, 0x89, 0xf8 } }, zero = { 2, { 0x31, 0xc0 } }, one = { 5, { 0xb8, 1 } }, two = { 5, { 0xb8, 2 } },
  four = { 5, { 0xb8, 4 } }, eight = { 5, { 0xb8, 8 } }, at_16 = { 4, { 0x48, 0x8d, 0x47, 16 } },
  at_24 = { 4, { 0x48, 0x8d, 0x47, 24 } }, word_16 = { 4, { 0x48, 0x8b, 0x47, 16 } },
  half_24 = { 3, { 0x8b, 0x47, 24 } }, context_16 = { 9, { 0xb8, 0xf8, 0, 0, 0, 0x48, 3, 0x47, 16 } };

static uint64_t put_function(const struct function *function, bool framed)
{
    static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5 }, end[] = { 0x5d, 0xc3 };
    const uint64_t at = code_end;
    uint64_t to = at;
    if (framed)
        put_bytes(&target, to, begin, sizeof begin);
    to += framed ? sizeof begin : 0;
    put_bytes(&target, to, function->bytes, function->size);
    put_bytes(&target, to + function->size, framed ? end : end + 1, framed ? 2 : 1);
    code_end += 32;
    return at;
}

/* The classes, in the order of the table; the functions that tell. */
static const struct made {
    unsigned count;
    enum sw_clr_frame kind;
    struct {
        unsigned slot;
        const struct function *function;
    } told[4];
} classes[] = {
    { 5, SW_CLR_FRAME_NOWHERE, { { 3, &zero } } },
    { 1, SW_CLR_FRAME_FAULT, { { 3, &one }, { 8, &at_24 } } },
    { 5, SW_CLR_FRAME_HELPER, { { 3, &one }, { 8, &zero }, { 12, &four }, { 1, &half_24 } } },
    { 1, SW_CLR_FRAME_HIJACK, { { 3, &one }, { 8, &at_16 } } },
    { 1, SW_CLR_FRAME_INLINED, { { 4, &one }, { 13, &two } } },
    { 6, SW_CLR_FRAME_BLOCK, { { 3, &one }, { 20, &word_16 } } },
    { 2, SW_CLR_FRAME_CONTEXT, { { 3, &one }, { 1, &eight }, { 8, &context_16 } } },
};
enum { MADE = 5 + 1 + 5 + 1 + 1 + 6 + 2 };

static uint64_t vtable_of(unsigned n)
{
    return DATA + 0x1000 + n * (uint64_t)VTABLE_BYTES;
}

static void put_class(unsigned n, const struct made *made, bool framed)
{
    const uint64_t nothing = put_function(&other, framed);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        put(&target, vtable_of(n) + 8 * slot, nothing, 8);
    for (unsigned i = 0; i < 4 && made->told[i].function; i++)
        put(&target, vtable_of(n) + 8 * made->told[i].slot, put_function(made->told[i].function, framed), 8);
    put(&target, TABLE + 8 * (FIRST + n), vtable_of(n), 8);
}

static void arrange(bool framed)
{
    unsigned n = 0;
    memset(&target, 0, sizeof target);
    code_end = CODE;
    put(&target, TABLE, MAP, 8);
    for (unsigned i = 0; i < COUNT_OF(classes); i++)
        for (unsigned k = 0; k < classes[i].count; k++)
            put_class(n++, &classes[i], framed);
    assert_int_equal(n, MADE);
}

static enum sw_status recognise(void)
{
    const struct sw_memory memory = target_memory(&target);
    const struct sw_clr_library library = { DATA, DATA + AREA_BYTES, TABLE };
    layout = target_layout();
    return sw_clr_layout_recognise(&memory, &library, &layout);
}

static void every_class_is_told_by_its_functions(void **state)
{
    (void)state;
    for (unsigned framed = 0; framed < 2; framed++) {
        arrange(framed);
        assert_int_equal(recognise(), SW_OK);
        assert_true(layout.code == MAP);
        assert_int_equal(layout.frame_count, MADE);
        for (unsigned i = 0, n = 0; i < COUNT_OF(classes); i++)
            for (unsigned k = 0; k < classes[i].count; k++, n++) {
                assert_true(layout.frames[n].word == vtable_of(n));
                assert_int_equal(layout.frames[n].kind, classes[i].kind);
            }
    }
}

static void what_stands_twice_counts_once(void **state)
{
    (void)state;
    arrange(false);
    put(&target, TABLE + 8 * (FIRST + MADE), vtable_of(0), 8);
    assert_int_equal(recognise(), SW_OK);
    assert_int_equal(layout.frame_count, MADE);
}

static void a_stranger_is_no_frame(void **state)
{
    const struct made stranger = { 1, SW_CLR_FRAME_NOWHERE, { { 3, &one } } };
    (void)state;
    arrange(false);
    put_class(MADE, &stranger, false);
    assert_int_equal(recognise(), SW_OK);
    assert_int_equal(layout.frame_count, MADE);
}

static void one_class_more_or_less_is_another_runtime(void **state)
{
    (void)state;
    for (unsigned i = 1, n = classes[0].count; i < COUNT_OF(classes); n += classes[i++].count) {
        arrange(false);
        put_class(MADE, &classes[i], false);
        if (recognise() != SW_E_UNSUPPORTED)
            fail_msg("one more of %u", i);
        arrange(false);
        put(&target, TABLE + 8 * (FIRST + n), 0, 8);
        if (recognise() != SW_E_UNSUPPORTED)
            fail_msg("one less of %u", i);
    }
}

static void a_function_that_does_more_tells_nothing(void **state)
{
    (void)state;
    arrange(false);
    for (uint64_t at = CODE; at < code_end; at += 32) {
        uint8_t was[16];
        memcpy(was, target_at(&target, at), sizeof was);
        if (memcmp(was, other.bytes, other.size) == 0)
            continue;
        for (unsigned i = 0; i < sizeof was; i++)
            if (was[i] == 0xc3)
                put(&target, at + i, 0x90, 1);
        if (recognise() == SW_OK && layout.frame_count == MADE)
            fail_msg("the function at %#llx", (unsigned long long)at);
        put_bytes(&target, at, was, sizeof was);
    }
    assert_int_equal(recognise(), SW_OK);
}

static void vtables_and_functions_are_the_runtime_s_own(void **state)
{
    const struct sw_memory memory = target_memory(&target);
    const struct sw_clr_library without_code = { DATA, CODE, TABLE }, without_vtables = { CODE, code_end, TABLE };
    (void)state;
    arrange(false);
    layout = target_layout();
    assert_int_equal(sw_clr_layout_recognise(&memory, &without_code, &layout), SW_E_UNSUPPORTED);
    assert_int_equal(sw_clr_layout_recognise(&memory, &without_vtables, &layout), SW_E_UNSUPPORTED);
}

static void a_table_that_cannot_be_read_is_said_to_be_so(void **state)
{
    (void)state;
    arrange(false);
    target.hole = TABLE + 3;
    target.hole_size = 1;
    assert_int_equal(recognise(), SW_E_UNREADABLE);
    target.hole = CODE;
    target.hole_size = AREA_BYTES;
    assert_int_equal(recognise(), SW_E_UNSUPPORTED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_is_told_by_its_functions),
        cmocka_unit_test(what_stands_twice_counts_once),
        cmocka_unit_test(a_stranger_is_no_frame),
        cmocka_unit_test(one_class_more_or_less_is_another_runtime),
        cmocka_unit_test(a_function_that_does_more_tells_nothing),
        cmocka_unit_test(vtables_and_functions_are_the_runtime_s_own),
        cmocka_unit_test(a_table_that_cannot_be_read_is_said_to_be_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
