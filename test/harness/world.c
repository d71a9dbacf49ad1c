/*
 * Modules, types, functions and their ids; names in UTF-16 and back; looking up names. What breaks rows, names or the
 * order of events around modules fails here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text.h"
#include "tube.h"

#include "../support/listener.h"

enum { LOADS = COR_PRF_MONITOR_ASSEMBLY_LOADS | COR_PRF_MONITOR_MODULE_LOADS | COR_PRF_MONITOR_CLASS_LOADS };

static struct listener listener;
static struct sw_tube *tube;
static struct sw_tube_module *module;

static int begin(void **state)
{
    const struct sw_tube_options options = { .simulated = true };
    (void)state;
    listener_init(&listener);
    listener.low = LOADS | COR_PRF_MONITOR_FUNCTION_UNLOADS;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    assert_int_equal(sw_tube_use(tube, (IUnknown *)&listener.com), SW_OK);
    assert_int_equal(sw_tube_start(tube), SW_OK);
    module = sw_tube_module_load(tube, "Demo.dll");
    assert_non_null(module);
    listener.told[0] = '\0';
    return 0;
}

/* The scenario made sense: most do. */
static int end(void **state)
{
    assert_string_equal(sw_tube_problem(tube), "");
    (void)state;
    sw_tube_destroy(tube);
    return 0;
}

static int end_with_problem(void **state)
{
    (void)state;
    assert_string_not_equal(sw_tube_problem(tube), "");
    sw_tube_destroy(tube);
    return 0;
}

#define ASSERT_TOLD(expected)                                                                                          \
    do {                                                                                                               \
        assert_string_equal(listener.told, expected);                                                                  \
        listener.told[0] = '\0';                                                                                       \
    } while (0)

#define ASSERT_PROBLEM(part) assert_non_null(strstr(sw_tube_problem(tube), part))

/* ---- ids ---- */

static void an_id_leads_to_its_element_and_to_no_other(void **state)
{
    static const size_t indexes[] = { 0, 1, 255, 256, 99999, 0xffffffff };
    (void)state;
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
        for (int kind = SW_ID_DOMAIN; kind <= SW_ID_OBJECT; kind++) {
            const UINT_PTR id = sw_tube_id((enum sw_tube_kind)kind, indexes[i]);
            assert_int_equal(sw_tube_index((enum sw_tube_kind)kind, id), indexes[i]);
            assert_int_equal(sw_tube_index(kind == SW_ID_OBJECT ? SW_ID_DOMAIN : (enum sw_tube_kind)(kind + 1), id),
                             SIZE_MAX);
            assert_int_equal(sw_tube_index((enum sw_tube_kind)kind, id + 1), SIZE_MAX);
            assert_int_equal(sw_tube_index((enum sw_tube_kind)kind, id - 63), SIZE_MAX);
        }
    assert_int_equal(sw_tube_index(SW_ID_DOMAIN, 0), SIZE_MAX);
    assert_int_equal(sw_tube_index(SW_ID_MODULE, (UINT_PTR)SW_ID_MODULE << 40), SIZE_MAX);
    assert_int_equal(sw_tube_index(SW_ID_MODULE, UINTPTR_MAX), SIZE_MAX);
}

static void what_is_behind_the_end_of_a_list_is_null(void **state)
{
    (void)state;
    assert_null(sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 2)));
    assert_null(sw_tube_type_of(tube, sw_tube_id(SW_ID_CLASS, 999)));
    assert_null(sw_tube_function_of(tube, sw_tube_id(SW_ID_FUNCTION, 0)));
    assert_null(sw_tube_thread_of(tube, sw_tube_id(SW_ID_THREAD, 0)));
    assert_null(sw_tube_object_type(tube, sw_tube_id(SW_ID_OBJECT, 0)));
    assert_null(sw_tube_module_of(tube, 0));
    assert_int_equal(sw_tube_module_id(NULL), 0);
    assert_int_equal(sw_tube_function_id(NULL), 0);
    assert_int_equal(sw_tube_function_code(NULL).size, 0);
}

