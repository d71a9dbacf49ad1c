/*
 * A reader that is stopped at any instruction, while the writer looks for readers that are gone and others come in:
 * none of the others loses its slot, so nothing is released that one of them may see. Each instruction of a section is
 * stepped by the processor's trap flag.
 */
#include "rows.h"

#include "host.h"

#include "common/reclaim.h"

#if defined(__x86_64__)

#include <signal.h>
#include <ucontext.h>

enum {
    TRAP_FLAG = 0x100,
    PAGE = 4096,
    SIDE = SW_RECLAIM_STRIPES * SW_RECLAIM_SLOTS,
    OTHERS = 2 * SIDE,
    POLLS = 2,
    STEPS_MOST = 1000
};

/* AddressSanitizer puts ten instructions between two of a section. */
enum { EACH = IS_ASAN ? 7 : 1 };

static struct sw_reclaim reclaim;
static struct sw_retired blocks[3];
static bool released;                            /* the last one */
static _Alignas(PAGE) char stacks[OTHERS][PAGE]; /* of the others: slots are chosen by pages */
static unsigned steps, stop_at;

static void release(void *arg, struct sw_retired *block)
{
    (void)arg;
    released |= block == &blocks[2];
}

static struct sw_section *other(unsigned i)
{
    return (struct sw_section *)(void *)stacks[i];
}

static bool poll_in_vain(void)
{
    for (unsigned i = 0; i < POLLS; i++)
        if (sw_reclaim_poll(&reclaim))
            return false;
    return true;
}

/*
 * What others do while the reader is stopped: the writer, which finds it gone or not, and as many readers as there are
 * slots. Those of the first turn make the writer send those of the second to the other side.
 */
static void interrupt(void)
{
    for (unsigned turn = 0; turn < 2; turn++) {
        sw_reclaim_retire(&reclaim, &blocks[turn]);
        (void)poll_in_vain();
        for (unsigned i = 0; i < SIDE; i++)
            sw_reclaim_enter(&reclaim, other(turn * SIDE + i));
    }
}

/* int3 begins and ends the stepping. */
static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)number;
    if (info->si_code != TRAP_TRACE)
        at->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
    else if (++steps == stop_at)
        interrupt();
}

static __attribute__((noinline)) void read_stepwise(struct sw_section *section)
{
    steps = 0;
    __asm__ volatile("int3" ::: "memory");
    sw_reclaim_enter(&reclaim, section);
    sw_reclaim_leave(&reclaim, section);
    __asm__ volatile("int3" ::: "memory");
}

static void others_have_their_slots(void)
{
    for (unsigned i = 0; i < OTHERS; i++) {
        const uint64_t slot = atomic_load(&other(i)->mark) - SW_RECLAIM_OPEN;
        assert_true(slot < SW_RECLAIM_STRIPES * SW_RECLAIM_STRIPE);
        if (slot % SW_RECLAIM_SIDE != SW_RECLAIM_COUNTER)
            assert_int_equal(atomic_load(&reclaim.readers[slot]), (uintptr_t)other(i));
    }
}

static void nothing_is_released_before_they_leave(void)
{
    released = false;
    sw_reclaim_retire(&reclaim, &blocks[2]);
    assert_true(poll_in_vain());
    assert_false(released);
    for (unsigned i = 0; i < OTHERS; i++)
        sw_reclaim_leave(&reclaim, other(i));
    assert_true(sw_reclaim_poll(&reclaim) || sw_reclaim_poll(&reclaim));
    assert_true(released);
}

static void readers_keep_their_slots_wherever_another_is_stopped(void **state)
{
    const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    struct sigaction before;
    struct sw_section section;
    (void)state;
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    stop_at = 0;
    sw_reclaim_init(&reclaim, release, NULL);
    read_stepwise(&section);
    HOST_NEEDS(steps > 0, "a trap flag");
    for (stop_at = 1; stop_at <= STEPS_MOST; stop_at += EACH) {
        sw_reclaim_init(&reclaim, release, NULL);
        read_stepwise(&section);
        if (steps < stop_at)
            break;
        others_have_their_slots();
        nothing_is_released_before_they_leave();
    }
    print_message("# stopped at instructions up to %u\n", stop_at - EACH);
    assert_in_range(stop_at, 1 + EACH, STEPS_MOST);
    sigaction(SIGTRAP, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(readers_keep_their_slots_wherever_another_is_stopped) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

MAIN_THAT_NEEDS_X64

#endif
