/* Whether a process had begun at a time: by the kernel's clocks, and of this very process and its files. */
#include "rows.h"

#include "../support/nap.h"
#include "target/linux/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HZ = 100 };

/* A machine that was switched on at second 1,000 and a half; a process that began 2.50 s later, at 1,003.0. */
static const struct row {
    const char *name;
    struct timespec up, time;
    bool before;
} rows[] = {
    { "at_once_whatever_the_fractions_of_the_clocks_are", { 2, 600000000 }, { 1003, 50000000 }, true },
    { "at_once_and_looked_at_later", { 3, 400000000 }, { 1003, 50000000 }, true },
    { "in_the_same_moment", { 3, 600000000 }, { 1003, 0 }, true },
    { "by_the_kernels_last_tick", { 3, 600000000 }, { 1002, 995000000 }, true },
    { "two_ticks_earlier", { 3, 600000000 }, { 1002, 980000000 }, false },
    { "two_ticks_earlier_and_looked_at_soon", { 2, 600000000 }, { 1002, 980000000 }, false },
    { "long_ago", { 3, 600000000 }, { 1, 0 }, false },
    { "before_all_times", { 3, 600000000 }, { INT64_MIN, 0 }, false },
    { "behind_all_times", { 3, 600000000 }, { INT64_MAX, 999999999 }, true },
};

static void start_is_compared(void **state)
{
    const struct row *row = *state;
    const long nsec = row->up.tv_nsec + 500000000;
    const struct timespec now = { 1000 + row->up.tv_sec + nsec / 1000000000, nsec % 1000000000 };
    assert_int_equal(sw_process_starts_before(250, HZ, &row->up, &now, &row->time), row->before);
    assert_false(sw_process_starts_before(UINT64_MAX, HZ, &row->up, &now, &row->time));
}

static struct timespec time_of_a_new_file(void)
{
    char path[] = "/tmp/snapwalk-start-XXXXXX";
    struct stat st;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &st), 0);
    unlink(path);
    close(file);
    return st.st_mtim;
}

static bool began_by(pid_t pid, const struct timespec *time)
{
    return sw_process_began_by(pid, time->tv_sec, (uint32_t)time->tv_nsec);
}

static void a_file_is_older_or_newer_than_a_process(void **state)
{
    (void)state;
    const struct timespec early = time_of_a_new_file();
    nap(100000);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(pause());
    const struct timespec late = time_of_a_new_file();
    const bool by_early = began_by(child, &early), by_late = began_by(child, &late);
    const bool own = began_by(0, &early) && began_by(getpid(), &early) && !sw_process_began_by(0, 1, 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(by_early);
    assert_true(by_late);
    assert_true(own);
    assert_false(sw_process_began_by(-1, INT64_MAX, 0));
    assert_false(sw_process_began_by(INT32_MAX, INT64_MAX, 0));
}

static const struct CMUnitTest single[] = { cmocka_unit_test(a_file_is_older_or_newer_than_a_process) };

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(rows)];
    size_t n = COUNT_OF(single);
    memcpy(tests, single, sizeof single);
    ADD_ROWS(tests, n, rows, start_is_compared);
    return _cmocka_run_group_tests("process_start", tests, n, NULL, NULL);
}
