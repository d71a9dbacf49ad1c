/*
 * A core file as a target: threads, registers, memory, a walker. Knows which bytes belong to which address; refuses to
 * know the formats (lib/core), where files come from and what images are (linux/core.c, linux/images_core.c).
 */
#include "target/core.h"

#include "common/alloc.h"
#include "common/grow.h"
#include "base/memory.h"

#include <snapwalk/context.h>

#include <string.h>

enum {
    SAME_FILE_LOOK_BACK = 16,
    PATH_MOST = 4096,
    IMAGE_BEGIN = 1 << 16,
    WINDOW_BELOW = 1 << 12,
    WINDOW_MOST = 1 << 20
};

void *sw_core_grow(const struct sw_core *core, void *array, struct sw_core_array *size, size_t element)
{
    return sw_grow(&core->alloc, array, element, size->count, &size->capacity, size->count + 1);
}

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

static enum sw_status add_row(struct sw_core *core, struct sw_core_row row)
{
    const struct sw_core_segment *segment = sw_core_segment_at(core, row.begin);
    struct sw_core_row *at = sw_core_grow(core, core->rows, &core->row_array, sizeof *core->rows);
    if (!at)
        return SW_E_NO_MEMORY;
    core->rows = at;
    if (segment)
        row.flags = segment->flags;
    at[core->row_array.count++] = row;
    return SW_OK;
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
        status = add_row(core, (struct sw_core_row){ mapping.begin, mapping.end, mapping.offset, file,
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

bool sw_core_get_range(const struct sw_core *core, size_t number, struct sw_range *range, const char **name)
{
    if (!core || !range || number >= core->range_array.count)
        return false;
    *range = core->ranges[number].range;
    if (name)
        *name = core->ranges[number].name;
    return true;
}

/* Memory -------------------------------------------------------------------------------------------------------- */

/* The number of the first segment that ends above the address. */
static size_t segment_search(const struct sw_core *core, uint64_t address)
{
    size_t low = 0;
    size_t high = core->segment_array.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (core->segments[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sw_core_segment *sw_core_segment_at(const struct sw_core *core, uint64_t address)
{
    const size_t at = segment_search(core, address);
    return at < core->segment_array.count && core->segments[at].begin <= address ? &core->segments[at] : NULL;
}

const struct sw_core_row *sw_core_row_at(const struct sw_core *core, uint64_t address)
{
    size_t low = 0;
    size_t high = core->row_array.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (core->rows[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < core->row_array.count && core->rows[low].begin <= address ? &core->rows[low] : NULL;
}

/* What a file supplies for an address at which the core has nothing. */
static bool is_constant(const struct sw_core_mapped *file, uint64_t address)
{
    return address >= file->constant.begin && address < file->constant.end;
}

static struct sw_bytes file_bytes(const struct sw_core *core, uint64_t address)
{
    const size_t next = segment_search(core, address);
    const struct sw_core_segment *segment = next < core->segment_array.count ? &core->segments[next] : NULL;
    const bool inside = segment && segment->begin <= address;
    const struct sw_core_row *row = sw_core_row_at(core, address);
    uint64_t offset;
    /* Memory that was written, or was meant to be in the core, may differ from the file. */
    if (!row || (inside && address - segment->begin < segment->stored))
        return (struct sw_bytes){ 0 };
    const struct sw_core_mapped *mapped = &core->files[row->file];
    const bool may_write = (inside && (segment->flags & SW_CORE_WRITE)) || (row->flags & SW_CORE_WRITE);
    if (may_write && !is_constant(mapped, address))
        return (struct sw_bytes){ 0 };
    uint64_t end = may_write && mapped->constant.end < row->end ? mapped->constant.end : row->end;
    if (segment && (inside ? segment->end : segment->begin) < end)
        end = inside ? segment->end : segment->begin;
    const struct sw_bytes *file = &mapped->bytes;
    if (!sw_add_u64(row->offset, address - row->begin, &offset) || offset >= file->size)
        return (struct sw_bytes){ 0 };
    const uint64_t room = file->size - offset;
    struct sw_bytes found = sw_bytes_part(*file, offset, end - address < room ? end - address : room);
    found.address = address;
    return found;
}

struct sw_bytes sw_core_held_at(const struct sw_core *core, uint64_t address, uint64_t most)
{
    const struct sw_core_segment *segment = sw_core_segment_at(core, address);
    if (!segment || address - segment->begin >= segment->held.size)
        return (struct sw_bytes){ 0 };
    const uint64_t offset = address - segment->begin;
    const uint64_t left = segment->held.size - offset;
    const struct sw_bytes held = sw_bytes_part(segment->held, offset, left < most ? left : most);
    if (core->want)
        core->want(core->source, (uint64_t)(held.bytes - core->headers.file.bytes), held.size);
    return held;
}

struct sw_bytes sw_core_bytes_at(const struct sw_core *core, uint64_t address, uint64_t most)
{
    const struct sw_bytes held = sw_core_held_at(core, address, most);
    return held.size ? held : file_bytes(core, address);
}

const char *sw_core_string_at(const struct sw_core *core, uint64_t address)
{
    struct sw_bytes bytes = sw_core_bytes_at(core, address, PATH_MOST);
    bytes.size = bytes.size < PATH_MOST ? bytes.size : PATH_MOST;
    struct sw_cursor c = sw_cursor_over(bytes);
    return sw_cursor_string(&c);
}

static size_t copy_from(const struct sw_core *core, uint64_t address, void *to, size_t size,
                        struct sw_bytes (*bytes_at)(const struct sw_core *core, uint64_t address, uint64_t most))
{
    size_t done = 0;
    while (done < size) {
        const struct sw_bytes bytes = bytes_at(core, address + done, size - done);
        if (bytes.size == 0)
            break;
        const size_t part = bytes.size < size - done ? (size_t)bytes.size : size - done;
        memcpy((uint8_t *)to + done, bytes.bytes, part);
        done += part;
        if (address + done < address)
            break;
    }
    return done;
}

static size_t read_all(void *arg, uint64_t address, void *to, size_t size)
{
    return copy_from(arg, address, to, size, sw_core_bytes_at);
}

static size_t read_own(void *arg, uint64_t address, void *to, size_t size)
{
    return copy_from(arg, address, to, size, sw_core_held_at);
}

struct sw_memory sw_core_memory(struct sw_core *core)
{
    return (struct sw_memory){ .read = core ? read_all : NULL, .arg = core };
}

struct sw_memory sw_core_own_memory(struct sw_core *core)
{
    return (struct sw_memory){ .read = read_own, .arg = core };
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
    return task ? sw_context_load(SW_CONTEXT_PRSTATUS, core->headers.machine, task->record.bytes,
                                  (size_t)task->record.size, regs)
                : SW_E_NOT_FOUND;
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

/* Files --------------------------------------------------------------------------------------------------------- */

const char *sw_core_file_state_name(enum sw_core_file_state state)
{
    static const char *const names[] = { "missing", "other", "bad", "unchecked", "checked" };
    _Static_assert(sizeof names / sizeof names[0] == SW_CORE_FILE_COUNT, "ORDER sw_core_file_state");
    return (unsigned)state < SW_CORE_FILE_COUNT ? names[state] : "?";
}

bool sw_core_get_file(const struct sw_core *core, size_t number, struct sw_core_file *file)
{
    if (!core || !file)
        return false;
    for (size_t i = 0; i < core->file_array.count; i++) {
        if (!core->files[i].is_wanted || number-- > 0)
            continue;
        *file = core->files[i].info;
        return true;
    }
    return false;
}

static enum sw_core_file_state check_first_page(struct sw_bytes held, struct sw_bytes file)
{
    enum { PAGE = 4096 };
    const struct sw_bytes a = sw_core_build_id(held);
    const struct sw_bytes b = sw_core_build_id(file);
    if (a.size > 0 && b.size > 0)
        return a.size == b.size && memcmp(a.bytes, b.bytes, (size_t)a.size) == 0 ? SW_CORE_FILE_CHECKED
                                                                                 : SW_CORE_FILE_OTHER;
    uint64_t size = held.size < PAGE ? held.size : PAGE;
    size = size < file.size ? size : file.size;
    return memcmp(held.bytes, file.bytes, (size_t)size) == 0 ? SW_CORE_FILE_CHECKED : SW_CORE_FILE_OTHER;
}

static enum sw_core_file_state check_dynamic(struct sw_core *core, const struct sw_core_headers *headers,
                                             const struct sw_core_mapped *file)
{
    const struct sw_memory own = sw_core_own_memory(core);
    struct sw_core_header header;
    uint64_t base;
    if (!sw_core_link_base(headers, &base))
        return SW_CORE_FILE_BAD;
    const uint64_t bias = file->info.address - base;
    if (file->dynamic != 0 &&
        (!sw_core_find_header(headers, SW_CORE_DYNAMIC, &header) || header.address + bias != file->dynamic))
        return SW_CORE_FILE_OTHER;
    switch (sw_core_dynamic_check(headers, &own, bias)) {
    case SW_OK:
        return SW_CORE_FILE_CHECKED;
    case SW_E_MALFORMED:
        return SW_CORE_FILE_OTHER;
    default:
        return SW_CORE_FILE_UNCHECKED;
    }
}

enum sw_core_file_state sw_core_check_file(struct sw_core *core, const struct sw_core_mapped *file,
                                           struct sw_bytes bytes)
{
    const struct sw_bytes held = sw_core_held_at(core, file->info.address, IMAGE_BEGIN);
    const bool is_pe = bytes.size >= SW_CORE_HEADER_BYTES && memcmp(bytes.bytes, "MZ", 2) == 0;
    struct sw_core_headers headers;
    if (!is_pe && sw_core_headers_read(bytes, &headers) != SW_OK)
        return SW_CORE_FILE_BAD;
    if (!is_pe && headers.machine != core->headers.machine)
        return SW_CORE_FILE_OTHER;
    if (held.size >= SW_CORE_HEADER_BYTES)
        return check_first_page(held, bytes);
    return is_pe ? SW_CORE_FILE_UNCHECKED : check_dynamic(core, &headers, file);
}

enum sw_status sw_core_add_rows(struct sw_core *core, size_t number)
{
    enum { IN_PAGE = 4095, MOST = 64 };
    const struct sw_core_mapped *file = &core->files[number];
    struct sw_core_headers headers;
    struct sw_core_header header;
    enum sw_status status = sw_core_headers_read(file->bytes, &headers);
    for (uint64_t n = 0; status == SW_OK && n < MOST && sw_core_header(&headers, n, &header); n++) {
        const uint64_t begin = header.address + file->bias;
        uint64_t end;
        if (header.type != SW_CORE_LOAD || (begin & IN_PAGE) != (header.offset & IN_PAGE) ||
            !sw_add_u64(begin, header.file_size, &end) || !sw_add_u64(end, IN_PAGE, &end))
            continue;
        const struct sw_core_row row = { begin & ~(uint64_t)IN_PAGE, end & ~(uint64_t)IN_PAGE,
                                         header.offset & ~(uint64_t)IN_PAGE, number, header.flags };
        if (row.begin < row.end)
            status = add_row(core, row);
    }
    return status;
}

static void sift(struct sw_core_row *rows, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && rows[child].begin < rows[child + 1].begin)
            child++;
        if (rows[at].begin >= rows[child].begin)
            return;
        const struct sw_core_row row = rows[at];
        rows[at] = rows[child];
        rows[child] = row;
    }
}

/* Heap sort: the rows are few and mostly in order, but they are hostile input. */
void sw_core_sort_rows(struct sw_core *core)
{
    struct sw_core_row *rows = core->rows;
    const size_t count = core->row_array.count;
    size_t count_kept = 0;
    for (size_t i = count / 2; i > 0; i--)
        sift(rows, i - 1, count);
    for (size_t left = count; left > 1; left--) {
        const struct sw_core_row row = rows[0];
        rows[0] = rows[left - 1];
        rows[left - 1] = row;
        sift(rows, 0, left - 1);
    }
    for (size_t i = 0; i < count; i++)
        if (count_kept == 0 || rows[count_kept - 1].end <= rows[i].begin)
            rows[count_kept++] = rows[i];
    core->row_array.count = count_kept;
}
