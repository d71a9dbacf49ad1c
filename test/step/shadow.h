/*
 * The truth of a single-stepped thread: a stack of the calls that were executed and have not returned. Works on the
 * registers in front of and behind each instruction; decodes nothing but the few opcodes that transfer control, and
 * shares no code with what it judges.
 */
#ifndef STEP_SHADOW_H
#define STEP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHADOW_DEPTH = 4096, SHADOW_NONVOLATILE = 6 };

/* The registers that matter. nv: rbx rbp r12 r13 r14 r15, what a callee preserves. */
struct shadow_regs {
    uint64_t pc;
    uint64_t sp;
    uint64_t nv[SHADOW_NONVOLATILE];
};

/*
 * A caller, as it will be when the callee has returned.
 *
 * slot         Where the return address lies; for an interrupted frame, where the kernel's frame for the handler ends.
 * interrupted  regs are those at which a signal came.
 * assumed      Not seen to be called: somebody's word for it, until it is returned to. nv means nothing.
 * loose        regs.sp means not quite what it says: the callee may pop its arguments, as code of JITs does.
 * popped       The return address was popped, and may be pushed elsewhere.
 * unknown      From here outwards nothing is known; regs mean nothing.
 */
struct shadow_entry {
    struct shadow_regs regs;
    uint64_t slot;
    bool interrupted;
    bool assumed;
    bool loose;
    bool popped;
    bool unknown;
};

/* entries[count - 1] is the caller of the code being executed. overflow: calls that found no room; truth is lost. */
struct shadow {
    struct shadow_entry entries[SHADOW_DEPTH];
    size_t count;
    bool overflow;
};

/* What an instruction does to control, by its opcode. */
enum shadow_kind { SHADOW_PLAIN, SHADOW_CALL, SHADOW_RETURN, SHADOW_JUMP, SHADOW_SYSCALL };
enum shadow_kind shadow_kind_of(const uint8_t *bytes, size_t size);

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
 * Records one executed instruction.
 *
 * top      The word at after->sp: the return address, if the instruction was a call; what was pushed, where
 *          shadow_wants_top says so.
 */
enum shadow_event shadow_step(struct shadow *shadow, enum shadow_kind kind, const struct shadow_regs *before,
                              const struct shadow_regs *after, uint64_t top);

/* Records that a signal came: `before` is where, `handler` the registers at the handler's first instruction, restorer the
 * word at handler->sp. */
void shadow_signal(struct shadow *shadow, const struct shadow_regs *before, const struct shadow_regs *handler,
                   uint64_t restorer);

/* Whether shadow_step needs the word on top of the stack. */
bool shadow_wants_top(const struct shadow *shadow, enum shadow_kind kind);

/*
 * Records that the stack pointer went to another stack, [begin, end), by an instruction that is no call: a switch of
 * contexts, or a jump out of an alternate stack. Calls that are still on that stack come back; below others nothing is
 * known.
 */
void shadow_switch(struct shadow *shadow, uint64_t begin, uint64_t end);

/* Nothing is known any more. */
void shadow_forget(struct shadow *shadow);

/* The stack pointer is above the return address of the code being executed: it is on its way elsewhere, and who its
 * caller is is not defined. */
bool shadow_between(const struct shadow *shadow, const struct shadow_regs *now);

#endif
