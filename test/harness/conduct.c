/* Rules of conduct: their table, the list of broken ones, annotated locks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tube.h"

static struct sw_tube tube;
static char last[2048];
static unsigned lines;

static void note(void *arg, const char *line)
{
    (void)arg;
    snprintf(last, sizeof last, "%s", line);
    lines++;
}

static int set_up(void **state)
{
    (void)state;
    memset(&tube, 0, sizeof tube);
    tube.options.record = note;
    last[0] = 0;
    lines = 0;
    return sw_tube_conduct_create(&tube) != SW_OK || sw_tube_record_create(&tube) != SW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    sw_tube_record_destroy(&tube);
    sw_tube_conduct_destroy(&tube);
    return 0;
}

static struct sw_tube_violation violation(size_t at)
{
    static struct sw_tube_violation list[2048];
    assert_true(at < sw_tube_violations(&tube, list, 2048));
    return list[at];
}

static void every_rule_has_a_name_of_its_own_and_says_what_it_is(void **state)
{
    enum sw_tube_rule found;
    (void)state;
    for (int rule = 0; rule < SW_TUBE_RULE_COUNT; rule++) {
        assert_true(sw_tube_rule_named(sw_tube_rule_name((enum sw_tube_rule)rule), &found));
        assert_int_equal(found, rule);
        assert_true(strlen(sw_tube_rule_text((enum sw_tube_rule)rule)) > 20);
    }
    assert_string_equal(sw_tube_rule_name(SW_TUBE_STALE_FRAME), "stale-frame");
    assert_string_equal(sw_tube_rule_name(SW_TUBE_DESTROYED_IN_WALK), "destroyed-in-walk");
    assert_string_equal(sw_tube_rule_name(SW_TUBE_BAD_SIGNAL_STATE), "bad-signal-state");
    assert_string_equal(sw_tube_rule_name(SW_TUBE_RULE_COUNT), "?");
    assert_string_equal(sw_tube_rule_text((enum sw_tube_rule) - 1), "?");
    assert_false(sw_tube_rule_named("none", &found));
}

static void a_broken_rule_is_listed_with_its_call_and_a_sentence(void **state)
{
    (void)state;
    sw_tube_broke(&tube, SW_TUBE_RUNNING_TARGET, "DoStackSnapshot", "thread %s was walked while it ran", "worker");
    assert_int_equal(sw_tube_violations(&tube, NULL, 0), 1);
    const struct sw_tube_violation seen = violation(0);
    assert_int_equal(seen.rule, SW_TUBE_RUNNING_TARGET);
    assert_string_equal(seen.call, "DoStackSnapshot");
    assert_string_equal(seen.thread, "");
    assert_string_equal(seen.detail, "thread worker was walked while it ran");
    assert_int_equal(seen.times, 1);
    assert_false(seen.expected);
    assert_string_equal(last, "{\"kind\":\"conduct\",\"name\":\"running-target\",\"thread\":\"conductor\","
                              "\"call\":\"DoStackSnapshot\",\"detail\":\"thread worker was walked while it ran\"}");
}

static void the_same_break_is_counted_not_listed_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        sw_tube_broke(&tube, SW_TUBE_UNKNOWN_METHOD, "GetILFunctionBody", "nobody serves it");
    sw_tube_broke(&tube, SW_TUBE_UNKNOWN_METHOD, "SetILFunctionBody", "nobody serves it");
    assert_int_equal(sw_tube_violations(&tube, NULL, 0), 2);
    assert_int_equal(violation(0).times, 5);
    assert_int_equal(violation(1).times, 1);
    assert_int_equal(lines, 2);
}

/* A loop over ids makes no endless list; what is different in another call still shows. */
static void details_of_one_call_are_listed_a_few_times(void **state)
{
    uint64_t times = 0;
    (void)state;
    for (int i = 0; i < 100; i++)
        sw_tube_broke(&tube, SW_TUBE_UNKNOWN_ID, "GetFunctionInfo", "id %d", i);
    const size_t count = sw_tube_violations(&tube, NULL, 0);
    assert_in_range(count, 2, 20);
    for (size_t i = 0; i < count; i++)
        times += violation(i).times;
    assert_int_equal(times, 100);
    sw_tube_broke(&tube, SW_TUBE_UNKNOWN_ID, "GetCodeInfo", "id 1");
    assert_int_equal(sw_tube_violations(&tube, NULL, 0), count + 1);
}

/* The list is of a fixed size, and still shows each rule. */
static void a_flood_leaves_room_for_the_other_rules(void **state)
{
    char call[32];
    uint64_t times = 0;
    (void)state;
    for (int i = 0; i < 5000; i++) {
        snprintf(call, sizeof call, "Call%d", i);
        sw_tube_broke(&tube, SW_TUBE_LATE_CALL, call, "after Shutdown");
    }
    for (int rule = 0; rule < SW_TUBE_RULE_COUNT; rule++)
        sw_tube_broke(&tube, (enum sw_tube_rule)rule, "Last", "the last");
    const size_t count = sw_tube_violations(&tube, NULL, 0);
    bool seen[SW_TUBE_RULE_COUNT] = { false };
    assert_in_range(count, 1000, 1100);
    for (size_t i = 0; i < count; i++) {
        seen[violation(i).rule] = true;
        times += violation(i).times;
    }
    for (int rule = 0; rule < SW_TUBE_RULE_COUNT; rule++)
        assert_true(seen[rule]);
    assert_int_equal(times, 5000 + SW_TUBE_RULE_COUNT);
}

