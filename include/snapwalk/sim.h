/*
 * Simulation: code bytes, code ranges, stack words and threads in a few lines, with the same walker and the same
 * contract. For unit tests of users. It is built on the public headers only, and simulates both machines.
 *
 *     struct sw_sim *sim;
 *     sw_sim_create(NULL, SW_MACHINE_X64, &sim);
 *     sw_sim_bytes(sim, 0x1000, code, sizeof code);                      // bytes of a function
 *     sw_sim_range(sim, SW_KIND_JIT, 0x1000, 0x1000 + sizeof code, 42);  // ... which is FunctionID 42
 *     sw_sim_words(sim, 0x7000, words, 4);                               // its stack
 *     sw_sim_thread(sim, 1, &regs);                                      // ThreadID 1, stopped at regs
 *     sw_snapshot(sw_sim_engine(sim), scratch, 1, callback, 0, NULL, NULL, 0);
 */
#ifndef SNAPWALK_SIM_H
#define SNAPWALK_SIM_H

#include <snapwalk/snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_sim;

/*
 * Makes an empty simulated target: no memory, no code, no thread; runtime ready, flavour documented, snapshots enabled.
 * sw_sim_destroy frees it with everything in it; NULL is allowed.
 *
 * alloc    Copied. NULL means malloc and free.
 * machine  The machine of its threads. Not NONE.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   From alloc. So is the memory of all calls below that can return SW_E_NO_MEMORY; then nothing has changed.
 * Threads  One thread changes a simulation. Any number of threads may walk it while none changes it; with
 *          sw_sim_ask_caller as different simulated threads.
 * Signals  Not safe; walks are.
 */
SW_API SW_NODISCARD enum sw_status sw_sim_create(const struct sw_alloc *alloc, enum sw_machine machine,
                                                 struct sw_sim **sim);
SW_API void sw_sim_destroy(struct sw_sim *sim);

/*
 * Gives the target memory: bytes of code or data, or 64-bit little-endian words. New contents replace old ones. Pieces
 * that touch read as one.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_EMPTY; SW_E_WRAPS (also: the last byte of the address space, which cannot be
 *          used); SW_E_NO_MEMORY.
 * Memory   Copied. Threads, Signals  As sw_sim_create.
 */
SW_API SW_NODISCARD enum sw_status sw_sim_bytes(struct sw_sim *sim, uint64_t address, const void *bytes, size_t size);
SW_API SW_NODISCARD enum sw_status sw_sim_words(struct sw_sim *sim, uint64_t address, const uint64_t *words,
                                                size_t count);

/*
 * Makes a piece of memory unreadable again. Size 0 is allowed and does nothing.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (sim null, address + size wraps); SW_E_NO_MEMORY. Threads, Signals  As sw_sim_create.
 */
SW_API SW_NODISCARD enum sw_status sw_sim_unmap(struct sw_sim *sim, uint64_t address, size_t size);

/*
 * Adds a code range whose callers are found by analysis. For other ranges use sw_codemap_add with sw_sim_codemap.
 *
 * Returns  As sw_codemap_add. Memory, Threads, Signals  As sw_sim_create.
 */
SW_API SW_NODISCARD enum sw_status sw_sim_range(struct sw_sim *sim, enum sw_kind kind, uint64_t begin, uint64_t end,
                                                uint64_t id);

/*
 * Adds a thread that is stopped at `regs`, or moves an existing one there. Its OS id is its id, and its mode is
 * UNKNOWN. To change more, use sw_threads_update with sw_sim_threads.
 *
 * regs     Copied. Of the simulation's machine.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0, another machine); SW_E_NO_MEMORY; SW_E_BUSY.
 * Memory, Threads, Signals  As sw_sim_create.
 */
SW_API SW_NODISCARD enum sw_status sw_sim_thread(struct sw_sim *sim, uint64_t id, const struct sw_regs *regs);

/*
 * Sets the simulated thread that makes the following calls. 0: a native thread that is not in the table.
 *
 * Memory   None. Threads, Signals  As sw_sim_create.
 */
SW_API void sw_sim_run_as(struct sw_sim *sim, uint64_t id);

/*
 * For simulations whose threads are real threads, or several of them: who calls is asked at each call.
 *
 * caller   Returns the id of the simulated thread that runs here; 0: a native thread that is not in the table. Called
 *          by the thread that walks; must be as safe as the place that it walks from. NULL: sw_sim_run_as counts again.
 * arg      Passed to caller. Borrowed.
 *
 * Memory   None. Threads, Signals  As sw_sim_create.
 */
SW_API void sw_sim_ask_caller(struct sw_sim *sim, uint64_t (*caller)(void *arg), void *arg);

/* How often a thread of a simulation was suspended and resumed. */
struct sw_sim_counts {
    uint32_t suspended;   /* suspends so far */
    uint32_t resumed;     /* resumes so far */
    uint32_t outstanding; /* suspended now */
};

/*
 * sw_sim_get_counts returns the counts of one thread, zeros for an unknown thread. sw_sim_fail_suspend sets what every
 * later suspend returns; SW_OK: suspends work. A suspend that fails is not counted.
 *
 * Memory   None. Threads, Signals  As sw_sim_create.
 */
SW_API struct sw_sim_counts sw_sim_get_counts(const struct sw_sim *sim, uint64_t id);
SW_API void sw_sim_fail_suspend(struct sw_sim *sim, enum sw_status status);

/*
 * The parts of a simulation, for all other calls. They belong to the simulation. They may be changed (flavour, event
 * mask). The walker has SW_WALK_BUDGET_UNLIMITED.
 *
 * Returns  If sim is null: null, or a reader without `read`.
 * Memory   Borrowed. Threads  As the simulation. Signals  Safe.
 */
SW_API struct sw_engine *sw_sim_engine(struct sw_sim *sim);
SW_API struct sw_walker *sw_sim_walker(struct sw_sim *sim);
SW_API struct sw_codemap *sw_sim_codemap(struct sw_sim *sim);
SW_API struct sw_threads *sw_sim_threads(struct sw_sim *sim);
SW_API struct sw_memory sw_sim_memory(struct sw_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
