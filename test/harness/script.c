/* Scenarios as text: what they do, and what is said of each that makes no sense. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <snapwalk/harness.h>

#include "../support/nap.h"
#include "../support/random.h"

static char recording[1 << 16], steps[1 << 16];

static void keep_line(void *arg, const char *line)
{
    (void)arg;
    if (strlen(recording) + strlen(line) + 2 < sizeof recording)
        strcat(strcat(recording, line), "\n");
}

static void keep_step(void *arg, const char *kind, const char *thread, const char *name)
{
    (void)arg, (void)thread;
    if (strcmp(kind, "step") == 0 && strlen(steps) + strlen(name) + 2 < sizeof steps)
        strcat(strcat(steps, name), "\n");
}

/* A tube with a running runtime: what most scripts begin with. */
static struct sw_tube *make_tube(enum sw_flavour flavour)
{
    const struct sw_tube_options options = {
        .simulated = true, .flavour = flavour, .record = keep_line, .entered = keep_step
    };
    struct sw_tube *tube;
    recording[0] = steps[0] = 0;
    assert_int_equal(sw_tube_create(&options, &tube), SW_OK);
    return tube;
}

#define BEGIN                                                                                                          \
    "start\nmodule Demo.dll\nfunction Demo.dll P Main\nfunction Demo.dll P Work frameless catches\nthread main\n"