static void only_the_newest_objects_have_a_type(void **state)
{
    (void)state;
    struct sw_tube_type *first = sw_tube_type_named(module, "Demo.First"),
                        *other = sw_tube_type_named(module, "Demo.X");
    const ObjectID object = sw_tube_object(first);
    for (size_t i = 1; i < SW_TUBE_OBJECTS; i++)
        sw_tube_object(other);
    assert_ptr_equal(sw_tube_object_type(tube, object), first);
    const ObjectID last = sw_tube_object(other);
    assert_null(sw_tube_object_type(tube, object)); /* it has been collected */
    assert_ptr_equal(sw_tube_object_type(tube, last), other);
}

/* ---- types ---- */

static void a_type_is_made_once_with_its_outer_types(void **state)
{
    static const struct {
        uint32_t row;
        const char *full, *name;
        uint32_t outer;
    } rows[] = { { 1, "<Module>", "<Module>", 0 }, { 2, "Demo.Outer", "Outer", 0 }, { 3, "Middle", "Middle", 2 },
                 { 4, "Inner", "Inner", 3 },       { 5, "Demo.Other", "Other", 0 }, { 6, "Inner", "Inner", 5 } };
    (void)state;
    struct sw_tube_type *inner = sw_tube_type_named(module, "Demo.Outer+Middle+Inner");
    assert_ptr_equal(sw_tube_type_named(module, "Demo.Outer+Middle+Inner"), inner);
    assert_ptr_equal(sw_tube_type_named(module, "Demo.Outer+Middle"), sw_tube_type_outer(inner));
    assert_ptr_not_equal(sw_tube_type_named(module, "Demo.Other+Inner"), inner); /* the same name elsewhere */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sw_tube_type *type = sw_tube_type_at(module, rows[i].row);
        assert_string_equal(type->full, rows[i].full);
        assert_string_equal(type->name, rows[i].name);
        assert_int_equal(type->token, 0x02000000 + rows[i].row);
        assert_ptr_equal(sw_tube_type_outer(type), sw_tube_type_at(module, rows[i].outer));
        assert_ptr_equal(sw_tube_type_of(tube, sw_tube_id(SW_ID_CLASS, type->index)), type);
    }
    assert_null(sw_tube_type_at(module, 7));
    assert_null(sw_tube_type_at(module, 0));
    assert_string_equal(sw_tube_type_named(module, "N.T")->name, "T");
    assert_string_equal(sw_tube_type_named(module, "Odd.")->name, "Odd.");
}

static void modules_have_rows_of_their_own(void **state)
{
    (void)state;
    struct sw_tube_module *other = sw_tube_module_load(tube, "Other.dll");
    struct sw_tube_type *here = sw_tube_type_named(module, "Demo.Program");
    struct sw_tube_type *there = sw_tube_type_named(other, "Demo.Program");
    assert_ptr_not_equal(here, there);
    assert_int_equal(here->token, there->token);
    assert_ptr_equal(sw_tube_type_at(other, 2), there);
}

static void generic_parameters_are_counted_with_those_of_outer_types(void **state)
{
    static const struct {
        const char *name;
        unsigned own, all;
    } rows[] = { { "Demo.Plain", 0, 0 },        { "Demo.List`1", 1, 1 },    { "Demo.Map`2+Entry", 0, 2 },
                 { "Demo.Map`2+View`1", 1, 3 }, { "Demo.Odd`", 0, 0 },      { "Demo.Odd`x", 0, 0 },
                 { "Demo.Odd`1x", 0, 0 },       { "Demo.Many`12", 12, 12 }, { "Demo.Odd`99999", 0, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sw_tube_type *type = sw_tube_type_named(module, rows[i].name);
        assert_int_equal(type->arity, rows[i].own);
        assert_int_equal(sw_tube_type_parameters(type), rows[i].all);
    }
}

static void what_is_no_name_of_a_type_makes_none(void **state)
{
    char long_name[2000];
    static const char *const names[] = { "", "+", "+Inner", "Outer+", "Outer++Inner" };
    (void)state;
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(sw_tube_type_named(module, names[i]));
    assert_null(sw_tube_type_named(module, long_name));
    assert_null(sw_tube_type_at(module, 2));
}

static void all_types_but_object_derive_from_it(void **state)
{
    (void)state;
    const struct sw_tube_module *core = sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 0));
    const struct sw_tube_type *object = sw_tube_type_at(core, 2);
    assert_string_equal(object->full, "System.Object");
    assert_null(sw_tube_type_parent(object));
    assert_null(sw_tube_type_parent(sw_tube_type_at(module, 1)));
    assert_ptr_equal(sw_tube_type_parent(sw_tube_type_named(module, "Demo.Program")), object);
    assert_ptr_equal(sw_tube_type_parent(sw_tube_type_at(core, 3)), object);
}

