/*
 * Python: what CPython 3.7 to 3.15 has in memory of the functions that its threads run. No option, no
 * module, no signal; living processes and cores. Every value is the target's, and checked where it is used; chains are
 * bounded.
 */
#ifndef RUNTIMES_PYTHON_H
#define RUNTIMES_PYTHON_H

#include "call.h"

#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stdbool.h>
#include <stddef.h>

struct python;

/*
 * memory: copied; its arg and images are borrowed until python_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target is such a release); SW_E_NO_MEMORY.
 */
enum sw_status python_open(struct sw_images *images, const struct sw_memory *memory, struct python **python);
void python_close(struct python *python);

/* The state of a walk over one thread, zero in the beginning: the calls that are next, and where their record is. */
struct python_walk {
    uint64_t calls, record;
    bool has_begun, is_over;
};

/*
 * What a frame of the interpreter's loop runs: the frame, between its sp and its caller's, that holds the record of
 * these calls. Python functions that call each other share one. To be asked of each frame, leaf first.
 *
 * caller_sp  Its caller's stack pointer; UINT64_MAX where there is none.
 * calls      Receives where the innermost of them is.
 *
 * Returns a number that stands for these calls at these instructions; 0: it is no such frame.
 */
uint64_t python_identify(const struct python *python, uint64_t tid, const struct sw_frame *frame, uint64_t caller_sp,
                         struct python_walk *walk, uint64_t *calls);

/* Names a call and goes to its caller in the same frame. False: that was the last one. */
bool python_name(const struct python *python, uint64_t *calls, struct runtime_call *call);

#endif
