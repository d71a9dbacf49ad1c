/* The recording: lines that are JSON whatever they say, names for ids and answers, threads, handlers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "tube.h"

static struct sw_tube tube;
static char last[SW_JSON_LINE];
static unsigned lines, broken;
static bool busy;
static char entered[3][64];

/* Whether text is one object of texts, numbers and true: a reader of its own, as strict as RFC 8259 for these. */
static bool is_text(const char **at)
{
    if (*(*at)++ != '"')
        return false;
    while (**at != '"') {
        const size_t length = sw_utf8_length(*at);
        const char *behind = *at + 1;
        if (length == 0 || (unsigned char)**at < 0x20)
            return false;
        if (**at != '\\')
            *at += length;
        else if (*behind == 'u' && strspn(behind + 1, "0123456789abcdef") >= 4)
            *at += 6;
        else if (*behind == '"' || *behind == '\\')
            *at += 2;
        else
            return false;
    }
    (*at)++;
    return true;
}

static bool is_value(const char **at)
{
    const size_t digits = strspn(*at, "0123456789");
    if (**at == '"')
        return is_text(at);
    if (strncmp(*at, "true", 4) == 0) {
        *at += 4;
        return true;
    }
    *at += digits;
    return digits > 0;
}

static bool is_json(const char *at)
{
    if (strcmp(at, "{}") == 0)
        return true;
    for (char before = '{'; *at == before; before = ',') {
        at++;
        if (!is_text(&at) || *at++ != ':' || !is_value(&at))
            return false;
    }
    return strcmp(at, "}") == 0;
}

static void note(void *arg, const char *line)
{
    (void)arg;
    broken += busy || !is_json(line);
    busy = true;
    snprintf(last, sizeof last, "%s", line);
    lines++;
    busy = false;
}

static void enter(void *arg, const char *kind, const char *thread, const char *name)
{
    (void)arg;
    snprintf(entered[0], sizeof entered[0], "%s", kind);
    snprintf(entered[1], sizeof entered[1], "%s", thread);
    snprintf(entered[2], sizeof entered[2], "%s", name);
}

static int set_up(void **state)
{
    (void)state;
    memset(&tube, 0, sizeof tube);
    tube.options.record = note;
    tube.options.entered = enter;
    last[0] = 0;
    lines = broken = 0;
    return sw_tube_record_create(&tube) != SW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sw_tube_record_destroy(&tube);
    return broken != 0;
}

static void a_line_has_kind_name_thread_and_its_fields(void **state)
{
    (void)state;
    sw_tube_record_begin(&tube, "call", "GetCodeInfo");
    sw_tube_record_text(&tube, "what", "a \"quoted\" \\ text\n");
    sw_tube_record_number(&tube, "size", 18446744073709551615u);
    sw_tube_record_number(&tube, "none", 0);
    sw_tube_record_hr(&tube, CORPROF_E_STACKSNAPSHOT_UNSAFE);
    sw_tube_record_end(&tube);
    assert_string_equal(last, "{\"kind\":\"call\",\"name\":\"GetCodeInfo\",\"thread\":\"conductor\","
                              "\"what\":\"a \\\"quoted\\\" \\\\ text\\u000a\",\"size\":18446744073709551615,\"none\":0,"
                              "\"hr\":\"CORPROF_E_STACKSNAPSHOT_UNSAFE\"}");
}

/* Arguments are called as in corprof.h, some of them `thread` and `name`. */
static void a_field_does_not_stand_twice(void **state)
{
    (void)state;
    sw_tube_record_begin(&tube, "call", "DoStackSnapshot");
    sw_tube_record_id(&tube, "thread", 0);
    sw_tube_record_number(&tube, "kind", 1);
    sw_tube_record_end(&tube);
    assert_string_equal(last, "{\"kind\":\"call\",\"name\":\"DoStackSnapshot\",\"thread\":\"conductor\","
                              "\"thread_\":\"0\",\"kind_\":1}");
}

static void an_answer_without_a_name_is_a_number(void **state)
{
    (void)state;
    sw_tube_record_begin(&tube, "call", "x");
    sw_tube_record_hr(&tube, (HRESULT)0x80131fffu);
    sw_tube_record_end(&tube);
    assert_non_null(strstr(last, "\"hr\":\"0x80131fff\""));
}

static void every_byte_makes_a_line_of_json(void **state)
{
    (void)state;
    for (unsigned first = 1; first < 256; first++)
        for (unsigned second = 1; second < 256; second++) {
            const char text[] = { (char)first, (char)second, (char)0x80, (char)0xbf, 'x', 0 };
            sw_tube_record_begin(&tube, "call", text);
            sw_tube_record_text(&tube, "text", text + 1);
            sw_tube_record_end(&tube);
        }
    assert_int_equal(lines, 255 * 255);
    assert_int_equal(broken, 0);
}

