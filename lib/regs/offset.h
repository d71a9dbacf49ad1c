/*
 * Where a register record keeps a register, for rules that lead into one.
 */
#ifndef SW_REGS_OFFSET_H
#define SW_REGS_OFFSET_H

#include <snapwalk/context.h>

/* The offset of a register in a record. `form` and `machine` have a layout, `number` is below the machine's count. */
size_t sw_context_offset(enum sw_context_form form, enum sw_machine machine, unsigned number);

#endif
