/*
 * go_steps PROGRAM [STRIPPED]: a program of Go's under ptrace, x64. New threads are executed one instruction at a time
 * from behind clone on, others from where they enter a function that changes stacks; at each instruction the stack is
 * walked, as snapstacks does, with the reader of Go's switches. A walk has to end at a root, or to be cut, and leaves
 * no stack for another but by such a switch: no frame lies above the end of the stack that its run began on. Where
 * stacks are, the program's list of goroutines says, and each thread's g.
 *
 * The word above a new thread's stack belongs to whatever lies there: each walk is made once more with a return address
 * there that looks right, the one by which clone was called.
 *
 * With STRIPPED, the same program without symbols and tables: each walk is made by its file and Go's own table of
 * functions, and has to have the frames of the one by PROGRAM's call frame information.
 */
#include "go.h"
#include "pclntab.h"

#include <snapwalk/context.h>
#include <snapwalk/names.h>
#include <snapwalk/process.h>
#include <snapwalk/walk.h>

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NEW_THREADS = 3,
    STEPS_MOST = 600,
    STEPS_BEHIND = 150,
    HITS = 3,
    STOPS_MOST = 2000,
    NAMES_MOST = 40,
    STACKS_MOST = 4096,
    SWITCHES_MOST = 64,
    SHORT_TURNS = 4000,
    LONG_TURNS = 200000,
    SPINS = 40,
    TURN_US = 20,
    ROUNDS_MOST = 20,
    BORN_MOST = 1,
    TRAPS_MOST = 256,
    FRAMES_MOST = 256
};
enum { G_END = 8, G_M = 0x30, STACK_LEAST = 0x2000 };

static struct sw_process *process;
static struct sw_images *images, *stripped; /* stripped: or null */
static struct pclntab *table;
static struct sw_memory memory;
static struct sw_scratch scratch;
static uint64_t all_goroutines;

static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "go_steps: %s\n", what);
    exit(2);
}

static uint64_t word_at(uint64_t address)
{
    uint64_t word = 0;
    (void)!memory.read(memory.arg, address, &word, sizeof word);
    return word;
}

static int text; /* /proc/PID/mem */

/* ---- where stacks are ---- */

static struct {
    uint64_t begin, end;
} stacks[STACKS_MOST];
static size_t stack_count;

static void add_stack(uint64_t g)
{
    if (stack_count < STACKS_MOST && word_at(g) < word_at(g + G_END)) {
        stacks[stack_count].begin = word_at(g);
        stacks[stack_count++].end = word_at(g + G_END);
    }
}

/* The end of the stack that sp is on: sp may be just there. 0: not known. */
static uint64_t end_of(uint64_t sp)
{
    for (size_t i = 0; i < stack_count; i++)
        if (sp > stacks[i].begin && sp <= stacks[i].end)
            return stacks[i].end;
    return 0;
}

/* g of the thread: its goroutine's, or that of its own stack. */
static void find_stacks(uint64_t fs)
{
    const uint64_t g = word_at(fs - 8), list = word_at(all_goroutines), count = word_at(all_goroutines + 8);
    stack_count = 0;
    add_stack(g);
    add_stack(word_at(word_at(g + G_M)));
    for (uint64_t i = 0; i < count && i < STACKS_MOST; i++)
        add_stack(word_at(list + 8 * i));
}

/* ---- a walk at each instruction ---- */

/* The target's memory, but for the word above a thread's stack. */
static uint64_t above, caller_of_clone;
static struct sw_memory of_walk;

static size_t read_planted(void *arg, uint64_t address, void *to, size_t size)
{
    const size_t got = of_walk.read(arg, address, to, size);
    if (above >= address && above - address < got && got - (above - address) >= sizeof caller_of_clone)
        memcpy((uint8_t *)to + (above - address), &caller_of_clone, sizeof caller_of_clone);
    return got;
}

