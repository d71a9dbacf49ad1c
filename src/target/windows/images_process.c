/*
 * The modules of another process, as images: from their files where those are the ones that are mapped, else from its
 * memory. Refuses to know what becomes of a module (images.c).
 *
 * Source: CreateToolhelp32Snapshot, Module32First, Microsoft Learn.
 */
#include "common/grow.h"
#include "target/windows/images.h"
#include "target/windows/process.h"

#include <tlhelp32.h>

enum { ROUNDS = 16 };

struct modules {
    MODULEENTRY32W *entries;
    struct sw_windows_module *rows;
    size_t count;
    size_t room;
};

/* The list changes while it is read: then Windows asks to be asked again. */
static enum sw_status open_list(const struct sw_process *process, HANDLE *list)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        *list = CreateToolhelp32Snapshot(TH32CS_SNAPMODULE, process->pid);
        if (*list != INVALID_HANDLE_VALUE)
            return SW_OK;
        if (GetLastError() != ERROR_BAD_LENGTH && GetLastError() != ERROR_PARTIAL_COPY)
            break;
    }
    return sw_windows_has_ended(process->handle) ? SW_E_GONE : sw_windows_status(GetLastError());
}

static enum sw_status list_modules(struct sw_process *process, struct modules *modules)
{
    HANDLE list;
    enum sw_status status = open_list(process, &list);
    if (status != SW_OK)
        return status;
    MODULEENTRY32W row = { .dwSize = sizeof row };
    for (BOOL more = Module32FirstW(list, &row); more && status == SW_OK; more = Module32NextW(list, &row)) {
        const size_t count = modules->count;
        MODULEENTRY32W *entries =
            sw_grow(&process->alloc, modules->entries, sizeof row, count, &modules->room, count + 1);
        if (entries) {
            modules->entries = entries;
            modules->entries[modules->count++] = row;
        } else {
            status = SW_E_NO_MEMORY;
        }
    }
    CloseHandle(list);
    return status;
}

static enum sw_status refresh(struct sw_process *process, struct sw_images *images, struct modules *modules)
{
    const struct sw_memory memory = sw_process_memory(process);
    modules->rows = process->alloc.get(process->alloc.arg, (modules->count + 1) * sizeof *modules->rows);
    if (!modules->rows)
        return SW_E_NO_MEMORY;
    for (size_t i = 0; i < modules->count; i++) {
        const MODULEENTRY32W *entry = &modules->entries[i];
        const uint64_t begin = (uint64_t)(uintptr_t)entry->modBaseAddr;
        modules->rows[i] = (struct sw_windows_module){ begin, entry->modBaseSize, sw_windows_stamp(&memory, begin),
                                                       entry->szExePath, false };
    }
    enum sw_status status = sw_images_lock(images);
    if (status == SW_OK) {
        status = sw_windows_refresh(images, modules->rows, modules->count, process, &memory, true);
        if (status == SW_OK)
            status = sw_windows_take_spans(images, process->handle);
        sw_images_unlock(images);
    }
    process->alloc.put(process->alloc.arg, modules->rows, (modules->count + 1) * sizeof *modules->rows);
    return status;
}

enum sw_status sw_process_add_images(struct sw_process *process, struct sw_images *images)
{
    struct modules modules = { 0 };
    if (!process || !images)
        return SW_E_ARGUMENT;
    sw_page_cache_forget(&process->capture.pages); /* there may be other modules now */
    enum sw_status status = list_modules(process, &modules);
    if (status == SW_OK)
        status = refresh(process, images, &modules);
    if (modules.entries)
        process->alloc.put(process->alloc.arg, modules.entries, modules.room * sizeof *modules.entries);
    return status;
}

/* Modules are few here, and cheap to register: all are. */
enum sw_status sw_process_add_captured_images(struct sw_process *process, struct sw_images *images)
{
    return sw_process_add_images(process, images);
}

/* V8 maps code twice on other systems only, as far as is known. */
enum sw_status sw_process_mirror_ranges(struct sw_process *process, struct sw_codemap *codemap)
{
    if (!process || !codemap)
        return SW_E_ARGUMENT;
    return sw_windows_has_ended(process->handle) ? SW_E_GONE : SW_OK;
}
