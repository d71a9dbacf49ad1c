/*
 * Go: from the stack on which C is called back to the goroutine's. x64. What the runtime itself does when C returns is
 * read in its code, so that no version need be known.
 */
#ifndef RUNTIMES_GO_H
#define RUNTIMES_GO_H

#include <snapwalk/frame.h>
#include <snapwalk/memory.h>

/*
 * The caller's registers of runtime.asmcgocall, on the goroutine's stack. memory: the target's; stack: the thread's.
 * frame: the last one of a walk. end: receives where the goroutine's stack ends. False: it is no such frame.
 */
bool go_leave_c(const struct sw_memory *memory, const struct sw_memory *stack, const struct sw_frame *frame,
                struct sw_regs *caller, uint64_t *end);

#endif
