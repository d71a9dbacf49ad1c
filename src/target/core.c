/*
 * A core file as a target: opening, threads, registers, a walker. Refuses to know the formats (lib/core), where files
 * come from and what images are (linux/core.c, linux/images_core.c).
 */
#include "target/core.h"

#include "common/alloc.h"
#include "target/kernel_thread.h"

#include <snapwalk/context.h>

#include <string.h>

enum { SAME_FILE_LOOK_BACK = 16, WINDOW_BELOW = 1 << 12, WINDOW_MOST = 1 << 20 };

/* Opening ------------------------------------------------------------------------------------------------------- */

/* Segments ascend, as the gABI requires. A segment that begins inside the one before it is left out. */
static enum sw_status read_segments(struct sw_core *core)
{
    struct sw_core_header header;
    uint64_t floor = 0;
    for (uint64_t n = 0; sw_core_header(&core->headers, n, &header); n++) {
        uint64_t end;
        if (header.type != SW_CORE_LOAD || header.size == 0 || header.file_size > header.size ||
            !sw_add_u64(header.address, header.size, &end) || header.address < floor)
            continue;
        struct sw_core_segment *at = sw_core_grow(core, core->segments, &core->segment_array, sizeof *core->segments);
        if (!at)
            return SW_E_NO_MEMORY;
        core->segments = at;
        at[core->segment_array.count++] =
            (struct sw_core_segment){ header.address, end, sw_core_held(&core->headers, &header), header.file_size,
                                      header.flags };
        floor = end;
    }
    return SW_OK;
}

/* The main thread's id is the process's. */
static enum sw_status read_tasks(struct sw_core *core)
{
    struct sw_core_notes notes = sw_core_notes_over(&core->headers);
    const uint64_t pid = sw_core_pid(&core->process);
    struct sw_core_task task;
    while (sw_core_tasks_next(&notes, &task)) {
        struct sw_core_task *at = sw_core_grow(core, core->tasks, &core->task_array, sizeof *core->tasks);
        if (!at)
            return SW_E_NO_MEMORY;
        core->tasks = at;
        const size_t count = core->task_array.count++;
        if (count == 0 && task.signal != 0)
            core->crashed = task.tid;
        const bool is_main = task.tid == pid && count > 0 && at[0].tid != pid;
        if (is_main)
            memmove(at + 1, at, count * sizeof *at);
        at[is_main ? 0 : count] = task;
    }
    return SW_OK;
}

/* The number of the file with a path. Rows of one file are mostly adjacent. SIZE_MAX: no memory. */
static size_t file_of(struct sw_core *core, const char *path)
{
    const size_t count = core->file_array.count;
    for (size_t back = 1; back <= count && back <= SAME_FILE_LOOK_BACK; back++)
        if (strcmp(core->files[count - back].info.path, path) == 0)
            return count - back;
    struct sw_core_mapped *at = sw_core_grow(core, core->files, &core->file_array, sizeof *core->files);
    if (!at)
        return SIZE_MAX;
    core->files = at;
    at[core->file_array.count++] = (struct sw_core_mapped){ .info = { .path = path } };
    return count;
}

static enum sw_status read_mappings(struct sw_core *core)
{
    struct sw_core_mappings mappings = sw_core_mappings_over(&core->process);
    struct sw_core_mapping mapping;
    enum sw_status status = SW_OK;
    while (status == SW_OK && sw_core_mappings_next(&mappings, &mapping)) {
        const size_t file = file_of(core, mapping.path);
        if (file == SIZE_MAX)
            return SW_E_NO_MEMORY;
        status = sw_core_add_row(core, (struct sw_core_row){ mapping.begin, mapping.end, mapping.offset, file,
                                                             SW_CORE_READ | SW_CORE_EXECUTE });
    }
    sw_core_sort_rows(core);
    return status;
}

