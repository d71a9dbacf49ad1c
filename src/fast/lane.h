/*
 * The fast lane: from a frame whose entry is in the rule cache to its caller, whose entry is there too, over a stack
 * that can be loaded directly. It answers a step (sw_lane_step), an end (sw_lane_end), or neither: a miss. What becomes
 * of a miss is the walk's. It follows pc, sp and fp; its users restore other registers from the entry's slots. Machines
 * differ in where a step's words are (sw_step_words): `machine` is a constant wherever it is asked once a frame.
 */
#ifndef SW_FAST_LANE_H
#define SW_FAST_LANE_H

#include "fast/cache.h"
#include "fast/inline.h"

#include <snapwalk/walk.h>

#include <string.h>

/*
 * What a step reads: entries, and words of the stack.
 *
 * stack   Where the target's address 0 would be.
 * top     The end of the stack that can be loaded: no CFA is above it. 0: there is no lane.
 * confirmed  What predictions have above their place that were confirmed since the walk began.
 * address  The bits of a return address that are not of a signature; all, where no mask says which those are: then a
 *          signed one is a miss. x64: all.
 */
struct sw_lane_view {
    struct sw_hot *hot;
    uintptr_t stack;
    uint64_t top;
    uint64_t confirmed;
    uint64_t address;
};

/*
 * The lane of one walk.
 *
 * cache     Null: the walk has none, or is not one that it serves.
 * least     Frames with CFAs from least to view.top can be left: all their words are in the window, and the caller's sp
 *           is on the declared stack.
 * base      Where the declared stack ends: a frame whose sp is there is the last. 0: that was not said.
 * tags      What the walk's keys have above the pc.
 * holds     All entries hold; otherwise each is asked.
 * found     For what is stored next: the generations from before its code was looked for.
 * misses    Frames of this walk that had no entry.
 * replayed  Frames of this walk that no entry was looked for.
 * replay    The walk's while it goes on (trace.h); or null.
 */
struct sw_lane {
    enum sw_machine machine;
    struct sw_cache *cache;
    struct sw_cold *cold;
    struct sw_lane_view view;
    uint64_t base;
    uint64_t tags;
    uint64_t least;
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

/* For a walk that begins. */
void sw_lane_start(struct sw_lane *lane, const struct sw_walker *walker);

/* The generations of code map and images: before code is looked for that is to be stored. There must be a cache. */
uint64_t sw_lane_generations(const struct sw_lane *lane);

/*
 * Looks for the entry of a frame whose pc is at->pc. at->entry: where it is; at->step: its own, or 0 unless it holds.
 * There must be a cache, whose generation was noted before.
 *
 * Returns  SW_COUNT_HITS, or the kind of miss.
 */
enum sw_cache_count sw_lane_find(const struct sw_lane *lane, struct sw_at *at, bool exact);

/*
 * The same of a frame whose pc is executing in a code range that the code map has now, by the entry of the range's
 * body. end: of the body, receives; what of it is left behind the pc may begin with an epilogue, where the entry says
 * nothing.
 */
enum sw_cache_count sw_lane_find_body(const struct sw_lane *lane, const struct sw_range *range, struct sw_at *at,
                                      uint64_t *end);

/* Where a return address' entry is, or 0; from: the entry at which it is predicted from now on. */
SW_APART uint64_t sw_lane_predict(const struct sw_lane *lane, uint64_t from, uint64_t pc);

/* What is predicted at an entry was found to be a step of the lane, since view.confirmed was set. */
static inline void sw_lane_note_confirmed(const struct sw_lane *lane, uint64_t from, uint64_t entry)
{
    union sw_next *next = &sw_hot_at(lane->view.hot, from)->next;
    atomic_store_explicit(&next->whole, entry | lane->view.confirmed, memory_order_relaxed);
}

/*
 * The index leads to the entry `to` where `from` may predict another one of the same key: one that had lost its place
 * in the index and was stored again when it did not hold any more. Its key would be found right, and never its step.
 * from: 0: no entry.
 */
static inline void sw_lane_correct(const struct sw_lane *lane, uint64_t from, uint64_t to)
{
    struct sw_hot *hot = lane->view.hot;
    union sw_next *next = &sw_hot_at(hot, from)->next;
    const uint64_t place = atomic_load_explicit(&next->place, memory_order_relaxed);
    if (from != 0 && place != to && sw_load(&sw_hot_at(hot, place)->key) == sw_load(&sw_hot_at(hot, to)->key))
        atomic_store_explicit(&next->whole, to, memory_order_relaxed);
}

static inline bool sw_lane_is_open(const struct sw_lane *lane)
{
    return lane->view.top != 0;
}

SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_lane_word(uintptr_t stack, uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)(stack + (uintptr_t)address), sizeof word);
    return word;
}

