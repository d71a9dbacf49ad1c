/*
 * Rows with intervals: heap sort, reaches as a Fenwick tree of greatest ends, and the search back through it. Rows come
 * from hostile files: no order of them and no overlap makes any of this slow.
 */
#include "base/interval.h"

#include <assert.h>
#include <string.h>

static char *row_at(const struct sw_intervals *e, size_t n)
{
    return (char *)e->rows + n * e->row_size;
}

/* BEGIN, END or REACH of a row. */
enum { BEGIN, END, REACH, NUMBERS };
static uint64_t *number_of(const struct sw_intervals *e, size_t n, unsigned which)
{
    return (uint64_t *)(void *)row_at(e, n) + which;
}

static void copy_row(const struct sw_intervals *e, void *to, const void *from)
{
    memcpy(to, from, e->row_size);
}

/* Puts `moving` into the heap of count rows, from the root down. */
static void sink(const struct sw_intervals *e, size_t root, size_t count, const void *moving,
                 bool (*is_before)(const void *, const void *))
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_before(row_at(e, child), row_at(e, child + 1)))
            child++;
        if (!is_before(moving, row_at(e, child)))
            break;
        copy_row(e, row_at(e, root), row_at(e, child));
    }
    copy_row(e, row_at(e, root), moving);
}

static bool is_sorted(const struct sw_intervals *e, bool (*is_before)(const void *, const void *))
{
    for (size_t n = 1; n < e->count; n++)
        if (is_before(row_at(e, n), row_at(e, n - 1)))
            return false;
    return true;
}

void sw_intervals_sort(const struct sw_intervals *e, bool (*is_before)(const void *, const void *))
{
    _Alignas(uint64_t) char moving[SW_INTERVAL_ROW_MAX];
    assert(e->row_size >= NUMBERS * sizeof(uint64_t) && e->row_size <= sizeof moving);
    if (is_sorted(e, is_before)) /* as linkers leave them */
        return;
    for (size_t root = e->count / 2; root-- > 0;) {
        copy_row(e, moving, row_at(e, root));
        sink(e, root, e->count, moving, is_before);
    }
    for (size_t last = e->count; last-- > 1;) {
        copy_row(e, moving, row_at(e, last));
        copy_row(e, row_at(e, last), row_at(e, 0));
        sink(e, 0, last, moving, is_before);
    }
}

static size_t lowest_bit(size_t number)
{
    return number & (~number + 1);
}

void sw_intervals_link(const struct sw_intervals *e)
{
    for (size_t n = 0; n < e->count; n++)
        *number_of(e, n, REACH) = *number_of(e, n, END);
    for (size_t number = 1; number <= e->count; number++) {
        const size_t above = number + lowest_bit(number);
        const uint64_t reach = *number_of(e, number - 1, REACH);
        if (above <= e->count && *number_of(e, above - 1, REACH) < reach)
            *number_of(e, above - 1, REACH) = reach;
    }
}

static size_t count_below(const struct sw_intervals *e, uint64_t address)
{
    size_t low = 0;
    size_t high = e->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (*number_of(e, middle, BEGIN) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sw_intervals_find(const struct sw_intervals *e, uint64_t address)
{
    size_t number = count_below(e, address);
    while (number > 0) {
        if (*number_of(e, number - 1, END) > address)
            return number - 1;
        number -= *number_of(e, number - 1, REACH) > address ? 1 : lowest_bit(number); /* into the block, or over it */
    }
    return e->count;
}
