/*
 * Frames out of the rule cache: what a line says about a pc, as a rule and as a frame; one step without asking anybody
 * else. Knows the compact form of a rule: CFA = register + words, return address below the CFA, nonvolatile registers
 * unchanged, lost, or within 255 words below the CFA. Whatever is not of that form, and whatever a step meets that is
 * not plain, is left to the long way (walk.c), which then says how it ends. Refuses to know how lines are shared
 * (cache.c).
 */
#include "fast/warm.h"

#include "fast/quick.h"
#include "unwind/infer/code_patterns.h"

enum { RSP = SW_X64_RSP, RIP = SW_X64_RIP, MASK = 0xffff };

#define BIT(n)       (UINT64_C(1) << (n))
#define OTHERS_SAVED ((SW_X64_NONVOLATILE & ~BIT(SW_X64_RBP)) << SW_FORM_SAVED_SHIFT)

static struct sw_workspace *workspace_of(const struct sw_walk *walk)
{
    return (struct sw_workspace *)walk->scratch->words;
}

/* ---- the walk's view ---- */

/* Every word of a frame that is left directly lies at most SW_WARM_NEAR below its CFA. */
static void find_bounds(struct sw_warm *warm, const struct sw_walker *walker)
{
    const struct sw_window *w = &walker->memory.window;
    const uint64_t least = w->begin + SW_WARM_NEAR * SW_WORD;
    const bool bounded = walker->stack_end != 0;
    const uint64_t begin = bounded && walker->stack_begin > least ? walker->stack_begin : least;
    const uint64_t end = bounded && walker->stack_end < w->end ? walker->stack_end : w->end;
    warm->least = UINT64_MAX;
    warm->span = 0;
    if (walker->machine != SW_MACHINE_X64 || w->begin >= w->end || least < w->begin || begin > end ||
        end - begin > INT64_MAX)
        return;
    warm->least = begin;
    warm->span = end - begin;
    warm->stack = (uintptr_t)w->bytes - (uintptr_t)w->begin;
}

static uint64_t stamp_of(uint64_t images, uint64_t codemap)
{
    const bool fits = images < BIT(63 - SW_STAMP_SHIFT) && codemap <= SW_STAMP_CODEMAP;
    return fits ? images << SW_STAMP_SHIFT | codemap : SW_STAMP_NEVER;
}

static uint64_t quiet_since(const struct sw_cache_clocks *clocks, unsigned kind)
{
    return stamp_of(atomic_load_explicit(clocks->images, memory_order_acquire),
                    atomic_load_explicit(&clocks->changes[kind + SW_PIECES], memory_order_acquire));
}

void sw_warm_start(struct sw_warm *warm, const struct sw_walker *walker)
{
    static const _Atomic uint64_t no_changes[SW_CHANGES];
    warm->cache = walker->flags < 8 && walker->replaced.at == 0 ? walker->cache : NULL;
    warm->replay = NULL;
    warm->misses = warm->replayed = 0;
    warm->stamp = SW_STAMP_NEVER;
    if (!warm->cache)
        return;
    warm->clocks = (struct sw_cache_clocks){ walker->codemap ? sw_codemap_changes(walker->codemap) : no_changes,
                                             sw_images_clock(walker->images) };
    warm->quiet[0] = quiet_since(&warm->clocks, SW_REMOVED);
    warm->quiet[1] = quiet_since(&warm->clocks, SW_ADDED);
    warm->codemap = walker->codemap;
    warm->lines = warm->cache->lines;
    warm->mask = warm->cache->mask;
    warm->next = warm->cache->next;
    warm->flags = SW_CACHE_FLAGS(walker->flags);
    find_bounds(warm, walker);
}

void sw_warm_look_at_clocks(struct sw_warm *warm)
{
    if (warm->cache)
        warm->stamp = stamp_of(atomic_load_explicit(warm->clocks.images, memory_order_acquire),
                               sw_codemap_generation(warm->codemap));
}

