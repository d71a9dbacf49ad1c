/*
 * An entry of the rule cache: what a walk found out about one pc. The hot part is needed to go on from there, the cold
 * part for a whole frame. How entries are shared is cache.h's; what is done with them is lane.h's.
 */
#ifndef SW_FAST_ENTRY_H
#define SW_FAST_ENTRY_H

#include "base/packed_rule.h"

#include <stdatomic.h>

/* What the step of an entry (struct sw_packed_rule) says beside its rule. */
#define SW_STEP_BY_CALL  (UINT64_C(1) << 29) /* CONFIRMED where the caller's pc is behind a call of `function` */
#define SW_STEP_ONLY_SO  (UINT64_C(1) << 30) /* and otherwise the rule does not hold */
#define SW_STEP_BEHIND   (UINT64_C(1) << 31) /* the pc is behind a call */
#define SW_STEP_END      (UINT64_C(1) << 32) /* the outermost frame: there is no rule */
#define SW_STEP_CALLS    (UINT64_C(1) << 33) /* behind a call that names something: `calls` */
#define SW_STEP_UNRANGED (UINT64_C(1) << 34) /* the code map has no range here: a new one would change the answer */
#define SW_STEP_ENTRY    (UINT64_C(1) << 35) /* set in every step: 0 is no entry (sw_hot_step) */
#define SW_STEP_POINTER  (UINT64_C(1) << 36) /* with ONLY_SO: the rule holds, too, behind a call that names nothing */
#define SW_STEP_THROUGH  (UINT64_C(1) << 37) /* with CALLS: it is named through a stub */

#define SW_STEP_SEARCHED (UINT64_C(1) << 45) /* with ONLY_SO: and only where no way forward leads to a caller */

/* As PLAIN and FRAMED, where ONLY_SO stands beside it. */
#define SW_STEP_SO_SHIFT  14
#define SW_STEP_PLAIN_SO  (SW_STEP_PLAIN << SW_STEP_SO_SHIFT)
#define SW_STEP_FRAMED_SO (SW_STEP_FRAMED << SW_STEP_SO_SHIFT)
#define SW_STEP_DIRECT_SO (SW_STEP_PLAIN_SO | SW_STEP_FRAMED_SO)

/* The lane goes on from there. Exactly one of them is set, or none. */
#define SW_STEP_EASY (SW_STEP_DIRECT | SW_STEP_DIRECT_SO | SW_STEP_SINGLE)

/* How far below its CFA an easy step may load words. */
enum { SW_LANE_BELOW = SW_SLOT_NEAR * SW_WORD };

/* What stands for a function in half a word, never 0: less than 2 GiB apart, no two have the same. */
static inline uint32_t sw_call_mark(uint64_t function)
{
    return (uint32_t)(function * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
}

/*
 * An entry as a value. That of a body stands for each pc of a stretch of code that is executing.
 *
 * key         The pc; of a body, where its code range begins. Above it: whether the pc is exact, whether it is a body,
 *             and how the walker's SW_WALK_NO_* flags differ from the cache's.
 * step, slots, same  See struct sw_packed_rule.
 * function    What SW_STEP_BY_CALL wants the caller to have called. Of a body: where it begins and ends (sw_body).
 * found       When: generation of the images << SW_FOUND_SHIFT | generation of the code map.
 * begin, end  Of the code range; 0, 0: of code without bounds.
 * id          Of the code range.
 * attributes  Of the code range: image | kind << 32 | unwind << 40 | flags << 48.
 * calls       With SW_STEP_CALLS: the mark of the function that is called in the end; 0: it may be another by now.
 */
struct sw_entry {
    uint64_t key;
    uint64_t step;
    uint64_t slots;
    uint64_t function;
    uint64_t found;
    uint64_t begin;
    uint64_t end;
    uint64_t id;
    uint64_t attributes;
    uint32_t calls;
    uint32_t same;
};

#define SW_KEY_PC_END   (UINT64_C(1) << 48)
#define SW_KEY_EXACT    (UINT64_C(1) << 48)
#define SW_KEY_FLAGS(f) ((uint64_t)(f) << 49)
#define SW_KEY_BODY     (UINT64_C(1) << 53)
#define SW_KEY_NONE     UINT64_MAX

/*
 * A step as the hot part has it. A word on a stack may be any number, a signed return address even the key of an exact
 * pc; so the lane sees that no return address leads to an entry whose key is more than a pc. Never 0: it has a source.
 */
static inline uint64_t sw_hot_step(uint64_t key, uint64_t step)
{
    return key < SW_KEY_PC_END ? step : step & ~(SW_STEP_EASY | SW_STEP_ENTRY);
}

/* A stretch of a code range, by offsets from the range's begin. */
static inline uint64_t sw_body(uint32_t begin, uint32_t end)
{
    return (uint64_t)end << 32 | begin;
}

static inline bool sw_body_has(uint64_t body, uint64_t offset)
{
    return offset >= (uint32_t)body && offset < body >> 32;
}

enum { SW_FOUND_SHIFT = 40 };
#define SW_FOUND_CODEMAP ((UINT64_C(1) << SW_FOUND_SHIFT) - 1)
#define SW_FOUND_NEVER   (UINT64_MAX >> 1) /* above all others, which is what an entry must not be */

/*
 * A prediction: a place, and above it the one that was predicted before, or sw_next_confirmed of the generation in
 * which the two entries were found to agree. Written whole, and read whole where it must be confirmed.
 */
union sw_next {
    _Atomic uint64_t whole;
    _Atomic uint32_t place; /* the lower half: both machines are little-endian */
};

/* Odd, as no place is. The same again only after 2^31 generations, by when an entry was long filled anew. */
static inline uint64_t sw_next_confirmed(uint64_t generation)
{
    return (generation << 1 | 1) << 32;
}

/* The place that was predicted before, or 0, which is nobody's. */
static inline uint64_t sw_next_before(uint64_t next)
{
    return next >> 32 & 1 ? 0 : next >> 32;
}

/*
 * The hot part.
 *
 * step   The entry's (sw_hot_step), where it holds; else 0.
 * next   Predicted: the place of the caller's entry that was met last. Any thread may write it at any time. It always
 *        leads to some entry, whose key tells whether it is the right one.
 * found  As in struct sw_entry.
 */
struct sw_hot {
    _Atomic uint64_t key;
    _Atomic uint64_t step;
    union sw_next next;
    _Atomic uint64_t found;
};

/* The cold part: the rest of struct sw_entry, and its step whether it holds or not. */
struct sw_cold {
    _Atomic uint64_t step;
    _Atomic uint64_t slots;
    _Atomic uint64_t function;
    _Atomic uint64_t begin;
    _Atomic uint64_t end;
    _Atomic uint64_t id;
    _Atomic uint64_t attributes;
    _Atomic uint32_t calls;
    _Atomic uint32_t same;
};

/* The place of one part follows from that of the other. Neither lies across two cache lines of the processor. */
_Static_assert(sizeof(struct sw_hot) == 32 && sizeof(struct sw_cold) == 2 * sizeof(struct sw_hot), "entries");

static inline uint64_t sw_load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

#endif
