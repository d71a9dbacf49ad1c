/*
 * Addresses only: the pcs of a walk without its frames. Over frames that the cache has in brief, or the replay memory
 * knows, only pc, sp and the frame pointer are followed, in registers of this processor. Where one is met that takes
 * more, the way there is gone again with all registers (sw_walk_next), so that the answer is always that of the whole
 * walk.
 */
#include "walk/known.h"

/*
 * What an entry says: how many bytes below the CFA rbp is saved, 0: it is not; whether there is another frame, EASY to
 * come to; whether a frame pointer leads to it; whether there is none; from bit 32 on, how far the CFA is above sp.
 */
enum { BELOW = 0xff, EASY = 0x100, FRAMED = 0x200, END = 0x400, OFFSET_SHIFT = 32 };

enum { DEFAULT_FRAMES = 10000 };

/* ---- what the cache has in brief ---- */

/*
 * A walk's view of it.
 *
 * epoch  All that is read belongs to it, or is not used in the end.  key: what a pc has in its entry's key beside
 * itself.
 */
struct view {
    struct sw_briefs *briefs;
    uint64_t epoch;
    uint64_t key;
};

static void find_key(struct view *view, const struct sw_warm *warm)
{
    view->key = atomic_load_explicit(&view->briefs->tag, memory_order_relaxed) ^ warm->flags;
}

static bool open_view(struct view *view, struct sw_warm *warm)
{
    view->briefs = &warm->cache->briefs;
    view->epoch =
        warm->stamp == SW_STAMP_NEVER ? SW_BRIEF_CLOSED : sw_brief_open(view->briefs, warm->quiet, warm->stamp);
    find_key(view, warm);
    return view->epoch != SW_BRIEF_CLOSED;
}

static uint64_t brief_of(const struct sw_cached *cached)
{
    const uint64_t form = cached->form, below = cached->where & 0xff;
    const bool easy = form & SW_FORM_EASY;
    return (easy ? EASY | below * SW_WORD | sw_quick_words(form) * SW_WORD << OFFSET_SHIFT : 0) |
           (form & SW_FORM_FRAMED ? FRAMED : 0) | (form & SW_FORM_END ? END : 0);
}

/*
 * An entry made of a pc's line. The line is asked for while nobody else writes: so what it says then holds, and whoever
 * makes all entries anew does it for clocks that are no older.
 */
static SW_APART uint32_t learn(const struct sw_warm *warm, struct view *view, uint64_t pc, uint64_t exact)
{
    struct sw_cached cached = { .key = pc | exact | warm->flags };
    uint32_t n = 0;
    if (!sw_cache_line(warm->cache, pc, cached.key) || !sw_brief_lock(view->briefs, view->epoch))
        return 0;
    if (sw_cache_find(warm->cache, &warm->clocks, pc, &cached) == SW_COUNT_HITS)
        n = sw_brief_put(view->briefs, pc | exact, warm->flags, brief_of(&cached));
    view->epoch = sw_brief_unlock(view->briefs, view->epoch);
    find_key(view, warm);
    return n;
}

/* The number of a pc's entry, or 0. exact: SW_CACHE_EXACT or 0. */
static uint32_t find(const struct sw_warm *warm, struct view *view, uint64_t pc, uint64_t exact)
{
    if (pc >= SW_CACHE_PC_END)
        return 0;
    const uint32_t n = sw_brief_find(view->briefs, pc | exact, (pc | exact) ^ view->key);
    return n ? n : learn(warm, view, pc, exact);
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

/* Whether an entry is not that of a pc; high bits of the pc are no key's. */
static SW_INLINE bool is_other(const char *entries, uint64_t bytes, uint64_t key, uint64_t pc)
{
    return ((sw_quick_load(&entry_at(entries, bytes)->key) ^ key ^ pc) | pc >> 48) != 0;
}

/* The caller's entry where the guess was none, in bytes; the next guess. 0: there is none. */
static SW_APART uint64_t find_caller(const struct sw_warm *warm, struct view *view, uint64_t pc)
{
    return pc ? find(warm, view, pc, 0) * sizeof(struct sw_brief) : 0; /* 0: the stack ends here */
}

static SW_INLINE void guess(struct view *view, uint64_t from, uint64_t caller)
{
    atomic_store_explicit(&view->briefs->entries[from / sizeof(struct sw_brief)].next, caller, memory_order_relaxed);
}

/*
 * From frame to frame of one kind. The entry of the next one is guessed by this one's, so that nothing waits for a pc
 * to be loaded; where there is a frame pointer, nothing waits for the entry either: the processor has to be told by a
 * loop of their own what does not depend on what. replay: null, or frames are staged, up to one that is remembered,
 * where *met becomes true; there must be room. Answers how many were reached.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_warm *warm, struct view *view, struct sw_at *at,
                                             uint64_t *pcs, size_t most, uint64_t kind, struct sw_replay *replay,
                                             bool *met)
{
    const uint64_t top = warm->least + warm->span;
    const uint8_t *stack = (const uint8_t *)warm->stack;
    const char *entries = (const char *)view->briefs->entries;
    uint64_t sp = at->sp, fp = at->fp, form = at->here.form, key = view->key, pc = at->pc;
    uint64_t bytes = at->line * sizeof(struct sw_brief), next_sp = replay ? sw_known_next_sp(replay) : 0;
    struct sw_known_frame *staged = replay ? replay->stage + replay->staged : NULL;
    struct sw_check *check = replay ? replay->stage_checks + replay->staged : NULL;
    size_t count = 0;
    while (count < most && (form & (EASY | FRAMED)) == kind) {
        const uint64_t cfa = cfa_of(kind | (form & ~(uint64_t)FRAMED), sp, fp);
        if (SW_UNLIKELY(cfa <= sp || cfa > top))
            break;
        const uint64_t to = sw_quick_word(stack + (uintptr_t)cfa - SW_WORD);
        const uint64_t below = kind & FRAMED ? 2 * SW_WORD : form & BELOW;
        uint64_t caller = sw_quick_load(&entry_at(entries, bytes)->next);
        if (SW_UNLIKELY(is_other(entries, caller, key, to))) {
            caller = sw_brief_at(view->briefs, to, 0) * sizeof(struct sw_brief);
            if (is_other(entries, caller, key, to)) {
                caller = find_caller(warm, view, to);
                key = view->key;
                if (caller == 0)
                    break;
            }
            guess(view, bytes, caller);
        }
        bytes = caller;
        fp = below ? sw_quick_word(stack + (uintptr_t)cfa - below) : fp;
        form = sw_quick_load(&entry_at(entries, caller)->form);
        sp = cfa;
        pc = to;
        pcs[count++] = pc;
        if (!replay)
            continue;
        staged->pc = pc;
        staged->sp = sp;
        staged->fp = fp;
        staged->form = 0; /* no more is known: not for frames with all registers */
        staged++;
        *check++ = sw_known_check(sp, pc, below, fp);
        if (sp < next_sp)
            continue;
        *met = sw_known_meets(replay, pc, sp, fp);
        if (*met)
            break;
        next_sp = sw_known_next_sp(replay);
    }
    if (replay)
        replay->staged += (uint32_t)count;
    *at = (struct sw_at){ pc, sp, fp, bytes / sizeof(struct sw_brief), { .form = form } };
    return count;
}