void sw_warm_open(struct sw_warm *warm, const struct sw_walker *walker)
{
    struct sw_replay *replay = walker->replay;
    if (!replay || !warm->cache || !sw_warm_has_window(warm))
        return;
    if (warm->stamp != SW_STAMP_NEVER &&
        sw_replay_open(replay, warm->cache, warm->flags, &warm->clocks, warm->quiet, warm->stamp))
        warm->replay = replay;
}

/* ---- one step ---- */

/*
 * Takes the caller's frame from the line of its pc: code, and here. False: that does not hold, or was written
 * meanwhile; then here.form is 0, and what was taken is not to be used.
 */
static SW_INLINE bool take_line(struct sw_walk *walk, const struct sw_warm *warm, struct sw_line *line, uint64_t pc,
                                bool at_once)
{
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire) & ~UINT32_C(1);
    const uint64_t place = sw_quick_load(&line->place);
    if (SW_UNLIKELY((!at_once || sw_quick_differs(warm, line, pc) != 0) && !sw_quick_holds(warm, line, pc)))
        return false;
    walk->here.form = sw_quick_load(&line->form);
    walk->here.where = sw_quick_load(&line->where);
    walk->here.place = place;
    sw_warm_code(&walk->frame.code, pc, place, sw_quick_load(&line->id), sw_quick_load(&line->rest));
    atomic_thread_fence(memory_order_acquire);
    if (SW_LIKELY(atomic_load_explicit(&line->version, memory_order_relaxed) == version))
        return true;
    walk->here.form = 0;
    return false;
}

/*
 * The trust of a step whose rule wants to be confirmed by the call in front of the caller's pc; NONE: that takes the
 * long way.
 */
static uint8_t confirmed(const struct sw_walk *walk, struct sw_line *line, uint64_t pc)
{
    const uint64_t form = walk->here.form;
    const uint64_t function = walk->frame.regs.r[RIP] - (uint32_t)walk->here.place;
    const int32_t calls = (int32_t)atomic_load_explicit(&line->calls, memory_order_relaxed);
    const bool is_call = sw_quick_load(&line->form) & SW_FORM_CALLS;
    if (is_call && calls == 0)
        return SW_TRUST_NONE;
    if (is_call && pc + (uint64_t)(int64_t)calls == function)
        return SW_TRUST_CONFIRMED;
    return form & SW_FORM_ONLY_SO ? SW_TRUST_NONE : (uint8_t)(form >> SW_FORM_TRUST_SHIFT);
}

/* take_line for such a rule: the line is to be the same from what the call is read of on. */
static SW_INLINE bool take_confirmed(struct sw_walk *walk, const struct sw_warm *warm, struct sw_line *line,
                                     uint64_t pc, bool at_once)
{
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire);
    const uint8_t trust = confirmed(walk, line, pc);
    if (trust == SW_TRUST_NONE || !take_line(walk, warm, line, pc, at_once))
        return false;
    walk->frame.trust = trust;
    if (SW_LIKELY(atomic_load_explicit(&line->version, memory_order_relaxed) == version))
        return true;
    walk->here.form = 0;
    return false;
}

static void note_missing(struct sw_warm *warm, const struct sw_regs *regs)
{
    warm->missing = (SW_X64_NONVOLATILE & ~regs->known) << SW_FORM_SAVED_SHIFT;
}

/*
 * One step from a frame that the cache knows to one that it knows, over words in the window: what the long way would
 * say. In all other cases false; then the frame is as it was, but for its code where here.form has become 0.
 */
