/*
 * JavaScript: what V8 has in memory of the functions on a stack, read by the constants that it exports for debuggers
 * (v8dbg_*), as in Node. No option of Node, no perf map; living processes and cores. x64. Every value is the target's,
 * and checked where it is used. Functions that were inlined into optimised code are not seen.
 */
#ifndef RUNTIMES_JAVASCRIPT_H
#define RUNTIMES_JAVASCRIPT_H

#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stddef.h>

struct v8;

enum v8_how { V8_NONE, V8_INTERPRETED, V8_COMPILED, V8_BUILTIN };

/*
 * memory: copied; its arg and images are borrowed until v8_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target exports the constants); SW_E_NO_MEMORY.
 */
enum sw_status v8_open(struct sw_images *images, const struct sw_memory *memory, struct v8 **v8);
void v8_close(struct v8 *v8);

/* The caller's registers, for a frame in code of V8. stack: the thread's. False: the walk goes on as in any code. */
bool v8_step(const struct v8 *v8, const struct sw_memory *stack, const struct sw_frame *frame, struct sw_regs *caller);

/* The function that a frame runs, and how: in V8's terms a SharedFunctionInfo. V8_NONE: it is no function's frame. */
enum v8_how v8_identify(const struct v8 *v8, const struct sw_memory *stack, const struct sw_frame *frame,
                        uint64_t *function);

/* The address in the program's file of built-in code, which is also asked for in V8's copy of it; 0: it is none. */
uint64_t v8_builtin(const struct v8 *v8, uint64_t address);

/* The name of a function and of its script; empty where there is none. */
void v8_name(const struct v8 *v8, uint64_t function, char *name, char *script, size_t size);

#endif
