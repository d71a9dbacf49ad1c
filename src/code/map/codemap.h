/*
 * The code map inside the engine: many finds in one reader section. A walk enters once and leaves once.
 */
#ifndef SW_CODEMAP_CODEMAP_H
#define SW_CODEMAP_CODEMAP_H

#include <snapwalk/codemap.h>

#include <stdatomic.h>

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

/*
 * When a piece of the address space saw its last change: the generation that the change led to, 0 for none. Pieces are
 * few, so that some share a number: a change of one looks like one of the others too. So what was found in a range at
 * generation g holds while no later removal is told of its piece, and what was found in none while no later addition
 * is; what else is added and removed leaves both alone.
 *
 * Returns  Numbers that live as long as the map: by SW_REMOVED or SW_ADDED + sw_piece(address); and by + SW_PIECES, of
 *          the last change anywhere. Map not null. Memory  None. Threads  Any. Signals  Safe.
 */
enum {
    SW_PIECE_SHIFT = 16,
    SW_PIECES = 128,
    SW_REMOVED = 0,
    SW_ADDED = SW_PIECES + 1,
    SW_CHANGES = 2 * (SW_PIECES + 1)
};
const _Atomic uint64_t *sw_codemap_changes(const struct sw_codemap *map);

static inline unsigned sw_piece(uint64_t address)
{
    return (unsigned)(address >> SW_PIECE_SHIFT) % SW_PIECES;
}

#endif
