/*
 * Files that somebody cuts short while they are in use, as a compiler does that writes a library anew. Whoever looks at
 * a mapped page behind their end gets a SIGBUS; so all that is done here is done in a child. Images answer as before.
 */
#include "rows.h"
#include "host.h"

#include "../support/nap.h"

#include <snapwalk/image.h>
#include <snapwalk/process.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 8, WORDS = 64, BASE = 0x40000000, NAME = 64 };

static struct sw_scratch scratch;
static char path[64];

/* What is asked of an image at a place: the callers of a function there, by its tables, and its name. */
struct answers {
    unsigned frames;
    uint64_t pc[FRAMES];
    enum sw_source source[FRAMES];
    char name[NAME];
};

static size_t read_nothing(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    (void)address;
    (void)to;
    (void)size;
    return 0;
}

static struct answers ask(struct sw_walker walker, uint64_t pc)
{
    uint64_t words[WORDS];
    struct sw_regs regs = { .machine = walker.machine };
    struct answers answers = { 0 };
    struct sw_walk walk;
    const uint64_t begin = (uint64_t)(uintptr_t)words;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = pc;
    sw_regs_set(&regs, sw_regs_pc_number(regs.machine), pc);
    sw_regs_set(&regs, sw_regs_sp_number(regs.machine), begin);
    if (regs.machine == SW_MACHINE_ARM64)
        sw_regs_set(&regs, SW_ARM64_LR, pc + 4);
    walker.memory.window = (struct sw_window){ begin, begin + sizeof words, (const uint8_t *)words };
    walker.stack_begin = begin;
    walker.stack_end = begin + sizeof words;
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    for (unsigned i = 0; i < FRAMES && sw_walk_next(&walk); i++) {
        answers.pc[i] = sw_regs_pc(&walk.frame.regs);
        answers.source[i] = walk.frame.source;
        answers.frames++;
    }
    (void)!sw_images_name(walker.images, pc, answers.name, sizeof answers.name, NULL);
    return answers;
}

static bool are_equal(const struct answers *a, const struct answers *b)
{
    return a->frames == b->frames && a->frames > 1 && a->source[1] == SW_SOURCE_CFI && a->name[0] &&
           memcmp(a->pc, b->pc, sizeof a->pc) == 0 && memcmp(a->source, b->source, sizeof a->source) == 0 &&
           strcmp(a->name, b->name) == 0;
}

/* A library of this system as a file of our own. */
static bool make_copy(void)
{
    char buffer[1 << 16];
    struct link_map *map = NULL;
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    strcpy(path, "/tmp/cut_short_XXXXXX");
    const int to = mkstemp(path);
    if (!library || to < 0 || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    const int from = open(map->l_name, O_RDONLY);
    ssize_t got;
    while ((got = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, (size_t)got) != got)
            return false;
    close(from);
    close(to);
    return true;
}

/* The offset of a function in the library. */
static uint64_t function_offset(void *library)
{
    struct link_map *map = NULL;
    const uint64_t function = (uint64_t)(uintptr_t)dlsym(library, "cbrt");
    return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && function ? function - map->l_addr : 0;
}

/* ---- what is done in a child; 0: it has held ---- */

static int file_of_ours(long cut)
{
    struct sw_images *images;
    struct sw_walker walker = { .machine = host_machine(), .memory = { .read = read_nothing } };
    const uint64_t pc = BASE + function_offset(dlopen("libm.so.6", RTLD_NOW));
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_file(images, path, BASE) != SW_OK)
        return 2;
    walker.images = images;
    if (truncate(path, cut) != 0)
        return 3;
    const struct answers after = ask(walker, pc), again = ask(walker, pc);
    sw_images_destroy(images);
    return are_equal(&after, &again) ? 0 : 1;
}

