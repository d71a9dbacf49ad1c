/*
 * The replay memory: that what is compared is as good as what is walked. Each word of a stack is changed, one at a
 * time, those that the frames depend on and all others; stacks grow, shrink and change; code comes and goes. What a
 * walk with the memory sees is always compared with a walk from scratch, without cache and window (warm_twice.h).
 *
 * Stacks are made up, of functions that are nothing but calls and their call frame information.
 */
#include "../support/random.h"
#include "rows.h"

#ifdef __x86_64__
#include "cached_twice.h"

#include "budget.h"
#include "fast/trace.h"

#include <snapwalk/image.h>
#include <snapwalk/self.h>

/* FRAMED: a frame pointer; PLAIN: rbx is saved; SAVING: rbp is, and is no frame pointer; ODD: the CFA counts from rbx,
 * which no short way follows. ROOT: there is no caller. */
enum kind { FRAMED, PLAIN, SAVING, ODD, ROOT, KINDS };
enum { SLOT = 64, FRAME_WORDS = 4, FRAME = 8 * FRAME_WORDS, MOST = 40, SLACK = 128, SAVED = 2, RETURN = 3, CALL = 2 };

#define FUNCTION(cfi) ".p2align 6\n.cfi_startproc\n" cfi "\n.rept 32\ncall *%rax\n.endr\n.cfi_endproc\n"
__asm__(".text\n.p2align 6\nreplay_code:\n" FUNCTION(".cfi_def_cfa %rbp, 16\n.cfi_offset %rbp, -16")
            FUNCTION(".cfi_def_cfa %rsp, 32\n.cfi_offset %rbx, -16")
                FUNCTION(".cfi_def_cfa %rsp, 32\n.cfi_offset %rbp, -16")
                    FUNCTION(".cfi_def_cfa %rbx, 16\n.cfi_offset %rbx, -16") FUNCTION(".cfi_undefined %rip"));
extern const uint8_t replay_code[];

/* A stack as it should be: what frame i has in pc, rbp and rbx. */
struct model {
    unsigned depth;
    enum kind kind[MOST + 1];
    uint64_t pc[MOST + 1], rbp[MOST + 1], rbx[MOST + 1];
};

static uint64_t words[SLACK + MOST * FRAME_WORDS + SLACK];
static struct sw_images *images;
static struct sw_codemap *codemap;
static struct sw_cache *cache;
static struct sw_replay *of_addresses, *of_frames;
static struct sw_walker bare, quick;
static struct twice truth;

static uint64_t seed = 88172645463325252u;

static uint64_t begin_of(enum kind kind)
{
    return (uint64_t)(uintptr_t)replay_code + SLOT * (uint64_t)kind;
}

static uint64_t *frame_words(unsigned frame)
{
    return words + SLACK + frame * FRAME_WORDS;
}

static uint64_t sp_of(unsigned frame)
{
    return (uint64_t)(uintptr_t)frame_words(frame);
}

/* ---- stacks ---- */

static enum kind random_kind(void)
{
    static const enum kind often[] = { FRAMED, FRAMED, FRAMED, PLAIN, PLAIN, SAVING, SAVING, ODD };
    return often[next_random(&seed) % COUNT_OF(often)];
}

/*
 * Behind one of the first calls, or behind the last one of the function: as a return address that is a place in it, as
 * the pc of a frame that was interrupted one in the function behind it.
 */
static uint64_t random_pc(enum kind kind)
{
    const uint64_t call = next_random(&seed) % 8;
    return begin_of(kind) + (call ? CALL * call : SLOT);
}

/* Frames from `first` on keep their kinds and pcs. */
static void choose(struct model *model, unsigned depth, unsigned first)
{
    model->depth = depth;
    for (unsigned i = 0; i < first && i < depth; i++) {
        model->kind[i] = random_kind();
        model->pc[i] = random_pc(model->kind[i]);
    }
}

