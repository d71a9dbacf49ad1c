/*
 * scarce WHAT ROUNDS: what there is not enough of. Each allocation fails once; the address space ends; a stack
 * overflows into its guard page and is walked from there; no system call is left. Answers are statuses or walks, and
 * nothing is left over.
 */
#include "../support/inside.h"

#include <snapwalk/context.h>
#include <snapwalk/image.h>
#include <snapwalk/process.h>

#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static unsigned long done, refused;

/* ---- calls that allocate ---- */

static struct sw_alloc alloc;

static bool is_expected(enum sw_status status)
{
    refused += status == SW_E_NO_MEMORY;
    done++;
    if (status == SW_OK || status == SW_E_NO_MEMORY || status == SW_E_OS)
        return true;
    printf("an unexpected answer: %s\n", sw_status_name(status));
    return false;
}

static bool use_codemap(void)
{
    struct sw_codemap *map = NULL;
    bool good = is_expected(sw_codemap_create(&alloc, &map));
    for (uint64_t i = 0; map && i < 300 && good; i++) {
        const struct sw_range range = { .begin = i * 640, .end = i * 640 + 64, .id = 1, .kind = SW_KIND_JIT };
        good = is_expected(sw_codemap_add(map, &range));
    }
    for (uint64_t i = 0; map && i < 300; i++) {
        const enum sw_status status = sw_codemap_remove(map, i * 640);
        good = good && (status == SW_E_NOT_FOUND || is_expected(status));
    }
    sw_codemap_destroy(map);
    return good;
}

static bool use_images(void)
{
    static struct sw_scratch scratch;
    struct sw_images *images = NULL;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    char name[64];
    bool good = is_expected(sw_images_create(&alloc, &images));
    if (!images)
        return good;
    good = good && is_expected(sw_images_add_self(images)) && is_expected(sw_images_add_self(images));
    const enum sw_status status = sw_images_add_file(images, "/proc/self/exe", UINT64_C(0x600000000000));
    good = good && is_expected(status) && sw_self_walker(&walker, NULL, images) == SW_OK;
    sw_self_capture(&regs);
    sw_walk_start(&walk, good ? &walker : NULL, &scratch, &regs, false);
    while (sw_walk_next(&walk))
        (void)!sw_images_name(images, sw_regs_pc(&walk.frame.regs), name, sizeof name, NULL);
    sw_images_destroy(images);
    return good;
}

static bool use_caches(void)
{
    struct sw_cache *cache = NULL;
    struct sw_analysis_cache *analysis = NULL;
    const bool good = is_expected(sw_cache_create(&alloc, 1024, &cache)) &&
                      is_expected(sw_analysis_cache_create(&alloc, 1 << 17, &analysis));
    sw_cache_destroy(cache);
    sw_analysis_cache_destroy(analysis);
    return good;
}

static bool use_process(void)
{
    struct sw_process *process = NULL;
    struct sw_images *images = NULL;
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    bool good = is_expected(sw_process_open(&alloc, child, &process)) && is_expected(sw_images_create(&alloc, &images));
    if (process && images)
        good =
            good && is_expected(sw_process_add_images(process, images)) && is_expected(sw_process_capture(process, 0));
    sw_images_destroy(images);
    if (process)
        sw_process_close(process);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return good;
}

static bool (*const uses[])(void) = { use_codemap, use_images, use_caches, use_process };
enum { USES = sizeof uses / sizeof uses[0] };

/* Until it goes through without the failing call being reached. */
static bool fail_each_of(size_t count, int rounds)
{
    struct account *account = &scene.account;
    alloc = account_alloc(account);
    for (size_t n = 0; n < count; n++)
        for (long fail_at = 1;; fail_at++) {
            account->calls = 0;
            account->fail_at = fail_at;
            const long blocks = account->blocks;
            const bool good = uses[n]();
            account->fail_at = 0;
            if (!good || account->blocks != blocks)
                return false;
            if (account->calls < fail_at || fail_at > rounds)
                break;
        }
    return refused > 0;
}

static bool fail_each(int rounds)
{
    return fail_each_of(USES, rounds);
}

/* Where nothing can be traced: under valgrind. */
static bool fail_each_inside(int rounds)
{
    return fail_each_of(USES - 1, rounds);
}

/* ---- the address space ends ---- */

static unsigned long mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        abort();
    fclose(file);
    return pages * (unsigned long)getpagesize();
}

static int be_limited(unsigned long more)
{
    const struct rlimit limit = { mapped_bytes() + more, mapped_bytes() + more };
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    alloc = account_alloc(&scene.account);
    const long blocks = scene.account.blocks;
    for (size_t n = 0; n + 1 < USES; n++)
        if (!uses[n]())
            return 3;
    return scene.account.blocks == blocks ? 0 : 4;
}

