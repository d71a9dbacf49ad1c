/*
 * The walker's working memory, as it lies in struct sw_scratch. The last SW_SNAPSHOT_ROOM bytes of a scratch belong to
 * the snapshot.
 */
#ifndef SW_SRC_WALK_H
#define SW_SRC_WALK_H

#include "analyze/analyze.h"
#include "cfi/cfi.h"

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

struct sw_walk_room {
    struct sw_fetch fetch;
    struct sw_cfi_work cfi;
    struct sw_analysis analysis;
    struct sw_rule rule;    /* being tried */
    struct sw_rule kept;    /* the one that came with the frame */
    struct sw_rule plain;   /* a forward rule without a call in front of its return address */
    struct sw_rule doubted; /* one that assumes something and leads to no caller that has called */
    struct sw_regs caller;  /* what the rule being tried leads to */
    bool has_kept;
    bool has_doubted;
    uint32_t left;             /* instructions that searches of this walk may still look at: its cost is bounded */
    struct sw_state elsewhere; /* starts.c: pc's, in terms of another place's */
    uint8_t bytes[SW_WALK_BYTES];
};

_Static_assert(sizeof(struct sw_walk_room) <= SW_SCRATCH_BYTES - SW_SNAPSHOT_ROOM, "the walker fits its scratch");

/* Bytes of code at pc, for sw_code.fetch (arg: a struct sw_fetch). */
const uint8_t *sw_fetch_code(void *fetch, uint64_t pc, size_t *size);
void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images);

#endif