/* Each script, and what is said of it; "": nothing. */
static const struct row {
    const char *name, *text, *problem;
} rows[] = {
    { "nothing_is_a_scenario", "", "" },
    { "blanks_and_comments_are_nothing", "\n  \t \n# no\n   # no\n\r\n", "" },
    { "a_last_line_without_its_end_is_played", "start\nnonsense", "s:2: nonsense: there is no such statement" },
    { "lines_may_end_as_on_windows", "start\r\nmodule Demo.dll\r\n", "" },
    { "a_thread_runs",
      BEGIN "call main P.Main # a comment\nnative main poll\nreturn main\ncall main P.Work\nspin main\n"
            "return main\nend main\nshutdown\n",
      "" },
    { "a_stack_is_as_expected",
      BEGIN "call main P.Main\ncall main P.Work\nexpect stack main \"P.Work < P.Main < [native]\"\n", "" },
    { "a_stack_that_differs_is_told_by_its_frame",
      BEGIN "call main P.Main\ncall main P.Work\nexpect stack main \"P.Work < P.Work < [native]\"\n",
      "s:8: expect stack: frame 1 is P.Main, not P.Work" },
    { "a_stack_that_is_too_short_is_told", BEGIN "call main P.Main\nexpect stack main \"P.Main < [native] < P.X\"\n",
      "s:7: expect stack: frame 2 is the end, not P.X" },
    { "a_stack_that_is_too_long_is_told", BEGIN "call main P.Main\nexpect stack main \"P.Main\"\n",
      "s:7: expect stack: frame 1 is [native], not the end" },
    { "dots_stand_for_any_frames",
      BEGIN "call main P.Main\ncall main P.Work\ncall main P.Work\nexpect stack main \"... < P.Main < ...\"\n"
            "expect stack main ...\nexpect stack main \"P.Work < ... < [native]\"\n"
            "expect stack main \"... < P.Work < P.Work < P.Main < [native] < ...\"\n",
      "" },
    { "dots_do_not_hide_what_is_missing", BEGIN "call main P.Main\nexpect stack main \"... < P.Work < ...\"\n",
      "s:7: expect stack: the stack is \"P.Main < [native]\"" },
    { "an_exception_is_thrown_and_caught",
      BEGIN "call main P.Work\ncall main P.Main\nthrow main System.Exception\nexpect stack main \"P.Work < [native]\"\n"
            "caught main\n",
      "" },
    { "the_runtime_is_suspended_collected_and_resumed",
      BEGIN "suspend gc\nresume\nsuspend other main\nresume main\ncollect\ncollect main\n", "" },
    { "functions_have_flags",
      "start\nmodule Demo.dll\nfunction Demo.dll P A precompiled large\nfunction Demo.dll P B hidden\n"
      "function Demo.dll P C filters finally saves\nfunction Demo.dll P D dispatch frame\ncompile P.A\nthread t\n"
      "compile P.B t\nunload function P.A\n",
      "" },
    { "modules_are_unloaded", BEGIN "unload module Demo.dll\n", "" },
    { "counts_are_as_expected", BEGIN "expect raised ThreadCreated 0\nexpect raised ThreadCreated ..3\n", "" },
    { "a_count_that_differs_is_told", BEGIN "expect raised ThreadCreated 1..\n",
      "s:6: expect raised: ThreadCreated: 0 times, not 1.." },
    { "conduct_is_as_expected", BEGIN "expect conduct none\nexpect problem none\n", "" },
    { "conduct_that_is_better_than_expected_is_told", "expect conduct stale-frame\n",
      "s:1: expect conduct: stale-frame: 0 times, not once or more" },
    { "a_rule_may_be_expected_never", "expect conduct stale-frame 0\n", "" },
    { "what_a_file_holds_is_as_expected", "expect file /proc/self/status Name:\n", "" },
    { "what_a_file_lacks_is_told", "expect file /dev/null x\n", "s:1: expect file: /dev/null does not hold \"x\"" },
    { "a_file_that_is_not_there_is_told", "expect file /nowhere/x x\n", "s:1: expect file: /nowhere/x cannot be read" },
    { "an_answer_is_a_name", "answer GetILFunctionBody E_FAIL\nanswer GetILFunctionBody default\n", "" },
    { "an_answer_is_a_number", "answer GetILFunctionBody 0x80131351\n", "" },
    { "an_answer_that_is_none_is_told", "answer GetILFunctionBody E_MAYBE\n",
      "s:1: answer: \"E_MAYBE\" is no HRESULT: a name, 0x and 8 digits, or default" },
    { "an_answer_has_eight_digits", "answer GetILFunctionBody 0x8013135\n",
      "s:1: answer: \"0x8013135\" is no HRESULT: a name, 0x and 8 digits, or default" },
    { "an_answer_has_digits_only", "answer GetILFunctionBody 0x8013135g\n",
      "s:1: answer: \"0x8013135g\" is no HRESULT: a name, 0x and 8 digits, or default" },
    { "an_answer_of_ten_other_characters_is_none", "answer GetILFunctionBody 1234567890\n",
      "s:1: answer: \"1234567890\" is no HRESULT: a name, 0x and 8 digits, or default" },
    { "an_answer_is_of_a_method", "answer GetWeather S_OK\n",
      "s:1: answer: \"GetWeather\" is no method of ICorProfilerInfo" },
    { "the_last_callback_is_one", "expect raised LoadAsNotificationOnly 0\n", "" },
    { "the_last_method_is_one", "expect calls GetNonGCHeapBounds 0\n", "" },
    { "calls_are_counted", "expect calls GetEventMask 0\nexpect calls GetEventMask 1\n",
      "s:2: expect calls: GetEventMask: 0 times, not 1" },
    { "a_number_has_digits", "wait \"\"\n", "s:1: wait: \"\" is no number" },
    { "a_count_is_a_number", "wait calls GetEventMask ++1\n",
      "s:1: wait calls: \"++1\" is no number (3, or +3: more than now)" },
    { "a_number_has_nothing_behind_it", "wait 1s\n", "s:1: wait: \"1s\" is no number" },
    { "variables_of_a_line_do_not_mix",
      "environment A Demo.dll\nenvironment B P\nenvironment C Main\nstart\nmodule $A\n"
      "function $A $B $C\nthread t\ncall t P.Main\n",
      "" },
    { "a_variable_needs_a_name", "module $\n", "s:1: $ begins no name" },
    { "frames_may_have_blanks_between", BEGIN "call main P.Main\nexpect stack main \"  P.Main  <   [native] \"\n", "" },
    { "the_first_byte_is_looked_at", "\x01start\n", "s:1: byte 1 is a control character" },
    { "a_delete_is_a_control_character", "start\x7f\n", "s:1: byte 6 is a control character" },
    { "tabs_are_blanks", "\tstart\t\nmodule\tDemo.dll\n", "" },
    { "the_newest_runtime_is_10", "version 10\nlimit 1\nlimit 3600\n", "" },
    { "no_runtime_is_newer", "version 11\n", "s:1: version: takes 8, 9 or 10" },
    { "no_limit_is_longer", "limit 3601\n", "s:1: limit: takes 1 to 3600 seconds" },
    { "a_flag_is_only_that_flag", BEGIN "function Demo.dll P Plain finally\ncall main P.Plain\nthrow main E\n",
      "s:8: throw: nothing on the stack of thread main catches E" },
    { "it_waits", "wait 1\n", "" },
    { "it_waits_for_no_hour", "wait 3600000\n", "s:1: wait: 3600000 ms are more than 60000" },
    { "a_variable_is_set_and_used", "environment NAME Demo.dll\nstart\nmodule $NAME\nfunction Demo.dll P Main\n", "" },
    { "a_variable_is_a_beginning", "environment NAME Demo\nstart\nmodule $NAME.dll\nfunction Demo.dll P Main\n", "" },
    { "a_variable_that_is_not_set_is_told", "environment NAME\nmodule $NAME\n", "s:2: $NAME is not set" },
    { "a_quoted_dollar_is_a_dollar", "start\nmodule \"$NAME\"\nfunction $NAME P Main\n", "s:3: $NAME is not set" },
    { "quotes_hold_blanks_and_marks",
      "start\nmodule \"a \\\"b\\\" \\\\ #c.dll\"\nfunction \"a \\\"b\\\" \\\\ #c.dll\" P M\n", "" },
    { "a_quote_that_is_not_closed_is_told", "module \"Demo.dll\n",
      "s:1: a quote is not closed, or a backslash stands before a letter" },
    { "an_escape_that_is_none_is_told", "module \"De\\mo.dll\"\n",
      "s:1: a quote is not closed, or a backslash stands before a letter" },
    { "a_word_at_a_quote_is_told", "module \"Demo\".dll\n", "s:1: a blank is missing behind a quote" },
    { "control_characters_are_told", "module Demo\x1b.dll\n", "s:1: byte 12 is a control character" },
    { "bytes_that_are_no_text_are_told", "start\nmodule \xff\xfe\n", "s:2: byte 8 is not UTF-8" },
    { "too_many_words_are_told", "module a b c d e f g h i j k l m n o p q r s t u v w x y z\n",
      "s:1: more than 24 words" },
    { "a_word_too_many_is_told", "start now\n", "s:1: start: a word too many; takes nothing" },
    { "a_missing_word_is_told", BEGIN "call main\n", "s:6: call: a word is missing; takes THREAD FUNCTION" },
    { "an_unknown_thread_is_told", "call main P.Main\n", "s:1: call: \"main\" is no thread of this tube" },
    { "an_unknown_function_is_told", BEGIN "call main P.Man\n", "s:6: call: \"P.Man\" is no function of this tube" },
    { "an_unknown_module_is_told", "function Demo.dll P Main\n",
      "s:1: function: \"Demo.dll\" is no module of this tube" },
    { "an_unknown_flag_is_told", "start\nmodule D\nfunction D P M fast\n", "s:3: function: \"fast\" is no flag" },
    { "an_unknown_callback_is_told", "expect raised ThreadBorn 1\n",
      "s:1: expect raised: \"ThreadBorn\" is no method of ICorProfilerCallback" },
    { "an_unknown_rule_is_told", "expect conduct polite\n", "s:1: expect conduct: \"polite\" is no rule of conduct" },
    { "an_unknown_reason_is_told", "start\nsuspend fun\n", "s:2: suspend: \"fun\" is no reason" },
    { "an_unknown_fault_is_told", "fail always 1\n", "s:1: fail: \"always\" is no fault" },
    { "a_number_that_is_none_is_told", "fail seed -1\n", "s:1: fail: \"-1\" is no number" },
    { "a_number_that_is_too_large_is_told", "fail seed 99999999999999999999\n",
      "s:1: fail: \"99999999999999999999\" is no number" },
    { "a_range_that_is_none_is_told", "expect raised ThreadCreated 3..2\n",
      "s:1: expect raised: \"3..2\" is no number of times (3, 3.., ..5, 3..5)" },
    { "a_range_of_dots_is_none", "expect raised ThreadCreated ..\n",
      "s:1: expect raised: \"..\" is no number of times (3, 3.., ..5, 3..5)" },
    { "an_unknown_statement_of_two_words_is_told", "expect rain\n", "s:1: expect: there is no such statement" },
    { "what_makes_no_sense_is_told_with_its_reason", BEGIN "return main\n", "s:6: return: thread main has no frame" },
    { "what_has_no_runtime_is_told", "thread main\n", "s:1: thread: the runtime is not running" },
    { "a_profiler_that_is_not_there_is_told", "profiler /nowhere/libmine.so\n", "s:1: profiler: load: /nowhere/" },
    { "a_symbol_that_is_not_there_is_told", BEGIN "call main P.Main\nrun main no_such_function\n",
      "s:7: run: the profiler exports no \"no_such_function\"" },
    { "nothing_is_played_behind_the_first_problem", BEGIN "return main\nreturn main\nnonsense\n",
      "s:6: return: thread main has no frame" },
    { "the_heading_stands_in_front",
      "flavour documented\nversion 9\nsimulated\nmachine x64\nlimit 5\noutcome done\nstart\n", "" },
    { "a_heading_behind_the_first_step_is_told", "start\nsimulated\n",
      "s:2: simulated: stands in front of the first step" },
    { "an_unknown_flavour_is_told", "flavour vanilla\n",
      "s:1: flavour: takes documented, coreclr-windows or coreclr-unix" },
    { "an_unknown_version_is_told", "version 7\n", "s:1: version: takes 8, 9 or 10" },
    { "a_statement_may_be_for_some_tubes", "under simulated start\nunder real start\nunder documented,real thread t\n",
      "" },
    { "conditions_are_words", "under simulate start\n",
      "s:1: under: needs conditions, such as coreclr-unix,simulated,arm64, and a statement" },
    { "conditions_have_no_holes", "under simulated,,real start\n",
      "s:1: under: needs conditions, such as coreclr-unix,simulated,arm64, and a statement" },
    { "conditions_want_a_statement", "under simulated\n",
      "s:1: under: needs conditions, such as coreclr-unix,simulated,arm64, and a statement" },
    { "a_problem_under_a_condition_names_its_statement", "under simulated nonsense\n",
      "s:1: nonsense: there is no such statement" },
};

