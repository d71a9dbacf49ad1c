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
static enum sw_clr_system system_of; /* whose compiler's code is made */

/* Functions: push rbp; mov rbp, rsp; .. pop rbp; ret, or without a frame. */
static const struct function {
    uint8_t size;
    uint8_t bytes[12];
} other = { 3, { 0x48, 0x89, 0xf8 } }, zero = { 2, { 0x31, 0xc0 } }, one = { 5, { 0xb8, 1 } }, two = { 5, { 0xb8, 2 } },
  four = { 5, { 0xb8, 4 } }, eight = { 5, { 0xb8, 8 } }, at_16 = { 4, { 0x48, 0x8d, 0x47, 16 } },
  at_24 = { 4, { 0x48, 0x8d, 0x47, 24 } }, word_16 = { 4, { 0x48, 0x8b, 0x47, 16 } },
  half_24 = { 3, { 0x8b, 0x47, 24 } }, context_16 = { 9, { 0xb8, 0xf8, 0, 0, 0, 0x48, 3, 0x47, 16 } },
  context_of_windows = { 10, { 0x48, 0x8b, 0x41, 16, 0x48, 5, 0xf8 } };

/* The same as a compiler for Windows has it: the frame is in rcx, and xor has the other encoding. */
static struct function of_windows(const struct function *function)
{
    struct function made = function == &context_16 ? context_of_windows : *function;
    for (unsigned i = 0; i < made.size; i++)
        made.bytes[i] = made.bytes[i] == 0x47 ? 0x41 : made.bytes[i] == 0x31 ? 0x33 : made.bytes[i];
    return made;
}

static uint64_t put_function(const struct function *function, bool framed)
{
    static const uint8_t begin[] = { 0x55, 0x48, 0x89, 0xe5 }, end[] = { 0x5d, 0xc3 };
    const struct function made = system_of == SW_CLR_WINDOWS ? of_windows(function) : *function;
    const uint64_t at = code_end;
    uint64_t to = at;
    if (framed)
        put_bytes(&target, to, begin, sizeof begin);
    to += framed ? sizeof begin : 0;
    put_bytes(&target, to, made.bytes, made.size);
    put_bytes(&target, to + made.size, framed ? end : end + 1, framed ? 2 : 1);
    code_end += 32;
    return at;
}

/* The classes, in the order of the table; the functions that tell. Windows has that of the block earlier. */
enum { BLOCK = 20, BLOCK_OF_WINDOWS = 18 };
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
    { 6, SW_CLR_FRAME_BLOCK, { { 3, &one }, { BLOCK, &word_16 } } },
    { 2, SW_CLR_FRAME_CONTEXT, { { 3, &one }, { 1, &eight }, { 8, &context_16 } } },
    { 1, SW_CLR_FRAME_BLOCK, { { 3, &one }, { 4, &one }, { 13, &two }, { BLOCK, &word_16 } } }, /* of COM */
};
enum { MADE_OF_WINDOWS = 5 + 1 + 5 + 1 + 1 + 6 + 2 + 1 };

/* Only Windows has that of COM, the last. */
static unsigned classes_made(void)
{
    return system_of == SW_CLR_WINDOWS ? COUNT_OF(classes) : COUNT_OF(classes) - 1;
}

static unsigned vtables_made(void)
{
    return system_of == SW_CLR_WINDOWS ? MADE_OF_WINDOWS : MADE_OF_WINDOWS - 1;
}

static uint64_t vtable_of(unsigned n)
{
    return DATA + 0x1000 + n * (uint64_t)VTABLE_BYTES;
}

static void put_class(unsigned n, const struct made *made, bool framed)
{
    const uint64_t nothing = put_function(&other, framed);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        put(&target, vtable_of(n) + 8 * slot, nothing, 8);
    for (unsigned i = 0; i < 4 && made->told[i].function; i++) {
        const bool moves = made->told[i].slot == BLOCK && system_of == SW_CLR_WINDOWS;
        put(&target, vtable_of(n) + 8 * (moves ? BLOCK_OF_WINDOWS : made->told[i].slot),
            put_function(made->told[i].function, framed), 8);
    }
    put(&target, TABLE + 8 * (FIRST + n), vtable_of(n), 8);
}

