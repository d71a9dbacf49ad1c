/*
 * Any bytes as a core or a capsule, and what becomes of it: its ranges; a capsule of up to four of its threads, written
 * again and opened. The second one opens, has the same threads with the same registers, and no reader of either leaves
 * its bytes.
 */
#include <snapwalk/capsule.h>
#include <snapwalk/codemap.h>

#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, FRAMES = 64, MOST = 64 << 10, ROOM = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

struct bytes {
    uint8_t bytes[ROOM];
    size_t size;
};

/* With nothing behind it that could be read. */
static uint8_t *copy_of(const void *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    check(copy != NULL);
    memcpy(copy, bytes, size);
    return realloc(copy, size ? size : 1);
}

static bool collect(void *arg, const void *from, size_t size)
{
    struct bytes *to = arg;
    if (size > ROOM - to->size)
        return false;
    memcpy(to->bytes + to->size, from, size);
    to->size += size;
    return true;
}

/* What a capsule says of code: each has a name that ends, empty or not. */
static void add_ranges(const struct sw_core *core, struct sw_codemap *codemap)
{
    struct sw_range range;
    const char *name;
    for (size_t i = 0; sw_core_get_range(core, i, &range, &name); i++) {
        check(name && strlen(name) < 1 << 20);
        const enum sw_status status = sw_codemap_add(codemap, &range);
        check(status != SW_E_NO_MEMORY && status != SW_E_BUSY);
    }
}

static void add_thread(struct sw_capsule *capsule, struct sw_core *core, uint64_t tid, const struct sw_codemap *codemap)
{
    static struct sw_scratch scratch;
    struct sw_core_thread thread;
    struct sw_walker walker;
    struct sw_regs regs;
    check(sw_core_find_thread(core, tid, &thread) == SW_OK && sw_core_regs(core, tid, &regs) == SW_OK);
    check(sw_core_walker(core, tid, &regs, codemap, NULL, &walker) == SW_OK);
    walker.max_frames = FRAMES;
    walker.budget = SW_WALK_BUDGET_DEFAULT;
    const enum sw_status status = sw_capsule_add_thread(capsule, &thread, &regs, &walker, &scratch);
    check(status == SW_OK || status == SW_E_LIMIT);
    const enum sw_status named = sw_capsule_set_name(capsule, sw_regs_pc(&regs), "a name");
    check(named == SW_OK || named == SW_E_NOT_FOUND);
}

static void compare(struct sw_core *one, struct sw_core *other, const uint64_t *tids, size_t count)
{
    uint64_t again[THREADS];
    struct sw_regs a, b;
    check(sw_core_threads(other, again, THREADS) == count && memcmp(again, tids, count * sizeof *tids) == 0);
    for (size_t i = 0; i < count; i++) {
        check(sw_core_regs(one, tids[i], &a) == SW_OK && sw_core_regs(other, tids[i], &b) == SW_OK);
        check(sw_regs_pc(&a) == sw_regs_pc(&b) && sw_regs_sp(&a) == sw_regs_sp(&b));
    }
}

static size_t write_capsule(struct sw_core *core, struct sw_capsule *capsule, const struct sw_codemap *codemap,
                            uint64_t tids[THREADS], struct bytes *written)
{
    const struct sw_capsule_sink sink = { collect, written };
    size_t count = sw_core_threads(core, tids, THREADS);
    count = count < THREADS ? count : THREADS;
    if (sw_capsule_add_core(capsule, core) != SW_OK)
        return 0;
    for (size_t i = 0; i < count; i++)
        add_thread(capsule, core, tids[i], codemap);
    const enum sw_status status = sw_capsule_write(capsule, &sink);
    check(status == SW_OK || status == SW_E_LIMIT || status == SW_E_OS);
    return status == SW_OK ? count : 0;
}

static void ask(struct sw_core *core, struct bytes *written)
{
    struct sw_core_info about;
    struct sw_capsule *capsule = NULL;
    struct sw_codemap *codemap = NULL, *other = NULL;
    struct sw_core *again = NULL;
    uint64_t tids[THREADS];
    check(sw_core_describe(core, &about) == SW_OK);
    check(sw_codemap_create(NULL, &codemap) == SW_OK && sw_codemap_create(NULL, &other) == SW_OK);
    check(sw_capsule_create(NULL, about.machine, MOST, &capsule) == SW_OK);
    add_ranges(core, codemap);
    const size_t count = write_capsule(core, capsule, codemap, tids, written);
    uint8_t *bytes = copy_of(written->bytes, written->size);
    if (count) {
        check(sw_core_open_bytes(NULL, bytes, written->size, &again) == SW_OK);
        add_ranges(again, other);
        compare(core, again, tids, count);
    }
    sw_core_close(again);
    free(bytes);
    sw_capsule_destroy(capsule);
    sw_codemap_destroy(codemap);
    sw_codemap_destroy(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_core *core = NULL;
    static struct bytes written;
    uint8_t *copy = copy_of(data, size);
    written.size = 0;
    if (sw_core_open_bytes(NULL, copy, size, &core) == SW_OK)
        ask(core, &written);
    sw_core_close(core);
    free(copy);
    return 0;
}
