/*
 * Who carries out the steps of threads: real threads of this process (stage_real.c), or a simulation
 * (stage_simulated.c). thread.c decides what a step does; a stage only moves a thread from one place to the next, and
 * keeps the registers of its frames true.
 */
#ifndef SW_HARNESS_STAGE_H
#define SW_HARNESS_STAGE_H

#include "tube.h"

/*
 * Each returns when it is done and the thread stands again, or spins.
 *
 * start    Makes the thread; it stands at its start, without frames. Sets os_id, and the bounds of its stack.
 * perform  Calls a function on the thread, where it stands.
 * enter    Goes from the second frame into the top one, which thread.c has just pushed.
 * leave    Returns from the top frame, which thread.c pops when this is done.
 * spin     Runs in a loop in the managed frame on top; `still` ends that.
 * unwind   Goes to the managed frame at `depth` - 1, which becomes the top, without returning to it.
 * end      The thread, without frames, ends.
 * stopped  For walks: the registers of a thread that stands. False: it has to be stopped for real.
 */
struct sw_tube_stage {
    enum sw_status (*start)(struct sw_tube_thread *thread, uint64_t *stack_begin, uint64_t *stack_end);
    void (*perform)(struct sw_tube_thread *thread, void (*function)(void *arg), void *arg);
    void (*enter)(struct sw_tube_thread *thread);
    void (*leave)(struct sw_tube_thread *thread);
    void (*spin)(struct sw_tube_thread *thread);
    void (*still)(struct sw_tube_thread *thread);
    void (*unwind)(struct sw_tube_thread *thread, unsigned depth);
    void (*end)(struct sw_tube_thread *thread);
    bool (*stopped)(struct sw_tube_thread *thread, struct sw_regs *regs);
};

extern const struct sw_tube_stage sw_tube_stage_real, sw_tube_stage_simulated;

/* A simulation's memory, as the read of struct sw_memory; arg: the tube. */
size_t sw_tube_simulated_read(void *arg, uint64_t address, void *to, size_t size);

/* The top frame; null: none. */
static inline struct sw_tube_frame *sw_tube_top(struct sw_tube_thread *thread)
{
    const unsigned depth = atomic_load(&thread->depth);
    return depth == 0 ? NULL : &thread->frames[depth - 1];
}

/* The registers of what a frame was called from have the return address of that call as their pc from now on. */
static inline void sw_tube_called_on(struct sw_tube_frame *frame)
{
    if (frame->kind == SW_FRAME_MANAGED)
        sw_regs_set(&frame->regs, sw_regs_pc_number(frame->regs.machine), frame->code->at_call);
}

/* Whether a thread can make a step: it is there, and has not ended; else a problem. thread.c */
enum sw_status sw_tube_usable(const struct sw_tube_thread *thread, const char *step);

/* Around each move of a thread: it waits while the runtime is suspended by the profiler, or the thread is walked. */
void sw_tube_begin_move(struct sw_tube_thread *thread);
void sw_tube_end_move(struct sw_tube_thread *thread);

/* The tube's thread that this OS thread is, or plays; null: none. */
extern _Thread_local struct sw_tube_thread *sw_tube_playing;

#endif
