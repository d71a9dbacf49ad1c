/*
 * Frames out of the rule cache (cache.h), and what is put there. The short ways through it are x64's; on ARM64 a line
 * says a frame's code and rule.
 */
#ifndef SW_SRC_WALK_WARM_H
#define SW_SRC_WALK_WARM_H

#include "unwind/unwind.h"

/* The registers that a rule may have saved, in the order of their bytes in `where`; how far below the CFA, in words. */
enum { SW_WARM_REGISTERS = 6, SW_WARM_WORDS = 255, SW_WARM_NEAR = 31 };
static const uint8_t sw_warm_registers[SW_WARM_REGISTERS] = { SW_X64_RBP, SW_X64_RBX, SW_X64_R12,
                                                              SW_X64_R13, SW_X64_R14, SW_X64_R15 };

/*
 * Whether something is saved more than SW_WARM_NEAR words below the CFA. It hardly ever is, and the less is asked of
 * the window below a frame, the nearer to its begin frames can be left directly.
 */
static inline bool sw_warm_is_far(uint64_t where)
{
    return (where & UINT64_C(0xe0e0e0e0e0e0)) != 0;
}

/* Whether frames can be left directly at all: there is a window, and they are x64's. */
static inline bool sw_warm_has_window(const struct sw_warm *warm)
{
    return warm->span != 0;
}

static inline uint64_t sw_warm_key(const struct sw_warm *warm, const struct sw_frame *frame)
{
    return sw_regs_pc(&frame->regs) | warm->flags | (frame->exact ? SW_CACHE_EXACT : 0);
}

/* The code range that a line says; rest, place and id as in struct sw_cached. */
static inline void sw_warm_code(struct sw_range *code, uint64_t pc, uint64_t place, uint64_t id, uint64_t rest)
{
    const uint64_t size = place >> 32, begin = pc - (uint32_t)place;
    code->id = id;
    code->image = (uint32_t)rest;
    code->kind = (uint8_t)(rest >> 32);
    code->unwind = (uint8_t)(rest >> 40);
    code->flags = (uint16_t)(rest >> 48);
    code->begin = size ? begin : 0;
    code->end = size ? begin + size : 0;
}

/* Fills room->warm for a walk that starts. */
void sw_warm_start(struct sw_warm *warm, const struct sw_walker *walker);

/* The clocks of the walker's code map and images as a stamp, into warm->stamp: before the frame's code is looked for.
 */
void sw_warm_look_at_clocks(struct sw_warm *warm);

/*
 * Takes the walker's replay memory into warm->replay, if it has one, it is free, and the walk can use it; after
 * sw_warm_start, and with warm->stamp of now. Who takes it closes it (sw_replay_close), on every path.
 */
void sw_warm_open(struct sw_warm *warm, const struct sw_walker *walker);

/* The code of the walk's frame, whose regs, exact and lookup are set, and walk->here. False, and counted: a miss. */
bool sw_warm_find(struct sw_walk *walk);

/* The frame's rule, out of here. */
void sw_warm_rule(enum sw_machine machine, const struct sw_walk_here *here, struct sw_rule *rule);

/* Whether the rule in room->rule, which is here's and led to room->caller, holds; its trust is set. */
bool sw_warm_confirm(const struct sw_unwind_request *req, const struct sw_walk_here *here);

/*
 * Keeps what was found for the frame: work->rule, unless that depends on the stack. The frame was a miss.
 */
void sw_warm_keep(const struct sw_unwind_request *req, const struct sw_found *found);

/*
 * Whether a frame of that form (walk->here) is the last one, as far as that can be told without the long way: ROOT,
 * ROOT_ZERO, or NONE where not. fp is looked at only where the form is FRAMED, and must be known then.
 */
enum sw_stop sw_warm_end_at(const struct sw_warm *warm, uint64_t form, uint64_t sp, uint64_t fp);

/* Counts the frames of a walk that is over. */
void sw_warm_end(const struct sw_walk *walk);

/* sw_walk_next (warm.c) for a frame that takes more than the cache: walk.c. */
bool sw_walk_long_step(struct sw_walk *walk);

/* Ends a walk; walk.c. False. */
bool sw_walk_end(struct sw_walk *walk, enum sw_stop stop);

#endif
