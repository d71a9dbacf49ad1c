/*
 * PHP: what PHP 8.2, 8.4, 8.5 and 8.6 have in memory of the functions that a process runs. x64; no option, no signal;
 * living processes and cores. Every value is the target's, and checked where it is used; chains are bounded.
 */
#ifndef RUNTIMES_PHP_H
#define RUNTIMES_PHP_H

#include "call.h"

#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stdbool.h>

struct php;

/*
 * memory: copied; its arg and images are borrowed until php_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target is such a release, or it is built for several threads or to be
 *          debugged, which changes structures); SW_E_NO_MEMORY.
 */
enum sw_status php_open(struct sw_images *images, const struct sw_memory *memory, struct php **php);

/* The same, where the table of modules and the interpreter's function are known. */
enum sw_status php_open_at(struct sw_images *images, const struct sw_memory *memory, uint64_t modules, uint64_t execute,
                           struct php **php);
void php_close(struct php *php);

/* The state of a walk over one thread, zero in the beginning. */
struct php_walk {
    uint64_t last; /* the outermost call of those that were shown */
};

/*
 * What a frame of execute_ex runs, or of code that was compiled: functions that call each other share one. To be asked
 * of each frame, leaf first.
 *
 * calls  Receives where the innermost of them is.
 *
 * Returns a number that stands for these calls at these instructions; 0: it is no such frame.
 */
uint64_t php_identify(const struct php *php, const struct sw_frame *frame, struct php_walk *walk, uint64_t *calls);

/* Names a call of that frame, and goes to its caller in the same frame. False: that was the last one. */
bool php_name(const struct php *php, const struct sw_frame *frame, uint64_t *calls, struct runtime_call *call);

#endif
