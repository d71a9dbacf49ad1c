/*
 * Go: from one stack of a thread to another, where the runtime has called something on its own stack, or C. x64. What
 * the runtime does when the call returns is read in its code, so that no version need be known.
 */
#ifndef RUNTIMES_GO_H
#define RUNTIMES_GO_H

#include <snapwalk/frame.h>
#include <snapwalk/memory.h>

/*
 * The registers behind a switch of stacks: in the caller of runtime.systemstack and of runtime.asmcgocall, on the
 * goroutine's stack; in the function on the thread's own stack that runtime.mcall left it for.
 *
 * memory  The target's. stack  The thread's. frame  Any frame.
 * thread  The thread's own registers, where its walk began.
 * end     Receives where the other stack ends, 0 where it is the thread's own.
 *
 * Returns false where the frame is no such.
 */
bool go_step(const struct sw_memory *memory, const struct sw_memory *stack, const struct sw_regs *thread,
             const struct sw_frame *frame, struct sw_regs *caller, uint64_t *end);

#endif