static void a_script_is_played(void **state)
{
    const struct row *row = *state;
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    const enum sw_status status = sw_tube_play(tube, "s", row->text);
    if (*row->problem)
        assert_memory_equal(sw_tube_problem(tube), row->problem, strlen(row->problem));
    else
        assert_string_equal(sw_tube_problem(tube), "");
    assert_int_equal(status == SW_OK, !*row->problem);
    sw_tube_destroy(tube);
}

static void the_same_script_says_what_differs_between_flavours(void **state)
{
    static const char text[] = BEGIN
        "call main P.Main\nnative main poll\nunder documented expect stack main \"[native] < P.Main < [native]\"\n"
        "under coreclr-windows expect stack main \"P.Main < [native]\"\n"
        "under coreclr-unix expect stack main E_NOTIMPL\n";
    (void)state;
    for (int flavour = 0; flavour < SW_FLAVOUR_COUNT; flavour++) {
        struct sw_tube *tube = make_tube((enum sw_flavour)flavour);
        (void)sw_tube_play(tube, "s", text);
        assert_string_equal(sw_tube_problem(tube), "");
        sw_tube_destroy(tube);
    }
}

static void steps_are_recorded_and_told_before_they_begin(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    (void)state;
    (void)sw_tube_play(tube, "dir/a.tube", "# one\nstart\n\n  module \"Demo.dll\"  # two\nsnapshot x\n");
    assert_string_equal(steps, "dir/a.tube:2: start\ndir/a.tube:4: module \"Demo.dll\"\n");
    assert_non_null(strstr(recording, "{\"kind\":\"step\",\"name\":\"module\",\"thread\":\"conductor\","
                                      "\"with\":\"\\\"Demo.dll\\\"\"}\n"));
    sw_tube_destroy(tube);
}

