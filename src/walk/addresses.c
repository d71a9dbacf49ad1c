/*
 * Addresses only: the pcs of a walk without its frames. Over frames that the cache has in brief, or the replay memory
 * knows, only pc, sp and the frame pointer are followed, in registers of this processor. Where one is met that takes
 * more, the way there is gone again with all registers (sw_walk_next), so that the answer is always that of the whole
 * walk.
 */
#include "fast/known.h"

/*
 * What an entry says: how many bytes below the CFA rbp is saved, 0: it is not; how to come to the next frame, if that
 * is easy: PLAIN, by sp, from bit 32 on how far the CFA is above it, or FRAMED, by a frame pointer; or that there is
 * none.
 */
enum { BELOW = 0xff, PLAIN = 0x100, FRAMED = 0x200, EASY = PLAIN | FRAMED, END = 0x400, FRAME = 0x800 };
enum { OFFSET_SHIFT = 32 };

enum { DEFAULT_FRAMES = 10000 };

/* ---- what the cache has in brief ---- */

/*
 * A walk's view of it. All that is read belongs to one epoch, or is not used in the end.
 *
 * is_broken  A guess has led to what is no entry: nothing is used then, either.
 */
struct view {
    struct sw_briefs *briefs;
    uint64_t epoch;
    bool is_broken;
};

static bool open_view(struct view *view, struct sw_warm *warm)
{
    view->briefs = &warm->cache->briefs;
    view->is_broken = false;
    view->epoch = warm->stamp == SW_STAMP_NEVER ? SW_BRIEF_CLOSED
                                                : sw_brief_open(view->briefs, warm->flags, warm->quiet, warm->stamp);
    return view->epoch != SW_BRIEF_CLOSED;
}

static uint64_t brief_of(const struct sw_cached *cached)
{
    const uint64_t form = cached->form, below = cached->where & 0xff;
    const uint64_t end = FRAME | (form & SW_FORM_END ? END : 0);
    if (!(form & SW_FORM_EASY))
        return end;
    return end | below * SW_WORD | (form & SW_FORM_FRAMED ? FRAMED : PLAIN) |
           sw_quick_words(form) * SW_WORD << OFFSET_SHIFT;
}

/*
 * An entry made of a pc's line. The line is asked for while nobody else writes: so what it says then holds, and whoever
 * makes all entries anew does it for clocks that are no older.
 */
static SW_APART uint32_t learn(const struct sw_warm *warm, struct view *view, uint64_t pc)
{
    struct sw_cached cached = { .key = pc | warm->flags };
    uint32_t n = 0;
    if (!sw_cache_line(warm->cache, pc, cached.key) || !sw_brief_lock(view->briefs, view->epoch))
        return 0;
    if (sw_cache_find(warm->cache, &warm->clocks, pc, &cached) == SW_COUNT_HITS)
        n = sw_brief_put(view->briefs, pc, brief_of(&cached));
    view->epoch = sw_brief_unlock(view->briefs, view->epoch);
    return n;
}

/* The number of a return address' entry, or 0. At 0 stacks end. */
static SW_APART uint32_t find(const struct sw_warm *warm, struct view *view, uint64_t pc)
{
    if (pc == 0 || pc >= SW_CACHE_PC_END)
        return 0;
    const uint32_t n = sw_brief_find(view->briefs, pc);
    return n ? n : learn(warm, view, pc);
}

static uint64_t form_of(const struct view *view, size_t n)
{
    return sw_quick_load(&view->briefs->entries[n].form);
}

/* ---- from frame to frame ---- */

static SW_INLINE uint64_t cfa_of(uint64_t form, uint64_t sp, uint64_t fp)
{
    return form & FRAMED ? fp + 2 * SW_WORD : sp + (uint64_t)((int64_t)form >> OFFSET_SHIFT);
}

static SW_INLINE const struct sw_brief *entry_at(const char *entries, uint64_t bytes)
{
    return (const struct sw_brief *)(const void *)(entries + bytes);
}

/*
 * The caller's entry, in bytes, where the guess at the callee's was none; the next guess. 0: there is none. The first
 * place where it may be is looked at at once.
 */
