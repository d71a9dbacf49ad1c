/*
 * Addresses only: the pcs of a walk without its frames. Over frames that the cache or the replay memory knows, only pc,
 * sp and the frame pointer are followed, in registers of this processor. Where one is met that takes more, the way there
 * is gone again with all registers (sw_walk_next), so that the answer is always that of the whole walk.
 */
#include "walk/known.h"

enum { CHUNK = 16, DEFAULT_FRAMES = 10000 };

/* ---- by the lines of the cache ---- */

/* Fills what it takes to leave a pc by its line; false: it has none, or not one that can be told at once to hold. */
static SW_INLINE bool look_at_line(const struct sw_warm *warm, struct sw_line *line, uint64_t pc, struct sw_at *next)
{
    const uint32_t version = atomic_load_explicit(&line->version, memory_order_acquire) & ~UINT32_C(1);
    next->line = (size_t)(line - warm->lines);
    next->here.form = sw_quick_load(&line->form);
    next->here.where = sw_quick_load(&line->where);
    const uint64_t differs = sw_quick_differs(warm, line, pc);
    atomic_thread_fence(memory_order_acquire);
    return (differs | (atomic_load_explicit(&line->version, memory_order_relaxed) ^ version)) == 0;
}

/*
 * From frame to frame of one kind. FRAMED ones need not wait for one pc to begin with the next; for the others a guess
 * at the line saves that, where the processor has to be told by a loop of their own what does not depend on what.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_warm *warm, struct sw_at *at, uint64_t *pcs, size_t most,
                                             bool framed)
{
    const uint64_t kind = SW_FORM_EASY | (framed ? SW_FORM_FRAMED : 0);
    struct sw_at here = *at;
    size_t count = 0;
    while (count < most && (here.here.form & (SW_FORM_EASY | SW_FORM_FRAMED)) == kind) {
        struct sw_at next = { 0 };
        const uint64_t cfa = framed ? here.fp + 2 * SW_WORD : here.sp + sw_quick_words(here.here.form) * SW_WORD;
        if (SW_UNLIKELY(cfa - warm->least > warm->span || sw_quick_falls(here.sp, cfa)))
            break;
        const uint8_t *end = (const uint8_t *)(warm->stack + (uintptr_t)cfa);
        const uint64_t pc = sw_quick_word(end - SW_WORD), below = framed ? 2 : here.here.where & 0xff;
        struct sw_line *line = framed ? sw_line_of(warm->lines, warm->mask, pc) : sw_quick_guess(warm, here.line, pc);
        if (SW_UNLIKELY(!look_at_line(warm, line, pc, &next)))
            break;
        next.fp = below ? sw_quick_word(end - SW_WORD * below) : here.fp;
        next.sp = cfa;
        pcs[count++] = pc;
        here = next;
    }
    *at = here;
    return count;
}

/* From frame to frame as long as that is easy. Answers how many were reached. */
static SW_APART size_t run_ahead(const struct sw_warm *warm, struct sw_at *at, uint64_t *pcs, size_t most)
{
    size_t count = 0, before;
    do {
        before = count;
        count += run(warm, at, pcs + count, most - count, true);
        count += run(warm, at, pcs + count, most - count, false);
    } while (count > before);
    return count;
}

/* ---- by what the last walk went through ---- */

/* The next few by the lines of the cache, to be remembered. */
static size_t walk_some(struct sw_warm *warm, struct sw_at *at, uint64_t *pcs, size_t most)
{
    const size_t wanted = most < CHUNK ? most : CHUNK;
    if (sw_known_is_over(warm, SW_FORM_EASY, 0, *at))
        return 0;
    if (!sw_known_has_stage(warm->replay, CHUNK + 1))
        return run_ahead(warm, at, pcs, most);
    const uint32_t count = sw_known_walk(warm, SW_FORM_EASY, 0, at, wanted);
    const struct sw_known_frame *frames = warm->replay->stage + warm->replay->staged - count;
    for (uint32_t i = 0; i < count; i++)
        pcs[i] = frames[i].pc;
    return count;
}

/* An exact frame is none to be remembered: its pc may mean another one there. Of others the line may not be known yet. */
static SW_APART size_t replay_ahead(struct sw_warm *warm, struct sw_at *at, bool exact, uint64_t *pcs, size_t most)
{
    struct sw_known_frame next;
    size_t count = 0, before;
    uint32_t first;
    if (exact && (most == 0 || !sw_known_step(warm, SW_FORM_EASY, 0, at, &next, NULL)))
        return 0;
    if (exact)
        pcs[count++] = next.pc;
    do {
        before = count;
        count += sw_known_recall(warm, SW_FORM_EASY, 0, at, most - count, pcs + count, &first);
        if (at->here.form == 0)
            at->here = sw_known_look(warm, at->pc);
        count += walk_some(warm, at, pcs + count, most - count);
    } while (count > before);
    return count;
}

/* ---- the whole walk ---- */

/* Where to go on: the frame at hand, whether it is exact, and how many frames the walk may still reach. */
struct start {
    struct sw_at at;
    bool exact;
    size_t left;
};

/*
 * From there to the end, with pc, sp and the frame pointer only.
 *
 * Returns  True: that was it; *stop NONE: there was no room for more. False: behind *count frames comes one that takes more.
 */
static bool ends_quickly(struct sw_warm *warm, struct start from, uint64_t *pcs, size_t most, size_t *count,
                         enum sw_stop *stop)
{
    const size_t end = most < from.left ? most : from.left;
    *count = warm->replay ? replay_ahead(warm, &from.at, from.exact, pcs, end) : run_ahead(warm, &from.at, pcs, end);
    *stop = SW_STOP_NONE;
    if (*count < end)
        *stop = sw_warm_end_at(warm, from.at.here.form, from.at.sp, from.at.fp);
    else if (from.left < most)
        *stop = SW_STOP_FRAME_LIMIT;
    return *stop != SW_STOP_NONE || *count == most;
}

