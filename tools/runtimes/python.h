/*
 * Python: what CPython 3.11 has in memory of the functions that its threads run. No option, no module, no signal;
 * living processes and cores. Every value is the target's, and checked where it is used; chains are bounded.
 */
#ifndef RUNTIMES_PYTHON_H
#define RUNTIMES_PYTHON_H

#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stddef.h>

enum { PYTHON_TEXT_BYTES = 512, PYTHON_CALLS_MOST = 1000 };

struct python;

/*
 * memory: copied; its arg and images are borrowed until python_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target is CPython 3.11); SW_E_NO_MEMORY.
 */
enum sw_status python_open(struct sw_images *images, const struct sw_memory *memory, struct python **python);
void python_close(struct python *python);

/*
 * What a frame of the interpreter's loop runs. Python functions that call each other share one frame of it.
 *
 * next   The state of a walk: 0 in the beginning, then kept from frame to frame of one thread.
 * calls  Receives where the innermost of them is.
 *
 * Returns a number that stands for these calls at these instructions; 0: it is no such frame.
 */
uint64_t python_identify(const struct python *python, uint64_t tid, const struct sw_frame *frame, uint64_t *next,
                         uint64_t *calls);

struct python_call {
    char function[PYTHON_TEXT_BYTES], file[PYTHON_TEXT_BYTES];
    int line;
};

/* Names a call and goes to its caller in the same frame. False: that was the last one. */
bool python_name(const struct python *python, uint64_t *calls, struct python_call *call);

#endif