static enum sw_status read_ranges(struct sw_core *core)
{
    struct sw_core_notes notes = sw_core_notes_over(&core->headers);
    struct sw_core_named_range found;
    while (sw_core_ranges_next(&notes, &found.range, &found.name)) {
        struct sw_core_named_range *at = sw_core_grow(core, core->ranges, &core->range_array, sizeof *core->ranges);
        if (!at)
            return SW_E_NO_MEMORY;
        core->ranges = at;
        at[core->range_array.count++] = found;
    }
    return SW_OK;
}

static enum sw_status read_core(struct sw_core *core, struct sw_bytes bytes)
{
    enum sw_status status = sw_core_headers_read(bytes, &core->headers);
    if (status == SW_OK && core->headers.type != SW_CORE_TYPE)
        status = SW_E_UNSUPPORTED;
    if (status != SW_OK)
        return status;
    sw_core_process_read(&core->headers, &core->process);
    status = read_segments(core);
    if (status == SW_OK)
        status = read_tasks(core);
    if (status == SW_OK)
        status = read_ranges(core);
    return status == SW_OK ? read_mappings(core) : status;
}

enum sw_status sw_core_open_bytes(const struct sw_alloc *alloc, const void *bytes, size_t size, struct sw_core **out)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!out || !sw_alloc_usable(alloc) || (!bytes && size > 0))
        return SW_E_ARGUMENT;
    struct sw_core *core = from.get(from.arg, sizeof *core);
    if (!core)
        return SW_E_NO_MEMORY;
    *core = (struct sw_core){ .alloc = from };
    const enum sw_status status = read_core(core, (struct sw_bytes){ bytes, size, 0 });
    if (status == SW_OK)
        *out = core;
    else
        sw_core_close(core);
    return status;
}

static void free_array(const struct sw_core *core, void *array, struct sw_core_array size, size_t element)
{
    if (array)
        core->alloc.put(core->alloc.arg, array, size.capacity * element);
}

void sw_core_close(struct sw_core *core)
{
    if (!core)
        return;
    for (size_t i = 0; i < core->file_array.count; i++) {
        const struct sw_core_mapped *file = &core->files[i];
        if (file->drop)
            file->drop(file->drop_arg, file->bytes.bytes, (size_t)file->bytes.size);
    }
    free_array(core, core->segments, core->segment_array, sizeof *core->segments);
    free_array(core, core->tasks, core->task_array, sizeof *core->tasks);
    free_array(core, core->files, core->file_array, sizeof *core->files);
    free_array(core, core->ranges, core->range_array, sizeof *core->ranges);
    free_array(core, core->rows, core->row_array, sizeof *core->rows);
    if (core->close)
        core->close(core->source);
    core->alloc.put(core->alloc.arg, core, sizeof *core);
}

uint64_t sw_core_missing_bytes(const struct sw_core *core)
{
    return core ? sw_core_missing(&core->headers) : 0;
}

bool sw_core_get_range(const struct sw_core *core, size_t number, struct sw_range *range, const char **name)
{
    if (!core || !range || number >= core->range_array.count)
        return false;
    *range = core->ranges[number].range;
    if (name)
        *name = core->ranges[number].name;
    return true;
}

/* Threads ------------------------------------------------------------------------------------------------------- */

static const struct sw_core_task *find_task(const struct sw_core *core, uint64_t tid)
{
    for (size_t i = 0; i < core->task_array.count; i++)
        if (core->tasks[i].tid == tid)
            return &core->tasks[i];
    return NULL;
}

enum sw_status sw_core_describe(const struct sw_core *core, struct sw_core_info *about)
{
    if (!core || !about)
        return SW_E_ARGUMENT;
    const struct sw_core_process *process = &core->process;
    *about = (struct sw_core_info){ .machine = core->headers.machine,
                                    .pid = sw_core_pid(process),
                                    .crashed = core->crashed,
                                    .entry = sw_core_auxv(process, SW_AUXV_ENTRY),
                                    .vdso = sw_core_auxv(process, SW_AUXV_VDSO) };
    sw_core_name(process, about->name);
    sw_core_arguments(process, about->arguments);
    return SW_OK;
}

