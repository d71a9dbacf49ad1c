/* Single rows of this process' memory map, from the kernel, without the text of all the others. */
#ifndef SW_TARGET_LINUX_MAP_QUERY_H
#define SW_TARGET_LINUX_MAP_QUERY_H

#include "target/linux/maps.h"

/*
 * open: what rows are asked of, or -1; to be closed with close(2).
 *
 * query: the row around an address, or the next one.
 *
 * path     Receives what row->path points to. It may be too small, or null: then the row has no path.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no row there nor behind); SW_E_UNSUPPORTED (a kernel before 6.11, or one that does
 *          not answer). Memory  Allocates nothing.
 */
int sw_map_query_open(void);
enum sw_status sw_map_query(int file, uint64_t address, struct sw_map *row, char *path, size_t size);

#endif