struct outcome {
    const char *wrong;
    uint64_t at; /* the last frame's pc, or that of the first which is on another stack */
    bool is_whole;
    unsigned count;
    uint64_t pcs[FRAMES_MOST];
};

static bool leaves(const struct sw_walk *walk, uint64_t end)
{
    return end && sw_regs_sp(&walk->frame.regs) > end;
}

/* A walk on its way, over the thread with those registers. has_frame: `frame` is its last one. */
struct way {
    const struct sw_regs *regs;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_frame frame;
    bool has_frame, by_table;
    unsigned switches;
};

static bool is_told(const struct sw_walk *walk, bool has_next)
{
    const uint8_t source = has_next ? walk->frame.source : SW_SOURCE_NONE;
    return source == SW_SOURCE_SEED || source == SW_SOURCE_CFI || source == SW_SOURCE_SIGNAL_FRAME ||
           walk->stop == SW_STOP_ROOT;
}

static bool step_by_table(const struct way *way, bool is_first, struct sw_regs *caller)
{
    bool is_confirmed;
    return way->by_table && pclntab_step(table, &way->walker.memory, &way->frame, caller, &is_confirmed) &&
           (!is_first || is_confirmed);
}

/* As snapstacks walks: what Go's table cannot confirm, instructions are asked of first. */
static bool next_frame(struct way *way)
{
    struct sw_regs caller;
    bool has_next = sw_walk_next(&way->walk);
    if (way->by_table && way->has_frame && !is_told(&way->walk, has_next)) {
        if (pclntab_is_outermost(table, &way->frame)) {
            way->walk.stop = SW_STOP_ROOT;
            has_next = false;
        } else if (step_by_table(way, false, &caller)) {
            sw_walk_start(&way->walk, &way->walker, &scratch, &caller, false);
            has_next = sw_walk_next(&way->walk);
        }
    }
    way->has_frame = has_next;
    way->frame = way->walk.frame;
    return has_next;
}

/* end: of the stack that the frame is on, and then of that where its caller is. */
static void switch_stacks(struct way *way, uint64_t *end)
{
    struct sw_regs caller;
    uint64_t other_end;
    if (way->switches < SWITCHES_MOST &&
        go_step(&memory, &way->walker.memory, way->regs, &way->frame, &caller, &other_end)) {
        way->switches++;
        *end = other_end ? other_end : end_of(sw_regs_sp(&caller));
    } else if (!step_by_table(way, true, &caller)) {
        return;
    }
    sw_walk_start(&way->walk, &way->walker, &scratch, &caller, false);
}

static void look(const struct sw_regs *regs, uint64_t end, bool is_planted, bool by_table, struct outcome *o)
{
    static struct way way;
    way = (struct way){ .regs = regs, .by_table = by_table };
    *o = (struct outcome){ 0 };
    must(sw_process_walker(process, regs, NULL, by_table ? stripped : images, &way.walker) == SW_OK, "walker");
    of_walk = way.walker.memory;
    if (is_planted)
        way.walker.memory = (struct sw_memory){ read_planted, of_walk.arg, { 0, 0, NULL } };
    sw_walk_start(&way.walk, &way.walker, &scratch, regs, true);
    while (next_frame(&way)) {
        o->at = sw_regs_pc(&way.frame.regs);
        if (o->count < FRAMES_MOST)
            o->pcs[o->count++] = o->at;
        if (leaves(&way.walk, end)) {
            o->wrong = "goes on in another stack";
            break;
        }
        switch_stacks(&way, &end);
    }
    o->is_whole = !o->wrong && way.walk.stop >= SW_STOP_ROOT && way.walk.stop <= SW_STOP_ROOT_BASE;
}

