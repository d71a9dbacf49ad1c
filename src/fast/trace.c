/*
 * See trace.h. All that is remembered says: "from this pc, sp and fp, if these words are as they were, the next frame
 * is that one". It follows from the code's rules, and the words are compared at every use. So it does not matter whose
 * stack it is, nor what became of the rest of it.
 */
#include "base/hot.h"
#include "fast/trace.h"

#include "common/alloc.h"
#include "fast/valid.h"

_Static_assert(sizeof(struct sw_trace_frame) == 64, "a frame is one line of the processor's cache");
_Static_assert(sizeof(struct sw_trace_check) == 32, "and so are two checks");

enum { FRAME_BYTES = 2 * (sizeof(struct sw_trace_frame) + sizeof(struct sw_trace_check)), LINE = 64, STRANGE = 4 };
enum { WALKS = 0, REPLAYED, WALKED, FORGOTTEN };

/* The arrays, and behind them the rest: what a walk compares lies at the end of the checks. */
enum sw_status sw_replay_create(const struct sw_alloc *alloc, size_t frames, struct sw_replay **replay)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!replay || frames == 0 || frames > SW_REPLAY_MAX_FRAMES || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const size_t even = frames + frames % 2, bytes = LINE + even * FRAME_BYTES + sizeof(struct sw_replay);
    void *block = from.get(from.arg, bytes);
    if (!block)
        return SW_E_NO_MEMORY;
    struct sw_trace_frame *first = (void *)((char *)block + (0 - (uintptr_t)block) % LINE);
    struct sw_trace_check *checks = (void *)(first + 2 * even);
    struct sw_replay *made = (void *)(checks + 2 * even);
    memset(made, 0, sizeof *made); /* what was never remembered is never read, nor does it take memory */
    made->frames = first;
    made->stage = first + even;
    made->stage_checks = checks;
    made->checks = checks + even;
    made->alloc = from;
    made->block = block;
    made->bytes = bytes;
    made->room = made->first = (uint32_t)frames;
    *replay = made;
    return SW_OK;
}

void sw_replay_destroy(struct sw_replay *replay)
{
    if (replay)
        replay->alloc.put(replay->alloc.arg, replay->block, replay->bytes);
}

struct sw_replay_counts sw_replay_get_counts(const struct sw_replay *replay)
{
    if (!replay)
        return (struct sw_replay_counts){ 0 };
    return (struct sw_replay_counts){ .walks = sw_load(&replay->counts[WALKS]),
                                      .replayed = sw_load(&replay->counts[REPLAYED]),
                                      .walked = sw_load(&replay->counts[WALKED]),
                                      .resets = sw_load(&replay->counts[FORGOTTEN]) };
}

/* The memory is one walk's at a time, so that nobody writes between load and store. */
static void count(struct sw_replay *replay, unsigned which, uint64_t more)
{
    atomic_store_explicit(&replay->counts[which], sw_load(&replay->counts[which]) + more, memory_order_relaxed);
}

/* ---- one walk ---- */

static void forget(struct sw_replay *replay)
{
    count(replay, FORGOTTEN, replay->first != replay->room);
    replay->first = replay->room;
}

/*
 * Whether no change since then touches a frame's pc. Its step stands with the frame that follows from it. Where none
 * does, neither a removed nor an added range may have been there.
 */
static bool frame_holds(const struct sw_replay *replay, uint32_t i, const struct sw_changes *changes)
{
    const bool is_followed = i + 1 < replay->room && replay->checks[i + 1].follows && replay->frames[i + 1].step;
    const uint64_t step = is_followed ? replay->frames[i + 1].step : 0, pc = replay->frames[i].pc;
    return sw_entry_holds(replay->found_as_of, step, pc, changes) &&
           (is_followed || sw_entry_holds(replay->found_as_of, SW_STEP_UNRANGED, pc, changes));
}

static bool still_holds(const struct sw_replay *replay, const struct sw_changes *changes)
{
    if (replay->found_as_of >= sw_changed_last(changes))
        return true;
    for (uint32_t i = replay->first; i < replay->room; i++)
        if (!frame_holds(replay, i, changes))
            return false;
    return true;
}

