/*
 * What /proc says of a thread: whether it runs, sleeps or has ended, where, and whether it is in the kernel for long.
 * Knows files of /proc; refuses to know how threads are stopped (process_threads.c).
 *
 * Source: proc(5), /proc/pid/stat, /proc/pid/syscall; Linux Documentation/scheduler/sched-stats.rst (schedstat:
 * nanoseconds on a processor, nanoseconds of waiting for one, how often it got one).
 */
#include "target/linux/process.h"

#include "common/grow.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x200000 }; /* Source: Linux include/linux/sched.h, PF_KTHREAD */
enum { FLAGS_PLACE = 6, THREADS_PLACE = 17, STARTED_PLACE = 19, START_CODE_PLACE = 23, START_STACK_PLACE = 25 };

#define NS_IN_S INT64_C(1000000000)
#define LONG_NS UINT64_C(20000000) /* two ticks of the slowest clock that Linux counts time with */

static bool read_text(int folder, const char *path, char text[SW_PROC_TEXT_BYTES])
{
    const int opened = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (opened < 0)
        return false;
    const ssize_t got = read(opened, text, SW_PROC_TEXT_BYTES - 1);
    close(opened);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

bool sw_process_thread_file(int pid, int tid, const char *file, char text[SW_PROC_TEXT_BYTES])
{
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, file);
    return read_text(AT_FDCWD, path, text);
}

