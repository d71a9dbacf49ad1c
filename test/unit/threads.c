/*
 * The thread table: facts by id, holds, removal that waits for the walks of one thread and no others.
 * D23 and the ThreadID rows of clr-contract.md sections 2.1 and 8.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "budget.h"

#include <snapwalk/thread.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { MANY = 300 };

static void nap(void *arg, unsigned round)
{
    (void)arg;
    (void)round;
    nanosleep(&(struct timespec){ 0, 100000 }, NULL);
}

static struct sw_threads *make(void)
{
    struct sw_threads *threads;
    assert_int_equal(sw_threads_create(NULL, nap, NULL, &threads), SW_OK);
    return threads;
}

static struct sw_thread fact(uint64_t id)
{
    return (struct sw_thread){ .id = id, .os_id = id + 1000, .stack_begin = id << 20, .stack_end = (id + 1) << 20 };
}

static void add(struct sw_threads *threads, uint64_t id)
{
    const struct sw_thread thread = fact(id);
    assert_int_equal(sw_threads_add(threads, &thread), SW_OK);
}

static void an_added_thread_is_found_by_both_ids(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread found = { 0 };
    (void)state;
    add(threads, 7);
    assert_int_equal(sw_threads_find(threads, 7, &found), SW_OK);
    assert_int_equal(found.stack_begin, 7 << 20);
    found = (struct sw_thread){ 0 };
    assert_int_equal(sw_threads_find_os(threads, 1007, &found), SW_OK);
    assert_int_equal(found.id, 7);
    assert_int_equal(sw_threads_find(threads, 7, NULL), SW_OK);
    sw_threads_destroy(threads);
}

static void an_unknown_thread_is_not_found_and_nothing_is_written(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread found = { .id = 99 };
    (void)state;
    add(threads, 7);
    assert_int_equal(sw_threads_find(threads, 8, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_find_os(threads, 7, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_hold(threads, 8, &found), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_remove(threads, 8), SW_E_NOT_FOUND);
    assert_int_equal(found.id, 99);
    sw_threads_destroy(threads);
}

static void id_zero_is_never_a_thread(void **state)
{
    struct sw_threads *threads = make();
    const struct sw_thread zero = { 0 };
    (void)state;
    assert_int_equal(sw_threads_add(threads, &zero), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_find(threads, 0, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_find_os(threads, 0, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_hold(threads, 0, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_remove(threads, 0), SW_E_NOT_FOUND);
    sw_threads_destroy(threads);
}

static void null_pointers_are_refused(void **state)
{
    const struct sw_thread thread = fact(1);
    struct sw_threads *threads = make();
    (void)state;
    assert_int_equal(sw_threads_create(NULL, NULL, NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_add(NULL, &thread), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_add(threads, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_update(NULL, &thread), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_update(threads, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_remove(NULL, 1), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_find(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_find_os(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_hold(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_threads_list(NULL, NULL, 0), 0);
    sw_threads_release(NULL, 1);
    sw_threads_destroy(NULL);
    sw_threads_destroy(threads);
}

static void an_id_that_is_there_is_refused(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread again = fact(7);
    (void)state;
    add(threads, 7);
    again.mode = SW_MODE_PREEMPTIVE;
    assert_int_equal(sw_threads_add(threads, &again), SW_E_EXISTS);
    assert_int_equal(sw_threads_find(threads, 7, &again), SW_OK);
    assert_int_equal(again.mode, SW_MODE_UNKNOWN);
    sw_threads_destroy(threads);
}

static void a_removed_thread_is_gone_and_its_id_can_come_again(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread found;
    (void)state;
    add(threads, 7);
    assert_int_equal(sw_threads_remove(threads, 7), SW_OK);
    assert_int_equal(sw_threads_find(threads, 7, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_find_os(threads, 1007, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_remove(threads, 7), SW_E_NOT_FOUND);
    add(threads, 7);
    assert_int_equal(sw_threads_hold(threads, 7, &found), SW_OK);
    assert_int_equal(found.os_id, 1007);
    sw_threads_destroy(threads);
}

static void an_update_changes_what_is_found(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread thread = fact(7);
    (void)state;
    add(threads, 7);
    for (uint32_t i = 1; i < 6; i++) {
        thread.flags = i;
        thread.mode = i % 2 ? SW_MODE_PREEMPTIVE : SW_MODE_COOPERATIVE;
        assert_int_equal(sw_threads_update(threads, &thread), SW_OK);
        struct sw_thread found;
        assert_int_equal(sw_threads_find(threads, 7, &found), SW_OK);
        assert_int_equal(found.flags, i);
        assert_int_equal(found.mode, thread.mode);
    }
    thread.id = 8;
    assert_int_equal(sw_threads_update(threads, &thread), SW_E_NOT_FOUND);
    sw_threads_destroy(threads);
}

static void a_slot_used_again_holds_nothing_of_the_thread_before(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread thread = fact(7);
    (void)state;
    add(threads, 7);
    thread.flags = SW_THREAD_RAN_MANAGED;
    assert_int_equal(sw_threads_update(threads, &thread), SW_OK);
    assert_int_equal(sw_threads_remove(threads, 7), SW_OK);
    add(threads, 8);
    assert_int_equal(sw_threads_find(threads, 8, &thread), SW_OK);
    assert_int_equal(thread.id, 8);
    assert_int_equal(thread.flags, 0);
    assert_int_equal(sw_threads_find_os(threads, 1007, NULL), SW_E_NOT_FOUND);
    sw_threads_destroy(threads);
}

static void an_os_id_is_set_once(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread thread = { .id = 7 };
    (void)state;
    assert_int_equal(sw_threads_add(threads, &thread), SW_OK);
    thread.os_id = 55;
    assert_int_equal(sw_threads_update(threads, &thread), SW_OK);
    assert_int_equal(sw_threads_find_os(threads, 55, NULL), SW_OK);
    thread.os_id = 56;
    assert_int_equal(sw_threads_update(threads, &thread), SW_E_ARGUMENT);
    sw_threads_destroy(threads);
}

static void a_held_thread_is_not_updated(void **state)
{
    struct sw_threads *threads = make();
    struct sw_thread thread = fact(7);
    struct sw_thread found;
    (void)state;
    add(threads, 7);
    add(threads, 8);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_OK);
    thread.flags = SW_THREAD_RAN_MANAGED;
    assert_int_equal(sw_threads_update(threads, &thread), SW_E_BUSY);
    assert_int_equal(sw_threads_find(threads, 7, &found), SW_OK);
    assert_int_equal(found.flags, 0);
    thread = fact(8);
    assert_int_equal(sw_threads_update(threads, &thread), SW_OK);
    sw_threads_release(threads, 7);
    thread = fact(7);
    assert_int_equal(sw_threads_update(threads, &thread), SW_OK);
    sw_threads_destroy(threads);
}

static void a_release_too_many_harms_nothing(void **state)
{
    struct sw_threads *threads = make();
    (void)state;
    add(threads, 7);
    sw_threads_release(threads, 7);
    sw_threads_release(threads, 8);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_OK);
    sw_threads_release(threads, 7);
    assert_int_equal(sw_threads_remove(threads, 7), SW_OK);
    sw_threads_destroy(threads);
}

static void a_list_is_in_the_order_of_adding_though_slots_are_used_again(void **state)
{
    struct sw_threads *threads = make();
    uint64_t ids[4] = { 0 };
    (void)state;
    for (uint64_t id = 1; id <= 4; id++)
        add(threads, id);
    assert_int_equal(sw_threads_remove(threads, 2), SW_OK);
    add(threads, 9);
    assert_int_equal(sw_threads_list(threads, ids, 4), 4);
    const uint64_t expected[] = { 1, 3, 4, 9 };
    assert_memory_equal(ids, expected, sizeof expected);
    assert_int_equal(sw_threads_list(threads, NULL, 0), 4);
    sw_threads_destroy(threads);
}

static void a_short_list_buffer_still_gets_the_whole_count(void **state)
{
    struct sw_threads *threads = make();
    uint64_t ids[2] = { 0, 77 };
    (void)state;
    for (uint64_t id = 1; id <= 4; id++)
        add(threads, id);
    assert_int_equal(sw_threads_list(threads, ids, 1), 4);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 77);
    sw_threads_destroy(threads);
}

static void many_threads_are_all_found(void **state)
{
    struct sw_threads *threads = make();
    (void)state;
    for (uint64_t id = 1; id <= MANY; id++)
        add(threads, id);
    for (uint64_t id = 1; id <= MANY; id += 2)
        assert_int_equal(sw_threads_remove(threads, id), SW_OK);
    for (uint64_t id = 1; id <= MANY; id++)
        assert_int_equal(sw_threads_find(threads, id, NULL), id % 2 ? SW_E_NOT_FOUND : SW_OK);
    assert_int_equal(sw_threads_list(threads, NULL, 0), MANY / 2);
    sw_threads_destroy(threads);
}

static void without_memory_nothing_changes_and_nothing_leaks(void **state)
{
    struct budget budget = { 0 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    const struct sw_thread thread = fact(7);
    struct sw_threads *threads = NULL;
    (void)state;
    assert_int_equal(sw_threads_create(&alloc, NULL, NULL, &threads), SW_E_NO_MEMORY);
    budget.left = 1;
    assert_int_equal(sw_threads_create(&alloc, NULL, NULL, &threads), SW_OK);
    assert_int_equal(sw_threads_add(threads, &thread), SW_E_NO_MEMORY);
    assert_int_equal(sw_threads_list(threads, NULL, 0), 0);
    budget.left = 1;
    assert_int_equal(sw_threads_add(threads, &thread), SW_OK);
    sw_threads_destroy(threads);
    assert_int_equal(budget.bytes, 0);
}

/* An allocator that is itself a second writer, while the first is inside. */
static struct sw_threads *written;
static enum sw_status seconds[3];

