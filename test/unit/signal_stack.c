/*
 * Alternate signal stacks: those that the CLR made are replaced by larger ones, which the runtime can free as it would
 * have freed its own; nobody else's is touched.
 */
#include "rows.h"
#include "host.h"

#include "base/memory.h"

#include <snapwalk/clr.h>
#include <snapwalk/self.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, CLR_BYTES = 16384, LEFT_BY_CLR = 2864 };

#define A_GUARD "process_vm_readv: /proc/self/mem reads what is protected, too"

static stack_t before; /* the test's own, or AddressSanitizer's */

static bool is_mapped(const void *at)
{
    return msync((void *)(uintptr_t)at, PAGE, MS_ASYNC) == 0;
}

static bool is_readable(const void *at)
{
    const struct sw_memory memory = sw_self_memory();
    uint8_t byte;
    return sw_memory_read(&memory, (uint64_t)(uintptr_t)at, &byte, 1) == 1;
}

static stack_t now(void)
{
    stack_t stack;
    assert_int_equal(sigaltstack(NULL, &stack), 0);
    return stack;
}

static stack_t set_stack(bool is_guarded)
{
    const stack_t stack = { .ss_sp = mmap(NULL, CLR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                            .ss_size = CLR_BYTES };
    assert_true(stack.ss_sp != MAP_FAILED);
    if (is_guarded)
        assert_int_equal(mprotect(stack.ss_sp, PAGE, PROT_NONE), 0);
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    return stack;
}

/* As the CLR does at the end of a thread. */
static void free_stack(void)
{
    const stack_t none = { .ss_flags = SS_DISABLE, .ss_size = (size_t)MINSIGSTKSZ };
    stack_t stack;
    assert_int_equal(sigaltstack(&none, &stack), 0);
    assert_int_equal(munmap(stack.ss_sp, stack.ss_size), 0);
}

static int set_up(void **state)
{
    const stack_t none = { .ss_flags = SS_DISABLE, .ss_size = (size_t)MINSIGSTKSZ };
    (void)state;
    return sigaltstack(&none, &before);
}

static int tear_down(void **state)
{
    (void)state;
    return sigaltstack(&before, NULL);
}

static void assert_is_wider(const stack_t *stack, const stack_t *old)
{
    assert_ptr_not_equal(stack->ss_sp, old->ss_sp);
    assert_true(stack->ss_size >= 2 * CLR_BYTES);
    assert_int_equal(stack->ss_flags, 0);
    assert_false(is_readable(stack->ss_sp));
    assert_true(is_readable((const uint8_t *)stack->ss_sp + PAGE));
    assert_true(is_readable((const uint8_t *)stack->ss_sp + stack->ss_size - 1));
}

/* ---- outside of handlers ---- */

static void the_runtimes_stack_is_replaced_once(void **state)
{
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    const stack_t old = set_stack(true);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_OK);
    const stack_t wider = now();
    assert_is_wider(&wider, &old);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_OK);
    assert_ptr_equal(now().ss_sp, wider.ss_sp);
    free_stack();
    assert_false(is_mapped(wider.ss_sp));
}

/* A page that is looked at is made, and the runtime unmaps it at the end of the thread, which stops all processors. */
static void nothing_is_read_of_the_runtimes_stack(void **state)
{
    unsigned char is_there = 1;
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    const stack_t old = set_stack(true);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_OK);
    assert_int_equal(mincore((uint8_t *)old.ss_sp + PAGE, PAGE, &is_there), 0);
    assert_int_equal(is_there & 1, 0);
    free_stack();
    assert_int_equal(munmap(old.ss_sp, old.ss_size), 0);
}

static void where_there_is_none_none_is_made(void **state)
{
    (void)state;
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_E_NOT_FOUND);
    assert_int_not_equal(now().ss_flags & SS_DISABLE, 0);
}

