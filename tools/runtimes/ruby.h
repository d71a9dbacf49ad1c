/*
 * Ruby: what CRuby 3.1, 3.3 and 3.4 have in memory of the methods and blocks that their threads run. x64; no option, no
 * signal; living processes and cores. Every value is the target's, and checked where it is used; chains are bounded.
 */
#ifndef RUNTIMES_RUBY_H
#define RUNTIMES_RUBY_H

#include "call.h"

#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stdbool.h>

struct ruby;

/*
 * memory: copied; its arg and images are borrowed until ruby_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target is such a release); SW_E_NO_MEMORY.
 */
enum sw_status ruby_open(struct sw_images *images, const struct sw_memory *memory, struct ruby **ruby);

/* The same, where the text of its version is known. */
enum sw_status ruby_open_at(struct sw_images *images, const struct sw_memory *memory, uint64_t version,
                            struct ruby **ruby);
void ruby_close(struct ruby *ruby);

/* The state of a walk over one thread, zero in the beginning: what the frame before had in its registers. */
struct ruby_walk {
    uint64_t control, end; /* a control frame, and where its stack ends; 0: none */
    uint64_t last;         /* the outermost of those that were shown */
    bool is_compiled;      /* it was in compiled code */
};

/*
 * What a frame of rb_vm_exec runs: methods and blocks that call each other share one. To be asked of each frame, leaf
 * first.
 *
 * calls  Receives where the innermost of them is.
 *
 * Returns a number that stands for these calls at these instructions; 0: it is no such frame.
 */
uint64_t ruby_identify(const struct ruby *ruby, const struct sw_frame *frame, struct ruby_walk *walk, uint64_t *calls);

/* Names a call and goes to its caller in the same frame. False: that was the last one. */
bool ruby_name(const struct ruby *ruby, uint64_t *calls, struct runtime_call *call);

#endif
