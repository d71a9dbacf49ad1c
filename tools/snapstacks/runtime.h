/* Which runtime made a target's code, found out from its files and memory; and what that runtime tells of its code. */
#ifndef SNAPSTACKS_RUNTIME_H
#define SNAPSTACKS_RUNTIME_H

#include "runtimes/pclntab.h"
#include "runtimes/php.h"
#include "runtimes/python.h"
#include "runtimes/ruby.h"

#include <snapwalk/clr_names.h>
#include <snapwalk/core.h>
#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/perfmap.h>
#include <snapwalk/process.h>
#include <snapwalk/runtime_kind.h>

/* names, hotspot, v8, python, ruby, php, mono, go: read the memory of such a runtime; or null. */
struct runtime {
    enum sw_runtime_kind kind;
    int pid; /* 0: a core */
    struct sw_clr_names *names;
    struct hotspot *hotspot;
    struct v8 *v8;
    struct python *python;
    struct ruby *ruby;
    struct php *php;
    struct mono *mono;
    struct pclntab *go;
    struct sw_code_finder finder;
    const struct sw_perfmap *perfmap; /* what is asked where the structures are not known; or null */
};

/*
 * Opens the runtime that was found (sw_process_runtimes, sw_core_runtimes). pid: 0 for a core. memory: the target's;
 * what its arg points to must live until runtime_close. search: the same, of which a capsule keeps nothing.
 */
void runtime_open(struct runtime *runtime, const struct sw_runtime *found, int pid, struct sw_images *images,
                  const struct sw_memory *memory, const struct sw_memory *search);
void runtime_close(struct runtime *runtime);

/* Finds the code that the runtime knows, for walks; null: it is not asked. It lives as long as the runtime. */
const struct sw_code_finder *runtime_finder(const struct runtime *runtime);

/*
 * The caller's registers, where the runtime's own knowledge of its frames gives them. stack: the thread's. False: the
 * walk goes on as in any code.
 */
bool runtime_step(const struct runtime *runtime, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller);

/*
 * What a frame runs, where its pc does not say so: a number that stands for the function, and how it is run. CODE, 0:
 * the pc says it, or the runtime is asked for the code at it.
 */
enum runtime_how { RUNTIME_CODE, RUNTIME_INTERPRETED, RUNTIME_COMPILED, RUNTIME_BUILTIN };
struct runtime_frame {
    uint64_t identity, at; /* at: where it is described */
    enum runtime_how how;
};

/* A walk of a thread, zero but for its id in the beginning. */
struct runtime_walk {
    uint64_t tid;
    struct python_walk python;
    struct ruby_walk ruby;
    struct php_walk php;
};

/* caller_sp: the stack pointer of the frame's caller; UINT64_MAX where there is none. */
struct runtime_frame runtime_identify(const struct runtime *runtime, struct runtime_walk *walk,
                                      const struct sw_memory *stack, const struct sw_frame *frame, uint64_t caller_sp);

/* "CLR 10", "V8"; empty for none. */
void runtime_describe(const struct runtime *runtime, char *text, size_t size);

#endif
