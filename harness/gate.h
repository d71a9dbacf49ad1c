/*
 * The gate: where managed code asks what to do next (gate_x64.S, gate_arm64.S). It is transparent to walks: it has
 * unwind tables, and keeps the nonvolatile registers.
 */
#ifndef SW_HARNESS_GATE_H
#define SW_HARNESS_GATE_H

#include <stdint.h>

/* The nonvolatile registers, by index; then where the managed code goes on, and its stack pointer there. */
enum {
    SW_GATE_REGS = 20,
    SW_GATE_PC = SW_GATE_REGS,
    SW_GATE_SP,
    SW_GATE_WORDS,
};

/*
 * How managed code goes on: with these registers, and `go` and `flag` as the gate's answers (code.h). A spin sets the
 * second 32 bits at `flag` when its loop begins, and ends when the first are not 0.
 */
struct sw_gate_go {
    uint64_t regs[SW_GATE_WORDS];
    uint64_t go;
    uint64_t flag;
};

/* Where managed code calls. 0: threads are simulated on this machine only. */
uint64_t sw_gate_address(void);
void sw_tube_gate(void);

/* The gate calls this with the registers of the managed code. stage_real.c */
const struct sw_gate_go *sw_tube_at_gate(const uint64_t regs[SW_GATE_WORDS]);

#endif
