/*
 * Work ahead of walks.
 */
#include <snapwalk/walk.h>

size_t sw_walk_prepare(const struct sw_walker *walker, struct sw_scratch *scratch, uint32_t budget)
{
    (void)walker, (void)scratch, (void)budget;
    return 0;
}

uint64_t sw_walk_prepare_range(const struct sw_walker *walker, struct sw_scratch *scratch, uint64_t begin, uint64_t end,
                               uint32_t budget)
{
    (void)walker, (void)scratch, (void)end, (void)budget;
    return begin;
}
