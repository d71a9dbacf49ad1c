/*
 * Addresses only: the pcs of a walk without its frames. Over frames that have an entry in the rule cache, or that the
 * replay memory knows, only pc, sp and the frame pointer are followed, in registers of this processor. Where one is met
 * that takes more, the way there is gone again with all registers (sw_walk_next), so that the answer is always that of
 * the whole walk.
 */
#include "fast/trace.h"
#include "walk/scratch.h"

enum { DEFAULT_FRAMES = 10000 };

/* ---- from frame to frame ---- */

/* Where a run of frames is: what is followed. */
struct run {
    uint64_t sp;
    uint64_t fp;
    uint64_t step;
    uint64_t entry;
};

static SW_INLINE uint64_t cfa_of(const struct run *r, uint64_t kind)
{
    return kind == SW_STEP_FRAMED ? r->fp + 2 * SW_WORD : r->sp + sw_step_offset(r->step);
}

/*
 * From frame to frame of one kind, as sw_lane_step goes, in a loop of its own: the processor has to be told what does
 * not depend on what. The next entry is predicted by this one's, so that nothing waits for a pc to be loaded; where
 * there is a frame pointer, nothing waits for the entry either. replay: null, or the run ends at a frame that is
 * remembered, where *met becomes true; staging: frames are staged; there must be room. Answers how many were reached.
 */
SW_OTHERS_FRAMES static SW_INLINE size_t run(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most,
                                             uint64_t kind, struct sw_replay *replay, bool staging, bool *met)
{
    const uint64_t top = lane->least + lane->span;
    const uintptr_t stack = lane->stack;
    struct sw_hot *hot = lane->hot;
    struct run r = { at->sp, at->fp, at->step, at->entry };
    uint64_t next_sp = replay ? sw_trace_next_sp(replay) : 0, *to = pcs, *const end = pcs + most;
    struct sw_trace_frame *staged = staging ? replay->stage + replay->staged : NULL;
    struct sw_trace_check *check = staging ? replay->stage_checks + replay->staged : NULL;
    uint64_t cfa = cfa_of(&r, kind);
    if (most == 0 || cfa > top || cfa <= r.sp)
        return 0;
    for (;;) {
        const uint64_t pc = sw_lane_word(stack, cfa - SW_WORD);
        uint64_t caller = sw_load(&sw_hot_at(hot, r.entry)->next);
        if (SW_UNLIKELY(atomic_load_explicit(&sw_hot_at(hot, caller)->key, memory_order_acquire) != pc)) {
            caller = sw_lane_look_up(lane, r.entry, pc);
            if (caller == 0)
                break;
        }
        const uint64_t slot = kind == SW_STEP_FRAMED ? 2 * SW_WORD : sw_step_fp_slot(r.step);
        r.fp = slot ? sw_lane_word(stack, cfa - slot) : r.fp;
        r.step = sw_load(&sw_hot_at(hot, caller)->step);
        r.entry = caller;
        r.sp = cfa;
        *to++ = pc;
        if (staging) {
            *staged++ = (struct sw_trace_frame){ .pc = pc, .sp = cfa, .fp = r.fp }; /* for addresses only */
            *check++ = sw_trace_check_of(cfa, pc, slot, r.fp);
        }
        if (replay && cfa >= next_sp) {
            *met = sw_trace_meets(replay, pc, cfa, r.fp);
            if (*met)
                break;
            next_sp = sw_trace_next_sp(replay);
        }
        cfa = cfa_of(&r, kind);
        if (to == end || !(r.step & kind))
            break;
        SW_APART_FROM_HERE(cfa);
        if (SW_UNLIKELY(cfa > top))
            break;
        if (kind == SW_STEP_FRAMED &&
            SW_UNLIKELY(cfa <= r.sp)) /* an offset from sp is more than 0, and wraps nothing round */
            break;
    }
    const size_t count = (size_t)(to - pcs);
    if (staging)
        replay->staged += (uint32_t)count;
    *at = (struct sw_at){ count ? to[-1] : at->pc, r.sp, r.fp, r.step, r.entry };
    return count;
}

/* One frame on, from any kind. */
static SW_APART size_t single(const struct sw_lane *lane, struct sw_at *at, uint64_t *pc, struct sw_replay *replay,
                              bool staging, bool *met)
{
    struct sw_at to;
    uint64_t by;
    if (!(at->step & SW_STEP_EASY) || !sw_lane_step(lane, at, &to, &by, at->step & SW_STEP_FRAMED))
        return 0;
    *pc = to.pc;
    if (staging) {
        replay->stage[replay->staged] = (struct sw_trace_frame){ .pc = to.pc, .sp = to.sp, .fp = to.fp };
        replay->stage_checks[replay->staged++] = sw_trace_check_of(to.sp, to.pc, sw_step_fp_slot(by), to.fp);
    }
    *met = replay && sw_trace_meets(replay, to.pc, to.sp, to.fp);
    *at = to;
    return 1;
}