static SW_INLINE uint64_t find_caller(const struct sw_warm *warm, struct view *view, uint64_t callee, uint64_t pc)
{
    struct sw_brief *entries = view->briefs->entries;
    uint32_t n = sw_brief_at(view->briefs, pc, 0);
    if (n == 0 || pc == 0 || sw_quick_load(&entries[n].key) != pc)
        n = find(warm, view, pc);
    if (n != 0)
        atomic_store_explicit(&entries[callee / sizeof *entries].next, n * sizeof *entries, memory_order_relaxed);
    return n * sizeof *entries;
}

/*
 * From frame to frame of one kind. The entry of the next one is guessed by this one's, so that nothing waits for a pc
 * to be loaded; where there is a frame pointer, nothing waits for the entry either: the processor has to be told by a
 * loop of their own what does not depend on what. replay: null, or it goes up to a frame that is remembered, where *met
 * becomes true; staging: frames are staged; there must be room. Answers how many were reached.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_warm *warm, struct view *view, struct sw_at *at,
                                             uint64_t *pcs, size_t most, uint64_t kind, struct sw_replay *replay,
                                             bool staging, bool *met)
{
    const uint64_t top = warm->least + warm->span;
    const uintptr_t stack = warm->stack;
    const char *entries = (const char *)view->briefs->entries;
    uint64_t sp = at->sp, fp = at->fp, form = at->here.form;
    uint64_t entry = at->line * sizeof(struct sw_brief), next_sp = replay ? sw_known_next_sp(replay) : 0;
    struct sw_known_frame *staged = staging ? replay->stage + replay->staged : NULL;
    struct sw_check *check = staging ? replay->stage_checks + replay->staged : NULL;
    uint64_t *to = pcs;
    while (to < pcs + most && (form & kind)) {
        const uint64_t cfa = cfa_of(kind | (form & ~(uint64_t)EASY), sp, fp);
        if (SW_UNLIKELY(cfa <= sp || cfa > top))
            break;
        const uint64_t pc = sw_quick_at(stack, cfa - SW_WORD);
        const uint64_t below = kind == FRAMED ? 2 * SW_WORD : form & BELOW;
        uint64_t caller = sw_quick_load(&entry_at(entries, entry)->next);
        if (SW_UNLIKELY(sw_quick_load(&entry_at(entries, caller)->key) != pc)) {
            caller = find_caller(warm, view, entry, pc);
            if (caller == 0)
                break;
        }
        entry = caller;
        fp = below ? sw_quick_at(stack, cfa - below) : fp;
        form = sw_quick_load(&entry_at(entries, caller)->form);
        sp = cfa;
        *to++ = pc;
        if (!replay)
            continue;
        if (staging) {
            staged->pc = pc;
            staged->sp = sp;
            staged->fp = fp;
            staged->form = 0; /* no more is known: not for frames with all registers */
            staged++;
            *check++ = sw_known_check(sp, pc, below, fp);
        }
        if (sp < next_sp)
            continue;
        *met = sw_known_meets(replay, pc, sp, fp);
        if (*met)
            break;
        next_sp = sw_known_next_sp(replay);
    }
    const size_t count = (size_t)(to - pcs);
    view->is_broken |= count != 0 && form == 0;
    if (staging)
        replay->staged += (uint32_t)count;
    *at = (struct sw_at){ count ? to[-1] : at->pc, sp, fp, entry / sizeof(struct sw_brief), { .form = form } };
    return count;
}

/* From frame to frame of both, as long as that is easy: a run that ends though its kind goes on has met an obstacle. */
static SW_INLINE size_t go(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs, size_t most,
                           struct sw_replay *replay, bool staging)
{
    uint64_t kind, next = at->here.form & EASY;
    size_t count = 0;
    bool met = false;
    do {
        kind = next;
        count += kind == FRAMED ? run(warm, view, at, pcs + count, most - count, FRAMED, replay, staging, &met)
                                : run(warm, view, at, pcs + count, most - count, PLAIN, replay, staging, &met);
        next = at->here.form & EASY;
    } while (next != kind && next != 0 && !met);
    return count;
}

