/*
 * Go's own table of functions, which is in every program of its linker, stripped or not: names, files and lines,
 * inlined functions, how deep the stack is. Living processes and cores. Every value is the target's, and checked where
 * it is used.
 */
#ifndef RUNTIMES_PCLNTAB_H
#define RUNTIMES_PCLNTAB_H

#include "call.h"

#include <snapwalk/frame.h>
#include <snapwalk/memory.h>

#include <stddef.h>

enum { PCLNTAB_INLINED_MOST = 64 };

struct pclntab;

/*
 * memory  Copied; its arg is borrowed until pclntab_close.
 * search  The same memory, for what is looked through and not needed again.
 * image   Where the program's file begins.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no such table, or one of Go 1.17 or before); SW_E_NO_MEMORY.
 */
enum sw_status pclntab_open(const struct sw_memory *memory, const struct sw_memory *search, uint64_t image,
                            struct pclntab **table);
void pclntab_close(struct pclntab *table);

/*
 * The functions at an address, innermost first: all but the last were inlined.
 *
 * begin  Receives where the last one's code begins.
 *
 * Returns how many there are; 0: it is in no function of Go's.
 */
size_t pclntab_name(const struct pclntab *table, uint64_t address, struct runtime_call calls[PCLNTAB_INLINED_MOST],
                    uint64_t *begin);

/*
 * The caller's registers, by how deep the stack is there: x64 and ARM64.
 *
 * is_confirmed  Receives whether a call is there, or a goroutine begins. It need not be: code is interrupted anywhere.
 *               Of code in assembler that executes false: what it does to the stack is written by hand.
 *
 * Returns false where it is no function of Go's, or one that has no caller, or one that changes stacks (go.h).
 */
bool pclntab_step(const struct pclntab *table, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller, bool *is_confirmed);

/* Whether a frame is the first of its stack, a goroutine's or a thread's, as its function says. */
bool pclntab_is_outermost(const struct pclntab *table, const struct sw_frame *frame);

#endif