/*
 * From frame to frame of all kinds: a run that ends though its kind goes on has met an obstacle. Where entries are to
 * be asked each whether they hold, all are taken one by one.
 */
static SW_INLINE size_t go(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most,
                           struct sw_replay *replay, bool staging)
{
    const uint64_t in_runs = lane->holds ? SW_STEP_DIRECT : 0;
    size_t count = 0, more = 1;
    uint64_t obstacle = 0;
    bool met = false;
    while (count < most && more != 0 && !met && !(at->step & obstacle)) {
        const uint64_t kind = at->step & in_runs;
        obstacle = kind;
        if (kind == SW_STEP_FRAMED)
            more = run(lane, at, pcs + count, most - count, SW_STEP_FRAMED, replay, staging, &met);
        else if (kind == SW_STEP_PLAIN)
            more = run(lane, at, pcs + count, most - count, SW_STEP_PLAIN, replay, staging, &met);
        else
            more = single(lane, at, pcs + count, replay, staging, &met);
        count += more;
    }
    return count;
}

static SW_APART size_t go_on(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most)
{
    return go(lane, at, pcs, most, NULL, false);
}

/* ---- with a replay memory ---- */

/* Whether there is a next frame to go to in this way: asked before what is remembered is left for it. */
static bool can_go(const struct sw_lane *lane, struct sw_at at)
{
    uint64_t pc;
    return lane->replay->tail == lane->replay->room || go_on(lane, &at, &pc, 1) != 0;
}

/* The next ones, up to one that is remembered. */
static SW_APART size_t go_to_known(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most)
{
    return go(lane, at, pcs, most, lane->replay, false);
}

/* The same, to be remembered. */
static SW_APART size_t go_staging(const struct sw_lane *lane, struct sw_at *at, uint64_t *pcs, size_t most)
{
    struct sw_replay *replay = lane->replay;
    if (!can_go(lane, *at))
        return 0;
    const uint32_t room = sw_trace_room(replay);
    if (room < 2) {
        const size_t lost = go_on(lane, at, pcs, most);
        replay->is_lost |= lost != 0;
        return lost;
    }
    sw_trace_stage_start(replay, at);
    return go(lane, at, pcs, most < room ? most : room - 1, replay, true);
}

