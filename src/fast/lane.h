/*
 * The fast lane: from a frame whose entry is in the rule cache to its caller, whose entry is there too, over a stack
 * that can be loaded directly. Answers a step (sw_lane_step), an end (sw_lane_end) or
 * neither, a miss; refuses to know what becomes of a miss, and which registers
 * are wanted beside pc, sp and fp (its users restore them from the entry's slots). x64: elsewhere there is no lane, but
 * entries are found all the same.
 */
#ifndef SW_FAST_LANE_H
#define SW_FAST_LANE_H

#include "fast/cache.h"
#include "fast/inline.h"

#include <snapwalk/walk.h>

#include <string.h>

/*
 * One walk's view of the cache and of its stack.
 *
 * cache     Null: the walk has none, or is not one that it serves.
 * least     CFAs that can be walked from directly: all words of the frame are in the window, and the caller's sp is on
 *           the
 * span      declared stack, when they are least + 0 ... span. span 0: there is no lane.
 * stack     Where the target's address 0 would be, in those cases.
 * tags      What the walk's keys have above the pc.
 * holds     All entries hold; otherwise each is asked.
 * found     For what is stored next: the generations from before its code was looked for.
 * misses    Frames of this walk that had no entry.  replayed: those that no entry was looked for.
 * replay    The walk's while it goes on (trace.h); or null.
 */
struct sw_lane {
    struct sw_cache *cache;
    struct sw_hot *hot;
    struct sw_cold *cold;
    uint64_t least;
    uint64_t span;
    uintptr_t stack;
    uint64_t tags;
    bool holds;
    struct sw_changes changes;
    const struct sw_codemap *codemap;
    uint64_t found;
    uint32_t misses;
    uint32_t replayed;
    struct sw_replay *replay;
};

/* A frame: registers, how its caller is reached (0: not known), and where its entry is. */
struct sw_at {
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t step;
    uint64_t entry;
};

/* For a walk that begins. lane->found is the generations of now. */
void sw_lane_start(struct sw_lane *lane, const struct sw_walker *walker);

/* The generations of code map and images into lane->found: before code is looked for that is to be stored. */
void sw_lane_note_generations(struct sw_lane *lane);

/* The entry of a frame with that pc, and where it is. False, and counted: a miss. */
bool sw_lane_find(struct sw_lane *lane, uint64_t pc, bool exact, struct sw_entry *entry, uint64_t *at);

/* Where a return address' entry is, or 0; from: the entry at which it is predicted from now on. */
SW_APART uint64_t sw_lane_look_up(const struct sw_lane *lane, uint64_t from, uint64_t pc);

/* The frame's step, of a return address whose entry is looked up. step 0: it is not known. */
void sw_lane_place(const struct sw_lane *lane, struct sw_at *at);

/*
 * Whether a frame is the last one, as far as that can be told without the long way.
 *
 * Returns  SW_STOP_ROOT, SW_STOP_ROOT_ZERO, or SW_STOP_NONE: that cannot be told here.
 */
enum sw_stop sw_lane_end(const struct sw_lane *lane, uint64_t step, uint64_t sp, uint64_t fp);

static inline bool sw_lane_is_open(const struct sw_lane *lane)
{
    return lane->span != 0;
}

SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_lane_word(uintptr_t stack, uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)(stack + (uintptr_t)address), sizeof word);
    return word;
}

static SW_INLINE bool sw_lane_is_inside(const struct sw_lane *lane, uint64_t cfa)
{
    return cfa - lane->least <= lane->span;
}

static SW_INLINE uint64_t sw_lane_cfa(uint64_t step, uint64_t sp, uint64_t fp)
{
    return (sw_step_cfa_register(step) == SW_X64_RSP ? sp : fp) + sw_step_offset(step);
}

/* Whether an entry holds, where not all do. */
static inline bool sw_lane_holds(const struct sw_lane *lane, uint64_t entry, uint64_t pc)
{
    const struct sw_hot *hot = sw_hot_at(lane->hot, entry);
    return sw_entry_holds(sw_load(&hot->found), sw_load(&hot->step), pc, &lane->changes);
}

/* Where the caller's entry is: where it is predicted, or where it should be. 0: there is none. */
static SW_INLINE uint64_t sw_lane_caller(const struct sw_lane *lane, struct sw_hot *hot, uint64_t from, uint64_t pc)
{
    const uint64_t next = sw_load(&sw_hot_at(hot, from)->next);
    if (SW_LIKELY(atomic_load_explicit(&sw_hot_at(hot, next)->key, memory_order_acquire) == pc))
        return next;
    return sw_lane_look_up(lane, from, pc);
}