static void *write_meanwhile(void *arg, size_t size)
{
    const struct sw_thread thread = fact(8);
    (void)arg;
    if (written) {
        seconds[0] = sw_threads_add(written, &thread);
        seconds[1] = sw_threads_update(written, &thread);
        seconds[2] = sw_threads_remove(written, 8);
    }
    return malloc(size);
}

static void give_back(void *arg, void *block, size_t size)
{
    (void)arg;
    (void)size;
    free(block);
}

static void a_second_writer_is_told_that_it_is_busy(void **state)
{
    const struct sw_alloc alloc = { write_meanwhile, give_back, NULL };
    struct sw_threads *threads;
    (void)state;
    assert_int_equal(sw_threads_create(&alloc, NULL, NULL, &threads), SW_OK);
    written = threads;
    add(threads, 7);
    written = NULL;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(seconds[i], SW_E_BUSY);
    assert_int_equal(sw_threads_list(threads, NULL, 0), 1);
    sw_threads_destroy(threads);
}

static void half_an_allocator_is_refused(void **state)
{
    const struct sw_alloc alloc = { write_meanwhile, NULL, NULL };
    struct sw_threads *threads;
    (void)state;
    assert_int_equal(sw_threads_create(&alloc, NULL, NULL, &threads), SW_E_ARGUMENT);
}

