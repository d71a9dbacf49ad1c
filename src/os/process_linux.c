/*
 * Another process as a target: its threads stopped by ptrace, its memory read in bulk.
 * Knows Linux' ptrace and /proc; knows nothing of frames and of what the mapped files are (images_process_linux.c).
 *
 * A thread is seized and interrupted; whatever stop it reports first is good enough to look at it. If that was a signal
 * on its way, the signal is handed over at the detach. Resuming always detaches: so a process that was stopped by job
 * control stays stopped, and a tracer that dies leaves nothing behind.
 *
 * Source: ptrace(2), proc(5); contexts.md section 7.
 */
#include "alloc.h"
#include "os/process_linux.h"

#include <snapwalk/context.h>

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

enum {
    PATIENCE_MS = 2000, /* for all threads of one stop together */
    ROUNDS_MAX = 1000,  /* looks at the list of threads */
    RED_ZONE = 256,     /* copied below sp: leaf code may store there */
    WINDOW_MAX = 8 << 20,
    PATH_BYTES = 96,
    STAT_BYTES = 512
};

/* One number or word out of /proc/PID/task/TID/stat: the state letter, 0 when the thread is not there. */
static char thread_state(int pid, int tid)
{
    char path[PATH_BYTES];
    char text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    text[got > 0 ? got : 0] = 0;
    /* The name before it may hold anything, brackets too: the last one counts. */
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end[2] : 0;
}

static bool has_ended(int pid, int tid)
{
    const char state = thread_state(pid, tid);
    return state == 0 || state == 'Z' || state == 'X';
}

static bool is_own_child(int pid)
{
    siginfo_t info;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Only the class of the executable: a 32-bit process has other registers and other tables. */
static enum sw_status check_class(int pid)
{
    char path[PATH_BYTES];
    unsigned char ident[EI_NIDENT];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? SW_E_UNSUPPORTED : sw_os_status(errno); /* a kernel thread has none */
    const ssize_t got = read(file, ident, sizeof ident);
    close(file);
    const bool elf64 = got == (ssize_t)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
                       ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
    return elf64 ? SW_OK : SW_E_UNSUPPORTED;
}

enum sw_status sw_process_open(const struct sw_alloc *alloc, int pid, struct sw_process **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || pid <= 0 || pid == getpid())
        return SW_E_ARGUMENT;
    if (has_ended(pid, pid))
        return SW_E_GONE;
    const enum sw_status status = check_class(pid);
    if (status != SW_OK)
        return status;
    struct sw_process *process = from.get(from.arg, sizeof *process);
    if (!process)
        return SW_E_NO_MEMORY;
    *process = (struct sw_process){ .alloc = from, .pid = pid, .own_child = is_own_child(pid), .mem_file = -1 };
    *out = process;
    return SW_OK;
}

/* Threads ------------------------------------------------------------------------------------------------------- */

static struct sw_process_thread *find_thread(const struct sw_process *process, uint64_t tid)
{
    for (size_t i = 0; i < process->thread_count; i++)
        if ((uint64_t)process->threads[i].tid == tid)
            return &process->threads[i];
    return NULL;
}

static enum sw_status make_room(struct sw_process *process)
{
    if (process->thread_count < process->thread_room)
        return SW_OK;
    const size_t room = process->thread_room ? process->thread_room * 2 : 32;
    struct sw_process_thread *threads = process->alloc.get(process->alloc.arg, room * sizeof *threads);
    if (!threads)
        return SW_E_NO_MEMORY;
    if (process->threads) {
        memcpy(threads, process->threads, process->thread_count * sizeof *threads);
        process->alloc.put(process->alloc.arg, process->threads, process->thread_room * sizeof *threads);
    }
    process->threads = threads;
    process->thread_room = room;
    return SW_OK;
}

static void drop(struct sw_process *process, struct sw_process_thread *thread)
{
    *thread = process->threads[--process->thread_count];
}

/* The last word of a thread that has ended belongs to its tracer, except to a parent that wants to hear it itself. */
static void bury(const struct sw_process *process, int tid)
{
    if (tid != process->pid || !process->own_child)
        waitpid(tid, NULL, __WALL | WNOHANG);
}

/*
 * Seizes a thread and asks it to stop.
 *
 * Returns  SW_OK; SW_E_GONE (it has ended); SW_E_PERMISSION; SW_E_NO_MEMORY; SW_E_OS.
 */
