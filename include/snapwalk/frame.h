/*
 * One frame of a walk: its registers, how they were found, how sure that is, and why a walk ended.
 */
#ifndef SNAPWALK_FRAME_H
#define SNAPWALK_FRAME_H

#include <snapwalk/codemap.h>
#include <snapwalk/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a frame's registers were found. ORDER sw_source: src/names.c. */
enum sw_source {
    SW_SOURCE_NONE = 0,
    SW_SOURCE_SEED,          /* given: the registers the walk starts from */
    SW_SOURCE_CFI,           /* DWARF call frame information */
    SW_SOURCE_UNWIND_CODES,  /* Windows unwind data: a PE or ReadyToRun image */
    SW_SOURCE_CLR_HEADER,    /* the unwind data that CoreCLR keeps with its JIT code */
    SW_SOURCE_ANALYSIS,      /* instructions, from the known start of the function */
    SW_SOURCE_FORWARD,       /* instructions, forward from pc to a return: the start is not known */
    SW_SOURCE_SIGNAL_FRAME,  /* a signal trampoline known by its bytes */
    SW_SOURCE_LEAF,          /* declared or seen not to move the stack pointer */
    SW_SOURCE_FRAME_POINTER, /* the frame pointer looked like one */
    SW_SOURCE_COUNT
};

/* How sure it is. ORDER sw_trust: src/names.c. */
enum sw_trust {
    SW_TRUST_NONE = 0,
    SW_TRUST_GUESS,     /* plausible: a frame record, a forward walk that nothing confirms */
    SW_TRUST_LIKELY,    /* derived from the code; paths agree, or a call stands before the return address */
    SW_TRUST_CONFIRMED, /* derived, and the call before the return address names the function that pc is in */
    SW_TRUST_EXACT,     /* given, or told by unwind data */
    SW_TRUST_COUNT
};

/* Why a walk ended. A clean root is never confused with a cut. ORDER sw_stop: src/names.c. */
enum sw_stop {
    SW_STOP_NONE = 0,        /* it has not ended */
    SW_STOP_ROOT,            /* clean: the unwind data says that this is the outermost frame */
    SW_STOP_ROOT_ZERO,       /* clean: the return address is 0 */
    SW_STOP_ROOT_BASE,       /* clean: the caller's frame begins at the stack's declared base */
    SW_STOP_ABORTED,         /* the sink ended it */
    SW_STOP_FRAME_LIMIT,     /* cut: max_frames */
    SW_STOP_NO_RULE,         /* cut: nothing describes the code at pc */
    SW_STOP_UNREADABLE,      /* cut: a stack word could not be read */
    SW_STOP_BAD_PC,          /* cut: the return address is not in readable or known code */
    SW_STOP_SP_NOT_RISING,   /* cut: the caller's stack pointer is not above the callee's: a loop or damage */
    SW_STOP_OUTSIDE_STACK,   /* cut: the caller's stack pointer left the declared stack */
    SW_STOP_BAD_TABLE,       /* cut: unwind data contradicts itself and nothing else helped */
    SW_STOP_LOST_REGISTER,   /* cut: the rule needs a register whose value is not known */
    SW_STOP_BAD_START,       /* the start registers lack pc or sp, or are of another machine */
    SW_STOP_COUNT
};

/*
 * One frame.
 *
 * regs     Its registers. For the first frame the start registers; for others pc is the return address and only
 *          what could be restored is known.
 * exact    pc is an instruction that was being executed (first frame, interrupted by a signal), not a return address.
 * lookup   The address to look code up with: pc when exact, pc - 1 otherwise.
 * code     The code range around lookup; kind NATIVE with begin == end == 0 when only an image or nothing is known.
 * source, trust  How regs were found.
 */
struct sw_frame {
    struct sw_regs regs;
    struct sw_range code;
    uint64_t lookup;
    uint8_t source;
    uint8_t trust;
    bool exact;
};

/* Where and why a walk was cut: the pc whose caller could not be found, the address that could not be read. */
struct sw_fault {
    enum sw_status status;
    uint64_t pc;
    uint64_t address;
};

/*
 * Names for people: "cfi", "exact", "root".
 *
 * Returns  A constant string; "?" out of range. Memory  Static. Threads  Any. Signals  Safe.
 */
const char *sw_source_name(enum sw_source source);
const char *sw_trust_name(enum sw_trust trust);
const char *sw_stop_name(enum sw_stop stop);

#ifdef __cplusplus
}
#endif

#endif