static void long_texts_are_cut(void **state)
{
    char text[1000];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    sw_tube_broke(&tube, SW_TUBE_LATE_CALL, text, "%s", text);
    assert_in_range(strlen(violation(0).call), 20, 999);
    assert_in_range(strlen(violation(0).detail), 100, 999);
}

static void what_was_expected_is_marked(void **state)
{
    (void)state;
    sw_tube_broke(&tube, SW_TUBE_LATE_CALL, "A", "one");
    sw_tube_broke(&tube, SW_TUBE_LATE_CALL, "A", "one");
    sw_tube_broke(&tube, SW_TUBE_STALE_FRAME, "B", "two");
    assert_int_equal(sw_tube_conduct_expect(&tube, SW_TUBE_LATE_CALL), 2);
    assert_int_equal(sw_tube_conduct_expect(&tube, SW_TUBE_NESTED_WALK), 0);
    assert_true(violation(0).expected);
    assert_false(violation(1).expected);
}

static void calls_that_make_no_sense_do_nothing(void **state)
{
    struct sw_tube bare = { 0 };
    (void)state;
    sw_tube_broke(NULL, SW_TUBE_LATE_CALL, "A", "one");
    sw_tube_broke(&bare, SW_TUBE_LATE_CALL, "A", "one");
    sw_tube_broke(&tube, SW_TUBE_RULE_COUNT, "A", "one");
    assert_int_equal(sw_tube_violations(NULL, NULL, 0), 0);
    assert_int_equal(sw_tube_violations(&bare, NULL, 0), 0);
    assert_int_equal(sw_tube_violations(&tube, NULL, 0), 0);
}

/* ---- many at once ---- */

enum { BREAKERS = 4, BREAKS = 2000 };

static void on_tick(int signal)
{
    (void)signal;
    sw_tube_broke(&tube, SW_TUBE_NESTED_WALK, "handler", "in a handler");
}

static void *break_rules(void *arg)
{
    (void)arg;
    for (int i = 0; i < BREAKS; i++) {
        sw_tube_broke(&tube, SW_TUBE_LATE_CALL, "loop", "the same");
        if (i % 20 == 0)
            (void)pthread_kill(pthread_self(), SIGUSR1);
    }
    return NULL;
}

/* A handler that interrupts a thread while it notes a break does not wait for that thread: the test would hang. */
static void threads_and_handlers_note_breaks_at_once(void **state)
{
    const struct sigaction tick = { .sa_handler = on_tick };
    struct sigaction before;
    pthread_t threads[BREAKERS];
    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &tick, &before), 0);
    for (int i = 0; i < BREAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, break_rules, NULL), 0);
    for (int i = 0; i < BREAKERS; i++)
        pthread_join(threads[i], NULL);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(sw_tube_violations(&tube, NULL, 0), 2);
    assert_int_equal(violation(0).times + violation(1).times, BREAKERS * BREAKS + BREAKERS * BREAKS / 20);
}

/* ---- locks ---- */

static void the_last_lock_taken_is_held(void **state)
{
    (void)state;
    assert_null(sw_tube_lock_held());
    sw_tube_lock_taken("outer");
    sw_tube_lock_taken("inner");
    assert_string_equal(sw_tube_lock_held(), "inner");
    sw_tube_lock_released("outer");
    assert_string_equal(sw_tube_lock_held(), "inner");
    sw_tube_lock_released("never taken");
    sw_tube_lock_released("inner");
    assert_null(sw_tube_lock_held());
    sw_tube_lock_released("inner");
    assert_null(sw_tube_lock_held());
}

static void more_locks_than_have_a_place_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        sw_tube_lock_taken("many");
    for (int i = 0; i < 99; i++)
        sw_tube_lock_released("many");
    assert_string_equal(sw_tube_lock_held(), "many");
    sw_tube_lock_released("many");
    assert_null(sw_tube_lock_held());
}

static void *has_no_lock(void *arg)
{
    (void)arg;
    return (void *)sw_tube_lock_held();
}

static void a_lock_is_of_the_thread_that_took_it(void **state)
{
    pthread_t thread;
    void *held = &thread;
    (void)state;
    sw_tube_lock_taken("mine");
    assert_int_equal(pthread_create(&thread, NULL, has_no_lock, NULL), 0);
    pthread_join(thread, &held);
    assert_null(held);
    sw_tube_lock_released("mine");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_rule_has_a_name_of_its_own_and_says_what_it_is),
        TEST(a_broken_rule_is_listed_with_its_call_and_a_sentence),
        TEST(the_same_break_is_counted_not_listed_again),
        TEST(details_of_one_call_are_listed_a_few_times),
        TEST(a_flood_leaves_room_for_the_other_rules),
        TEST(long_texts_are_cut),
        TEST(what_was_expected_is_marked),
        TEST(calls_that_make_no_sense_do_nothing),
        TEST(threads_and_handlers_note_breaks_at_once),
        TEST(the_last_lock_taken_is_held),
        TEST(more_locks_than_have_a_place_are_counted),
        TEST(a_lock_is_of_the_thread_that_took_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