/* The same frames by what the last walk went through, where that can be. An exact frame is none to be remembered. */
static size_t replay_on(struct sw_lane *lane, struct sw_at *at, bool exact, uint64_t *pcs, size_t most)
{
    size_t count = exact ? go_on(lane, at, pcs, most != 0) : 0, before;
    uint32_t first;
    if (exact && count == 0)
        return 0;
    do {
        before = count;
        const uint32_t recalled = sw_trace_recall(lane, NULL, at, most - count, pcs + count, &first);
        count += recalled;
        if (recalled || at->step == 0)
            sw_lane_place(lane, at);
        if (recalled && sw_lane_end(lane, at->step, at->sp, at->fp) != SW_STOP_NONE)
            break; /* most walks */
        const size_t walked =
            (lane->replay->is_staging ? go_staging : go_to_known)(lane, at, pcs + count, most - count);
        lane->replay->walked += (uint32_t)walked;
        count += walked;
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
 * From there to the end, with pc, sp and the frame pointer only; *from is where that led.
 *
 * Returns  True: that was it; *stop NONE: there was no room for more. False: behind *count frames comes one that takes
 *          more, or entries were used again meanwhile.
 */
static bool ends_quickly(struct sw_lane *lane, struct start *from, uint64_t *pcs, size_t most, size_t *count,
                         enum sw_stop *stop)
{
    const uint64_t generation = sw_cache_generation(lane->cache);
    const size_t end = most < from->left ? most : from->left;
    const uint32_t replayed = lane->replayed;
    *count = lane->replay ? replay_on(lane, &from->at, from->exact, pcs, end) : go_on(lane, &from->at, pcs, end);
    *stop = SW_STOP_NONE;
    const bool is_lost = *count != 0 && from->at.step == 0; /* it was led to an entry that no return address has */
    if (*count < end)
        *stop = sw_lane_end(lane, from->at.step, from->at.sp, from->at.fp);
    else if (from->left < most)
        *stop = SW_STOP_FRAME_LIMIT;
    if (is_lost || !sw_cache_is_same(lane->cache, generation)) {
        *count = 0;
        if (lane->replay)
            lane->replay->is_lost |= lane->replay->is_staging;
    } else if (*stop != SW_STOP_NONE || *count == most) {
        return true;
    }
    lane->replayed = replayed; /* all that is gone over again */
    return false;
}

/* How the start is left. */
static bool find_step(struct sw_lane *lane, struct start *start)
{
    struct sw_at *at = &start->at;
    struct sw_entry entry = { .key = at->pc | SW_KEY_EXACT };
    uint32_t n;
    if (!start->exact) {
        sw_lane_place(lane, at);
        return (at->step & SW_STEP_EASY) != 0;
    }
    if (at->pc >= SW_KEY_PC_END || sw_cache_find(lane->cache, &lane->changes, at->pc, &entry, &n) != SW_COUNT_HITS)
        return false;
    at->entry = n * sizeof *lane->hot;
    at->step = entry.step;
    return (at->step & SW_STEP_EASY) != 0;
}

/* A place to go on from; where the last walk was at the very same, its entry need not be looked up. */
static bool find_place(struct sw_lane *lane, const struct sw_regs *regs, bool exact, size_t left, struct start *start)
{
    const uint64_t needed = UINT64_C(1) << SW_X64_RIP | UINT64_C(1) << SW_X64_RSP | UINT64_C(1) << SW_X64_RBP;
    const uint64_t sp = regs->r[SW_X64_RSP];
    if (!sw_lane_is_open(lane) || (regs->known & needed) != needed || !sw_lane_is_inside(lane, sp))
        return false;
    *start = (struct start){ { .pc = regs->r[SW_X64_RIP], .sp = sp, .fp = regs->r[SW_X64_RBP] }, exact, left };
    if (lane->replay && !exact && sw_trace_meets(lane->replay, start->at.pc, sp, start->at.fp))
        return true;
    return find_step(lane, start);
}

/*
 * With all registers, frame by frame; quickly again behind each that wants them. `tried`: how many frames there are up
 * to the first of those, which have been gone over quickly in vain.
 */
static SW_APART size_t walk_slowly(struct sw_walk *walk, struct sw_lane *lane, size_t tried, uint64_t *pcs, size_t most)
{
    struct start from;
    size_t count = 0, more;
    enum sw_stop stop;
    while (count < most && sw_walk_next(walk)) {
        pcs[count++] = sw_regs_pc(&walk->frame.regs);
        if (count <= tried || !find_place(lane, &walk->frame.regs, walk->frame.exact, walk->most - walk->depth, &from))
            continue;
        const bool ended = ends_quickly(lane, &from, pcs + count, most - count, &more, &stop);
        tried = count + more;
        if (!ended)
            continue;
        count += more;
        walk->depth += (uint32_t)more;
        if (more != 0)
            walk->frame.trust = SW_TRUST_LIKELY; /* of the last of them, at least */
        if (stop != SW_STOP_NONE)
            (void)sw_walk_end(walk, stop);
        break;
    }
    return count;
}

/* Most walks are over with this. *count: how many frames there are up to one that takes more. */
static SW_APART bool walk_quickly(const struct sw_walker *walker, struct sw_lane *lane, const struct sw_regs *start,
                                  bool exact, uint64_t *pcs, size_t most, size_t *count, enum sw_stop *stop)
{
    const size_t limit = walker->max_frames ? walker->max_frames : DEFAULT_FRAMES;
    struct start from;
    size_t more;
    if (most == 0 || !find_place(lane, start, exact, limit - 1, &from))
        return false;
    pcs[0] = from.at.pc;
    const bool ended = ends_quickly(lane, &from, pcs + 1, most - 1, &more, stop);
    *count = 1 + more;
    if (ended)
        sw_cache_count(lane->cache, SW_COUNT_HITS, *count - lane->replayed);
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
    struct sw_lane *lane = &sw_walk_scratch_of(scratch)->lane;
    struct sw_walk *walk = &sw_walk_scratch_of(scratch)->whole;
    struct sw_replay *replay = NULL;
    bool ended = false;
    most = pcs ? most : 0;
    if (walker->machine == SW_MACHINE_X64 && start->machine == SW_MACHINE_X64) {
        sw_lane_start(lane, walker);
        if (walker->replay)
            sw_lane_note_generations(lane);
        sw_trace_open(lane, walker);
        replay = lane->replay;
        ended = walk_quickly(walker, lane, start, exact, pcs, most, &count, stop);
    }
    if (!ended) {
        sw_walk_start(walk, walker, scratch, start, exact);
        lane->replay = replay;
        count = walk_slowly(walk, lane, count, pcs, most);
        *stop = walk->stop;
    }
    if (!ended && walk->stop == SW_STOP_NONE)
        (void)sw_walk_end(walk, SW_STOP_ABORTED);
    sw_trace_close(replay);
    return count;
}
