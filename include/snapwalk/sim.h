/*
 * Simulation: code bytes, code ranges, stack words and threads in a few lines, behind the same walker and the same
 * contract. What users' unit tests stand on. Built on the public headers only; both machines.
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
 * sw_sim_destroy gives it back with everything in it; NULL is allowed.
 *
 * alloc    Copied; NULL for malloc and free.
 * machine  Whose registers its threads have; not NONE.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NO_MEMORY.
 * Memory   From alloc; so do all calls below that can answer SW_E_NO_MEMORY, and then nothing has changed.
 * Threads  One sim belongs to one thread; any number may walk it while nobody changes it. Signals  Not safe; walks are.
 */
SW_NODISCARD enum sw_status sw_sim_create(const struct sw_alloc *alloc, enum sw_machine machine, struct sw_sim **sim);
void sw_sim_destroy(struct sw_sim *sim);

/*
 * Gives the target memory: bytes of code or data, or 64-bit little-endian words. What was there before is replaced;
 * what is given in pieces that touch reads as one.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_EMPTY; SW_E_WRAPS (the address space's last byte cannot be had); SW_E_NO_MEMORY.
 * Memory   Copied. Threads, Signals  As sw_sim_create.
 */
SW_NODISCARD enum sw_status sw_sim_bytes(struct sw_sim *sim, uint64_t address, const void *bytes, size_t size);
SW_NODISCARD enum sw_status sw_sim_words(struct sw_sim *sim, uint64_t address, const uint64_t *words, size_t count);

/*
 * Makes a piece of memory unreadable again. Size 0 is allowed and does nothing.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (sim null, address + size wraps); SW_E_NO_MEMORY. Threads, Signals  As sw_sim_create.
 */
SW_NODISCARD enum sw_status sw_sim_unmap(struct sw_sim *sim, uint64_t address, size_t size);

/*
 * Adds a code range with analysis (or whatever `sw_codemap_add` on sw_sim_codemap allows).
 *
 * Returns  As sw_codemap_add. Memory, Threads, Signals  As sw_sim_create.
 */
SW_NODISCARD enum sw_status sw_sim_range(struct sw_sim *sim, enum sw_kind kind, uint64_t begin, uint64_t end,
                                         uint64_t id);

/*
 * Adds a thread that stands at `regs`, or moves one. Its OS id is its id; mode UNKNOWN; change more with
 * sw_threads_update on sw_sim_threads.
 *
 * regs     Copied; of the simulation's machine.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (null, id 0, another machine); SW_E_NO_MEMORY; SW_E_BUSY.
 * Memory, Threads, Signals  As sw_sim_create.
 */
SW_NODISCARD enum sw_status sw_sim_thread(struct sw_sim *sim, uint64_t id, const struct sw_regs *regs);

/*
 * Says which simulated thread makes the calls that follow: its id, or 0 for a native thread that is not in the table.
 *
 * Memory   None. Threads, Signals  As sw_sim_create.
 */
void sw_sim_run_as(struct sw_sim *sim, uint64_t id);

/* What happened to threads of a simulation. */
struct sw_sim_counts {
    uint32_t suspended;   /* suspends of this thread so far */
    uint32_t resumed;     /* resumes */
    uint32_t outstanding; /* suspended now */
};

/*
 * Counts of one thread, zeros for an unknown one; and what every suspend answers from now on (SW_OK: it works). A
 * suspend that fails is not counted.
 *
 * Memory   None. Threads, Signals  As sw_sim_create.
 */
struct sw_sim_counts sw_sim_get_counts(const struct sw_sim *sim, uint64_t id);
void sw_sim_fail_suspend(struct sw_sim *sim, enum sw_status status);

/*
 * The parts, to use with every other call. They belong to the simulation and may be changed (flavour, event mask).
 *
 * Returns  Null, or a reader without `read`, where sim is null.
 * Memory   Borrowed. Threads  As the simulation. Signals  Safe.
 */
struct sw_engine *sw_sim_engine(struct sw_sim *sim);
struct sw_walker *sw_sim_walker(struct sw_sim *sim);
struct sw_codemap *sw_sim_codemap(struct sw_sim *sim);
struct sw_threads *sw_sim_threads(struct sw_sim *sim);
struct sw_memory sw_sim_memory(struct sw_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
