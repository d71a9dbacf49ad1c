/*
 * storm KIND SECONDS: another process does one thing all the time (rows, at the end) while this one captures it again
 * and again. Then nothing of it may be traced or stand, and this process must have no more descriptors, threads and
 * memory than before. The last line says how often it was captured, with what answers, and how long it stood at most.
 */
#include "../support/faults.h"
#include "../support/nap.h"

#include <snapwalk/process.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHARED_FD = 200, NOBODY = 65534, MANY = 5000, HELD = 64 << 10, POPULATE_READ = 22, CANNOT = 77 };

/* What the process and its watcher both see, in a file that stays open over an exec. */
struct shared {
    _Atomic uint64_t turns; /* of what the process does */
    _Atomic uint64_t beats; /* of a thread that does nothing else */
    _Atomic pid_t pid;      /* of the process, as the watcher knows it; the process may replace itself */
    atomic_bool is_impossible;
};

static struct shared *shared;
static _Atomic int64_t held_bytes;

static void open_shared(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
    if (shared == MAP_FAILED)
        exit(2);
}

static void *beat(void *arg)
{
    for (;; nap(500))
        shared->beats++;
    return arg;
}

/* A thread whose stack is as small as it may be. */
static bool start(void *(*run)(void *), void *arg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, HELD);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const bool started = pthread_create(&thread, &attributes, run, arg) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* ------------------------------------------------------------------ what the process does */

static void do_fork(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    shared->turns += child > 0 && waitpid(child, NULL, 0) == child;
}

static void do_vfork(void)
{
    extern char **environ;
    char *const argv[] = { "/bin/true", NULL };
    pid_t child;
    if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ) == 0)
        shared->turns += waitpid(child, NULL, 0) == child;
}

/* Beside several threads, which the kernel ends for it. */
static void do_exec(void)
{
    shared->turns++;
    for (int i = 0; i < 4; i++)
        start(wait_for_ever, NULL);
    nap(rand() % 1000);
    execl("/proc/self/exe", "storm", "exec", "again", (char *)NULL);
}

static void *end_at_once(void *arg)
{
    shared->turns++;
    return arg;
}

static void do_clone(void)
{
    if (!start(end_at_once, NULL))
        nap(100);
}

static void do_many(void)
{
    static int started;
    for (; started < MANY && !shared->is_impossible; started++)
        if (!start(wait_for_ever, NULL))
            shared->is_impossible = true;
    do_clone();
    nap(200);
}

static void do_work(void)
{
    shared->turns++;
    sched_yield();
}

static void do_kernel(void)
{
    const size_t size = (size_t)2 << 30;
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shared->is_impossible |= at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE) || madvise(at, size, POPULATE_READ);
    munmap(at, size);
    shared->turns++;
}

/* Its stack has pages that nothing has touched, others that are dropped and fault again. */
static void *live_on_faults(void *stack)
{
    for (;; shared->turns++) {
        volatile char hole[1 << 16];
        hole[0] = 1;
        shared->beats += (uint64_t)hole[0];
        madvise(stack, 1 << 16, MADV_DONTNEED);
        ((volatile char *)stack)[shared->turns % 16 * 4096] = 1;
    }
    return NULL;
}

static void do_faults(void)
{
    shared->is_impossible |= !start_over_faults(live_on_faults);
    wait_for_ever(NULL);
}

static void *work_for_ever(void *arg)
{
    for (;;)
        do_work();
    return arg;
}

/* The main thread ends, the others go on. */
static void do_leave(void)
{
    shared->is_impossible |= !start(work_for_ever, NULL);
    syscall(SYS_exit, 0);
}

/* A process that stops and continues itself, by a child of its own. */
static void do_jobs(void)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            kill(parent, SIGSTOP);
            nap(300);
            kill(parent, SIGCONT);
            nap(700);
        }
    }
    for (;;)
        do_work();
}

