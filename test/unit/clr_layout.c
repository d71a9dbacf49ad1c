/*
 * The runtime's description of itself: a small descriptor written here, whole and in every way not whole, and the
 * installed .NET's own when it is found.
 */
#include "clr_descriptor.h"

#include "budget.h"
#include "host.h"

#include <snapwalk/self.h>

#include <dlfcn.h>
#include <glob.h>

static struct target target;

static void put_descriptor(const struct text *t)
{
    memset(&target, 0, sizeof target);
    put(&target, HEAD, UINT64_C(0x0043414443434e44), 8);
    put(&target, HEAD + 8, 1, 4);
    put(&target, HEAD + 12, t->size, 4);
    put(&target, HEAD + 16, TEXT_AT, 8);
    put(&target, HEAD + 24, POINTERS, 4);
    put(&target, HEAD + 32, POINTERS_AT, 8);
    put(&target, POINTERS_AT + 16, CODE_MAP, 8);
    put_bytes(&target, TEXT_AT, t->at, t->size);
}

static const struct sw_clr_runtime net_10 = { 10, SW_MACHINE_X64, SW_CLR_UNIX, HEAD };

static enum sw_status read_layout(struct sw_clr_layout *layout)
{
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    const struct sw_memory memory = target_memory(&target);
    const enum sw_status status = sw_clr_layout_read(&memory, &net_10, &alloc, layout);
    assert_int_equal(budget.blocks, 0);
    assert_int_equal(budget.bytes, 0);
    return status;
}

static enum sw_status read_text(const struct text *t, struct sw_clr_layout *layout)
{
    put_descriptor(t);
    return read_layout(layout);
}

/* ---- whole, and one value changed ---- */

static struct text text;

static void a_whole_descriptor_says_where_everything_is(void **state)
{
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    assert_int_equal(read_text(&text, &layout), SW_OK);
    for (unsigned i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].field < SW_CLR_FIELDS)
            assert_int_equal(layout.at[fields[i].field], offset_of(i));
    for (unsigned i = 0; i < SW_CLR_FIELDS; i++)
        assert_true(layout.at[i] != SW_CLR_DESCRIBED);
    assert_int_equal(layout.frame_count, IDENTIFIERS);
    for (unsigned i = 0; i < IDENTIFIERS; i++)
        assert_true(layout.frames[i].word == 0x11 + i && layout.frames[i].kind == target_kinds[i]);
    assert_false(layout.closed);
    assert_true(layout.code == CODE_MAP);
}

/* The names of its last six rows, in the order in which the reader has them. */
static void registers_are_where_both_records_of_them_begin(void **state)
{
    static const struct {
        unsigned number, row;
    } order[] = { { SW_X64_RBX, DESCRIBED - 2 }, { SW_X64_RBP, DESCRIBED - 1 }, { SW_X64_R12, DESCRIBED - 6 },
                  { SW_X64_R13, DESCRIBED - 5 }, { SW_X64_R14, DESCRIBED - 4 }, { SW_X64_R15, DESCRIBED - 3 } };
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    assert_int_equal(read_text(&text, &layout), SW_OK);
    assert_int_equal(fields[BLOCK_BASE].field, BASE);
    assert_int_equal(fields[HIJACK_BASE].field, BASE);
    assert_int_equal(layout.block.count, COUNT_OF(order));
    assert_int_equal(layout.hijack.count, COUNT_OF(order));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        assert_int_equal(layout.block.at[i].number, order[i].number);
        assert_int_equal(layout.block.at[i].offset, offset_of(BLOCK_BASE) + offset_of(order[i].row));
        assert_int_equal(layout.hijack.at[i].offset, offset_of(HIJACK_BASE) + offset_of(order[i].row));
    }
}

/* Without one of them walks are as good, but no precompiled method is looked up. */
static void entries_are_known_where_all_of_their_table_is(void **state)
{
    struct sw_clr_layout layout;
    (void)state;
    for (left_out = 0; left_out <= COUNT_OF(entry_fields); left_out++) {
        write_text(&text, NOTHING_CHANGED, NULL);
        assert_int_equal(read_text(&text, &layout), SW_OK);
        assert_int_equal(layout.has_entries, left_out == COUNT_OF(entry_fields));
        for (unsigned i = 0; i < COUNT_OF(entry_fields) && layout.has_entries; i++)
            assert_int_equal(layout.entry[i], 700 + 8 * i);
    }
    left_out = COUNT_OF(entry_fields);
}

