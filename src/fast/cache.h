/*
 * The rule cache from the inside: one pc, one cache line. Knows how a line is read and written by many at once, and
 * when it is too old; what it says about a frame is put in and taken out by walk/warm.h.
 */
#ifndef SW_CACHE_H
#define SW_CACHE_H

#include "fast/brief.h"
#include "code/map/codemap.h"

#include <snapwalk/cache.h>

#include <stdatomic.h>

/*
 * What is known of a pc.
 *
 * key     The pc, whether it is exact, and the SW_WALK_NO_* flags of the walker, which choose among rules.
 * where   x64: six bytes, for rbp, rbx, r12 to r15: 0 not saved, otherwise saved 8 * that below the CFA. Above them, by
 *         register number, those that are unchanged. ARM64: walk/pack.h.
 * form    SW_FORM_*: the rest of the rule, and what kind of pc this is.
 * stamp   When it was found: generation of the images << 40 | generation of the code map.
 * place   pc - begin of the code range, and its size << 32; of code without bounds the size is 0.
 * id, rest  As in the code range: rest is image | kind << 32 | unwind << 40 | flags << 48.
 * calls   The displacement of the direct call in front of pc, see SW_FORM_CALLS.
 */
struct sw_cached {
    uint64_t key;
    uint64_t where;
    uint64_t form;
    uint64_t stamp;
    uint64_t place;
    uint64_t id;
    uint64_t rest;
    uint32_t calls;
};

#define SW_CACHE_PC_END   (UINT64_C(1) << 48)
#define SW_CACHE_EXACT    (UINT64_C(1) << 48)
#define SW_CACHE_FLAGS(f) ((uint64_t)(f) << 49)
#define SW_CACHE_NO_KEY   UINT64_MAX /* of no pc: also 0 may be asked for */

enum { SW_WHERE_SAME_SHIFT = 48 };

/*
 * form, from bit 0 up: source and trust as they stand in struct sw_frame; 16 bits, the saved registers by number;
 * flags; in 4 bits the register that the CFA counts from; another flag; 16 bits, signed: how many words the CFA is
 * above it.
 *
 * UNRANGED   The code map has no range there: a new one would be told instead.
 * STEPS      There is a rule. END  There is none: this is the outermost frame.
 * BY_CALL    The rule is CONFIRMED where the caller's pc is behind a call of the function that begins at pc - place.
 * ONLY_SO    And not to be used otherwise.
 * QUICK      No register that is to be kept is lost by the rule, and it is FRAMED or counts from sp. In walk->here only
 *            where no other register is known either.
 * EASY       QUICK, but for the trust: enough where only addresses are followed.
 * FRAMED     The frame begins as a frame pointer's should: the CFA is rbp + 16, the caller's rbp is right there.
 * CALLS      pc is behind a direct call, of pc + calls; calls 0: behind one through a word in memory, which may change.
 */
enum { SW_FORM_TRUST_SHIFT = 8, SW_FORM_SAVED_SHIFT = 16, SW_FORM_CFA_SHIFT = 40, SW_FORM_OFFSET_SHIFT = 48 };
enum { SW_FORM_UNRANGED_BIT = 32 };
#define SW_FORM_UNRANGED (UINT64_C(1) << SW_FORM_UNRANGED_BIT)
#define SW_FORM_STEPS    (UINT64_C(1) << 33)
#define SW_FORM_END      (UINT64_C(1) << 34)
#define SW_FORM_BY_CALL  (UINT64_C(1) << 35)
#define SW_FORM_ONLY_SO  (UINT64_C(1) << 36)
#define SW_FORM_CALLS    (UINT64_C(1) << 37)
#define SW_FORM_QUICK    (UINT64_C(1) << 38)
#define SW_FORM_FRAMED   (UINT64_C(1) << 39)
#define SW_FORM_EASY     (UINT64_C(1) << 44)

enum { SW_STAMP_SHIFT = 40 };
#define SW_STAMP_CODEMAP ((UINT64_C(1) << SW_STAMP_SHIFT) - 1)
#define SW_STAMP_NEVER   (UINT64_MAX >> 1) /* above all others, which is what a line must not be */

/* version: odd while somebody writes. Readers read it before and after, and believe only what stands between equal
 * ones. */