static SW_INLINE bool sw_lane_is_inside(const struct sw_lane *lane, uint64_t cfa)
{
    return cfa >= lane->least && cfa <= lane->view.top;
}

static SW_INLINE uint64_t sw_lane_cfa(enum sw_machine machine, uint64_t step, uint64_t sp, uint64_t fp)
{
    return (sw_step_cfa_register(step) == sw_regs_sp_number(machine) ? sp : fp) + sw_step_offset(step);
}

/* A return address as it is in memory, without its signature. */
static SW_INLINE uint64_t sw_lane_address(struct sw_lane_view view, enum sw_machine machine, uint64_t word)
{
    return machine == SW_MACHINE_ARM64 ? word & view.address : word;
}

/*
 * Whether a step with that CFA loads words of the window only. x64: all of them are near the CFA, and with kind the sp
 * is inside. ARM64: they are from the CFA's register on, which is not below sp, and sp is inside.
 */
static SW_INLINE bool sw_lane_reaches(const struct sw_lane *lane, uint64_t top, const struct sw_at *at,
                                      enum sw_machine machine, uint64_t kind, uint64_t cfa)
{
    const uint64_t base = cfa - sw_step_offset(at->step);
    if (SW_UNLIKELY(cfa > top) || (!(kind & (SW_STEP_PLAIN | SW_STEP_PLAIN_SO)) && SW_UNLIKELY(cfa <= at->sp)))
        return false; /* an offset from an sp inside is more than 0, and wraps nothing round */
    if (machine == SW_MACHINE_ARM64 && !(kind & (SW_STEP_PLAIN | SW_STEP_PLAIN_SO)) &&
        SW_UNLIKELY(base < at->sp || base >= cfa || (kind == 0 && at->sp < lane->least)))
        return false;
    return kind != 0 || SW_LIKELY(cfa >= lane->least);
}

/* To be looked at one by one: where sp is outside, or is not known to be inside. */
static inline uint64_t sw_step_single(uint64_t step)
{
    return step & (SW_STEP_DIRECT | SW_STEP_DIRECT_SO) ? (step & ~SW_STEP_EASY) | SW_STEP_SINGLE : step;
}

/*
 * A step as a walk with that sp can use it: without the fast lane where the walk has none or does not know the frame
 * pointer, which all easy steps keep; and to be looked at one by one where the lane's short ways are not for it: some
 * entries do not hold, sp is outside, or no short way is made for the machine (walk.c has them for x64 only).
 */
static inline uint64_t sw_lane_usable(const struct sw_lane *lane, uint64_t step, uint64_t sp, bool knows_fp)
{
    if (!sw_lane_is_open(lane) || !knows_fp)
        return step & ~SW_STEP_EASY;
    const bool is_direct = lane->holds && sw_lane_is_inside(lane, sp) && lane->machine == SW_MACHINE_X64;
    return is_direct ? step : sw_step_single(step);
}

/* A frame to go on from with pc, sp and fp only. False: these are not known. *at is without entry. */
static SW_INLINE bool sw_lane_enter(enum sw_machine machine, const struct sw_regs *regs, struct sw_at *at)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(machine);
    const uint64_t needed = UINT64_C(1) << roles->pc | UINT64_C(1) << roles->sp | UINT64_C(1) << roles->fp;
    if ((regs->known & needed) != needed)
        return false;
    *at = (struct sw_at){ .pc = regs->r[roles->pc], .sp = regs->r[roles->sp], .fp = regs->r[roles->fp] };
    return true;
}

/* Whether an entry holds, where not all do. */
static inline bool sw_lane_holds(const struct sw_lane *lane, uint64_t entry, uint64_t pc)
{
    const struct sw_hot *hot = sw_hot_at(lane->view.hot, entry);
    return sw_entry_holds(sw_load(&hot->found), sw_load(&hot->step), pc, &lane->changes);
}

/*
 * To the caller by words and entries alone, from a frame whose step is easy. kind: the step's, and then sp must be
 * inside; with ONLY_SO: along a confirmed prediction only; or 0: any kind, any sp. looks_up: an entry that is not where
 * it is predicted is looked up; otherwise that is a miss. to: may be at.
 *
 * Returns  False: a miss, and *to is as it was. True: to->step is without SW_STEP_ENTRY where the caller's entry does
 *          not hold, or is not of a return address.
 */
