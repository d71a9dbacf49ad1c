/*
 * The code map inside the engine: many finds in one reader section. A walk enters once and leaves once.
 */
#ifndef SW_CODEMAP_CODEMAP_H
#define SW_CODEMAP_CODEMAP_H

#include <snapwalk/codemap.h>

/*
 * Opens a reader section, in which nothing that a find touches is given back; closes it. Sections nest. What enter
 * answers is given to leave. A section that stays open delays reclamation, and nothing else. Map not null.
 *
 * Memory   None. Threads  Any number, wait-free. Signals  Safe.
 */
uint32_t sw_codemap_enter(const struct sw_codemap *map);
void sw_codemap_leave(const struct sw_codemap *map, uint32_t ticket);

/*
 * sw_codemap_find for callers inside a reader section. range: not null; written only when there is one.
 *
 * Returns  Whether there is a range. Memory  None. Threads  Any number, wait-free. Signals  Safe.
 */
bool sw_codemap_find_inside(const struct sw_codemap *map, uint64_t address, struct sw_range *range);

#endif
