/*
 * The working memory of the long way from a frame to its caller.
 */
#ifndef SW_WORKSPACE_H
#define SW_WORKSPACE_H

#include "analyze/analyze.h"
#include "cfi/cfi.h"
#include "unwind/candidate.h"

#include <snapwalk/walk.h>

enum {
    SW_WALK_BYTES = 8192,
    SW_FETCH_BLOCK = 4096,
    SW_FETCH_BLOCKS = 8,
    SW_INSN_MOST = 16,
    SW_FINDING_WORDS = 512,
    SW_RULE_WORDS = 40,
    SW_STATE_WORDS = 1 + 2 * SW_REGS_MAX, /* whether there is one, and its registers */
    SW_TRIED = 40
};

/*
 * Pieces of code as they were read: the instructions of a function without a read for each.
 *
 * meter   Pays for reads, which are system calls as a rule; or null.
 * direct  Code that lies in this process, of the image that was asked for last.
 * rest    What was read at the end of a block, or of one that begins with nothing.
 * last    The block that was asked for last. oldest: the number of the one that was read longest ago.
 */
struct sw_fetch {
    const struct sw_memory *memory;
    const struct sw_images *images;
    struct sw_meter *meter;
    struct sw_bytes direct;
    struct sw_fetched {
        uint64_t begin;
        size_t size; /* 0: empty */
        uint8_t bytes[SW_FETCH_BLOCK];
    } blocks[SW_FETCH_BLOCKS];
    uint8_t rest[SW_INSN_MOST];
    struct sw_fetched *last;
    unsigned oldest;
};

/*
 * Memory of a walk. Sources leave each other no messages here: what one has to say is its candidate.
 *
 * is_found    header_rule is the current frame's. The walker's.
 * generation  Of the images when `image`, and fetch.direct, were found. They hold while it is the same.
 * image       The image that was found last, or null.
 * header_rule The rule that was found with the frame's code; its source is NONE where none was.
 * asked       Two candidates that unwind.c chooses with.
 * spare       Two more, for the source that is being asked.
 * meter       What this walk may still do.
 *
 * From here on only analysis uses it: a scratch for walks by tables ends in front of it (walk/scratch.h).
 *
 * words       findings.c: the finding at hand; rule_words, spare_rule: a rule's; scan_words, scan_rule: of one made of
 *             others; outer: what that was read from.
 * tried       call_confirmation.c: functions.
 * elsewhere   function_scan.c, dispatch.c: the state at one place, in terms of another's.
 * bytes       Of the target, for one search at a time: of code (function_scan.c), of the stack (call_confirmation.c).
 */
struct sw_workspace {
    bool is_found;
    uint64_t generation;
    const struct sw_image_entry *image;
    struct sw_meter meter, outer;
    struct sw_fetch fetch;
    struct sw_cfi_work cfi;
    struct sw_rule header_rule;
    struct sw_candidate asked[2];
    struct sw_candidate spare[2];

    struct sw_rule spare_rule, scan_rule;
    uint64_t rule_words[SW_RULE_WORDS];
    uint64_t tried[SW_TRIED];
    struct sw_state elsewhere;
    uint64_t words[SW_FINDING_WORDS];
    uint64_t scan_words[SW_FINDING_WORDS];
    uint8_t bytes[SW_WALK_BYTES];
    struct sw_analysis analysis;
};

/* What a walk may do with that budget, in units of its meter. */
static inline uint64_t sw_work_granted(uint32_t budget)
{
    if (budget == SW_WALK_BUDGET_UNLIMITED)
        return SW_METER_UNLIMITED;
    return budget == SW_WALK_BUDGET_DEFAULT ? SW_WALK_BUDGET : budget;
}

/* Bytes of code at pc, for sw_code.fetch (arg: a struct sw_fetch). */
const uint8_t *sw_fetch_code(void *fetch, uint64_t pc, size_t *size);
void sw_fetch_reset(struct sw_fetch *fetch, const struct sw_memory *memory, const struct sw_images *images,
                    struct sw_meter *meter);

#endif