SW_OTHERS_FRAMES static SW_INLINE bool sw_lane_follow(const struct sw_lane *lane, struct sw_lane_view view,
                                                      const struct sw_at *at, struct sw_at *to, enum sw_machine machine,
                                                      uint64_t kind, bool looks_up)
{
    const bool is_plain = kind & (SW_STEP_PLAIN | SW_STEP_PLAIN_SO);
    const bool is_framed = kind & (SW_STEP_FRAMED | SW_STEP_FRAMED_SO), is_confirmed = kind & SW_STEP_DIRECT_SO;
    const uint64_t offset = is_framed && machine == SW_MACHINE_X64 ? 2 * SW_WORD : sw_step_offset(at->step);
    const struct sw_step_words words = is_framed ? (struct sw_step_words){ offset - SW_WORD, SW_SLOT_BELOW(offset) }
                                                 : sw_step_words(machine, at->step);
    const uint64_t cfa = is_framed  ? at->fp + offset
                         : is_plain ? at->sp + offset
                                    : sw_lane_cfa(machine, at->step, at->sp, at->fp);
    if (!sw_lane_reaches(lane, view.top, at, machine, kind, cfa))
        return false;
    const uint64_t pc = sw_lane_address(view, machine, sw_lane_word(view.stack, cfa - words.pc));
    const union sw_next *next = &sw_hot_at(view.hot, at->entry)->next;
    uint64_t entry = is_confirmed ? sw_load(&next->whole) ^ view.confirmed
                                  : atomic_load_explicit(&next->place, memory_order_relaxed);
    if (is_confirmed && SW_UNLIKELY(entry > UINT32_MAX))
        return false;
    if (SW_UNLIKELY(atomic_load_explicit(&sw_hot_at(view.hot, entry)->key, memory_order_acquire) != pc)) {
        entry = looks_up && !is_confirmed && pc != 0 ? sw_lane_predict(lane, at->entry, pc) : 0;
        if (entry == 0)
            return false;
    }
    to->fp = SW_UNLIKELY(words.fp) ? sw_lane_word(view.stack, sw_slot_address(cfa, words.fp)) : at->fp;
    to->pc = pc;
    to->sp = cfa;
    to->step = sw_load(&sw_hot_at(view.hot, entry)->step);
    to->entry = entry;
    return true;
}

/*
 * The trust of a step whose rule wants to be confirmed by the call in front of the caller's pc, which has that entry.
 * NONE: that takes the long way.
 */
static inline uint8_t sw_lane_confirm(const struct sw_lane *lane, const struct sw_at *at, uint64_t entry)
{
    const struct sw_cold *cold = sw_cold_at(lane->cold, entry);
    const uint64_t step = at->step, function = sw_load(&sw_cold_at(lane->cold, at->entry)->function);
    const uint64_t caller = sw_load(&cold->step), named = caller & (SW_STEP_BEHIND | SW_STEP_CALLS);
    const uint32_t mark = atomic_load_explicit(&cold->calls, memory_order_relaxed);
    if ((caller & SW_STEP_CALLS) && mark == sw_call_mark(function))
        return SW_TRUST_CONFIRMED;
    if ((caller & SW_STEP_CALLS) && (mark == 0 || (caller & SW_STEP_THROUGH)))
        return SW_TRUST_NONE;
    const bool holds = !(step & SW_STEP_ONLY_SO) || (named == SW_STEP_BEHIND && (step & SW_STEP_POINTER));
    return holds ? sw_step_trust(step) : SW_TRUST_NONE;
}

/*
 * One fast step, from a frame whose step is easy. to: the caller. *by: at's step with its trust.
 *
 * Returns  True: a step, to be believed only if the cache is still of the generation that was noted before
 *          (sw_cache_is_same). False: a miss; sw_lane_end tells whether it is the clean end of the stack.
 */
SW_OTHERS_FRAMES static SW_INLINE bool sw_lane_step(const struct sw_lane *lane, const struct sw_at *at,
                                                    struct sw_at *to, enum sw_machine machine, uint64_t *by)
{
    *by = at->step;
    if (!sw_lane_follow(lane, lane->view, at, to, machine, 0, true) || SW_UNLIKELY(!(to->step & SW_STEP_ENTRY)) ||
        (SW_UNLIKELY(!lane->holds) && !sw_lane_holds(lane, to->entry, to->pc)))
        return false;
    if (SW_LIKELY(!(at->step & SW_STEP_BY_CALL)))
        return true;
    const uint8_t trust = sw_lane_confirm(lane, at, to->entry);
    *by = sw_step_with_trust(at->step, trust);
    return trust != SW_TRUST_NONE;
}