static bool run_in_child(int (*run)(unsigned long value), unsigned long value)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0)
        syscall(SYS_exit, run(value)); /* all that strict seccomp leaves */
    done++;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool limit_space(int rounds)
{
    for (int i = 0; i < rounds; i++)
        if (!run_in_child(be_limited, (unsigned long)i * 40960))
            return false;
    return true;
}

/* ---- no system calls ---- */

static int be_strict(unsigned long walks)
{
    static struct sw_scratch scratch;
    struct sw_walker walker;
    struct sw_regs regs;
    struct sw_walk walk;
    if (sw_self_walker(&walker, scene.codemap, scene.images) != SW_OK)
        return 2;
    walker.cache = scene.cache;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 3;
    for (unsigned long i = 0; i < walks; i++) {
        sw_self_capture(&regs);
        sw_walk_start(&walk, &walker, &scratch, &regs, false);
        while (sw_walk_next(&walk))
            continue;
        if (walk.stop < SW_STOP_ROOT || walk.stop > SW_STOP_ROOT_BASE ||
            sw_codemap_find(scene.codemap, LASTING_BEGIN, NULL) != SW_OK)
            return 4;
    }
    return 0;
}

static bool be_strict_often(int rounds)
{
    for (int i = 0; i < rounds; i++)
        if (!run_in_child(be_strict, 1000))
            return false;
    return true;
}

/* ---- a stack that overflows ---- */

enum { SMALL_STACK = 1 << 20, HANDLER_STACK = 256 << 10 };

static struct sw_walker overflown;
static struct sw_scratch scratch;
static sigjmp_buf out;
static unsigned deepest;
static enum sw_stop last_stop;

static void on_overflow(int number, siginfo_t *info, void *context)
{
    struct sw_regs regs;
    struct sw_walk walk;
    (void)number;
    (void)info;
    if (sw_context_load(SW_CONTEXT_UCONTEXT, overflown.machine, context, sizeof(ucontext_t), &regs) != SW_OK)
        abort();
    sw_walk_start(&walk, &overflown, &scratch, &regs, true);
    while (sw_walk_next(&walk))
        continue;
    deepest = walk.depth > deepest ? walk.depth : deepest;
    last_stop = walk.stop;
    siglongjmp(out, 1);
}

static __attribute__((noinline)) unsigned fall(volatile unsigned *above)
{
    volatile unsigned frame[32];
    frame[0] = *above + 1;
    const unsigned below = frame[0] ? fall(frame) : 0; /* it never is 0 */
    return below + frame[0];
}

static void *overflow(void *arg)
{
    void *volatile other = mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = { .ss_sp = other, .ss_size = HANDLER_STACK }, none = { .ss_flags = SS_DISABLE };
    const struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    volatile unsigned top = 0;
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (sw_self_walker(&overflown, scene.codemap, scene.images) != SW_OK)
        abort();
    overflown.cache = scene.cache;
    if (sigsetjmp(out, 1) == 0)
        (void)fall(&top);
    sigaltstack(&none, NULL);
    munmap(other, HANDLER_STACK);
    return arg;
}

static bool overflow_often(int rounds)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALL_STACK);
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        last_stop = SW_STOP_NONE;
        if (pthread_create(&thread, &attributes, overflow, NULL) != 0)
            return false;
        pthread_join(thread, NULL);
        done++;
        if (last_stop < SW_STOP_ROOT || last_stop > SW_STOP_ROOT_BASE)
            return false;
    }
    return deepest > 500;
}

static const struct what {
    const char *name;
    bool (*run)(int rounds);
} whats[] = { { "alloc", fail_each },
              { "alloc-inside", fail_each_inside },
              { "space", limit_space },
              { "strict", be_strict_often },
              { "guard", overflow_often } };

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? atoi(argv[2]) : 100;
    const struct what *what = NULL;
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++)
        if (argc > 1 && strcmp(argv[1], whats[i].name) == 0)
            what = &whats[i];
    if (!what || !make_scene(0) || !what->run(rounds / 4)) /* what the C library keeps is there then */
        return 2;
    const struct holdings before = count_holdings();
    const bool good = what->run(rounds);
    free_scene();
    const bool is_clean = nothing_leaked(&before, &scene.account);
    printf("%lu done, %lu refused, %u frames deep, last end: %s\n", done, refused, deepest, sw_stop_name(last_stop));
    return !good || !is_clean;
}
