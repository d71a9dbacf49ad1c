/*
 * What the files of this folder share: the runtime that this process runs in, as it is followed.
 */
#ifndef SW_RUNTIME_OWN_H
#define SW_RUNTIME_OWN_H

#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include "clr/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SW_CLR_LEASES = 64, SW_CLR_REPLAYED = 2048, SW_CLR_PENDING = 256, SW_CLR_STACK = 65536 };

/* Working memory of one call, and a stack for it where the caller's may be nearly used up. */
struct sw_clr_room {
    struct sw_scratch scratch;
    _Alignas(16) uint8_t stack[SW_CLR_STACK];
};

/*
 * One place of the supply: what one call at a time works with.
 *
 * inside   The OS id of the thread whose call it is; 0: free.
 * target   The thread that is walked; 0: not known yet.
 * last     The thread that asked for the last snapshot: its stack is in the walker's replay memory.
 */
struct sw_clr_lease {
    _Atomic uint64_t inside;
    _Atomic uint64_t last;
    uint64_t target;
    struct sw_clr *clr;
    struct sw_clr_room *room;
    struct sw_walker walker;
    struct sw_engine engine;
    struct sw_inspector inspector;
};

/*
 * lock     Held by who changes the code map or the images.
 * info9    Null where the runtime is older.
 * layout   Of the runtime's structures, where layout_status is SW_OK.
 * loads    What the dynamic linker's counters of loads and unloads said when the images were read last.
 * pending  Precompiled methods that were announced, but whose code the runtime does not tell yet.
 * sweep_from  When code that is gone is looked for again.
 * runtime  SW_RUNTIME_*.
 * leases_used  How many of the leases, from the first on, have ever been taken.
 */
struct sw_clr {
    struct sw_alloc alloc;
    pthread_mutex_t lock;
    ICorProfilerInfo3 *info;
    ICorProfilerInfo9 *info9;
    struct sw_codemap *codemap;
    struct sw_images *images;
    struct sw_threads *threads;
    struct sw_analysis_cache *analysis_cache;
    struct sw_cache *cache;
    struct sw_self_suspender *suspender_state;
    struct sw_suspender suspender;
    struct sw_code_finder finder;
    struct sw_clr_layout layout;
    enum sw_status layout_status;
    uint64_t loads;
    uint64_t unloads;
    FunctionID pending[SW_CLR_PENDING];
    unsigned pending_count;
    uint64_t sweep_from;
    _Atomic uint32_t runtime;
    _Atomic uint64_t refreshes;
    _Atomic uint64_t failures;
    struct sw_clr_room *rooms;
    _Atomic unsigned leases_used;
    struct sw_clr_lease leases[SW_CLR_LEASES];
};

/* Reads the images again, if the dynamic linker has loaded or unloaded any, or if `always`. Called with the lock held.
 */
void sw_clr_refresh_images(struct sw_clr *clr, bool always);

/* Asks the runtime for its threads: for those that were there before. */
void sw_clr_add_threads(struct sw_clr *clr);

/* Tells a walker of the return address that the runtime has replaced on a thread's stack, or that there is none. */
void sw_clr_note_hijack(struct sw_clr *clr, const struct sw_thread *thread, struct sw_walker *walker);

/* What a finder answers; arg: the runtime. */
bool sw_clr_find(void *arg, uint64_t address, struct sw_range *code);

/* What an inspector answers; arg: the lease. */
void sw_clr_look(void *arg, struct sw_thread *thread);
bool sw_clr_record(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *record);
bool sw_clr_dead(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high);
uint64_t sw_clr_function(void *arg, uint64_t address);

/* Makes the supply ready. */
void sw_clr_leases_init(struct sw_clr *clr);

/* Runs a function on another stack: `top` is one past its highest byte, 16-aligned. In assembly: switch.c. */
void sw_run_on(void *top, void (*run)(void *arg), void *arg);

#endif