SW_HOT void sw_trace_open(struct sw_lane *lane, const struct sw_walker *walker)
{
    struct sw_replay *replay = walker->replay;
    if (!replay || !sw_lane_is_open(lane))
        return;
    const uint64_t now = sw_lane_generations(lane);
    if (now == SW_FOUND_NEVER || atomic_exchange_explicit(&replay->is_busy, 1, memory_order_acquire) != 0)
        return;
    if (replay->cache != lane->cache || replay->flags != walker->flags || !still_holds(replay, &lane->changes))
        forget(replay);
    replay->cache = lane->cache;
    replay->flags = walker->flags;
    replay->found_as_of = now;
    replay->is_staging = replay->first == replay->room || replay->is_strange || ++replay->since >= SW_TRACE_EVERY;
    replay->found = replay->walked = 0;
    replay->staged = 0;
    replay->tail = replay->room;
    replay->cursor = replay->first;
    replay->stride = SW_STRIDE_LEAST;
    replay->is_lost = false;
    lane->replay = replay;
}

/* The staged frames are put in front of what the walk has met, or of nothing. */
static void remember(struct sw_replay *replay)
{
    const uint32_t tail = replay->tail, fits = replay->staged < tail ? replay->staged : tail;
    const uint32_t from = replay->staged - fits, to = tail - fits;
    replay->since = 0;
    replay->first = to;
    if (fits == 0)
        return;
    struct sw_trace_check *last = &replay->checks[tail - 1];
    const unsigned run = tail == replay->room ? 0 : last->run; /* it is the frame that was met, and is met still */
    memcpy(replay->frames + to, replay->stage + from, fits * sizeof *replay->frames);
    memcpy(replay->checks + to, replay->stage_checks + from, fits * sizeof *replay->checks);
    last->run = run & SW_RUN_MOST;
    for (struct sw_trace_check *check = last; check-- > replay->checks + to;)
        check->run = sw_trace_run(check + 1) & SW_RUN_MOST;
    if (tail == replay->room)
        replay->end_step = 0;
}

SW_HOT void sw_trace_close(struct sw_replay *replay)
{
    if (!replay)
        return;
    count(replay, WALKS, 1);
    count(replay, REPLAYED, replay->found);
    count(replay, WALKED, replay->walked);
    replay->is_strange = replay->found < replay->walked / STRANGE;
    if (replay->is_lost)
        forget(replay);
    else if (replay->is_staging)
        remember(replay);
    assert(sw_replay_is_valid(replay));
    atomic_store_explicit(&replay->is_busy, 0, memory_order_release);
}

/* ---- what is staged ---- */

/* The frame that the walk is at, come to in another way. */
static void stage_start(struct sw_replay *replay, const struct sw_at *at)
{
    const struct sw_trace_frame *last = &replay->stage[replay->staged - 1];
    if (replay->staged > 0 && last->pc == at->pc && last->sp == at->sp)
        return;
    replay->stage[replay->staged] = (struct sw_trace_frame){ .pc = at->pc, .sp = at->sp, .fp = at->fp };
    replay->stage_checks[replay->staged] = (struct sw_trace_check){ .sp = at->sp, .pc = at->pc, .fp = at->fp };
    replay->staged++;
}

/* The words that a frame was found by: pc, and fp where that has a slot. */
SW_OTHERS_FRAMES static SW_INLINE struct sw_trace_check check_of(const struct sw_lane *lane, enum sw_machine machine,
                                                                 const struct sw_trace_frame *frame)
{
    const struct sw_step_words words = sw_step_words(machine, frame->step);
    const uint64_t at_pc = frame->sp - words.pc, at_fp = words.fp ? sw_slot_address(frame->sp, words.fp) : at_pc;
    uint64_t pc = frame->pc;
    if (machine == SW_MACHINE_ARM64)
        pc |= sw_lane_word(lane->view.stack, at_pc) & ~lane->view.address; /* as signed as it is there */
    return (struct sw_trace_check){ .sp = frame->sp,
                                    .pc = pc,
                                    .fp = frame->fp,
                                    .at_pc = -(int32_t)words.pc,
                                    .fp_from_pc = (int16_t)(at_fp - at_pc),
                                    .follows = true };
}