SW_OTHERS_FRAMES static bool warm_step(struct sw_walk *walk, struct sw_warm *warm)
{
    struct sw_frame *frame = &walk->frame;
    struct sw_regs *regs = &frame->regs;
    const uint64_t form = walk->here.form, where = walk->here.where;
    const unsigned base = form >> SW_FORM_CFA_SHIFT & 15;
    const uint64_t cfa = regs->r[base] + sw_quick_words(form) * SW_WORD;
    if (cfa - warm->least > warm->span || cfa <= regs->r[RSP] || !(regs->known >> base & 1) || sw_warm_is_far(where))
        return false;
    const uint8_t *at = (const uint8_t *)(warm->stack + (uintptr_t)cfa);
    const uint64_t pc = sw_quick_word(at - SW_WORD);
    struct sw_line *line = sw_cache_line(warm->cache, pc, pc | warm->flags);
    frame->trust = (uint8_t)(form >> SW_FORM_TRUST_SHIFT);
    if (!line || !(form & SW_FORM_BY_CALL ? take_confirmed(walk, warm, line, pc, false)
                                          : take_line(walk, warm, line, pc, false)))
        return false;
    sw_quick_restore(regs, at, where, 0);
    sw_quick_restore_others(regs, at, where);
    regs->known =
        (regs->known & where >> SW_WHERE_SAME_SHIFT) | (form >> SW_FORM_SAVED_SHIFT & MASK) | BIT(RSP) | BIT(RIP);
    note_missing(warm, regs);
    regs->r[RSP] = cfa;
    regs->r[RIP] = pc;
    frame->lookup = pc - 1;
    frame->exact = false;
    frame->source = (uint8_t)form;
    return true;
}

/*
 * The same where nothing of which registers are known can change, as it is after few steps; nor is it exact. The form
 * lies in memory while the line is read, for want of registers of the processor. by_call: the rule wants to be
 * confirmed.
 */
SW_OTHERS_FRAMES static SW_INLINE bool quick_step(struct sw_walk *walk, struct sw_warm *warm, bool framed, bool by_call)
{
    struct sw_regs *regs = &walk->frame.regs;
    const uint64_t form = walk->here.form;
    const uint64_t cfa = framed ? regs->r[SW_X64_RBP] + 2 * SW_WORD : regs->r[RSP] + sw_quick_words(form) * SW_WORD;
    if (SW_UNLIKELY(cfa - warm->least > warm->span ||
                    (sw_quick_falls(regs->r[RSP], cfa) | (form & warm->missing)) != 0))
        return false;
    warm->was_form = form;
    warm->was_where = walk->here.where;
    walk->frame.source = (uint8_t)form;
    walk->frame.trust = (uint8_t)(form >> SW_FORM_TRUST_SHIFT);
    const uint64_t pc = sw_quick_word((const uint8_t *)(warm->stack + (uintptr_t)cfa) - SW_WORD);
    struct sw_line *line = sw_line_of(warm->lines, warm->mask, pc);
    if (SW_UNLIKELY(!(by_call ? take_confirmed(walk, warm, line, pc, true) : take_line(walk, warm, line, pc, true))))
        return false;
    const uint8_t *at = (const uint8_t *)(warm->stack + (uintptr_t)cfa);
    regs->r[RSP] = cfa;
    regs->r[RIP] = pc;
    walk->frame.lookup = pc - 1;
    walk->depth++;
    if (framed)
        regs->r[SW_X64_RBP] = sw_quick_word(at - 2 * SW_WORD);
    else
        sw_quick_restore(regs, at, warm->was_where, 0);
    if (warm->was_form & OTHERS_SAVED)
        sw_quick_restore_others(regs, at, warm->was_where);
    return true;
}

SW_OTHERS_FRAMES enum sw_stop sw_warm_end_at(const struct sw_warm *warm, uint64_t form, uint64_t sp, uint64_t fp)
{
    const unsigned base = form >> SW_FORM_CFA_SHIFT & 15;
    const uint64_t cfa = (base == RSP ? sp : fp) + sw_quick_words(form) * SW_WORD;
    if (form & SW_FORM_END)
        return SW_STOP_ROOT;
    if (!(form & SW_FORM_EASY) || !sw_warm_has_window(warm) || cfa - warm->least > warm->span)
        return SW_STOP_NONE;
    return sw_quick_word((const uint8_t *)(warm->stack + (uintptr_t)cfa) - SW_WORD) == 0 ? SW_STOP_ROOT_ZERO
                                                                                         : SW_STOP_NONE;
}

/* Whether the frame is the last one, as far as that can be told from here: NONE where not. */
static enum sw_stop clean_end(const struct sw_walk *walk, const struct sw_warm *warm)
{
    const struct sw_regs *regs = &walk->frame.regs;
    const uint64_t form = walk->here.form;
    const bool known = !(form & SW_FORM_FRAMED) || sw_regs_has(regs, SW_X64_RBP);
    return known ? sw_warm_end_at(warm, form, sw_regs_sp(regs), sw_regs_fp(regs)) : SW_STOP_NONE;
}