/* A removal in another thread, as a runtime's ThreadDestroyed makes it. */
struct removal {
    struct sw_threads *threads;
    uint64_t id;
    atomic_int done;
};

static void *remove_it(void *arg)
{
    struct removal *removal = arg;
    const enum sw_status status = sw_threads_remove(removal->threads, removal->id);
    atomic_store(&removal->done, status == SW_OK ? 1 : -1);
    return NULL;
}

static void d23_removal_refuses_new_walks_at_once_and_waits_for_the_one_going_on(void **state)
{
    struct sw_threads *threads = make();
    struct removal removal = { threads, 7, 0 };
    pthread_t thread;
    (void)state;
    add(threads, 7);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_OK);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_OK);
    assert_int_equal(pthread_create(&thread, NULL, remove_it, &removal), 0);
    while (sw_threads_find(threads, 7, NULL) == SW_OK)
        nap(NULL, 0);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_E_NOT_FOUND);
    sw_threads_release(threads, 7);
    for (unsigned i = 0; i < 100; i++)
        nap(NULL, i);
    assert_int_equal(atomic_load(&removal.done), 0);
    sw_threads_release(threads, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&removal.done), 1);
    sw_threads_destroy(threads);
}

static void d23_removal_does_not_wait_for_walks_of_other_threads(void **state)
{
    struct sw_threads *threads = make();
    (void)state;
    add(threads, 7);
    add(threads, 8);
    assert_int_equal(sw_threads_hold(threads, 8, NULL), SW_OK);
    assert_int_equal(sw_threads_remove(threads, 7), SW_OK);
    sw_threads_release(threads, 8);
    sw_threads_destroy(threads);
}