/* In namespaces of its own, where it has another id, on a file system that only it has. */
static void do_elsewhere(void)
{
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/mnt", "tmpfs", 0, NULL) != 0)
        shared->is_impossible = true;
    const pid_t inner = fork();
    if (inner != 0) {
        shared->pid = inner;
        waitpid(inner, NULL, 0);
        _exit(0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    start(beat, NULL);
    for (;;)
        do_fork();
}

static void do_as_nobody(void)
{
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        shared->is_impossible = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 1);
    for (;;)
        do_fork();
}

/* It is there for a moment only. */
static void do_end(void)
{
    start(wait_for_ever, NULL);
    nap(rand() % 3000);
    _exit(0);
}

/* ------------------------------------------------------------------ the rows */

/* ends: the process may be gone, and is begun again. is_nobodys: the watcher becomes that user, too. */
static const struct kind {
    const char *name;
    void (*act)(void); /* again and again */
    bool ends;
    bool is_nobodys;
} kinds[] = {
    { "fork", do_fork, false, false },     { "vfork", do_vfork, false, false },
    { "exec", do_exec, false, false },     { "clone", do_clone, false, false },
    { "many", do_many, false, false },     { "kernel", do_kernel, false, false },
    { "faults", do_faults, false, false }, { "leave", do_leave, false, false },
    { "jobs", do_jobs, false, false },     { "elsewhere", do_elsewhere, false, false },
    { "user", do_as_nobody, false, true }, { "end", do_end, true, false },
};

static _Noreturn void be_target(const struct kind *kind)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!kind->ends)
        start(beat, NULL);
    for (;;)
        kind->act();
}

static void begin(const struct kind *kind)
{
    const pid_t child = fork();
    if (child == 0) {
        srand((unsigned)getpid());
        be_target(kind);
    }
    shared->pid = child;
}

/* ------------------------------------------------------------------ the watcher */

static void *get(void *arg, size_t size)
{
    (void)arg;
    held_bytes += (int64_t)size;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)arg;
    held_bytes -= (int64_t)size;
    free(block);
}

static const struct sw_alloc counting = { get, put, NULL };

static size_t entries_of(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* Threads of a process that are traced, or stand in a tracer's stop. */
static unsigned traced_threads(pid_t pid)
{
    char path[400], line[256];
    unsigned count = 0;
    const struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        int tracer = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof line, file) && sscanf(line, "TracerPid: %d", &tracer) != 1)
            continue;
        if (file)
            fclose(file);
        count += tracer != 0;
    }
    if (dir)
        closedir(dir);
    return count;
}

struct tally {
    unsigned captures, busy, gone, others, threads, left_out, frames, ends;
    uint64_t longest_ns;
};

static bool count_frame(void *arg, const struct sw_frame *frame)
{
    (void)frame;
    ++*(unsigned *)arg;
    return true;
}

static void walk_all(struct sw_process *process, struct sw_images *images, struct tally *tally)
{
    static uint64_t tids[2 * MANY];
    static struct sw_scratch scratch;
    const size_t count = sw_process_captured(process, tids, 2 * MANY);
    if (sw_process_add_images(process, images) != SW_OK)
        return;
    for (size_t i = 0; i < count && i < 32; i++) {
        struct sw_walker walker;
        struct sw_regs regs;
        if (sw_process_captured_walker(process, tids[i], NULL, images, &regs, &walker) == SW_OK)
            tally->ends += sw_walk_all(&walker, &scratch, &regs, count_frame, &tally->frames) <= SW_STOP_ROOT_BASE;
    }
}

static void count_capture(struct sw_process *process, enum sw_status status, struct tally *tally)
{
    const uint64_t stood = sw_process_stopped_ns(process);
    const unsigned threads = (unsigned)sw_process_captured(process, NULL, 0);
    tally->captures += status == SW_OK;
    tally->busy += status == SW_E_BUSY;
    tally->gone += status == SW_E_GONE;
    tally->others += status != SW_OK && status != SW_E_BUSY && status != SW_E_GONE;
    tally->longest_ns = stood > tally->longest_ns ? stood : tally->longest_ns;
    tally->threads = threads > tally->threads ? threads : tally->threads;
    tally->left_out += (unsigned)sw_process_left_out(process, NULL, 0);
}