static void a_type_is_announced_once(void **state)
{
    struct sw_tube_type *type = sw_tube_type_named(module, "Demo.Program");
    (void)state;
    sw_tube_type_announce(type);
    sw_tube_type_announce(type);
    ASSERT_TOLD("ClassLoadStarted ClassLoadFinished ");
}

/* ---- functions ---- */

static void functions_have_the_rows_of_their_module(void **state)
{
    (void)state;
    struct sw_tube_function *first = sw_tube_function_add(module, "Demo.Program", "Main", 0);
    struct sw_tube_function *stub = sw_tube_function_add(module, "Demo.Program", "IL_STUB", SW_TUBE_HIDDEN);
    struct sw_tube_function *second = sw_tube_function_add(module, "Demo.Other", "Main", SW_TUBE_CATCHES);
    assert_int_equal(first->token, 0x06000001);
    assert_int_equal(stub->token, 0x06000000); /* it has no metadata */
    assert_int_equal(second->token, 0x06000002);
    assert_int_equal(second->flags, SW_TUBE_CATCHES);
    assert_ptr_equal(sw_tube_function_at(module, 2), second);
    assert_null(sw_tube_function_at(module, 3));
    assert_null(sw_tube_function_at(module, 0));
    assert_ptr_equal(sw_tube_function_of(tube, sw_tube_function_id(stub)), stub);
    assert_int_equal(first->client, sw_tube_function_id(first)); /* without a mapper */
    assert_int_equal(sw_tube_function_code(first).size, 0);
}

static void names_of_functions(void **state)
{
    static const struct {
        const char *type, *method, *name;
    } rows[] = { { "Demo.Program", "Main", "Demo.Program.Main" },
                 { "Demo.Outer+Inner", "Run(int)", "Demo.Outer+Inner.Run(int)" },
                 { "List`1", "Add", "List`1.Add" },
                 { "<Module>", "Start", "<Module>.Start" } };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sw_tube_function *function = sw_tube_function_add(module, rows[i].type, rows[i].method, 0);
        for (size_t size = 0; size <= strlen(rows[i].name) + 2; size++) {
            memset(text, 'x', sizeof text);
            sw_tube_function_name(function, text, size);
            if (size)
                assert_int_equal(strncmp(text, rows[i].name, size - 1), 0);
            if (size)
                assert_int_equal(strlen(text), size - 1 < strlen(rows[i].name) ? size - 1 : strlen(rows[i].name));
            assert_int_equal(text[size], 'x');
        }
    }
}

/* What makes no sense, and a part of the problem. */
static void check_refusal(const char *type, const char *method, uint32_t flags, const char *problem)
{
    assert_null(sw_tube_function_add(module, type, method, flags));
    ASSERT_PROBLEM(problem);
}

static void the_same_function_twice_is_a_problem(void **state)
{
    (void)state;
    assert_non_null(sw_tube_function_add(module, "Demo.Program", "Main", 0));
    assert_non_null(sw_tube_function_add(module, "Demo.Program+Main", "Main", 0));
    check_refusal("Demo.Program", "Main", 0, "Demo.Program.Main: it exists");
}

static void a_function_of_no_type_is_a_problem(void **state)
{
    (void)state;
    check_refusal("Demo.Program+", "Main", 0, "no name of a type");
}

static void a_function_without_a_name_is_a_problem(void **state)
{
    (void)state;
    check_refusal("Demo.Program", "", 0, "Demo.Program.");
}

static void unknown_flags_are_a_problem(void **state)
{
    (void)state;
    check_refusal("Demo.Program", "Main", 256, "unknown flags");
}

static void a_function_of_an_unloaded_module_is_a_problem(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_module_unload(module), SW_OK);
    check_refusal("Demo.Program", "Main", 0, "gone");
}

