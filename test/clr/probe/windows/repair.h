/* What repair.c has repaired of Wine, by the numbers of clr-windows-observed.md. */
#ifndef REPAIR_H
#define REPAIR_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * contexts      W10 to W12: registers that Wine gave without a report of what the thread is in.
 * system_calls  W13: those of them that stood in a system call.
 * records       W19: of handlers, in a thread's list, that were dead or none.
 */
extern struct repairs {
    _Atomic uint64_t contexts, system_calls, records;
} repairs;

#endif
