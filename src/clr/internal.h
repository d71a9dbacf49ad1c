/*
 * The state of following the CLR that runs in this process, shared by the files of src/clr. (lib/clr has CoreCLR's
 * formats and knows no process.)
 */
#ifndef SW_CLR_INTERNAL_H
#define SW_CLR_INTERNAL_H

#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include "clr/host.h"
#include "clr/runtime.h"
#include "snapshot/memo.h"

#include <stdatomic.h>

enum {
    SW_CLR_LEASES = 64,
    SW_CLR_REPLAY_FRAMES = 2048,
    SW_CLR_PENDING = 256,
    SW_CLR_HEAPS = 16,
    SW_CLR_DYNAMICS = 1024,
    SW_CLR_STACK = 65536
};

/* Working memory of one call, and a stack for it in case the caller's is nearly used up. */
struct sw_clr_workspace {
    struct sw_scratch inner; /* of walks in native code that a transition record asks for */
    struct sw_walk walk;
    _Alignas(16) uint8_t stack[SW_CLR_STACK];
    struct sw_scratch scratch; /* what each walk uses of it lies beside what it uses of the stack */
};

/*
 * One lease: what a call works with. One call at a time holds it.
 *
 * inside   The OS id of the calling thread; 0: free.
 * turns    How often it was given back.
 * thread   What the thread table had of the last thread that asked: if its OS id is that of who is inside, and nothing
 *          has changed there since thread_as_of (struct sw_clr, thread_changes), it still has that.
 * stack    What of the calling thread's stack may be loaded from directly, if that is what the call walks.
 * asked    What the system has last said may be loaded from, of the stack of the thread asked_by: all, up to its base,
 *          or less.
 * last     The thread that requested the last snapshot: its stack is in the walker's replay memory.
 * memo     Of its snapshots.
 */
struct sw_clr_lease {
    _Atomic uint64_t inside;
    _Atomic uint64_t turns;
    struct sw_clr *clr;
    struct sw_clr_workspace *workspace;
    uint64_t thread_as_of;
    struct sw_thread thread;
    struct sw_window stack;
    struct sw_walker walker;
    _Atomic uint64_t last;
    struct sw_memo *memo;
    struct sw_engine engine;
    struct sw_inspector inspector;
    struct sw_window asked;
    uint64_t asked_by;
};

/*
 * host     Its lock is held while the code map or the images change.
 * info9    Null if the runtime is older.
 * layout   Of the runtime's structures, if layout_status is SW_OK.
 * is_confirmed  A thread has fitted the layout, or it need not.  version  What the runtime says of itself.
 * loads    The loader's counters when the images were read last.
 * pending  Precompiled methods that were announced, but whose code the runtime does not report yet.
 * heaps    Heaps of JIT code that events were about lately; heap_hand: the next to be replaced.
 * dynamics  Where dynamic methods begin that were compiled lately.
 * entries_tried  With how many methods it was tried whether prepared entries are where they are believed to be.
 * entries_confirmed  They are.
 * core     The module of the core library; 0: not seen yet.
 * recompiles  Methods have been compiled again on request.
 * refresh_from  When to read all images again.
 * unloaded_at   When a module was unloaded last; 0: what it had is gone by now, or there was none.
 * sweep_from    When to search for freed code again.
 * cache, analysis_cache  Replaced when they grow. retired: what was replaced, and the leases' turns at that moment.
 * lease_count  Leases that can be taken.  thread_count  Threads in the table; thread_changes: how often that changed.
 * unwatched  How often the runtime was asked for what no memo notes.
 * runtime  SW_RUNTIME_*.  limit  The most frames of a walk, 0: the default; both_ends: a walk keeps both.
 */
struct sw_clr {
    struct sw_alloc alloc;
    struct sw_clr_host *host;
    ICorProfilerInfo3 *info;
    ICorProfilerInfo9 *info9;
    struct sw_self_suspender *suspender_state;
    struct sw_code_finder finder;
    bool is_confirmed;
    USHORT version[3];
    struct sw_clr_loads loads;
    FunctionID pending[SW_CLR_PENDING];
    _Atomic unsigned pending_count;
    struct sw_clr_heap heaps[SW_CLR_HEAPS];
    unsigned heap_hand;
    struct sw_clr_dynamic {
        FunctionID function;
        uint64_t begin;
    } dynamics[SW_CLR_DYNAMICS];
    unsigned entries_tried;
    atomic_bool entries_confirmed;
    _Atomic ModuleID core;
    atomic_bool recompiles;
    uint64_t refresh_from;
    _Atomic uint64_t unloaded_at;
    _Atomic uint64_t sweep_from;
    atomic_bool is_sweeping;
    _Atomic uint32_t runtime;
    atomic_bool both_ends;
    _Atomic uint64_t refreshes;
    _Atomic uint64_t failures;
    _Atomic uint64_t unwatched;
    _Atomic uint64_t memory_limit;
    atomic_bool is_growing;
    struct {
        struct sw_cache *cache;
        struct sw_analysis_cache *analysis_cache;
        uint64_t turns[SW_CLR_LEASES];
    } retired;
    /* From here on, what each walk reads lies side by side, in front of the leases. */
    _Atomic unsigned thread_count;
    _Atomic unsigned lease_count;
    _Atomic uint64_t thread_changes;
    _Atomic uint32_t limit;
    _Atomic enum sw_status layout_status;
    struct sw_clr_layout layout;
    struct sw_suspender suspender;
    uint64_t (*loadable)(void *arg, uint64_t from, uint64_t end);
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_threads *threads;
    struct sw_analysis_cache *_Atomic analysis_cache;
    struct sw_cache *_Atomic cache;
    struct sw_clr_lease leases[SW_CLR_LEASES];
};