static void somebody_elses_stays(void **state)
{
    (void)state;
    const stack_t old = set_stack(false);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_E_UNSUPPORTED);
    assert_ptr_equal(now().ss_sp, old.ss_sp);
    assert_true(is_mapped(old.ss_sp));
    free_stack();
}

static void all_signals_are_as_they_were(void **state)
{
    sigset_t some, after;
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &some, NULL), 0);
    set_stack(true);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_OK);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &some, &after), 0);
    assert_true(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGUSR2));
    free_stack();
}

/* ---- in handlers ---- */

static enum sw_status status_inside;
static stack_t stack_inside;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    status_inside = sw_clr_widen_signal_stack(context);
}

static void raise_with(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };
    struct sigaction old;
    assert_int_equal(sigaction(number, &action, &old), 0);
    raise(number);
    assert_int_equal(sigaction(number, &old, NULL), 0);
}

static void what_a_handler_replaces_is_there_behind_it(void **state)
{
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    const stack_t old = set_stack(true);
    raise_with(SIGUSR1, on_signal, 0);
    assert_int_equal(status_inside, SW_OK);
    const stack_t wider = now();
    assert_is_wider(&wider, &old);
    assert_true(is_mapped(old.ss_sp)); /* a handler further out may go back to it */
    raise_with(SIGUSR1, on_signal, 0);
    assert_int_equal(status_inside, SW_OK);
    assert_ptr_equal(now().ss_sp, wider.ss_sp);
    free_stack();
    assert_int_equal(munmap(old.ss_sp, old.ss_size), 0);
}

static void outer(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    raise_with(SIGUSR2, on_signal, 0);
    stack_inside = now();
}

static void one_is_made_for_a_thread_whoever_brings_the_old_one_back(void **state)
{
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    const stack_t old = set_stack(true);
    raise_with(SIGUSR1, outer, 0);
    const stack_t wider = stack_inside;
    assert_is_wider(&wider, &old);
    assert_ptr_equal(now().ss_sp, old.ss_sp);
    raise_with(SIGUSR1, outer, 0);
    assert_ptr_equal(stack_inside.ss_sp, wider.ss_sp);
    raise_with(SIGUSR1, on_signal, 0);
    assert_ptr_equal(now().ss_sp, wider.ss_sp);
    free_stack();
    assert_int_equal(munmap(old.ss_sp, old.ss_size), 0);
}

static void nobody_leaves_the_stack_that_he_stands_on(void **state)
{
    (void)state;
    const stack_t old = set_stack(true);
    status_inside = SW_OK;
    raise_with(SIGUSR1, outer, SA_ONSTACK);
    assert_int_equal(status_inside, SW_E_BUSY);
    assert_ptr_equal(stack_inside.ss_sp, old.ss_sp);
    status_inside = SW_OK;
    raise_with(SIGUSR1, on_signal, SA_ONSTACK);
    assert_int_equal(status_inside, SW_E_BUSY);
    assert_ptr_equal(now().ss_sp, old.ss_sp);
    free_stack();
}

/* ---- at the end of a thread ---- */

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));

static stack_t made, replaced, at_end;
static bool is_gone, is_written;

/* Where the CLR ends its threads. A signal that comes now leaves it at that. */
static void end_of_thread(void *unused)
{
    (void)unused;
    at_end = now();
    is_written = false;
    is_gone = !is_mapped(made.ss_sp);
    for (size_t i = 0; i < 2; i++)
        is_written |= ((const uint64_t *)(const void *)((const uint8_t *)replaced.ss_sp + PAGE))[i] != 0;
    status_inside = SW_OK;
    raise_with(SIGUSR1, on_signal, 0);
    at_end.ss_size = now().ss_sp == at_end.ss_sp ? at_end.ss_size : 0;
    free_stack();
}

static void *thread(void *key)
{
    replaced = set_stack(true);
    assert_int_equal(sw_clr_widen_signal_stack(NULL), SW_OK);
    made = now();
    assert_int_equal(pthread_setspecific(*(pthread_key_t *)key, &made), 0);
    return NULL;
}

