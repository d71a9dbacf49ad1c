/*
 * The walker: registers in, frames out, leaf first. Knows nothing of the DoStackSnapshot contract (snapshot.h).
 */
#ifndef SNAPWALK_WALK_H
#define SNAPWALK_WALK_H

#include <snapwalk/analysis_cache.h>
#include <snapwalk/cache.h>
#include <snapwalk/codemap.h>
#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>
#include <snapwalk/replay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sources not to use: for comparisons, and for targets whose tables lie. */
#define SW_WALK_NO_TABLES        1u /* neither CFI nor unwind codes nor JIT headers */
#define SW_WALK_NO_ANALYSIS      2u
#define SW_WALK_NO_FRAME_POINTER 4u

/*
 * Code that is in no range of the code map and in no image: a runtime that has not yet told of it may be asked. find must
 * be as safe as the place that walks are made from; what it finds is not kept.
 */
struct sw_code_finder {
    bool (*find)(void *arg, uint64_t address, struct sw_range *code);
    void *arg;
};

/*
 * What a walk needs to know of its target. Plain values, all pointers borrowed; any number of walks may share one.
 *
 * machine       Not NONE.
 * memory        Reader of the target.
 * codemap       May be null.  images  May be null.
 * finder        Asked for code that is in neither; may be null.
 * analysis_cache  Where analyses of functions are kept between walks; may be null. Of this target alone.
 * cache         Where what was found at a pc is kept between walks; may be null. Of walkers with this code map and these
 *               images alone. Code that is replaced must be removed from the code map and added again, or its
 *               image be. The window of `memory` is what makes a walk out of it fast, on x64.
 * replay        What the last walk of the thread went through; may be null. With a cache and a window, on x64, whoever
 *               wants addresses only, and snapshots, are faster for it. One walk at a time has it: another one that
 *               comes meanwhile, also in a handler, goes without.
 * replaced      A return address that the target's runtime has put another in place of (CoreCLR does, to stop a thread when
 *               it returns): `at` is the stack word's address, `by` what belongs there. 0, 0: none. x64.
 * stack_begin   Lowest and one past the highest address of the stack, or 0, 0 when not known. A walk that
 * stack_end     starts elsewhere (an alternate signal stack) may enter it; only a signal frame leaves it again.
 * pac_mask      ARM64: the bits of a code address that hold a signature, as the kernel tells them (NT_ARM_PAC_MASK, the
 *               second word). 0 to derive them: from bit 48 on, or from bit 52 where there is something at that address.
 *               The tag, bits 56 to 63, goes in any case: it alone, for a target that signs nothing. Bit 55 stays and
 *               says what the others become.
 * max_frames    Cap; 0 for the default of 10,000.
 * flags         SW_WALK_NO_*.
 */
struct sw_walker {
    enum sw_machine machine;
    uint32_t flags;
    struct sw_memory memory;
    const struct sw_codemap *codemap;
    const struct sw_images *images;
    const struct sw_code_finder *finder;
    struct sw_analysis_cache *analysis_cache;
    struct {
        uint64_t at;
        uint64_t original;
    } replaced;
    uint64_t stack_begin;
    uint64_t stack_end;
    uint64_t pac_mask;
    uint32_t max_frames;
    struct sw_cache *cache;
    struct sw_replay *replay;
};

/*
 * Working memory of one walk: nothing else is needed. Uninitialised is fine; holds nothing between walks.
 * One walk at a time per scratch.
 */
#define SW_SCRATCH_BYTES 335872
struct sw_scratch {
    uint64_t words[SW_SCRATCH_BYTES / 8];
};

/*
 * A walk in progress. Treat as opaque but for `frame`, `stop` and `fault`.
 */
struct sw_walk {
    const struct sw_walker *walker;
    struct sw_scratch *scratch;
    struct sw_frame frame; /* the frame reached; valid while sw_walk_next answers true */
    enum sw_stop stop;     /* why it ended */
    struct sw_fault fault; /* more about a cut; SW_OK after a clean end */
    uint32_t depth;        /* frames delivered so far */
    uint32_t most;
    uint8_t state;
    struct sw_walk_here { /* what the cache has of the frame; form 0: nothing */
        uint64_t where;
        uint64_t form;
        uint64_t place;
    } here;
};

/*
 * Starts a walk. The first sw_walk_next delivers the frame of the start registers.
 *
 * walk, scratch  Filled; caller's memory, alive until the walk is over.
 * walker         Borrowed until then.
 * start          Copied. pc and sp must be known, the machine the walker's.
 * exact          True when start's pc was being executed; false when it is a return address (a frame handed on).
 *
 * The walk goes by the code map and the images as they are now or become while it goes on.
 *
 * Memory   Allocates nothing; stack below 4 KiB. Threads  Any number, each with its own walk and scratch.
 * Signals  Safe when walker->memory.read is.
 */
void sw_walk_start(struct sw_walk *walk, const struct sw_walker *walker, struct sw_scratch *scratch,
                   const struct sw_regs *start, bool exact);

/*
 * Goes to the next frame, leaf first.
 *
 * Returns  True: walk->frame is the next frame. False: the walk is over, walk->stop says why, and so it stays.
 * Memory, Threads, Signals  As sw_walk_start.
 */
SW_NODISCARD bool sw_walk_next(struct sw_walk *walk);

/*
 * The whole walk in one call.
 *
 * sink     Called with each frame, leaf first; the frame is valid until it returns. False ends the walk.
 *
 * Returns  Why it ended; SW_STOP_BAD_START also for null pointers.
 * Memory, Threads, Signals  As sw_walk_start; sink must be as safe as the place it is called from.
 */
SW_NODISCARD enum sw_stop sw_walk_all(const struct sw_walker *walker, struct sw_scratch *scratch,
                                      const struct sw_regs *start,
                                      bool (*sink)(void *arg, const struct sw_frame *frame), void *arg);

/*
 * The pcs of a whole walk, leaf first, and nothing else of it: the fastest way, where the walker has a cache and a window.
 *
 * exact    As in sw_walk_start.
 * pcs      Receives up to `most`.
 * stop     Receives why it ended; NONE: it has not, there was no room for more. May be null.
 *
 * Returns  How many pcs there are: those that sw_walk_next would go through.
 * Memory, Threads, Signals  As sw_walk_start.
 */
SW_NODISCARD size_t sw_walk_addresses(const struct sw_walker *walker, struct sw_scratch *scratch,
                                      const struct sw_regs *start, bool exact, uint64_t *pcs, size_t most,
                                      enum sw_stop *stop);

/*
 * Walks down to the first managed frame: the seed that DoStackSnapshot asks for.
 *
 * start    Any context of the thread, its pc executing.
 * seed     Receives the registers of the first frame in a JIT or NGEN range (start's own if it is there already).
 * fault    Where it was cut, on failure; may be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (the stack has no managed frame); SW_E_NO_RULE, SW_E_UNREADABLE and other reasons
 *          (the walk was cut before one); SW_E_ARGUMENT.
 * Memory, Threads, Signals  As sw_walk_start.
 * Source   ICorProfilerInfo2::DoStackSnapshot, Remarks, "how to get a seed" (contract-documented.md D19).
 */
SW_NODISCARD enum sw_status sw_walk_find_seed(const struct sw_walker *walker, struct sw_scratch *scratch,
                                              const struct sw_regs *start, struct sw_regs *seed,
                                              struct sw_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
