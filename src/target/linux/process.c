/*
 * Another process as a target: opened, its memory and its memory map read. Knows /proc; refuses to know how threads are
 * stopped (process_threads.c), what the mapped files are (images_process.c) and what a frame is.
 *
 * Source: proc(5), process_vm_readv(2); contexts.md section 7.
 */
#include "common/alloc.h"
#include "target/linux/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAPS_ROUNDS = 8 };

static bool is_own_child(int pid)
{
    siginfo_t info;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Checks the class of the executable: a 32-bit process has other registers and other tables. */
static enum sw_status check_class(int pid)
{
    char path[SW_PROC_PATH_BYTES];
    unsigned char ident[EI_NIDENT];
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const int error = errno;
    if (file < 0 && sw_process_is_of_kernel(pid))
        return SW_E_UNSUPPORTED;
    if (file < 0)
        return error == ENOENT ? SW_E_GONE : sw_os_status(error); /* what is about to be a zombie has no executable */
    const ssize_t got = read(file, ident, sizeof ident);
    close(file);
    const bool elf64 = got == (ssize_t)sizeof ident && memcmp(ident, ELFMAG, SELFMAG) == 0 &&
                       ident[EI_CLASS] == ELFCLASS64 && ident[EI_DATA] == ELFDATA2LSB;
    return elf64 ? SW_OK : SW_E_UNSUPPORTED;
}

enum sw_status sw_process_open(const struct sw_alloc *alloc, int pid, struct sw_process **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || !sw_alloc_usable(alloc) || pid <= 0 || pid == getpid())
        return SW_E_ARGUMENT;
    const int live_tid = sw_process_live_thread(pid);
    if (live_tid == 0)
        return SW_E_GONE;
    const enum sw_status status = check_class(live_tid);
    if (status != SW_OK)
        return status;
    struct sw_process *process = from.get(from.arg, sizeof *process);
    if (!process)
        return SW_E_NO_MEMORY;
    *process = (struct sw_process){
        .alloc = from, .pid = pid, .live_tid = live_tid, .own_child = is_own_child(pid), .mem_file = -1
    };
    process->capture.pages.target = sw_process_memory(process);
    pthread_mutex_init(&process->threads_lock, NULL);
    *out = process;
    return SW_OK;
}

void sw_process_close(struct sw_process *process)
{
    if (!process)
        return;
    const struct sw_alloc alloc = process->alloc;
    sw_process_drop_threads(process);
    sw_process_drop_capture(process);
    sw_process_drop_stop(process);
    sw_left_out_drop(&process->left_out, &alloc);
    sw_process_forget_maps(process);
    sw_process_drop_replaced(process);
    if (process->mem_file >= 0)
        close(process->mem_file);
    pthread_mutex_destroy(&process->threads_lock);
    alloc.put(alloc.arg, process, sizeof *process);
}

enum sw_status sw_process_thread_name(struct sw_process *process, uint64_t tid, char *name, size_t size)
{
    char path[SW_PROC_PATH_BYTES];
    if (!process || !name || size == 0)
        return SW_E_ARGUMENT;
    const struct sw_process_captured *captured = sw_process_find_captured(process, tid);
    if (!process->is_adopted && !sw_process_find_thread(process, tid) && !captured &&
        !sw_left_out_has(&process->left_out, tid))
        return SW_E_NOT_FOUND;
    if (captured && captured->name[0]) {
        snprintf(name, size, "%s", captured->name);
        return SW_OK;
    }
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

enum sw_status sw_process_read_text(const struct sw_process *process, const char *file, struct sw_os_text *text)
{
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", process->live_tid, file);
    return sw_os_read_file(&process->alloc, path, text);
}

static bool open_memory(struct sw_process *process)
{
    char path[SW_PROC_PATH_BYTES];
    if (process->mem_file >= 0)
        close(process->mem_file);
    snprintf(path, sizeof path, "/proc/%d/mem", process->live_tid);
    process->mem_file = open(path, O_RDONLY | O_CLOEXEC);
    return process->mem_file >= 0;
}

/* Whether a path begins with the text, and is no longer where it must not be. */
static bool begins(const struct sw_map *map, const char *text, bool whole)
{
    const size_t size = strlen(text);
    return map->path_size >= size && (!whole || map->path_size == size) && memcmp(map->path, text, size) == 0;
}

/*
 * Registers of a device may be mapped, and to read them may do something. Not so memory that is shared and has no file,
 * which the kernel calls by the last name: .NET lays out assemblies in it that were loaded from bytes.
 */
static bool is_device(const struct sw_process *process, uint64_t address)
{
    const struct sw_map *map = sw_maps_find(process->maps, process->map_count, address);
    return map && begins(map, "/dev/", false) && !begins(map, "/dev/shm/", false) &&
           !begins(map, "/dev/zero (deleted)", true);
}

/* Whether what was captured is of a program that the process has left. Of what stands, no such thing is asked. */
static bool has_left_captured(const struct sw_process *process)
{
    return process->capture.is_of_program && !process->is_adopted && !sw_process_threads(process, NULL, 0) &&
           !sw_process_executes(process->live_tid, &process->capture.program);
}

/*
 * By /proc/PID/mem. process_vm_readv waits where the process handles its page faults itself (userfaultfd(2)), and would
 * wait for ever for a handler that stands; this file does not: the page is unreadable. Nothing is read at the end of
 * the address space that it was opened for: the process has begun another program.
 */
size_t sw_process_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_process *process = arg;
    bool is_fresh = process->mem_file < 0;
    size_t done = 0;
    if (address > INT64_MAX || is_device(process, address) || (is_fresh && !open_memory(process)))
        return 0;
    while (done < size) {
        const ssize_t got = pread(process->mem_file, (char *)to + done, size - done, (off_t)(address + done));
        if (got > 0)
            done += (size_t)got;
        else if (got < 0 || done || is_fresh || has_left_captured(process) || !open_memory(process))
            break;
        else
            is_fresh = true;
    }
    return done;
}

