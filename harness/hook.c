/*
 * Enter and leave hooks of simulated threads, in the registers that .NET's code generator uses. Real threads' code
 * calls them itself (code.c).
 *
 * Source: dotnet/runtime jit/targetamd64.h (REG_PROFILER_ENTER_ARG_0, ..LEAVE_ARG_0: r14 and rdi with SysV).
 */
#include "stage.h"

#if defined(__x86_64__)
static void call_hook(UINT_PTR hook, UINT_PTR client, UINT_PTR info)
{
    __asm__ volatile("movq %1, %%r14\n\tmovq %2, %%r15\n\tmovq %%r14, %%rdi\n\tmovq %%r15, %%rsi\n\tcall *%0"
                     :
                     : "r"(hook), "r"(client), "r"(info)
                     : "r14", "r15", "rdi", "rsi", "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
}
#else
static void call_hook(UINT_PTR hook, UINT_PTR client, UINT_PTR info)
{
    union {
        UINT_PTR address;
        FunctionEnter3WithInfo *function;
    } code = { .address = hook };
    code.function((FunctionIDOrClientID){ .functionID = client }, info);
}
#endif

struct hooked {
    UINT_PTR hook, client, info;
};

static void call_it(void *arg)
{
    const struct hooked *about = arg;
    call_hook(about->hook, about->client, about->info);
}

void sw_tube_hook(struct sw_tube_thread *thread, UINT_PTR hook)
{
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (hook == 0 || !thread->tube->options.simulated || !top || !top->function || !top->function->hooked)
        return;
    struct hooked about = { hook, top->function->client, (UINT_PTR)sw_regs_sp(&top->regs) };
    thread->tube->stage->perform(thread, call_it, &about);
}