/* What follows a thread's name in its stat, from the state on; null: it is not there. */
static const char *behind_name(const char *text)
{
    /* The name may hold any character, even brackets: the last bracket counts. */
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

static const char *read_stat(int pid, int tid, char text[SW_PROC_TEXT_BYTES])
{
    return sw_process_thread_file(pid, tid, "stat", text) ? behind_name(text) : NULL;
}

char sw_process_thread_state(int pid, int tid)
{
    char text[SW_PROC_TEXT_BYTES];
    const char *stat = read_stat(pid, tid, text);
    return stat ? *stat : 0;
}

/* A name with characters that the kernel may write as others is not taken. */
char sw_process_named_state(int tasks, int tid, char name[SW_PROC_NAME_BYTES])
{
    char path[SW_PROC_PATH_BYTES], text[SW_PROC_TEXT_BYTES];
    snprintf(path, sizeof path, "%d/stat", tid);
    const char *stat = read_text(tasks, path, text) ? behind_name(text) : NULL;
    const char *begin = stat ? strchr(text, '(') : NULL;
    const size_t size = begin && begin + 3 < stat ? (size_t)(stat - begin) - 3 : 0;
    name[0] = 0;
    if (size && size < SW_PROC_NAME_BYTES && !memchr(begin + 1, '\\', size) && !memchr(begin + 1, '\n', size)) {
        memcpy(name, begin + 1, size);
        name[size] = 0;
    }
    return stat ? *stat : 0;
}

/* A number of stat, by its place behind the state, which is 0. stat null, or shorter: 0. */
static uint64_t field_of(const char *stat, unsigned place)
{
    for (unsigned i = 0; stat && i < place; i++) {
        stat = strchr(stat, ' ');
        stat = stat ? stat + 1 : NULL;
    }
    return stat ? strtoull(stat, NULL, 10) : 0;
}

bool sw_process_is_of_kernel(int pid)
{
    char text[SW_PROC_TEXT_BYTES];
    return field_of(read_stat(pid, pid, text), FLAGS_PLACE) & KERNEL_THREAD;
}

uint64_t sw_process_count_threads(int pid)
{
    char text[SW_PROC_TEXT_BYTES];
    return field_of(read_stat(pid, pid, text), THREADS_PLACE);
}

/* Where a program's code and stack are: execve(2) draws both anew. Zeros where the kernel does not tell us. */
struct sw_process_program sw_process_read_program(int pid)
{
    char text[SW_PROC_TEXT_BYTES];
    const char *stat = read_stat(pid, pid, text);
    return (struct sw_process_program){ field_of(stat, START_CODE_PLACE), field_of(stat, START_STACK_PLACE) };
}

bool sw_process_executes(int pid, const struct sw_process_program *program)
{
    const struct sw_process_program now = sw_process_read_program(pid);
    return now.start_code == program->start_code && now.start_stack == program->start_stack;
}

static struct timespec time_of(clockid_t clock)
{
    struct timespec time = { 0 };
    (void)clock_gettime(clock, &time);
    return time;
}

/* Years behind 2200 are one. */
static int64_t nanoseconds(const struct timespec *time)
{
    const int64_t most = 8000000000, s = time->tv_sec;
    return (s > most ? most : s < -most ? -most : s) * NS_IN_S + time->tv_nsec;
}

/* A file's time is that of the last tick of the kernel's clock, so a process is let begin a tick before its own. */
bool sw_process_starts_before(uint64_t ticks, long hz, const struct timespec *up, const struct timespec *now,
                              const struct timespec *time)
{
    const int64_t tick = NS_IN_S / hz, boot = nanoseconds(now) - nanoseconds(up);
    return ticks <= (uint64_t)(INT64_MAX / 4 / tick) && nanoseconds(time) >= boot + ((int64_t)ticks - 1) * tick;
}

bool sw_process_began_by(int pid, int64_t seconds, uint32_t nanoseconds_of)
{
    char path[SW_PROC_PATH_BYTES] = "/proc/self/stat", text[SW_PROC_TEXT_BYTES];
    if (pid != 0)
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const char *stat = read_text(AT_FDCWD, path, text) ? behind_name(text) : NULL;
    /* This clock first: whatever passes until the other is read lets the process begin earlier. */
    const struct timespec now = time_of(CLOCK_REALTIME), up = time_of(CLOCK_BOOTTIME);
    const struct timespec time = { seconds, nanoseconds_of };
    return stat && sw_process_starts_before(field_of(stat, STARTED_PLACE), sysconf(_SC_CLK_TCK), &up, &now, &time);
}

bool sw_process_thread_ended(int pid, int tid)
{
    const char state = sw_process_thread_state(pid, tid);
    return state == 0 || state == 'Z' || state == 'X';
}

int sw_process_next_thread(DIR *tasks)
{
    const struct dirent *entry;
    int tid = 0; /* as . and .. are */
    while (tid <= 0 && (entry = readdir(tasks)) != NULL)
        tid = (int)strtol(entry->d_name, NULL, 10);
    return tid;
}

int sw_process_live_thread(int pid)
{
    char path[SW_PROC_PATH_BYTES];
    int tid;
    if (!sw_process_thread_ended(pid, pid))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return 0;
    while ((tid = sw_process_next_thread(tasks)) != 0)
        if (!sw_process_thread_ended(pid, tid))
            break;
    closedir(tasks);
    return tid;
}

/* Without schedstat in the kernel: 0 and 0. */
static void read_times(int pid, int tid, uint64_t *ran_ns, uint64_t *turns)
{
    char text[SW_PROC_TEXT_BYTES];
    char *end = text;
    *ran_ns = *turns = 0;
    if (!sw_process_thread_file(pid, tid, "schedstat", text))
        return;
    *ran_ns = strtoull(end, &end, 10);
    (void)strtoull(end, &end, 10);
    *turns = strtoull(end, &end, 10);
}

uint64_t sw_process_turns(int pid, int tid)
{
    uint64_t ran_ns, turns;
    read_times(pid, tid, &ran_ns, &turns);
    return turns;
}

/* sp and pc are the two last numbers; x64: a system call leaves its arguments where they are. False: none are there. */
static bool read_place(const char *at, struct sw_process_at *place)
{
    static const unsigned arguments[] = { SW_X64_RDI, SW_X64_RSI, SW_X64_RDX, SW_X64_R10, SW_X64_R8, SW_X64_R9 };
    enum { ALL = SW_PROC_ARGUMENTS + 3 };
    const enum sw_machine machine = sw_os_machine();
    uint64_t numbers[ALL] = { 0 };
    unsigned count = 0;
    for (char *end; count < ALL; count++, at = end) {
        numbers[count] = strtoull(at, &end, 0);
        if (end == at)
            break;
    }
    *place = (struct sw_process_at){ .call = -1, .regs = { .machine = machine } };
    if (count < 3)
        return false;
    sw_regs_set(&place->regs, sw_regs_sp_number(machine), numbers[count - 2]);
    sw_regs_set(&place->regs, sw_regs_pc_number(machine), numbers[count - 1]);
    for (unsigned i = 0; i < SW_PROC_ARGUMENTS && count == ALL; i++) {
        place->call = (long)numbers[0];
        place->arguments[i] = numbers[1 + i];
        if (machine == SW_MACHINE_X64)
            sw_regs_set(&place->regs, arguments[i], numbers[1 + i]);
    }
    return numbers[count - 2] && numbers[count - 1];
}

/* The text is "NUMBER ARGUMENTS SP PC", "-1 SP PC" outside of system calls, or "running". */
bool sw_process_read_call(int pid, int tid, char text[SW_PROC_TEXT_BYTES], struct sw_process_at *at)
{
    return sw_process_thread_file(pid, tid, "syscall", text) && strncmp(text, "running", 7) != 0 &&
           read_place(text, at);
}

static struct sw_process_sleeper *find_sleeper(const struct sw_process *process, int tid)
{
    for (size_t i = 0; i < process->sleeper_count; i++)
        if (process->sleepers[i].tid == tid)
            return &process->sleepers[i];
    return NULL;
}

static struct sw_process_sleeper *add_sleeper(struct sw_process *process, int tid)
{
    const size_t count = process->sleeper_count;
    struct sw_process_sleeper *sleepers =
        sw_grow(&process->alloc, process->sleepers, sizeof *sleepers, count, &process->sleeper_room, count + 1);
    if (!sleepers)
        return NULL;
    process->sleepers = sleepers;
    struct sw_process_sleeper *sleeper = &process->sleepers[process->sleeper_count++];
    *sleeper = (struct sw_process_sleeper){ .tid = tid, .since = sw_os_now() };
    return sleeper;
}

bool sw_process_sleeps_long(struct sw_process *process, int tid)
{
    const uint64_t turns = sw_process_turns(process->pid, tid);
    struct sw_process_sleeper *sleeper = find_sleeper(process, tid);
    if (!sleeper)
        sleeper = add_sleeper(process, tid);
    if (!sleeper)
        return true;
    if (sleeper->turns != turns)
        sleeper->since = sw_os_now(); /* it was awake meanwhile */
    sleeper->turns = turns;
    sleeper->is_seen = true;
    return sw_os_now() - sleeper->since > LONG_NS;
}

void sw_process_forget_sleepers(struct sw_process *process)
{
    size_t left = 0;
    for (size_t i = 0; i < process->sleeper_count; i++)
        if (process->sleepers[i].is_seen) {
            process->sleepers[left] = process->sleepers[i];
            process->sleepers[left++].is_seen = false;
        }
    process->sleeper_count = left;
}

bool sw_process_runs_long(const struct sw_process *process, struct sw_process_thread *thread)
{
    uint64_t ran_ns, turns;
    read_times(process->pid, thread->tid, &ran_ns, &turns);
    if (!thread->is_timed)
        thread->ran_ns = ran_ns;
    thread->is_timed = true;
    return ran_ns - thread->ran_ns > LONG_NS;
}
