/*
 * Code ranges at the second place of code that is mapped twice.
 */
#ifndef SW_OS_MIRROR_LINUX_H
#define SW_OS_MIRROR_LINUX_H

#include "target/linux/maps.h"

#include <snapwalk/codemap.h>

/*
 * Adds the ranges of every executable piece of a file to its other executable mappings. What is there stays.
 *
 * maps     Ascending. A bounded number of them is looked at.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY, SW_E_BUSY (the code map's answer): the rest was not tried.
 */
SW_NODISCARD enum sw_status sw_mirror_ranges(const struct sw_map *maps, size_t count, const struct sw_alloc *alloc,
                                             struct sw_codemap *codemap);

#endif
