/*
 * What one step of a walk costs at a pc that was not met before, by each way of finding its rule, beside libunwind's
 * unw_step, on the same registers and the same made-up stack: return addresses in functions of large libraries, in
 * random order. Some of the places by one way, then by the next, and so on: ratios are medians over these turns.
 *
 * "unseen": the function was never analysed; "seen": it was, for another pc of it. Bounds known: the code map has the
 * function's range, as it has a JIT's. Unknown: forward to a return.
 */
#define UNW_LOCAL_ONLY
#include "bench.h"
#include "figures.h"
#include "measure.h"

#include "code/images.h"
#include "unwind/workspace.h"
#include "arch/x64/decode.h"

#include <snapwalk/self.h>
#include <snapwalk/walk.h>

#include <dlfcn.h>
#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

enum { PCS = 4000, LIBRARIES = 4, COLD_TURNS = 20, STACK = 1 << 16, SP = 1024, KEPT_BYTES = 1 << 24 };

/* A place to stop at: a pc behind a call, another one of the same function, the function. */
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
static struct sw_analysis_cache *kept;
static struct sw_walker walker;
static struct sw_scratch scratch;
static uint64_t stack[STACK / 8], seed = BENCH_SEED;

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
        if (next_random(&seed) % ++seen == 0)
            place->pc = pc + insn.length;
        else
            place->other = pc + insn.length;
    }
    return place->pc != 0;
}

static const struct sw_image_entry *load(const char *library)
{
    if (!dlopen(library, RTLD_NOW))
        return NULL;
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
    struct sw_workspace *room = (struct sw_workspace *)scratch.words;
    return sw_cfi_rule(&place->image->cfi, place->function.begin, &room->cfi, &room->asked[0].rule, NULL) == SW_OK &&
           room->asked[0].rule.cfa.reg == SW_X64_RSP && room->asked[0].rule.cfa.off == 8;
}

static void take_places(const struct sw_image_entry *image)
{
    const size_t count = sw_cfi_index(&image->cfi, NULL, 0);
    struct sw_cfi_entry *entries = get(count * sizeof *entries);
    (void)sw_cfi_index(&image->cfi, entries, count);
    for (size_t tries = 0, taken = 0; tries < count && taken < PCS / LIBRARIES; tries++) {
        const struct sw_cfi_entry *e = &entries[next_random(&seed) % count];
        struct place place = { .function = { .begin = e->begin, .end = e->end, .kind = SW_KIND_NATIVE },
                               .image = image };
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
        const size_t other = next_random(&seed) % (i + 1);
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
    struct sw_workspace *room = (struct sw_workspace *)scratch.words;
    struct sw_regs regs, caller_regs;
    uint64_t cfa = 0;
    registers_at(pc, &regs);
    if (sw_cfi_rule(&place->image->cfi, pc - 1, &room->cfi, &room->asked[0].rule, NULL) != SW_OK ||
        sw_rule_apply(&room->asked[0].rule, &regs, &walker.memory, &caller_regs, &cfa, NULL) != SW_OK)
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
static const struct way_in {
    const char *name;
    bool (*step)(uint64_t pc);
    uint32_t flags;
    bool has_bounds, is_kept, is_other;
} ways[] = {
    { "unw_step", by_unw_step, 0, false, false, false },
    { "CFI", by_walk, SW_WALK_NO_ANALYSIS, false, false, false },
    { "unseen", by_walk, SW_WALK_NO_TABLES, true, true, false },
    { "seen", by_walk, SW_WALK_NO_TABLES, true, true, true },
    { "bounds unknown", by_walk, SW_WALK_NO_TABLES, false, false, false },
};
enum { WAYS = sizeof ways / sizeof *ways };

/* ---- measuring ---- */

/* Times of each way, one behind the other, and where each turn's begin. */
static struct times {
    double all[PCS];
    double turns[COLD_TURNS];
    size_t count, good;
} times[WAYS];

static void use(const struct way_in *way)
{
    walker.flags = way->flags;
    walker.codemap = way->has_bounds ? codemap : NULL;
    walker.analysis_cache = way->is_kept ? kept : NULL;
}

static void step_at(const struct way_in *way, struct times *t, const struct place *place)
{
    const uint64_t pc = way->is_other ? place->other : place->pc;
    if (pc == 0)
        return;
    uint64_t *slot = caller_slot(place, pc);
    *slot = caller;
    const uint64_t begin = ticks();
    t->good += way->step(pc);
    t->all[t->count++] = ticks_ns(ticks() - begin);
    *slot = 0;
}

static void take_turn(unsigned turn)
{
    const size_t begin = place_count * turn / COLD_TURNS, end = place_count * (turn + 1) / COLD_TURNS;
    for (unsigned w = 0; w < WAYS; w++) {
        struct times *t = &times[w];
        const size_t first = t->count;
        use(&ways[w]);
        for (size_t i = begin; i < end; i++)
            step_at(&ways[w], t, &places[i]);
        t->turns[turn] = median(t->all + first, t->count - first);
    }
}

/* A step that does not find the caller is no failure here: what cannot be found is counted by the tests of accuracy. */
static void note(unsigned w)
{
    struct times *t = &times[w];
    const double ratio = w ? median_ratio(t->turns, times[0].turns, COLD_TURNS) : 0;
    figure_note("cold", "ns, median", ways[w].name, 0, median(t->all, t->count), ratio);
    figure_note("cold", "ns, 90th percentile", ways[w].name, 0, percentile(t->all, t->count, 90), 0);
    figure_note("cold", "ns, 99th percentile", ways[w].name, 0, percentile(t->all, t->count, 99), 0);
    figure_note("cold", "ns, worst", ways[w].name, 0, percentile(t->all, t->count, 100), 0);
    figure_note("cold", "% of the callers found", ways[w].name, 0, 100.0 * (double)t->good / (double)t->count, 0);
}

static void find_places(void)
{
    static const char *const libraries[LIBRARIES] = { "libc.so.6", "libstdc++.so.6", "libcrypto.so.3",
                                                      "libperl.so.5.36" };
    for (size_t i = 0; i < LIBRARIES; i++) {
        const struct sw_image_entry *image = load(libraries[i]);
        if (image)
            take_places(image);
        else
            figure_skip("cold", libraries[i], "not on this system");
    }
    must(place_count >= COLD_TURNS * TURNS, "finding places");
    shuffle();
}

void bench_cold(void)
{
    must(sw_images_create(NULL, &images) == SW_OK, "sw_images_create");
    must(sw_codemap_create(NULL, &codemap) == SW_OK, "sw_codemap_create");
    must(sw_analysis_cache_create(NULL, KEPT_BYTES, &kept) == SW_OK, "sw_analysis_cache_create");
    find_places();
    must(sw_self_walker(&walker, NULL, images) == SW_OK, "making a walker");
    walker.stack_begin = walker.stack_end = 0;
    walker.memory.window = (struct sw_window){ (uint64_t)(uintptr_t)stack, (uint64_t)(uintptr_t)(stack + STACK / 8),
                                               (const uint8_t *)stack };
    for (unsigned turn = 0; turn < COLD_TURNS; turn++)
        take_turn(turn);
    for (unsigned w = 0; w < WAYS; w++)
        note(w);
    figure_print("cold", "cold: one step at a pc that was not met before, by CFI or by analysis of a function, and how "
                         "many times unw_step");
    sw_analysis_cache_destroy(kept);
    sw_codemap_destroy(codemap);
    sw_images_destroy(images);
}