/* The second walk has the frames of the first, where that has all. */
static void compare(const struct outcome *first, struct outcome *second)
{
    unsigned same = 0;
    while (same < first->count && same < second->count && first->pcs[same] == second->pcs[same])
        same++;
    if (!first->is_whole || second->wrong || (same == first->count && same == second->count))
        return;
    second->wrong = "has another frame";
    second->at = same < second->count ? second->pcs[same] : 0;
    second->is_whole = false;
}

/* ---- what is counted, by function ---- */

static struct count {
    char name[80];
    unsigned cut, wrong;
} counts[NAMES_MOST];

static void name_of(uint64_t pc, char *name, size_t size)
{
    if (sw_images_name(images, pc, name, size, NULL) != SW_OK)
        snprintf(name, size, "?");
}

static void note(uint64_t pc, const struct outcome *o)
{
    char name[sizeof counts[0].name];
    unsigned i = 0;
    name_of(pc, name, sizeof name);
    while (i + 1 < NAMES_MOST && counts[i].name[0] && strcmp(counts[i].name, name) != 0)
        i++;
    memcpy(counts[i].name, name, sizeof name);
    counts[i].cut += !o->wrong;
    if (!o->wrong || counts[i].wrong++)
        return;
    printf("# at %s (%" PRIx64 ") %s:", name, pc, o->wrong);
    name_of(o->at - 1, name, sizeof name);
    printf(" %s\n", name);
}

/* ---- threads ---- */

static bool read_regs(pid_t tid, struct user_regs_struct *record, struct sw_regs *regs)
{
    struct iovec all = { record, sizeof *record };
    return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all) == 0 &&
           sw_context_load(SW_CONTEXT_USER_REGS, SW_MACHINE_X64, all.iov_base, all.iov_len, regs) == SW_OK;
}

/* Who has called clone. */
static void note_maker(pid_t tid, int status)
{
    struct user_regs_struct record;
    struct sw_regs regs;
    if (WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8) && read_regs(tid, &record, &regs))
        caller_of_clone = word_at(record.rsp);
}

/* Breakpoints so far: where a thread stands behind one its pc is put back, also when it is gone. */
static uint64_t traps[TRAPS_MOST];
static unsigned trap_count;

/* The breakpoint that it has come to; 0: none. */
static uint64_t trap_of(pid_t tid, int status)
{
    struct user_regs_struct record;
    struct sw_regs regs;
    if (!WIFSTOPPED(status) || status >> 8 != SIGTRAP || !read_regs(tid, &record, &regs))
        return 0;
    for (unsigned i = 0; i < trap_count; i++)
        if (record.rip == traps[i] + 1) {
            record.rip = traps[i];
            return ptrace(PTRACE_SETREGS, tid, 0, &record) == 0 ? traps[i] : 0;
        }
    return 0;
}

/* New threads that wait for their turn. */
static pid_t born[BORN_MOST];
static unsigned born_count, new_threads;

/* SIGURG only asks Go for a turn of its scheduler. */
static bool is_ours(int signal)
{
    return signal == SIGTRAP || signal == SIGSTOP || signal == SIGURG;
}

/* Any other that stops meanwhile: it goes on, with its signal. */
static void go_on(pid_t tid, int status)
{
    const int signal = WSTOPSIG(status);
    if (!WIFSTOPPED(status))
        return;
    note_maker(tid, status);
    (void)trap_of(tid, status);
    if (status >> 8 == SIGSTOP && new_threads < NEW_THREADS && born_count < BORN_MOST)
        born[born_count++] = tid;
    else
        (void)ptrace(PTRACE_CONT, tid, 0, (long)(is_ours(signal) ? 0 : signal));
}

/* One that has stopped, -1: none does. Where a thread may wait in the kernel that is short, else for a hang. */
static pid_t wait_any(int *status, unsigned turns_most)
{
    pid_t tid = 0;
    for (unsigned turns = 0; turns < turns_most && (tid = waitpid(-1, status, __WALL | WNOHANG)) == 0; turns++)
        if (turns > SPINS)
            usleep(TURN_US);
    return tid > 0 ? tid : -1;
}

