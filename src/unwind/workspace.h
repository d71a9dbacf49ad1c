/*
 * The walker's working memory, as it lies in struct sw_scratch. The last SW_SNAPSHOT_ROOM bytes of a scratch belong to
 * the snapshot.
 */
#ifndef SW_WORKSPACE_H
#define SW_WORKSPACE_H

#include "analyze/analyze.h"
#include "fast/cache.h"
#include "cfi/cfi.h"
#include "fast/replay.h"

#include <snapwalk/walk.h>

enum {
    SW_WALK_BYTES = 8192,
    SW_WALK_SEARCH = 4000000,
    SW_SNAPSHOT_ROOM = 8192,
    SW_FETCH_BLOCK = 512,
    SW_FETCH_BLOCKS = 8,
    SW_INSN_MOST = 16
};

/*
 * Pieces of code as they were read: the instructions of a function without a read for each. direct: code that lies in
 * this process, of the image that was asked for last.
 */
struct sw_fetch {
    const struct sw_memory *memory;
    const struct sw_images *images;
    struct sw_bytes direct;
    struct sw_fetched {
        uint64_t begin;
        size_t size; /* 0: empty */
        uint8_t bytes[SW_FETCH_BLOCK + SW_INSN_MOST];
    } blocks[SW_FETCH_BLOCKS];
};

/*
 * What a walk has of the rule cache (walk/warm.h); what it has of the current frame is in walk->here.
 *
 * cache          Null: none, or the walk is not one that it serves.
 * lines, mask, next  The cache's.
 * flags          The walker's, as they stand in keys.
 * quiet          Stamps of UNRANGED and other entries from which on nothing has happened anywhere when the walk began.
 * least, span    CFAs that can be walked from directly: all words of the frame are in the window, and the caller's sp
 *                is on the declared stack, when they are least + 0 ... span.
 * stack          Where the target's address 0 would be, in those cases.
 * missing        Registers that are to be kept and are not known, at the place of SW_FORM_SAVED.
 * stamp          From before the current frame's code was looked for.
 * misses         Frames of this walk that were not found.
 * replay         The walk's while it goes on (sw_warm_open); or null.
 * replayed       Frames of this walk that were not looked for there: they are neither hits nor misses.
 * was_where, was_form  Here, before a step; apart, so that no one joins two stores that are then read one by one.
 */
struct sw_warm {
    struct sw_line *lines;
    uint64_t mask;
    _Atomic uint32_t *next;
    uint64_t flags;
    uint64_t quiet[2];
    uint64_t least;
    uint64_t span;
    uintptr_t stack;
    uint64_t missing;
    struct sw_cache *cache;
    struct sw_cache_clocks clocks;
    const struct sw_codemap *codemap;
    uint64_t stamp;
    uint64_t was_where;
    uint32_t misses;
    uint32_t replayed;
    uint64_t was_form;
    struct sw_replay *replay;
};

/*
 * is_open     fetch and left are ready: from the first step on that is not out of the cache.
 * is_found    range_rule and has_range_rule are the current frame's.
 * has_looked  A source has looked at where a rule leads to: what it says may depend on the stack.
 * by_call     But only in that its trust is CONFIRMED by the call of the function, and unconfirmed otherwise. Filled by
 *             the source; only_so: and that it says nothing then.
 * whole       Of a walk that is made in one call: stacks are short where walks are made.
 */
struct sw_workspace {
    struct sw_warm warm;
    bool is_open;
    bool is_found;
    bool has_looked;
    bool by_call;
    bool only_so;
    uint8_t unconfirmed;
    struct sw_fetch fetch;
    struct sw_cfi_work cfi;
    struct sw_analysis analysis;
    struct sw_rule rule;    /* being tried */
    struct sw_rule range_rule;    /* the one that came with the frame */
    struct sw_rule plain;   /* a forward rule without a call in front of its return address */
    struct sw_rule guess;   /* search.c: of a stack search */
    struct sw_rule doubted; /* one that assumes something and leads to no caller that has called */
    struct sw_regs caller;  /* what the rule being tried leads to */
    bool has_range_rule;
    bool has_doubted;
    uint32_t left;             /* instructions that searches of this walk may still look at: its cost is bounded */
    struct sw_state elsewhere; /* starts.c: pc's, in terms of another place's */
    struct sw_walk whole;
    uint8_t bytes[SW_WALK_BYTES];
};

_Static_assert(sizeof(struct sw_workspace) <= SW_SCRATCH_BYTES - SW_SNAPSHOT_ROOM, "the walker fits its scratch");

/* Bytes of code at pc, for sw_code.fetch (arg: a struct sw_fetch). */
const uint8_t *sw_fetch_code(void *fetch, uint64_t pc, size_t *size);
void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images);

#endif