/* Whether a frame is left without a change of which registers are known, if that matters. */
static SW_INLINE bool keeps(uint64_t step, uint64_t slots, const struct sw_trace_known *known)
{
    return !known || ((step & known->lost) | (slots & known->missing)) == 0;
}

/* One frame on, whole. */
SW_OTHERS_FRAMES static SW_INLINE bool follow(const struct sw_lane *lane, enum sw_machine machine,
                                              const struct sw_trace_known *known, struct sw_at *at,
                                              struct sw_trace_frame *to)
{
    const uint64_t slots = sw_load(&sw_cold_at(lane->cold, at->entry)->slots);
    struct sw_at next;
    uint64_t by;
    if (!(at->step & SW_STEP_EASY) || !keeps(at->step, slots, known) || !sw_lane_step(lane, at, &next, machine, &by))
        return false;
    const struct sw_cold *cold = sw_cold_at(lane->cold, next.entry);
    const uint64_t begin = sw_load(&cold->begin), end = sw_load(&cold->end);
    *to = (struct sw_trace_frame){ next.pc,
                                   next.sp,
                                   next.fp,
                                   by,
                                   slots,
                                   end ? (next.pc - begin) | (end - begin) << 32 : 0,
                                   sw_load(&cold->id),
                                   sw_load(&cold->attributes) };
    *at = next;
    return true;
}

/* See sw_trace_follow. */
SW_OTHERS_FRAMES static SW_INLINE uint32_t follow_some(struct sw_lane *lane, enum sw_machine machine,
                                                       const struct sw_trace_known *known, struct sw_at *at,
                                                       uint32_t most, struct sw_trace_frame *own,
                                                       const struct sw_trace_frame **frames)
{
    struct sw_replay *replay = lane->replay;
    uint32_t count = 0;
    *frames = own;
    if (replay)
        most = sw_trace_stride(replay, most);
    if (!replay || !sw_trace_can_stage(replay)) {
        while (count < most && follow(lane, machine, known, at, own + count))
            count++;
        if (replay)
            sw_trace_pass(replay, count);
        return count;
    }
    stage_start(replay, at);
    struct sw_trace_frame *to = replay->stage + replay->staged;
    struct sw_trace_check *check = replay->stage_checks + replay->staged;
    const uint32_t room = replay->room - replay->staged, end = room < most ? room : most;
    *frames = to;
    for (; count < end && follow(lane, machine, known, at, to); to++, count++)
        *check++ = check_of(lane, machine, to);
    replay->staged += count;
    replay->walked += count;
    return count;
}

SW_OTHERS_FRAMES uint32_t sw_trace_follow(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at,
                                          uint32_t most, struct sw_trace_frame *own,
                                          const struct sw_trace_frame **frames)
{
    return lane->machine == SW_MACHINE_ARM64 ? follow_some(lane, SW_MACHINE_ARM64, known, at, most, own, frames)
                                             : follow_some(lane, SW_MACHINE_X64, known, at, most, own, frames);
}

/* ---- what is remembered ---- */

/*
 * Whether the walk is where the one remembered was: pc, sp and fp alike. The cursor stands there then. As a rule sp
 * rises in both; where it does not, less is met.
 */
static bool meets(struct sw_replay *replay, uint64_t address, const struct sw_at *at)
{
    uint32_t cursor = replay->cursor;
    while (cursor < replay->room && replay->checks[cursor].sp < at->sp)
        cursor++;
    replay->cursor = cursor;
    if (cursor == replay->room)
        return false;
    const struct sw_trace_check *check = &replay->checks[cursor];
    return ((check->sp ^ at->sp) | ((check->pc & address) ^ at->pc) | (check->fp ^ at->fp)) == 0;
}

