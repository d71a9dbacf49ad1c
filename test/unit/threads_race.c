/*
 * Walks and lookups race with a writer that adds, updates and removes: no reader sees torn facts or facts of a thread
 * that is gone, and no thread is gone while a walk holds it. For -fsanitize=thread as well.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <snapwalk/thread.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { IDS = 6, READER_THREADS = 3, ROUNDS = 2500, UPDATES = 6 };

struct race {
    struct sw_threads *threads;
    atomic_bool over;
    atomic_int alive[IDS + 1]; /* as the writer knows it: 1 from before the add until after the removal */
    atomic_long holds;
    atomic_long errors;
};

static void give_way(void *arg, unsigned round)
{
    (void)arg;
    (void)round;
    sched_yield();
}

/* Facts whose fields all follow from id and flags: a mix of two versions does not. */
static struct sw_thread made_of(uint64_t id, uint32_t version)
{
    return (struct sw_thread){ .id = id,
                               .os_id = id + 100,
                               .stack_begin = id * 1000 + version,
                               .stack_end = id * 2000 + version,
                               .flags = version,
                               .transition_count = id + version };
}

static bool is_whole(const struct sw_thread *thread, uint64_t id)
{
    const struct sw_thread whole = made_of(thread->id, thread->flags);
    return thread->id == id && thread->os_id == whole.os_id && thread->stack_begin == whole.stack_begin &&
           thread->stack_end == whole.stack_end && thread->transition_count == whole.transition_count;
}

static void check(struct race *race, bool good)
{
    if (!good)
        atomic_fetch_add(&race->errors, 1);
}

static void hold_one(struct race *race, uint64_t id)
{
    struct sw_thread thread;
    if (sw_threads_hold(race->threads, id, &thread) != SW_OK)
        return;
    check(race, is_whole(&thread, id));
    if (atomic_fetch_add(&race->holds, 1) % 16 == 0)
        sched_yield();
    struct sw_thread again;
    if (sw_threads_find(race->threads, id, &again) == SW_OK) /* not when its removal waits for us */
        check(race, again.flags == thread.flags);
    check(race, atomic_load(&race->alive[id]) == 1);
    sw_threads_release(race->threads, id);
}

static void *read_on(void *arg)
{
    struct race *race = arg;
    uint64_t ids[IDS];
    struct sw_thread thread;
    while (!atomic_load(&race->over))
        for (uint64_t id = 1; id <= IDS; id++) {
            hold_one(race, id);
            if (sw_threads_find(race->threads, id, &thread) == SW_OK)
                check(race, is_whole(&thread, id));
            if (sw_threads_find_os(race->threads, id + 100, &thread) == SW_OK)
                check(race, is_whole(&thread, id));
            check(race, sw_threads_list(race->threads, ids, IDS) <= IDS);
        }
    return NULL;
}

/* At most two threads are alive at a time, so that slots keep changing hands; in between each is updated a few times.
 */
static void write_round(struct race *race, uint64_t id, uint32_t version)
{
    const struct sw_thread first = made_of(id, version);
    atomic_store(&race->alive[id], 1);
    check(race, sw_threads_add(race->threads, &first) == SW_OK);
    for (uint32_t i = 1; i <= UPDATES; i++) {
        const struct sw_thread next = made_of(id, version + i);
        const enum sw_status updated = sw_threads_update(race->threads, &next);
        check(race, updated == SW_OK || updated == SW_E_BUSY);
    }
    const uint64_t other = id == 1 ? IDS : id - 1;
    if (atomic_load(&race->alive[other]) == 0)
        return;
    check(race, sw_threads_remove(race->threads, other) == SW_OK);
    atomic_store(&race->alive[other], 0);
}

static void readers_see_whole_facts_of_living_threads_while_a_writer_works(void **state)
{
    static struct race race;
    pthread_t readers[READER_THREADS];
    (void)state;
    assert_int_equal(sw_threads_create(NULL, give_way, NULL, &race.threads), SW_OK);
    for (unsigned i = 0; i < READER_THREADS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &race), 0);
    for (uint32_t round = 0; round < ROUNDS || atomic_load(&race.holds) < 500; round++)
        write_round(&race, round % IDS + 1, round);
    atomic_store(&race.over, true);
    for (unsigned i = 0; i < READER_THREADS; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(atomic_load(&race.errors), 0);
    sw_threads_destroy(race.threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_facts_of_living_threads_while_a_writer_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