/*
 * The caches and the leases (memory.c). create: what there is at first; destroy: also of what was made in part. grow:
 * makes more of it, where it is used up and the limit allows. Called without the lock; never in a walk.
 */
enum sw_status sw_clr_memory_create(struct sw_clr *clr);
void sw_clr_memory_destroy(struct sw_clr *clr);
void sw_clr_grow(struct sw_clr *clr);
uint64_t sw_clr_cache_bytes(const struct sw_clr *clr);

/*
 * Reads the images again if the loader has loaded or unloaded any, or if `always`. Called with the lock held.
 */
void sw_clr_refresh_images(struct sw_clr *clr, bool always);

/* The same, also if a module event has left that to be done. Called without the lock. */
void sw_clr_refresh_late(struct sw_clr *clr);

/* Whether a method belongs to the managed half of exception dispatch, which the CLR hides. Asks the runtime. */
bool sw_clr_dispatches(struct sw_clr *clr, FunctionID function);

/* Requests postponed methods again. Called without the lock. */
void sw_clr_retry_pending(struct sw_clr *clr);

/*
 * Changes of the code map (code.c): one region of code of a method, or of a dynamic method, is added, or removed unless
 * it is another's by now; a range is gone. Called with the lock held.
 */
void sw_clr_add_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code, uint16_t flags);
void sw_clr_remove_code(struct sw_clr *clr, FunctionID function, const COR_PRF_CODE_INFO *code);
void sw_clr_remove_range(struct sw_clr *clr, uint64_t begin);

/*
 * Heaps of JIT code (heaps.c): the one around an address that is remembered, or that the runtime's structures tell, or
 * null; one, or all, may have been freed. Called with the lock held.
 */
const struct sw_clr_heap *sw_clr_known_heap(const struct sw_clr *clr, uint64_t address);
const struct sw_clr_heap *sw_clr_read_heap(struct sw_clr *clr, uint64_t address);
void sw_clr_forget_heap(struct sw_clr *clr, uint64_t address);
void sw_clr_forget_heaps(struct sw_clr *clr);

/* Searches for code that was freed, if a module was unloaded. Called without the lock. */
void sw_clr_sweep(struct sw_clr *clr);

static inline void sw_clr_count_failure(struct sw_clr *clr)
{
    atomic_fetch_add(&clr->failures, 1);
}

/* Adds the images of the modules that the runtime had before, and all other images. Called without the lock. */
void sw_clr_add_modules(struct sw_clr *clr);

/*
 * Holds a layout that is known beforehand against the calling thread, which has managed callers; once. If it does not
 * fit, the structures are not known.
 */
void sw_clr_confirm_layout(struct sw_clr *clr);

/* Adds the threads that the runtime had before: asks it for all of them. */
void sw_clr_add_threads(struct sw_clr *clr);

/*
 * Sets in a walker the return address that the runtime has replaced on a thread's stack, or that there is none. object:
 * where the runtime's thread is read from (sw_clr_object).
 */
void sw_clr_note_hijack(struct sw_clr *clr, const struct sw_memory *object, const struct sw_thread *thread,
                        struct sw_walker *walker);

/* The memory of the runtime's thread, which lives as long as it is in the table, and a walk holds that entry. */
static inline struct sw_memory sw_clr_object(const struct sw_clr *clr, uint64_t thread)
{
    struct sw_memory memory = sw_self_memory();
    memory.window = (struct sw_window){ thread, thread + clr->layout.at[SW_CLR_THREAD_EXCEPTION] + 8,
                                        (const uint8_t *)(uintptr_t)thread };
    return memory;
}

/* The struct sw_engine's function; arg: the lease. What is known of the calling thread's stack is not asked again. */
uint64_t sw_clr_loadable(void *arg, uint64_t from, uint64_t end);

/* The struct sw_code_finder's function; arg: the struct sw_clr. */
bool sw_clr_find(void *arg, uint64_t address, struct sw_range *code);

/* The struct sw_inspector's functions; arg: the lease. */
void sw_clr_update(void *arg, struct sw_thread *thread);
bool sw_clr_record(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *record);
bool sw_clr_any_record(struct sw_clr_lease *lease, const struct sw_thread *thread, uint64_t *cursor,
                       struct sw_transition *record); /* also one that leads to native code */
bool sw_clr_unwound(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high);
uint64_t sw_clr_function(void *arg, uint64_t address);

/* Prepares the leases. take: a free one for the calling thread, its own if that is wanted; null: all are in use. */
void sw_clr_leases_init(struct sw_clr *clr);
struct sw_clr_lease *sw_clr_take_lease(struct sw_clr *clr, bool own);
void sw_clr_release_lease(struct sw_clr_lease *lease);

/* The OS id of the calling thread. */
static inline uint64_t sw_clr_caller(const struct sw_clr *clr)
{
    return clr->suspender.current(clr->suspender.arg);
}

#endif