static void each_missing_value_is_missed(void **state)
{
    struct sw_clr_layout layout;
    (void)state;
    for (unsigned i = 0; i < VALUES; i++) {
        write_text(&text, i, NULL);
        if (read_text(&text, &layout) != SW_E_UNSUPPORTED)
            fail_msg("without value %u it is taken for whole", i);
    }
}

enum { FRAME = 1 /* Thread's Frame among the fields */ };

/* read: what the reader makes of it, at FRAME. */
static const struct value_row {
    const char *name;
    unsigned changed;
    const char *value;
    enum sw_status status;
    uint32_t read;
} value_rows[] = {
    { "field_with_its_type", FRAME, "[304,\"type\"]", SW_OK, 304 },
    { "field_in_hexadecimal", FRAME, "\"0x1aF\"", SW_OK, 0x1af },
    { "field_in_quotes", FRAME, "\"12\"", SW_OK, 12 },
    { "field_among_blanks", FRAME, " \t[ 7 , \"type\" ]\r\n", SW_OK, 7 },
    { "field_of_0", FRAME, "0", SW_OK, 0 },
    { "largest_offset", FRAME, "65533", SW_OK, 65533 },
    { "offset_that_would_say_that_there_is_none", FRAME, "65535", SW_E_UNSUPPORTED, 0 },
    { "offset_that_is_yet_to_be_said", FRAME, "65534", SW_E_UNSUPPORTED, 0 },
    { "offset_over_65535", FRAME, "65536", SW_E_UNSUPPORTED, 0 },
    { "offset_of_17_digits", FRAME, "00000000000000008", SW_E_UNSUPPORTED, 0 },
    { "offset_that_wraps_to_8", FRAME, "\"0x10000000000000008\"", SW_E_UNSUPPORTED, 0 },
    { "negative_offset", FRAME, "-8", SW_E_UNSUPPORTED, 0 },
    { "fraction", FRAME, "8.5", SW_E_UNSUPPORTED, 0 },
    { "hexadecimal_digits_in_a_decimal", FRAME, "\"1f\"", SW_E_UNSUPPORTED, 0 },
    { "letter_behind_the_last_decimal", FRAME, "\"1a\"", SW_E_UNSUPPORTED, 0 },
    { "letter_behind_the_last_hexadecimal", FRAME, "\"0x1g\"", SW_E_UNSUPPORTED, 0 },
    { "no_digits_behind_0x", FRAME, "\"0x\"", SW_E_UNSUPPORTED, 0 },
    { "empty_string", FRAME, "\"\"", SW_E_UNSUPPORTED, 0 },
    { "word", FRAME, "null", SW_E_UNSUPPORTED, 0 },
    { "object_in_place_of_a_number", FRAME, "{\"Frame\":8}", SW_E_UNSUPPORTED, 0 },
    { "empty_list", FRAME, "[]", SW_E_UNSUPPORTED, 0 },
    { "list_in_a_list", FRAME, "[[8]]", SW_E_UNSUPPORTED, 0 },
    { "nothing_at_all", FRAME, " ", SW_E_UNSUPPORTED, 0 },
    { "brackets_that_do_not_close", FRAME, "[8,\"type\"", SW_E_MALFORMED, 0 },
    { "string_that_does_not_close", FRAME, "\"8", SW_E_MALFORMED, 0 },
    { "quote_behind_a_backslash", FRAME, "[9,\"ty\\\"}}}}\"]", SW_OK, 9 },
    { "identifier_that_only_a_pointer_tells", GLOBALS, "[[1],\"nuint\"]", SW_E_UNSUPPORTED, 0 },
    { "another_machine", ARCHITECTURE, "[\"arm64\",\"string\"]", SW_E_UNSUPPORTED, 0 },
    { "a_machine_that_begins_alike", ARCHITECTURE, "[\"x64_32\",\"string\"]", SW_E_UNSUPPORTED, 0 },
    { "machine_by_number", ARCHITECTURE, "[64]", SW_E_UNSUPPORTED, 0 },
    { "another_system", SYSTEM, "[\"windows\",\"string\"]", SW_E_UNSUPPORTED, 0 },
    { "the_system_by_name", SYSTEM, "[\"unix\",\"string\"]", SW_OK, 9 },
    { "registers_that_begin_too_high", DESCRIBED - 6, "65530", SW_E_UNSUPPORTED, 0 },
    { "first_pointer_behind_the_last", RANGE_MAP, "[[3],\"pointer\"]", SW_E_MALFORMED, 0 },
    { "pointer_whose_offset_would_wrap", RANGE_MAP, "[[\"0x2000000000000002\"],\"pointer\"]", SW_E_MALFORMED, 0 },
    { "code_map_that_is_no_pointer", RANGE_MAP, "2", SW_E_UNSUPPORTED, 0 },
    { "another_nibble_map", CONTRACTS, "1", SW_E_UNSUPPORTED, 0 },
    { "a_later_contract", CONTRACTS + 2, "2", SW_E_UNSUPPORTED, 0 },
};

