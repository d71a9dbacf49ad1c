/*
 * Threads walk the same and different functions through one store that is too small for them: it wraps round under
 * readers and writers all the time, and every caller is the right one. For -fsanitize=thread as well.
 */
#include "rows.h"

#include "analysis_cache_sim.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { SMALL = 65536, THREADS = 4, MANY = 400, FEW = 5, WALKS = 20000 };

struct race {
    struct sw_sim *sim;
    struct sw_analysis_cache *kept;
    atomic_uint ready;
    atomic_ulong errors;
};

struct walker_thread {
    struct race *race;
    unsigned number;
    struct sw_scratch scratch;
};

/* One in four of a few that all share, the others of all; a thread's own order. */
static unsigned pick(uint32_t *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    const unsigned random = *seed >> 8;
    return random % 4 == 0 ? random / 4 % FEW : random / 4 % MANY;
}

static void *walk_on(void *arg)
{
    struct walker_thread *self = arg;
    struct race *race = self->race;
    uint32_t seed = 77 + self->number;
    atomic_fetch_add(&race->ready, 1);
    while (atomic_load(&race->ready) < THREADS)
        sched_yield();
    for (unsigned i = 0; i < WALKS; i++) {
        const unsigned n = pick(&seed);
        const struct kept_seen seen =
            walk_from(sw_sim_walker(race->sim), race->kept, &self->scratch, begin_of(n) + IN_NUMBERED);
        if (!is_right_caller(&seen, n))
            atomic_fetch_add(&race->errors, 1);
        if (i % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void every_answer_is_right_while_the_store_wraps(void **state)
{
    static struct walker_thread threads[THREADS];
    static struct race race;
    pthread_t ids[THREADS];
    (void)state;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &race.sim), SW_OK);
    assert_true(put_surroundings(race.sim));
    for (unsigned n = 0; n < MANY; n++)
        assert_true(put_numbered(race.sim, n));
    assert_int_equal(sw_analysis_cache_create(NULL, SMALL, &race.kept), SW_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i].race = &race;
        threads[i].number = i;
        assert_int_equal(pthread_create(&ids[i], NULL, walk_on, &threads[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    const struct sw_analysis_cache_counts counts = sw_analysis_cache_get_counts(race.kept);
    assert_int_equal(atomic_load(&race.errors), 0);
    assert_true(counts.hits > WALKS / 8);
    assert_true(counts.misses > 4 * MANY); /* it wrapped: more was put into it than there are functions */
    assert_true(counts.outdated <= counts.misses);
    sw_analysis_cache_destroy(race.kept);
    sw_sim_destroy(race.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_right_while_the_store_wraps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