/* Whether the frame is the last one, as far as that can be told from here: NONE where not. */
SW_OTHERS_FRAMES static enum sw_stop end_at(const struct sw_warm *warm, const struct sw_at *at)
{
    const uint64_t form = at->here.form, cfa = cfa_of(form, at->sp, at->fp);
    if (form & END)
        return SW_STOP_ROOT;
    if (!(form & EASY) || cfa - warm->least > warm->span)
        return SW_STOP_NONE;
    return sw_quick_at(warm->stack, cfa - SW_WORD) == 0 ? SW_STOP_ROOT_ZERO : SW_STOP_NONE;
}

static SW_APART size_t go_on(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs,
                             size_t most)
{
    return go(warm, view, at, pcs, most, NULL, false);
}

/* Whether there is a next frame to go to in this way: asked before what is remembered is left for it. */
static bool can_go(const struct sw_warm *warm, struct view *view, struct sw_at at)
{
    uint64_t pc;
    return warm->replay->tail == warm->replay->room || go_on(warm, view, &at, &pc, 1) != 0;
}

/* The next ones, up to one that is remembered. */
static SW_APART size_t go_to_known(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs,
                                   size_t most)
{
    return go(warm, view, at, pcs, most, warm->replay, false);
}

/* The same, to be remembered. */
static SW_APART size_t go_staging(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs,
                                  size_t most)
{
    struct sw_replay *replay = warm->replay;
    if (!can_go(warm, view, *at))
        return 0;
    const uint32_t room = sw_known_room(replay);
    if (room < 2) {
        const size_t gone = go_on(warm, view, at, pcs, most);
        replay->is_lost |= gone != 0;
        return gone;
    }
    sw_known_stage_start(replay, at);
    return go(warm, view, at, pcs, most < room ? most : room - 1, replay, true);
}

