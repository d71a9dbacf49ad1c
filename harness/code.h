/*
 * Machine code for the tube's functions: .NET's prologue shapes around one body, which asks the gate what to do next.
 *
 *     prologue; [enter hook]
 *     again: go = gate()              // `at_gate` is this call's return address
 *            if (go == 0) leave       // return
 *            if (go == 1) spin        // until another step comes; `spin` is the loop's first instruction
 *            go()                     // `at_call` is this call's return address
 *            goto again
 *     leave: [leave hook]; epilogue
 */
#ifndef SW_HARNESS_CODE_H
#define SW_HARNESS_CODE_H

#include "tube.h"

/*
 * Where a function's frame lies, below the stack pointer at its entry (E): registers saved at E - `below`; sp of the
 * body is E - `bytes`; the frame pointer is E - `frame`, or the caller's if that is 0.
 */
enum { SW_SAVES_MAX = 5 };
struct sw_code_shape {
    unsigned bytes;
    unsigned frame;
    unsigned char saves; /* how many there are */
    struct {
        unsigned char number; /* of regs.h */
        unsigned below;
    } save[SW_SAVES_MAX];
};
const struct sw_code_shape *sw_code_shape(enum sw_machine machine, uint32_t shape);

/*
 * The arena of a tube: a piece of memory for code, executable at `address` for real threads, seen there by simulated
 * ones.
 */
enum sw_status sw_code_arena_create(struct sw_tube *tube);
void sw_code_arena_destroy(struct sw_tube *tube);

/* Makes a function's code. SW_E_LIMIT: the arena is full. */
enum sw_status sw_code_make(struct sw_tube_function *function, struct sw_tube_code *code);

/*
 * Native code of simulated threads: one function with a frame pointer, for all of them. `stands`: its pc while it
 * stands, `after`: the return address of a call that it makes. sw_code_start: the thread's first function.
 */
struct sw_code_native {
    uint64_t begin, end, stands, after;
};
struct sw_code_native sw_code_native(const struct sw_tube *tube);

/* Reads the arena as a simulated thread's memory; as the read of struct sw_memory. */
size_t sw_code_read(const struct sw_tube *tube, uint64_t address, void *to, size_t size);

#endif
