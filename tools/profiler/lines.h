/*
 * Source files and lines of managed code, by the portable PDB beside an assembly or within it. All of these one at a
 * time.
 */
#ifndef PROFILER_LINES_H
#define PROFILER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bytes: the most that PDBs within assemblies may take, unpacked. verbose: says which PDBs there are. */
void lines_open(size_t bytes, bool verbose);
void lines_close(void);

/* Images have been unloaded: nothing that is known of an address holds. */
void lines_forget(void);

/* Whether the image that is mapped there has lines. Its PDB is looked for at the first question. */
bool lines_has(uint64_t image);

enum { LINES_FILE = 1024 };

/* line, column: of the statement. first: the line of the method's first. */
struct line {
    char file[LINES_FILE];
    uint32_t line, column, first;
};

/* token, il_offset: as struct sw_clr_place has them. False: none. */
bool lines_find(uint64_t image, uint32_t token, uint32_t il_offset, struct line *line);

#endif
