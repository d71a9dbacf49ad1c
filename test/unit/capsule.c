/*
 * Capsules: what is read back from one is what went in, of both machines; limits; what a capsule says of code that has
 * no file; bytes that somebody changed.
 */
#include <snapwalk/capsule.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cores.h"
#include "../support/random.h"

enum { BUILD_ID = 7, FRAMES = 8, ROOM = 1 << 20 };

static struct made made;
static struct sw_scratch scratch;

struct bytes {
    uint8_t bytes[ROOM];
    size_t size;
    size_t most; /* what is more is refused; 0: all goes */
};

static bool collect(void *arg, const void *from, size_t size)
{
    struct bytes *to = arg;
    if (size > sizeof to->bytes - to->size || (to->most && to->size + size > to->most))
        return false;
    memcpy(to->bytes + to->size, from, size);
    to->size += size;
    return true;
}

/* The caller's files: the program. */
static uint64_t program[PROGRAM_BYTES / 8];

static bool take(void *arg, const char *path, const void **bytes, size_t *size)
{
    (void)arg;
    *bytes = program;
    *size = sizeof program;
    return strcmp(path, "/bin/made") == 0;
}

/* A core that is looked at: its images and a code map with a range around g. */
struct seen {
    struct sw_core *core;
    struct sw_images *images;
    struct sw_codemap *codemap;
};

static void look(struct seen *seen, const void *bytes, size_t size)
{
    const struct sw_core_files files = { .open = take };
    assert_int_equal(sw_core_open_bytes(NULL, bytes, size, &seen->core), SW_OK);
    assert_int_equal(sw_images_create(NULL, &seen->images), SW_OK);
    assert_int_equal(sw_codemap_create(NULL, &seen->codemap), SW_OK);
    assert_int_equal(sw_core_add_images(seen->core, &files, seen->images), SW_OK);
}

static void end(struct seen *seen)
{
    sw_images_destroy(seen->images);
    sw_codemap_destroy(seen->codemap);
    sw_core_close(seen->core);
}

static void make(struct seen *seen, enum sw_machine machine)
{
    made = (struct made){ .machine = machine, .build_id = BUILD_ID };
    made_program((uint8_t *)program, machine, BUILD_ID);
    made_core(&made);
    look(seen, made.bytes, made.size);
}

static void walker_of(const struct seen *seen, uint64_t tid, struct sw_regs *regs, struct sw_walker *walker)
{
    assert_int_equal(sw_core_regs(seen->core, tid, regs), SW_OK);
    assert_int_equal(sw_core_walker(seen->core, tid, regs, seen->codemap, seen->images, walker), SW_OK);
    walker->budget = SW_WALK_BUDGET_DEFAULT; /* what is hostile would take long */
}

/* pcs of a thread's stack. */
struct stack {
    uint64_t pc[FRAMES], sp[FRAMES];
    size_t count;
    enum sw_stop stop;
};

static bool note(void *arg, const struct sw_frame *frame)
{
    struct stack *stack = arg;
    if (stack->count == FRAMES)
        return false;
    stack->pc[stack->count] = sw_regs_pc(&frame->regs);
    stack->sp[stack->count++] = sw_regs_sp(&frame->regs);
    return true;
}

static struct stack stack_of(const struct seen *seen, uint64_t tid)
{
    struct stack stack = { .count = 0 };
    struct sw_regs regs;
    struct sw_walker walker;
    walker_of(seen, tid, &regs, &walker);
    stack.stop = sw_walk_all(&walker, &scratch, &regs, note, &stack);
    return stack;
}

static enum sw_status add(struct sw_capsule *capsule, const struct seen *seen, uint64_t tid)
{
    struct sw_core_thread thread;
    struct sw_regs regs;
    struct sw_walker walker;
    assert_int_equal(sw_core_find_thread(seen->core, tid, &thread), SW_OK);
    walker_of(seen, tid, &regs, &walker);
    return sw_capsule_add_thread(capsule, &thread, &regs, &walker, &scratch);
}