static void a_snapshot_is_recorded(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    (void)state;
    assert_int_equal(sw_tube_play(tube, "s", BEGIN "call main P.Main\nsnapshot main\n"), SW_OK);
    assert_non_null(strstr(recording, "\"kind\":\"stack\",\"name\":\"main\",\"thread\":\"conductor\","
                                      "\"stack\":\"P.Main < [native]\""));
    sw_tube_destroy(tube);
}

/* What a profiler calls is counted, waited for and answered. */
static void calls_are_answered_counted_and_waited_for(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    ICorProfilerInfo2 *info = sw_tube_info(tube);
    DWORD mask = 1;
    (void)state;
    assert_int_equal(sw_tube_play(tube, "s", "answer GetEventMask 0x80131351\n"), SW_OK);
    assert_int_equal(info->lpVtbl->GetEventMask(info, &mask), CORPROF_E_DATAINCOMPLETE);
    assert_int_equal(sw_tube_play(tube, "s", "wait calls GetEventMask 1\nanswer GetEventMask default\n"), SW_OK);
    assert_int_equal(info->lpVtbl->GetEventMask(info, &mask), S_OK);
    assert_int_equal(sw_tube_play(tube, "s", "wait calls GetEventMask +0\nwait raised Shutdown +0\n"), SW_OK);
    assert_int_equal(sw_tube_play(tube, "s", "expect calls GetEventMask 2\nwait raised Shutdown 0\n"), SW_OK);
    sw_tube_destroy(tube);
}