static void while_a_removal_waits_others_can_be_added_and_removed(void **state)
{
    struct sw_threads *threads = make();
    struct removal removal = { threads, 7, 0 };
    const struct sw_thread same_os = { .id = 70, .os_id = 1007 };
    const struct sw_thread other = fact(8);
    struct sw_thread found;
    enum sw_status status;
    pthread_t thread;
    (void)state;
    add(threads, 7);
    assert_int_equal(sw_threads_hold(threads, 7, NULL), SW_OK);
    assert_int_equal(pthread_create(&thread, NULL, remove_it, &removal), 0);
    while (sw_threads_find(threads, 7, NULL) == SW_OK)
        nap(NULL, 0);
    while ((status = sw_threads_add(threads, &other)) == SW_E_BUSY) /* a writer for an instant more */
        nap(NULL, 0);
    assert_int_equal(status, SW_OK);
    assert_int_equal(sw_threads_remove(threads, 8), SW_OK);
    assert_int_equal(sw_threads_add(threads, &(struct sw_thread){ .id = 7 }), SW_E_EXISTS);
    assert_int_equal(sw_threads_update(threads, &(struct sw_thread){ .id = 7, .os_id = 1007 }), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_remove(threads, 7), SW_E_NOT_FOUND);
    assert_int_equal(sw_threads_add(threads, &same_os), SW_OK);
    assert_int_equal(sw_threads_find_os(threads, 1007, &found), SW_OK);
    assert_int_equal(found.id, 70);
    sw_threads_release(threads, 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sw_threads_list(threads, NULL, 0), 1);
    sw_threads_destroy(threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_added_thread_is_found_by_both_ids),
        cmocka_unit_test(an_unknown_thread_is_not_found_and_nothing_is_written),
        cmocka_unit_test(id_zero_is_never_a_thread),
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(an_id_that_is_there_is_refused),
        cmocka_unit_test(a_removed_thread_is_gone_and_its_id_can_come_again),
        cmocka_unit_test(an_update_changes_what_is_found),
        cmocka_unit_test(a_slot_used_again_holds_nothing_of_the_thread_before),
        cmocka_unit_test(an_os_id_is_set_once),
        cmocka_unit_test(a_held_thread_is_not_updated),
        cmocka_unit_test(a_release_too_many_harms_nothing),
        cmocka_unit_test(a_list_is_in_the_order_of_adding_though_slots_are_used_again),
        cmocka_unit_test(a_short_list_buffer_still_gets_the_whole_count),
        cmocka_unit_test(many_threads_are_all_found),
        cmocka_unit_test(without_memory_nothing_changes_and_nothing_leaks),
        cmocka_unit_test(a_second_writer_is_told_that_it_is_busy),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(d23_removal_refuses_new_walks_at_once_and_waits_for_the_one_going_on),
        cmocka_unit_test(d23_removal_does_not_wait_for_walks_of_other_threads),
        cmocka_unit_test(while_a_removal_waits_others_can_be_added_and_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