static void null_handles_are_refused(void **state)
{
    (void)state;
    assert_null(sw_tube_function_add(NULL, "Demo.Program", "Main", 0));
    assert_null(sw_tube_module_load(NULL, "Demo.dll"));
    assert_int_equal(sw_tube_module_unload(NULL), SW_E_ARGUMENT);
}

/* More than a chunk of each list, and several sizes of the hash; each is found again. */
static void thousands_of_functions_are_found_by_name_and_id(void **state)
{
    enum { TYPES = 300, METHODS = 20 };
    char type[32], method[32], name[80], expected[80];
    (void)state;
    for (unsigned i = 0; i < TYPES; i++)
        for (unsigned j = 0; j < METHODS; j++) {
            snprintf(type, sizeof type, "Demo.Type%u", i);
            snprintf(method, sizeof method, "Method%u", j);
            assert_non_null(sw_tube_function_add(module, type, method, 0));
        }
    for (unsigned i = 0; i < TYPES * METHODS; i++) {
        const struct sw_tube_function *function = sw_tube_function_at(module, i + 1);
        snprintf(expected, sizeof expected, "Demo.Type%u.Method%u", i / METHODS, i % METHODS);
        sw_tube_function_name(function, name, sizeof name);
        assert_string_equal(name, expected);
        assert_ptr_equal(sw_tube_function_of(tube, sw_tube_function_id(function)), function);
    }
    for (unsigned i = 0; i < TYPES; i++) {
        snprintf(type, sizeof type, "Demo.Type%u", i);
        assert_int_equal(sw_tube_type_named(module, type)->token, 0x02000002 + i);
    }
    assert_null(sw_tube_type_at(module, TYPES + 2)); /* none was made again */
}

/* ---- modules ---- */

static void a_module_is_told_with_its_assembly(void **state)
{
    (void)state;
    struct sw_tube_module *late = sw_tube_module_load(tube, "Late.dll");
    ASSERT_TOLD("AssemblyLoadStarted ModuleLoadStarted ModuleLoadFinished ModuleAttachedToAssembly "
                "AssemblyLoadFinished ");
    assert_true(atomic_load(&late->loaded));
    assert_ptr_equal(sw_tube_module_of(tube, sw_tube_module_id(late)), late);
    assert_string_equal(late->name, "Late.dll");
}

/* Its functions' code, its classes, itself, its assembly. */
static void an_unloaded_module_goes_with_all_that_is_in_it(void **state)
{
    (void)state;
    struct sw_tube_function *compiled = sw_tube_function_add(module, "Demo.Program", "Main", 0);
    struct sw_tube_function *never = sw_tube_function_add(module, "Demo.Other", "Never", 0);
    const ModuleID id = sw_tube_module_id(module);
    const ClassID class = sw_tube_id(SW_ID_CLASS, compiled->type->index);
    assert_int_equal(sw_tube_compile(compiled, NULL), SW_OK);
    listener.told[0] = '\0';
    assert_int_equal(sw_tube_module_unload(module), SW_OK);
    ASSERT_TOLD("AssemblyUnloadStarted ModuleUnloadStarted FunctionUnloadStarted ClassUnloadStarted "
                "ClassUnloadFinished ModuleUnloadFinished AssemblyUnloadFinished ");
    assert_null(sw_tube_module_of(tube, id));
    assert_null(sw_tube_type_of(tube, class));
    assert_null(sw_tube_function_of(tube, sw_tube_function_id(compiled)));
    assert_null(sw_tube_function_of(tube, sw_tube_function_id(never)));
    assert_non_null(sw_tube_module_load(tube, "Demo.dll")); /* the name is free again */
}

static void ask_while_it_goes(struct listener *self, const char *callback)
{
    if (strcmp(callback, "ModuleUnloadFinished") == 0)
        *(struct sw_tube_module **)self->arg = sw_tube_module_of(tube, sw_tube_module_id(module));
}

static void a_modules_id_holds_until_its_last_event(void **state)
{
    struct sw_tube_module *found = NULL;
    (void)state;
    listener.arg = &found;
    listener.on = ask_while_it_goes;
    assert_int_equal(sw_tube_module_unload(module), SW_OK);
    assert_ptr_equal(found, module);
}