static void value_is_read(void **state)
{
    const struct value_row *row = *state;
    struct sw_clr_layout layout;
    write_text(&text, row->changed, row->value);
    assert_int_equal(read_text(&text, &layout), row->status);
    if (row->status == SW_OK)
        assert_int_equal(layout.at[SW_CLR_THREAD_FRAME], row->read);
}

/* ---- the frame around the text ---- */

static const struct head_row {
    const char *name;
    uint64_t at;
    uint64_t value;
    unsigned size;
    enum sw_status status;
    uint64_t hole; /* 8 bytes that cannot be read; 0: none */
} head_rows[] = {
    { "wrong_magic", HEAD, UINT64_C(0x0043414443434e45), 8, SW_E_MALFORMED, 0 },
    { "magic_of_the_other_byte_order", HEAD, UINT64_C(0x444e434344414300), 8, SW_E_MALFORMED, 0 },
    { "text_of_size_0", HEAD + 12, 0, 4, SW_E_MALFORMED, 0 },
    { "text_of_2_mib", HEAD + 12, 2u << 20, 4, SW_E_MALFORMED, 0 },
    { "text_of_4_gib_less_1", HEAD + 12, UINT32_MAX, 4, SW_E_MALFORMED, 0 },
    { "text_larger_than_what_is_readable", HEAD + 12, 1u << 20, 4, SW_E_UNREADABLE, 0 },
    { "text_elsewhere", HEAD + 16, UINT64_C(0xfffffffffffffff0), 8, SW_E_UNREADABLE, 0 },
    { "no_pointers", HEAD + 24, 0, 4, SW_E_MALFORMED, 0 },
    { "pointers_elsewhere", HEAD + 32, UINT64_C(0xfffffffffffffff4), 8, SW_E_UNREADABLE, 0 },
    { "unreadable_head", HEAD, UINT64_C(0x0043414443434e44), 8, SW_E_UNREADABLE, HEAD + 32 },
    { "unreadable_in_the_middle_of_the_text", HEAD + 8, 1, 4, SW_E_UNREADABLE, TEXT_AT + 1000 },
    { "unreadable_pointer", HEAD + 8, 1, 4, SW_E_UNREADABLE, POINTERS_AT + 16 },
};

static void bad_head_is_a_status(void **state)
{
    const struct head_row *row = *state;
    struct sw_clr_layout layout;
    write_text(&text, NOTHING_CHANGED, NULL);
    put_descriptor(&text);
    put(&target, row->at, row->value, row->size);
    target.hole = row->hole;
    target.hole_size = row->hole ? 8 : 0;
    assert_int_equal(read_layout(&layout), row->status);
}

static void without_memory_it_says_so(void **state)
{
    struct budget none = { .left = 0 };
    const struct sw_alloc alloc = { budget_get, budget_put, &none };
    const struct sw_memory memory = target_memory(&target);
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    put_descriptor(&text);
    assert_int_equal(sw_clr_layout_read(&memory, &net_10, &alloc, &layout), SW_E_NO_MEMORY);
}

/* ---- damage ---- */

static void a_text_cut_at_any_byte_is_not_believed(void **state)
{
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    put_descriptor(&text);
    for (size_t size = 1; size < text.size; size++) {
        put(&target, HEAD + 12, size, 4);
        if (read_layout(&layout) != SW_E_MALFORMED)
            fail_msg("cut behind byte %zu it is believed", size);
    }
}