/* Notes what a thread has at its end. */
static void begin_and_end(void *(*run)(void *key))
{
    pthread_key_t key;
    pthread_t id;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    HOST_NEEDS(__cxa_thread_atexit_impl != NULL, "a C library that calls functions at the end of a thread");
    assert_int_equal(pthread_key_create(&key, end_of_thread), 0);
    assert_int_equal(pthread_create(&id, NULL, run, &key), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(pthread_key_delete(key), 0);
}

static void a_thread_that_ends_has_its_own_again(void **state)
{
    (void)state;
    begin_and_end(thread);
    assert_ptr_not_equal(made.ss_sp, replaced.ss_sp);
    assert_ptr_equal(at_end.ss_sp, replaced.ss_sp);
    assert_int_equal(at_end.ss_size, replaced.ss_size);
    assert_true(is_gone);
    assert_int_equal(status_inside, at_end.ss_flags ? SW_E_UNSUPPORTED : SW_E_NOT_FOUND);
    assert_int_equal(is_written, at_end.ss_flags == 0); /* by words, where the kernel knows no flag */
    assert_false(is_mapped(replaced.ss_sp));
}

static void *thread_with_its_own(void *key)
{
    (void)thread(key);
    replaced = set_stack(true);
    return NULL;
}

/* What a thread has set itself since then is its own at the end, too. */
static void what_a_thread_has_set_itself_stays(void **state)
{
    (void)state;
    begin_and_end(thread_with_its_own);
    assert_ptr_equal(at_end.ss_sp, replaced.ss_sp);
    assert_false(is_gone);
}

/* ---- lent ---- */

static struct sw_clr_signal_stacks stacks;

static void *lent_thread(void *key)
{
    replaced = set_stack(true);
    assert_int_equal(sw_clr_lend_signal_stack(&stacks), SW_OK);
    made = now();
    assert_int_equal(sw_clr_lend_signal_stack(&stacks), SW_OK);
    assert_ptr_equal(now().ss_sp, made.ss_sp);
    assert_int_equal(pthread_setspecific(*(pthread_key_t *)key, &made), 0);
    return NULL;
}

static void *lent_thread_with_its_own(void *key)
{
    (void)lent_thread(key);
    replaced = set_stack(true);
    return NULL;
}

static void the_next_thread_has_the_same(void **state)
{
    (void)state;
    stacks = (struct sw_clr_signal_stacks){ 0 };
    begin_and_end(lent_thread);
    const stack_t first = made;
    assert_is_wider(&first, &replaced); /* still there */
    assert_ptr_equal(at_end.ss_sp, replaced.ss_sp);
    assert_int_equal(at_end.ss_size, replaced.ss_size);
    assert_int_equal(status_inside, at_end.ss_flags ? SW_E_UNSUPPORTED : SW_E_NOT_FOUND);
    begin_and_end(lent_thread);
    assert_ptr_equal(made.ss_sp, first.ss_sp);
    assert_int_equal(made.ss_size, first.ss_size);
    assert_int_equal(stacks.taken[0], 0);
}

/* It may go back to what it was lent. */
static void what_a_thread_has_set_over_a_lent_one_stays(void **state)
{
    (void)state;
    stacks = (struct sw_clr_signal_stacks){ 0 };
    begin_and_end(lent_thread_with_its_own);
    assert_ptr_equal(at_end.ss_sp, replaced.ss_sp);
    assert_false(is_gone);
    const stack_t first = made;
    begin_and_end(lent_thread);
    assert_ptr_not_equal(made.ss_sp, first.ss_sp);
    assert_int_equal(stacks.taken[0], 1);
}

enum { PLACES_KEPT = 64, CROWD = PLACES_KEPT + 3 };

static stack_t all_made[CROWD];
static pthread_barrier_t all_there;

static void *one_of_many(void *at)
{
    set_stack(true);
    assert_int_equal(sw_clr_lend_signal_stack(&stacks), SW_OK);
    all_made[(size_t)(uintptr_t)at] = now();
    (void)pthread_barrier_wait(&all_there);
    return NULL;
}

static void begin_many(size_t count)
{
    pthread_t ids[CROWD];
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    HOST_NEEDS(__cxa_thread_atexit_impl != NULL, "a C library that calls functions at the end of a thread");
    assert_int_equal(pthread_barrier_init(&all_there, NULL, (unsigned)count), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, one_of_many, (void *)(uintptr_t)i), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    assert_int_equal(pthread_barrier_destroy(&all_there), 0);
}

static void threads_at_once_have_each_its_own(void **state)
{
    size_t kept = 0;
    (void)state;
    stacks = (struct sw_clr_signal_stacks){ 0 };
    begin_many(CROWD);
    for (size_t i = 0; i < CROWD; i++) {
        kept += is_mapped(all_made[i].ss_sp);
        for (size_t j = 0; j < i; j++)
            assert_ptr_not_equal(all_made[i].ss_sp, all_made[j].ss_sp);
    }
    assert_int_equal(kept, PLACES_KEPT);
    assert_int_equal(stacks.taken[0] | stacks.taken[1], 0);
}

static void where_no_place_is_free_one_is_made_for_the_thread(void **state)
{
    (void)state;
    memset(&stacks, 0, sizeof stacks);
    memset(stacks.taken, 0xff, sizeof stacks.taken);
    begin_and_end(lent_thread);
    assert_true(made.ss_size > replaced.ss_size);
    assert_ptr_equal(at_end.ss_sp, replaced.ss_sp);
    assert_true(is_gone);
}

/* ---- what it is for ---- */

static void on_second(int number)
{
    (void)number;
}

static volatile uint8_t *used;

/* Uses what the CLR's handler uses where another signal finds the least room; and then there is another signal. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const uint8_t *here = __builtin_frame_address(0), *bottom = (const uint8_t *)stack_inside.ss_sp + PAGE;
    (void)number, (void)info, (void)context;
    const size_t top = (size_t)((const uint8_t *)stack_inside.ss_sp + stack_inside.ss_size - here);
    if (here < bottom || top > CLR_BYTES - PAGE - LEFT_BY_CLR)
        _exit(2);
    used = __builtin_alloca(CLR_BYTES - PAGE - LEFT_BY_CLR - top);
    used[0] = 1;
    raise(SIGUSR2);
    _exit(0);
}

static void a_second_signal_finds_room(void **state)
{
    const struct sigaction second = { .sa_handler = on_second };
    int status;
    (void)state;
    HOST_NEEDS(host_has_process_reads(), A_GUARD);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        set_stack(true);
        if (sw_clr_widen_signal_stack(NULL) != SW_OK || sigaction(SIGUSR2, &second, NULL) != 0)
            _exit(3);
        stack_inside = now();
        raise_with(SIGUSR1, on_fault, SA_ONSTACK);
        _exit(4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ALONE(the_runtimes_stack_is_replaced_once),
        ALONE(nothing_is_read_of_the_runtimes_stack),
        ALONE(where_there_is_none_none_is_made),
        ALONE(somebody_elses_stays),
        ALONE(all_signals_are_as_they_were),
        ALONE(what_a_handler_replaces_is_there_behind_it),
        ALONE(one_is_made_for_a_thread_whoever_brings_the_old_one_back),
        ALONE(nobody_leaves_the_stack_that_he_stands_on),
        ALONE(a_thread_that_ends_has_its_own_again),
        ALONE(what_a_thread_has_set_itself_stays),
        ALONE(the_next_thread_has_the_same),
        ALONE(what_a_thread_has_set_over_a_lent_one_stays),
        ALONE(threads_at_once_have_each_its_own),
        ALONE(where_no_place_is_free_one_is_made_for_the_thread),
        ALONE(a_second_signal_finds_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
