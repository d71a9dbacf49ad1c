/* The lowest of many numbers, ascending, in room for some: how lists of threads are made. */
#ifndef SW_COMMON_LOWEST_H
#define SW_COMMON_LOWEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count: how many there were so far. Of more than there is room for, the lowest `capacity` stay. */
struct sw_lowest {
    uint64_t *numbers;
    size_t capacity;
    size_t count;
};

static inline void sw_lowest_add(struct sw_lowest *lowest, uint64_t number)
{
    const bool is_full = lowest->count >= lowest->capacity;
    size_t at = is_full ? lowest->capacity : lowest->count;
    lowest->count++;
    if (is_full && (at == 0 || lowest->numbers[at - 1] <= number))
        return;
    for (at -= is_full; at > 0 && lowest->numbers[at - 1] > number; at--)
        lowest->numbers[at] = lowest->numbers[at - 1];
    lowest->numbers[at] = number;
}

#endif
