/*
 * The walker: registers in, frames out, leaf first. It knows nothing of the DoStackSnapshot contract (snapshot.h).
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

/* Sources that a walk does not use: for comparisons, and for targets with wrong tables. */
#define SW_WALK_NO_TABLES        1u /* no CFI, no unwind codes, no JIT headers */
#define SW_WALK_NO_ANALYSIS      2u
#define SW_WALK_NO_FRAME_POINTER 4u

/* The caches may keep what the finder tells: it holds as long as they do, as of a core. */
#define SW_WALK_FINDER_LASTS 8u

/*
 * How much work a walk may do, in units. One unit is one instruction that is decoded and followed, about 100 ns on a
 * machine of 2020. Other work is counted as what takes as long: 64 words of the stack that are looked through, or 32
 * that may be addresses; 64 bytes of code that are looked through, or 512 that are compared; an element of a switch
 * table, one look into the analysis cache, 256 bytes of an FDE's instructions. A page of code that is read and a hop
 * through a stub count 4 units. Most frames found by tables are free: max_frames bounds those. A frame in the rule
 * cache is free.
 *
 * DEFAULT    SW_WALK_BUDGET units: for signal handlers. At worst two million instructions, mostly half of that: 0.1 to
 *            0.6 ms (`make bench`, hostile).
 * SUSPENDED  For walks of a thread that stands meanwhile: a tenth, some 16 us. On Windows a walk without caches took 12
 *            us at most so, and none of 20,000 was cut (test/windows/frames.c, lives.c). With an analysis cache,
 *            sw_walk_prepare does what was cut when the thread runs again. A walker's first walk takes some 40 us more,
 *            for page faults: it should be one of the own stack. So do walks that touch a new part of their scratch: it
 *            should have been written once.
 * UNLIMITED  For cores, other processes and set-up. Every analysis has bounds of its own, so that a walk ends, but one
 *            may take seconds in code that is made for that.
 */
#define SW_WALK_BUDGET           1500u
#define SW_WALK_BUDGET_DEFAULT   0u
#define SW_WALK_BUDGET_SUSPENDED 150u
#define SW_WALK_BUDGET_UNLIMITED UINT32_MAX

/*
 * Finds code that is in no range of the code map and in no image: a runtime may know code that it has not registered
 * yet. The walker does not store what `find` returns, unless it has SW_WALK_FINDER_LASTS.
 *
 * find   True: *code is the range that holds `address`. It must be as safe as the place that walks are made from.
 * arg    Passed to find. Borrowed.
 */
struct sw_code_finder {
    bool (*find)(void *arg, uint64_t address, struct sw_range *code);
    void *arg;
};