/*
 * The trust of a step whose rule wants to be confirmed by the call in front of the caller's pc, which has that entry.
 * NONE: that takes the long way.
 */
static inline uint8_t sw_lane_confirm(const struct sw_lane *lane, const struct sw_at *at, uint64_t entry, uint64_t pc)
{
    const struct sw_cold *cold = sw_cold_at(lane->cold, entry);
    const uint64_t step = at->step, function = sw_load(&sw_cold_at(lane->cold, at->entry)->function);
    const bool calls = sw_load(&cold->step) & SW_STEP_CALLS;
    const int32_t distance = (int32_t)atomic_load_explicit(&cold->calls, memory_order_relaxed);
    if (calls && distance == 0)
        return SW_TRUST_NONE;
    if (calls && pc + (uint64_t)(int64_t)distance == function)
        return SW_TRUST_CONFIRMED;
    const bool names_nothing = (sw_load(&cold->step) & (SW_STEP_BEHIND | SW_STEP_CALLS)) == SW_STEP_BEHIND;
    const bool holds = !(step & SW_STEP_ONLY_SO) || (names_nothing && (step & SW_STEP_POINTER));
    return holds ? sw_step_trust(step) : SW_TRUST_NONE;
}

/*
 * One step: the fast one, from a frame whose step is easy; framed: SW_STEP_FRAMED. to: the caller; *by: at's step with
 * its trust.
 *
 * Returns  True: a step, to be believed only if the cache is still of the generation that was noted before
 *          (sw_cache_is_same). False: a miss; sw_lane_end tells whether it is the clean end of the stack.
 */
SW_OTHERS_FRAMES static SW_INLINE bool sw_lane_step(const struct sw_lane *lane, const struct sw_at *at,
                                                    struct sw_at *to, uint64_t *by, bool framed)
{
    const uint64_t step = at->step, slot = framed ? 2 * SW_WORD : sw_step_fp_slot(step);
    const uint64_t cfa = framed ? at->fp + 2 * SW_WORD : sw_lane_cfa(step, at->sp, at->fp);
    if (SW_UNLIKELY(!sw_lane_is_inside(lane, cfa) || cfa <= at->sp))
        return false;
    struct sw_hot *hot = lane->hot;
    const uintptr_t stack = lane->stack;
    const uint64_t pc = sw_lane_word(stack, cfa - SW_WORD);
    const uint64_t entry = sw_lane_caller(lane, hot, at->entry, pc);
    const uint64_t caller = sw_load(&sw_hot_at(hot, entry)->step);
    *by = step;
    if (SW_UNLIKELY(caller == 0) || (SW_UNLIKELY(!lane->holds) && !sw_lane_holds(lane, entry, pc)))
        return false;
    if (SW_UNLIKELY(step & SW_STEP_BY_CALL)) {
        const uint8_t trust = sw_lane_confirm(lane, at, entry, pc);
        *by = sw_step_with_trust(step, trust);
        if (trust == SW_TRUST_NONE)
            return false;
    }
    to->pc = pc;
    to->sp = cfa;
    to->fp = slot ? sw_lane_word(stack, cfa - slot) : at->fp;
    to->step = caller;
    to->entry = entry;
    return true;
}

/* ---- the other registers, and the code ---- */

/* The register of sw_slot_registers[i] from its slot below the CFA; rest: its byte of the slots and those behind it. */
#define SW_RESTORE(i)                                                                                                  \
    if (rest & 0xff)                                                                                                   \
        regs->r[sw_slot_registers[i]] = sw_lane_word(stack, cfa - SW_WORD * (rest & 0xff));                            \
    rest >>= 8;                                                                                                        \
    if (rest == 0)                                                                                                     \
        return;

/* All registers that a frame saves but the frame pointer, which is the first. */
SW_OTHERS_FRAMES static SW_INLINE void sw_slots_restore(struct sw_regs *regs, uintptr_t stack, uint64_t cfa,
                                                        uint64_t slots)
{
    uint64_t rest = (slots & ((UINT64_C(1) << SW_SLOTS_SAVED_SHIFT) - 1)) >> 8;
    SW_RESTORE(1)
    SW_RESTORE(2)
    SW_RESTORE(3)
    SW_RESTORE(4)
    if (rest)
        regs->r[sw_slot_registers[5]] = sw_lane_word(stack, cfa - SW_WORD * rest);
}
#undef SW_RESTORE

/* Attributes as in struct sw_entry, into a code range. */
static SW_INLINE void sw_entry_attributes(struct sw_range *code, uint64_t attributes)
{
    code->image = (uint32_t)attributes;
    code->kind = (uint8_t)(attributes >> 32);
    code->unwind = (uint8_t)(attributes >> 40);
    code->flags = (uint16_t)(attributes >> 48);
}

#endif