static void a_module_that_runs_stays(void **state)
{
    (void)state;
    struct sw_tube_thread *thread = sw_tube_thread_start(tube, "worker");
    struct sw_tube_module *other = sw_tube_module_load(tube, "Other.dll");
    assert_int_equal(sw_tube_call(thread, sw_tube_function_add(module, "Demo.Program", "Main", 0)), SW_OK);
    assert_int_equal(sw_tube_call(thread, sw_tube_function_add(other, "Other.Program", "Work", 0)), SW_OK);
    listener.told[0] = '\0';
    assert_int_equal(sw_tube_module_unload(module), SW_E_BUSY);
    ASSERT_PROBLEM("worker");
    ASSERT_TOLD("");
    assert_int_equal(sw_tube_give_back(thread), SW_OK);
    assert_int_equal(sw_tube_module_unload(other), SW_OK);
}

static void a_module_is_unloaded_once(void **state)
{
    (void)state;
    assert_int_equal(sw_tube_module_unload(module), SW_OK);
    listener.told[0] = '\0';
    assert_int_equal(sw_tube_module_unload(module), SW_E_GONE);
    ASSERT_TOLD("");
}

static void a_module_that_is_loaded_is_not_loaded_again(void **state)
{
    (void)state;
    assert_null(sw_tube_module_load(tube, "Demo.dll"));
    ASSERT_PROBLEM("Demo.dll is loaded already");
    ASSERT_TOLD("");
}

static void a_module_needs_a_name(void **state)
{
    (void)state;
    assert_null(sw_tube_module_load(tube, ""));
    ASSERT_PROBLEM("name");
}

static void without_a_runtime_there_is_no_module(void **state)
{
    struct sw_tube *idle = NULL;
    (void)state;
    assert_int_equal(sw_tube_create(NULL, &idle), SW_OK);
    assert_null(sw_tube_module_load(idle, "Demo.dll"));
    assert_non_null(strstr(sw_tube_problem(idle), "not started"));
    sw_tube_destroy(idle);
}

static void versions_of_files_are_told_apart_by_name_and_stay(void **state)
{
    struct sw_tube *again = NULL;
    struct sw_tube_options options = { .simulated = true };
    (void)state;
    const struct sw_tube_module *core = sw_tube_module_of(tube, sw_tube_id(SW_ID_MODULE, 0));
    assert_memory_not_equal(&core->mvid, &module->mvid, sizeof core->mvid);
    assert_int_equal(sw_tube_create(&options, &again), SW_OK);
    assert_int_equal(sw_tube_start(again), SW_OK);
    const struct sw_tube_module *same = sw_tube_module_load(again, "Demo.dll");
    assert_memory_equal(&same->mvid, &module->mvid, sizeof same->mvid);
    sw_tube_destroy(again);
}

/* ---- UTF-16 ---- */

static const struct {
    const char *narrow;
    WCHAR wide[8];
} texts[] = { { "", { 0 } },
              { "Demo", { 'D', 'e', 'm', 'o', 0 } },
              { "\x7f\xc2\x80\xdf\xbf", { 0x7f, 0x80, 0x7ff, 0 } },
              { "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", { 0x800, 0xd7ff, 0xe000, 0xffff, 0 } },
              { "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", { 0xd800, 0xdc00, 0xdbff, 0xdfff, 0 } } };

static void texts_are_converted_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        WCHAR wide[16];
        char narrow[32];
        const size_t units = sw_text_to_wide(texts[i].narrow, wide, 16);
        assert_memory_equal(wide, texts[i].wide, units * sizeof *wide);
        assert_int_equal(wide[units - 1], 0);
        assert_int_equal(sw_text_from_wide(texts[i].wide, narrow, sizeof narrow), strlen(texts[i].narrow) + 1);
        assert_string_equal(narrow, texts[i].narrow);
        assert_true(sw_text_equals(texts[i].wide, texts[i].narrow));
        assert_int_equal(sw_text_to_wide(texts[i].narrow, NULL, 0), units);
        assert_int_equal(sw_text_from_wide(texts[i].wide, NULL, 0), strlen(texts[i].narrow) + 1);
        for (size_t other = 0; other < sizeof texts / sizeof *texts; other++)
            assert_int_equal(sw_text_equals(texts[other].wide, texts[i].narrow), other == i);
    }
}