/* The answers before come from a set of their own: what was looked at may be in memory. */
static struct answers answers_before(uint64_t pc)
{
    struct sw_images *images;
    struct sw_walker walker;
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK ||
        sw_self_walker(&walker, NULL, images) != SW_OK)
        return (struct answers){ 0 };
    const struct answers answers = ask(walker, pc);
    sw_images_destroy(images);
    return answers;
}

static int library_of_ours(long cut)
{
    struct sw_images *images;
    struct sw_walker walker;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const uint64_t pc = (uint64_t)(uintptr_t)dlsym(library, "cbrt");
    const struct answers before = answers_before(pc);
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK ||
        sw_self_walker(&walker, NULL, images) != SW_OK || truncate(path, cut) != 0)
        return 2;
    const struct answers after = ask(walker, pc);
    if (sw_images_add_self(images) != SW_OK)
        return 3;
    (void)ask(walker, pc);
    sw_images_destroy(images);
    return before.name[0] && strcmp(before.name, after.name) == 0 ? 0 : 1;
}

static int library_that_was_cut_before(long cut)
{
    struct sw_images *images;
    struct sw_walker walker;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const uint64_t pc = (uint64_t)(uintptr_t)dlsym(library, "cbrt");
    if (truncate(path, cut) != 0 || sw_images_create(NULL, &images) != SW_OK || sw_images_add_self(images) != SW_OK ||
        sw_self_walker(&walker, NULL, images) != SW_OK)
        return 2;
    (void)ask(walker, pc);
    sw_images_destroy(images);
    return 0;
}

static pid_t open_in_child(uint64_t *pc)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        const uint64_t at = (uint64_t)(uintptr_t)dlsym(dlopen(path, RTLD_NOW | RTLD_LOCAL), "cbrt");
        (void)!write(ends[1], &at, sizeof at);
        for (;;)
            nap(100000);
    }
    if (read(ends[0], pc, sizeof *pc) != (ssize_t)sizeof *pc)
        *pc = 0;
    return child;
}

static int library_of_another(long cut)
{
    struct sw_process *process;
    struct sw_images *images[2];
    struct sw_walker walker[2];
    uint64_t pc;
    const pid_t child = open_in_child(&pc);
    if (sw_process_open(NULL, child, &process) != SW_OK)
        return 2;
    for (int i = 0; i < 2; i++) {
        if (sw_images_create(NULL, &images[i]) != SW_OK || sw_process_add_images(process, images[i]) != SW_OK)
            return 3;
        walker[i] =
            (struct sw_walker){ .machine = host_machine(), .memory = sw_process_memory(process), .images = images[i] };
    }
    const struct answers before = ask(walker[0], pc);
    if (truncate(path, cut) != 0)
        return 4;
    const struct answers after = ask(walker[1], pc);
    const enum sw_status status = sw_process_add_images(process, images[1]);
    (void)ask(walker[1], pc);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return are_equal(&before, &after) && status == SW_OK ? 0 : 1;
}

static const struct row {
    const char *name;
    int (*run)(long cut);
    long cut;
    bool traces;
} rows[] = {
    { "file_emptied", file_of_ours, 0, false },
    { "file_cut_behind_its_header", file_of_ours, 4096, false },
    { "library_of_this_process_emptied", library_of_ours, 0, false },
    { "library_of_this_process_cut_behind_its_header", library_of_ours, 4096, false },
    { "library_emptied_before_images_are_refreshed", library_that_was_cut_before, 0, false },
    { "library_cut_before_images_are_refreshed", library_that_was_cut_before, 4096, false },
    { "library_of_another_process_emptied", library_of_another, 0, true },
};

static void it_is_survived(void **state)
{
    const struct row *row = *state;
    int status = -1;
    HOST_NEEDS(!row->traces || host_can_trace(), "PTRACE_SEIZE");
    assert_true(make_copy());
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGBUS, SIG_DFL); /* cmocka's handler would go on with the other tests */
        signal(SIGSEGV, SIG_DFL);
        _exit(row->run(row->cut));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    assert_int_equal(status, 0);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    FILL_ROWS(tests, rows, it_is_survived);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
