/* The sequence points of one method. */
#ifndef PDB_POINTS_H
#define PDB_POINTS_H

#include "pdb.h"

/* As pdb_find_line. document: of the method's row; 0: the blob says it. */
bool pdb_points_find(struct pdb_cursor *blob, uint32_t document, uint32_t il_offset, struct pdb_line *line);

#endif
