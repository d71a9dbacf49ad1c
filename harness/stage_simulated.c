/*
 * Simulated threads: their frames are written into a stack of bytes as the machine code would, and what happens on them
 * happens on the conductor. Knows the shapes of code (code.h) and no instruction.
 */
#include "stage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "code.h"

/* Stacks lie one after the other, with a gap, so that the memory of an address is found without a search. */
#define STACKS       UINT64_C(0x7f0000000000)
#define STACK_STRIDE UINT64_C(0x400000)
enum { STACK_BYTES = 2 << 20, FIRST_OS_ID = 100000 };

/*
 * One stack. base: the registers in the thread's start.
 */
struct simulated {
    uint8_t *bytes;
    uint64_t begin, end;
    struct sw_regs base;
};

static const struct sw_code_shape native_x64 = { .bytes = 8, .frame = 8, .saves = 1, .save = { { SW_X64_RBP, 8 } } };
static const struct sw_code_shape native_arm64 = {
    .bytes = 16, .frame = 16, .saves = 2, .save = { { SW_ARM64_FP, 16 }, { SW_ARM64_LR, 8 } }
};

static void store(const struct simulated *to, uint64_t address, uint64_t word)
{
    if (address >= to->begin && address <= to->end - 8)
        memcpy(to->bytes + (address - to->begin), &word, 8);
}

/* A call: from `regs`, which become those of the callee's body. */
static void call(const struct simulated *on, struct sw_regs *regs, uint64_t return_address,
                 const struct sw_code_shape *shape, uint64_t pc)
{
    const enum sw_machine machine = regs->machine;
    uint64_t entry = sw_regs_sp(regs);
    if (machine == SW_MACHINE_X64)
        store(on, entry -= 8, return_address);
    else
        sw_regs_set(regs, SW_ARM64_LR, return_address);
    for (unsigned i = 0; i < shape->saves; i++)
        store(on, entry - shape->save[i].below, regs->r[shape->save[i].number]);
    if (shape->frame != 0)
        sw_regs_set(regs, sw_regs_fp_number(machine), entry - shape->frame);
    sw_regs_set(regs, sw_regs_sp_number(machine), entry - shape->bytes);
    sw_regs_set(regs, sw_regs_pc_number(machine), pc);
}

static const struct sw_code_shape *native_shape(enum sw_machine machine)
{
    return machine == SW_MACHINE_ARM64 ? &native_arm64 : &native_x64;
}

/* The start of a thread: native code that nothing has called. Every nonvolatile register is known. */
static void write_base(struct sw_tube_thread *thread, struct simulated *made)
{
    const enum sw_machine machine = thread->tube->machine;
    const uint64_t nonvolatile = sw_regs_nonvolatile(machine);
    struct sw_regs *regs = &made->base;
    *regs = (struct sw_regs){ .machine = machine };
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (nonvolatile >> n & 1)
            sw_regs_set(regs, n, 0);
    sw_regs_set(regs, sw_regs_fp_number(machine), 0);
    sw_regs_set(regs, sw_regs_sp_number(machine), made->end - 64);
    call(made, regs, 0, native_shape(machine), sw_code_native(thread->tube).stands);
}

static enum sw_status start(struct sw_tube_thread *thread, uint64_t *stack_begin, uint64_t *stack_end)
{
    struct simulated *made = calloc(1, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    made->bytes = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made->bytes == MAP_FAILED) {
        free(made);
        return SW_E_NO_MEMORY;
    }
    made->begin = STACKS + thread->index * STACK_STRIDE;
    made->end = made->begin + STACK_BYTES;
    atomic_store(&thread->os_id, FIRST_OS_ID + thread->index);
    write_base(thread, made);
    *stack_begin = made->begin;
    *stack_end = made->end;
    thread->stage = made;
    return SW_OK;
}

static void perform(struct sw_tube_thread *thread, void (*function)(void *arg), void *arg)
{
    struct sw_tube_thread *before = sw_tube_playing;
    sw_tube_playing = thread;
    const enum sw_tube_place place = atomic_exchange(&thread->place, SW_PLACE_RUNS);
    function(arg);
    atomic_store(&thread->place, place);
    sw_tube_playing = before;
}

/* What a frame is called from has its return address as pc; the frame then has registers of its own. */
static void enter(struct sw_tube_thread *thread)
{
    const struct simulated *on = thread->stage;
    const unsigned depth = atomic_load(&thread->depth);
    struct sw_tube_frame *top = &thread->frames[depth - 1], *caller = depth > 1 ? &thread->frames[depth - 2] : NULL;
    const struct sw_code_native native = sw_code_native(thread->tube);
    uint64_t back = native.after;
    if (caller && caller->kind == SW_FRAME_MANAGED)
        back = caller->code->at_call;
    if (caller)
        sw_regs_set(&caller->regs, sw_regs_pc_number(caller->regs.machine), back);
    top->regs = caller ? caller->regs : on->base;
    if (top->kind == SW_FRAME_MANAGED)
        call(on, &top->regs, back, sw_code_shape(top->regs.machine, top->code->shape), top->code->at_gate);
    else
        call(on, &top->regs, back, native_shape(top->regs.machine), native.stands);
}

/* A frame that is on top again asks the gate, or stands in its native code. */
static void rest(struct sw_tube_thread *thread)
{
    struct sw_tube_frame *top = sw_tube_top(thread);
    if (top)
        sw_regs_set(&top->regs, sw_regs_pc_number(top->regs.machine),
                    top->kind == SW_FRAME_MANAGED ? top->code->at_gate : sw_code_native(thread->tube).stands);
}

static void leave(struct sw_tube_thread *thread)
{
    atomic_fetch_sub(&thread->depth, 1);
    rest(thread);
}

static void spin(struct sw_tube_thread *thread)
{
    struct sw_tube_frame *top = sw_tube_top(thread);
    sw_regs_set(&top->regs, sw_regs_pc_number(top->regs.machine), top->code->spin);
    atomic_store(&thread->place, SW_PLACE_SPINS);
}

static void still(struct sw_tube_thread *thread)
{
    atomic_store(&thread->place, SW_PLACE_STANDS);
    rest(thread);
}

static void unwind(struct sw_tube_thread *thread, unsigned depth)
{
    atomic_store(&thread->depth, depth);
    rest(thread);
}

static void end(struct sw_tube_thread *thread)
{
    struct simulated *on = thread->stage;
    (void)munmap(on->bytes, STACK_BYTES);
    free(on);
    thread->stage = NULL;
}

static bool stopped(struct sw_tube_thread *thread, struct sw_regs *regs)
{
    const struct simulated *on = thread->stage;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (!on)
        return false;
    *regs = top ? top->regs : on->base;
    return true;
}

size_t sw_tube_simulated_read(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_tube *tube = arg;
    struct sw_tube_thread **thread;
    if (address < STACKS)
        return sw_code_read(tube, address, to, size);
    thread = sw_list_at(&tube->threads, sizeof *thread, (size_t)((address - STACKS) / STACK_STRIDE));
    const struct simulated *on = thread ? (*thread)->stage : NULL;
    if (!on || address < on->begin || address >= on->end)
        return 0;
    const size_t left = (size_t)(on->end - address), part = size < left ? size : left;
    memcpy(to, on->bytes + (address - on->begin), part);
    return part;
}

const struct sw_tube_stage sw_tube_stage_simulated = {
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