/* False: it has ended, or waits for something in the kernel; then it goes on when it stops. */
static bool next_stop(pid_t tid, int *signal)
{
    int status = 0;
    pid_t stopped;
    while ((stopped = wait_any(&status, SHORT_TURNS)) > 0 && stopped != tid)
        go_on(stopped, status);
    *signal = WSTOPSIG(status);
    return stopped == tid && WIFSTOPPED(status);
}

static unsigned steps, wrong, whole;

/* Those that change stacks, or begin one: each has to be met. at: the byte where threads are caught, from 1 on. */
static struct met {
    const char *name;
    unsigned at;
    uint64_t begin, end;
    unsigned times;
} met[] = { { "runtime.clone", 0, 0, 0, 0 },
            { "runtime.mstart", 0, 0, 0, 0 },
            { "runtime.mcall", 1, 0, 0, 0 },
            { "runtime.systemstack", 1, 0, 0, 0 },
            { "gosave_systemstack_switch", 0, 0, 0, 0 },
            { "runtime.morestack", 1, 0, 0, 0 },
            { "gogo", 1, 0, 0, 0 },
            { "runtime.goexit", 2, 0, 0, 0 } };
enum { MET = sizeof met / sizeof met[0], LONGEST = 512, SHORTEST = 16 };

static void find_met(void)
{
    char name[sizeof counts[0].name];
    for (struct met *m = met; m < met + MET; m++) {
        uint64_t start = 0;
        snprintf(name, sizeof name, "%s.abi0", m->name);
        if (sw_images_symbol(images, name, &m->begin) != SW_OK && sw_images_symbol(images, m->name, &m->begin) != SW_OK)
            must(false, m->name);
        m->end = m->begin;
        do
            m->end += SHORTEST;
        while (m->end - m->begin < LONGEST && sw_images_name(images, m->end, name, sizeof name, &start) == SW_OK &&
               start == m->begin);
    }
}

static bool are_met(void)
{
    for (unsigned i = 0; i < MET; i++)
        if (!met[i].times)
            return false;
    return true;
}

static void meet(uint64_t pc)
{
    for (unsigned i = 0; i < MET; i++)
        met[i].times += pc >= met[i].begin && pc < met[i].end;
}

/* The table is read of the program, which has it where the other file has it, once its addresses are relocated. */
static const char *stripped_file;

static void open_stripped(void)
{
    struct sw_image image;
    uint64_t start = 0;
    must(sw_images_symbol(images, "runtime.mcall", &start) == SW_OK && sw_images_find(images, start, &image) == SW_OK &&
             sw_images_create(NULL, &stripped) == SW_OK && sw_process_add_images(process, stripped) == SW_OK &&
             sw_images_remove(stripped, image.begin) == SW_OK &&
             sw_images_add_file(stripped, stripped_file, image.begin) == SW_OK,
         stripped_file);
    must(pclntab_open(&memory, &memory, image.begin, &table) == SW_OK, "Go's table of functions");
}

static void add(uint64_t pc, const struct outcome *o)
{
    whole += o->is_whole;
    wrong += o->wrong != NULL;
    if (!o->is_whole)
        note(pc, o);
}

static void look_here(const struct user_regs_struct *record, const struct sw_regs *regs)
{
    static struct outcome o[2];
    meet(record->rip);
    uint64_t end = record->rsp <= above && record->rsp > above - STACK_LEAST ? above : end_of(record->rsp);
    if (!end) {
        find_stacks(record->fs_base);
        end = end_of(record->rsp);
    }
    must(sw_process_adopt_stop(process, 0) == SW_OK, "adopted");
    if (stripped_file && !table)
        open_stripped();
    for (unsigned planted = 0; planted < 2; planted++) {
        look(regs, end, planted, false, &o[0]);
        add(record->rip, &o[0]);
        if (!table)
            continue;
        look(regs, end, planted, true, &o[1]);
        compare(&o[0], &o[1]);
        add(record->rip, &o[1]);
    }
    must(sw_process_resume(process) == SW_OK, "resumed");
}

