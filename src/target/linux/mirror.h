/* Adds code ranges for code that is mapped a second time. */
#ifndef SW_TARGET_LINUX_MIRROR_H
#define SW_TARGET_LINUX_MIRROR_H

#include "target/linux/maps.h"

#include <snapwalk/codemap.h>

/*
 * Adds the ranges of every executable part of a file to its other executable mappings. Existing ranges stay.
 *
 * maps     Ascending. A bounded number of them is considered.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY, SW_E_BUSY (from the code map): the rest was not tried.
 */
SW_NODISCARD enum sw_status sw_mirror_ranges(const struct sw_map *maps, size_t count, const struct sw_alloc *alloc,
                                             struct sw_codemap *codemap);

#endif
