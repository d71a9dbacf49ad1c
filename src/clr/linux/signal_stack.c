/*
 * Alternate signal stacks of CoreCLR's threads: larger ones instead, made for a thread or lent to it by whoever keeps
 * them. process_vm_readv(2) for what may be no memory.
 */
#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

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

/*
 * Whether the page at an address cannot be read, while what is certainly there can: each new thread is asked once. What
 * is behind the guard is not looked at: a page that is, has to be made, and to unmap it later stops all processors.
 */
static bool is_guard(uint64_t address)
{
    uint8_t bytes[2], own = 0;
    const struct iovec local = { bytes, sizeof bytes };
    const struct iovec remote[] = { { &own, 1 }, { (void *)(uintptr_t)address, 1 } };
    const ssize_t got = process_vm_readv(getpid(), &local, 1, remote, 2, 0);
    return got < 0 ? !is_readable(address) && is_readable((uint64_t)(uintptr_t)&own) : got == 1;
}

/* Made by the CLR: the page that guards it is a part of it. */
static bool is_guarded_inside(const stack_t *stack, size_t page)
{
    const uint64_t begin = (uint64_t)(uintptr_t)stack->ss_sp;
    return stack->ss_flags == 0 && begin % page == 0 && stack->ss_size % page == 0 && stack->ss_size > page &&
           is_guard(begin);
}

/*
 * The lowest words of a stack that a handler replaced say which one was made for its thread: address, and its
 * complement; or, of no address, that there will be none.
 */
static uint64_t *words_of(const stack_t *stack, size_t page)
{
    return (uint64_t *)((char *)stack->ss_sp + page);
}

