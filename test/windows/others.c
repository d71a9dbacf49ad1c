/*
 * Other threads and other processes, on Windows. What the target is: target.c, beside this program. Rows as in self.c.
 */
#include <windows.h> /* first: corprof.h has some of its names */

#include "common/present.h"

#include <snapwalk/follow.h>
#include <snapwalk/process.h>
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "row.h"

enum { MAX = 256, CAPTURES = 40, SUSPENDS = 300 };

static struct sw_scratch scratch;

/* ---- threads of this process ---- */

struct spinner {
    HANDLE thread;
    DWORD id;
    volatile LONG state; /* 1: ready, 2: end */
    uint64_t local, pointer;
};

/* Distinct values in all integer registers, for as long as *state is 1. */
static void __attribute__((noinline)) spin_with_values(volatile LONG *state)
{
    __asm__ volatile("pushq %%rbp\n"
                     "movq $0x101, %%rax\n movq $0x103, %%rbx\n movq $0x102, %%rdx\n movq $0x105, %%rbp\n"
                     "movq $0x106, %%rsi\n movq $0x107, %%rdi\n movq $0x108, %%r8\n movq $0x109, %%r9\n"
                     "movq $0x10a, %%r10\n movq $0x10b, %%r11\n movq $0x10c, %%r12\n movq $0x10d, %%r13\n"
                     "movq $0x10e, %%r14\n movq $0x10f, %%r15\n"
                     "1: cmpl $1, (%%rcx)\n je 1b\n"
                     "popq %%rbp\n"
                     :
                     : "c"(state)
                     : "rax", "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "memory", "cc");
}

static DWORD WINAPI spin(void *arg)
{
    struct spinner *s = arg;
    s->local = (uint64_t)(uintptr_t)&arg;
    s->pointer = sw_thread_pointer();
    s->state = 1;
    spin_with_values(&s->state);
    return 0;
}

static DWORD WINAPI sleep_long(void *arg)
{
    struct spinner *s = arg;
    s->state = 1;
    while (s->state == 1)
        SleepEx(50, TRUE);
    return 0;
}

static void start(struct spinner *s, LPTHREAD_START_ROUTINE function)
{
    s->thread = CreateThread(NULL, 0, function, s, 0, &s->id);
    while (s->state == 0)
        Sleep(1);
}

static void end(struct spinner *s)
{
    s->state = 2;
    WaitForSingleObject(s->thread, INFINITE);
    CloseHandle(s->thread);
}

static bool holds_values(const struct sw_regs *regs)
{
    for (unsigned n = 0; n < SW_X64_RIP; n++)
        if (n != SW_X64_RSP && n != SW_X64_RCX &&
            (!sw_regs_has(regs, n) || regs->r[n] != (n == 0 ? 0x101 : 0x100u + n)))
            return false;
    return true;
}

static void thread_rows(void)
{
    static struct spinner spinner, sleeper;
    struct sw_self_suspender *self;
    struct sw_regs regs;
    uint64_t ids[MAX], begin, end_of, ended = 0;
    size_t count = 0, spins = 0, sleeps = 0, values = 0;
    bool listed = false, rises = true;
    start(&spinner, spin);
    start(&sleeper, sleep_long);
    row("threads are listed", sw_self_threads(ids, MAX, &count) == SW_OK && count >= 3 && count < MAX);
    for (size_t i = 0; i < count && i < MAX; i++) {
        listed |= ids[i] == spinner.id;
        rises &= i == 0 || ids[i - 1] < ids[i];
    }
    row("with a thread that runs, ascending", listed && rises);
    uint64_t lowest;
    row("where there is no room for all, the lowest",
        sw_self_threads(&lowest, 1, &count) == SW_OK && lowest == ids[0] && count >= 3);
    row("the stack of another thread is around its variables",
        sw_self_thread_stack(spinner.id, &begin, &end_of) == SW_OK && begin <= spinner.local && spinner.local < end_of);
    uint64_t own_begin, own_end, told_begin, told_end;
    row("that of the own thread is as it knows itself",
        sw_self_stack(&own_begin, &own_end) == SW_OK &&
            sw_self_thread_stack(GetCurrentThreadId(), &told_begin, &told_end) == SW_OK && told_end == own_end &&
            told_begin >= own_begin);
    row("a thread that runs is not gone", !sw_thread_is_gone(spinner.pointer));
    if (sw_self_suspender_create(NULL, 0, 2, &self) != SW_OK)
        abort();
    const struct sw_suspender s = sw_self_get_suspender(self);
    for (int i = 0; i < SUSPENDS; i++) {
        if (s.suspend(s.arg, spinner.id, &regs) == SW_OK) {
            spins += !s.in_system_call(s.arg, spinner.id);
            values += holds_values(&regs);
            (void)!s.resume(s.arg, spinner.id);
        }
        if (s.suspend(s.arg, sleeper.id, &regs) == SW_OK) {
            sleeps += s.in_system_call(s.arg, sleeper.id);
            (void)!s.resume(s.arg, sleeper.id);
        }
    }
    printf("# %d suspends: %zu outside of system calls, %zu in one, %zu with all values\n", SUSPENDS, spins, sleeps,
           values);
    row("a loop stands in no system call", spins == SUSPENDS);
    row("a sleeper stands in one, but for moments", sleeps * 10 >= SUSPENDS * 9);
    row("all integer registers of a suspended thread are its own", values == SUSPENDS);
    row("who is not suspended stands in none", !s.in_system_call(s.arg, spinner.id));
    const uint64_t pointer = spinner.pointer;
    end(&spinner);
    end(&sleeper);
    ended = spinner.id;
    row("a thread that has ended is gone", sw_thread_is_gone(pointer));
    row("its stack too", sw_self_thread_stack(ended, &begin, &end_of) == SW_E_GONE);
    /* a thread that is ended while it stands */
    static struct spinner victim;
    start(&victim, spin);
    const bool stood = s.suspend(s.arg, victim.id, &regs) == SW_OK;
    TerminateThread(victim.thread, 0);
    WaitForSingleObject(victim.thread, 10000);
    row("a thread that is ended while it stands is resumed without harm",
        stood && s.resume(s.arg, victim.id) == SW_OK && s.suspend(s.arg, victim.id, &regs) == SW_E_GONE);
    CloseHandle(victim.thread);
    sw_self_suspender_destroy(self);
}

/* ---- modules ---- */

static void module_rows(void)
{
    struct sw_images_follower *follower;
    struct sw_images *images;
    struct sw_image image;
    if (sw_images_create(NULL, &images) != SW_OK || sw_images_follow_self(images, &follower) != SW_OK)
        abort();
    row("a follower begins with what is there",
        sw_images_find(images, (uint64_t)(uintptr_t)&module_rows, &image) == SW_OK);
    const HMODULE module = LoadLibraryA("version.dll");
    const uint64_t address = (uint64_t)(uintptr_t)GetProcAddress(module, "VerQueryValueA");
    row("a module is there as soon as it is loaded", module && sw_images_find(images, address, &image) == SW_OK);
    FreeLibrary(module);
    row("and not any more once it is unloaded", sw_images_find(images, address, &image) == SW_E_NOT_FOUND);
    sw_images_unfollow(follower);
    const HMODULE again = LoadLibraryA("version.dll");
    row("nor when nobody follows",
        again && sw_images_find(images, (uint64_t)(uintptr_t)GetProcAddress(again, "VerQueryValueA"), &image) ==
                     SW_E_NOT_FOUND);
    FreeLibrary(again);
    sw_images_destroy(images);
}

/* ---- another process ---- */

static HANDLE to_target, from_target;
static PROCESS_INFORMATION target;

static void start_target(DWORD flags)
{
    SECURITY_ATTRIBUTES inherited = { sizeof inherited, NULL, TRUE };
    STARTUPINFOA info = { .cb = sizeof info, .dwFlags = STARTF_USESTDHANDLES };
    char path[MAX_PATH];
    if (!CreatePipe(&info.hStdInput, &to_target, &inherited, 0) ||
        !CreatePipe(&from_target, &info.hStdOutput, &inherited, 0))
        abort();
    SetHandleInformation(to_target, HANDLE_FLAG_INHERIT, 0);
    SetHandleInformation(from_target, HANDLE_FLAG_INHERIT, 0);
    GetModuleFileNameA(NULL, path, sizeof path);
    strcpy(strrchr(path, '\\') + 1, "target.exe");
    if (!CreateProcessA(path, NULL, NULL, NULL, TRUE, flags, NULL, NULL, &info, &target))
        abort();
    CloseHandle(info.hStdInput);
    CloseHandle(info.hStdOutput);
}

static long long answer(void)
{
    char line[64] = { 0 };
    DWORD got;
    for (size_t at = 0; at + 1 < sizeof line; at++)
        if (!ReadFile(from_target, line + at, 1, &got, NULL) || got != 1 || line[at] == '\n')
            break;
    return atoll(line);
}

static long long ask(void)
{
    DWORD got;
    WriteFile(to_target, "?\n", 2, &got, NULL);
    return answer();
}

/* Whether the thread that counts comes on. */
static bool runs(void)
{
    const long long before = ask();
    for (int i = 0; i < 2000; i++) {
        if (ask() > before)
            return true;
        Sleep(1);
    }
    return false;
}

/* Walks to the root, through the target's chain: leaf, and six times middle. */
static bool is_chain(struct sw_process *process, const struct sw_images *images, uint64_t tid, bool *clean)
{
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    char name[64];
    unsigned leafs = 0, middles = 0;
    *clean = false;
    if (sw_process_captured_walker(process, tid, NULL, images, &regs, &walker) != SW_OK)
        return false;
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (sw_walk_next(&walk)) {
        if (sw_images_name(images, walk.frame.lookup, name, sizeof name, NULL) != SW_OK)
            continue;
        leafs += strcmp(name, "target_leaf") == 0;
        middles += strcmp(name, "target_middle") == 0;
    }
    *clean = walk.stop >= SW_STOP_ROOT && walk.stop <= SW_STOP_ROOT_BASE;
    return *clean && leafs == 1 && middles == 6;
}

static void capture_rows(struct sw_process *process, struct sw_images *images)
{
    uint64_t tids[MAX];
    size_t chains = 0, walks = 0, cleans = 0;
    uint64_t most_ns = 0;
    row("the modules of another process are images", sw_process_add_images(process, images) == SW_OK);
    for (int i = 0; i < CAPTURES && sw_process_capture(process, 0) == SW_OK; i++) {
        const size_t count = sw_process_captured(process, tids, MAX);
        for (size_t t = 0; t < count && t < MAX; t++) {
            bool clean;
            chains += is_chain(process, images, tids[t], &clean);
            cleans += clean;
            walks++;
        }
        most_ns = sw_process_stopped_ns(process) > most_ns ? sw_process_stopped_ns(process) : most_ns;
    }
    printf("# %d captures, %zu walks, %zu clean, at most %llu us stopped\n", CAPTURES, walks, cleans,
           (unsigned long long)most_ns / 1000);
    row("another process's threads are walked to the root", walks >= 2 * CAPTURES && cleans == walks);
    row("with the functions that it has called", chains == CAPTURES);
    row("it runs afterwards", runs());
}

static void stop_rows(struct sw_process *process)
{
    const struct sw_suspender s = sw_process_suspender(process);
    uint64_t tids[MAX];
    struct sw_regs regs;
    char name[64];
    row("a process is stopped", sw_process_stop(process) == SW_OK);
    const size_t count = sw_process_threads(process, tids, MAX);
    row("with its threads, whose registers are there", count >= 2 && sw_process_regs(process, tids[0], &regs) == SW_OK);
    row("a second stop is refused", sw_process_stop(process) == SW_E_ARGUMENT);
    row("a capture meanwhile too", sw_process_capture(process, 0) == SW_E_BUSY);
    row("a thread has a name, be it empty", sw_process_thread_name(process, tids[0], name, sizeof name) == SW_OK);
    row("who is none of its threads has none", sw_process_thread_name(process, 1, name, sizeof name) == SW_E_NOT_FOUND);
    row("a suspend nests in a stop", s.suspend(s.arg, tids[count - 1], &regs) == SW_OK &&
                                         sw_process_resume(process) == SW_OK &&
                                         sw_process_threads(process, NULL, 0) == 1);
    row("and ends with its resume", s.resume(s.arg, tids[count - 1]) == SW_OK && runs());
    row("one more is refused", s.resume(s.arg, tids[count - 1]) == SW_E_NOT_FOUND);
}

static void memory_rows(struct sw_process *process)
{
    const struct sw_memory memory = sw_process_memory(process);
    uint8_t *pages = VirtualAllocEx(target.hProcess, NULL, 3 * 4096, MEM_RESERVE, PAGE_NOACCESS);
    uint8_t bytes[2 * 4096];
    MEMORY_BASIC_INFORMATION piece;
    VirtualAllocEx(target.hProcess, pages, 4096, MEM_COMMIT, PAGE_READWRITE);
    VirtualAllocEx(target.hProcess, pages + 4096, 4096, MEM_COMMIT, PAGE_READWRITE | PAGE_GUARD);
    const uint64_t at = (uint64_t)(uintptr_t)pages;
    row("memory is read up to a guard page", memory.read(memory.arg, at + 96, bytes, sizeof bytes) == 4000);
    row("which stays one", VirtualQueryEx(target.hProcess, pages + 4096, &piece, sizeof piece) == sizeof piece &&
                               (piece.Protect & PAGE_GUARD) != 0);
    row("what is not there is not read", memory.read(memory.arg, at + 2 * 4096, bytes, 1) == 0 &&
                                             memory.read(memory.arg, UINT64_MAX - 1, bytes, 8) == 0);
}

static void start_rows(int pid, int64_t before)
{
    const int64_t now = time(NULL);
    row("a process had not begun before it was started", !sw_process_began_by(pid, before, 0));
    row("it has begun now, as this one has", sw_process_began_by(pid, now + 1, 0) && sw_process_began_by(0, before, 0));
    row("none had begun in 1970, nor has one that is not there",
        !sw_process_began_by(0, 1, 0) && !sw_process_began_by(0x7ffffff0, now, 0));
}

static void process_rows(void)
{
    struct sw_process *process, *other;
    struct sw_images *images;
    Sleep(1100); /* a whole second of that clock: it says when the last one began */
    const int64_t before = time(NULL);
    Sleep(1100);
    start_target(0);
    const int pid = (int)answer();
    start_rows(pid, before);
    if (sw_images_create(NULL, &images) != SW_OK)
        abort();
    row("the own process is refused", sw_process_open(NULL, (int)GetCurrentProcessId(), &process) == SW_E_ARGUMENT);
    row("a process that is not there is gone", sw_process_open(NULL, 0x7ffffff0, &process) == SW_E_GONE);
    if (sw_process_open(NULL, pid, &process) != SW_OK || sw_process_open(NULL, pid, &other) != SW_OK)
        abort();
    row("nothing is in its way", sw_process_find_obstacle(pid, NULL) == SW_OBSTACLE_NONE);
    capture_rows(process, images);
    stop_rows(process);
    memory_rows(process);
    row("a close while it is stopped lets it run", sw_process_stop(other) == SW_OK);
    sw_process_close(other);
    row("again", runs());
    const bool stopped = sw_process_stop(process) == SW_OK;
    TerminateProcess(target.hProcess, 0);
    WaitForSingleObject(target.hProcess, 10000);
    row("one that is ended while it is stopped is gone", stopped && sw_process_resume(process) == SW_E_GONE);
    row("and stays so", sw_process_capture(process, 0) == SW_E_GONE);
    row("so are its modules", sw_process_add_images(process, images) != SW_OK);
    sw_process_close(process);
    sw_images_destroy(images);
}

int main(void)
{
    thread_rows();
    module_rows();
    process_rows();
    return failed != 0;
}