static bool can_go_quickly(const struct sw_warm *warm, const struct sw_regs *regs)
{
    return warm->cache && sw_warm_has_window(warm) && sw_regs_has(regs, SW_X64_RBP) &&
           regs->r[SW_X64_RSP] - warm->least <= warm->span;
}

/*
 * The start registers' frame as a place to go on from, if the cache knows it. Where the last walk was at the very same,
 * its line need not be looked for.
 */
static bool find_start(const struct sw_walker *walker, const struct sw_warm *warm, const struct sw_regs *regs,
                       bool exact, struct start *start)
{
    const uint64_t pc = regs->r[SW_X64_RIP], sp = regs->r[SW_X64_RSP], fp = regs->r[SW_X64_RBP];
    struct sw_cached cached = { .key = pc | warm->flags | (exact ? SW_CACHE_EXACT : 0) };
    if (!can_go_quickly(warm, regs) || pc >= SW_CACHE_PC_END || !sw_regs_has(regs, SW_X64_RIP) ||
        !sw_regs_has(regs, SW_X64_RSP))
        return false;
    *start = (struct start){ { .pc = pc, .sp = sp, .fp = fp, .line = sw_known_line_number(warm, pc) },
                             exact,
                             (walker->max_frames ? walker->max_frames : DEFAULT_FRAMES) - 1 };
    if (warm->replay && !exact && sw_known_meets(warm->replay, &start->at))
        return true;
    if (sw_cache_find(warm->cache, &warm->clocks, pc, &cached) != SW_COUNT_HITS || !(cached.form & SW_FORM_EASY))
        return false;
    start->at.here = (struct sw_walk_here){ cached.where, cached.form, cached.place };
    return true;
}

/* A walk's frame as one. */
static bool find_place(const struct sw_walk *walk, const struct sw_warm *warm, struct start *start)
{
    const struct sw_regs *regs = &walk->frame.regs;
    if (!(walk->here.form & SW_FORM_EASY) || !can_go_quickly(warm, regs))
        return false;
    *start = (struct start){ { regs->r[SW_X64_RIP], regs->r[SW_X64_RSP], regs->r[SW_X64_RBP],
                               sw_known_line_number(warm, regs->r[SW_X64_RIP]), walk->here },
                             walk->frame.exact,
                             walk->most - walk->depth };
    return true;
}

/*
 * With all registers, frame by frame; quickly again behind each that wants them. `steps`: how many frames there are
 * before the first of those, which have been gone over quickly in vain.
 */
static size_t walk_slowly(struct sw_walk *walk, struct sw_warm *warm, size_t steps, uint64_t *pcs, size_t most)
{
    struct start from;
    size_t count = 0, tried = steps, more;
    enum sw_stop stop;
    while (count < most && sw_walk_next(walk)) {
        pcs[count++] = sw_regs_pc(&walk->frame.regs);
        if (count <= tried || !find_place(walk, warm, &from))
            continue;
        const bool ended = ends_quickly(warm, from, pcs + count, most - count, &more, &stop);
        tried = count + more;
        if (!ended)
            continue;
        count += more;
        walk->depth += (uint32_t)more;
        if (stop != SW_STOP_NONE)
            (void)sw_walk_end(walk, stop);
        break;
    }
    return count;
}

/* The first frame's line is not asked for in vain: with it, most walks are over. */
static bool walk_quickly(const struct sw_walker *walker, struct sw_warm *warm, const struct sw_regs *start, bool exact,
                         uint64_t *pcs, size_t most, size_t *count, enum sw_stop *stop)
{
    struct start from;
    size_t more;
    *count = 0;
    if (most == 0 || !find_start(walker, warm, start, exact, &from))
        return false;
    pcs[0] = from.at.pc;
    const bool ended = ends_quickly(warm, from, pcs + 1, most - 1, &more, stop);
    *count = 1 + more;
    if (ended)
        sw_cache_count(warm->cache, SW_COUNT_HITS, *count - warm->replayed);
    return ended;
}

size_t sw_walk_addresses(const struct sw_walker *walker, struct sw_scratch *scratch, const struct sw_regs *start,
                         bool exact, uint64_t *pcs, size_t most, enum sw_stop *stop)
{
    enum sw_stop ignored;
    size_t count = 0;
    stop = stop ? stop : &ignored;
    *stop = SW_STOP_BAD_START;
    if (!walker || !scratch || !start)
        return 0;
    struct sw_warm *warm = &((struct sw_walk_room *)scratch->room)->warm;
    struct sw_replay *replay = NULL;
    struct sw_walk walk;
    bool ended = false;
    most = pcs ? most : 0;
    if (walker->machine == SW_MACHINE_X64 && start->machine == SW_MACHINE_X64) {
        sw_warm_start(warm, walker);
        sw_warm_open(warm, walker);
        replay = warm->replay;
        ended = walk_quickly(walker, warm, start, exact, pcs, most, &count, stop);
    }
    if (!ended) {
        sw_walk_start(&walk, walker, scratch, start, exact);
        warm->replay = replay;
        count = walk_slowly(&walk, warm, count, pcs, most);
        *stop = walk.stop;
    }
    if (!ended && walk.stop == SW_STOP_NONE)
        (void)sw_walk_end(&walk, SW_STOP_ABORTED);
    if (replay)
        sw_replay_close(replay);
    return count;
}