/* Bytes that are no UTF-8, and how many U+FFFD they are. */
static void what_is_no_utf8_is_replaced(void **state)
{
    static const struct {
        const char *bytes;
        size_t replaced;
    } rows[] = { { "\x80", 1 },
                 { "\xff", 1 },
                 { "\xc3", 1 },
                 { "\xc0\x80", 2 },
                 { "\xe0\x80\x80", 3 },
                 { "\xed\xa0\x80", 3 },
                 { "\xf4\x90\x80\x80", 4 },
                 { "\xf8\x88\x80\x80", 4 } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        WCHAR wide[8];
        assert_int_equal(sw_text_to_wide(rows[i].bytes, wide, 8), rows[i].replaced + 1);
        for (size_t at = 0; at < rows[i].replaced; at++)
            assert_int_equal(wide[at], 0xfffd);
    }
}

static void half_a_pair_is_replaced_and_no_character_is_cut(void **state)
{
    static const WCHAR halves[][4] = { { 0xd800, 0 }, { 0xdc00, 0 }, { 0xdbff, 'x', 0 }, { 0xd800, 0xe000, 0 } };
    static const char *const expected[] = { "\xef\xbf\xbd", "\xef\xbf\xbd", "\xef\xbf\xbdx",
                                            "\xef\xbf\xbd\xee\x80\x80" };
    char narrow[16];
    (void)state;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        sw_text_from_wide(halves[i], narrow, sizeof narrow);
        assert_string_equal(narrow, expected[i]);
    }
    static const WCHAR text[] = { 'a', 0xd83d, 0xde00, 'b', 0 };
    for (size_t size = 1; size <= 8; size++) {
        memset(narrow, 'x', sizeof narrow);
        assert_int_equal(sw_text_from_wide(text, narrow, size), 7);
        assert_string_equal(narrow, size < 2   ? ""
                                    : size < 6 ? "a"
                                    : size < 7 ? "a\xf0\x9f\x98\x80"
                                               : "a\xf0\x9f\x98\x80"
                                                 "b");
        assert_int_equal(narrow[size], 'x');
    }
}

#define TEST(name)    cmocka_unit_test_setup_teardown(name, begin, end)
#define PROBLEM(name) cmocka_unit_test_setup_teardown(name, begin, end_with_problem)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_id_leads_to_its_element_and_to_no_other),
        TEST(what_is_behind_the_end_of_a_list_is_null),
        TEST(only_the_newest_objects_have_a_type),
        TEST(a_type_is_made_once_with_its_outer_types),
        TEST(modules_have_rows_of_their_own),
        TEST(generic_parameters_are_counted_with_those_of_outer_types),
        TEST(what_is_no_name_of_a_type_makes_none),
        TEST(all_types_but_object_derive_from_it),
        TEST(a_type_is_announced_once),
        TEST(functions_have_the_rows_of_their_module),
        TEST(names_of_functions),
        PROBLEM(the_same_function_twice_is_a_problem),
        PROBLEM(a_function_of_no_type_is_a_problem),
        PROBLEM(a_function_without_a_name_is_a_problem),
        PROBLEM(unknown_flags_are_a_problem),
        PROBLEM(a_function_of_an_unloaded_module_is_a_problem),
        TEST(null_handles_are_refused),
        TEST(thousands_of_functions_are_found_by_name_and_id),
        TEST(a_module_is_told_with_its_assembly),
        TEST(an_unloaded_module_goes_with_all_that_is_in_it),
        TEST(a_modules_id_holds_until_its_last_event),
        PROBLEM(a_module_that_runs_stays),
        PROBLEM(a_module_is_unloaded_once),
        PROBLEM(a_module_that_is_loaded_is_not_loaded_again),
        PROBLEM(a_module_needs_a_name),
        TEST(without_a_runtime_there_is_no_module),
        TEST(versions_of_files_are_told_apart_by_name_and_stay),
        TEST(texts_are_converted_both_ways),
        TEST(what_is_no_utf8_is_replaced),
        TEST(half_a_pair_is_replaced_and_no_character_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