/* Captures a process until it is gone, or time is over. */
static void watch(const struct kind *kind, pid_t pid, double end, struct tally *tally)
{
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    struct timespec time;
    enum sw_status status = sw_process_open(&counting, pid, &process);
    if (status == SW_OK && sw_images_create(&counting, &images) != SW_OK)
        exit(2);
    tally->gone += status == SW_E_GONE;
    tally->others += status != SW_OK && status != SW_E_GONE;
    for (unsigned i = 0; process; i++) {
        status = sw_process_capture(process, 0);
        count_capture(process, status, tally);
        if (i % 8 == 0)
            walk_all(process, images, tally);
        clock_gettime(CLOCK_MONOTONIC, &time);
        if ((double)time.tv_sec + (double)time.tv_nsec / 1e9 > end || (kind->ends && status == SW_E_GONE))
            break;
        nap((long)(rand() % 500));
    }
    sw_process_close(process);
    sw_images_destroy(images);
}

static bool rises(const _Atomic uint64_t *number)
{
    const uint64_t before = *number;
    for (int i = 0; i < 10000 && *number == before; i++)
        nap(1000);
    return *number != before;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void watch_for(const struct kind *kind, double seconds, struct tally *tally)
{
    const double end = now() + seconds;
    do {
        watch(kind, shared->pid, end, tally);
        if (kind->ends && waitpid(shared->pid, NULL, 0) == shared->pid && now() < end)
            begin(kind);
    } while (kind->ends && now() < end);
}

/* ThreadSanitizer has a thread of its own, from the first one that is started on. */
struct held {
    size_t files, threads;
};

static void *do_nothing(void *arg)
{
    return arg;
}

static void start_first_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

static struct held count_held(void)
{
    return (struct held){ entries_of("/proc/self/fd"), entries_of("/proc/self/task") };
}

/* Looks at what is left. True: something is wrong. */
static bool judge(const struct kind *kind, const struct held *before, const struct tally *tally)
{
    const unsigned traced = kind->ends ? 0 : traced_threads(shared->pid);
    const bool lives =
        kind->ends || (rises(&shared->turns) && (strcmp(kind->name, "exec") == 0 || rises(&shared->beats)));
    const struct held after = count_held();
    const bool wrong = traced || !lives || after.files != before->files || after.threads != before->threads ||
                       held_bytes != 0 || tally->others || tally->captures == 0 || (!kind->ends && tally->gone);
    if (wrong)
        printf("traced %u, goes on %d, descriptors %zu and %zu, threads %zu and %zu, bytes %lld\n", traced, lives,
               before->files, after.files, before->threads, after.threads, (long long)held_bytes);
    return wrong;
}

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (name && strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "usage: storm KIND SECONDS\n");
    exit(2);
}

int main(int argc, char **argv)
{
    const struct kind *kind = find_kind(argc == 3 ? argv[1] : NULL);
    struct tally tally = { 0 };
    if (strcmp(argv[2], "again") == 0) { /* the process, after an exec */
        open_shared();
        be_target(kind);
    }
    if (dup2(memfd_create("storm", 0), SHARED_FD) < 0 || ftruncate(SHARED_FD, sizeof *shared) != 0)
        return 2;
    open_shared();
    begin(kind);
    if (!kind->ends && !rises(&shared->turns) && shared->is_impossible) {
        printf("cannot be had here\n");
        return CANNOT;
    }
    if (kind->is_nobodys && (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0))
        return 2;
    start_first_thread();
    const struct held before = count_held();
    watch_for(kind, strtod(argv[2], NULL), &tally);
    const bool wrong = judge(kind, &before, &tally);
    printf(
        "%u captures, up to %u threads, left out %u, %u frames; busy %u, gone %u, others %u; stood %.1f ms at most\n",
        tally.captures, tally.threads, tally.left_out, tally.frames, tally.busy, tally.gone, tally.others,
        (double)tally.longest_ns / 1e6);
    return wrong;
}
