/*
 * Threads read and write a few lines of one cache, with signal handlers that do both in the middle of that, while
 * ranges come and go: no line is ever believed that was written by two, and none that is older than the removal of its
 * range. For -fsanitize=thread as well.
 */
#include "rows.h"

#include "fast/lane.h"

#include <snapwalk/codemap.h>
#include <snapwalk/sim.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, KEYS = 24, LINES = 16, TURNS = 500000, BASE = 0x40000000, APART = 1 << SW_PIECE_SHIFT };

static struct sw_cache *cache;
static struct sw_codemap *map;
static struct sw_changes changes;
static atomic_ulong torn, outdated, found, handled;
static atomic_bool done;

/* Everything in an entry follows from its pc and one number. Its step is that of a pc in a range. */
static struct sw_entry made_of(uint64_t pc, uint64_t number, uint64_t found_at)
{
    const uint64_t step = SW_STEP_ENTRY | number << SW_STEP_OFFSET_SHIFT | number % 256;
    return (struct sw_entry){ pc,
                              step,
                              number,
                              number * 11,
                              found_at,
                              number,
                              number * 13,
                              number + pc,
                              number * 5,
                              (uint32_t)(number * 7),
                              (uint32_t)(number * 9) };
}

static bool is_whole(const struct sw_cold *c, uint64_t pc, uint64_t found_at)
{
    const struct sw_entry all = made_of(pc, sw_load(&c->slots), found_at);
    return sw_load(&c->step) == all.step && sw_load(&c->function) == all.function && sw_load(&c->begin) == all.begin &&
           sw_load(&c->end) == all.end && sw_load(&c->id) == all.id && sw_load(&c->attributes) == all.attributes &&
           atomic_load_explicit(&c->calls, memory_order_relaxed) == all.calls &&
           atomic_load_explicit(&c->same, memory_order_relaxed) == all.same;
}

static uint64_t pc_of(unsigned key)
{
    return BASE + (uint64_t)key * APART;
}

/* One look-up, and every other time one store. */
static void once(uint32_t *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    const uint64_t pc = pc_of((*seed >> 8) % KEYS), number = *seed >> 12;
    const struct sw_lane lane = { .cache = cache, .cold = cache->cold, .view.hot = cache->hot, .changes = changes };
    const uint64_t changed = atomic_load(&changes.codemap[SW_REMOVED + sw_piece(pc)]);
    const uint64_t generation = sw_cache_generation(cache);
    struct sw_at at = { .pc = pc };
    if (sw_lane_find(&lane, &at, false) == SW_COUNT_HITS) {
        const uint64_t found_at = sw_load(&sw_hot_at(cache->hot, at.entry)->found);
        const bool whole = is_whole(sw_cold_at(cache->cold, at.entry), pc, found_at);
        const bool believed = sw_cache_is_same(cache, generation);
        atomic_fetch_add(&found, believed);
        atomic_fetch_add(&torn, believed && !whole);
        atomic_fetch_add(&outdated, believed && (found_at & SW_FOUND_CODEMAP) < changed);
    }
    if (*seed >> 16 & 1) {
        const struct sw_entry next = made_of(pc, number, sw_codemap_generation(map));
        sw_cache_store(cache, &changes, pc, &next);
    }
}

static void in_handler(int signal)
{
    static _Thread_local uint32_t seed = 4711;
    (void)signal;
    for (unsigned i = 0; i < 8; i++)
        once(&seed);
    atomic_fetch_add(&handled, 1);
}

static void *go_on(void *arg)
{
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    for (unsigned i = 0; i < TURNS; i++)
        once(&seed);
    return NULL;
}

static void *come_and_go(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load(&done); i++) {
        const uint64_t pc = pc_of(i % KEYS);
        const struct sw_range range = { .begin = pc, .end = pc + 64, .id = 1, .kind = SW_KIND_JIT };
        if (sw_codemap_add(map, &range) || sw_codemap_remove(map, pc))
            atomic_fetch_add(&torn, 1);
    }
    return NULL;
}

static void no_entry_is_believed_that_is_torn_or_outdated(void **state)
{
    static const _Atomic uint64_t no_images[SW_IMAGE_PIECES + 1];
    pthread_t threads[THREADS], writer;
    const struct sigaction action = { .sa_handler = in_handler };
    (void)state;
    assert_int_equal(sw_cache_create(NULL, LINES, &cache), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &map), SW_OK);
    changes = (struct sw_changes){ sw_codemap_changes(map), no_images };
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, go_on, (void *)(i + 1)), 0);
    assert_int_equal(pthread_create(&writer, NULL, come_and_go, NULL), 0);
    for (unsigned i = 0; i < 4000; i++) {
        pthread_kill(threads[i % THREADS], SIGUSR1);
        sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&done, true);
    pthread_join(writer, NULL);
    const struct sw_cache_counts counts = sw_cache_get_counts(cache);
    print_message("# %lu found, %llu kept, %llu in vain, %lu handlers\n", atomic_load(&found),
                  (unsigned long long)counts.stored, (unsigned long long)counts.uncacheable, atomic_load(&handled));
    assert_int_equal(torn, 0);
    assert_int_equal(outdated, 0);
    assert_true(found > 1000);
    assert_true(counts.stored > 1000);
    assert_true(handled > 0);
    sw_codemap_destroy(map);
    sw_cache_destroy(cache);
}

/* ---- whole walks ---- */