static enum sw_status seize(struct sw_process *process, int tid)
{
    const enum sw_status status = make_room(process);
    if (status != SW_OK)
        return status;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) {
        const int error = errno;
        return has_ended(process->pid, tid) ? SW_E_GONE : sw_os_status(error);
    }
    process->threads[process->thread_count++] = (struct sw_process_thread){ .tid = tid };
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return SW_OK;
}

/* What the thread has reported. SW_OK: it has stopped; SW_E_BUSY: nothing yet; SW_E_GONE. */
static enum sw_status look(const struct sw_process *process, struct sw_process_thread *thread)
{
    const int tid = thread->tid;
    siginfo_t info = { 0 };
    int status = 0;
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | __WALL | WNOHANG | WNOWAIT) != 0)
        return errno == EINTR ? SW_E_BUSY : SW_E_GONE;
    if (info.si_pid == 0)
        return SW_E_BUSY;
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        bury(process, tid);
        return SW_E_GONE;
    }
    if (waitpid(tid, &status, __WALL | WNOHANG) != tid || !WIFSTOPPED(status))
        return SW_E_BUSY;
    /* No event number: a signal is on its way to the thread. */
    thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
    thread->stopped = true;
    return SW_OK;
}

static enum sw_status await(struct sw_process *process, struct sw_process_thread *thread, uint64_t deadline)
{
    for (unsigned round = 0; !thread->stopped; round++) {
        const enum sw_status status = look(process, thread);
        if (status != SW_E_BUSY)
            return status;
        if (sw_os_now() > deadline)
            return SW_E_BUSY;
        sw_os_wait(NULL, round);
    }
    return SW_OK;
}

/* Lets a thread run on. One that has not stopped yet cannot be left: it stays seized, and running. */
static bool detach(struct sw_process *process, struct sw_process_thread *thread)
{
    if (!thread->stopped && look(process, thread) == SW_E_BUSY)
        return false;
    if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal) != 0)
        bury(process, thread->tid);
    return true;
}

static void let_go(struct sw_process *process, bool all)
{
    process->maps_known = false;
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        if (all)
            thread->singles = 0;
        thread->whole = false;
        if (thread->singles == 0 && detach(process, thread))
            drop(process, thread);
    }
}

/* Seizes the threads that are not seized yet; `found` says whether there were any. */
static enum sw_status seize_new(struct sw_process *process, bool *found)
{
    char path[PATH_BYTES];
    enum sw_status status = SW_OK;
    const struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *tasks = opendir(path);
    *found = false;
    if (!tasks)
        return sw_os_status(errno);
    while (status == SW_OK && (entry = readdir(tasks)) != NULL) {
        const int tid = atoi(entry->d_name);
        if (tid <= 0 || find_thread(process, (uint64_t)tid))
            continue;
        status = seize(process, tid);
        *found |= status == SW_OK;
        if (status == SW_E_GONE)
            status = SW_OK;
    }
    closedir(tasks);
    return status;
}

/* One that does not stop (it waits in the kernel, say for a vfork) stays in the list, not stopped. */
static void await_all(struct sw_process *process, uint64_t deadline)
{
    for (size_t i = process->thread_count; i-- > 0;) {
        struct sw_process_thread *thread = &process->threads[i];
        const enum sw_status status = await(process, thread, deadline);
        if (status == SW_E_GONE)
            drop(process, thread);
        else
            thread->whole = true;
    }
}

static int by_tid(const void *a, const void *b)
{
    const struct sw_process_thread *x = a;
    const struct sw_process_thread *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

enum sw_status sw_process_stop(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    const uint64_t deadline = sw_os_now() + PATIENCE_MS * UINT64_C(1000000);
    enum sw_status status = SW_OK;
    bool found = true;
    process->maps_known = false;
    /* A thread may start others until it is stopped itself, so the list is read until it holds nothing new. */
    for (unsigned round = 0; status == SW_OK && found && round < ROUNDS_MAX; round++) {
        status = seize_new(process, &found);
        await_all(process, deadline);
    }
    if (status == SW_OK && sw_process_threads(process, NULL, 0) == 0)
        status = has_ended(process->pid, process->pid) ? SW_E_GONE : SW_E_OS;
    if (status != SW_OK)
        let_go(process, false);
    if (process->thread_count)
        qsort(process->threads, process->thread_count, sizeof *process->threads, by_tid);
    return status;
}

enum sw_status sw_process_resume(struct sw_process *process)
{
    if (!process)
        return SW_E_ARGUMENT;
    let_go(process, false);
    return has_ended(process->pid, process->pid) ? SW_E_GONE : SW_OK;
}

void sw_process_close(struct sw_process *process)
{
    if (!process)
        return;
    const struct sw_alloc alloc = process->alloc;
    let_go(process, true);
    if (process->threads)
        alloc.put(alloc.arg, process->threads, process->thread_room * sizeof *process->threads);
    if (process->window)
        alloc.put(alloc.arg, process->window, process->window_room);
    sw_process_forget_maps(process);
    if (process->mem_file >= 0)
        close(process->mem_file);
    alloc.put(alloc.arg, process, sizeof *process);
}

size_t sw_process_threads(const struct sw_process *process, uint64_t *tids, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; process && i < process->thread_count; i++) {
        if (!process->threads[i].stopped)
            continue;
        if (tids && count < capacity)
            tids[count] = (uint64_t)process->threads[i].tid;
        count++;
    }
    return count;
}