/* How many frames behind the one that was met can be compared: all their words are in the window. */
static uint32_t comparable(const struct sw_lane *lane, const struct sw_trace_check *met)
{
    return sw_lane_is_inside(lane, met->sp) && sw_lane_is_inside(lane, met[met->run].sp)
               ? met->run /* sp rises in a run */
               : 0;
}

/* Not 0 unless the words are as they were that led to a frame. */
SW_OTHERS_FRAMES static SW_INLINE uint64_t differs(uintptr_t stack, const struct sw_trace_check *check)
{
    const uint64_t at_pc = check->sp + (uint64_t)(int64_t)check->at_pc;
    const uint64_t at_fp = at_pc + (uint64_t)(int64_t)check->fp_from_pc;
    return (sw_lane_word(stack, at_pc) ^ check->pc) |
           (sw_lane_word(stack, at_fp) ^ (check->fp_from_pc ? check->fp : check->pc));
}

/* How many of the checks find the words as they were; their pcs. */
SW_OTHERS_FRAMES static uint32_t compare(uintptr_t stack, const struct sw_trace_check *checks, uint32_t most,
                                         uint64_t *pcs)
{
    uint32_t n = 0;
    for (; most - n >= 4; n += 4) { /* one branch for four: the loads need not wait for each other */
        const struct sw_trace_check *a = checks + n;
        if (SW_UNLIKELY((differs(stack, a) | differs(stack, a + 1) | differs(stack, a + 2) | differs(stack, a + 3)) !=
                        0))
            break;
        if (!pcs)
            continue;
        pcs[n] = a[0].pc;
        pcs[n + 1] = a[1].pc;
        pcs[n + 2] = a[2].pc;
        pcs[n + 3] = a[3].pc;
    }
    for (; n < most && differs(stack, checks + n) == 0; n++)
        if (pcs)
            pcs[n] = checks[n].pc;
    return n;
}

/* How many frames are known whole, and change nothing of which registers are known. */
static uint32_t whole_frames(const struct sw_trace_frame *frames, uint32_t most, const struct sw_trace_known *known)
{
    uint32_t n = 0;
    while (n < most && keeps(frames[n].step, frames[n].slots, known))
        n++;
    return n;
}

/*
 * Whether the walk, which has met that frame, goes on in what is remembered. While it is staged, it does so only where
 * no word differs up to the end of the run; where one does, it meets nothing before that.
 */
static bool enters(struct sw_replay *replay, const struct sw_at *at, uint32_t met, uint32_t count, bool is_all)
{
    if (!replay->is_staging || count == 0)
        return count != 0;
    if (replay->tail != replay->room)
        return true;
    if (!is_all || !sw_trace_can_stage(replay)) {
        replay->cursor = met + count + 1;
        return false;
    }
    replay->tail = met;
    if (replay->staged != 0) {
        stage_start(replay, at);
        replay->tail = met + 1;
    }
    return true;
}

SW_HOT uint32_t sw_trace_recall(struct sw_lane *lane, const struct sw_trace_known *known, struct sw_at *at, size_t most,
                                uint64_t *pcs)
{
    struct sw_replay *replay = lane->replay;
    const uint64_t address = lane->view.address;
    if (!meets(replay, address, at))
        return 0;
    const uint32_t met = replay->cursor, run = comparable(lane, &replay->checks[met]);
    const uint32_t end = run < most ? run : (uint32_t)most;
    const struct sw_trace_check *checks = replay->checks + met + 1;
    uint32_t n = compare(lane->view.stack, checks, end, pcs);
    if (known)
        n = whole_frames(replay->frames + met + 1, n, known);
    for (uint32_t i = 0; pcs && address != UINT64_MAX && i < n; i++)
        pcs[i] &= address; /* their words are signed */
    if (!enters(replay, at, met, n, n == end))
        return 0;
    replay->cursor = met + 1 + n;
    replay->stride = SW_STRIDE_LEAST;
    replay->found += n;
    lane->replayed += n;
    at->pc = checks[n - 1].pc & address;
    at->sp = checks[n - 1].sp;
    at->fp = checks[n - 1].fp;
    return n;
}