static struct sw_capsule *capsule_of(const struct seen *seen, size_t most)
{
    struct sw_capsule *capsule = NULL;
    assert_int_equal(sw_capsule_create(NULL, made.machine, most, &capsule), SW_OK);
    assert_int_equal(sw_capsule_add_core(capsule, seen->core), SW_OK);
    return capsule;
}

/* Both threads, the crashed one first. */
static void save(const struct seen *seen, struct bytes *to)
{
    struct sw_capsule *capsule = capsule_of(seen, 0);
    assert_int_equal(add(capsule, seen, MADE_CRASHED), SW_OK);
    assert_int_equal(add(capsule, seen, MADE_PID), SW_OK);
    to->size = 0;
    assert_int_equal(sw_capsule_write(capsule, &(struct sw_capsule_sink){ collect, to }), SW_OK);
    sw_capsule_destroy(capsule);
}

/* ---- what is read back ---- */

static void is_read_back(enum sw_machine machine)
{
    static struct bytes file;
    static const uint64_t tids[] = { MADE_CRASHED, MADE_PID };
    struct seen before, after;
    struct sw_core_info a, b;
    make(&before, machine);
    save(&before, &file);
    look(&after, file.bytes, file.size);
    assert_true(file.size < made.size);
    assert_int_equal(sw_core_describe(before.core, &a), SW_OK);
    assert_int_equal(sw_core_describe(after.core, &b), SW_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(sw_core_threads(after.core, NULL, 0), 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct stack was = stack_of(&before, tids[i]), is = stack_of(&after, tids[i]);
        struct sw_core_thread x, y;
        struct sw_regs r, s;
        assert_true(was.count >= 1 && was.stop == is.stop);
        assert_memory_equal(&was, &is, sizeof was);
        assert_int_equal(sw_core_find_thread(before.core, tids[i], &x), SW_OK);
        assert_int_equal(sw_core_find_thread(after.core, tids[i], &y), SW_OK);
        assert_true(x.tid == y.tid && x.signal == y.signal && x.code == y.code && x.fault == y.fault);
        assert_true(x.has_fault == y.has_fault && x.pac_mask == y.pac_mask);
        assert_int_equal(sw_core_regs(before.core, tids[i], &r), SW_OK);
        assert_int_equal(sw_core_regs(after.core, tids[i], &s), SW_OK);
        assert_memory_equal(&r, &s, sizeof r);
    }
    end(&after);
    end(&before);
}
static void an_x64_capsule_is_read_back(void **state)
{
    (void)state;
    is_read_back(SW_MACHINE_X64);
}
static void an_arm64_capsule_is_read_back(void **state)
{
    (void)state;
    is_read_back(SW_MACHINE_ARM64);
}

static void a_capsule_of_a_capsule_is_the_same(void **state)
{
    static struct bytes first, second;
    struct seen core, capsule;
    (void)state;
    make(&core, SW_MACHINE_X64);
    save(&core, &first);
    look(&capsule, first.bytes, first.size);
    save(&capsule, &second);
    end(&capsule);
    look(&capsule, second.bytes, second.size);
    const struct stack was = stack_of(&core, MADE_CRASHED), is = stack_of(&capsule, MADE_CRASHED);
    assert_memory_equal(&was, &is, sizeof was);
    end(&capsule);
    end(&core);
}

/* The program's file is the one that was mapped, and not another build of it. */
static void files_are_known_by_build_id(void **state)
{
    static struct bytes file;
    struct seen before, after;
    struct sw_core_file about;
    (void)state;
    make(&before, SW_MACHINE_X64);
    save(&before, &file);
    look(&after, file.bytes, file.size);
    assert_true(sw_core_get_file(after.core, 0, &about));
    assert_int_equal(about.state, SW_CORE_FILE_CHECKED);
    end(&after);
    made_program((uint8_t *)program, made.machine, BUILD_ID + 1);
    look(&after, file.bytes, file.size);
    assert_true(sw_core_get_file(after.core, 0, &about));
    assert_int_equal(about.state, SW_CORE_FILE_OTHER);
    end(&after);
    made_program((uint8_t *)program, made.machine, BUILD_ID);
    memset((uint8_t *)program + 0x408, 0, 4); /* the note is of another type: only headers are compared */
    look(&after, file.bytes, file.size);
    assert_true(sw_core_get_file(after.core, 0, &about));
    assert_int_equal(about.state, SW_CORE_FILE_UNCHECKED);
    end(&after);
    end(&before);
}

/* ---- code without a file ---- */

static void ranges_of_frames_are_kept_with_names(void **state)
{
    static struct bytes file;
    struct seen before, after;
    struct sw_range range = {
        .begin = PROGRAM_AT + G_AT, .end = PROGRAM_AT + G_AT + 32, .id = 77, .kind = SW_KIND_JIT
    };
    const struct sw_range other = { .begin = 0x500000, .end = 0x500100, .id = 78, .kind = SW_KIND_JIT };
    struct sw_range got;
    const char *name;
    (void)state;
    make(&before, SW_MACHINE_X64);
    assert_int_equal(sw_codemap_add(before.codemap, &range), SW_OK);
    assert_int_equal(sw_codemap_add(before.codemap, &other), SW_OK);
    struct sw_capsule *capsule = capsule_of(&before, 0);
    assert_int_equal(sw_capsule_set_name(capsule, range.begin, "early"), SW_E_NOT_FOUND);
    assert_int_equal(add(capsule, &before, MADE_CRASHED), SW_OK);
    assert_int_equal(sw_capsule_set_name(capsule, range.begin + 5, "a first name"), SW_OK);
    assert_int_equal(sw_capsule_set_name(capsule, range.begin + 5, "a name"), SW_OK);
    assert_int_equal(sw_capsule_set_name(capsule, other.begin, "of no frame"), SW_E_NOT_FOUND);
    file.size = 0;
    assert_int_equal(sw_capsule_write(capsule, &(struct sw_capsule_sink){ collect, &file }), SW_OK);
    sw_capsule_destroy(capsule);
    look(&after, file.bytes, file.size);
    assert_true(sw_core_get_range(after.core, 0, &got, &name));
    assert_true(got.begin == range.begin && got.end == range.end && got.id == range.id && got.kind == range.kind);
    assert_string_equal(name, "a name");
    assert_false(sw_core_get_range(after.core, 1, &got, NULL));
    assert_false(sw_core_get_range(before.core, 0, &got, NULL));
    end(&after);
    end(&before);
}

/* ---- limits ---- */

static void what_does_not_fit_is_said(void **state)
{
    static struct bytes file;
    struct seen before, after;
    (void)state;
    make(&before, SW_MACHINE_X64);
    struct sw_capsule *capsule = capsule_of(&before, 64);
    assert_int_equal(add(capsule, &before, MADE_CRASHED), SW_E_LIMIT);
    file.size = 0;
    assert_int_equal(sw_capsule_write(capsule, &(struct sw_capsule_sink){ collect, &file }), SW_OK);
    sw_capsule_destroy(capsule);
    look(&after, file.bytes, file.size);
    assert_int_equal(sw_core_threads(after.core, NULL, 0), 1);
    end(&after);
    end(&before);
}

static void wrong_calls_are_refused(void **state)
{
    static struct bytes file = { .most = 100 };
    struct seen seen;
    struct sw_capsule *capsule = NULL;
    (void)state;
    make(&seen, SW_MACHINE_X64);
    assert_int_equal(sw_capsule_create(NULL, SW_MACHINE_NONE, 0, &capsule), SW_E_ARGUMENT);
    assert_int_equal(sw_capsule_create(NULL, SW_MACHINE_X64, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_capsule_create(NULL, SW_MACHINE_ARM64, 0, &capsule), SW_OK);
    assert_int_equal(sw_capsule_add_core(capsule, seen.core), SW_E_ARGUMENT); /* another machine's */
    assert_int_equal(sw_capsule_add_process(capsule, NULL), SW_E_ARGUMENT);
    sw_capsule_destroy(capsule);
    capsule = capsule_of(&seen, 0);
    assert_int_equal(sw_capsule_add_core(capsule, seen.core), SW_E_EXISTS);
    assert_int_equal(sw_capsule_write(capsule, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_capsule_write(capsule, &(struct sw_capsule_sink){ collect, &file }), SW_E_OS);
    sw_capsule_destroy(capsule);
    sw_capsule_destroy(NULL);
    end(&seen);
}

/* An allocator that gives up after so many blocks. */
static int left;
static void *get(void *arg, size_t size)
{
    (void)arg;
    return left-- > 0 ? malloc(size) : NULL;
}
static void put(void *arg, void *block, size_t size)
{
    (void)arg, (void)size;
    free(block);
}

static bool save_with(const struct sw_alloc *alloc, const struct seen *seen)
{
    static struct bytes file;
    struct sw_capsule *capsule = NULL;
    enum sw_status status = sw_capsule_create(alloc, made.machine, 0, &capsule);
    if (status == SW_OK)
        status = sw_capsule_add_core(capsule, seen->core);
    if (status == SW_OK)
        status = add(capsule, seen, MADE_CRASHED);
    file.size = 0;
    if (status == SW_OK)
        status = sw_capsule_write(capsule, &(struct sw_capsule_sink){ collect, &file });
    sw_capsule_destroy(capsule);
    assert_true(status == SW_OK || status == SW_E_NO_MEMORY);
    return status == SW_OK;
}

static void no_memory_is_said_wherever_it_ends(void **state)
{
    const struct sw_alloc alloc = { get, put, NULL };
    struct seen seen;
    int blocks = 0;
    (void)state;
    make(&seen, SW_MACHINE_X64);
    do
        left = blocks++;
    while (!save_with(&alloc, &seen) && blocks < 200);
    assert_true(blocks > 5 && blocks < 200);
    end(&seen);
}

/* ---- hostile capsules ---- */

static void changed_bytes_do_no_harm(void **state)
{
    static struct bytes file;
    static uint8_t copy[ROOM];
    struct seen seen;
    uint64_t seed = 1;
    (void)state;
    make(&seen, SW_MACHINE_X64);
    save(&seen, &file);
    end(&seen);
    for (unsigned round = 0; round < 1500; round++) {
        struct sw_range range;
        struct sw_core *core;
        uint64_t tids[4];
        memcpy(copy, file.bytes, file.size);
        for (unsigned n = 0; n < 4; n++)
            copy[next_random(&seed) % file.size] = (uint8_t)next_random(&seed);
        const size_t size = round % 3 ? file.size : next_random(&seed) % file.size;
        if (sw_core_open_bytes(NULL, copy, size, &core) != SW_OK)
            continue;
        struct sw_images *images;
        const struct sw_core_files files = { .open = take };
        assert_int_equal(sw_images_create(NULL, &images), SW_OK);
        (void)!sw_core_add_images(core, &files, images);
        for (size_t i = 0; sw_core_get_range(core, i, &range, NULL); i++)
            continue;
        const size_t count = sw_core_threads(core, tids, 4);
        for (size_t i = 0; i < count && i < 4; i++) {
            struct stack stack = { .count = 0 };
            struct sw_regs regs;
            struct sw_walker walker;
            assert_int_equal(sw_core_regs(core, tids[i], &regs), SW_OK);
            assert_int_equal(sw_core_walker(core, tids[i], &regs, NULL, images, &walker), SW_OK);
            walker.budget = SW_WALK_BUDGET_DEFAULT;
            (void)!sw_walk_all(&walker, &scratch, &regs, note, &stack);
        }
        sw_images_destroy(images);
        sw_core_close(core);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_x64_capsule_is_read_back),
        cmocka_unit_test(an_arm64_capsule_is_read_back),
        cmocka_unit_test(a_capsule_of_a_capsule_is_the_same),
        cmocka_unit_test(files_are_known_by_build_id),
        cmocka_unit_test(ranges_of_frames_are_kept_with_names),
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(no_memory_is_said_wherever_it_ends),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
