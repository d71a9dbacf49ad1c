/*
 * What one step costs at a pc that was not met before, by each way of finding its rule, beside libunwind's unw_step in
 * the same run, on the same registers and the same made-up stack: return addresses in functions of large libraries, in
 * random order. Medians and means over all pcs; ratios are what counts.
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

enum { PCS = 4000, STACK = 1 << 16 };

/* A place to stop at: a pc behind a call, and its function. */
struct place {
    uint64_t pc;
    struct sw_range function;
    const struct sw_image_entry *image;
};

static struct place places[PCS];
static size_t place_count;
static struct sw_images *images;
static struct sw_scratch scratch;
static uint64_t stack[STACK / 8];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
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

/* A random instruction of a function that is behind a call; 0: it has none. */
static uint64_t behind_a_call(uint64_t begin, uint64_t end)
{
    uint64_t found = 0;
    unsigned seen = 0;
    struct sw_insn insn;
    for (uint64_t pc = begin; pc < end; pc += insn.length) {
        if (sw_x64_decode((const uint8_t *)pc, end - pc, pc, &insn) != SW_OK)
            break;
        if (insn.flow == SW_FLOW_CALL && pc + insn.length < end && next_random() % ++seen == 0)
            found = pc + insn.length;
    }
    return found;
}

static void take_places(const char *library)
{
    must(dlopen(library, RTLD_NOW) != NULL, library);
    must(sw_images_add_self(images) == SW_OK, "registering images");
    const struct sw_image_entry *image = NULL;
    for (size_t i = 0; (image = sw_images_at(images, i)) != NULL; i++)
        if (strstr(image->info.path, library))
            break;
    must(image && image->has_cfi, "finding an image's tables");
    const size_t count = sw_cfi_index(&image->cfi, NULL, 0);
    struct sw_cfi_entry *entries = malloc(count * sizeof *entries);
    must(entries != NULL, "malloc");
    (void)sw_cfi_index(&image->cfi, entries, count);
    for (size_t tries = 0, taken = 0; tries < count && taken < PCS / 4 && place_count < PCS; tries++) {
        const struct sw_cfi_entry *e = &entries[next_random() % count];
        const uint64_t pc = behind_a_call(e->begin, e->end);
        if (pc == 0)
            continue;
        places[place_count++] = (struct place){ pc, { .begin = e->begin, .end = e->end }, image };
        taken++;
    }
    free(entries);
}

static void shuffle(void)
{
    for (size_t i = place_count; i-- > 1;) {
        const size_t other = next_random() % (i + 1);
        const struct place kept = places[i];
        places[i] = places[other];
        places[other] = kept;
    }
}

/* A made-up stack: every word is a place behind a call, rbp points into it. */
static void fill_stack(void)
{
    for (size_t i = 0; i < STACK / 8; i++)
        stack[i] = places[i % place_count].pc;
}

/* ---- the ways ---- */

static void registers_at(const struct place *place, struct sw_regs *regs)
{
    *regs = (struct sw_regs){ .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(regs, n, (uint64_t)(uintptr_t)&stack[STACK / 16]);
    sw_regs_set(regs, SW_X64_RSP, (uint64_t)(uintptr_t)&stack[1024]);
    sw_regs_set(regs, SW_X64_RIP, place->pc);
}

static bool by_unw_step(const struct place *place)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_getcontext(&context);
    context.uc_mcontext.gregs[REG_RIP] = (long long)place->pc;
    context.uc_mcontext.gregs[REG_RSP] = (long long)(uintptr_t)&stack[1024];
    context.uc_mcontext.gregs[REG_RBP] = (long long)(uintptr_t)&stack[STACK / 16];
    return unw_init_local(&cursor, &context) == 0 && unw_step(&cursor) > 0;
}

static bool by_walk(const struct place *place, uint32_t flags)
{
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    must(sw_self_walker(&walker, NULL, images) == SW_OK, "making a walker");
    walker.stack_begin = walker.stack_end = 0;
    walker.flags = flags;
    registers_at(place, &regs);
    sw_walk_start(&walk, &walker, &scratch, &regs, false);
    return sw_walk_next(&walk) && sw_walk_next(&walk);
}

static bool by_tables(const struct place *place)
{
    return by_walk(place, SW_WALK_NO_ANALYSIS);
}

static bool by_instructions(const struct place *place)
{
    return by_walk(place, SW_WALK_NO_TABLES);
}

static const uint8_t *own_code(void *arg, uint64_t pc, size_t *size)
{
    const struct place *place = arg;
    *size = pc >= place->image->info.begin && pc < place->image->info.end ? place->image->info.end - pc : 0;
    return *size ? (const uint8_t *)pc : NULL;
}

static bool by_analysis(const struct place *place)
{
    struct sw_walk_room *room = (struct sw_walk_room *)scratch.room;
    const struct sw_code code = { SW_MACHINE_X64, sw_x64_decode, own_code, (void *)(uintptr_t)place };
    return sw_analyze_function(&code, place->function.begin, place->function.end, place->pc - 1, &room->analysis,
                               &room->rule) == SW_OK;
}

static const struct way {
    const char *name;
    bool (*step)(const struct place *place);
} ways[] = {
    { "libunwind unw_step", by_unw_step },
    { "walk, by CFI", by_tables },
    { "walk, by instructions, bounds unknown", by_instructions },
    { "analysis of the function", by_analysis },
};

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
    size_t good = 0;
    for (size_t i = 0; i < place_count; i++) {
        const double begin = now();
        good += way->step(&places[i]);
        times[i] = now() - begin;
        sum += times[i];
    }
    qsort(times, place_count, sizeof *times, by_value);
    const double median = times[place_count / 2];
    printf("%-40s median %8.0f ns  mean %8.0f  90%% %8.0f  99%% %9.0f  found %zu of %zu  %.2fx\n", way->name, median,
           sum / (double)place_count, times[place_count * 9 / 10], times[place_count * 99 / 100], good, place_count,
           against > 0 ? median / against : 1.0);
    return median;
}

int main(void)
{
    static const char *const libraries[] = { "libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libperl.so.5.36" };
    must(sw_images_create(NULL, &images) == SW_OK, "sw_images_create");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        take_places(libraries[i]);
    shuffle();
    fill_stack();
    printf("%zu pcs\n", place_count);
    const double unwind = measure(&ways[0], 0);
    for (size_t i = 1; i < sizeof ways / sizeof *ways; i++)
        (void)measure(&ways[i], unwind);
    sw_images_destroy(images);
    return 0;
}