static void what_is_no_utf8_is_replaced(void **state)
{
    (void)state;
    sw_tube_record_begin(&tube, "call", "\xc3\xa4|\xff|\xc0\x80|\xed\xa0\x80|\xf0\x9f\x90\x88|\xe2\x82");
    sw_tube_record_end(&tube);
    assert_non_null(strstr(last, "\"\xc3\xa4|\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\xf0\x9f\x90\x88|"
                                 "\\ufffd\\ufffd\""));
}

/* The first and the last of each row of RFC 3629's table, and their neighbours. */
static void the_bounds_of_utf8_are_its_bounds(void **state)
{
    static const char *const good[] = { "\xc2\x80",         "\xdf\xbf",         "\xe0\xa0\x80",     "\xe1\x80\x80",
                                        "\xec\xbf\xbf",     "\xed\x80\x80",     "\xed\x9f\xbf",     "\xee\x80\x80",
                                        "\xef\xbf\xbf",     "\xf0\x90\x80\x80", "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf",
                                        "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf" };
    static const char *const bad[] = {
        "\xc1\xbf",         "\xc2\x7f",         "\xc2\xc0",     "\xe0\x9f\xbf",     "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe1\x80\x7f", "\xf1\x80\x80\xc0", "\x80",         ""
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(sw_utf8_length(good[i]), strlen(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(sw_utf8_length(bad[i]), 0);
}

static void an_end_without_a_beginning_is_nothing(void **state)
{
    (void)state;
    sw_tube_record_end(&tube);
    sw_tube_record_begin(&tube, "call", "x");
    sw_tube_record_end(&tube);
    sw_tube_record_end(&tube);
    assert_int_equal(lines, 1);
}

/* At every length, also where the line is full in the middle of an escape. */
static void long_lines_are_cut_and_say_so(void **state)
{
    char text[4096];
    (void)state;
    for (size_t length = 0; length < sizeof text - 1; length++) {
        memset(text, length % 3 == 0 ? '"' : 'x', length);
        text[length] = 0;
        sw_tube_record_begin(&tube, "call", "long");
        sw_tube_record_text(&tube, "text", text);
        sw_tube_record_number(&tube, "number", length);
        for (unsigned more = 0; more < length % 7; more++)
            sw_tube_record_text(&tube, "more", text);
        sw_tube_record_end(&tube);
        assert_true(is_json(last));
        assert_true(strlen(last) < SW_JSON_LINE);
        if (length > SW_JSON_TEXT)
            assert_non_null(strstr(last, ",\"cut\":true}"));
    }
}

static void lines_nest_as_calls_do(void **state)
{
    (void)state;
    sw_tube_record_begin(&tube, "call", "outer");
    sw_tube_record_begin(&tube, "conduct", "inner");
    sw_tube_record_end(&tube);
    assert_non_null(strstr(last, "\"inner\""));
    sw_tube_record_text(&tube, "key", "value");
    sw_tube_record_end(&tube);
    assert_string_equal(last, "{\"kind\":\"call\",\"name\":\"outer\",\"thread\":\"conductor\",\"key\":\"value\"}");
    for (int i = 0; i < 10; i++)
        sw_tube_record_begin(&tube, "call", "deep");
    for (int i = 0; i < 10; i++)
        sw_tube_record_end(&tube);
    assert_int_equal(lines, 2 + 3); /* what nests deeper is left out */
    sw_tube_record_begin(&tube, "call", "after");
    sw_tube_record_end(&tube);
    assert_non_null(strstr(last, "\"after\""));
}

static void without_a_recorder_nothing_is_written(void **state)
{
    (void)state;
    tube.options.record = NULL;
    sw_tube_record_begin(&tube, "call", "x");
    sw_tube_record_text(&tube, "key", "value");
    sw_tube_record_end(&tube);
    sw_tube_record_end(&tube);
    assert_int_equal(lines, 0);
}

static void who_watches_is_told_what_begins(void **state)
{
    (void)state;
    sw_tube_entered(&tube, "call", "GetCodeInfo");
    assert_string_equal(entered[0], "call");
    assert_string_equal(entered[1], "conductor");
    assert_string_equal(entered[2], "GetCodeInfo");
    assert_int_equal(lines, 0);
    tube.options.entered = NULL;
    sw_tube_entered(&tube, "call", "GetILFunctionBody");
    assert_string_equal(entered[2], "GetCodeInfo");
}

/* ---- threads ---- */

static void *record_one(void *arg)
{
    sw_tube_record_begin(&tube, "call", arg);
    sw_tube_record_end(&tube);
    return NULL;
}

static void on_other_thread(void *(*function)(void *), const char *name)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, (void *)name), 0);
    pthread_join(thread, NULL);
}

static void threads_that_are_not_the_tubes_are_numbered(void **state)
{
    (void)state;
    on_other_thread(record_one, "a");
    assert_non_null(strstr(last, "\"thread\":\"other 1\""));
    on_other_thread(record_one, "b");
    assert_non_null(strstr(last, "\"thread\":\"other 2\""));
    record_one("c");
    assert_non_null(strstr(last, "\"thread\":\"conductor\""));
}

