/*
 * The runtime's map of code ranges, which its look-ups begin with: code.c knows it.
 */
#ifndef SW_CLR_RANGES_H
#define SW_CLR_RANGES_H

#include "clr/runtime.h"

/* A reader of the runtime's data that knows its offsets. */
struct sw_clr_reader {
    const struct sw_clr_layout *layout;
    const struct sw_memory *memory;
};

/* The range section that holds an address. False: none does, or the map does not fit together. */
bool sw_clr_find_section(const struct sw_clr_reader *reader, uint64_t address, uint64_t *section);

#endif
