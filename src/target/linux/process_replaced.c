/*
 * The files that were replaced since a process mapped them: how one is known, and the list of them. Refuses to know
 * where files are looked for (images_process.c).
 */
#include "core/core.h"
#include "target/linux/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BEGINNING = 4096, ROWS = 16, PATH_BYTES = 4200 };

bool sw_process_is_replaced(const struct sw_memory *memory, uint64_t address, const char *path)
{
    uint8_t mapped[BEGINNING], found[BEGINNING];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? -1 : pread(file, found, sizeof found, 0);
    if (file >= 0)
        close(file);
    if (size <= 0 || memory->read(memory->arg, address, mapped, sizeof mapped) != sizeof mapped)
        return false;
    const struct sw_bytes a = sw_core_build_id((struct sw_bytes){ mapped, sizeof mapped, 0 });
    const struct sw_bytes b = sw_core_build_id((struct sw_bytes){ found, (uint64_t)size, 0 });
    return a.size && b.size && (a.size != b.size || memcmp(a.bytes, b.bytes, (size_t)a.size) != 0);
}

static bool make_room(struct sw_process *process)
{
    struct sw_replaced_list *list = &process->replaced;
    const struct sw_alloc *alloc = &process->alloc;
    const size_t room = list->room ? 2 * list->room : ROWS;
    if (list->count < list->room)
        return true;
    struct sw_replaced_file *rows = alloc->get(alloc->arg, room * sizeof *rows);
    if (!rows)
        return false;
    if (list->room) {
        memcpy(rows, list->rows, list->count * sizeof *rows);
        alloc->put(alloc->arg, list->rows, list->room * sizeof *rows);
    }
    list->rows = rows;
    list->room = room;
    return true;
}

enum sw_status sw_process_add_replaced(struct sw_process *process, const char *path, uint64_t address)
{
    const struct sw_alloc *alloc = &process->alloc;
    const size_t size = strlen(path) + 1;
    char there[PATH_BYTES];
    if (!make_room(process))
        return SW_E_NO_MEMORY;
    char *copy = alloc->get(alloc->arg, size);
    if (!copy)
        return SW_E_NO_MEMORY;
    memcpy(copy, path, size);
    const int length = snprintf(there, sizeof there, "/proc/%d/root%s", process->live_tid, path);
    const bool is_there = length < (int)sizeof there && access(there, F_OK) == 0;
    process->replaced.rows[process->replaced.count++] = (struct sw_replaced_file){ copy, address, is_there };
    return SW_OK;
}

void sw_process_forget_replaced(struct sw_process *process)
{
    struct sw_replaced_list *list = &process->replaced;
    const struct sw_alloc *alloc = &process->alloc;
    while (list->count) {
        const char *path = list->rows[--list->count].path;
        alloc->put(alloc->arg, (char *)(uintptr_t)path, strlen(path) + 1);
    }
}

void sw_process_drop_replaced(struct sw_process *process)
{
    const struct sw_alloc *alloc = &process->alloc;
    sw_process_forget_replaced(process);
    if (process->replaced.room)
        alloc->put(alloc->arg, process->replaced.rows, process->replaced.room * sizeof *process->replaced.rows);
}

bool sw_process_get_replaced(const struct sw_process *process, size_t number, struct sw_replaced_file *file)
{
    if (!process || !file || number >= process->replaced.count)
        return false;
    *file = process->replaced.rows[number];
    return true;
}