enum { WRITERS = 4, LINES = 2000 };

static void on_tick(int signal)
{
    (void)signal;
    record_one("tick");
}

/* Another recording counts anew; who makes two is the conductor of both. */
static void each_recording_has_its_own_numbers(void **state)
{
    struct sw_tube other = { .options = { .record = note } };
    (void)state;
    on_other_thread(record_one, "a");
    assert_non_null(strstr(last, "\"thread\":\"other 1\""));
    assert_int_equal(sw_tube_record_create(&other), SW_OK);
    sw_tube_record_begin(&other, "call", "b");
    sw_tube_record_end(&other);
    assert_non_null(strstr(last, "\"thread\":\"conductor\""));
    record_one("c");
    assert_non_null(strstr(last, "\"thread\":\"conductor\""));
    sw_tube_record_destroy(&other);
}

static void *write_many(void *arg)
{
    for (int i = 0; i < LINES; i++) {
        record_one(arg);
        if (i % 20 == 0)
            (void)pthread_kill(pthread_self(), SIGUSR1);
    }
    return NULL;
}

static void threads_and_handlers_write_whole_lines_one_at_a_time(void **state)
{
    const struct sigaction tick = { .sa_handler = on_tick };
    struct sigaction before;
    pthread_t threads[WRITERS];
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &tick, &before), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, "name"), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(lines, WRITERS * LINES + WRITERS * LINES / 20);
    assert_int_equal(broken, 0);
}

/* ---- ids ---- */

static void add_world(struct sw_tube_thread *thread)
{
    struct sw_tube_module *module = sw_list_add(&tube.modules, sizeof *module);
    module->tube = &tube;
    module->name = "Demo.dll";
    sw_list_publish(&tube.modules);
    struct sw_tube_type *type = sw_list_add(&tube.types, sizeof *type);
    type->module = module;
    type->full = type->name = "Demo.Program";
    type->outer = SIZE_MAX;
    sw_list_publish(&tube.types);
    struct sw_tube_function *function = sw_list_add(&tube.functions, sizeof *function);
    function->type = type;
    function->tube = &tube;
    function->name = "Main";
    sw_list_publish(&tube.functions);
    struct sw_tube_thread **at = sw_list_add(&tube.threads, sizeof *at);
    *at = thread;
    thread->name = "main";
    sw_list_publish(&tube.threads);
}

static const char *name_of(UINT_PTR id)
{
    static char text[64];
    sw_tube_id_name(&tube, id, text, sizeof text);
    return text;
}

static void ids_are_written_as_names(void **state)
{
    static struct sw_tube_thread thread;
    (void)state;
    add_world(&thread);
    assert_string_equal(name_of(sw_tube_id(SW_ID_FUNCTION, 0)), "Demo.Program.Main");
    assert_string_equal(name_of(sw_tube_id(SW_ID_MODULE, 0)), "Demo.dll");
    assert_string_equal(name_of(sw_tube_id(SW_ID_ASSEMBLY, 0)), "Demo");
    assert_string_equal(name_of(sw_tube_id(SW_ID_CLASS, 0)), "Demo.Program");
    assert_string_equal(name_of(sw_tube_id(SW_ID_THREAD, 0)), "main");
    assert_string_equal(name_of(sw_tube_id(SW_ID_DOMAIN, 0)), "domain");
    assert_string_equal(name_of(sw_tube_id(SW_ID_OBJECT, 7)), "object");
    assert_string_equal(name_of(sw_tube_id(SW_ID_FUNCTION, 1)), "unknown");
    assert_string_equal(name_of(0xdeadbeef), "unknown");
    assert_string_equal(name_of(0), "0");
    sw_tube_record_begin(&tube, "callback", "ThreadDestroyed");
    thread.ended = true;
    sw_tube_record_id(&tube, "id", sw_tube_id(SW_ID_THREAD, 0));
    sw_tube_record_end(&tube);
    assert_non_null(strstr(last, "\"id\":\"main\""));
    sw_list_free(&tube.modules);
    sw_list_free(&tube.types);
    sw_list_free(&tube.functions);
    sw_list_free(&tube.threads);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_has_kind_name_thread_and_its_fields),
        TEST(a_field_does_not_stand_twice),
        TEST(an_answer_without_a_name_is_a_number),
        TEST(every_byte_makes_a_line_of_json),
        TEST(what_is_no_utf8_is_replaced),
        TEST(the_bounds_of_utf8_are_its_bounds),
        TEST(an_end_without_a_beginning_is_nothing),
        TEST(long_lines_are_cut_and_say_so),
        TEST(lines_nest_as_calls_do),
        TEST(without_a_recorder_nothing_is_written),
        TEST(who_watches_is_told_what_begins),
        TEST(threads_that_are_not_the_tubes_are_numbered),
        TEST(each_recording_has_its_own_numbers),
        TEST(threads_and_handlers_write_whole_lines_one_at_a_time),
        TEST(ids_are_written_as_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
