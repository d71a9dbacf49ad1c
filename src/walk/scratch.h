/*
 * A scratch, as the walker lays it out. The last SW_SNAPSHOT_ROOM bytes of it belong to the snapshot.
 */
#ifndef SW_WALK_SCRATCH_H
#define SW_WALK_SCRATCH_H

#include "fast/lane.h"
#include "unwind/workspace.h"

/*
 * lane   The walk's view of the rule cache.
 * whole  Of a walk that is made in one call: stacks are short where walks are made.
 * work   The long way's; ready from the first step on that takes it (is_open). Last: a small scratch has not all of it.
 */
struct sw_walk_scratch {
    struct sw_lane lane;
    bool is_open;
    struct sw_walk whole;
    struct sw_workspace work;
};

enum { SW_SNAPSHOT_ROOM = 8192 };

_Static_assert(sizeof(struct sw_walk_scratch) <= SW_SCRATCH_BYTES - SW_SNAPSHOT_ROOM, "the walker fits its scratch");
_Static_assert(offsetof(struct sw_walk_scratch, work.spare_rule) <= SW_SCRATCH_TABLES_BYTES - SW_SNAPSHOT_ROOM,
               "a walk by tables fits a small scratch");

static inline size_t sw_scratch_bytes_of(const struct sw_walker *walker)
{
    return walker->scratch_bytes ? walker->scratch_bytes : SW_SCRATCH_BYTES;
}

/* Whether its scratches have what its walks use, and it asks for nothing that is not known yet. */
static inline bool sw_walker_is_usable(const struct sw_walker *walker)
{
    const bool by_tables = (walker->flags & SW_WALK_NO_ANALYSIS) != 0;
    uint64_t asked = 0;
    for (size_t i = 0; i < sizeof walker->reserved / sizeof walker->reserved[0]; i++)
        asked |= walker->reserved[i];
    return asked == 0 && sw_scratch_bytes_of(walker) >= (by_tables ? SW_SCRATCH_TABLES_BYTES : SW_SCRATCH_BYTES);
}

static inline struct sw_walk_scratch *sw_walk_scratch_of(struct sw_scratch *scratch)
{
    return (struct sw_walk_scratch *)(void *)scratch;
}

static inline uint32_t sw_walk_most(const struct sw_walker *walker)
{
    enum { DEFAULT_FRAMES = 10000 };
    return walker->max_frames ? walker->max_frames : DEFAULT_FRAMES;
}

/* Ends a walk. False. */
bool sw_walk_end(struct sw_walk *walk, enum sw_stop stop);

/*
 * The caller of the frame in which a walk was cut, if nothing else was wrong with it than its pc: no code is there, or
 * pc is 0. By tables, or from the function's start: what needs a call in front of the caller's pc finds none. The walk
 * stays where it is. walker: the walk's, which the caller may change.
 */
bool sw_walk_any_caller(struct sw_walk *walk, struct sw_walker *walker, struct sw_regs *caller);

#endif
