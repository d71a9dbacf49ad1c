/*
 * What one step of a walk costs at a pc that was not met before, by each way of finding its rule, beside libunwind's
 * unw_step in the same run, on the same registers and the same made-up stack: return addresses in functions of large
 * libraries, in random order. Ratios of medians are what counts; the last line has them.
 *
 * "unseen": the function was never analysed; "seen": it was, for another pc of it. Bounds known: the code map has the
 * function's range, as it has a JIT's. Unknown: forward to a return.
 */
#define UNW_LOCAL_ONLY
#include "images.h"
#include "walk/walk.h"
#include "x64/x64.h"

#include <snapwalk/self.h>
#include <snapwalk/walk.h>

#include <dlfcn.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PCS = 4000, LIBRARIES = 4, STACK = 1 << 16, SP = 1024, KEPT_BYTES = 1 << 24 };

/* A place to stop at: a pc behind a call, another one of the same function, the function, where its caller's pc lies.
 */
struct place {
    uint64_t pc;
    uint64_t other;
    struct sw_range function;
    const struct sw_image_entry *image;
};

static struct place places[PCS];
static size_t place_count;
static uint64_t caller; /* behind a call through a register */
static struct sw_images *images;
static struct sw_codemap *codemap;
static struct sw_kept *kept;
static struct sw_walker walker;
static struct sw_scratch scratch;
static uint64_t stack[STACK / 8];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next_random(void)
{
    static uint64_t seed = 88172645463325252u;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rules: %s failed\n", what);
    exit(1);
}

/* ---- the places ---- */

/* Two random instructions of a function that are behind calls. False: it has none. */
static bool behind_calls(struct place *place)
{
    unsigned seen = 0;
    struct sw_insn insn;
    for (uint64_t pc = place->function.begin; pc < place->function.end; pc += insn.length) {
        const uint64_t next = pc + 15 < place->function.end ? 15 : place->function.end - pc;
        if (sw_x64_decode((const uint8_t *)pc, next, pc, &insn) != SW_OK)
            break;
        if (insn.flow != SW_FLOW_CALL || pc + insn.length >= place->function.end)
            continue;
        if (insn.target == 0 && insn.slot == 0)
            caller = pc + insn.length;
        if (next_random() % ++seen == 0)
            place->pc = pc + insn.length;
        else
            place->other = pc + insn.length;
    }
    return place->pc != 0;
}

static const struct sw_image_entry *load(const char *library)
{
    must(dlopen(library, RTLD_NOW) != NULL, library);
    must(sw_images_add_self(images) == SW_OK, "registering images");
    for (size_t i = 0;; i++) {
        const struct sw_image_entry *image = sw_images_at(images, i);
        must(image != NULL, "finding an image");
        if (image->has_cfi && strstr(image->info.path, library))
            return image;
    }
}

/* Parts that were split from functions are not entered by a call: the table says so of their first instruction. */
static bool is_called(const struct place *place)
{
    struct sw_walk_room *room = (struct sw_walk_room *)scratch.room;
    return sw_cfi_rule(&place->image->cfi, place->function.begin, &room->cfi, &room->rule, NULL) == SW_OK &&
           room->rule.cfa.reg == SW_X64_RSP && room->rule.cfa.off == 8;
}

static void take_places(const struct sw_image_entry *image)
{
    const size_t count = sw_cfi_index(&image->cfi, NULL, 0);
    struct sw_cfi_entry *entries = malloc(count * sizeof *entries);
    must(entries != NULL, "malloc");
    (void)sw_cfi_index(&image->cfi, entries, count);
    for (size_t tries = 0, taken = 0; tries < count && taken < PCS / LIBRARIES; tries++) {
        const struct sw_cfi_entry *e = &entries[next_random() % count];
        struct place place = { .function = { .begin = e->begin, .end = e->end, .kind = SW_KIND_NATIVE }, .image = image };
        if (!is_called(&place) || !behind_calls(&place) || sw_codemap_add(codemap, &place.function) != SW_OK)
            continue;
        places[place_count++] = place;
        taken++;
    }
    free(entries);
}

static void shuffle(void)
{
    for (size_t i = place_count; i-- > 1;) {
        const size_t other = next_random() % (i + 1);
        const struct place swapped = places[i];
        places[i] = places[other];
        places[other] = swapped;
    }
}

/* ---- the ways ---- */