struct sw_memory sw_process_memory(struct sw_process *process)
{
    return (struct sw_memory){ .read = process ? sw_process_read : NULL, .arg = process };
}

void sw_process_forget_maps(struct sw_process *process)
{
    if (process->maps)
        process->alloc.put(process->alloc.arg, process->maps, process->map_room * sizeof *process->maps);
    sw_os_free_text(&process->alloc, &process->maps_text);
    process->maps = NULL;
    process->map_count = 0;
    sw_page_cache_forget(&process->capture.pages); /* there may be something else now */
    process->maps_valid = false;
}

static bool is_unchanged(const struct sw_process *process, const struct sw_os_text *text)
{
    const struct sw_os_text *old = &process->maps_text;
    return process->maps && text->size == old->size && memcmp(text->bytes, old->bytes, text->size) == 0;
}

/* Room for a row a line: to parse once takes half of the time. */
static enum sw_status parse_maps(struct sw_process *process)
{
    const struct sw_os_text *text = &process->maps_text;
    size_t lines = 1;
    for (const char *at = text->bytes, *end = at + text->size; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    process->maps = process->alloc.get(process->alloc.arg, lines * sizeof *process->maps);
    if (!process->maps)
        return SW_E_NO_MEMORY;
    process->map_room = lines;
    process->map_count = sw_maps_parse(text->bytes, text->size, process->maps, lines);
    if (process->map_count)
        return SW_OK;
    sw_process_forget_maps(process); /* the map of a zombie is empty */
    return SW_E_GONE;
}

static enum sw_status read_maps_once(struct sw_process *process)
{
    struct sw_os_text text;
    process->live_tid = sw_process_live_thread(process->pid);
    enum sw_status status = sw_process_read_text(process, "maps", &text);
    if (status == SW_OK && is_unchanged(process, &text)) {
        sw_os_free_text(&process->alloc, &text);
    } else {
        sw_process_forget_maps(process);
        process->maps_text = text;
        if (status == SW_OK)
            status = parse_maps(process);
    }
    return status;
}

/* The map is empty also where the process began another program while it was read. */
enum sw_status sw_process_read_maps(struct sw_process *process)
{
    enum sw_status status = process->maps_valid ? SW_OK : SW_E_GONE;
    for (unsigned round = 0; round < MAPS_ROUNDS && status == SW_E_GONE; round++) {
        status = read_maps_once(process);
        if (status == SW_E_GONE && process->live_tid == 0)
            break;
    }
    if (status == SW_OK && has_left_captured(process))
        status = SW_E_GONE;
    /* The map of a running process is valid for one call only. */
    process->maps_valid = status == SW_OK && (process->is_adopted || sw_process_threads(process, NULL, 0) != 0);
    process->capture.has_maps = status == SW_OK;
    return status;
}

enum sw_status sw_process_mapped_name(struct sw_process *process, uint64_t address, char *name, size_t size)
{
    if (!process || !name || size == 0)
        return SW_E_ARGUMENT;
    const enum sw_status status = sw_process_captured_maps(process);
    if (status != SW_OK)
        return status;
    const struct sw_map *map = sw_maps_find(process->maps, process->map_count, address);
    if (!map)
        return SW_E_NOT_FOUND;
    if (map->path_size >= size)
        return SW_E_LIMIT;
    if (map->path_size)
        memcpy(name, map->path, map->path_size);
    name[map->path_size] = 0;
    return SW_OK;
}

enum sw_status sw_process_captured_maps(struct sw_process *process)
{
    if (!process->capture.has_maps)
        return sw_process_read_maps(process);
    return has_left_captured(process) ? SW_E_GONE : SW_OK;
}