static void arrange(bool framed)
{
    unsigned n = 0;
    memset(&target, 0, sizeof target);
    code_end = CODE;
    put(&target, TABLE, MAP, 8);
    for (unsigned i = 0; i < classes_made(); i++)
        for (unsigned k = 0; k < classes[i].count; k++)
            put_class(n++, &classes[i], framed);
    assert_int_equal(n, vtables_made());
}

static enum sw_status recognise(void)
{
    const struct sw_memory memory = target_memory(&target);
    const struct sw_clr_library library = { DATA, DATA + AREA_BYTES, TABLE };
    layout = target_layout();
    layout.system = system_of;
    return sw_clr_layout_recognise(&memory, &library, &layout);
}

static void every_class_is_told_by_its_functions(void **state)
{
    (void)state;
    for (unsigned framed = 0; framed < 2; framed++) {
        arrange(framed);
        assert_int_equal(recognise(), SW_OK);
        assert_true(layout.code == MAP);
        assert_int_equal(layout.frame_count, vtables_made());
        for (unsigned i = 0, n = 0; i < classes_made(); i++)
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
    put(&target, TABLE + 8 * (FIRST + vtables_made()), vtable_of(0), 8);
    assert_int_equal(recognise(), SW_OK);
    assert_int_equal(layout.frame_count, vtables_made());
}

static void a_stranger_is_no_frame(void **state)
{
    const struct made stranger = { 1, SW_CLR_FRAME_NOWHERE, { { 3, &one } } };
    (void)state;
    arrange(false);
    put_class(vtables_made(), &stranger, false);
    assert_int_equal(recognise(), SW_OK);
    assert_int_equal(layout.frame_count, vtables_made());
}

static void one_class_more_or_less_is_another_runtime(void **state)
{
    (void)state;
    for (unsigned i = 1, n = classes[0].count; i < classes_made(); n += classes[i++].count) {
        arrange(false);
        put_class(vtables_made(), &classes[i], false);
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
        if (recognise() == SW_OK && layout.frame_count == vtables_made())
            fail_msg("the function at %#llx", (unsigned long long)at);
        put_bytes(&target, at, was, sizeof was);
    }
    assert_int_equal(recognise(), SW_OK);
}

static void code_of_another_system_s_compiler_is_another_runtime(void **state)
{
    (void)state;
    arrange(false);
    system_of = SW_CLR_UNIX;
    assert_int_equal(recognise(), SW_E_UNSUPPORTED);
    system_of = SW_CLR_WINDOWS;
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

static int on_unix(void **state)
{
    (void)state;
    system_of = SW_CLR_UNIX;
    return 0;
}

static int on_windows(void **state)
{
    (void)state;
    system_of = SW_CLR_WINDOWS;
    return 0;
}

#define ON(setup, test)                                                                                                \
    {                                                                                                                  \
#test "_" #setup, test, setup, NULL, NULL                                                                      \
    }
#define ON_BOTH_SYSTEMS(test) ON(on_unix, test), ON(on_windows, test)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ON_BOTH_SYSTEMS(every_class_is_told_by_its_functions),
        ON_BOTH_SYSTEMS(what_stands_twice_counts_once),
        ON_BOTH_SYSTEMS(a_stranger_is_no_frame),
        ON_BOTH_SYSTEMS(one_class_more_or_less_is_another_runtime),
        ON_BOTH_SYSTEMS(a_function_that_does_more_tells_nothing),
        ON_BOTH_SYSTEMS(vtables_and_functions_are_the_runtime_s_own),
        ON_BOTH_SYSTEMS(a_table_that_cannot_be_read_is_said_to_be_so),
        ON(on_windows, code_of_another_system_s_compiler_is_another_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