static void a_text_with_any_byte_changed_is_survived(void **state)
{
    static const char others[] = { 0, '"', '{', '}', '[', ']', ',', ':', '\\', '9', ' ' };
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    put_descriptor(&text);
    for (size_t at = 0; at < text.size; at += HOST_STRIDE) {
        for (size_t i = 0; i < sizeof others; i++) {
            put(&target, TEXT_AT + at, (uint8_t)others[i], 1);
            const enum sw_status status = read_layout(&layout);
            assert_true(status == SW_OK || status == SW_E_MALFORMED || status == SW_E_UNSUPPORTED);
        }
        put(&target, TEXT_AT + at, (uint8_t)text.at[at], 1);
    }
    assert_int_equal(read_layout(&layout), SW_OK);
}

/* Brackets as deep as a stack would hold no recursion: in something that nobody asks for, and in what is asked for. */
static void a_text_nested_10000_deep_is_not_believed(void **state)
{
    enum { DEEP = 10000 };
    static char deep[2 * DEEP + 1];
    struct sw_clr_layout layout;
    (void)state;
    memset(deep, '[', DEEP);
    memset(deep + DEEP, ']', DEEP);
    for (unsigned changed = 0; changed < VALUES; changed += VALUES - 1) {
        write_text(&text, changed, deep);
        assert_int_equal(read_text(&text, &layout), SW_E_MALFORMED);
    }
}

/* Others in front of all that is asked for: the reader notes only so many names of types. */
static void types_are_found_behind_any_number_of_others(void **state)
{
    static const char types[] = "\"types\":{";
    static struct text longer;
    struct sw_clr_layout layout;
    (void)state;
    write_text(&text, NOTHING_CHANGED, NULL);
    const char *all = strstr(text.at, types);
    assert_non_null(all);
    const size_t front = (size_t)(all - text.at) + strlen(types);
    for (unsigned others = 150; others < 200; others++) {
        memcpy(longer.at, text.at, front);
        longer.size = front;
        for (unsigned i = 0; i < others; i++) {
            char other[48];
            snprintf(other, sizeof other, "\"Other%u\":{\"x\":[%u]},", i, i);
            add(&longer, other);
        }
        add(&longer, text.at + front);
        assert_int_equal(read_text(&longer, &layout), SW_OK);
        for (unsigned i = 0; i < COUNT_OF(fields); i++)
            if (fields[i].field < SW_CLR_FIELDS)
                assert_int_equal(layout.at[fields[i].field], offset_of(i));
    }
}

/* ---- what is known beforehand ---- */

