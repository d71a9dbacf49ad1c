/* A sorted array: binary search; what is added or removed moves everything behind it. */
#include "maps.h"

#include <stdlib.h>
#include <string.h>

static struct sw_range *array;
static size_t count, room;

static void fill(const struct sw_range *ranges, size_t n)
{
    count = n;
    room = n + n / 8 + 16;
    array = get(room * sizeof *array);
    memcpy(array, ranges, n * sizeof *array);
}

/* The first that begins behind `address`. */
static size_t behind(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (array[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t find(uint64_t address)
{
    const size_t at = behind(address);
    return at && address < array[at - 1].end ? array[at - 1].id + array[at - 1].begin : 0;
}

static void add(const struct sw_range *range)
{
    const size_t at = behind(range->begin);
    must(count < room, "adding to the array");
    memmove(&array[at + 1], &array[at], (count++ - at) * sizeof *array);
    array[at] = *range;
}

static void take(const struct sw_range *range)
{
    const size_t at = behind(range->begin) - 1;
    memmove(&array[at], &array[at + 1], (--count - at) * sizeof *array);
}

static size_t bytes(void)
{
    return count * sizeof *array;
}

static void clear(void)
{
    free(array);
}

const struct map map_array = { "sorted array", fill, find, add, take, bytes, clear };