/* From the root to the leaf: what each frame must have for the next one to be found by its kind, and the words. */
static void build(struct model *model)
{
    uint64_t rbp = next_random(&seed), rbx = next_random(&seed);
    for (unsigned i = model->depth; i-- > 0;) {
        uint64_t *at = frame_words(i);
        const uint64_t top = sp_of(i) + FRAME - 16;
        at[0] = next_random(&seed);
        at[1] = next_random(&seed);
        at[SAVED] = model->kind[i] == FRAMED || model->kind[i] == SAVING ? rbp : rbx;
        at[RETURN] = i + 1 < model->depth ? model->pc[i + 1] : 0;
        if (model->kind[i] == FRAMED || model->kind[i] == SAVING)
            rbp = model->kind[i] == FRAMED ? top : next_random(&seed);
        if (model->kind[i] == PLAIN || model->kind[i] == ODD)
            rbx = model->kind[i] == ODD ? top : next_random(&seed);
        model->rbp[i] = rbp;
        model->rbx[i] = rbx;
    }
}

static struct sw_regs registers_at(const struct model *model, unsigned frame)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    const uint64_t others = next_random(&seed) % 2 ? UINT64_MAX : 0;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (others >> n & 1)
            sw_regs_set(&regs, n, 0xbad00000 + n * 0x1001);
    sw_regs_set(&regs, SW_X64_RIP, model->pc[frame]);
    sw_regs_set(&regs, SW_X64_RSP, sp_of(frame));
    sw_regs_set(&regs, SW_X64_RBP, model->rbp[frame]);
    sw_regs_set(&regs, SW_X64_RBX, model->rbx[frame]);
    return regs;
}

/* ---- comparing ---- */

/* With all that is there for speed, each of the two ways with its own memory, and with the other's. */
static void same_from(const struct sw_regs *regs, bool exact)
{
    static struct sw_scratch scratch;
    static uint64_t pcs[MOST + 2];
    enum sw_stop stop;
    twice_walk(&bare, regs, exact, &truth);
    for (unsigned turn = 0; turn < 2; turn++) {
        quick.replay = turn ? of_frames : of_addresses;
        const size_t count = sw_walk_addresses(&quick, &scratch, regs, exact, pcs, COUNT_OF(pcs), &stop);
        assert_int_equal(count, truth.count);
        assert_int_equal(stop, truth.stop);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(pcs[i], sw_regs_pc(&truth.frames[i].regs));
        quick.replay = turn ? of_addresses : of_frames;
        twice_batches(&quick, regs, exact, &truth, 1 + (unsigned)(next_random(&seed) % 5));
    }
}

static void same(const struct model *model)
{
    const struct sw_regs regs = registers_at(model, 0);
    same_from(&regs, false);
}

static void forget_all(void)
{
    sw_replay_destroy(of_addresses);
    sw_replay_destroy(of_frames);
    assert_int_equal(sw_replay_create(NULL, 2 * MOST, &of_addresses), SW_OK);
    assert_int_equal(sw_replay_create(NULL, 2 * MOST, &of_frames), SW_OK);
}

static int set_up(void **state)
{
    (void)state;
    if (sw_images_create(NULL, &images) || sw_images_add_self(images) || sw_codemap_create(NULL, &codemap) ||
        sw_cache_create(NULL, 1024, &cache))
        return -1;
    bare = (struct sw_walker){
        .machine = SW_MACHINE_X64, .memory = sw_self_memory(), .codemap = codemap, .images = images
    };
    /* No guesses: where the tables lead nowhere, that is the end, and is soon found. */
    bare.flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    quick = bare;
    quick.cache = cache;
    quick.memory.window = (struct sw_window){ (uint64_t)(uintptr_t)words,
                                              (uint64_t)(uintptr_t)(words + COUNT_OF(words)), (const uint8_t *)words };
    of_addresses = of_frames = NULL;
    forget_all();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sw_replay_destroy(of_addresses);
    sw_replay_destroy(of_frames);
    sw_cache_destroy(cache);
    sw_codemap_destroy(codemap);
    sw_images_destroy(images);
    return 0;
}

/* How many frames a walk by addresses, all of whose lines are in the cache, has replayed. */
static uint64_t replayed_from(const struct sw_regs *regs)
{
    static struct sw_scratch scratch;
    uint64_t pcs[MOST + 2];
    enum sw_stop stop;
    const uint64_t before = sw_replay_get_counts(of_addresses).replayed;
    for (unsigned turn = 0; turn < 2; turn++) {
        quick.replay = turn ? of_addresses : NULL;
        assert_in_range(sw_walk_addresses(&quick, &scratch, regs, false, pcs, COUNT_OF(pcs), &stop), 1, MOST);
    }
    return sw_replay_get_counts(of_addresses).replayed - before;
}