static _Atomic bool enough;

static void *call_again(void *info)
{
    ICorProfilerInfo2 *of = info;
    DWORD mask;
    for (; !enough; nap(1000))
        (void)of->lpVtbl->GetEventMask(of, &mask);
    return NULL;
}

/* What was called before does not count. */
static void more_calls_from_now_on_are_waited_for(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    ICorProfilerInfo2 *info = sw_tube_info(tube);
    pthread_t thread;
    DWORD mask;
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(info->lpVtbl->GetEventMask(info, &mask), S_OK);
    assert_int_equal(pthread_create(&thread, NULL, call_again, info), 0);
    assert_int_equal(sw_tube_play(tube, "s", "wait calls GetEventMask +2\nexpect calls GetEventMask 7..\n"), SW_OK);
    enough = true;
    pthread_join(thread, NULL);
    sw_tube_destroy(tube);
}

/* A module of the same name is loaded again: its functions are those that are meant. */
static void the_newest_of_a_name_is_meant(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    (void)state;
    assert_int_equal(sw_tube_play(tube, "s",
                                  BEGIN "call main P.Main\nreturn main\nunload module Demo.dll\nmodule Demo.dll\n"
                                        "function Demo.dll P Main\ncall main P.Main\n"
                                        "expect stack main \"P.Main < [native]\"\nend main\nthread main\n"
                                        "call main P.Main\nexpect stack main \"P.Main < [native]\"\n"),
                     SW_OK);
    assert_string_equal(sw_tube_problem(tube), "");
    sw_tube_destroy(tube);
}

/* Names of functions are found however many there are, also those that were made by hand. */
static void names_are_found_whoever_made_them(void **state)
{
    char name[16], text[64];
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    (void)state;
    assert_int_equal(sw_tube_play(tube, "s", BEGIN), SW_OK);
    struct sw_tube_module *module = sw_tube_module_load(tube, "Other.dll");
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "F%d", i);
        assert_non_null(sw_tube_function_add(module, "O", name, 0));
    }
    for (int i = 0; i < 1000; i += 37) {
        snprintf(text, sizeof text, "call main O.F%d\nreturn main\n", i);
        assert_int_equal(sw_tube_play(tube, "s", text), SW_OK);
    }
    assert_int_equal(sw_tube_play(tube, "s", "call main O.F1000\n"), SW_E_MALFORMED);
    sw_tube_destroy(tube);
}

static void what_is_not_played_says_why(void **state)
{
    struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
    (void)state;
    assert_int_equal(sw_tube_play(NULL, "s", ""), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_play(tube, "s", "nonsense"), SW_E_MALFORMED);
    assert_int_equal(sw_tube_play(tube, "s", "start"), SW_E_BUSY);
    assert_string_equal(sw_tube_problem(tube), "s:1: nonsense: there is no such statement");
    sw_tube_destroy(tube);
}

/* ---- the heading ---- */

static void the_heading_is_read(void **state)
{
    struct sw_tube_heading heading;
    char problem[128] = "garbage";
    (void)state;
    assert_int_equal(sw_tube_heading_read("s",
                                          "# a heading\n\nflavour coreclr-unix\nmachine arm64\nsimulated\nversion 9\n"
                                          "limit 7\noutcome crash SIGSEGV\nstart\nnonsense\n",
                                          &heading, problem, sizeof problem),
                     SW_OK);
    assert_string_equal(problem, "");
    assert_int_equal(heading.options.flavour, SW_FLAVOUR_CORECLR_UNIX);
    assert_int_equal(heading.options.machine, SW_MACHINE_ARM64);
    assert_true(heading.options.simulated);
    assert_int_equal(heading.options.version, 9);
    assert_int_equal(heading.seconds, 7);
    assert_int_equal(heading.outcome, SW_TUBE_CRASHED);
    assert_string_equal(heading.detail, "SIGSEGV");
}

static void a_script_without_a_heading_has_the_usual_one(void **state)
{
    const struct sw_tube_heading usual = { 0 };
    struct sw_tube_heading heading;
    (void)state;
    memset(&heading, 0xa5, sizeof heading);
    assert_int_equal(sw_tube_heading_read("s", "start\nflavour coreclr-unix\n", &heading, NULL, 0), SW_OK);
    assert_int_equal(heading.options.flavour, usual.options.flavour);
    assert_int_equal(heading.outcome, SW_TUBE_DONE);
    assert_string_equal(heading.detail, "");
    assert_int_equal(heading.seconds, 0);
}

