/* Where the parts of a core's files are in memory: rows, sorted and disjoint. And how its arrays grow. */
#include "target/core.h"

#include "common/grow.h"

void *sw_core_grow(const struct sw_core *core, void *array, struct sw_core_array *size, size_t element)
{
    return sw_grow(&core->alloc, array, element, size->count, &size->capacity, size->count + 1);
}

enum sw_status sw_core_add_row(struct sw_core *core, struct sw_core_row row)
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
            status = sw_core_add_row(core, row);
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
