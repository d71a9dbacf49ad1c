/*
 * The machine that tests run on, and what its system lets them do: asked when they run. An emulator of another
 * machine's programs (qemu-user) lacks some of it; a test that needs what is missing skips itself and says what that
 * is.
 */
#ifndef TEST_UNIT_HOST_H
#define TEST_UNIT_HOST_H

#include <snapwalk/regs.h>

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the test is built with AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_ASAN 1
#endif
#endif
#ifndef IS_ASAN
#define IS_ASAN 0
#endif

/*
 * Tests of each byte or opcode that do not depend on the machine take one in so many on ARM64, where an emulator makes
 * them 15 times as long: x64 does them all.
 */
#if defined(__aarch64__)
enum { HOST_STRIDE = 13 };
#else
enum { HOST_STRIDE = 1 };
#endif

static inline enum sw_machine host_machine(void)
{
#if defined(__aarch64__)
    return SW_MACHINE_ARM64;
#else
    return SW_MACHINE_X64;
#endif
}

/* Says why and skips the test, unless the host has what it needs. */
#define HOST_NEEDS(has, what)                                                                                          \
    do {                                                                                                               \
        if (!(has)) {                                                                                                  \
            print_message("# needs %s\n", what);                                                                       \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

/* The program of a test that has nothing to test on another machine. */
static inline void test_needs_x64(void **state)
{
    (void)state;
    HOST_NEEDS(false, "x64");
}
#define MAIN_THAT_NEEDS_X64                                                                                            \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_needs_x64) };                                        \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }

/* Whether a process may seize another: PTRACE_SEIZE is what sw_process_stop does. */
static inline bool host_can_trace(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    const bool seized = child > 0 && ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    return seized;
}

/* Whether process_vm_readv answers; without it this process is read by /proc/self/mem. */
static inline bool host_has_process_reads(void)
{
    char from = 1, to = 0;
    const struct iovec remote = { &from, 1 }, local = { &to, 1 };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

#endif