static void a_heading_that_makes_no_sense_is_told(void **state)
{
    static const char *const texts[][2] = {
        { "flavour\n", "s:1: flavour: a word is missing; takes FLAVOUR" },
        { "simulated\nlimit 0\n", "s:2: limit: takes 1 to 3600 seconds" },
        { "outcome rain\n", "s:1: outcome: takes done, crash, hang, exit or problem" },
        { "machine vax\n", "s:1: machine: takes x64 or arm64" },
        { "\"\n", "s:1: a quote is not closed, or a backslash stands before a letter" },
    };
    struct sw_tube_heading heading;
    char problem[128];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(sw_tube_heading_read("s", texts[i][0], &heading, problem, sizeof problem), SW_E_MALFORMED);
        assert_string_equal(problem, texts[i][1]);
    }
    assert_int_equal(sw_tube_heading_read("s", NULL, &heading, NULL, 0), SW_E_ARGUMENT);
    assert_int_equal(sw_tube_heading_read("s", "", NULL, NULL, 0), SW_E_ARGUMENT);
}

/* ---- hostile bytes ---- */

static void lines_of_every_length_are_read_or_refused(void **state)
{
    enum { LONGEST = 9000 };
    static char text[LONGEST + 16];
    (void)state;
    for (size_t length = 1; length < LONGEST; length += length < 4090 || length > 4105 ? 101 : 1) {
        struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
        memset(text, 'x', length);
        text[length] = 0;
        assert_int_equal(sw_tube_play(tube, "s", text), SW_E_MALFORMED);
        assert_memory_equal(sw_tube_problem(tube), length < 4096 ? "s:1: xxx" : "s:1: the line has more than 4095", 6);
        sw_tube_destroy(tube);
    }
}

/* Bytes that are changed, added and dropped in a good script: nothing but an answer comes of it. */
static void a_damaged_script_is_played_or_refused(void **state)
{
    static const char good[] =
        BEGIN "call main P.Main\nnative main \"a b\"\nreturn main\nunder simulated throw main E\ncollect\n"
              "expect stack main \"... < [native]\"\nexpect raised ThreadCreated 0..3\nend main\nshutdown\n";
    uint64_t seed = 15;
    (void)state;
    for (int round = 0; round < 300; round++) {
        char text[sizeof good];
        struct sw_tube_heading heading;
        struct sw_tube *tube = make_tube(SW_FLAVOUR_DOCUMENTED);
        memcpy(text, good, sizeof good);
        for (int change = 0; change < 1 + round % 4; change++)
            text[next_random(&seed) % (sizeof good - 1)] = (char)next_random(&seed);
        assert_int_not_equal(sw_tube_heading_read("s", text, &heading, NULL, 0), SW_E_ARGUMENT);
        const enum sw_status status = sw_tube_play(tube, "s", text);
        assert_int_equal(status == SW_OK, !*sw_tube_problem(tube));
        sw_tube_destroy(tube);
    }
}

int main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0], OTHERS = 13 };
    struct CMUnitTest tests[ROWS + OTHERS] = {
        [ROWS] = cmocka_unit_test(the_same_script_says_what_differs_between_flavours),
        [ROWS + 1] = cmocka_unit_test(steps_are_recorded_and_told_before_they_begin),
        [ROWS + 2] = cmocka_unit_test(a_snapshot_is_recorded),
        [ROWS + 3] = cmocka_unit_test(names_are_found_whoever_made_them),
        [ROWS + 4] = cmocka_unit_test(what_is_not_played_says_why),
        [ROWS + 5] = cmocka_unit_test(the_heading_is_read),
        [ROWS + 6] = cmocka_unit_test(a_script_without_a_heading_has_the_usual_one),
        [ROWS + 7] = cmocka_unit_test(a_heading_that_makes_no_sense_is_told),
        [ROWS + 8] = cmocka_unit_test(lines_of_every_length_are_read_or_refused),
        [ROWS + 9] = cmocka_unit_test(a_damaged_script_is_played_or_refused),
        [ROWS + 12] = cmocka_unit_test(more_calls_from_now_on_are_waited_for),
        [ROWS + 11] = cmocka_unit_test(calls_are_answered_counted_and_waited_for),
        [ROWS + 10] = cmocka_unit_test(the_newest_of_a_name_is_meant),
    };
    for (size_t i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){ rows[i].name, a_script_is_played, NULL, NULL, (void *)&rows[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
