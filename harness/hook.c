/*
 * Enter and leave hooks. Those without information are called by a method's own code, with the id in the registers that
 * .NET's code generator uses and nothing in the usual ones; simulated threads have them called here. Those with
 * information are called as functions, and count as callbacks of the runtime.
 *
 * Source: dotnet/runtime jit/targetamd64.h (REG_PROFILER_ENTER_ARG_0, ..LEAVE_ARG_0: r14 and rdi with SysV), vm/
 * proftoeeinterfaceimpl.cpp (ProfileEnter). Seen with .NET 10: examples/clr-in-a-tube/profilers/hooks.c runs in both,
 * and in a hook without information GetModuleMetaData is refused.
 */
#include "stage.h"

/* Which hooks are called as functions: FunctionEnter2 and FunctionEnter3WithInfo. */
enum { WITH_FRAME = 2, WITH_INFO = 4 };

static _Thread_local unsigned inside;

bool sw_tube_in_hook(void)
{
    return inside != 0;
}

bool sw_tube_hooks_are_slow(const struct sw_tube *tube)
{
    return tube->hook_version == WITH_FRAME || tube->hook_version == WITH_INFO;
}

/* Enter and leave have the same parameters. */
static void call_slow(const struct sw_tube *tube, UINT_PTR hook, UINT_PTR client, UINT_PTR info)
{
    union {
        UINT_PTR address;
        FunctionEnter2 *with_frame;
        FunctionEnter3WithInfo *with_info;
    } code = { .address = hook };
    inside++;
    if (tube->hook_version == WITH_FRAME)
        code.with_frame(client, client, info, NULL);
    else
        code.with_info((FunctionIDOrClientID){ .clientID = client }, info);
    inside--;
}

void sw_tube_slow_enter(UINT_PTR client, UINT_PTR info)
{
    const struct sw_tube *tube = sw_tube_playing->tube;
    call_slow(tube, tube->enter_hook, client, info);
}

void sw_tube_slow_leave(UINT_PTR client, UINT_PTR info)
{
    const struct sw_tube *tube = sw_tube_playing->tube;
    call_slow(tube, tube->leave_hook, client, info);
}

/* ---- simulated threads ---- */

#if defined(__x86_64__)
#define CLOBBERED "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc"

static void call_fast(UINT_PTR hook, UINT_PTR client, bool enters)
{
    if (enters)
        __asm__ volatile("movq %1, %%r14\n\txorl %%edi, %%edi\n\tcall *%0"
                         :
                         : "r"(hook), "r"(client)
                         : "r14", "r15", "rdi", "rsi", CLOBBERED);
    else
        __asm__ volatile("movq %1, %%rdi\n\tcall *%0" : : "r"(hook), "r"(client) : "rdi", "rsi", CLOBBERED);
}
#else
static void call_fast(UINT_PTR hook, UINT_PTR client, bool enters)
{
    union {
        UINT_PTR address;
        FunctionEnter3 *function;
    } code = { .address = hook };
    (void)enters;
    code.function((FunctionIDOrClientID){ .clientID = client });
}
#endif

struct hooked {
    const struct sw_tube *tube;
    bool enters;
    UINT_PTR hook, client, info;
};

static void call_it(void *arg)
{
    const struct hooked *about = arg;
    if (sw_tube_hooks_are_slow(about->tube))
        call_slow(about->tube, about->hook, about->client, about->info);
    else
        call_fast(about->hook, about->client, about->enters);
}

void sw_tube_hook(struct sw_tube_thread *thread, bool enters)
{
    const struct sw_tube *tube = thread->tube;
    const UINT_PTR hook = enters ? tube->enter_hook : tube->leave_hook;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (hook == 0 || !tube->options.simulated || !top || !top->function || !top->function->hooked)
        return;
    struct hooked about = { tube, enters, hook, top->function->client, (UINT_PTR)sw_regs_sp(&top->regs) };
    tube->stage->perform(thread, call_it, &about);
}
