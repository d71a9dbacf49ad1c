/*
 * The meaning of a core's notes: threads, the process, the files that were mapped. Source: Linux
 * include/uapi/linux/elf.h (types), include/linux/elfcore.h, fs/binfmt_elf.c (fill_files_note); contexts.md section 6
 * (offsets).
 */
#include "core/core.h"
#include "core/layout.h"

#include <snapwalk/context.h>

#include <string.h>

enum { PAGE_MOST = 1 << 24 };

/* Whether the owner is "CORE" or "LINUX"; some writers omit the NUL. */
static bool is_linux_note(const struct sw_core_note *note)
{
    const char *owner = (const char *)note->owner.bytes;
    return (note->owner.size >= 4 && memcmp(owner, "CORE", 4) == 0) ||
           (note->owner.size >= 5 && memcmp(owner, "LINUX", 5) == 0);
}

static uint64_t part64(struct sw_bytes bytes, uint64_t offset)
{
    const struct sw_bytes part = sw_bytes_part(bytes, offset, 8);
    return part.size ? sw_load64(part.bytes) : 0;
}

static uint32_t part32(struct sw_bytes bytes, uint64_t offset)
{
    const struct sw_bytes part = sw_bytes_part(bytes, offset, 4);
    return part.size ? sw_load32(part.bytes) : 0;
}

/* Threads ------------------------------------------------------------------------------------------------------- */

static void read_siginfo(struct sw_bytes data, struct sw_core_task *task)
{
    /* signal numbers, the same on both machines: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV */
    const uint32_t faulting = 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 11;
    const uint32_t signal = part32(data, 0);
    if (signal == 0 || signal > INT32_MAX)
        return;
    task->signal = (int32_t)signal;
    task->code = (int32_t)part32(data, SW_SIGINFO_CODE_AT);
    task->has_fault =
        signal < 32 && (faulting >> signal & 1u) != 0 && task->code > 0 && data.size >= SW_SIGINFO_ADDRESS_AT + 8;
    task->fault = task->has_fault ? part64(data, SW_SIGINFO_ADDRESS_AT) : 0;
}

/* Reads the notes behind a thread's NT_PRSTATUS, up to the next thread's. */
static void read_other_notes(struct sw_core_notes notes, struct sw_core_task *task)
{
    struct sw_core_note note;
    while (sw_core_notes_next(&notes, &note)) {
        if (!is_linux_note(&note))
            continue;
        if (note.type == SW_NOTE_PRSTATUS)
            return;
        if (note.type == SW_NOTE_SIGINFO)
            read_siginfo(note.data, task);
        if (note.type == SW_NOTE_PAC_MASK)
            task->pac_mask = part64(note.data, SW_PAC_CODE_AT);
    }
}

bool sw_core_tasks_next(struct sw_core_notes *notes, struct sw_core_task *task)
{
    const enum sw_machine machine = notes->headers->machine;
    struct sw_core_note note;
    uint32_t tid;
    while (sw_core_notes_next(notes, &note)) {
        if (!is_linux_note(&note) || note.type != SW_NOTE_PRSTATUS ||
            note.data.size < sw_context_needed(SW_CONTEXT_PRSTATUS, machine) ||
            sw_prstatus_thread(note.data.bytes, (size_t)note.data.size, &tid) != SW_OK)
            continue;
        *task = (struct sw_core_task){ .record = note.data, .tid = tid };
        task->signal = (int32_t)(part32(note.data, SW_PRSTATUS_SIGNAL_AT) & 0xffff);
        read_other_notes(*notes, task);
        return true;
    }
    return false;
}

/* The process --------------------------------------------------------------------------------------------------- */

void sw_core_process_read(const struct sw_core_headers *headers, struct sw_core_process *process)
{
    struct sw_core_notes notes = sw_core_notes_over(headers);
    struct sw_core_note note;
    *process = (struct sw_core_process){ 0 };
    while (sw_core_notes_next(&notes, &note)) {
        struct sw_bytes *to = !is_linux_note(&note)           ? NULL
                              : note.type == SW_NOTE_PRPSINFO ? &process->psinfo
                              : note.type == SW_NOTE_AUXV     ? &process->auxv
                              : note.type == SW_NOTE_FILES    ? &process->files
                                                              : NULL;
        if (to && to->size == 0)
            *to = note.data;
    }
}