/* As many walks as it may take until all of a stack is remembered. */
static void remember(const struct sw_regs *regs)
{
    for (unsigned turn = 0; turn <= SW_TRACE_EVERY; turn++)
        (void)replayed_from(regs);
}

/* The next walk is not one that is staged. */
static void be_staged_before(const struct sw_regs *regs)
{
    while (of_addresses->since + 1 >= SW_TRACE_EVERY || of_addresses->is_strange)
        (void)replayed_from(regs);
}

/* ---- every word ---- */

/* What a word becomes: numbers, something near what it was, and what it might be taken for. */
static uint64_t changed(uint64_t word, unsigned how, const struct model *model)
{
    const unsigned frame = (unsigned)(next_random(&seed) % model->depth);
    const uint64_t values[] = { 0,
                                UINT64_MAX,
                                word + 8,
                                word - 8,
                                word ^ 1,
                                model->pc[frame],
                                sp_of(frame),
                                sp_of(frame) + FRAME - 16,
                                next_random(&seed) };
    return values[how];
}
enum { CHANGES = 9 };

/* Of frames behind each other without an ODD one: all words that a frame was found by. */
static bool is_depended_on(const struct model *model, unsigned frame, unsigned word)
{
    return word == RETURN || (word == SAVED && (model->kind[frame] == FRAMED || model->kind[frame] == SAVING));
}

static void any_one_word_that_changes_is_seen(void **state)
{
    struct model model = { 0 };
    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        choose(&model, 24, 24);
        build(&model);
        same(&model);
        for (unsigned i = 0; i < model.depth * FRAME_WORDS; i++)
            for (unsigned how = 0; how < CHANGES; how++) {
                uint64_t *word = frame_words(0) + i;
                const uint64_t was = *word;
                *word = changed(was, how, &model);
                same(&model);
                *word = was;
                same(&model);
            }
    }
}

/* And of the walks compared, those over an unchanged stack are replayed to the end, others up to the change. */
static void what_a_frame_depends_on_is_compared_and_nothing_else(void **state)
{
    struct model model = { 0 };
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        choose(&model, 24, 24);
        for (unsigned i = 0; i < model.depth; i++)
            if (model.kind[i] == ODD) {
                model.kind[i] = PLAIN;
                model.pc[i] = begin_of(PLAIN) + CALL;
            }
        build(&model);
        const struct sw_regs regs = registers_at(&model, 0);
        same(&model);
        remember(&regs); /* a walk with all registers finds the first frames in another way */
        assert_int_equal(replayed_from(&regs), model.depth - 1);
        for (unsigned i = 0; i < (model.depth - 1) * FRAME_WORDS; i++) {
            uint64_t *word = frame_words(0) + i;
            be_staged_before(&regs);
            *word ^= 0x100000;
            const uint64_t replayed = replayed_from(&regs);
            *word ^= 0x100000;
            const bool matters = is_depended_on(&model, i / FRAME_WORDS, i % FRAME_WORDS);
            /* Behind a change that plays no part for long, the stacks are met again. */
            assert_in_range(replayed, matters ? i / FRAME_WORDS : model.depth - 1, model.depth - 1 - matters);
            if (matters)
                remember(&regs); /* walked anew from there, to be remembered as it was */
        }
        same(&model);
    }
}

/* ---- histories ---- */

static void stacks_that_change_in_any_way_are_walked_right(void **state)
{
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    for (unsigned round = 0; round < 4000; round++) {
        if (round % 500 == 0)
            forget_all();
        if (next_random(&seed) % 8 == 0)
            choose(&model, 1 + (unsigned)(next_random(&seed) % MOST), MOST);
        choose(&model, model.depth, (unsigned)(next_random(&seed) % (model.depth + 1)));
        const bool has_root = next_random(&seed) % 2;
        const unsigned last = model.depth - 1;
        if (has_root) {
            model.kind[last] = ROOT;
            model.pc[last] = begin_of(ROOT) + CALL;
        } else if (model.kind[last] == ROOT) {
            model.kind[last] = PLAIN;
            model.pc[last] = begin_of(PLAIN) + CALL;
        }
        build(&model);
        const unsigned from = (unsigned)(next_random(&seed) % model.depth);
        const struct sw_regs regs = registers_at(&model, from);
        same_from(&regs, next_random(&seed) % 2);
        quick.max_frames = bare.max_frames = (uint32_t)(next_random(&seed) % 4 ? 0 : 1 + next_random(&seed) % MOST);
    }
}