/* described: what is not known beforehand is asked of a descriptor. */
static const struct known_row {
    const char *name;
    struct sw_clr_runtime runtime;
    bool known, described, native_dispatch;
    uint32_t context_size;
    uint16_t mode, hijack, forbid, low, pass;
} known_rows[] = {
    { "net_10_x64", { 10, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, true, true, false, 3232, 65534, 152, 56, 128, 185 },
    { "net_10_arm64", { 10, SW_MACHINE_ARM64, SW_CLR_UNIX, 0 }, true, true, false, 992, 65534, 192, 65535, 128, 185 },
    { "net_10_windows", { 10, SW_MACHINE_X64, SW_CLR_WINDOWS, 0 }, true, true, false, 1232, 65534, 160, 64, 128, 185 },
    { "later_as_10", { 11, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, true, true, false, 3232, 65534, 152, 56, 128, 185 },
    { "net_9_x64", { 9, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, true, true, false, 3104, 65534, 152, 56, 128, 185 },
    { "net_8_x64", { 8, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, true, false, true, 3104, 12, 280, 160, 24, 65535 },
    { "net_9_windows", { 9, SW_MACHINE_X64, SW_CLR_WINDOWS, 0 }, true, true, false, 1232, 65534, 160, 64, 128, 185 },
    { "net_8_windows", { 8, SW_MACHINE_X64, SW_CLR_WINDOWS, 0 }, true, false, true, 1232, 12, 296, 176, 40, 65535 },
    { "net_7_windows_is_not_known", { 7, SW_MACHINE_X64, SW_CLR_WINDOWS, 0 }, false, false, false, 0, 0, 0, 0, 0, 0 },
    { "net_7_is_not_known", { 7, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, false, false, false, 0, 0, 0, 0, 0, 0 },
    { "net_8_arm64_is_not_known", { 8, SW_MACHINE_ARM64, SW_CLR_UNIX, 0 }, false, false, false, 0, 0, 0, 0, 0, 0 },
    { "no_version_is_not_known", { 0, SW_MACHINE_X64, SW_CLR_UNIX, 0 }, false, false, false, 0, 0, 0, 0, 0, 0 },
};

static void runtime_is_known_beforehand(void **state)
{
    const struct known_row *row = *state;
    const struct sw_memory memory = target_memory(&target);
    const struct sw_alloc alloc = { NULL, NULL, NULL };
    struct sw_clr_layout layout;
    assert_int_equal(sw_clr_layout_known(&row->runtime, &layout), row->known);
    const enum sw_status status = sw_clr_layout_read(&memory, &row->runtime, &alloc, &layout);
    assert_int_equal(status, !row->known ? SW_E_UNSUPPORTED : row->described ? SW_E_NOT_FOUND : SW_OK);
    if (!row->known)
        return;
    assert_int_equal(layout.machine, row->runtime.machine);
    assert_int_equal(layout.system, row->runtime.system);
    assert_int_equal(layout.native_dispatch, row->native_dispatch);
    assert_int_equal(layout.context_size, row->context_size);
    assert_int_equal(layout.at[SW_CLR_THREAD_MODE], row->mode);
    assert_int_equal(layout.at[SW_CLR_THREAD_HIJACK], row->hijack);
    assert_int_equal(layout.at[SW_CLR_THREAD_FORBID], row->forbid);
    assert_int_equal(layout.at[SW_CLR_EXCEPTION_LOW], row->low);
    assert_int_equal(layout.at[SW_CLR_EXCEPTION_PASS], row->pass);
}

/* ---- the real thing ---- */

static void the_installed_runtime_is_understood(void **state)
{
    struct budget budget = { .left = SIZE_MAX };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    const struct sw_memory memory = sw_self_memory();
    struct sw_clr_layout layout;
    glob_t found = { 0 };
    void *runtime = NULL;
    (void)state;
    if (glob("/usr/*/dotnet/shared/Microsoft.NETCore.App/10.*/libcoreclr.so", 0, NULL, &found) == 0)
        runtime = dlopen(found.gl_pathv[found.gl_pathc - 1], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    const void *descriptor = runtime ? dlsym(runtime, "DotNetRuntimeContractDescriptor") : NULL;
    if (!descriptor) {
        print_message("skipped: no .NET 10 runtime installed\n");
        skip();
    }
    const struct sw_clr_runtime installed = { 10, SW_MACHINE_X64, SW_CLR_UNIX, (uintptr_t)descriptor };
    assert_int_equal(sw_clr_layout_read(&memory, &installed, &alloc, &layout), SW_OK);
    assert_true(layout.code != 0);
    for (unsigned i = 0; i < layout.frame_count; i++)
        for (unsigned k = 0; k < i; k++)
            assert_true(layout.frames[i].word != layout.frames[k].word);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(a_whole_descriptor_says_where_everything_is),
        cmocka_unit_test(registers_are_where_both_records_of_them_begin),
        cmocka_unit_test(each_missing_value_is_missed),
        cmocka_unit_test(entries_are_known_where_all_of_their_table_is),
        cmocka_unit_test(without_memory_it_says_so),
        cmocka_unit_test(a_text_cut_at_any_byte_is_not_believed),
        cmocka_unit_test(a_text_with_any_byte_changed_is_survived),
        cmocka_unit_test(a_text_nested_10000_deep_is_not_believed),
        cmocka_unit_test(types_are_found_behind_any_number_of_others),
        cmocka_unit_test(the_installed_runtime_is_understood),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(value_rows) + COUNT_OF(head_rows) + COUNT_OF(known_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), value_rows, value_is_read);
    FILL_ROWS(tests + COUNT_OF(single) + COUNT_OF(value_rows), head_rows, bad_head_is_a_status);
    FILL_ROWS(tests + COUNT_OF(single) + COUNT_OF(value_rows) + COUNT_OF(head_rows), known_rows,
              runtime_is_known_beforehand);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
