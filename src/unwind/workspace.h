/*
 * The working memory of the long way from a frame to its caller.
 */
#ifndef SW_WORKSPACE_H
#define SW_WORKSPACE_H

#include "analyze/analyze.h"
#include "cfi/cfi.h"

#include <snapwalk/walk.h>

enum {
    SW_WALK_BYTES = 8192,
    SW_WALK_SEARCH = 4000000,
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
 * is_found    range_rule and has_range_rule are the current frame's.
 * has_looked  A source has looked at where a rule leads to: what it says may depend on the stack.
 * by_call     But only in that its trust is CONFIRMED by the call of the function, and unconfirmed otherwise. Filled by
 *             the source; only_so: and that it says nothing then.
 */
struct sw_workspace {
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
    uint8_t bytes[SW_WALK_BYTES];
};

/* Bytes of code at pc, for sw_code.fetch (arg: a struct sw_fetch). */
const uint8_t *sw_fetch_code(void *fetch, uint64_t pc, size_t *size);
void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images);

#endif