static void a_leaf_part_that_changes_leaves_the_rest_to_be_replayed(void **state)
{
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    for (unsigned i = 0; i < MOST; i++) {
        model.kind[i] = FRAMED;
        model.pc[i] = begin_of(FRAMED) + CALL;
    }
    build(&model);
    struct sw_regs regs = registers_at(&model, 0);
    remember(&regs);
    for (unsigned changes = 1; changes < 10; changes++) {
        for (unsigned i = 0; i < changes; i++)
            model.pc[i] += CALL;
        build(&model);
        regs = registers_at(&model, 0);
        /* What is remembered is looked for again behind twice as many frames each time. */
        assert_in_range(replayed_from(&regs), MOST - 1 - (2 * changes + 2), MOST - 1 - changes);
        remember(&regs);
        assert_int_equal(replayed_from(&regs), MOST - 1);
    }
    same(&model);
}

static void two_stacks_in_turn_are_walked_right(void **state)
{
    static struct model one, other;
    (void)state;
    choose(&one, MOST, MOST);
    for (unsigned round = 0; round < 50; round++) {
        other = one;
        choose(&other, MOST, (unsigned)(next_random(&seed) % MOST));
        build(&one);
        same(&one);
        build(&other);
        same(&other);
    }
}

/* What the walk may load directly begins and ends anywhere. */
static void a_window_that_moves_bounds_what_is_compared(void **state)
{
    const struct sw_window whole = quick.memory.window;
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    build(&model);
    same(&model);
    for (unsigned round = 0; round < 600; round++) {
        const uint64_t size = whole.end - whole.begin, from = next_random(&seed) % (size / 8) * 8,
                       to = from + next_random(&seed) % ((size - from) / 8 + 1) * 8;
        quick.memory.window = (struct sw_window){ whole.begin + from, whole.begin + to, whole.bytes + from };
        same(&model);
        if (round % 2) {
            quick.memory.window = whole;
            same(&model);
        }
    }
}

/* ---- what is kept holds only as long as the code is what it was ---- */

static void code_that_is_renamed_is_seen(void **state)
{
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    build(&model);
    same(&model);
    for (unsigned round = 0; round < 60; round++) {
        const enum kind kind = (enum kind)(next_random(&seed) % KINDS);
        const struct sw_range range = {
            .begin = begin_of(kind), .end = begin_of(kind) + SLOT, .id = 1000 + round, .kind = SW_KIND_NGEN
        };
        assert_int_equal(sw_codemap_add(codemap, &range), SW_OK);
        same(&model);
        same(&model);
        assert_int_equal(sw_codemap_remove(codemap, range.begin), SW_OK);
        same(&model);
        same(&model);
    }
    assert_true(sw_replay_get_counts(of_frames).resets > 0);
}

static void changes_elsewhere_forget_nothing(void **state)
{
    struct model model = { 0 };
    const struct sw_range far = { .begin = 0x5000000, .end = 0x5001000, .id = 1, .kind = SW_KIND_JIT };
    (void)state;
    choose(&model, MOST, 0);
    for (unsigned i = 0; i < MOST; i++) {
        model.kind[i] = PLAIN;
        model.pc[i] = begin_of(PLAIN) + CALL;
    }
    build(&model);
    same(&model);
    const struct sw_regs regs = registers_at(&model, 0);
    remember(&regs);
    /* Of another piece of the address space: they are few, so that two places may share one. */
    if (sw_piece(far.begin) != sw_piece(begin_of(PLAIN))) {
        assert_int_equal(sw_codemap_add(codemap, &far), SW_OK);
        assert_int_equal(replayed_from(&regs), MOST - 1);
        assert_int_equal(sw_codemap_remove(codemap, far.begin), SW_OK);
        assert_int_equal(replayed_from(&regs), MOST - 1);
    }
    assert_int_equal(sw_images_add_self(images), SW_OK); /* nothing new */
    same(&model);
}

