/*
 * What a memo holds, for those who write it (noting.c) and read it (memo.c).
 *
 * A register that was saved matters only where it is used later: a frame pointer where a step goes by it, or the fold
 * compares it; all that a CONTEXT has, in a callback that gets one. Native code may have anything in the others.
 */
#ifndef SW_MEMO_PARTS_H
#define SW_MEMO_PARTS_H

#include "snapshot/noting.h"

#include <string.h>

enum { WORDS = 4096, CALLBACKS = 1024, EVENTS = 2048, GROUP = 4, PATIENCE_MOST = 256 };

_Static_assert(WORDS % GROUP == 0 && sizeof(struct sw_walker) % SW_WORD == 0, "whole groups and words");

/* All that an answer depends on that is no memory of the target; own: as far as the memo needs them. */
struct asked {
    struct sw_walker walker;
    struct sw_thread thread;
    uint64_t caller;
    uint64_t codemap, images;
    uint64_t pc, sp, own[SW_X64_COUNT];
    enum sw_flavour flavour;
    uint32_t options;
    uint32_t runtime;
    DWORD event_mask;
    ULONG32 context_size;
    ULONG32 info_flags;
};

/*
 * What happens to registers, by bit: a step restores them, the frame pointer from fp_at (0: it does not), others from
 * `slots` below sp; before that they are used. Or a record gives them.
 */
struct event {
    uint64_t sp, fp_at, slots;
    uint64_t uses, gives;
};

#define FP (UINT64_C(1) << SW_X64_RBP)

/*
 * What a callback is given, in two cache lines: what changes from one to the next, of the record (TAIL_AT: from its
 * source on) and of the CONTEXT: Rbx to Rdi, R12 to Rip. Source: winnt.h, CONTEXT.
 */
enum {
    FLAGS_AT = 0x30,
    FIRST_AT = 0x90,
    SECOND_AT = 0xd8,
    IN_ROW = 5,
    TAIL_AT = offsetof(struct sw_frame_info, source),
    TAIL = sizeof(struct sw_frame_info) - TAIL_AT
};
struct told {
    FunctionID function;
    UINT_PTR ip;
    uint64_t known;
    uint8_t tail[TAIL];
    uint64_t first[IN_ROW], second[IN_ROW];
    uint32_t flags;
};

/*
 * is_noted     There is an answer.  is_noting: it is being noted; is_spoilt: but cannot be.
 * needs        The start's registers that matter, by bit.  has_reached: a record's frame was reached.
 * alike        How many answers in a row were like the one before, by sp, pc and callbacks (last). After `patience` one
 *              is noted. An answer that did not hold any more when it was needed doubles that.
 * words        As they are noted; then those without a neighbour, the others being in pairs. Both in whole groups.
 * memory       With which the inspector reads.  safe: what of it may be loaded again, later.
 */
struct sw_memo {
    struct sw_alloc alloc;
    bool is_noted, is_noting, is_spoilt, has_reached;
    uint64_t needs;
    uint32_t alike, patience;
    struct {
        uint64_t pc, sp, callbacks;
    } last;
    struct asked asked;
    struct sw_memory memory;
    struct sw_window safe[SW_MEMO_PARTS];
    enum sw_stop stop;
    const char *reason;
    uint32_t word_count, pair_count, callback_count, event_count;
    ULONG32 given_size; /* of the CONTEXTs that callbacks get */
    struct event events[EVENTS];
    struct word {
        uint64_t at, value;
    } words[WORDS];
    struct pair {
        uint64_t at, values[2];
    } pairs[WORDS];
    struct sw_frame_info record; /* the first one */
    BYTE given[SW_CONTEXT_MAX_BYTES];
    struct told callbacks[CALLBACKS];
    struct place {
        uint64_t pc;
        enum sw_kind kind;
    } places[CALLBACKS]; /* where the walk stood: for one that ends it */
};

/* Whether the call is one that a memo can answer: of the calling thread's own stack, without a seed. */
bool sw_memo_is_possible(const struct sw_call *call);

/* An answer's words, which were noted in any order and more than once, as they are compared. */
void sw_memo_pack_words(struct sw_memo *memo);

SW_OTHERS_FRAMES static SW_INLINE uint64_t sw_memo_word_at(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

#endif