/* What quick_step takes for granted of a frame that the long way may have come to. */
static bool is_settled(const struct sw_frame *frame)
{
    return !frame->exact && (frame->regs.known & ~(SW_X64_NONVOLATILE | BIT(RSP) | BIT(RIP))) == 0;
}

static bool confirmed_step(struct sw_walk *walk, struct sw_warm *warm)
{
    const uint64_t form = walk->here.form;
    if (!(form & SW_FORM_EASY) || !(form & SW_FORM_BY_CALL) || !is_settled(&walk->frame) ||
        walk->frame.regs.r[RSP] - warm->least > warm->span)
        return false;
    note_missing(warm, &walk->frame.regs);
    return form & SW_FORM_FRAMED ? quick_step(walk, warm, true, true) : quick_step(walk, warm, false, true);
}

static SW_APART bool longer_step(struct sw_walk *walk)
{
    if (walk->here.form == 0 || walk->depth >= walk->most)
        return sw_walk_long_step(walk);
    struct sw_warm *warm = &workspace_of(walk)->warm;
    const bool is_near = sw_warm_has_window(warm);
    if (is_near && confirmed_step(walk, warm))
        return true;
    if (is_near && (walk->here.form & SW_FORM_STEPS) && warm_step(walk, warm)) {
        walk->depth++;
        return true;
    }
    const enum sw_stop end = clean_end(walk, warm);
    return end == SW_STOP_NONE ? sw_walk_long_step(walk) : sw_walk_end(walk, end);
}

bool sw_walk_next(struct sw_walk *walk)
{
    if (!walk)
        return false;
    const uint64_t form = walk->here.form;
    if (SW_UNLIKELY(!(form & SW_FORM_QUICK) || walk->depth >= walk->most))
        return longer_step(walk);
    struct sw_warm *warm = &workspace_of(walk)->warm;
    if (SW_LIKELY(form & SW_FORM_FRAMED ? quick_step(walk, warm, true, false) : quick_step(walk, warm, false, false)))
        return true;
    return longer_step(walk);
}

/* ---- a frame, and its rule the long way ---- */

bool sw_warm_find(struct sw_walk *walk)
{
    struct sw_warm *warm = &workspace_of(walk)->warm;
    const uint64_t pc = sw_regs_pc(&walk->frame.regs);
    walk->here.form = 0;
    if (!warm->cache)
        return false;
    struct sw_cached cached = { .key = sw_warm_key(warm, &walk->frame) };
    const enum sw_cache_count answer =
        pc < SW_CACHE_PC_END ? sw_cache_find(warm->cache, &warm->clocks, pc, &cached) : SW_COUNT_ABSENT;
    if (answer != SW_COUNT_HITS) {
        warm->misses++;
        sw_cache_count(warm->cache, answer, 1);
        return false;
    }
    sw_warm_code(&walk->frame.code, pc, cached.place, cached.id, cached.rest);
    walk->here = (struct sw_walk_here){ cached.where, cached.form & ~SW_FORM_QUICK, cached.place };
    return true;
}

bool sw_warm_confirm(const struct sw_unwind_request *req, const struct sw_walk_here *here)
{
    const uint64_t function = sw_regs_pc(&req->frame->regs) - (uint32_t)here->place;
    uint64_t target;
    if (!(here->form & SW_FORM_BY_CALL))
        return true;
    if (sw_is_behind_call(req, sw_regs_pc(&req->work->caller), &target) && target == function) {
        req->work->rule.trust = SW_TRUST_CONFIRMED;
        return true;
    }
    return !(here->form & SW_FORM_ONLY_SO);
}

void sw_warm_end(const struct sw_walk *walk)
{
    const struct sw_warm *warm = &workspace_of(walk)->warm;
    if (warm->cache)
        sw_cache_count(warm->cache, SW_COUNT_HITS, walk->depth - warm->misses - warm->replayed);
}