static void another_cache_or_other_sources_are_another_target(void **state)
{
    struct model model = { 0 };
    struct sw_cache *second;
    (void)state;
    choose(&model, MOST, MOST);
    build(&model);
    for (unsigned turn = 0; turn < 3; turn++)
        same(&model);
    assert_int_equal(sw_cache_create(NULL, 1024, &second), SW_OK);
    quick.cache = second;
    for (unsigned turn = 0; turn < 3; turn++)
        same(&model);
    assert_int_equal(sw_replay_get_counts(of_frames).resets, 1);
    bare.flags = quick.flags = SW_WALK_NO_TABLES | SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    same(&model); /* a cache's fast lane, and so the replay, is for walkers with the flags of its first one */
    assert_int_equal(sw_replay_get_counts(of_frames).resets, 1);
    sw_cache_destroy(second);
    assert_int_equal(sw_cache_create(NULL, 1024, &second), SW_OK);
    quick.cache = second;
    same(&model);
    assert_int_equal(sw_replay_get_counts(of_frames).resets, 2);
    quick.cache = cache;
    sw_cache_destroy(second);
}

/* ---- the memory itself ---- */

static void a_memory_in_use_is_left_alone(void **state)
{
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    build(&model);
    same(&model);
    const uint64_t walks = sw_replay_get_counts(of_frames).walks;
    atomic_store(&of_frames->is_busy, 1);
    atomic_store(&of_addresses->is_busy, 1);
    same(&model);
    assert_int_equal(sw_replay_get_counts(of_frames).walks, walks);
    atomic_store(&of_frames->is_busy, 0);
    atomic_store(&of_addresses->is_busy, 0);
    same(&model);
    assert_int_equal(sw_replay_get_counts(of_frames).walks, walks + 2);
}

static void memories_of_any_size_give_the_same(void **state)
{
    struct model model = { 0 };
    (void)state;
    choose(&model, MOST, MOST);
    for (size_t frames = 1; frames < MOST + 3; frames++) {
        sw_replay_destroy(of_addresses);
        sw_replay_destroy(of_frames);
        assert_int_equal(sw_replay_create(NULL, frames, &of_addresses), SW_OK);
        assert_int_equal(sw_replay_create(NULL, frames, &of_frames), SW_OK);
        for (unsigned turn = 0; turn < 8; turn++) {
            choose(&model, MOST, (unsigned)(next_random(&seed) % 8));
            build(&model);
            same(&model);
        }
    }
}

static void wrong_sizes_and_failing_allocations_are_refused(void **state)
{
    struct budget budget = { .left = 0 };
    const struct sw_alloc alloc = { budget_get, budget_put, &budget };
    struct sw_replay *made = NULL;
    (void)state;
    assert_int_equal(sw_replay_create(NULL, 0, &made), SW_E_ARGUMENT);
    assert_int_equal(sw_replay_create(NULL, SW_REPLAY_MAX_FRAMES + 1, &made), SW_E_ARGUMENT);
    assert_int_equal(sw_replay_create(NULL, 1, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_replay_create(&alloc, 1, &made), SW_E_NO_MEMORY);
    assert_null(made);
    budget.left = 1;
    assert_int_equal(sw_replay_create(&alloc, 100, &made), SW_OK);
    assert_in_range(budget.bytes, 100 * 192, 100 * 192 + 512);
    sw_replay_destroy(made);
    assert_int_equal(budget.bytes, 0);
    sw_replay_destroy(NULL);
    assert_int_equal(sw_replay_get_counts(NULL).walks, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_one_word_that_changes_is_seen),
        TEST(what_a_frame_depends_on_is_compared_and_nothing_else),
        TEST(stacks_that_change_in_any_way_are_walked_right),
        TEST(a_leaf_part_that_changes_leaves_the_rest_to_be_replayed),
        TEST(two_stacks_in_turn_are_walked_right),
        TEST(a_window_that_moves_bounds_what_is_compared),
        TEST(code_that_is_renamed_is_seen),
        TEST(changes_elsewhere_forget_nothing),
        TEST(another_cache_or_other_sources_are_another_target),
        TEST(a_memory_in_use_is_left_alone),
        TEST(memories_of_any_size_give_the_same),
        TEST(wrong_sizes_and_failing_allocations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void needs_x64(void **state)
{
    (void)state;
    print_message("# needs an x64 host, for functions of it\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(needs_x64) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
