/*
 * The truth of a single-stepped thread: a stack of the calls that were executed and have not returned. Works on the
 * registers in front of and behind each instruction; decodes nothing but the few opcodes that transfer control, and
 * shares no code with what it judges. x64 and ARM64: what differs is a row of struct shadow_machine.
 */
#ifndef STEP_SHADOW_H
#define STEP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHADOW_DEPTH = 4096, SHADOW_NONVOLATILE = 11, SHADOW_PARKED = 64, SHADOW_PARKED_DEPTH = 512 };

/* The registers that matter. nv: what a callee preserves, as the machine's row lists it. lr: 0 on x64. */
struct shadow_regs {
    uint64_t pc;
    uint64_t sp;
    uint64_t lr;
    uint64_t nv[SHADOW_NONVOLATILE];
};

/*
 * A caller, as it will be when the callee has returned.
 *
 * slot         x64: where the return address lies. ARM64: sp at the call. For an interrupted frame, where the kernel's
 *              frame for the handler ends.
 * interrupted  regs are those at which a signal came.
 * assumed      Not seen to be called: somebody's word for it, until it is returned to. nv means nothing.
 * loose        regs.sp means not quite what it says: the callee may pop its arguments, as code of JITs does.
 * popped       The return address was popped, and may be pushed elsewhere.
 * framed       ARM64: the callee has had a frame: sp was below its value at the call.
 * bottom       The outermost call of a stack that was made by hand: nobody made it, and there is none beyond.
 * unknown      From here outwards nothing is known; regs mean nothing.
 */
struct shadow_entry {
    struct shadow_regs regs;
    uint64_t slot;
    bool interrupted;
    bool assumed;
    bool loose;
    bool popped;
    bool framed;
    bool bottom;
    bool unknown;
};

/* A stack that was switched away from: [sp, end) is what is known to be its own; its innermost calls. */
struct shadow_parked {
    uint64_t sp, end;
    size_t count;
    struct shadow_entry entries[SHADOW_PARKED_DEPTH];
};

/*
 * entries[count - 1] is the caller of the code being executed. overflow: calls that found no room; truth is lost.
 * switching: sp is on another stack already, and the code that took it there has not left: whose caller it has is not
 * defined. parked: a ring, parked_next the oldest.
 */
struct shadow {
    const struct shadow_machine *machine;
    struct shadow_entry entries[SHADOW_DEPTH];
    size_t count;
    bool overflow;
    bool switching;
    struct shadow_parked parked[SHADOW_PARKED];
    size_t parked_next;
};

/* What an instruction does to control, by its opcode; SHADOW_LOAD: it loads sp, from a register or memory. */
enum shadow_kind { SHADOW_PLAIN, SHADOW_LOAD, SHADOW_CALL, SHADOW_RETURN, SHADOW_JUMP, SHADOW_SYSCALL };
struct shadow_machine;
enum shadow_kind shadow_kind_of(const struct shadow_machine *machine, const uint8_t *bytes, size_t size);

/* What one executed instruction did to the stack of calls. */
enum shadow_event {
    SHADOW_NOTHING,
    SHADOW_CALLED,
    SHADOW_RETURNED, /* to the caller */
    SHADOW_LEFT,     /* past it: longjmp, a throw's landing, sigreturn to elsewhere */
    SHADOW_RESUMED,  /* back from a signal handler */
    SHADOW_MOVED,    /* to the caller, by a return address that had been moved; or the moving */
    SHADOW_PUSHED    /* a return to a pushed address: a jump */
};

/*
 * A machine.
 *
 * nonvolatile  How many registers a callee preserves; number: as its manual and the masks of known registers count
 * them. pushed       Bytes of stack that a call takes for the return address. gap          The stack of a handler
 * begins this far below the interrupted stack pointer at least. context      From sp at a handler's first instruction
 * to the registers that the kernel will take back: 8 bytes each, pc, sp and the nonvolatile ones at these places. step,
 * between  shadow_step and shadow_between.
 */
struct shadow_machine {
    unsigned nonvolatile;
    uint8_t number[SHADOW_NONVOLATILE];
    const char *name[SHADOW_NONVOLATILE];
    unsigned pushed;
    unsigned gap;
    unsigned context;
    uint8_t context_pc, context_sp, context_nv[SHADOW_NONVOLATILE];
    enum shadow_kind (*kind_of)(const uint8_t *bytes, size_t size);
    enum shadow_event (*step)(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                              const struct shadow_regs *after, uint64_t top);
    bool (*between)(const struct shadow *shadow, const struct shadow_regs *now);
};
extern const struct shadow_machine shadow_x64, shadow_a64;

/*
 * Records one executed instruction.
 *
 * top      x64: the word at after->sp: the return address, if the instruction was a call; what was pushed, where
 *          shadow_wants_top says so.
 */
enum shadow_event shadow_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                              const struct shadow_regs *after, uint64_t top);

/* Records that a signal came: `before` is where, `handler` the registers at the handler's first instruction, restorer
 * what it will return to. */
void shadow_signal(struct shadow *shadow, const struct shadow_regs *before, const struct shadow_regs *handler,
                   uint64_t restorer);

/* Whether shadow_step needs the word on top of the stack. */
bool shadow_wants_top(const struct shadow *shadow, enum shadow_kind kind);

/*
 * Whether a stack pointer that is loaded stays on its stack: not below the old one, and not above the outermost call
 * that is known there.
 */
bool shadow_owns(const struct shadow *shadow, uint64_t before, uint64_t after);

/* Whether a stack that was switched away from holds sp. */
bool shadow_has_parked(const struct shadow *shadow, uint64_t sp);

/*
 * Records that the stack pointer went to another stack by an instruction that is no call: a switch of contexts, or a
 * jump out of an alternate stack. The calls of the stack that is left are parked. Those of the stack that sp is on now
 * come back; else those that are still in [begin, end), which does not hold the stack that is left; below others
 * nothing is known.
 */
void shadow_switch(struct shadow *shadow, uint64_t before, uint64_t after, uint64_t begin, uint64_t end);

/* Nothing is known any more; of no stack. */
void shadow_forget(struct shadow *shadow);
void shadow_forget_all(struct shadow *shadow);

/* The stack pointer is above the return address of the code being executed, or on another stack: it is on its way
 * elsewhere, and who its caller is is not defined. */
bool shadow_between(const struct shadow *shadow, const struct shadow_regs *now);

/* For the machines' own files: a new entry; the calls dropped whose slot lies `room` bytes or more below sp. */
void shadow_push(struct shadow *shadow, const struct shadow_entry *entry);
size_t shadow_drop(struct shadow *shadow, uint64_t sp, uint64_t room);

/* What a return did that left no frame: into the unknown, by a moved return address, or it was a jump. */
enum shadow_event shadow_strange_return(struct shadow *shadow, const struct shadow_regs *after);

#endif