struct sw_line {
    _Atomic uint32_t version;
    _Atomic uint32_t calls;
    _Atomic uint64_t key;
    _Atomic uint64_t where;
    _Atomic uint64_t form;
    _Atomic uint64_t stamp;
    _Atomic uint64_t place;
    _Atomic uint64_t id;
    _Atomic uint64_t rest;
};

/* A pc has its line, and three that it may take instead. */
enum { SW_LINE_BYTES = 64, SW_CACHE_WAYS = 4 };

_Static_assert(sizeof(struct sw_line) == SW_LINE_BYTES, "a line of the cache is one of the processor's");

/*
 * lines, mask  The mask is of the bytes of all lines: those that choose one.
 * next         By line: the line of the caller that was met there last. A guess, which saves a walk from waiting for
 * one pc to look for the next; any number of a line may stand there.
 * briefs       What addresses alone take, as many as there are lines.
 */
struct sw_cache {
    struct sw_line *lines;
    uint64_t mask;
    _Atomic uint32_t *next;
    struct sw_briefs briefs;
    struct sw_alloc alloc;
    size_t bytes;
    _Atomic uint64_t counts[7]; /* in the order of struct sw_cache_counts */
};

enum sw_cache_count {
    SW_COUNT_HITS = 0,
    SW_COUNT_ABSENT,
    SW_COUNT_OUTDATED,
    SW_COUNT_BUSY,
    SW_COUNT_KEPT,
    SW_COUNT_EVICTED,
    SW_COUNT_REFUSED
};

/* Where the clocks of a walker's code map and images stand. */
struct sw_cache_clocks {
    const _Atomic uint64_t *changes; /* sw_codemap_changes */
    const _Atomic uint64_t *images;
};

/* Of the lines for a pc, its own: the mask is in bytes. 2^24 lines at most leave it 30 bits. */
static inline struct sw_line *sw_line_of(struct sw_line *lines, uint64_t mask, uint64_t pc)
{
    return (struct sw_line *)(void *)((char *)lines + (pc * UINT64_C(0x9e3779b97f4a7c15) >> 34 & mask));
}

/* Everything in a line but its key. False: it was being written. */
static inline bool sw_line_read(struct sw_line *line, uint32_t version, struct sw_cached *out)
{
    out->calls = atomic_load_explicit(&line->calls, memory_order_relaxed);
    out->where = atomic_load_explicit(&line->where, memory_order_relaxed);
    out->form = atomic_load_explicit(&line->form, memory_order_relaxed);
    out->stamp = atomic_load_explicit(&line->stamp, memory_order_relaxed);
    out->place = atomic_load_explicit(&line->place, memory_order_relaxed);
    out->id = atomic_load_explicit(&line->id, memory_order_relaxed);
    out->rest = atomic_load_explicit(&line->rest, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    return version % 2 == 0 && atomic_load_explicit(&line->version, memory_order_relaxed) == version;
}

/* Whether nothing has happened at the pc, as far as it matters, since that was found. */
static inline bool sw_cached_holds(const struct sw_cached *cached, uint64_t pc, const struct sw_cache_clocks *clocks)
{
    const unsigned kind = cached->form & SW_FORM_UNRANGED ? SW_ADDED : SW_REMOVED;
    const uint64_t changed = atomic_load_explicit(&clocks->changes[kind + sw_piece(pc)], memory_order_acquire);
    const uint64_t images = atomic_load_explicit(clocks->images, memory_order_acquire);
    return cached->stamp >> SW_STAMP_SHIFT == images && (cached->stamp & SW_STAMP_CODEMAP) >= changed;
}

/* The line that has a key, or null; it may be another's a moment later. */
struct sw_line *sw_cache_line(const struct sw_cache *cache, uint64_t pc, uint64_t key);

/*
 * Looks for cached->key, which holds pc. Wait-free, signal safe.
 *
 * Returns  SW_COUNT_HITS, and the rest of *cached is filled; else the kind of miss.
 */
enum sw_cache_count sw_cache_find(const struct sw_cache *cache, const struct sw_cache_clocks *clocks, uint64_t pc,
                                  struct sw_cached *cached);

/*
 * Puts something in, in place of the same key, of what is too old, or of another; not if another writer is just there.
 * Counts that. Wait-free, signal safe.
 */
void sw_cache_keep(struct sw_cache *cache, const struct sw_cache_clocks *clocks, uint64_t pc,
                   const struct sw_cached *cached);

void sw_cache_count(struct sw_cache *cache, enum sw_cache_count which, uint64_t count);

#endif