static enum sw_status read_regs(int tid, struct sw_regs *regs)
{
    unsigned char record[512];
    struct iovec data = { record, sizeof record };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &data) != 0)
        return sw_os_status(errno);
    if (data.iov_len < sw_context_size(SW_CONTEXT_USER_REGS, sw_os_machine()))
        return SW_E_UNSUPPORTED;
    return sw_context_load(SW_CONTEXT_USER_REGS, sw_os_machine(), record, data.iov_len, regs);
}

enum sw_status sw_process_regs(struct sw_process *process, uint64_t tid, struct sw_regs *regs)
{
    if (!process || !regs)
        return SW_E_ARGUMENT;
    const struct sw_process_thread *thread = find_thread(process, tid);
    return thread && thread->stopped ? read_regs(thread->tid, regs) : SW_E_NOT_FOUND;
}

enum sw_status sw_process_thread_name(struct sw_process *process, uint64_t tid, char *name, size_t size)
{
    char path[PATH_BYTES];
    if (!process || !name || size == 0)
        return SW_E_ARGUMENT;
    if (!find_thread(process, tid))
        return SW_E_NOT_FOUND;
    snprintf(path, sizeof path, "/proc/%d/task/%llu/comm", process->pid, (unsigned long long)tid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return sw_os_status(errno);
    const ssize_t got = read(file, name, size - 1);
    const int error = errno;
    close(file);
    if (got < 0)
        return sw_os_status(error);
    name[got] = 0;
    name[strcspn(name, "\n")] = 0;
    return SW_OK;
}

/* Memory -------------------------------------------------------------------------------------------------------- */

/* process_vm_readv asks for more rights than /proc/PID/mem does of a tracer, and some sandboxes forbid it. */
static size_t read_process(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_process *process = arg;
    size_t done = sw_os_read(process->pid, address, to, size);
    if (done != 0 || address > INT64_MAX)
        return done;
    if (process->mem_file == -1) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "/proc/%d/mem", process->pid);
        process->mem_file = open(path, O_RDONLY | O_CLOEXEC);
        if (process->mem_file < 0)
            process->mem_file = -2;
    }
    while (process->mem_file >= 0 && done < size) {
        const ssize_t got = pread(process->mem_file, (char *)to + done, size - done, (off_t)(address + done));
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

struct sw_memory sw_process_memory(struct sw_process *process)
{
    return (struct sw_memory){ .read = process ? read_process : NULL, .arg = process };
}

void sw_process_forget_maps(struct sw_process *process)
{
    if (process->maps)
        process->alloc.put(process->alloc.arg, process->maps, process->map_count * sizeof *process->maps);
    sw_os_free_text(&process->alloc, &process->maps_text);
    process->maps = NULL;
    process->map_count = 0;
    process->maps_known = false;
}

enum sw_status sw_process_read_maps(struct sw_process *process)
{
    char path[PATH_BYTES];
    if (process->maps_known)
        return SW_OK;
    sw_process_forget_maps(process);
    snprintf(path, sizeof path, "/proc/%d/maps", process->pid);
    const enum sw_status status = sw_os_read_file(&process->alloc, path, &process->maps_text);
    if (status != SW_OK)
        return status;
    const struct sw_os_text *text = &process->maps_text;
    const size_t count = sw_maps_parse(text->bytes, text->size, NULL, 0);
    if (count == 0)
        return SW_E_GONE; /* the map of a zombie is empty */
    process->maps = process->alloc.get(process->alloc.arg, count * sizeof *process->maps);
    if (!process->maps)
        return SW_E_NO_MEMORY;
    process->map_count = sw_maps_parse(text->bytes, text->size, process->maps, count);
    /* The map of a running process is true for one question only. */
    process->maps_known = sw_process_threads(process, NULL, 0) != 0;
    return SW_OK;
}

static enum sw_status copy_stack(struct sw_process *process, uint64_t begin, uint64_t end, struct sw_window *window)
{
    const size_t size = (size_t)(end - begin);
    if (process->window_room < size) {
        uint8_t *bytes = process->alloc.get(process->alloc.arg, size);
        if (!bytes)
            return SW_E_NO_MEMORY;
        if (process->window)
            process->alloc.put(process->alloc.arg, process->window, process->window_room);
        process->window = bytes;
        process->window_room = size;
    }
    const size_t got = read_process(process, begin, process->window, size);
    *window = (struct sw_window){ begin, begin + got, process->window };
    return SW_OK;
}

/* The bits of a return address that pointer authentication uses, as the kernel tells; 0 when it does not. */
static uint64_t pac_mask(const struct sw_process *process)
{
    uint64_t masks[2] = { 0, 0 };
    struct iovec data = { masks, sizeof masks };
    for (size_t i = 0; i < process->thread_count; i++)
        if (process->threads[i].stopped)
            return ptrace(PTRACE_GETREGSET, process->threads[i].tid, (void *)(uintptr_t)NT_ARM_PAC_MASK, &data) == 0
                       ? masks[1]
                       : 0;
    return 0;
}

enum sw_status sw_process_walker(struct sw_process *process, const struct sw_regs *regs,
                                 const struct sw_codemap *codemap, const struct sw_images *images,
                                 struct sw_walker *walker)
{
    if (!process || !regs || !walker || !sw_regs_has(regs, sw_regs_sp_number(regs->machine)))
        return SW_E_ARGUMENT;
    enum sw_status status = sw_process_read_maps(process);
    if (status != SW_OK)
        return status == SW_E_NO_MEMORY ? status : SW_E_GONE;
    *walker = (struct sw_walker){
        .machine = regs->machine, .memory = sw_process_memory(process), .codemap = codemap, .images = images
    };
    if (regs->machine == SW_MACHINE_ARM64)
        walker->pac_mask = pac_mask(process);
    const uint64_t sp = sw_regs_sp(regs);
    const struct sw_map *map = sw_maps_find(process->maps, process->map_count, sp);
    if (!map)
        return SW_OK; /* a garbage sp: the walk finds that out, word by word */
    walker->stack_begin = map->begin;
    walker->stack_end = map->end;
    const uint64_t begin = sp - map->begin < RED_ZONE ? map->begin : sp - RED_ZONE;
    const uint64_t end = map->end - begin > WINDOW_MAX ? begin + WINDOW_MAX : map->end;
    return copy_stack(process, begin, end, &walker->memory.window);
}

/* The suspender ------------------------------------------------------------------------------------------------- */

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct sw_process *process = arg;
    enum sw_status status = SW_OK;
    if (!process || !regs || os_id == 0 || os_id > INT32_MAX)
        return SW_E_ARGUMENT;
    if (!find_thread(process, os_id))
        status = has_ended(process->pid, (int)os_id) ? SW_E_GONE : seize(process, (int)os_id);
    struct sw_process_thread *thread = find_thread(process, os_id);
    if (!thread)
        return status;
    status = await(process, thread, sw_os_now() + PATIENCE_MS * UINT64_C(1000000));
    if (status == SW_OK)
        status = read_regs(thread->tid, regs);
    if (status == SW_E_GONE && thread->singles == 0) {
        bury(process, thread->tid);
        drop(process, thread);
    }
    if (status == SW_OK)
        thread->singles++;
    return status;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    struct sw_process *process = arg;
    struct sw_process_thread *thread = process ? find_thread(process, os_id) : NULL;
    if (!process)
        return SW_E_ARGUMENT;
    if (!thread || thread->singles == 0)
        return SW_E_NOT_FOUND;
    thread->singles--;
    if (thread->singles != 0 || thread->whole)
        return SW_OK;
    process->maps_known = false;
    if (detach(process, thread))
        drop(process, thread);
    return SW_OK;
}

static uint64_t current(void *arg)
{
    (void)arg;
    return 0;
}

static enum sw_status capture(void *arg, struct sw_regs *regs)
{
    (void)arg;
    (void)regs;
    return SW_E_UNSUPPORTED;
}

struct sw_suspender sw_process_suspender(struct sw_process *process)
{
    return (struct sw_suspender){ suspend, resume, current, capture, sw_os_wait, process };
}
