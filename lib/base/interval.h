/*
 * Sorted rows of any type that begin with an interval of addresses; the last one that holds an address is found in few
 * steps, however they overlap. Knows intervals; refuses to know what else is in a row.
 */
#ifndef SW_BASE_INTERVAL_H
#define SW_BASE_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * count rows of row_size bytes, at most SW_INTERVAL_ROW_MAX. Each begins with three numbers of 64 bits: begin, end, and
 * reach, which is the greatest end in a block of rows that ends with this one. The block's size is the lowest bit of
 * the row's number, counted from 1 (a Fenwick tree); sw_intervals_link sets it.
 */
enum { SW_INTERVAL_ROW_MAX = 72 };
struct sw_intervals {
    void *rows;
    size_t count;
    size_t row_size;
};

/* Sorts rows in O(n log n) steps, whatever their order, without memory. is_before: a strict order, first by begin. */
void sw_intervals_sort(const struct sw_intervals *intervals, bool (*is_before)(const void *a, const void *b));

/* Sets the reaches. Rows ascend by begin; ends are final. */
void sw_intervals_link(const struct sw_intervals *intervals);

/*
 * The number of the last row that begins at or below the address and ends above it; count: there is none. Takes
 * O(log² n) steps. Signal safe.
 */
size_t sw_intervals_find(const struct sw_intervals *intervals, uint64_t address);

/*
 * Of rows that begin with begin and end alone, ascend and do not overlap: the number of the first that ends above the
 * address; count: there is none. Inline, since walks ask; it always halves what is left, so that no branch depends on
 * what is found. Signal safe.
 */
static inline size_t sw_intervals_above(const void *rows, size_t row_size, size_t count, uint64_t address)
{
    const unsigned char *row = rows;
    size_t low = 0;
    for (size_t left = count, half; left; left -= half) {
        uint64_t end;
        half = left - left / 2;
        memcpy(&end, row + (low + half - 1) * row_size + sizeof end, sizeof end);
        low += end <= address ? half : 0;
    }
    return low;
}

#endif
