/* Alternate signal stacks of CoreCLR's threads: larger ones instead. */
#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
enum { AT_MINSIGSTKSZ = 51 };
#endif

/* What the largest of the CLR's has, and so many frames of signals, one in the other, with what their handlers use. */
enum { LARGEST = 16384, FRAMES = 4, HANDLER_BYTES = 2048, LEAST_FRAME = 2048 };

static size_t bytes_wanted(size_t page)
{
    const size_t least = getauxval(AT_MINSIGSTKSZ), frame = least > LEAST_FRAME ? least : LEAST_FRAME;
    return (page + LARGEST + FRAMES * (frame + HANDLER_BYTES) + page - 1) / page * page;
}

static bool is_readable(uint64_t address)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t byte;
    return memory.read(memory.arg, address, &byte, 1) == 1;
}

/* Made by the CLR: the page that guards it is a part of it. */
static bool is_guarded_inside(const stack_t *stack, size_t page)
{
    const uint64_t begin = (uint64_t)(uintptr_t)stack->ss_sp;
    return stack->ss_flags == 0 && begin % page == 0 && stack->ss_size % page == 0 && stack->ss_size > page &&
           !is_readable(begin) && is_readable(begin + page);
}

/* A wider one, its lowest page as guard. False: no memory. */
static bool make_wider(size_t page, stack_t *wider)
{
    const size_t size = bytes_wanted(page);
    void *begin =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
        return false;
    *wider = (stack_t){ .ss_sp = begin, .ss_size = size };
    return mprotect(begin, page, PROT_NONE) == 0 || (munmap(begin, size), false);
}

static enum sw_status widen_outside(size_t page)
{
    stack_t old, wider;
    if (sigaltstack(NULL, &old) != 0)
        return SW_E_OS;
    if (old.ss_flags & SS_DISABLE)
        return SW_E_NOT_FOUND;
    if (old.ss_size >= bytes_wanted(page))
        return SW_OK;
    if (old.ss_flags & SS_ONSTACK)
        return SW_E_BUSY;
    if (!is_guarded_inside(&old, page))
        return SW_E_UNSUPPORTED;
    if (!make_wider(page, &wider))
        return SW_E_OS;
    if (sigaltstack(&wider, NULL) != 0)
        return munmap(wider.ss_sp, wider.ss_size), SW_E_OS;
    munmap(old.ss_sp, old.ss_size);
    return SW_OK;
}

static bool is_on(const stack_t *stack, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * The kernel takes the stack out of the context when the handler returns, but not if the handler or what it interrupted
 * stands on the one before (Linux on x64 looks at the handler's stack pointer since 6.12). A handler further out brings
 * the old stack back when it returns, so the old one stays, and its lowest words say which one was made for the thread:
 * address, and its complement.
 */
static enum sw_status widen_inside(stack_t *saved, uint64_t sp, size_t page)
{
    stack_t wider = { .ss_size = bytes_wanted(page) };
    if (is_on(saved, sp) || is_on(saved, (uint64_t)(uintptr_t)&wider))
        return SW_E_BUSY;
    if (!is_guarded_inside(saved, page))
        return SW_E_UNSUPPORTED;
    uint64_t *made = (uint64_t *)((char *)saved->ss_sp + page);
    wider.ss_sp = (void *)(uintptr_t)made[0];
    if (made[0] != ~made[1] && !make_wider(page, &wider))
        return SW_E_OS;
    made[0] = (uint64_t)(uintptr_t)wider.ss_sp;
    made[1] = ~made[0];
    *saved = wider;
    return SW_OK;
}

static uint64_t interrupted_sp(const ucontext_t *context)
{
#ifdef __x86_64__
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#else
    return context->uc_mcontext.sp;
#endif
}

/* Handlers that come meanwhile might do the same. What the kernel saved says without a system call if all is done. */
enum sw_status sw_clr_widen_signal_stack(void *ucontext)
{
    ucontext_t *context = ucontext;
    sigset_t all, before;
    if (context && ((context->uc_stack.ss_flags & SS_DISABLE) || context->uc_stack.ss_size == 0))
        return SW_E_NOT_FOUND;
    const size_t page = getauxval(AT_PAGESZ);
    if (context && context->uc_stack.ss_size >= bytes_wanted(page))
        return SW_OK;
    sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, &before) != 0)
        return SW_E_OS;
    const enum sw_status status =
        context ? widen_inside(&context->uc_stack, interrupted_sp(context), page) : widen_outside(page);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