/* The same frames by what the last walk went through, where that can be. An exact frame is none to be remembered. */
static size_t replay_on(struct sw_warm *warm, struct view *view, struct sw_at *at, bool exact, uint64_t *pcs,
                        size_t most)
{
    size_t count = exact ? go_on(warm, view, at, pcs, most != 0) : 0, before = count, walked;
    uint32_t first, recalled;
    if (exact && count == 0)
        return 0;
    do {
        before = count;
        recalled = sw_known_recall(warm, SW_FORM_EASY, 0, at, most - count, pcs + count, &first);
        count += recalled;
        if (recalled || at->line == 0)
            at->line = find(warm, view, at->pc);
        at->here.form = form_of(view, at->line);
        if (recalled && end_at(warm, at) != SW_STOP_NONE)
            break; /* most walks */
        walked = (warm->replay->is_staging ? go_staging : go_to_known)(warm, view, at, pcs + count, most - count);
        warm->replay->walked += (uint32_t)walked;
        count += walked;
    } while (count > before);
    warm->replay->last.form = 0;
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
 * From there to the end, with pc, sp and the frame pointer only; *from is where that led.
 *
 * Returns  True: that was it; *stop NONE: there was no room for more. False: behind *count frames comes one that takes
 *          more, or somebody else has written to the briefs.
 */
static bool ends_quickly(struct sw_warm *warm, struct view *view, struct start *from, uint64_t *pcs, size_t most,
                         size_t *count, enum sw_stop *stop)
{
    const size_t end = most < from->left ? most : from->left;
    const uint32_t replayed = warm->replayed;
    *count =
        warm->replay ? replay_on(warm, view, &from->at, from->exact, pcs, end) : go_on(warm, view, &from->at, pcs, end);
    *stop = SW_STOP_NONE;
    if (*count < end)
        *stop = end_at(warm, &from->at);
    else if (from->left < most)
        *stop = SW_STOP_FRAME_LIMIT;
    if (view->is_broken || !sw_brief_close(view->briefs, view->epoch)) {
        *count = 0;
        if (warm->replay)
            warm->replay->is_lost |= warm->replay->is_staging;
    } else if (*stop != SW_STOP_NONE || *count == most) {
        return true;
    }
    warm->replayed = replayed; /* all that is gone over again */
    return false;
}

/* What it takes to leave the start, into start->at. Frames that were interrupted have no entries, only lines. */
static bool find_form(struct sw_warm *warm, struct view *view, struct start *start)
{
    struct sw_at *at = &start->at;
    struct sw_cached cached = { .key = at->pc | warm->flags | SW_CACHE_EXACT };
    if (!start->exact) {
        at->line = find(warm, view, at->pc);
        at->here.form = form_of(view, at->line);
        return (at->here.form & EASY) != 0;
    }
    if (at->pc >= SW_CACHE_PC_END || sw_cache_find(warm->cache, &warm->clocks, at->pc, &cached) != SW_COUNT_HITS)
        return false;
    at->here.form = brief_of(&cached);
    return (at->here.form & EASY) != 0;
}

/* A place to go on from; where the last walk was at the very same, its entry need not be looked for. */
static bool find_place(struct sw_warm *warm, struct view *view, const struct sw_regs *regs, bool exact, size_t left,
                       struct start *start)
{
    const uint64_t needed = UINT64_C(1) << SW_X64_RIP | UINT64_C(1) << SW_X64_RSP | UINT64_C(1) << SW_X64_RBP;
    const uint64_t sp = regs->r[SW_X64_RSP];
    if (!warm->cache || !sw_warm_has_window(warm) || (regs->known & needed) != needed ||
        sp - warm->least > warm->span || !open_view(view, warm))
        return false;
    start->at = (struct sw_at){ .pc = regs->r[SW_X64_RIP], .sp = sp, .fp = regs->r[SW_X64_RBP] };
    start->exact = exact;
    start->left = left;
    if (warm->replay && !exact && sw_known_meets(warm->replay, start->at.pc, sp, start->at.fp))
        return true;
    return find_form(warm, view, start);
}

/*
 * With all registers, frame by frame; quickly again behind each that wants them. `tried`: how many frames there are
 * up to the first of those, which have been gone over quickly in vain.
 */
static SW_APART size_t walk_slowly(struct sw_walk *walk, struct sw_warm *warm, size_t tried, uint64_t *pcs, size_t most)
{
    struct start from;
    struct view view;
    size_t count = 0, more;
    enum sw_stop stop;
    while (count < most && sw_walk_next(walk)) {
        pcs[count++] = sw_regs_pc(&walk->frame.regs);
        if (count <= tried ||
            !find_place(warm, &view, &walk->frame.regs, walk->frame.exact, walk->most - walk->depth, &from))
            continue;
        const bool ended = ends_quickly(warm, &view, &from, pcs + count, most - count, &more, &stop);
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

/* Most walks are over with this. *count: how many frames there are up to one that takes more. */
static SW_APART bool walk_quickly(const struct sw_walker *walker, struct sw_warm *warm, const struct sw_regs *start,
                                  bool exact, uint64_t *pcs, size_t most, size_t *count, enum sw_stop *stop)
{
    const size_t limit = walker->max_frames ? walker->max_frames : DEFAULT_FRAMES;
    struct start from;
    struct view view;
    size_t more;
    if (most == 0 || !find_place(warm, &view, start, exact, limit - 1, &from))
        return false;
    pcs[0] = from.at.pc;
    const bool ended = ends_quickly(warm, &view, &from, pcs + 1, most - 1, &more, stop);
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
    struct sw_workspace *work = (struct sw_workspace *)scratch->words;
    struct sw_warm *warm = &work->warm;
    struct sw_walk *walk = &work->whole;
    struct sw_replay *replay = NULL;
    bool ended = false;
    most = pcs ? most : 0;
    if (walker->machine == SW_MACHINE_X64 && start->machine == SW_MACHINE_X64) {
        sw_warm_start(warm, walker);
        sw_warm_look_at_clocks(warm);
        sw_warm_open(warm, walker);
        replay = warm->replay;
        ended = walk_quickly(walker, warm, start, exact, pcs, most, &count, stop);
    }
    if (!ended) {
        sw_walk_start(walk, walker, scratch, start, exact);
        if (walk->stop == SW_STOP_NONE)
            sw_warm_look_at_clocks(warm);
        warm->replay = replay;
        count = walk_slowly(walk, warm, count, pcs, most);
        *stop = walk->stop;
    }
    if (!ended && walk->stop == SW_STOP_NONE)
        (void)sw_walk_end(walk, SW_STOP_ABORTED);
    if (replay)
        sw_replay_close(replay);
    return count;
}