enum { WALKS = 20000, CODE = 0x10000, CODE_APART = 0x10000, STACK = 0x700000, FRAMES = 6, LOW = 4096 };

static struct sw_sim *sim;
static struct sw_replay *replay; /* of one at a time */
static uint64_t stack_words[LOW / 8 + 2 * FRAMES];

/* call rax; ret: a function for each frame, of which the stack has the return address alone, into the next. */
static void put_frames(void)
{
    static const uint8_t code[] = { 0xff, 0xd0, 0xc3 };
    uint64_t *words = stack_words + LOW / 8;
    for (unsigned i = 0; i < FRAMES; i++) {
        const uint64_t begin = CODE + (uint64_t)i * CODE_APART;
        const struct sw_range range = {
            .begin = begin, .end = begin + sizeof code, .id = begin + 1, .kind = SW_KIND_JIT, .unwind = SW_UNWIND_LEAF
        };
        assert_int_equal(sw_sim_bytes(sim, begin, code, sizeof code), SW_OK);
        assert_int_equal(sw_codemap_add(sw_sim_codemap(sim), &range), SW_OK);
        words[i] = i + 1 < FRAMES ? begin + CODE_APART + 2 : 0;
    }
    assert_int_equal(sw_sim_words(sim, STACK, words, FRAMES), SW_OK);
}

static bool is_frame(const struct sw_frame *frame, unsigned i)
{
    const uint64_t begin = CODE + (uint64_t)i * CODE_APART;
    return sw_regs_pc(&frame->regs) == begin + 2 && sw_regs_sp(&frame->regs) == STACK + 8 * i &&
           frame->code.begin == begin && frame->code.id == begin + 1 && sw_regs_has(&frame->regs, SW_X64_RBX) &&
           frame->lookup == begin + 1;
}

static bool walks_frames(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *regs)
{
    struct sw_walk walk;
    unsigned frame = 0;
    sw_walk_start(&walk, walker, scratch, regs, false);
    while (sw_walk_next(&walk) && is_frame(&walk.frame, frame))
        frame++;
    return frame == FRAMES && walk.stop == SW_STOP_ROOT_ZERO;
}

static bool walks_addresses(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *regs)
{
    uint64_t pcs[FRAMES + 1];
    enum sw_stop stop;
    const size_t count = sw_walk_addresses(walker, scratch, regs, false, pcs, FRAMES + 1, &stop);
    for (size_t i = 0; i < count; i++)
        if (pcs[i] != CODE + (uint64_t)i * CODE_APART + 2)
            return false;
    return count == FRAMES && stop == SW_STOP_ROOT_ZERO;
}

/* Other code comes and goes: all that is found in brief is thrown away again and again. */
static void *change_elsewhere(void *arg)
{
    const struct sw_range range = { .begin = BASE, .end = BASE + 64, .id = 1, .kind = SW_KIND_JIT };
    (void)arg;
    while (!atomic_load(&done)) {
        if (sw_codemap_add(sw_sim_codemap(sim), &range) || sw_codemap_remove(sw_sim_codemap(sim), BASE))
            atomic_fetch_add(&torn, 1);
        usleep(20);
    }
    return NULL;
}

static void *walk_on(void *arg)
{
    struct sw_scratch *scratch = calloc(1, sizeof *scratch);
    struct sw_walker walker = *sw_sim_walker(sim);
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    (void)arg;
    walker.cache = cache;
    walker.memory.window = (struct sw_window){ STACK - LOW, STACK + 8 * FRAMES, (const uint8_t *)stack_words };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, STACK);
    sw_regs_set(&regs, SW_X64_RIP, CODE + 2);
    for (unsigned i = 0; i < WALKS && scratch; i++) {
        walker.replay = i % 3 == 0 ? replay : NULL;
        if (!(i % 2 ? walks_frames : walks_addresses)(&walker, scratch, &regs))
            atomic_fetch_add(&torn, 1);
    }
    free(scratch);
    return NULL;
}

/* Fewer lines than frames: they are pushed out under those who walk by them. */
static void walks_are_right_while_lines_are_overwritten(void **state)
{
    pthread_t threads[THREADS], changer;
    (void)state;
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &sim), SW_OK);
    put_frames();
    for (size_t entries = 1; entries <= 16; entries *= 2) {
        torn = 0;
        assert_int_equal(sw_cache_create(NULL, entries, &cache), SW_OK);
        assert_int_equal(sw_replay_create(NULL, 2 * FRAMES, &replay), SW_OK);
        atomic_store(&done, entries < 4);
        assert_int_equal(pthread_create(&changer, NULL, change_elsewhere, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, walk_on, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        atomic_store(&done, true);
        pthread_join(changer, NULL);
        print_message("# %zu lines: %llu hits, %llu evicted, %llu replayed\n", entries,
                      (unsigned long long)sw_cache_get_counts(cache).hits,
                      (unsigned long long)sw_cache_get_counts(cache).evicted,
                      (unsigned long long)sw_replay_get_counts(replay).replayed);
        assert_in_range(sw_cache_get_counts(cache).hits, 0, THREADS * (uint64_t)WALKS * FRAMES);
        sw_cache_destroy(cache);
        sw_replay_destroy(replay);
        assert_int_equal(torn, 0);
    }
    sw_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_entry_is_believed_that_is_torn_or_outdated),
                                        cmocka_unit_test(walks_are_right_while_lines_are_overwritten) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
