/*
 * The frames of a whole walk in few words each: what a debugger lists, and what a sampler keeps that wants to know how
 * sure each address is.
 */
#ifndef SNAPWALK_SUMMARY_H
#define SNAPWALK_SUMMARY_H

#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A frame, as struct sw_frame has it.
 *
 * source, trust  enum sw_source, enum sw_trust: how pc and sp were found, and how sure they are.
 * exact          pc was being executed.
 */
struct sw_frame_summary {
    uint64_t pc;
    uint64_t sp;
    uint8_t source;
    uint8_t trust;
    bool exact;
    uint8_t reserved[5];
};

/*
 * Makes a whole walk in one call, as sw_walk_addresses does, and reports of each frame, leaf first, what is above. With
 * a cache and a window it takes three times as long as that, since trust asks for the call in front of each return
 * address, and two thirds of what sw_walk_next takes. It uses no replay memory.
 *
 * exact    As in sw_walk_start.
 * frames   Receives up to `capacity` frames.
 * stop     Receives why the walk ended. SW_STOP_NONE: it did not end; `frames` is full. May be null.
 *
 * Returns  How many were stored.
 * Memory   Allocates nothing. Uses less than 4 KiB of stack.
 * Threads  Any number, each with its own scratch.
 * Signals  Safe if walker->memory.read is.
 */
SW_API SW_NODISCARD size_t sw_walk_summaries(const struct sw_walker *walker, struct sw_scratch *scratch,
                                             const struct sw_regs *start, bool exact, struct sw_frame_summary *frames,
                                             size_t capacity, enum sw_stop *stop);

#ifdef __cplusplus
}
#endif

#endif