size_t sw_core_threads(const struct sw_core *core, uint64_t *tids, size_t capacity)
{
    const size_t count = core ? core->task_array.count : 0;
    for (size_t i = 0; tids && i < count && i < capacity; i++)
        tids[i] = core->tasks[i].tid;
    return count;
}

enum sw_status sw_core_find_thread(const struct sw_core *core, uint64_t tid, struct sw_core_thread *thread)
{
    if (!core || !thread)
        return SW_E_ARGUMENT;
    const struct sw_core_task *task = find_task(core, tid);
    if (!task)
        return SW_E_NOT_FOUND;
    *thread =
        (struct sw_core_thread){ task->tid, task->pac_mask, task->fault, task->signal, task->code, task->has_fault };
    return SW_OK;
}

enum sw_status sw_core_regs(const struct sw_core *core, uint64_t tid, struct sw_regs *regs)
{
    if (!core || !regs)
        return SW_E_ARGUMENT;
    const struct sw_core_task *task = find_task(core, tid);
    if (!task)
        return SW_E_NOT_FOUND;
    const enum sw_status status = sw_context_load(SW_CONTEXT_PRSTATUS, core->headers.machine, task->record.bytes,
                                                  (size_t)task->record.size, regs);
    if (status == SW_OK)
        sw_forget_pc_of_kernel_thread(regs);
    return status;
}

/* Of a core that is read piece by piece, what walks mostly look at; the rest is read as they go. */
static struct sw_window window_of(const struct sw_core *core, const struct sw_core_segment *stack, uint64_t sp)
{
    const uint64_t below = sp - stack->begin < WINDOW_BELOW ? sp - stack->begin : WINDOW_BELOW;
    const struct sw_bytes part = sw_core_held_at(core, sp - below, WINDOW_MOST);
    if (!core->want)
        return (struct sw_window){ stack->begin, stack->begin + stack->held.size, stack->held.bytes };
    return part.size ? (struct sw_window){ sp - below, sp - below + part.size, part.bytes } : (struct sw_window){ 0 };
}

/* Who writes a core may split a mapping: createdump and capsules leave parts out. Segments that touch are one stack. */
static void set_stack(const struct sw_core *core, const struct sw_core_segment *segment, struct sw_walker *walker)
{
    const struct sw_core_segment *first = segment, *last = segment, *all = core->segments;
    while (first > all && first[-1].end == first->begin && first[-1].flags == segment->flags)
        first--;
    while (last + 1 < all + core->segment_array.count && last[1].begin == last->end && last[1].flags == segment->flags)
        last++;
    walker->stack_begin = first->begin;
    walker->stack_end = last->end;
}

enum sw_status sw_core_walker(struct sw_core *core, uint64_t tid, const struct sw_regs *regs,
                              const struct sw_codemap *codemap, const struct sw_images *images,
                              struct sw_walker *walker)
{
    if (!core || !regs || !walker || regs->machine != core->headers.machine ||
        !sw_regs_has(regs, sw_regs_sp_number(regs->machine)))
        return SW_E_ARGUMENT;
    const struct sw_core_task *task = find_task(core, tid);
    if (!task)
        return SW_E_NOT_FOUND;
    *walker = (struct sw_walker){ .machine = regs->machine,
                                  .memory = sw_core_memory(core),
                                  .codemap = codemap,
                                  .images = images,
                                  .pac_mask = task->pac_mask,
                                  .budget = SW_WALK_BUDGET_UNLIMITED };
    const struct sw_core_segment *stack = sw_core_segment_at(core, sw_regs_sp(regs));
    if (!stack)
        return SW_OK; /* sp is garbage: the walk finds that out, word by word */
    set_stack(core, stack, walker);
    walker->memory.window = window_of(core, stack, sw_regs_sp(regs));
    return SW_OK;
}
