/*
 * One frame of a walk: its registers, how they were found, and how sure that is. Also why a walk ended.
 */
#ifndef SNAPWALK_FRAME_H
#define SNAPWALK_FRAME_H

#include <snapwalk/codemap.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a frame's registers were found. ORDER sw_source: src/common/names.c. */
enum sw_source {
    SW_SOURCE_NONE = 0,
    SW_SOURCE_SEED,          /* given: the walk started from them */
    SW_SOURCE_CFI,           /* DWARF call frame information */
    SW_SOURCE_UNWIND_CODES,  /* Windows unwind data: a PE or ReadyToRun image */
    SW_SOURCE_CLR_HEADER,    /* the unwind data that CoreCLR stores with its JIT code */
    SW_SOURCE_ANALYSIS,      /* instructions, from the known start of the function */
    SW_SOURCE_FORWARD,       /* instructions, from pc forward to a return: the start is unknown */
    SW_SOURCE_SIGNAL_FRAME,  /* a signal trampoline, recognised by its bytes */
    SW_SOURCE_LEAF,          /* code that does not move the stack pointer, as declared or seen */
    SW_SOURCE_FRAME_POINTER, /* the frame pointer, which looked like one */
    SW_SOURCE_SFRAME,        /* SFrame: pc, sp and the frame pointer; other registers are not known in the caller */
    SW_SOURCE_COUNT
};

/*
 * How sure the registers are. ORDER sw_trust: src/common/names.c.
 *
 * GUESS      Plausible: a frame record, or a forward walk without confirmation.
 * LIKELY     Derived from the code: paths agree, or a call precedes the return address. Or stated by unwind data, and
 *            not borne out: no call precedes the return address, as where a coroutine begins, or it cannot be read.
 * CONFIRMED  Derived, and the call before the return address calls the function at pc.
 * EXACT      Given; or stated by unwind data, and checked: a call precedes the return address, or a signal's frame, or
 *            managed code that was interrupted, or the end of the stack is there. Of executing code the instructions
 *            around pc do not contradict the call frame information, unless SW_WALK_NO_ANALYSIS forbids to look.
 */
enum sw_trust {
    SW_TRUST_NONE = 0,
    SW_TRUST_GUESS,
    SW_TRUST_LIKELY,
    SW_TRUST_CONFIRMED,
    SW_TRUST_EXACT,
    SW_TRUST_COUNT
};

/* Why a walk ended. A clean root is never confused with a cut. ORDER sw_stop: src/common/names.c. */
enum sw_stop {
    SW_STOP_NONE = 0,      /* the walk has not ended */
    SW_STOP_ROOT,          /* clean: unwind data or the code at pc says that this frame is the outermost */
    SW_STOP_ROOT_ZERO,     /* clean: the return address is 0, and neither the frame nor this was a guess */
    SW_STOP_ROOT_BASE,     /* clean: the caller's frame begins at the stack's declared base */
    SW_STOP_ABORTED,       /* the sink ended the walk */
    SW_STOP_FRAME_LIMIT,   /* cut: max_frames was reached */
    SW_STOP_NO_RULE,       /* cut: nothing describes the code at pc */
    SW_STOP_UNREADABLE,    /* cut: a stack word could not be read */
    SW_STOP_BAD_PC,        /* cut: the return address is in no code, or 0 by a guess */
    SW_STOP_SP_NOT_RISING, /* cut: the caller's stack pointer is not above the callee's: loop or damage */
    SW_STOP_OUTSIDE_STACK, /* cut: the caller's stack pointer left the declared stack */
    SW_STOP_BAD_TABLE,     /* cut: unwind data contradicts itself, and no other source helped */
    SW_STOP_LOST_REGISTER, /* cut: the rule needs a register that is unknown */
    SW_STOP_BAD_START,     /* the start registers lack pc or sp, or are of another machine */
    SW_STOP_BUDGET,        /* cut: it would have taken more work than the walk may do; the frames so far are right */
    SW_STOP_COUNT
};

/*
 * One frame.
 *
 * regs     The start registers in the first frame. In other frames pc is the return address, and only the registers
 *          that could be restored are known.
 * exact    pc was being executed (first frame, or interrupted by a signal). Otherwise pc is a return address.
 * lookup   The address to look code up with: pc if exact, else pc - 1.
 * code     The code range at `lookup`. Kind NATIVE with begin == end == 0 if only an image, or nothing, is known there.
 * source   enum sw_source: how regs were found.
 * trust    enum sw_trust: how sure regs are.
 */
struct sw_frame {
    struct sw_regs regs;
    struct sw_range code;
    uint64_t lookup;
    uint8_t source;
    uint8_t trust;
    bool exact;
};

/* Why and where a walk was cut. pc: its caller could not be found. address: it could not be read. */
struct sw_fault {
    enum sw_status status;
    uint64_t pc;
    uint64_t address;
};

/*
 * Names for people: "cfi"; "exact"; "root".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
SW_API const char *sw_source_name(enum sw_source source);
SW_API const char *sw_trust_name(enum sw_trust trust);
SW_API const char *sw_stop_name(enum sw_stop stop);

#ifdef __cplusplus
}

extern "C++" {
/* Of a byte, as structures hold it, too: C++ makes no enumeration of it. Threads  Any. Signals  Safe. */
inline const char *sw_source_name(uint8_t source)
{
    return sw_source_name(static_cast<enum sw_source>(source));
}
inline const char *sw_trust_name(uint8_t trust)
{
    return sw_trust_name(static_cast<enum sw_trust>(trust));
}
}
#endif

#endif
