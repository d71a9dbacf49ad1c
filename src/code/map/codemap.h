/* The code map, internal interface: many finds in one reader section. A walk enters once and leaves once. */
#ifndef SW_CODE_MAP_CODEMAP_H
#define SW_CODE_MAP_CODEMAP_H

#include "common/reclaim.h"

#include <snapwalk/codemap.h>

static inline bool sw_has_clr_header(const struct sw_range *code)
{
    return code->unwind == SW_UNWIND_CLR_HEADER || code->unwind == SW_UNWIND_CLR_WINDOWS;
}

/*
 * Opens and closes a reader section, in which nothing that a find touches is freed. Sections nest.
 * A section that stays open delays reclamation and nothing else. map: not null.
 *
 * section  On the stack of the caller, in whose frame it stays until it is closed (common/reclaim.h).
 *
 * Memory   None. Threads  Any number, wait-free. Signals  Safe.
 */
void sw_codemap_enter(const struct sw_codemap *map, struct sw_section *section);
void sw_codemap_leave(const struct sw_codemap *map, struct sw_section *section);

/*
 * sw_codemap_find for callers inside a reader section. range: not null; written only when a range is found.
 *
 * Returns  Whether there is a range. Memory  None. Threads  Any number, wait-free. Signals  Safe.
 */
bool sw_codemap_find_inside(const struct sw_codemap *map, uint64_t address, struct sw_range *range);

/* In the child of fork: forgets all readers. Returns  SW_OK; SW_E_BUSY (fork came in the middle of a change). */
enum sw_status sw_codemap_after_fork(struct sw_codemap *map);

/*
 * The last change of each piece of the address space: the generation that the change led to, or 0. A piece is 64 KiB.
 * There are few numbers, so pieces share them: a change of one piece looks like a change of the others with its number.
 * What was found in a range at generation g holds until the number of its piece shows a later removal; what was found
 * outside of any range holds until it shows a later addition. Other additions and removals affect neither.
 *
 * Returns  The numbers, which live as long as the map. Index: SW_REMOVED or SW_ADDED, + sw_piece(address) for a piece,
 *          + SW_PIECES for the last change anywhere. map: not null.
 * Memory   None. Threads  Any. Signals  Safe.
 */
enum {
    SW_PIECE_SHIFT = 16,
    SW_PIECES = 1024,
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
