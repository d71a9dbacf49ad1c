/*
 * Rows with intervals: radix sort in place, heap sort of what begins alike, reaches as a Fenwick tree of greatest ends,
 * and the search back through it. Rows come from hostile files: no order of them and no overlap makes any of this slow.
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

/* Most rows are symbols of ELF files and slots of these, which have one size: then no function is called. */
static inline void copy_row(const struct sw_intervals *e, void *to, const void *from)
{
    enum { USUAL = 40 };
    if (e->row_size == USUAL)
        memcpy(to, from, USUAL);
    else
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

static void heap_sort(const struct sw_intervals *e, bool (*is_before)(const void *, const void *))
{
    _Alignas(uint64_t) char moving[SW_INTERVAL_ROW_MAX];
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

static void insertion_sort(const struct sw_intervals *e, bool (*is_before)(const void *, const void *))
{
    _Alignas(uint64_t) char moving[SW_INTERVAL_ROW_MAX];
    for (size_t at, n = 1; n < e->count; n++) {
        copy_row(e, moving, row_at(e, n));
        for (at = n; at > 0 && is_before(moving, row_at(e, at - 1)); at--)
            copy_row(e, row_at(e, at), row_at(e, at - 1));
        copy_row(e, row_at(e, at), moving);
    }
}

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, FEW = 16 };

static size_t digit_of(const struct sw_intervals *e, size_t n, unsigned shift)
{
    return *number_of(e, n, BEGIN) >> shift & (DIGITS - 1);
}

/* Where the rows of each digit end, when they are in its order. */
static void count_digits(const struct sw_intervals *e, unsigned shift, size_t ends[DIGITS])
{
    size_t sum = 0;
    memset(ends, 0, DIGITS * sizeof *ends);
    for (size_t n = 0; n < e->count; n++)
        ends[digit_of(e, n, shift)]++;
    for (size_t digit = 0; digit < DIGITS; digit++)
        ends[digit] = sum += ends[digit];
}

/* Puts rows in the order of one digit: each goes where the next one of its digit belongs, until one belongs here. */
static void put_by_digit(const struct sw_intervals *e, unsigned shift, const size_t ends[DIGITS])
{
    _Alignas(uint64_t) char kept[SW_INTERVAL_ROW_MAX];
    size_t next[DIGITS] = { 0 };
    memcpy(next + 1, ends, (DIGITS - 1) * sizeof *next);
    for (size_t digit = 0; digit < DIGITS; digit++)
        while (next[digit] < ends[digit]) {
            const size_t here = next[digit], of_this = digit_of(e, here, shift), there = next[of_this]++;
            if (there == here)
                continue;
            copy_row(e, kept, row_at(e, there));
            copy_row(e, row_at(e, there), row_at(e, here));
            copy_row(e, row_at(e, here), kept);
        }
}

/* By the digits from a shift down; what they do not tell apart, by comparing. */
static void sort_by_digits(const struct sw_intervals *e, unsigned shift, bool (*is_before)(const void *, const void *))
{
    size_t ends[DIGITS];
    if (e->count <= FEW) {
        insertion_sort(e, is_before);
        return;
    }
    count_digits(e, shift, ends);
    put_by_digit(e, shift, ends);
    for (size_t digit = 0, begin = 0; digit < DIGITS; begin = ends[digit++]) {
        if (ends[digit] - begin < 2) /* most of them */
            continue;
        const struct sw_intervals part = { row_at(e, begin), ends[digit] - begin, e->row_size };
        if (shift)
            sort_by_digits(&part, shift - DIGIT_BITS, is_before);
        else
            heap_sort(&part, is_before);
    }
}

void sw_intervals_sort(const struct sw_intervals *e, bool (*is_before)(const void *, const void *))
{
    uint64_t differing = 0;
    unsigned shift = 0;
    assert(e->row_size >= NUMBERS * sizeof(uint64_t) && e->row_size <= SW_INTERVAL_ROW_MAX);
    if (is_sorted(e, is_before)) /* as linkers leave them */
        return;
    for (size_t n = 1; n < e->count; n++)
        differing |= *number_of(e, n, BEGIN) ^ *number_of(e, 0, BEGIN);
    while (shift + DIGIT_BITS < 64 && differing >> (shift + DIGIT_BITS))
        shift += DIGIT_BITS;
    sort_by_digits(e, shift, is_before);
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