/*
 * Whether a 0 in place of a return address is the end of the stack, by the step of the frame's entry: a step that only
 * a call confirms is confirmed by nothing there. But where it is the first that the code shows, and goes by no call's
 * name, the stack's base does as well.
 */
static inline bool sw_step_ends(uint64_t step, uint64_t cfa, uint64_t base)
{
    return !(step & SW_STEP_ONLY_SO) || ((step & SW_STEP_POINTER) && base != 0 && cfa == base);
}

/*
 * Whether a frame is the last one, as far as that can be told without the long way.
 *
 * Returns  SW_STOP_ROOT, SW_STOP_ROOT_BASE, SW_STOP_ROOT_ZERO, or SW_STOP_NONE: that cannot be told here.
 */
SW_OTHERS_FRAMES static SW_INLINE enum sw_stop sw_lane_end(const struct sw_lane *lane, enum sw_machine machine,
                                                           uint64_t step, uint64_t sp, uint64_t fp)
{
    const struct sw_at at = { .sp = sp, .fp = fp, .step = step };
    const uint64_t cfa = sw_lane_cfa(machine, step, sp, fp);
    if (step & SW_STEP_END)
        return SW_STOP_ROOT;
    if ((step & SW_STEP_EASY) && sp == lane->base)
        return SW_STOP_ROOT_BASE;
    if (!(step & SW_STEP_EASY) || !sw_lane_is_inside(lane, cfa) || !sw_step_ends(step, cfa, lane->base) ||
        (machine == SW_MACHINE_ARM64 && !sw_lane_reaches(lane, lane->view.top, &at, machine, 0, cfa)))
        return SW_STOP_NONE;
    const uint64_t word = sw_lane_word(lane->view.stack, cfa - sw_step_words(machine, step).pc);
    return sw_lane_address(lane->view, machine, word) == 0 ? SW_STOP_ROOT_ZERO : SW_STOP_NONE;
}

/* ---- the other registers, and the code ---- */

/* The register of sw_slot_registers[i] from its slot; rest: its byte of the slots and those behind it. */
#define SW_RESTORE(i)                                                                                                  \
    if (rest & 0xff)                                                                                                   \
        regs->r[sw_slot_registers[i]] = sw_lane_word(stack, sw_slot_address(cfa, SW_WORD * (rest & 0xff)));            \
    rest >>= 8;                                                                                                        \
    if (rest == 0)                                                                                                     \
        return;

/* All registers that a frame saves but the frame pointer, which is the first. */
SW_OTHERS_FRAMES static SW_INLINE void sw_slots_restore_x64(struct sw_regs *regs, uintptr_t stack, uint64_t cfa,
                                                            uint64_t slots)
{
    uint64_t rest = slots >> 8;
    SW_RESTORE(1)
    SW_RESTORE(2)
    SW_RESTORE(3)
    SW_RESTORE(4)
    SW_RESTORE(5)
    SW_RESTORE(6)
    if (rest)
        regs->r[sw_slot_registers[7]] = sw_lane_word(stack, sw_slot_address(cfa, SW_WORD * rest));
}
#undef SW_RESTORE

/* The same of ARM64, whose places count from a start; most frames save the first of these registers. */
SW_OTHERS_FRAMES static SW_INLINE void sw_slots_restore_arm64(struct sw_regs *regs, uintptr_t stack, uint64_t cfa,
                                                              uint64_t slots)
{
    const uint64_t start = cfa - SW_WORD * (slots >> SW_PLACES_START_SHIFT) - SW_WORD;
    uint64_t rest = slots & ((UINT64_C(1) << SW_PLACES_START_SHIFT) - 1);
    for (unsigned n = SW_ARM64_X19; rest != 0; n++, rest >>= SW_PLACE_BITS)
        if (rest & SW_PLACE_LOST)
            regs->r[n] = sw_lane_word(stack, start + SW_WORD * (rest & SW_PLACE_LOST));
}

static SW_INLINE void sw_slots_restore(struct sw_regs *regs, enum sw_machine machine, uintptr_t stack, uint64_t cfa,
                                       uint64_t slots)
{
    if (machine == SW_MACHINE_ARM64)
        sw_slots_restore_arm64(regs, stack, cfa, slots);
    else
        sw_slots_restore_x64(regs, stack, cfa, slots);
}

/* Attributes as in struct sw_entry, into a code range. */
static SW_INLINE void sw_entry_attributes(struct sw_range *code, uint64_t attributes)
{
    code->image = (uint32_t)attributes;
    code->kind = (uint8_t)(attributes >> 32);
    code->unwind = (uint8_t)(attributes >> 40);
    code->flags = (uint16_t)(attributes >> 48);
}

#endif
