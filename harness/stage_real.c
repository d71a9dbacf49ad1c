/*
 * Threads of this process. Each waits at the gate, or in native code, for its next errand; the conductor waits until it
 * is back. What stands on its stack is real: machine code, frames, return addresses.
 */
#include "stage.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <snapwalk/self.h>

#include "gate.h"

enum errand { NOTHING, PERFORM, ENTER, LEAVE, SPIN, UNWIND, END };

/* Small, because there may be thousands; a thread of .NET has 1.5 MiB. */
enum { STACK_BYTES = 1536 << 10 };

/*
 * marks    How each managed frame goes on from its gate: marks[n] is that of frames[n].
 * spin     The two words of a spin (gate.h).
 * begin, end  Its stack.
 */
struct real {
    pthread_t os_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum errand errand; /* NOTHING: it is back */
    void (*function)(void *arg);
    void *arg;
    unsigned depth;
    struct {
        _Atomic uint32_t over, begun;
    } spin;
    uint64_t begin, end;
    struct sw_regs base; /* at its start, without frames */
    enum sw_status born;
    struct sw_gate_go marks[SW_TUBE_DEPTH];
};

_Thread_local struct sw_tube_thread *sw_tube_playing;

uint64_t sw_gate_address(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return (uint64_t)(uintptr_t)sw_tube_gate;
#else
    return 0;
#endif
}

/* ---- on the thread ---- */

/* The thread is back from its errand, and waits for the next. What is the same anywhere is done here. */
static enum errand next_errand(struct sw_tube_thread *thread)
{
    struct real *real = thread->stage;
    for (;;) {
        pthread_mutex_lock(&real->lock);
        real->errand = NOTHING;
        atomic_store(&thread->place, SW_PLACE_STANDS);
        pthread_cond_broadcast(&real->changed);
        while (real->errand == NOTHING)
            pthread_cond_wait(&real->changed, &real->lock);
        const enum errand errand = real->errand;
        atomic_store(&thread->place, SW_PLACE_RUNS);
        pthread_mutex_unlock(&real->lock);
        if (errand != PERFORM)
            return errand;
        real->function(real->arg);
    }
}

/* The thread runs from here on: the conductor waits for its loop only. */
static void begin_spin(struct sw_tube_thread *thread)
{
    struct real *real = thread->stage;
    pthread_mutex_lock(&real->lock);
    real->errand = NOTHING;
    atomic_store(&thread->place, SW_PLACE_SPINS);
    pthread_cond_broadcast(&real->changed);
    pthread_mutex_unlock(&real->lock);
}

/* Native code: the thread's start, and all that P/Invokes and helpers call. */
static void stand_in_native(void)
{
    struct sw_tube_thread *thread = sw_tube_playing;
    struct sw_tube_frame *self = sw_tube_top(thread);
    struct real *real = thread->stage;
    sw_self_capture(self ? &self->regs : &real->base);
    while (next_errand(thread) == ENTER) {
        union {
            uint64_t address;
            void (*function)(void);
        } code = { .address = sw_tube_top(thread)->code->begin };
        code.function();
    }
}

/* The numbers of the registers that the gate keeps, in its order (gate_x64.S, gate_arm64.S). */
static const uint8_t kept_x64[] = { SW_X64_RBX, SW_X64_RBP, SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15 };
static const uint8_t kept_arm64[] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 };

static void read_registers(struct sw_regs *regs, enum sw_machine machine, const uint64_t words[SW_GATE_WORDS])
{
    const bool is_arm64 = machine == SW_MACHINE_ARM64;
    const uint8_t *kept = is_arm64 ? kept_arm64 : kept_x64;
    const size_t count = is_arm64 ? sizeof kept_arm64 : sizeof kept_x64;
    *regs = (struct sw_regs){ .machine = machine };
    for (size_t i = 0; i < count; i++)
        sw_regs_set(regs, kept[i], words[i]);
    sw_regs_set(regs, sw_regs_pc_number(machine), words[SW_GATE_PC]);
    sw_regs_set(regs, sw_regs_sp_number(machine), words[SW_GATE_SP]);
}

/* What the managed code does next, as the gate's answer. */
static const struct sw_gate_go *answer(struct sw_tube_thread *thread, enum errand errand, struct sw_gate_go *mark)
{
    struct real *real = thread->stage;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    mark->flag = (uint64_t)(uintptr_t)&real->spin;
    mark->go = 0;
    if (errand == SPIN)
        mark->go = 1;
    else if (errand == ENTER)
        mark->go = top->kind == SW_FRAME_MANAGED ? top->code->begin : (uint64_t)(uintptr_t)stand_in_native;
    if (errand != UNWIND)
        return mark;
    /* As if the call in the frame had returned: the code then asks the gate again. */
    mark = &real->marks[real->depth - 1];
    mark->regs[SW_GATE_PC] = thread->frames[real->depth - 1].code->at_call;
    return mark;
}