/*
 * Describes a target to walks. Plain values; all pointers are borrowed. Any number of walks may share a walker.
 *
 * machine       Not NONE.
 * flags         SW_WALK_NO_*, SW_WALK_FINDER_LASTS.
 * memory        The reader of the target.
 * codemap       May be null.
 * images        May be null.
 * finder        Asked for code that is neither in codemap nor in images. May be null.
 * analysis_cache  Keeps what was found out about code without tables. It must serve this target only. May be null: then
 *               each walk finds out anew, which in code without tables costs up to 1,000 times as much, and what the
 *               budget cuts is cut each time.
 * replaced      A return address that the target's runtime has replaced (CoreCLR does so to stop a thread when it
 *               returns). `at` is the address of the stack word, `original` the return address. On ARM64 it counts for
 *               a function, too, that has loaded that word for its return: it lies below sp then. 0, 0: none.
 * stack_begin   The lowest address of the stack, or 0 if unknown.
 * stack_end     One past its highest address, or 0 if unknown. A walk that starts outside (on an alternate signal
 *               stack) may enter the stack. After that, it leaves the stack through a signal frame only.
 * pac_mask      ARM64: the bits of a code address that hold its signature, as the kernel reports them (the second word
 *               of NT_ARM_PAC_MASK). 0: derived, from bit 48 up, or from bit 52 up if there is something at that
 *               address. The tag, bits 56 to 63, is always removed; for a target that signs nothing it is all that is
 *               removed. Bit 55 stays, and the removed bits take its value.
 * max_frames    The most frames that a walk delivers. 0: 10,000.
 * cache         Keeps the rules found at pcs between walks. May be null. It must serve only walkers with this code map
 *               and these images. When code is replaced, its range must be removed from the code map and added again,
 *               or its image be. A walk by the cache is fast only with a window in `memory`.
 * replay        Remembers the last walk of the thread. May be null. With a cache and a window, it makes
 *               sw_walk_addresses and snapshots faster. One walk at a time uses it. A walk that starts meanwhile, in a
 *               signal handler too, goes without.
 * budget        How much work a walk may do without tables: SW_WALK_BUDGET_DEFAULT, _UNLIMITED, or units. A walk that
 *               needs more ends with SW_STOP_BUDGET; its frames so far are those that it would have without a limit.
 *               With an analysis cache what was cut is remembered: the same is not paid for again by a walk that may
 *               not pay twice as much, and sw_walk_prepare does it.
 * scratch_bytes  How long the scratches of walks with this walker are: 0 for a whole struct sw_scratch, else from
 *               SW_SCRATCH_TABLES_BYTES on, if flags have SW_WALK_NO_ANALYSIS.
 * code          Code around the pc of a walk's start that may be loaded directly until the walk ends: of a thread that
 *               walks itself in a signal handler, the page that it was interrupted in. It serves JIT code that
 *               CoreCLR's headers describe: with both caches, a pc that was never met goes by what is known of its
 *               method. begin == end: none.
 * reserved      For members of later versions: 0. A walk with anything else, or with too small a scratch, ends with
 *               SW_STOP_BAD_START, fault SW_E_ARGUMENT; a snapshot is E_INVALIDARG.
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
    uint32_t budget;
    uint32_t scratch_bytes;
    struct sw_window code;
    uint64_t reserved[1];
};

/*
 * The working memory of one walk; a walk needs no other. It need not be initialised, and it holds nothing between
 * walks. One walk at a time may use it.
 *
 * BYTES         The size of struct sw_scratch. Most of it is for analysis.
 * TABLES_BYTES  What walks and snapshots use of it if the walker has SW_WALK_NO_ANALYSIS. So many bytes, aligned as
 *               uint64_t, may be given instead, if the walker says so in scratch_bytes.
 */
#define SW_SCRATCH_BYTES        376832
#define SW_SCRATCH_TABLES_BYTES 49152
struct sw_scratch {
    uint64_t words[SW_SCRATCH_BYTES / 8];
};

/*
 * A walk in progress. Use only frame, stop, fault, depth and work; the rest is private.
 */
struct sw_walk {
    const struct sw_walker *walker;
    struct sw_scratch *scratch;
    struct sw_frame frame; /* the current frame; valid while sw_walk_next returns true */
    enum sw_stop stop;     /* why the walk ended */
    struct sw_fault fault; /* more about a cut; status SW_OK after a clean end */
    uint32_t depth;        /* frames delivered so far */
    uint64_t work;         /* units used so far, see SW_WALK_BUDGET */
    uint32_t most;
    uint8_t state;
    struct sw_walk_entry { /* what the rule cache has of the frame; step 0: nothing */
        uint64_t step;
        uint64_t at;
        uint64_t generation;
    } entry;
};

/*
 * Starts a walk. The first sw_walk_next delivers the frame of the start registers.
 *
 * walk     Filled. Caller's memory, which must live until the walk is over. So must scratch.
 * walker   Borrowed until then.
 * start    Copied. pc and sp must be known, and the machine must be the walker's.
 * exact    True: start's pc was being executed. False: it is a return address (a frame of another walk).
 *
 * The walk uses the code map and the images as they are at each step, so changes during the walk show.
 *
 * Memory   Allocates nothing. Uses less than 4 KiB of stack.
 * Threads  Any number, each with its own walk and scratch.
 * Signals  Safe if walker->memory.read is.
 */
SW_API void sw_walk_start(struct sw_walk *walk, const struct sw_walker *walker, struct sw_scratch *scratch,
                          const struct sw_regs *start, bool exact);

/*
 * Goes to the next frame, leaf first.
 *
 * Returns  True: walk->frame is the next frame. False: the walk is over, and walk->stop says why. Later calls return
 *          false too.
 * Memory, Threads, Signals  As sw_walk_start.
 */
