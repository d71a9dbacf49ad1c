/*
 * What following the CLR needs of an operating system. One folder for each: src/clr/linux, src/clr/windows. The other
 * files of src/clr are freestanding.
 */
#ifndef SW_CLR_HOST_H
#define SW_CLR_HOST_H

#include <snapwalk/alloc.h>
#include <snapwalk/suspend.h>

/*
 * The lock that is held while code map and images change, and what tells of the loader's work.
 *
 * create   Returns SW_OK; SW_E_NO_MEMORY; SW_E_OS. destroy: NULL is allowed.
 * lock     Waits. Not recursive. Signals  Not safe.
 */
struct sw_clr_host;
SW_NODISCARD enum sw_status sw_clr_host_create(const struct sw_alloc *alloc, struct sw_clr_host **host);
void sw_clr_host_destroy(struct sw_clr_host *host);
void sw_clr_host_lock(struct sw_clr_host *host);
void sw_clr_host_unlock(struct sw_clr_host *host);

/* How often the loader has loaded and unloaded since some moment. Equal counts: the same images are loaded. */
struct sw_clr_loads {
    uint64_t loads;
    uint64_t unloads;
};
struct sw_clr_loads sw_clr_host_loads(const struct sw_clr_host *host);

/*
 * The loaded file, library or program, that is the runtime: it exports what a runtime does. The one that holds `code`,
 * which is code of the runtime or of what stands in front of it; else the first. All 0: there is none.
 * Signals  Not safe.
 *
 * begin, end  Where it is mapped.
 * descriptor, table  The addresses of DotNetRuntimeContractDescriptor and g_dacTable; 0: it does not export that.
 */
struct sw_clr_exports {
    uint64_t begin, end;
    uint64_t descriptor;
    uint64_t table;
};
struct sw_clr_exports sw_clr_host_exports(const void *code);

/* The functions of a suspender; of its `current` the cheapest form that there is: every walk calls it several times. */
struct sw_suspender sw_clr_host_suspender(struct sw_self_suspender *suspender);

/* A clock that never goes back. Signals  Safe. */
uint64_t sw_clr_host_now_ns(void);

/* Lets other threads run. Signals  Safe. */
void sw_clr_host_yield(void);

/*
 * Registers from what the operating system hands to a handler: ucontext_t, CONTEXT. SW_OK, or as sw_context_load.
 * Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_clr_host_registers(enum sw_machine machine, const void *context, struct sw_regs *regs);

/*
 * Runs a function on the stack that ends at `top`, 16-aligned, where handlers may run on a stack that is nearly used
 * up; elsewhere on the caller's. Signals  Safe.
 */
void sw_run_on(void *top, void (*run)(void *arg), void *arg);

#endif