/* From frame to frame of both, as long as that is easy. */
static SW_INLINE size_t go(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs, size_t most,
                           struct sw_replay *replay)
{
    size_t count = 0, before;
    bool met = false;
    do {
        before = count;
        count += run(warm, view, at, pcs + count, most - count, EASY | FRAMED, replay, &met);
        if (!met)
            count += run(warm, view, at, pcs + count, most - count, EASY, replay, &met);
    } while (count > before && !met);
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
    return sw_quick_word((const uint8_t *)(warm->stack + (uintptr_t)cfa) - SW_WORD) == 0 ? SW_STOP_ROOT_ZERO
                                                                                         : SW_STOP_NONE;
}

static SW_APART size_t go_on(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs,
                             size_t most)
{
    return go(warm, view, at, pcs, most, NULL);
}

/* Whether there is a next frame to go to in this way: asked before what is remembered is left for it. */
static bool can_go(const struct sw_warm *warm, struct view *view, struct sw_at at)
{
    uint64_t pc;
    return warm->replay->tail == warm->replay->room ||
           (end_at(warm, &at) == SW_STOP_NONE && go_on(warm, view, &at, &pc, 1) != 0);
}

/* The next ones, to be remembered, up to one that is. */
static SW_APART size_t go_staging(const struct sw_warm *warm, struct view *view, struct sw_at *at, uint64_t *pcs,
                                  size_t most)
{
    struct sw_replay *replay = warm->replay;
    const uint32_t room = sw_known_room(replay);
    if (room < 2) {
        const size_t gone = go_on(warm, view, at, pcs, most);
        replay->is_lost |= gone != 0;
        return gone;
    }
    sw_known_stage_start(replay, at);
    const size_t count = go(warm, view, at, pcs, most < room ? most : room - 1, replay);
    sw_replay_count(replay, SW_REPLAY_WALKED, count);
    return count;
}

/* The same frames by what the last walk went through, where that can be. An exact frame is none to be remembered. */
static size_t replay_on(struct sw_warm *warm, struct view *view, struct sw_at *at, bool exact, uint64_t *pcs,
                        size_t most)
{
    size_t count = exact ? go_on(warm, view, at, pcs, most != 0) : 0, before = count;
    uint32_t first, recalled;
    if (exact && count == 0)
        return 0;
    do {
        before = count;
        recalled = sw_known_recall(warm, SW_FORM_EASY, 0, at, most - count, pcs + count, &first);
        count += recalled;
        if (recalled || at->line == 0)
            at->line = find(warm, view, at->pc, 0);
        at->here.form = at->line ? form_of(view, at->line) : 0;
        if (!can_go(warm, view, *at))
            break;
        count += go_staging(warm, view, at, pcs + count, most - count);
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
    if (!sw_brief_close(view->briefs, view->epoch)) {
        *count = 0;
        if (warm->replay)
            warm->replay->is_lost = true;
    } else if (*stop != SW_STOP_NONE || *count == most) {
        return true;
    }
    warm->replayed = replayed; /* all that is gone over again */
    return false;
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
    start->at.line = find(warm, view, start->at.pc, exact ? SW_CACHE_EXACT : 0);
    start->at.here.form = form_of(view, start->at.line);
    return start->at.line != 0 && (start->at.here.form & EASY);
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
    struct sw_walk_room *room = (struct sw_walk_room *)scratch->room;
    struct sw_warm *warm = &room->warm;
    struct sw_walk *walk = &room->whole;
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