SW_API SW_NODISCARD bool sw_walk_next(struct sw_walk *walk);

/*
 * Makes a whole walk in one call. The pc of `start` was being executed.
 *
 * sink     Called with each frame, leaf first. The frame is valid until sink returns. If sink returns false, the walk
 *          ends.
 *
 * Returns  Why the walk ended. SW_STOP_BAD_START for null pointers too.
 * Memory, Threads, Signals  As sw_walk_start. sink must be as safe as the place it is called from.
 */
SW_API SW_NODISCARD enum sw_stop sw_walk_all(const struct sw_walker *walker, struct sw_scratch *scratch,
                                             const struct sw_regs *start,
                                             bool (*sink)(void *arg, const struct sw_frame *frame), void *arg);

/*
 * Makes a whole walk and reports only the pcs, leaf first: those of the frames that sw_walk_next would deliver. This is
 * the fastest way to walk if the walker has a cache and a window.
 *
 * exact    As in sw_walk_start.
 * pcs      Receives up to `capacity` pcs.
 * stop     Receives why the walk ended. SW_STOP_NONE: it did not end; `pcs` is full. May be null.
 *
 * Returns  How many pcs were stored.
 * Memory, Threads, Signals  As sw_walk_start.
 */
SW_API SW_NODISCARD size_t sw_walk_addresses(const struct sw_walker *walker, struct sw_scratch *scratch,
                                             const struct sw_regs *start, bool exact, uint64_t *pcs, size_t capacity,
                                             enum sw_stop *stop);

/*
 * Walks to the first managed frame. Its registers are the seed that DoStackSnapshot asks for.
 *
 * start    Any registers of the thread; their pc was being executed.
 * seed     Receives the registers of the first frame in a JIT or NGEN range: start's own, if start is in one.
 * fault    Receives where the walk was cut, on failure. May be null.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (the stack has no managed frame); SW_E_NO_RULE, SW_E_UNREADABLE, SW_E_LIMIT (budget,
 *          max_frames) and others (the walk was cut before a managed frame); SW_E_ARGUMENT.
 * Memory, Threads, Signals  As sw_walk_start.
 * Source   ICorProfilerInfo2::DoStackSnapshot, Remarks, "how to get a seed" (contract-documented.md D19).
 */
SW_API SW_NODISCARD enum sw_status sw_walk_find_seed(const struct sw_walker *walker, struct sw_scratch *scratch,
                                                     const struct sw_regs *start, struct sw_regs *seed,
                                                     struct sw_fault *fault);

/*
 * Does what walks have left undone because of their budget, so that later ones find it done, and touches the memory
 * that they will write to. To be called between samples, or by a thread of its own; walks may go on meanwhile, in
 * signal handlers too.
 *
 * walker   Of the walks, or one of the same target with the same memory, images, code map and analysis cache. Its
 *          budget does not matter.
 * scratch  As in walks.
 * budget   How much work the call may do: as struct sw_walker, budget. What is cut is left for the next call, which has
 *          to bring more.
 *
 * Returns  How many pieces of work are left; 0 without an analysis cache.
 * Memory   Allocates nothing. Uses less than 4 KiB of stack.
 * Threads  Any number, each with its own scratch.
 * Signals  Safe if walker->memory.read is, but without a limit it takes as long as it takes.
 */
SW_API size_t sw_walk_prepare(const struct sw_walker *walker, struct sw_scratch *scratch, uint32_t budget);

/*
 * Does ahead of time what walks through code without tables would have to find out: for when a range is added, or a
 * library without tables is loaded. A code range of the code map that wants analysis is analysed. Of other code the
 * ways forward from all return addresses in it are found.
 *
 * [begin, end)  The code. Clipped to nothing if end <= begin.
 * budget        As sw_walk_prepare.
 *
 * Returns  Where it stopped: end, or an address to go on from where the budget was used up; begin without an analysis
 *          cache. What does not fit the analysis cache replaces what was there before.
 * Memory, Threads, Signals  As sw_walk_prepare.
 */
SW_API uint64_t sw_walk_prepare_range(const struct sw_walker *walker, struct sw_scratch *scratch, uint64_t begin,
                                      uint64_t end, uint32_t budget);

#ifdef __cplusplus
}
#endif

#endif
