/*
 * The state of following the CLR that runs in this process, shared by the files of src/clr. (lib/clr has CoreCLR's
 * formats and knows no process.)
 */
#ifndef SW_CLR_INTERNAL_H
#define SW_CLR_INTERNAL_H

#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include "clr/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SW_CLR_LEASES = 64, SW_CLR_REPLAY_FRAMES = 2048, SW_CLR_PENDING = 256, SW_CLR_STACK = 65536 };

/* Working memory of one call, and a stack for it in case the caller's is nearly used up. */
struct sw_clr_workspace {
    struct sw_scratch scratch;
    _Alignas(16) uint8_t stack[SW_CLR_STACK];
};

/*
 * One lease: what a call works with. One call at a time holds it.
 *
 * inside   The OS id of the calling thread; 0: free.
 * last     The thread that requested the last snapshot: its stack is in the walker's replay memory.
 */
struct sw_clr_lease {
    _Atomic uint64_t inside;
    _Atomic uint64_t last;
    struct sw_clr *clr;
    struct sw_clr_workspace *workspace;
    struct sw_walker walker;
    struct sw_engine engine;
    struct sw_inspector inspector;
};

/*
 * lock     Held while the code map or the images change.
 * info9    Null if the runtime is older.
 * layout   Of the runtime's structures, if layout_status is SW_OK.
 * loads    The dynamic linker's counters of loads and unloads when the images were read last.
 * pending  Precompiled methods that were announced, but whose code the runtime does not report yet.
 * sweep_from  When to search for freed code again.
 * runtime  SW_RUNTIME_*.  limit  The most frames of a walk, 0: the default; both_ends: a walk keeps both.
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
    _Atomic uint32_t limit;
    atomic_bool both_ends;
    _Atomic uint64_t refreshes;
    _Atomic uint64_t failures;
    struct sw_clr_workspace *workspaces;
    struct sw_clr_lease leases[SW_CLR_LEASES];
};

/*
 * Reads the images again if the dynamic linker has loaded or unloaded any, or if `always`. Called with the lock held.
 */
void sw_clr_refresh_images(struct sw_clr *clr, bool always);

/* Adds the threads that the runtime had before: asks it for all of them. */
void sw_clr_add_threads(struct sw_clr *clr);

/* Sets in a walker the return address that the runtime has replaced on a thread's stack, or that there is none. */
void sw_clr_note_hijack(struct sw_clr *clr, const struct sw_thread *thread, struct sw_walker *walker);

/* The struct sw_code_finder's function; arg: the struct sw_clr. */
bool sw_clr_find(void *arg, uint64_t address, struct sw_range *code);

/* The struct sw_inspector's functions; arg: the lease. */
void sw_clr_update(void *arg, struct sw_thread *thread);
bool sw_clr_record(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *record);
bool sw_clr_unwound(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high);
uint64_t sw_clr_function(void *arg, uint64_t address);

/* Prepares the leases. */
void sw_clr_leases_init(struct sw_clr *clr);

/* Runs a function on another stack: `top` is one past its highest byte, 16-aligned. In assembly: stack_switch.c. */
void sw_run_on(void *top, void (*run)(void *arg), void *arg);

#endif