uint64_t sw_core_auxv(const struct sw_core_process *process, uint64_t type)
{
    struct sw_cursor c = sw_cursor_over(process->auxv);
    for (;;) {
        const uint64_t found = sw_cursor_u(&c, 8);
        const uint64_t value = sw_cursor_u(&c, 8);
        if (!sw_cursor_ok(&c) || found == 0)
            return 0;
        if (found == type)
            return value;
    }
}

uint64_t sw_core_first(const struct sw_core_process *process)
{
    const uint64_t linker = sw_core_auxv(process, SW_AUXV_BASE);
    return linker ? linker : sw_core_auxv(process, SW_AUXV_ENTRY);
}

uint64_t sw_core_pid(const struct sw_core_process *process)
{
    return part32(process->psinfo, SW_PSINFO_PID_AT);
}

static void copy_text(struct sw_bytes from, uint64_t offset, size_t size, char *to)
{
    const struct sw_bytes text = sw_bytes_part(from, offset, size);
    if (text.size)
        memcpy(to, text.bytes, size);
    to[text.size ? size : 0] = 0;
}

void sw_core_name(const struct sw_core_process *process, char name[17])
{
    copy_text(process->psinfo, SW_PSINFO_NAME_AT, SW_PSINFO_NAME, name);
}

void sw_core_arguments(const struct sw_core_process *process, char arguments[81])
{
    copy_text(process->psinfo, SW_PSINFO_ARGUMENTS_AT, SW_PSINFO_ARGUMENTS, arguments);
}

/* Mapped files -------------------------------------------------------------------------------------------------- */

struct sw_core_mappings sw_core_mappings_over(const struct sw_core_process *process)
{
    struct sw_core_mappings mappings = { .names = sw_cursor_over(process->files) };
    const uint64_t count = sw_cursor_u(&mappings.names, 8);
    mappings.page = sw_cursor_u(&mappings.names, 8);
    const bool is_sane =
        mappings.page > 0 && mappings.page <= PAGE_MOST && count <= sw_cursor_left(&mappings.names) / SW_MAPPING_BYTES;
    mappings.rows = sw_cursor_split(&mappings.names, is_sane ? count * SW_MAPPING_BYTES : 0);
    return mappings;
}

bool sw_core_mappings_next(struct sw_core_mappings *mappings, struct sw_core_mapping *mapping)
{
    while (sw_cursor_left(&mappings->rows) > 0) {
        mapping->begin = sw_cursor_u(&mappings->rows, 8);
        mapping->end = sw_cursor_u(&mappings->rows, 8);
        const uint64_t pages = sw_cursor_u(&mappings->rows, 8);
        mapping->path = sw_cursor_string(&mappings->names);
        if (!mapping->path || !sw_cursor_ok(&mappings->rows) ||
            mapping->end == 0) /* nothing: a hole of a sparse file */
            return false;
        mapping->offset = pages * mappings->page;
        if (mapping->begin < mapping->end && pages <= INT64_MAX / mappings->page)
            return true;
    }
    return false;
}

/* Code ranges of a capsule ---------------------------------------------------------------------------------------- */

static bool is_range(const struct sw_core_note *note)
{
    return note->type == SW_NOTE_RANGE && note->owner.size == sizeof SW_NOTE_OWNER &&
           memcmp(note->owner.bytes, SW_NOTE_OWNER, sizeof SW_NOTE_OWNER) == 0;
}

bool sw_core_ranges_next(struct sw_core_notes *notes, struct sw_range *range, const char **name)
{
    struct sw_core_note note;
    while (sw_core_notes_next(notes, &note)) {
        if (!is_range(&note))
            continue;
        struct sw_cursor c = sw_cursor_over(note.data);
        range->begin = sw_cursor_u(&c, 8);
        range->end = sw_cursor_u(&c, 8);
        range->id = sw_cursor_u(&c, 8);
        range->image = (uint32_t)sw_cursor_u(&c, 4);
        range->kind = (uint8_t)sw_cursor_u(&c, 1);
        range->unwind = (uint8_t)sw_cursor_u(&c, 1);
        range->flags = (uint16_t)sw_cursor_u(&c, 2);
        *name = sw_cursor_string(&c);
        if (*name && sw_cursor_ok(&c))
            return true;
    }
    return false;
}