const struct sw_gate_go *sw_tube_at_gate(const uint64_t regs[SW_GATE_WORDS])
{
    struct sw_tube_thread *thread = sw_tube_playing;
    struct real *real = thread->stage;
    /* A step that left a frame, or went up, ends here: the frame on top is the one that asks. */
    if (real->errand == LEAVE)
        atomic_fetch_sub(&thread->depth, 1);
    else if (real->errand == UNWIND)
        atomic_store(&thread->depth, real->depth);
    const unsigned depth = atomic_load(&thread->depth);
    struct sw_gate_go *mark = &real->marks[depth - 1];
    memcpy(mark->regs, regs, sizeof mark->regs);
    read_registers(&thread->frames[depth - 1].regs, thread->tube->machine, regs);
    const enum errand errand = next_errand(thread);
    if (errand == SPIN)
        begin_spin(thread);
    return answer(thread, errand, mark);
}

static void *live(void *arg)
{
    struct sw_tube_thread *thread = arg;
    struct real *real = thread->stage;
    sw_tube_playing = thread;
    atomic_store(&thread->os_id, sw_self_thread());
    real->born = sw_self_stack(&real->begin, &real->end);
    stand_in_native();
    pthread_mutex_lock(&real->lock);
    real->errand = NOTHING;
    pthread_cond_broadcast(&real->changed);
    pthread_mutex_unlock(&real->lock);
    return NULL;
}

/* ---- on the conductor ---- */

static void wait_until_back(struct real *real)
{
    while (real->errand != NOTHING)
        pthread_cond_wait(&real->changed, &real->lock);
}

static void send(struct sw_tube_thread *thread, enum errand errand)
{
    struct real *real = thread->stage;
    pthread_mutex_lock(&real->lock);
    real->errand = errand;
    pthread_cond_broadcast(&real->changed);
    wait_until_back(real);
    pthread_mutex_unlock(&real->lock);
}

static enum sw_status start(struct sw_tube_thread *thread, uint64_t *stack_begin, uint64_t *stack_end)
{
    struct real *real = calloc(1, sizeof *real);
    pthread_attr_t attributes;
    if (!real)
        return SW_E_NO_MEMORY;
    thread->stage = real;
    (void)pthread_mutex_init(&real->lock, NULL);
    (void)pthread_cond_init(&real->changed, NULL);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    real->errand = ENTER; /* until it stands for the first time */
    const int error = pthread_create(&real->os_thread, &attributes, live, thread);
    (void)pthread_attr_destroy(&attributes);
    if (error != 0) {
        thread->stage = NULL;
        free(real);
        return error == EAGAIN ? SW_E_LIMIT : SW_E_OS;
    }
    pthread_mutex_lock(&real->lock);
    wait_until_back(real);
    pthread_mutex_unlock(&real->lock);
    *stack_begin = real->begin;
    *stack_end = real->end;
    return real->born;
}

static void perform(struct sw_tube_thread *thread, void (*function)(void *arg), void *arg)
{
    struct real *real = thread->stage;
    if (sw_tube_playing == thread) { /* a step within a step: the thread itself asks */
        function(arg);
        return;
    }
    real->function = function;
    real->arg = arg;
    send(thread, PERFORM);
}

static void enter(struct sw_tube_thread *thread)
{
    const unsigned depth = atomic_load(&thread->depth);
    if (depth > 1)
        sw_tube_called_on(&thread->frames[depth - 2]);
    send(thread, ENTER);
}

/* Managed code is back at its caller's gate, or in the native code that called it; native code is back at the gate. */
static void leave(struct sw_tube_thread *thread)
{
    const unsigned depth = atomic_load(&thread->depth);
    const bool to_native = depth < 2 || thread->frames[depth - 2].kind != SW_FRAME_MANAGED;
    send(thread, LEAVE);
    if (to_native)
        atomic_fetch_sub(&thread->depth, 1);
}

static void spin(struct sw_tube_thread *thread)
{
    struct real *real = thread->stage;
    atomic_store(&real->spin.over, 0);
    atomic_store(&real->spin.begun, 0);
    send(thread, SPIN);
    while (!atomic_load(&real->spin.begun))
        sched_yield();
}

static void still(struct sw_tube_thread *thread)
{
    struct real *real = thread->stage;
    pthread_mutex_lock(&real->lock);
    real->errand = SPIN;
    atomic_store(&real->spin.over, 1);
    wait_until_back(real);
    pthread_mutex_unlock(&real->lock);
}

static void unwind(struct sw_tube_thread *thread, unsigned depth)
{
    struct real *real = thread->stage;
    real->depth = depth;
    send(thread, UNWIND);
}

static void end(struct sw_tube_thread *thread)
{
    struct real *real = thread->stage;
    send(thread, END);
    (void)pthread_join(real->os_thread, NULL);
    (void)pthread_cond_destroy(&real->changed);
    (void)pthread_mutex_destroy(&real->lock);
    free(real);
    thread->stage = NULL;
}

/* It stands as if at the top frame's next instruction: the gate is not seen. */
static bool stopped(struct sw_tube_thread *thread, struct sw_regs *regs)
{
    const struct real *real = thread->stage;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (atomic_load(&thread->place) != SW_PLACE_STANDS || !real)
        return false;
    *regs = top ? top->regs : real->base;
    return true;
}

const struct sw_tube_stage sw_tube_stage_real = {
    .start = start,
    .perform = perform,
    .enter = enter,
    .leave = leave,
    .spin = spin,
    .still = still,
    .unwind = unwind,
    .end = end,
    .stopped = stopped,
};