static void registers_at(uint64_t pc, struct sw_regs *regs)
{
    *regs = (struct sw_regs){ .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(regs, n, (uint64_t)(uintptr_t)&stack[STACK / 16]);
    sw_regs_set(regs, SW_X64_RSP, (uint64_t)(uintptr_t)&stack[SP]);
    sw_regs_set(regs, SW_X64_RIP, pc);
}

/* The made-up stack for a pc: nothing but the return address, where the table says that it lies. */
static uint64_t *caller_slot(const struct place *place, uint64_t pc)
{
    struct sw_walk_room *room = (struct sw_walk_room *)scratch.room;
    struct sw_regs regs, caller_regs;
    uint64_t cfa = 0;
    registers_at(pc, &regs);
    if (sw_cfi_rule(&place->image->cfi, pc - 1, &room->cfi, &room->rule, NULL) != SW_OK ||
        sw_rule_apply(&room->rule, &regs, &walker.memory, &caller_regs, &cfa, NULL) != SW_OK)
        return &stack[0];
    const uint64_t at = (cfa - 8 - (uint64_t)(uintptr_t)stack) / 8;
    return at < STACK / 8 ? &stack[at] : &stack[0];
}

static bool by_unw_step(uint64_t pc)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    context.uc_mcontext.gregs[REG_RIP] = (long long)pc;
    context.uc_mcontext.gregs[REG_RSP] = (long long)(uintptr_t)&stack[SP];
    context.uc_mcontext.gregs[REG_RBP] = (long long)(uintptr_t)&stack[STACK / 16];
    return unw_init_local(&cursor, &context) == 0 && unw_step(&cursor) > 0;
}

static bool by_walk(uint64_t pc)
{
    struct sw_walk walk;
    struct sw_regs regs;
    registers_at(pc, &regs);
    sw_walk_start(&walk, &walker, &scratch, &regs, false);
    return sw_walk_next(&walk) && sw_walk_next(&walk) && sw_regs_pc(&walk.frame.regs) == caller;
}

/* flags, code map and store of the walker; whether the other pc of a function that was seen is asked for. */
static const struct way {
    const char *name;
    const char *title;
    bool (*step)(uint64_t pc);
    uint32_t flags;
    bool has_bounds, is_kept, is_other;
} ways[] = {
    { "unw_step", "libunwind's unw_step", by_unw_step, 0, false, false, false },
    { "cfi", "by CFI", by_walk, SW_WALK_NO_ANALYSIS, false, false, false },
    { "unseen", "by analysis, unseen, bounds known", by_walk, SW_WALK_NO_TABLES, true, true, false },
    { "seen", "by analysis, seen, bounds known", by_walk, SW_WALK_NO_TABLES, true, true, true },
    { "forward", "by analysis, nothing kept, bounds unknown", by_walk, SW_WALK_NO_TABLES, false, false, false },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- measuring ---- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(const struct way *way, double against)
{
    static double times[PCS];
    double sum = 0;
    size_t good = 0, count = 0;
    walker.flags = way->flags;
    walker.codemap = way->has_bounds ? codemap : NULL;
    walker.kept = way->is_kept ? kept : NULL;
    for (size_t i = 0; i < place_count; i++) {
        const uint64_t pc = way->is_other ? places[i].other : places[i].pc;
        if (pc == 0)
            continue;
        uint64_t *slot = caller_slot(&places[i], pc);
        *slot = caller;
        const double begin = now();
        good += way->step(pc);
        times[count] = now() - begin;
        sum += times[count++];
        *slot = 0;
    }
    qsort(times, count, sizeof *times, by_value);
    const double median = times[count / 2];
    printf("%-42s median %7.0f ns  mean %7.0f  90 %% %7.0f  99 %% %8.0f  right %zu of %zu  %5.2fx\n", way->title,
           median, sum / (double)count, times[count * 9 / 10], times[count * 99 / 100], good, count,
           against > 0 ? median / against : 1.0);
    return median;
}

int main(void)
{
    static const char *const libraries[LIBRARIES] = { "libc.so.6", "libstdc++.so.6", "libcrypto.so.3",
                                                      "libperl.so.5.36" };
    double medians[WAYS];
    must(sw_images_create(NULL, &images) == SW_OK, "sw_images_create");
    must(sw_codemap_create(NULL, &codemap) == SW_OK, "sw_codemap_create");
    must(sw_kept_create(NULL, KEPT_BYTES, &kept) == SW_OK, "sw_kept_create");
    for (size_t i = 0; i < LIBRARIES; i++)
        take_places(load(libraries[i]));
    must(sw_self_walker(&walker, NULL, images) == SW_OK, "making a walker");
    walker.stack_begin = walker.stack_end = 0;
    walker.memory.window = (struct sw_window){ (uint64_t)(uintptr_t)stack, (uint64_t)(uintptr_t)(stack + STACK / 8),
                                               (const uint8_t *)stack };
    shuffle();
    printf("one step at %zu pcs\n", place_count);
    for (size_t i = 0; i < WAYS; i++)
        medians[i] = measure(&ways[i], i ? medians[0] : 0);
    printf("rules:");
    for (size_t i = 1; i < WAYS; i++)
        printf(" %s %.2fx (%.1f us)", ways[i].name, medians[i] / medians[0], medians[i] / 1000);
    printf(" of unw_step\n");
    sw_kept_destroy(kept);
    sw_codemap_destroy(codemap);
    sw_images_destroy(images);
    return 0;
}