static void refuse(const stack_t *stack, size_t page)
{
    words_of(stack, page)[0] = 0;
    words_of(stack, page)[1] = ~UINT64_C(0);
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

/*
 * At the end of the thread the CLR unmaps the stack that it made if the thread has that (10.0.12), or whatever the
 * thread has (earlier ones): so it gets its own back before. The C library calls this in front of the destructors of
 * keys, by which the CLR ends its threads; musl has no such call. Source: clr-frames-by-version.md section 7.
 */
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

enum { PAGES_BITS = 12 }; /* a stack as one word: its address, and in the bits that are 0 there its pages */

/*
 * The stack as it was, and whoever looks at it from a handler sees that it is to stay: by a flag which nobody else sets
 * (Linux 4.7), or else by words in it, of which the kernel makes a page that nothing else needs. False: the thread
 * stands on the wider one. Source: sigaltstack(2).
 */
static bool set_for_good(const stack_t *old, size_t page, stack_t *now)
{
    enum { AUTODISARM = INT32_MIN };
    stack_t flagged = *old;
    flagged.ss_flags = AUTODISARM;
    if (sigaltstack(&flagged, now) == 0)
        return true;
    refuse(old, page);
    return sigaltstack(old, now) == 0;
}

static void give_back(void *word)
{
    const uint64_t value = (uint64_t)(uintptr_t)word, page = getauxval(AT_PAGESZ), mask = (1U << PAGES_BITS) - 1;
    stack_t now;
    const stack_t old = { .ss_sp = (void *)(uintptr_t)(value & ~mask), .ss_size = (value & mask) * page };
    if (!set_for_good(&old, page, &now))
        return;
    if (now.ss_flags == 0 && now.ss_size == bytes_wanted(page))
        munmap(now.ss_sp, now.ss_size);
    else
        (void)sigaltstack(&now, NULL); /* the program's own */
}

static bool will_give_back(const stack_t *old, size_t page)
{
    const uint64_t pages = old->ss_size / page;
    return __cxa_thread_atexit_impl && pages >> PAGES_BITS == 0 &&
           __cxa_thread_atexit_impl(give_back, (char *)old->ss_sp + pages, &__dso_handle) == 0;
}

/* What a handler has made meanwhile, which is rare, stays mapped. */
static enum sw_status replace(const stack_t *old, size_t page)
{
    stack_t wider;
    if (!make_wider(page, &wider))
        return SW_E_OS;
    if (sigaltstack(&wider, NULL) != 0)
        return munmap(wider.ss_sp, wider.ss_size), SW_E_OS;
    if (!will_give_back(old, page))
        munmap(old->ss_sp, old->ss_size);
    return SW_OK;
}

/* ---- lent ---- */

/* Of the lowest places the stacks stay mapped. A bit of `taken` is its place's lock. */
enum { KEPT = 64 };

static struct sw_clr_signal_stack *take(struct sw_clr_signal_stacks *stacks)
{
    for (size_t i = 0; i < SW_CLR_SIGNAL_STACKS / 64; i++) {
        uint64_t bits = __atomic_load_n(&stacks->taken[i], __ATOMIC_RELAXED);
        while (bits != UINT64_MAX)
            if (__atomic_compare_exchange_n(&stacks->taken[i], &bits, bits | (bits + 1), false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return &stacks->each[i * 64 + (size_t)__builtin_ctzll(~bits)];
    }
    return NULL;
}

static void put(struct sw_clr_signal_stack *stack, size_t page)
{
    struct sw_clr_signal_stacks *stacks = stack->of;
    const size_t number = (size_t)(stack - stacks->each);
    if (number >= KEPT && stack->wider) {
        munmap(stack->wider, bytes_wanted(page));
        stack->wider = NULL;
    }
    __atomic_fetch_and(&stacks->taken[number / 64], ~(UINT64_C(1) << number % 64), __ATOMIC_RELEASE);
}

/* A thread that has set its own meanwhile may have kept this one to go back to: it stays taken. */
static void take_back(void *lent)
{
    struct sw_clr_signal_stack *stack = lent;
    const size_t page = getauxval(AT_PAGESZ);
    const stack_t old = { .ss_sp = stack->before, .ss_size = stack->before_bytes };
    stack_t now;
    if (!set_for_good(&old, page, &now))
        return;
    if (now.ss_flags == 0 && now.ss_sp == stack->wider)
        put(stack, page);
    else
        (void)sigaltstack(&now, NULL);
}

static bool lend(struct sw_clr_signal_stacks *stacks, const stack_t *old, size_t page)
{
    struct sw_clr_signal_stack *stack = __cxa_thread_atexit_impl ? take(stacks) : NULL;
    stack_t wider = { .ss_size = bytes_wanted(page) };
    if (!stack)
        return false;
    wider.ss_sp = stack->wider;
    *stack = (struct sw_clr_signal_stack){ stacks, wider.ss_sp, old->ss_sp, old->ss_size };
    if (wider.ss_sp || make_wider(page, &wider)) {
        stack->wider = wider.ss_sp;
        if (__cxa_thread_atexit_impl(take_back, stack, &__dso_handle) == 0)
            return sigaltstack(&wider, NULL) == 0;
    }
    put(stack, page);
    return false;
}

/* ---- outside of handlers ---- */

/* The runtime's own stack. SW_E_EXISTS: the thread has a wider one. */
static enum sw_status find_narrow(size_t page, stack_t *old)
{
    if (sigaltstack(NULL, old) != 0)
        return SW_E_OS;
    if (old->ss_flags & SS_DISABLE)
        return SW_E_NOT_FOUND;
    if (old->ss_size >= bytes_wanted(page))
        return SW_E_EXISTS;
    if (old->ss_flags & SS_ONSTACK)
        return SW_E_BUSY;
    return is_guarded_inside(old, page) ? SW_OK : SW_E_UNSUPPORTED;
}

static enum sw_status widen_outside(struct sw_clr_signal_stacks *stacks, size_t page)
{
    stack_t old;
    enum sw_status status = find_narrow(page, &old);
    if (status == SW_OK && !(stacks && lend(stacks, &old, page)))
        status = replace(&old, page);
    return status == SW_E_EXISTS ? SW_OK : status;
}

/* ---- in handlers ---- */

static bool is_on(const stack_t *stack, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * The kernel takes the stack out of the context when the handler returns, but not if the handler or what it interrupted
 * stands on the one before (Linux on x64 looks at the handler's stack pointer since 6.12). A handler further out brings
 * the old stack back when it returns, so the old one stays, with words that say which one was made for the thread.
 */
static enum sw_status widen_inside(stack_t *saved, uint64_t sp, size_t page)
{
    stack_t wider = { .ss_size = bytes_wanted(page) };
    if (is_on(saved, sp) || is_on(saved, (uint64_t)(uintptr_t)&wider))
        return SW_E_BUSY;
    if (!is_guarded_inside(saved, page) || !is_readable((uint64_t)(uintptr_t)words_of(saved, page)))
        return SW_E_UNSUPPORTED;
    uint64_t *made = words_of(saved, page);
    wider.ss_sp = (void *)(uintptr_t)made[0];
    if (made[0] == 0 && made[1] == ~UINT64_C(0))
        return SW_E_NOT_FOUND;
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

/* Other handlers might do the same meanwhile. What the kernel saved says without a system call if all is done. */
static enum sw_status widen_in_handler(ucontext_t *context, size_t page)
{
    sigset_t all, before;
    if ((context->uc_stack.ss_flags & SS_DISABLE) || context->uc_stack.ss_size == 0)
        return SW_E_NOT_FOUND;
    if (context->uc_stack.ss_size >= bytes_wanted(page))
        return SW_OK;
    sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, &before) != 0)
        return SW_E_OS;
    const enum sw_status status = widen_inside(&context->uc_stack, interrupted_sp(context), page);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

enum sw_status sw_clr_widen_signal_stack(void *ucontext)
{
    const size_t page = getauxval(AT_PAGESZ);
    return ucontext ? widen_in_handler(ucontext, page) : widen_outside(NULL, page);
}

enum sw_status sw_clr_lend_signal_stack(struct sw_clr_signal_stacks *stacks)
{
    return widen_outside(stacks, getauxval(AT_PAGESZ));
}