static void step_thread(pid_t tid, bool is_new, unsigned most)
{
    struct user_regs_struct record;
    struct sw_regs regs;
    int signal = 0;
    must(read_regs(tid, &record, &regs), "registers");
    above = is_new ? record.rsp : 0;
    for (unsigned n = 0; n < most; n++, steps++) {
        look_here(&record, &regs);
        if (ptrace(PTRACE_SINGLESTEP, tid, 0, (long)(is_ours(signal) ? 0 : signal)) != 0 || !next_stop(tid, &signal) ||
            !read_regs(tid, &record, &regs))
            return;
    }
    (void)ptrace(PTRACE_CONT, tid, 0, 0);
}

static uint64_t find_symbol(const char *name)
{
    uint64_t address = 0;
    return sw_images_symbol(images, name, &address) == SW_OK ? address : 0;
}

static void open_program(pid_t pid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    text = open(path, O_RDWR);
    must(sw_process_open(NULL, pid, &process) == SW_OK && sw_images_create(NULL, &images) == SW_OK &&
             sw_process_add_images(process, images) == SW_OK,
         "opened");
    memory = sw_process_memory(process);
    all_goroutines = find_symbol("runtime.allgs");
    find_met();
    must(all_goroutines != 0, "runtime.allgs");
}

/* A thread that has come to a place, by a breakpoint that is gone then; 0: none comes. Others that come there go on. */
static pid_t run_to(uint64_t address)
{
    int status;
    pid_t tid;
    uint8_t was = 0, trapping = 0xcc;
    traps[trap_count < TRAPS_MOST ? trap_count++ : 0] = address;
    must(pread(text, &was, 1, (off_t)address) == 1 && pwrite(text, &trapping, 1, (off_t)address) == 1, "breakpoint");
    while ((tid = wait_any(&status, LONG_TURNS)) > 0 && trap_of(tid, status) != address)
        go_on(tid, status);
    must(pwrite(text, &was, 1, (off_t)address) == 1, "breakpoint");
    return tid > 0 ? tid : 0;
}

int main(int argc, char **argv)
{
    int status;
    pid_t tid;
    must(argc == 2 || argc == 3, "usage: go_steps PROGRAM [STRIPPED]");
    const pid_t pid = fork();
    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, 0, 0);
        execl(argv[1], argv[1], (char *)NULL);
        _exit(127);
    }
    must(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status), "started");
    (void)ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
    open_program(pid);
    stripped_file = argv[2];
    (void)ptrace(PTRACE_CONT, pid, 0, 0);
    for (unsigned stops = 0;
         stops < STOPS_MOST && new_threads < NEW_THREADS && (tid = wait_any(&status, LONG_TURNS)) > 0; stops++) {
        go_on(tid, status);
        for (; born_count; new_threads++)
            step_thread(born[--born_count], true, STEPS_MOST);
    }
    for (unsigned i = 0; i < HITS * MET || (i < ROUNDS_MOST * MET && !are_met()); i++)
        if (met[i % MET].at && (tid = run_to(met[i % MET].begin + met[i % MET].at - 1)) > 0)
            step_thread(tid, false, STEPS_BEHIND);
    (void)kill(pid, SIGKILL);
    for (unsigned i = 0; i < NAMES_MOST && counts[i].name[0]; i++)
        printf("# %s: %u cut, %u wrong\n", counts[i].name, counts[i].cut, counts[i].wrong);
    for (unsigned i = 0; i < MET; i++)
        printf("# %s: %u\n", met[i].name, met[i].times);
    printf("%u instructions, %u stacks whole, %u wrong\n", steps, whole, wrong);
    return wrong || !are_met();
}
